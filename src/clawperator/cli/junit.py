"""JUnit XML reports, as CI servers read them: one suite, with a case per checkpoint or replayed step.

A report is always well-formed: characters that XML cannot contain are written as escapes such as ``\\u0000``.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape, quoteattr

import msgspec
from msgspec import UNSET, Struct

from clawperator._base.files import AtomicFile, why
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.outcome import CommandOutcome, run_to_end
from clawperator.cli.parsing import usage
from clawperator.ui.parse import NOT_XML

if TYPE_CHECKING:
    from clawperator.replay.run import StepOutcome


# How much of an output a report keeps: its end, where the reason of a failure is.
MAX_OUTPUT = 64 * 1024
RUN = "run"

Document = Mapping[str, Any]


class CaseProblem(Struct, frozen=True):
    """Why a case did not pass. A skipped case needs no error code."""

    kind: Literal["failure", "error", "skipped"]
    message: str
    code: str = ""


class ReportCase(Struct, frozen=True):
    name: str
    seconds: float = 0.0
    problem: CaseProblem | None = None


class ReportSuite(Struct, frozen=True):
    """The cases of one run. ``output`` and ``errors`` are what it printed."""

    name: str
    cases: tuple[ReportCase, ...]
    properties: Mapping[str, str] = {}
    output: str = ""
    errors: str = ""


def with_report(
    call: Call, run: Callable[[], CommandResult], describe: Callable[[Document], ReportSuite], path: str
) -> CommandResult:
    """Run a command and write its report to a file, however the command ends.

    ``describe`` makes the suite of the printed document. A file that cannot be created is an error before the run.
    Later nothing about the report changes the result: a full disk is a warning.
    """
    outcome: CommandOutcome | None = None
    started, began = datetime.now(UTC), time.monotonic()
    try:
        with _open_report(path) as file:
            outcome = run_to_end(run)
            suite = _with_error(describe(outcome.document), outcome.document)
            file.write(render_suite(suite, started, time.monotonic() - began))
    except (OSError, KeyboardInterrupt) as e:
        if outcome is None:
            raise
        reason = why(e) if isinstance(e, OSError) else "interrupted from the keyboard"
        call.console.warn(f"the JUnit report {path} was not written: {reason}")
    return outcome.unwrap()


@contextmanager
def _open_report(path: str) -> Iterator[IO[bytes]]:
    with ExitStack() as stack:
        try:
            target = stack.enter_context(AtomicFile(path))
        except (OSError, ValueError) as e:
            raise usage(f"cannot write {path}: {why(e)}", "Pass a file in an existing folder to --junit.") from e
        yield target.file


def _with_error(suite: ReportSuite, document: Document) -> ReportSuite:
    """The suite with at least one case, and one for the error of the whole run, unless a case failed by it."""
    code = document.get("code")
    failed = any(case.problem is not None and case.problem.kind != "skipped" for case in suite.cases)
    if isinstance(code, str) and not failed:
        problem = CaseProblem("error", str(document.get("message", "")), code)
        return msgspec.structs.replace(suite, cases=(*suite.cases, ReportCase(RUN, problem=problem)))
    return suite if suite.cases else msgspec.structs.replace(suite, cases=(ReportCase(RUN),))


def render_suite(suite: ReportSuite, started: datetime, seconds: float) -> bytes:
    """The XML document of a suite that began at ``started`` and took ``seconds``."""
    kinds = [case.problem.kind for case in suite.cases if case.problem is not None]
    counts = {
        "tests": str(len(suite.cases)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "time": _seconds(seconds),
    }
    more = {
        "skipped": str(kinds.count("skipped")),
        "timestamp": started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": "localhost",
    }
    pairs = [_tag("property", {"name": name, "value": value}) for name, value in suite.properties.items()]
    outputs = [("system-out", suite.output), ("system-err", suite.errors)]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _tag("testsuites", {"name": "clawperator", **counts}, closed=False),
        _tag("testsuite", {"name": suite.name, **counts, **more}, closed=False),
        *(["<properties>", *pairs, "</properties>"] if pairs else []),
        *(line for case in suite.cases for line in _case(case, suite.name)),
        *(f"<{name}>{_text(_end(text))}</{name}>" for name, text in outputs if text),
        "</testsuite>",
        "</testsuites>",
        "",
    ]
    return "\n".join(lines).encode()


def _case(case: ReportCase, suite: str) -> Iterable[str]:
    about = {"classname": suite, "name": case.name, "time": _seconds(case.seconds)}
    problem = case.problem
    if problem is None:
        return [_tag("testcase", about)]
    if problem.kind == "skipped":
        inner = _tag("skipped", {"message": problem.message})
    else:
        head = _tag(problem.kind, {"message": problem.message, "type": problem.code}, closed=False)
        inner = f"{head}{_text(f'{problem.code}: {problem.message}')}</{problem.kind}>"
    return [_tag("testcase", about, closed=False), inner, "</testcase>"]


def _tag(name: str, attributes: Mapping[str, str], *, closed: bool = True) -> str:
    listed = "".join(f" {key}={quoteattr(_clean(value))}" for key, value in attributes.items())
    return f"<{name}{listed}{'/' if closed else ''}>"


def _text(text: str) -> str:
    return escape(_clean(text), {"\r": "&#13;"})


def _clean(text: str) -> str:
    return NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _end(text: str) -> str:
    cut = len(text) - MAX_OUTPUT
    return text if cut <= 0 else f"[{cut} characters omitted]\n{text[cut:]}"


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0.0):.3f}"


_VERIFICATION = "terminal verification"


def skill_run_suite(skill_id: str, device: str | None, started: datetime, document: Document) -> ReportSuite:
    """The suite of a printed document of a skill: of a run, or of an error.

    It has a case per checkpoint, and one for the verification of its end state. The time of a checkpoint is that
    since the one before it, or since the run ``started``.
    """
    result = document.get("skillResult")
    found = _skill_cases(result, document, started) if isinstance(result, dict) else []
    output = document.get("output") or document.get("stdout") or ""
    properties = {"deviceId": device} if device else {}
    return ReportSuite(skill_id, tuple(found), properties, output, document.get("stderr") or "")


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
