"""The inputs of compare: a baseline, a run or a second recording, and declared checkpoints, read from files."""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import msgspec
from msgspec import Struct

from clawperator._files import why
from clawperator.contract import SkillResult, SkillsRun, check_version
from clawperator.errors import ClawError
from clawperator.recording.actions import read_actions
from clawperator.recording.compare.strategies import BaselineCheckpoint, FoundCheckpoints
from clawperator.recording.compare.strategies.declared import (
    FILE_NAME,
    Declaration,
    find_declared_checkpoints,
    read_declaration,
)
from clawperator.recording.compare.strategies.derived import find_derived_checkpoints
from clawperator.recording.compare.strategies.solax import MINIMUM_SEMANTIC_COVERAGE, find_solax_checkpoints
from clawperator.recording.export import Export, is_export, main_package, read_export
from clawperator.recording.user_actions import UserAction

Strategy = Literal["solax_heuristic", "declared", "derived"]
STRATEGIES: Mapping[str, Strategy] = {
    "declared": "declared",
    "derived": "derived",
    "solax_heuristic": "solax_heuristic",
}
InputRole = Literal["baseline", "result", "checkpoints"]

_RUN = msgspec.json.Decoder(SkillsRun)
_HINTS: dict[InputRole, str] = {
    "baseline": "--baseline takes the output of 'clawperator recording export'.",
    "result": "--result takes the whole output of 'clawperator skills run <id> --json', not the bare skillResult.",
    "checkpoints": "Run 'clawperator schema compare-checkpoints' for the schema of this file.",
}


class ComparedRecording:
    """An export, with its user actions read once when they are first needed."""

    def __init__(self, export: Export) -> None:
        self.export = export

    @cached_property
    def actions(self) -> list[UserAction]:
        # Scrolls are no checkpoints and do not change other actions.
        return read_actions(event for event in self.export.events if event.kind != "scroll")

    def find_checkpoints(self, strategy: Strategy, declaration: Declaration | None = None) -> FoundCheckpoints:
        """The checkpoints by a strategy; ``declared`` needs the declaration."""
        if strategy == "declared":
            assert declaration is not None
            return find_declared_checkpoints(declaration, self.export)
        if strategy == "derived":
            return find_derived_checkpoints(self.actions)
        return find_solax_checkpoints(self.export)


class Baseline(Struct, frozen=True):
    """The recording side of a comparison. ``problem`` is the reason why nothing can be compared with it.

    ``minimum_coverage`` is how many of the checkpoints a run on another path must name.
    """

    strategy: Strategy
    package: str | None
    checkpoints: tuple[BaselineCheckpoint, ...]
    problem: str | None
    minimum_coverage: int


def build_baseline(
    recording: ComparedRecording, strategy: Strategy, declaration: Declaration | None = None
) -> Baseline:
    found = recording.find_checkpoints(strategy, declaration)
    count = len(found.checkpoints)
    minimum = MINIMUM_SEMANTIC_COVERAGE
    if strategy != "solax_heuristic":
        minimum = min(count, max(MINIMUM_SEMANTIC_COVERAGE, (count + 1) // 2))  # half of them, at least two
    problem = "; ".join(found.problems) or None
    return Baseline(strategy, main_package(recording.export.events), found.checkpoints, problem, minimum)


def read_baseline(path: str) -> Export:
    return _export(path, "baseline", _read(path, "baseline"))


def read_result(path: str) -> SkillResult | Export:
    """The run in a saved document, or the export of a second recording."""
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


def declaration_beside(baseline_path: str) -> str | None:
    """The file of declared checkpoints in the folder of a baseline, or in ``references`` there."""
    folder = os.path.dirname(baseline_path)
    for path in (os.path.join(folder, FILE_NAME), os.path.join(folder, "references", FILE_NAME)):
        if os.path.isfile(path):
            return path
    return None


def find_declaration(path: str | None, baseline_path: str, *, required: bool) -> Declaration | None:
    """The declared checkpoints in ``path``, or beside the baseline."""
    path = path or declaration_beside(baseline_path)
    if path is None:
        if required:
            raise _unusable(baseline_path, "checkpoints", f"there is no {FILE_NAME} beside the baseline")
        return None
    data = _read(path, "checkpoints")
    try:
        return read_declaration(data)
    except ValueError as e:
        raise _unusable(path, "checkpoints", f"it does not declare checkpoints: {e}") from None


def _export(path: str, role: InputRole, data: bytes) -> Export:
    try:
        return read_export(data)
    except ValueError as e:
        raise _unusable(path, role, f"it is not a valid recording export: {e}") from None


def _read(path: str, role: InputRole) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as e:
        raise _unusable(path, role, why(e)) from e


def _unusable(path: str, role: InputRole, reason: str) -> ClawError:
    return ClawError(
        "RECORDING_COMPARE_FAILED",
        f"Cannot use the {role} {path}: {reason}",
        hint=_HINTS[role],
        details={"path": path, "role": role, "reason": reason},
        operation="read",
        target=path,
    )
