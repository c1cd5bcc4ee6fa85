"""The baseline a run is held against: the checkpoints of a demonstration, by one of three strategies."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from clawperator.recording.compare.strategies.declared import Declaration, Found, find_declared
from clawperator.recording.compare.strategies.derived import derive_checkpoints
from clawperator.recording.compare.strategies.solax import (
    MINIMUM_SEMANTIC_COVERAGE,
    REQUIRED,
    BaselineCheckpoint,
    baseline_of,
)
from clawperator.recording.export import Export, main_package

Strategy = Literal["solax_heuristic", "declared", "derived"]
STRATEGIES: Mapping[str, Strategy] = {
    "declared": "declared",
    "derived": "derived",
    "solax_heuristic": "solax_heuristic",
}
_EMPTY = "the demonstration opens no app, clicks nothing with a label and types nothing"


class Ground(Struct, frozen=True):
    """``lacking`` says why nothing can be compared with it, ``minimum`` how much of it a run must cover."""

    strategy: Strategy
    package: str | None
    checkpoints: tuple[BaselineCheckpoint, ...]
    lacking: str | None
    minimum: int


def ground_of(export: Export, strategy: Strategy, declaration: Declaration | None = None) -> Ground:
    """What a demonstration gives to compare with. ``declared`` needs the declaration."""
    found = checkpoints_of(export, strategy, declaration)
    minimum = MINIMUM_SEMANTIC_COVERAGE if strategy == "solax_heuristic" else _half(len(found.checkpoints))
    lacking = "; ".join(found.wrong) or None
    return Ground(strategy, main_package(export.events), found.checkpoints, lacking, minimum)


def checkpoints_of(export: Export, strategy: Strategy, declaration: Declaration | None = None) -> Found:
    """The checkpoints of a recording, and what is wrong with them."""
    if strategy == "declared":
        assert declaration is not None
        return find_declared(declaration, export)
    if strategy == "derived":
        checkpoints = derive_checkpoints(export)
        return Found(checkpoints, () if checkpoints else (_EMPTY,))
    checkpoints = baseline_of(export).checkpoints
    if len(checkpoints) < len(REQUIRED):
        return Found(checkpoints, (f"only {len(checkpoints)} of {len(REQUIRED)} checkpoints were found",))
    return Found(checkpoints, ())


def _half(count: int) -> int:
    """How many checkpoints a run on another way must share: half of them, and two if there are two."""
    return min(count, max(MINIMUM_SEMANTIC_COVERAGE, (count + 1) // 2))
