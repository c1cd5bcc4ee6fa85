"""Why a verdict is what it is, in one sentence that names the step."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from clawperator.contract.skill_result import SkillResult
from clawperator.recording.compare.alignment import Aligned


def tell_reason(rows: Sequence[Aligned], run: SkillResult, coverage: str | None) -> str:
    """What happened on the path, what the run says of itself, and what is known of its end.

    ``coverage`` is told too, when the verdict rests on it.
    """
    return "; ".join(filter(None, (*_path(rows), coverage, *_status(run), *_end(run))))


def _path(rows: Sequence[Aligned]) -> Iterator[str]:
    row = next((row for row in rows if row.relation != "matched"), None)
    if row is None:
        yield f"all {len(rows)} checkpoints were proved in order"
        return
    step = "" if row.baselineIndex is UNSET else f"step {row.baselineIndex + 1}, "
    note = f" ({row.note})" if row.note else ""
    match row.relation:
        case "missing":
            yield f"{step}{row.checkpoint}, is missing"
        case "extra":
            yield f"{row.checkpoint} was not shown{note}"
        case "out_of_order":
            yield f"{step}{row.checkpoint}, came at another time than shown{note}"
        case _:
            yield f"{step}{row.checkpoint}, has the status {row.actualStatus}{note}"


def _status(run: SkillResult) -> Iterator[str]:
    if run.status == "failed":
        state = run.diagnostics.runtimeState if run.diagnostics else UNSET
        yield "the run says that it failed" + (f", its runtime being {state}" if state else "")
    elif run.status == "indeterminate":
        yield "the run is not sure of itself"


def _end(run: SkillResult) -> Iterator[str]:
    proof = run.terminalVerification
    if not proof:
        yield "nothing is said of the end state"
        return
    words = {"verified": "is verified", "failed": "is not the one asked for", "not_run": "was not verified"}
    yield f"the end state {words[proof.status]}" + (f": {proof.note}" if proof.note else "")
