"""check: what a reader of a recording should know before it is used. Nothing is changed."""

from collections.abc import Iterator

from clawperator._base.deadline import Deadline
from clawperator.errors import ClawError, ClawperatorException
from clawperator.recording.events import Event
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Recording


class _Stopped(ClawperatorException):
    pass


def recording_warnings(path: str, deadline: Deadline) -> list[str]:
    """Missing events, and passwords that are not masked; none for a file that is no readable recording."""

    def stop_in_time(_done: int, _size: int) -> None:
        if deadline.is_over:
            raise _Stopped

    masker = PasswordMasker()

    def build(events: Iterator[Event]) -> None:
        nonlocal masker
        masker = PasswordMasker()
        for event in events:
            masker.mask(event)
            masker.mask_snapshot(event)

    try:
        with Recording(path, progress=stop_in_time) as recording:
            recording.in_order(build)
            warnings = recording.gaps.warnings()
    except _Stopped:
        return ["the recording was not checked to its end: no time was left"]
    except ClawError:
        return []
    if masker.count:
        warnings.append(
            f"{masker.count} texts of password fields are not masked in this file; keep it private. "
            "parse, export, describe and replay mask them."
        )
    return warnings
