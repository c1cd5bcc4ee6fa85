"""A recording to be done again: read from a file, planned, and replayed."""

import os
from collections.abc import Callable, Iterator

import msgspec

from clawperator.connection.phone import ConnectedPhone
from clawperator.errors import ClawError
from clawperator.recording.compare.strategies.derived import derive_checkpoints
from clawperator.recording.demonstration import is_export, load_demonstration
from clawperator.recording.events import Event, has_snapshot
from clawperator.recording.export import Export
from clawperator.recording.reader import Recording
from clawperator.replay.planner import Seen, Steps, fold, until
from clawperator.replay.report import Demonstration, ReplayPlan, ReplayReport, tell_plan, tell_replay
from clawperator.replay.run import Proved, replay_steps

# An export is read whole; a recording of any size is not.
MAX_EXPORT_BYTES = 256 * 1024 * 1024
MAX_STEPS = 2_000
_HEAD = 4_096


def open_demonstration(path: str) -> Demonstration:
    """The demonstration in a recording, or in what export wrote."""
    if _holds_export(path):
        export = load_demonstration(path)
        seen: Iterator[Seen] = ((event, event.snapshot.xml) for event in export.events)
        return _made(fold(seen), export, path)
    with Recording(path) as recording:
        steps = recording.in_order(lambda events: fold((event, _xml(event)) for event in events))
    return _made(steps, load_demonstration(path), path)


def plan(demonstration: Demonstration, *, last: int | float | None = None) -> ReplayPlan:
    """The steps and the clues each has, without a phone."""
    return tell_plan(demonstration, _chosen(demonstration, last))


def replay(
    demonstration: Demonstration,
    phone: ConnectedPhone,
    *,
    last: int | float | None = None,
    allow_coordinates: bool = False,
    watch: Callable[[Proved], None] | None = None,
) -> ReplayReport:
    """Do the steps up to the event ``last`` on a phone, and stop at the first that cannot be proved.

    ``REPLAY_TEXT_HIDDEN``, before anything is touched, when one of them types what the recording does not tell.
    """
    chosen = _chosen(demonstration, last)
    _refuse_secrets(chosen)
    done = replay_steps(phone, chosen.steps, allow_coordinates=allow_coordinates, watch=watch)
    is_whole = len(chosen.steps) == len(demonstration.steps.steps)
    return tell_replay(demonstration, phone.serial, chosen, done, is_whole=is_whole)


def _chosen(demonstration: Demonstration, last: int | float | None) -> Steps:
    if last is None:
        return demonstration.steps
    chosen = until(demonstration.steps, last)
    if not chosen.steps:
        first = demonstration.steps.steps[0].seq
        raise ClawError(
            "RECORDING_REPLAY_FAILED",
            f"no step begins at or before seq {last}; the first begins at {first}",
            hint="Run it with --dry-run for the steps and their seq.",
            details={"until": last, "first": first},
            operation="replay",
        )
    return chosen


def _refuse_secrets(plan: Steps) -> None:
    at = next((i for i, step in enumerate(plan.steps) if step.secret), None)
    if at is None:
        return
    step = plan.steps[at]
    before = f"--until {plan.steps[at - 1].seq} replays what comes before it. " if at else ""
    raise ClawError(
        "REPLAY_TEXT_HIDDEN",
        f"the text typed at seq {step.seq} was a password, and the recording holds only dots for it",
        hint=f"{before}Write a skill that takes the password as an input for the rest.",
        details={"seq": step.seq, "field": step.target.resource_id if step.target else None},
        operation="replay",
    )


def _made(steps: Steps, export: Export, path: str) -> Demonstration:
    if not steps.steps:
        raise _unusable(path, "nothing was done in it")
    if len(steps.steps) > MAX_STEPS:
        raise _unusable(path, f"it has more than {MAX_STEPS} steps")
    return Demonstration(export.session.sessionId, steps, derive_checkpoints(export))


def _holds_export(path: str) -> bool:
    """Whether a file is an export. A file that cannot be read is none: the reader of recordings tells why."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            if not is_export(file.read(_HEAD)):
                return False
            if os.fstat(file.fileno()).st_size > MAX_EXPORT_BYTES:
                raise _unusable(path, f"it is larger than {MAX_EXPORT_BYTES} bytes; give the recording itself")
            return True
    except (OSError, ValueError):
        return False


def _xml(event: Event) -> str | None:
    return msgspec.json.decode(event.snapshot, type=str) if has_snapshot(event) else None


def _unusable(path: str, reason: str) -> ClawError:
    return ClawError(
        "RECORDING_REPLAY_FAILED",
        f"Cannot replay {path}: {reason}",
        hint="--input takes a recording, or what 'clawperator recording export --snapshots include' wrote.",
        details={"path": path, "reason": reason},
        operation="read",
        target=path,
    )
