"""Result frames: the marker line and the line of JSON with which a skill's output ends."""

from typing import Any

import msgspec

from clawperator.contract.skill_result import FRAME_MARKER, SkillResult, check_version
from clawperator.errors import ClawError

_KNOWN_MINOR = 0


def read_frame(output: str, skill_id: str, source: dict[str, Any]) -> dict[str, Any] | None:
    """The result frame in a skill's output, with ``source`` added; None when there is no frame.

    The frame is the last two lines of the output: a marker and one JSON object. ``SKILL_RESULT_PARSE_FAILED``
    for a frame that is not at the end, occurs twice, belongs to another skill or violates the contract.
    """
    lines = [line for line in (part.removesuffix("\r") for part in output.split("\n")) if line.strip()]
    markers = [i for i, line in enumerate(lines) if line == FRAME_MARKER]
    if not markers:
        return None
    if len(markers) > 1:
        raise _invalid_frame(skill_id, "it occurs more than once")
    after = lines[markers[0] + 1 :]
    if len(after) != 1:
        raise _invalid_frame(
            skill_id, "no JSON follows the marker" if not after else "it is not at the end of the output"
        )
    try:
        frame = msgspec.json.decode(after[0])
    except (msgspec.DecodeError, RecursionError) as e:
        raise _invalid_frame(skill_id, f"not valid JSON: {e}") from None
    if not isinstance(frame, dict):
        raise _invalid_frame(skill_id, "the result is not an object")
    if "source" in frame:
        raise _invalid_frame(skill_id, "it must not contain 'source'")
    frame["source"] = source
    try:
        result = msgspec.convert(frame, SkillResult)
    except msgspec.ValidationError as e:
        raise _invalid_frame(skill_id, str(e)) from None
    check_version(result)
    if result.skillId != skill_id:
        raise _invalid_frame(skill_id, f"it belongs to skill {result.skillId!r}")
    return frame


def is_newer_contract(frame: dict[str, Any]) -> bool:
    """Whether a frame has a later minor version, with fields that are not known here."""
    return int(str(frame["contractVersion"]).split(".")[1]) > _KNOWN_MINOR


def _invalid_frame(skill_id: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_RESULT_PARSE_FAILED",
        f"the result frame of {skill_id} is invalid: {reason}",
        hint=f"A skill ends with one line {FRAME_MARKER} and one line of JSON; clawperator.skill_api prints them.",
        target=skill_id,
    )
