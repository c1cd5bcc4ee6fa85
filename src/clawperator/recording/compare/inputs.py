"""What compare is given: a baseline, a run or a second recording, and perhaps declared checkpoints, from disk."""

from typing import Any, Literal

import msgspec

from clawperator._files import why
from clawperator.contract.skill_result import SkillResult, SkillsRun, check_version
from clawperator.errors import ClawError
from clawperator.recording.compare.strategies.declared import Declaration, declaration_beside, read_declaration
from clawperator.recording.export import Export, is_export, read_export

Role = Literal["baseline", "result", "checkpoints"]

_RUN = msgspec.json.Decoder(SkillsRun)
_HINTS: dict[Role, str] = {
    "baseline": "--baseline takes what 'clawperator recording export' wrote.",
    "result": "--result takes the whole output of 'clawperator skills run <id> --json', not the bare skillResult.",
    "checkpoints": "Run 'clawperator schema compare-checkpoints' for the form of this file.",
}


def read_baseline(path: str) -> Export:
    return _export(path, "baseline", _read(path, "baseline"))


def read_result(path: str) -> SkillResult | Export:
    """The run in a saved document, or a second recording's export."""
    data = _read(path, "result")
    if is_export(data) and b'"skillResult"' not in data:
        return _export(path, "result", data)
    try:
        run = _RUN.decode(data).skillResult
        if run is not None:
            check_version(run)
    except UnicodeDecodeError:
        raise _unusable(path, "result", "it is not valid UTF-8") from None
    except (msgspec.DecodeError, RecursionError) as e:
        reason = str(e).replace("`", "")
        raise _unusable(path, "result", f"it is not a saved skills run with a skillResult: {reason}") from None
    except ClawError as e:
        raise _unusable(path, "result", e.message) from None
    if run is None:
        raise _unusable(path, "result", "its skillResult is null: the skill printed no result frame")
    return run


def find_declaration(path: str | None, baseline_path: str, *, wanted: bool) -> Declaration | None:
    """The declared checkpoints, in ``path`` or beside the baseline. If ``wanted`` they must be there."""
    path = path or declaration_beside(baseline_path)
    if path is None:
        if wanted:
            raise _unusable(
                baseline_path, "checkpoints", "there is no compare-checkpoints.json beside the baseline"
            )
        return None
    data = _read(path, "checkpoints")
    try:
        return read_declaration(data)
    except ValueError as e:
        raise _unusable(path, "checkpoints", f"it does not declare checkpoints: {e}") from None


def _export(path: str, role: Role, data: bytes) -> Export:
    try:
        return read_export(data)
    except ValueError as e:
        raise _unusable(path, role, f"it is not a valid recording export: {e}") from None


def _read(path: str, role: Role) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as e:
        raise _unusable(path, role, why(e)) from e


def _unusable(path: str, role: Role, reason: str) -> ClawError:
    details: dict[str, Any] = {"path": path, "role": role, "reason": reason}
    return ClawError(
        "RECORDING_COMPARE_FAILED",
        f"Cannot use the {role} {path}: {reason}",
        hint=_HINTS[role],
        details=details,
        operation="read",
        target=path,
    )
