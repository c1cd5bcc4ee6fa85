"""Watch a screen: its outline, and then what changes between two looks."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from clawperator.commands.model import BackendName
from clawperator.contract.execution import single_action, validate
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import Device
from clawperator.device.run.references import References
from clawperator.device.run.run import run_plan
from clawperator.device.screen.snapshot_views import numbered_outline, outline_changes
from clawperator.errors import CODES, ClawError
from clawperator.policy.gate import approve
from clawperator.ui.outline_text import EarlierLine, cut_lines, earlier_lines, has_other_order, render_outline


class ScreenReport(Struct, frozen=True):
    """A screen as an outline, or its changed lines since the report before."""

    snapshotId: str
    time: str
    kind: Literal["screen", "changes"]
    package: str | None
    text: str


class ScreenWatch:
    """Looks at the screen of one device. It holds the device's lease only while it looks."""

    def __init__(self, device: Device, *, package: str | None, backend: BackendName) -> None:
        self._device = device
        self._package = package
        self._backend: BackendName = backend
        self._references = References(device.serial)
        self._last_id = ""
        self._lines: list[EarlierLine] | None = None

    def look(self, seconds: float) -> ScreenReport | None:
        """The screen now, or its changes if they are shorter. None when it shows the same as before.

        Any failure of the device or of the capture is raised, also that the look takes longer than ``seconds``.
        """
        data = self._capture(seconds)
        last, self._last_id = self._last_id, data["snapshot_id"]
        if last == data["snapshot_id"]:
            return None
        made = numbered_outline(data, self._references)
        earlier, self._lines = self._lines, earlier_lines(made)
        lines = None if earlier is None else outline_changes(made, earlier, last)
        if earlier is not None and lines == [] and not has_other_order(earlier, made):
            return None  # something that an outline does not show
        return ScreenReport(
            snapshotId=data["snapshot_id"],
            time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            kind="screen" if lines is None else "changes",
            package=data.get("foreground_package"),
            text=render_outline(made) if lines is None else "\n".join(cut_lines(lines, made.notices, None)),
        )

    def _capture(self, seconds: float) -> dict[str, str]:
        plan = validate(single_action("snapshot_ui"))
        result = run_plan(
            approve(plan), self._device, package=self._package, backend=self._backend, timeout_ms=seconds * 1000
        )
        return captured_data(result.envelope, self._device.serial)


def captured_data(envelope: ResultEnvelope, serial: str) -> dict[str, str]:
    """The data of the snapshot that was the only step. A failed step is an error with its code."""
    step = next(iter(envelope.stepResults), None)
    if step is not None and step.success and "text" in step.data:
        return step.data
    data = {} if step is None else step.data
    code = data.get("error") or (envelope.errorCode if isinstance(envelope.errorCode, str) else "")
    raise ClawError(
        code if code in CODES else "SNAPSHOT_HIERARCHY_UNAVAILABLE",
        data.get("message") or envelope.error or "the device returned no UI hierarchy",
        hint=data.get("hint"),
        operation="watch",
        target=serial,
    )
