"""A device as a user sees it and uses it: its screen now and as it changes; touches, keys and text.

On a simulated phone a touch is the user's own, so an active recording gets its events. On another device it is
``input``.
"""

import base64
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.secrets import known_secrets
from clawperator._base.text import utc_timestamp
from clawperator.contract.action_params import KeyName
from clawperator.contract.commands import BackendName
from clawperator.contract.execution import new_command_id, single_action, validate
from clawperator.contract.results import ResultEnvelope, snapshot_id
from clawperator.device.adb.client import Device
from clawperator.device.adb.screencap import capture_png
from clawperator.device.run.lease import lease
from clawperator.device.run.references import References
from clawperator.device.run.run import run_plan
from clawperator.device.run.secrets import active_recording
from clawperator.device.screen.snapshot_views import numbered_outline, outline_changes
from clawperator.errors import CODES, ClawError
from clawperator.phone.process.launch import control_phone
from clawperator.policy.gate import approve
from clawperator.ui.node import Node
from clawperator.ui.outline import EarlierLine, cut_lines, earlier_lines, has_other_order, render_outline
from clawperator.ui.privacy import mask

Point = tuple[int, int]

# The beginning of the command ids of live views.
_PREFIX = "live-"
# How long a touch waits for a device that another command uses, or that a live view looks at.
_TOUCH_LEASE_SECONDS = 0.5
_OWN_LOOK_SECONDS = 20.0
_INPUT_SECONDS = 20.0
_LOOK_SECONDS = 20.0
_LEASE_SECONDS = 0.05
_PICTURE_SECONDS = 15.0
_PNG_SIZE = struct.Struct(">II")


class SimulatedInput:
    def __init__(self, serial: str) -> None:
        self._serial = serial

    def touch(self, at: Point, to: Point | None, milliseconds: int, *, holds: bool) -> None:
        control_phone(self._serial, "touch", at=at, to=to, milliseconds=milliseconds, holds=holds)

    def press(self, key: KeyName, /) -> None:
        control_phone(self._serial, "press", key=key)

    def type_text(self, text: str, /) -> None:
        control_phone(self._serial, "type", text=text)


class AdbInput:
    """``input`` of a device. It is not known whether what it sends has an effect."""

    def __init__(self, device: Device) -> None:
        from clawperator.device.backends.adb import AdbDriver

        self._serial = device.serial
        self._driver = AdbDriver(device, seconds=_INPUT_SECONDS)

    def touch(self, at: Point, to: Point | None, milliseconds: int, *, holds: bool) -> None:
        if to is None:
            accepted = self._driver.tap(*at, milliseconds)
        else:
            accepted = (self._driver.drag if holds else self._driver.swipe)(at, to, milliseconds)
        self._require(accepted, "touch")

    def press(self, key: KeyName, /) -> None:
        self._require(self._driver.key(key), "key")

    def type_text(self, text: str, /) -> None:
        """Type at the cursor. ``TEXT_NOT_ACCEPTED`` for characters that ``input`` has no keys for."""
        self._driver.type_keys(Node({}), text)

    def _require(self, accepted: bool, what: str) -> None:  # noqa: FBT001 - the answer of the driver
        if not accepted:
            message = f"{self._serial} did not accept the {what}"
            hint = "Touch inside the screen of the device."
            raise ClawError("GESTURE_FAILED", message, hint=hint, target=self._serial)


def user_input(device: Device) -> SimulatedInput | AdbInput:
    """What a user can do. A touch with an end moves there; one that ``holds`` is a long press before it moves."""
    return SimulatedInput(device.serial) if device.endpoint.simulated else AdbInput(device)


@contextmanager
def live_lease(serial: str, action: str) -> Iterator[None]:
    """Hold the device for what a user does. ``EXECUTION_CONFLICT_IN_FLIGHT`` while another command uses it.

    A look of this process is waited for.
    """
    deadline = Deadline(_OWN_LOOK_SECONDS)
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lease(serial, new_command_id(_PREFIX), _TOUCH_LEASE_SECONDS, action=action))
                break
            except ClawError as e:
                if not is_live_view(e) or deadline.is_over:
                    raise
        yield


