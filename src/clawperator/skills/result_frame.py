"""The result frame: the last two lines a skill writes, a marker and one JSON object."""

from typing import Any

import msgspec

from clawperator.contract.skill_result import FRAME_MARKER, SkillResult, check_version
from clawperator.errors import ClawError

_KNOWN_MINOR = 0


def read_frame(output: str, skill_id: str, source: dict[str, Any]) -> dict[str, Any] | None:
    """The result in a skill's output with its ``source`` put in; None when the skill printed no frame.

    A frame that is not the end of the output, is there twice, is of another skill or breaks the contract gives
    ``SKILL_RESULT_PARSE_FAILED``.
    """
    lines = [line for line in (part.removesuffix("\r") for part in output.split("\n")) if line.strip()]
    places = [i for i, line in enumerate(lines) if line == FRAME_MARKER]
    if not places:
        return None
    if len(places) > 1:
        raise _broken(skill_id, "the frame is there more than once")
    after = lines[places[0] + 1 :]
    if len(after) != 1:
        raise _broken(skill_id, "no JSON follows the marker" if not after else "the frame is not the end of it")
    try:
        frame = msgspec.json.decode(after[0])
    except (msgspec.DecodeError, RecursionError) as e:
        raise _broken(skill_id, f"not valid JSON: {e}") from None
    if not isinstance(frame, dict):
        raise _broken(skill_id, "the result is not an object")
    if "source" in frame:
        raise _broken(skill_id, "the skill must not say its own source")
    frame["source"] = source
    try:
        result = msgspec.convert(frame, SkillResult)
    except msgspec.ValidationError as e:
        raise _broken(skill_id, str(e)) from None
    check_version(result)
    if result.skillId != skill_id:
        raise _broken(skill_id, f"it is the result of {result.skillId!r}")
    return frame


def is_newer(frame: dict[str, Any]) -> bool:
    """Whether a frame is of a later minor version, which may say things that are not understood here."""
    return int(str(frame["contractVersion"]).split(".")[1]) > _KNOWN_MINOR


def _broken(skill_id: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_RESULT_PARSE_FAILED",
        f"the result frame of {skill_id} breaks its contract: {reason}",
        hint=f"A skill ends with one line {FRAME_MARKER} and one line of JSON; clawperator.skill_api prints them.",
        target=skill_id,
    )
