"""The report of a failed test: its calls of phones with their results, and the last screens."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.secrets import known_secrets
from clawperator.api.phone import AndroidPhone
from clawperator.contract.action_params import TextSource
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Plan, validate
from clawperator.contract.results import ResultEnvelope
from clawperator.device.run.secrets import SecretReader
from clawperator.errors import ClawError
from clawperator.report.builder import PageBuilder, ReportParts, RowScreens, RowStatus, action_row
from clawperator.report.page import PageList, PageRow, Verdict, seconds
from clawperator.report.write import ReportResult, save_report
from clawperator.ui.node import HIDDEN

# Calls of one test; earlier ones are left out, with a note.
MAX_CALLS = 300


class RecordedCall(Struct):
    """An execution of a phone: its document, its result, and the screens around it, where they are known."""

    serial: str
    document: Mapping[str, Any]
    at: float
    before: str | None
    after: str | None = None
    outcome: ResultEnvelope | ClawError | None = None


class LastScreen(Struct, frozen=True):
    """The screen of a phone when a test failed: its tree, and a picture if one was taken."""

    serial: str
    xml: str | None
    png: bytes = b""


class CallRecorder:
    """Keeps the last calls of all phones. ``look`` returns the tree of a phone that can be looked at for free."""

    def __init__(self, look: Callable[[AndroidPhone], str | None] = lambda _: None) -> None:
        self.calls: deque[RecordedCall] = deque(maxlen=MAX_CALLS)
        self.count = 0
        self._is_over = False
        self._look = look
        self._began = time.monotonic()

    def stop(self) -> None:
        """Ignore further calls: those that only find out why a test failed."""
        self._is_over = True

    def started(self, phone: AndroidPhone, document: Mapping[str, Any]) -> None:
        if self._is_over:
            return
        self.count += 1
        at = (time.monotonic() - self._began) * 1000
        self.calls.append(RecordedCall(phone.serial, document, at, self._screen(phone)))

    def ended(self, phone: AndroidPhone, document: Mapping[str, Any], outcome: ResultEnvelope | ClawError) -> None:
        call = next((one for one in reversed(self.calls) if one.document is document), None)
        if call is not None:
            call.after, call.outcome = self._screen(phone), outcome

    def _screen(self, phone: AndroidPhone) -> str | None:
        with suppress(Exception):  # a phone that fails must not change what the test sees
            return self._look(phone)
        return None


def write_test_report(
    path: str, test: str, error: str, recorder: CallRecorder, screens: Sequence[LastScreen]
) -> ReportResult:
    """Write the report of a failed test. Texts of password fields and secrets that it typed are masked."""
    calls = list(recorder.calls)
    builder = PageBuilder([*known_secrets(), *_typed_secrets(calls)])
    rows = [row for call in calls for row in _call_rows(call, builder, several=len(screens) > 1)]
    missing = recorder.count - len(calls)
    if missing:
        builder.warnings.append(f"Only the last {len(calls)} of {recorder.count:,} calls are shown.")
    rows += [_failure_row(screen, error, builder) for screen in screens]
    headline = error.strip().partition("\n")[0]
    parts = ReportParts(
        kind="Failed test",
        title=test,
        facts=[
            ("Calls", f"{recorder.count:,}"),
            ("Phones", ", ".join(screen.serial for screen in screens)),
            ("Duration", seconds(round(calls[-1].at)) if calls else None),
        ],
        lists=[PageList("Steps", rows)] if rows else [],
        verdict=Verdict("bad", "failed", headline),
        selected=(0, max(len(rows) - 1, 0)),
    )
    return save_report(parts, builder, path)


def _call_rows(call: RecordedCall, builder: PageBuilder, *, several: bool) -> Iterator[PageRow]:
    before, after = builder.screens.add(call.before), builder.screens.add(call.after)
    outcome = call.outcome
    plan = _plan(call)
    actions = [] if plan is None else plan.document["actions"]
    more = [("Phone", call.serial)] if several else []
    if not isinstance(outcome, ResultEnvelope):
        code, message = (outcome.code, outcome.message) if outcome else ("not finished", "")
        hint = outcome.hint if outcome else ""
        yield builder.row(
            _first_type(call),
            _first_type(call).replace("_", " "),
            [("Error", code), ("Message", message), ("Hint", hint), *more],
            note=message,
            time=call.at,
            status=RowStatus(code, "bad"),
            screens=RowScreens(before, after),
        )
        return
    steps = outcome.stepResults
    for position, step in enumerate(steps):
        given = _shown_params(actions[position]) if position < len(actions) else {}
        facts = [("Parameters", msgspec.json.encode(given).decode() if given else None), *more]
        screens = RowScreens(before if position == 0 else after, after if position == len(steps) - 1 else -1)
        yield action_row(step, builder, screens, time=call.at, more=facts, wanted=_wanted(given))


def _failure_row(screen: LastScreen, error: str, builder: PageBuilder) -> PageRow:
    shown = builder.screens.add(screen.xml)
    if shown >= 0 and screen.png:
        builder.screens.add_picture(shown, screen.png)
    return builder.row(
        "failure",
        f"The screen of {screen.serial} when the test failed",
        [("Error", error)],
        status=RowStatus("failed", "bad"),
        screens=RowScreens(shown),
    )


def _plan(call: RecordedCall) -> Plan | None:
    try:
        return validate(dict(call.document))
    except ClawError:  # its own outcome reports that
        return None


def _first_type(call: RecordedCall) -> str:
    actions = call.document.get("actions")
    first = actions[0] if isinstance(actions, Sequence) and actions else {}
    kind = first.get("type") if isinstance(first, Mapping) else None
    return kind if isinstance(kind, str) else "execution"


def _shown_params(action: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an action without a text that it types."""
    hidden = ACTIONS[action["type"]].typed_param
    return {name: value for name, value in action.get("params", {}).items() if name != hidden}


def _wanted(params: Mapping[str, Any]) -> str:
    """What an action was to act on: the first text of its selector."""
    matcher = params.get("matcher") or {}
    return next((f'"{value}"' for value in matcher.values() if isinstance(value, str)), "")


def _typed_secrets(calls: Iterable[RecordedCall]) -> Iterator[str]:
    """Texts that were typed as secrets, or into password fields: a later screen may show one."""
    for call in calls:
        plan = _plan(call)
        steps = call.outcome.stepResults if isinstance(call.outcome, ResultEnvelope) else []
        for position, action in enumerate(plan.execution.actions if plan else ()):
            source = getattr(action.params, "textFrom", None)
            if isinstance(source, TextSource):
                with suppress(ClawError):
                    yield SecretReader(call.serial).read(source)
            text = getattr(action.params, ACTIONS[action.type].typed_param or "-", None)
            if isinstance(text, str) and position < len(steps) and steps[position].data.get("text") == HIDDEN:
                yield text
