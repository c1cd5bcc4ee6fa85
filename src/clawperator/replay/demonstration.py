"""Replay a recording: open it, plan its steps, run them on a device."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from clawperator._base.files import open_regular, unusable_file
from clawperator._base.secrets import known_secrets
from clawperator.api.phone import ConnectedPhone
from clawperator.device.run.evidence import masked_tree
from clawperator.device.run.secrets import unmasked
from clawperator.errors import ClawError
from clawperator.policy.gate import check_actions
from clawperator.recording.compare.checkpoints import derive_checkpoints
from clawperator.recording.events import Event, has_snapshot
from clawperator.recording.export import HEAD_BYTES, Export, is_export, load_demonstration
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Recording, SeqGaps
from clawperator.replay.planner import EventWithScreen, RecordedSteps, build_steps, steps_until
from clawperator.replay.report import Demonstration, ReplayPlan, ReplayReport, plan_document, report_document
from clawperator.replay.run import StepOutcome, run_steps
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import mask

T = TypeVar("T")

# An export is read whole; a recording of any size is not.
MAX_EXPORT_BYTES = 256 * 1024 * 1024
MAX_STEPS = 2_000
# How every step is proved.
_LOOKING = ({"type": "snapshot_ui"}, {"type": "sleep"})


def open_demonstration(path: str) -> Demonstration:
    """The demonstration in a recording or in its export."""
    if _holds_export(path) and os.stat(path).st_size > MAX_EXPORT_BYTES:
        raise _unusable(path, f"it has more than {MAX_EXPORT_BYTES} bytes; use the recording itself")
    recorded = read_events(path, build_steps)
    if not recorded.steps:
        raise _unusable(path, "it holds no user actions")
    if len(recorded.steps) > MAX_STEPS:
        raise _unusable(path, f"it has more than {MAX_STEPS} steps")
    export = load_demonstration(path)
    gaps = SeqGaps()
    deque(gaps.watch(export.events), maxlen=0)
    recorded = replace(recorded, warnings=(*recorded.warnings, *gaps.warnings()))
    return Demonstration(path, export.session.sessionId, recorded, derive_checkpoints(export))


def read_events(
    path: str,
    read: Callable[[Iterator[EventWithScreen]], T],
    export: Export | None = None,
    declared: Sequence[str] = (),
) -> T:
    """What ``read`` makes of the events of a recording or export in order, each with its screen.

    Passwords are masked, and the ``declared`` secrets; a replay needs those as they are on the device.
    ``export`` is what ``load_demonstration`` has read of the path, if it has.
    """
    if _holds_export(path):
        export = export or load_demonstration(path)
        return read(_masked(((event, event.snapshot.xml) for event in export.events), declared))
    with Recording(path) as recording:
        return recording.in_order(lambda events: read(_masked(((e, _xml(e)) for e in events), declared)))


def _masked(events: Iterable[EventWithScreen], declared: Sequence[str]) -> Iterator[EventWithScreen]:
    """The events without the texts of password fields."""
    masker = PasswordMasker(declared)
    for event, xml in events:
        masker.mask_event(event, xml)
        yield event, None if xml is None else masker.mask_xml(xml)


def plan_replay(demonstration: Demonstration, *, last: int | float | None = None) -> ReplayPlan:
    """The steps and the locators of each; no device is needed. Declared secrets are masked."""
    return mask(plan_document(demonstration, _chosen(demonstration, last)), known_secrets())


def replay(  # noqa: PLR0913 - the choices of a replay
    demonstration: Demonstration,
    phone: ConnectedPhone,
    *,
    last: int | float | None = None,
    keep_apps: bool = False,
    allow_coordinates: bool = False,
    on_step: Callable[[StepOutcome], None] | None = None,
) -> ReplayReport:
    """Run the steps up to the event ``last`` on a phone, and stop at the first that is not proved.

    The apps that they open are closed first, unless ``keep_apps``; the data of the apps stay. ``on_step`` gets the
    outcome of each step at once. Declared secrets are masked there and in the report. What ``check_replay`` raises
    is raised before anything is touched.
    """
    chosen = check_replay(demonstration, last=last, keep_apps=keep_apps)
    secrets = known_secrets()
    show = None if on_step is None else lambda outcome: on_step(mask(outcome, secrets))
    with unmasked():
        run = run_steps(phone, chosen, keep_apps=keep_apps, allow_coordinates=allow_coordinates, on_step=show)
    is_whole = len(chosen.steps) == len(demonstration.recorded.steps)
    screen = None if run.error is None else _recorded_screen(demonstration.path, run.error)
    report = report_document(demonstration, phone.serial, chosen, run, is_whole=is_whole, recorded_screen=screen)
    return mask(report, secrets)


def check_replay(demonstration: Demonstration, *, last: int | float | None, keep_apps: bool) -> RecordedSteps:
    """The steps to replay; no device is needed.

    ``REPLAY_TEXT_HIDDEN`` when one of them types a text that the recording holds only masked,
    ``PERMISSION_DENIED`` when the policy in force does not allow a step, a look, or to close an app.
    """
    chosen = _chosen(demonstration, last)
    _refuse_secrets(chosen)
    if not keep_apps:
        _check_closing(chosen.opened_apps)
    check_actions((*_LOOKING, *(action for step in chosen.steps for action in step.actions)))
    return chosen


def _recorded_screen(path: str, error: ClawError) -> str | None:
    """The recorded tree of the event that a failed step was compared with; None if there is none any more."""
    details = error.details or {}
    seq = details.get("expectedSeq", details.get("seq"))
    try:
        xml = read_events(path, lambda events: next((xml for event, xml in events if event.seq == seq), None))
        return None if xml is None else masked_tree(parse_hierarchy(xml))
    except ClawError:
        return None


def _chosen(demonstration: Demonstration, last: int | float | None) -> RecordedSteps:
    if last is None:
        return demonstration.recorded
    chosen = steps_until(demonstration.recorded, last)
    if not chosen.steps:
        first = demonstration.recorded.steps[0].seq
        message = f"no step begins at or before seq {last}; the first begins at {first}"
        hint = "A dry run lists the steps and their seq."
        details = {"until": last, "first": first}
        raise ClawError("RECORDING_REPLAY_FAILED", message, hint=hint, details=details, operation="replay")
    return chosen


def _refuse_secrets(chosen: RecordedSteps) -> None:
    at = next((i for i, step in enumerate(chosen.steps) if step.secret), None)
    if at is None:
        return
    step = chosen.steps[at]
    before = f"Replay the steps before it, until {chosen.steps[at - 1].seq}. " if at else ""
    message = f"the text typed at seq {step.seq} is a password, and the recording holds only its mask"
    hint = f"{before}Write a skill that takes the password as an input."
    details = {"seq": step.seq, "field": step.target.resource_id if step.target else None}
    raise ClawError("REPLAY_TEXT_HIDDEN", message, hint=hint, details=details, operation="replay")


def _check_closing(packages: list[str]) -> None:
    try:
        check_actions({"type": "close_app", "params": {"applicationId": package}} for package in packages)
    except ClawError as e:
        message = f"the replay closes {' and '.join(packages)} first: {e.message}"
        hint = f"{e.hint} Or close the apps yourself, and replay without closing them."
        raise ClawError(e.code, message, hint=hint, operation="replay", target=e.target) from e


def _holds_export(path: str) -> bool:
    """Whether a file is an export. One that cannot be read is none: reading it as a recording gives the error."""
    try:
        with open_regular(path) as file:
            return is_export(file.read(HEAD_BYTES))
    except (OSError, ValueError):
        return False


def _xml(event: Event) -> str | None:
    return msgspec.json.decode(event.snapshot, type=str) if has_snapshot(event) else None


def _unusable(path: str, reason: str) -> ClawError:
    hint = "Give a recording, or an export that includes its snapshots."
    return unusable_file("RECORDING_REPLAY_FAILED", "replay", path, reason, hint=hint)
