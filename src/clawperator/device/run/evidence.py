"""Evidence bundles: what a run printed, and the screen before and after it, in a new private folder.

A bundle is complete when it has a ``manifest.json``, which is written last. A folder without one is that of a run
that crashed, or whose disk was full. Captures only look: they need the permission to look, wait for the device's
lease, and a failed one is a line of the manifest, never an error of the run.
"""

import errno
import hashlib
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from clawperator._base.deadline import limited
from clawperator._base.files import AtomicFile, make_private_folder, why
from clawperator._base.notes import listening
from clawperator._base.secrets import known_secrets
from clawperator.contract.commands import BackendName
from clawperator.contract.execution import single_action, validate
from clawperator.device.adb.client import Device
from clawperator.device.adb.screencap import capture_png
from clawperator.device.run.run import run_plan
from clawperator.device.run.secrets import unmasked
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, approve, check_actions, enforcing, inherited_policy
from clawperator.ui.node import Hierarchy
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import has_password, mask, mask_passwords
from clawperator.ui.write import write_hierarchy

VERSION = 1
EVIDENCE_MANIFEST = "manifest.json"
EVIDENCE_DOCUMENT = "envelope.json"
# How long one look may take. It is not part of the run's own time.
CAPTURE_SECONDS = 10.0
# Of a run id in the name of a folder.
_MAX_ID = 80
_MAX_FOLDERS = 1_000

Moment = Literal["before", "after"]
FileKind = Literal["document", "tree", "screenshot"]


class BundleFile(Struct, frozen=True):
    """A file of a bundle."""

    name: str
    sha256: str
    bytes: int
    kind: FileKind


class MissingFile(Struct, frozen=True):
    """A file that the bundle does not have, and why."""

    name: str
    reason: str


class EvidenceManifest(Struct, frozen=True, kw_only=True):
    """The content of a bundle and the run that it is about. ``argv`` has no typed text and no secrets."""

    version: int = VERSION
    runId: str
    command: str
    argv: list[str]
    deviceId: str | None
    started: str
    finished: str
    exitCode: int
    status: str
    files: list[BundleFile]
    missing: list[MissingFile]


class FinishedRun(Struct, frozen=True, kw_only=True):
    """What the manifest states about a run besides its files."""

    command: str
    argv: list[str]
    deviceId: str | None
    exitCode: int
    status: str


class CaptureSource(Struct, frozen=True):
    """The device to look at. ``secrets`` are texts that no tree may contain."""

    device: Device
    package: str | None
    backend: BackendName
    secrets: tuple[str, ...] = ()


class EvidenceBundle:
    """A bundle that is being written. The constructor creates its folder; ``OSError`` when it cannot."""

    def __init__(self, parent: str, run_id: str) -> None:
        self._started = datetime.now(UTC)
        self._run_id = run_id
        self._files: list[BundleFile] = []
        self._missing: list[MissingFile] = []
        make_private_folder(parent)
        self.path = _new_folder(parent, f"{self._started:%Y%m%dT%H%M%S.%f}"[:-3] + f"Z-{_safe(run_id)}")

    def add(self, name: str, kind: FileKind, data: bytes) -> None:
        """Write a file, completely or not at all. ``OSError`` when it cannot be written."""
        with AtomicFile(os.path.join(self.path, name), private=True, follow_links=False) as out:
            out.file.write(data)
        self._files.append(BundleFile(name, hashlib.sha256(data).hexdigest(), len(data), kind))

    def leave_out(self, name: str, reason: str) -> None:
        """Note in the manifest why a file is missing."""
        self._missing.append(MissingFile(name, reason))

    def capture(self, moment: Moment, source: CaptureSource, *, no_picture: str = "") -> None:
        """Write the tree and the picture of the screen now. ``no_picture`` is a reason to take none.

        Password fields and secrets are masked in the tree; a screen that may show one has no picture.
        What cannot be captured or written is noted. The caller's policy holds, and no question is asked.
        """
        tree, picture = f"{moment}.xml", f"{moment}.png"
        with listening(None), _without_questions(), limited(CAPTURE_SECONDS):
            try:
                screen = _look(source)
                shown = masked_tree(screen, source.secrets)
                self.add(tree, "tree", shown.encode())
            except (ClawError, OSError) as e:
                self.leave_out(tree, _reason(e))
                self.leave_out(picture, "without a tree it is unknown whether the screen shows a password")
                return
            has_secret = shown != write_hierarchy(mask_passwords(screen))
            reason = no_picture or _password_on(screen) or ("a secret is on the screen" if has_secret else "")
            try:
                if reason:
                    self.leave_out(picture, reason)
                else:
                    check_actions([{"type": "take_screenshot", "params": {}}])
                    self.add(picture, "screenshot", capture_png(source.device, seconds=CAPTURE_SECONDS))
            except (ClawError, OSError) as e:
                self.leave_out(picture, _reason(e))

    def finish(self, document: bytes, run: FinishedRun) -> None:
        """Write the printed document, then the manifest. ``OSError`` when one cannot be written."""
        self.add(EVIDENCE_DOCUMENT, "document", document)
        manifest = EvidenceManifest(
            runId=self._run_id,
            started=_stamp(self._started),
            finished=_stamp(datetime.now(UTC)),
            files=self._files,
            missing=self._missing,
            **asdict(run),
        )
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        with AtomicFile(os.path.join(self.path, EVIDENCE_MANIFEST), private=True, follow_links=False) as out:
            out.file.write(text + b"\n")


def _new_folder(parent: str, name: str) -> str:
    """Create a folder that did not exist. Two runs of one moment have different folders."""
    for number in range(1, _MAX_FOLDERS):
        path = os.path.join(parent, name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            return path
    raise FileExistsError(errno.EEXIST, "too many bundles of one run", parent)


def _safe(run_id: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in run_id[:_MAX_ID])


def _without_questions() -> AbstractContextManager[object]:
    """The policy in force, where "ask" means deny: a capture is not worth a question."""
    policy = inherited_policy()
    return nullcontext() if policy is None else enforcing(PolicyGate(policy))


def _look(source: CaptureSource) -> Hierarchy:
    plan = validate(single_action("snapshot_ui", timeout_ms=round(CAPTURE_SECONDS * 1000)))
    with unmasked():
        result = run_plan(
            approve(plan),
            source.device,
            package=source.package,
            backend=source.backend,
            timeout_ms=CAPTURE_SECONDS * 1000,
        )
    step = result.envelope.stepResults[0] if result.envelope.stepResults else None
    if step is None or not step.success or "text" not in step.data:
        data = {} if step is None else step.data
        raise ClawError(
            "SNAPSHOT_HIERARCHY_UNAVAILABLE",
            data.get("message") or data.get("error") or "the device returned no UI hierarchy",
        )
    return parse_hierarchy(step.data["text"])


def masked_tree(screen: Hierarchy, secrets: Iterable[str] = ()) -> str:
    """The XML of a screen with its password fields, these secrets and the declared ones masked."""
    return mask(write_hierarchy(mask_passwords(screen)), (*secrets, *known_secrets()))


def _password_on(screen: Hierarchy) -> str:
    """Why there is no picture of this screen; empty when there may be one."""
    if any(node.flag("password") and (node.flag("focused") or has_password(node)) for node in screen.nodes):
        return "a password field on the screen is focused or holds a text"
    return ""


def _reason(error: ClawError | OSError) -> str:
    return f"{error.code}: {error.message}" if isinstance(error, ClawError) else why(error)


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