def as_live(execution: Mapping[str, Any]) -> dict[str, Any]:
    """The execution with a command id by which a live view knows it as its own."""
    return {**execution, "commandId": new_command_id(_PREFIX)}


def is_live_view(conflict: ClawError) -> bool:
    """Whether a live view of this process is what uses the device."""
    details = conflict.details or {}
    return details.get("pid") == os.getpid() and str(details.get("commandId", "")).startswith(_PREFIX)


class LiveLook(Struct, frozen=True, kw_only=True):
    """A look at a screen. ``data`` is that of a snapshot step, empty when the screen is the one of the last look.

    ``picture_id`` is another one whenever a picture may show something else. Plain adb ``can_record`` nothing.
    """

    picture_id: str
    data: dict[str, str] = {}
    width: int = 0
    height: int = 0
    is_awake: bool = True
    recording: str | None = None
    can_record: bool = True


class SimulatedSource:
    """A simulated phone. It has no accessibility service to suspend and no lease to wait for."""

    is_simulated = True
    seconds = 0.2

    def __init__(self, serial: str, *, can_record: bool = True) -> None:
        self._serial = serial
        self._can_record = can_record

    def look(self, since: str, /) -> LiveLook:
        """The screen now. ``since`` is the picture id of the last look, or empty."""
        found = control_phone(self._serial, "look", since=since)
        look = LiveLook(picture_id=found["id"], recording=found["recording"], can_record=self._can_record)
        if "xml" not in found:
            return look
        xml = mask(found["xml"], known_secrets())
        data = {"text": xml, "snapshot_id": snapshot_id(xml)}
        optional = {"foreground_package": found["package"], "overlay_package": found["overlay"]}
        data |= {name: value for name, value in optional.items() if value}
        return replace(look, data=data, width=found["width"], height=found["height"], is_awake=found["awake"])

    def picture(self) -> bytes:
        return base64.b64decode(control_phone(self._serial, "screenshot")["png"])


class CapturedSource:
    """Any other device. ``seconds`` leaves it to other commands for at least twice the time of a look."""

    is_simulated = False

    def __init__(
        self, device: Device, *, package: str | None, backend: BackendName, stop: Callable[[], bool]
    ) -> None:
        self.seconds = 0.5
        self._device = device
        self._package = package
        self._backend: BackendName = backend
        self._stop = stop
        self._size: tuple[str, int, int] | None = None
        self._count = 0
        self._ran_by = ""

    def look(self, since: str, /) -> LiveLook:
        """A capture. There is none while ``uiautomator`` would suspend the service that records."""
        if self._ran_by == "adb" and active_recording(self._device.serial) is not None:
            return LiveLook(picture_id=since, can_record=False)
        began = time.monotonic()
        plan = validate(as_live(single_action("snapshot_ui")))
        result = run_plan(
            approve(plan),
            self._device,
            package=self._package,
            backend=self._backend,
            timeout_ms=_LOOK_SECONDS * 1000,
            lease_seconds=_LEASE_SECONDS,
            stop=self._stop,
        )
        self._ran_by = result.backend
        data = captured_data(result.envelope, self._device.serial)
        width, height = self._display_size(data["text"])
        self.seconds = max(0.5, 2 * (time.monotonic() - began))
        self._count += 1
        can_record = self._ran_by != "adb"
        return LiveLook(picture_id=str(self._count), data=data, width=width, height=height, can_record=can_record)

    def _display_size(self, xml: str) -> tuple[int, int]:
        """The size of the display. A rotation changes it, so it is read again for another one."""
        rotation = xml.partition('rotation="')[2][:1]
        if self._size is None or self._size[0] != rotation:
            self._size = (rotation, *png_size(self.picture()))
        return self._size[1:]

    def picture(self) -> bytes:
        return capture_png(self._device, seconds=_PICTURE_SECONDS)


# Where the looks at a device come from. ``seconds`` is the pause between two of them.
LiveSource = SimulatedSource | CapturedSource


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    width, height = _PNG_SIZE.unpack(png[16:24])
    return width, height


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
            time=utc_timestamp(time.time()),
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
