"""The JUnit suites of a skill's run and of a replay."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import UNSET

from clawperator.cli.junit import CaseProblem, Document, ReportCase, ReportSuite

if TYPE_CHECKING:
    from clawperator.replay.run import StepOutcome

_VERIFICATION = "terminal verification"


class SkillRunSuite:
    """Makes the suite of a skill's run: a case per checkpoint, and one for the verification of its end state.

    The time of a checkpoint is that since the one before it, or since the object was created.
    """

    def __init__(self, skill_id: str, device: str | None) -> None:
        self._name = skill_id
        self._properties = {"deviceId": device} if device else {}
        self._started = datetime.now(UTC)

    def suite(self, document: Document) -> ReportSuite:
        """The suite of a printed document: of a run, or of an error."""
        result = document.get("skillResult")
        found = _skill_cases(result, document, self._started) if isinstance(result, dict) else []
        output = document.get("output") or document.get("stdout") or ""
        return ReportSuite(self._name, tuple(found), self._properties, output, document.get("stderr") or "")


def _skill_cases(result: Document, document: Document, started: datetime) -> list[ReportCase]:
    found = []
    before = started
    for point in result.get("checkpoints", ()):
        at = _time(point.get("observedAt")) or before
        seconds = (at - before).total_seconds()
        before = max(at, before)
        found.append(ReportCase(point["id"], max(seconds, 0.0), _problem(point, document)))
    verification = result.get("terminalVerification")
    if isinstance(verification, dict):
        found.append(ReportCase(_VERIFICATION, problem=_problem(verification, document)))
    return found


def _problem(reported: Document, document: Document) -> CaseProblem | None:
    """The problem of a checkpoint or a verification. A failure has the code of the run."""
    status, note = reported["status"], reported.get("note")
    if status in ("skipped", "not_run"):
        return CaseProblem("skipped", str(note or status))
    if status == "failed":
        message = str(note or document.get("message") or "failed")
        return CaseProblem("failure", message, str(document.get("code") or "SKILL_EXECUTION_FAILED"))
    return None


def _time(text: object) -> datetime | None:
    """A time that a skill reports; None when it is not one."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class ReplaySuite:
    """Collects the steps of a replay while it runs, so that a replay that is interrupted has a report, too."""

    def __init__(self, session: str) -> None:
        self._name = f"replay.{session}"
        self._cases: list[ReportCase] = []
        self._last = time.monotonic()

    def add(self, outcome: "StepOutcome") -> None:
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        problem = None
        if outcome.error is not UNSET:
            problem = CaseProblem("failure", str(outcome.error["message"]), str(outcome.error["code"]))
        step = outcome.step
        self._cases.append(ReportCase(_step_name(step.seq, step.description), seconds, problem))

    def suite(self, document: Document) -> ReportSuite:
        """The suite of a printed document: of a report, or of an error."""
        left = document.get("steps", ())[len(self._cases) :]
        skipped = CaseProblem("skipped", "not run")
        more = (ReportCase(_step_name(step["seq"], step["description"]), problem=skipped) for step in left)
        device = document.get("deviceId")
        return ReportSuite(self._name, (*self._cases, *more), {"deviceId": device} if device else {})


def _step_name(seq: float, description: str) -> str:
    return f"[{seq}] {description}"
