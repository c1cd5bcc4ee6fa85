"""Turns: completed turns are committed once; refused, cancelled and late ones leave the session unchanged."""

import json
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.inventory.routing import Match
from clawperator.agent.ports import Answer, BrainRequest, Evidence, Tool, ToolCall, ToolContext, ToolResult
from clawperator.agent.sessions.records import Usage
from clawperator.agent.sessions.store import SessionStore
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.turns.conversation import run_turns
from clawperator.agent.turns.engine import Limits, TurnEngine, TurnProgress
from clawperator.agent.turns.events import EventStream
from clawperator.errors import ClawError
from clawperator.policy.rules import Policy
from tests.agent.scripted import Script, ScriptedBrain, answering, tool
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS

MATCHES = (Match("command", "open", 1.0, "a.py"), Match("tool", "click", 0.5, "b.py"))


class Fixture:
    """An engine over a real session, with the events it wrote and the requests its brain received."""

    def __init__(self, engine: TurnEngine, brain: ScriptedBrain, lines: list[bytes]) -> None:
        self.engine = engine
        self.brain = brain
        self._lines = lines

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._lines]


@contextmanager
def engine_in(  # noqa: PLR0913 - the parts of an engine
    folder: Path,
    script: Script,
    *tools: Tool,
    deadline: TurnDeadline | None = None,
    session_id: str = "s",
    resume: bool = False,
    policy: Policy | None = None,
    **more: Any,
) -> Iterator[Fixture]:
    lines: list[bytes] = []
    brain = ScriptedBrain(script)
    with SessionStore(str(folder)).open(session_id, resume=resume) as session:
        engine = TurnEngine(
            session,
            brain,
            ToolRegistry(tools or (tool("click"),), policy or Policy()),
            ToolContext(deadline or TurnDeadline()),
            events=EventStream("c0ffee", lines.append),
            matches=MATCHES,
            **more,
        )
        yield Fixture(engine, brain, lines)


def stored(folder: Path, session_id: str = "s") -> list[str]:
    """The prompts of the session on the disk; none when there is no session."""
    path = folder / f"{session_id}.jsonl"
    if not path.exists():
        return []
    return [turn.prompt for turn in SessionStore(str(folder)).load(session_id).turns]


def test_a_completed_turn_is_committed_once_with_its_calls_and_usage(tmp_path: Path) -> None:
    script = answering("It is done now.", ToolCall("click", {"x": 1}))
    with engine_in(tmp_path, script) as on:
        result = on.engine.submit("tap it")
    assert (result.stop_reason, result.outcome, result.committed, result.turn) == ("completed", "done", True, 1)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (2, 4)
    (turn,) = SessionStore(str(tmp_path)).load("s").turns
    assert (turn.prompt, turn.output, turn.correlation_id) == ("tap it", "It is done now.", "c0ffee")
    assert [(call.name, call.params, call.handled) for call in turn.tool_calls] == [("click", {"x": 1}, True)]
    assert turn.matched_commands == ("open",)
    assert turn.matched_tools == ("click",)


def test_usage_adds_up_over_turns_and_comes_back_with_the_session(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("three words here")) as on:
        on.engine.submit("one two")
        on.engine.submit("one")
    with engine_in(tmp_path, answering("ok"), resume=True) as on:
        assert on.engine.session.usage.input_tokens == 3
        assert on.engine.session.usage.output_tokens == 6


def test_the_token_count_of_a_brain_is_used(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering(Answer("hi", usage=Usage(700, 11)))) as on:
        assert on.engine.submit("x").usage == Usage(700, 11)
        assert on.engine.session.usage.input_tokens == 700


def test_a_prompt_over_the_budget_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    limits = Limits(max_budget_tokens=5)
    with engine_in(tmp_path, answering("two words"), limits=limits) as on:
        assert on.engine.submit("one two three").committed  # exactly the budget
        before = (tmp_path / "s.jsonl").read_bytes()
        refused = on.engine.submit("one")
        assert (tmp_path / "s.jsonl").read_bytes() == before
    assert refused.stop_reason == "max_budget_reached"
    assert not refused.committed
    assert refused.usage.input_tokens + refused.usage.output_tokens == 5  # the old totals
    assert on.brain.requests[1:] == []  # the prompt alone was too much: nothing was done


def test_an_answer_over_the_budget_is_returned_and_not_stored(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("far too many words"), limits=Limits(max_budget_tokens=3)) as on:
        refused = on.engine.submit("one")
    assert (refused.stop_reason, refused.output) == ("max_budget_reached", "far too many words")
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_is_full_takes_no_more_turns(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("ok"), limits=Limits(max_turns=1)) as on:
        on.engine.submit("first")
        refused = on.engine.submit("second")
        assert len(on.brain.requests) == 1
    assert refused.stop_reason == "max_turns_reached"
    assert stored(tmp_path) == ["first"]


def test_the_turn_limit_applies_beyond_the_compacted_history(tmp_path: Path) -> None:
    limits = Limits(max_turns=4, compact_after_turns=2)
    with engine_in(tmp_path, answering("ok"), limits=limits) as on:
        results = [on.engine.submit(f"p{n}") for n in range(6)]
        assert [len(request.history) for request in on.brain.requests] == [0, 1, 2, 2]
    assert [result.stop_reason for result in results][4:] == ["max_turns_reached"] * 2
    assert [result.compacted_turns for result in results[:4]] == [0, 0, 0, 1]


def test_a_cancelled_turn_is_not_stored(tmp_path: Path) -> None:
    deadline = TurnDeadline()
    deadline.cancel()
    with engine_in(tmp_path, answering("x"), deadline=deadline) as on:
        result = on.engine.submit("p")
    assert (result.stop_reason, result.cancel_observed, result.output) == ("cancelled", True, "")
    assert list(tmp_path.iterdir()) == []


def test_a_cancellation_between_the_answer_and_the_commit_wins(tmp_path: Path) -> None:
    deadline = TurnDeadline()

    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        yield ToolCall("click", {})
        deadline.cancel()
        return Answer("final answer")

    with engine_in(tmp_path, script, deadline=deadline) as on:
        result = on.engine.submit("p")
    assert (result.stop_reason, result.cancel_observed, result.output) == ("cancelled", True, "final answer")
    assert stored(tmp_path) == []


def test_denials_are_reported_and_stored(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("no", ToolCall("click", {})), policy=Policy(mode="read-only")) as on:
        result = on.engine.submit("p")
    (denial,) = result.permission_denials
    assert (denial.tool_name, denial.status) == ("click", "blocked")
    assert [call.code for call in result.tool_calls] == ["PERMISSION_DENIED"]
    (turn,) = SessionStore(str(tmp_path)).load("s").turns
    assert [kept.tool_name for kept in turn.permission_denials] == ["click"]


def test_evidence_is_linked_from_the_turn_that_caused_it(tmp_path: Path) -> None:
    def look(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        return ToolResult(
            True, "seen", evidence=(Evidence("snapshot", "cmd-1", "claw-1", {"text": "<hierarchy/>"}),)
        )

    with engine_in(tmp_path, answering("ok", ToolCall("look", {})), tool("look", look)) as on:
        result = on.engine.submit("p")
    (link,) = result.evidence
    assert (link.kind, link.ref, link.device_id) == ("snapshot", "cmd-1", "claw-1")
    assert json.loads((tmp_path / link.path).read_bytes())["text"] == "<hierarchy/>"


def test_a_secret_of_a_tool_is_stored_nowhere(tmp_path: Path) -> None:
    def typed(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        return ToolResult(True, "typed •••", secrets=("hunter22",))

    call = ToolCall("enter_text", {"text": "hunter22", "matcher": {"role": "textfield"}})
    with engine_in(tmp_path, answering("Typed hunter22.", call), tool("enter_text", typed)) as on:
        on.engine.submit("type hunter22 into the password field")
        assert "hunter22" not in json.dumps(on.events)
    assert b"hunter22" not in (tmp_path / "s.jsonl").read_bytes()


def test_an_unavailable_brain_is_an_error_and_nothing_is_stored(tmp_path: Path) -> None:
    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        yield from ()
        raise ClawError("BRAIN_UNAVAILABLE", "connection refused")

    with engine_in(tmp_path, script) as on:
        result = on.engine.submit("p")
    assert (result.stop_reason, result.outcome, result.committed) == ("cancelled", "failed", False)
    assert result.error is not None
    assert result.error.code == "BRAIN_UNAVAILABLE"
    assert list(tmp_path.iterdir()) == []


def test_calls_are_kept_when_the_brain_fails_after_them(tmp_path: Path) -> None:
    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        yield ToolCall("click", {})
        raise RuntimeError("out of memory")

    with engine_in(tmp_path, script) as on:
        result = on.engine.submit("p")
    assert (result.committed, result.outcome) == (True, "failed")
    assert "out of memory" in result.output
    (turn,) = SessionStore(str(tmp_path)).load("s").turns
    assert turn.tool_calls[0].handled


def test_the_number_of_calls_of_a_turn_is_limited(tmp_path: Path) -> None:
    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        while True:
            yield ToolCall("click", {})

    with engine_in(tmp_path, script, limits=Limits(max_steps=3)) as on:
        result = on.engine.submit("p")
    assert len(result.tool_calls) == 3
    assert result.error is not None
    assert result.error.code == "TURN_STEPS_REACHED"


def test_a_turn_that_cannot_be_written_is_an_error_and_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_in(tmp_path, answering("done")) as on:
        on.engine.submit("first")

        def full(*_: Any, **__: Any) -> None:
            raise ClawError("SESSION_WRITE_FAILED", "No space left on device", operation="write", target="s")

        monkeypatch.setattr(type(on.engine.session), "commit", full)
        result = on.engine.submit("second")
    assert (result.committed, result.output, result.outcome) == (False, "done", "failed")
    assert result.error is not None
    assert result.error.code == "SESSION_WRITE_FAILED"
    monkeypatch.undo()
    assert stored(tmp_path) == ["first"]


def test_structured_output_is_json_inside_the_output(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("a\nb"), structured=True) as on:
        output = on.engine.submit("p").output
    assert json.loads(output) == {"summary": ["a", "b"], "session_id": "s"}


def test_reported_usage_is_kept_when_the_turn_is_refused_or_broken_off(tmp_path: Path) -> None:
    def script(request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        request.on_usage(Usage(300, 20))
        yield ToolCall("click", {})
        request.on_usage(Usage(30, 10))
        raise ClawError("BRAIN_UNAVAILABLE", "gone")

    with engine_in(tmp_path, script, limits=Limits(max_budget_tokens=100_000)) as on:
        broken = on.engine.submit("p")
        assert (broken.committed, broken.spent, broken.usage) == (True, Usage(330, 30), Usage(330, 30))
    with engine_in(tmp_path, script, session_id="t", limits=Limits(max_budget_tokens=100)) as on:
        refused = on.engine.submit("p")
    assert (refused.stop_reason, refused.spent, refused.usage) == ("max_budget_reached", Usage(300, 20), Usage())
    assert refused.tool_calls == ()


def test_a_reply_over_the_budget_makes_none_of_its_calls(tmp_path: Path) -> None:
    def script(request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        request.on_usage(Usage(90, 10))
        yield ToolCall("click", {})
        request.on_usage(Usage(90, 10))
        yield ToolCall("click", {})
        raise AssertionError("asked again after the budget was exceeded")

    with engine_in(tmp_path, script, limits=Limits(max_budget_tokens=150)) as on:
        result = on.engine.submit("p")
    assert (result.stop_reason, result.committed, result.error) == ("max_budget_reached", False, None)
    assert [call.handled for call in result.tool_calls] == [True]
    assert result.spent == Usage(180, 20)
    assert "150" in result.output


def test_a_call_that_could_not_be_read_is_recorded_and_not_run(tmp_path: Path) -> None:
    problem = ClawError("TOOL_PAYLOAD_INVALID", "the arguments are not a JSON object (x)")

    def script(_request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        result = yield ToolCall("click", {}, "c1", problem)
        assert result.error is problem
        return Answer("Sorry.")

    with engine_in(tmp_path, script) as on:
        result = on.engine.submit("p")
    assert [(call.name, call.handled, call.code) for call in result.tool_calls] == [
        ("click", False, "TOOL_PAYLOAD_INVALID")
    ]
    (turn,) = SessionStore(str(tmp_path)).load("s").turns
    assert [(call.name, call.code) for call in turn.tool_calls] == [("click", "TOOL_PAYLOAD_INVALID")]


def test_text_typed_by_a_plan_is_masked(tmp_path: Path) -> None:
    action = {"id": "a", "type": "Type_Text", "params": {"value": "Milk99"}}
    call = ToolCall("run", {"actions": [action, 7]})

    def typed(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        return ToolResult(True, "typed 'Milk99' into x")

    with engine_in(tmp_path, answering("ok", call), tool("run", typed)) as on:
        result = on.engine.submit("p")
        assert "Milk99" not in json.dumps(on.events)
    (made,) = result.tool_calls
    assert made.params == {"actions": [{**action, "params": {"value": "(6 characters)"}}, 7]}


# Several turns.


def test_the_continuation_is_sent_verbatim_and_only_if_given(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("ok")) as on:
        turns = run_turns(on.engine, "first", max_turns=3, continuation="go on")
        assert [request.prompt for request in on.brain.requests] == ["first", "go on", "go on"]
        assert [turn.committed for turn in turns] == [True] * 3
    with engine_in(tmp_path, answering("ok"), session_id="t") as on:
        assert len(run_turns(on.engine, "first", max_turns=3)) == 1


@pytest.mark.parametrize("most", [0, -1])
def test_no_turn_runs_when_none_is_allowed(tmp_path: Path, most: int) -> None:
    with engine_in(tmp_path, answering("ok")) as on:
        assert run_turns(on.engine, "first", max_turns=most, continuation="more") == []
    assert list(tmp_path.iterdir()) == []


def test_the_loop_ends_with_the_first_turn_that_is_not_done(tmp_path: Path) -> None:
    with engine_in(
        tmp_path, answering(Answer("not there", "failed", ClawError("NODE_NOT_FOUND", "not there")))
    ) as on:
        turns = run_turns(on.engine, "tap x", max_turns=5, continuation="again")
    assert [(turn.stop_reason, turn.outcome) for turn in turns] == [("completed", "failed")]


def test_no_turn_starts_after_the_deadline(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("ok"), deadline=TurnDeadline(-1)) as on:
        (turn,) = run_turns(on.engine, "p", max_turns=3, continuation="q")
        assert on.brain.requests == []
    assert (turn.stop_reason, turn.cancel_observed, turn.matched_tools) == ("timeout", True, ("click",))
    assert turn.usage == Usage()


def test_the_deadline_covers_all_turns(tmp_path: Path) -> None:
    deadline = TurnDeadline(2)
    calls = count()

    def slow(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        if next(calls) > 0:
            deadline.sleep(HANG_SECONDS)
        return ToolResult(True, "slept")

    with engine_in(tmp_path, answering("ok", ToolCall("slow", {})), tool("slow", slow), deadline=deadline) as on:
        turns = run_turns(on.engine, "p", max_turns=9, continuation="q")
    assert [turn.stop_reason for turn in turns] == ["completed", "timeout"]
    assert turns[-1].cancel_observed
    assert stored(tmp_path) == ["p"]


def test_work_that_does_not_stop_is_not_observed_and_commits_nothing(tmp_path: Path) -> None:
    stuck = threading.Event()

    def wait(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        stuck.wait(NEVER_SECONDS)
        return ToolResult(True, "too late")

    started = time.monotonic()
    with engine_in(
        tmp_path, answering("ok", ToolCall("wait", {})), tool("wait", wait), deadline=TurnDeadline(1)
    ) as on:
        (turn,) = run_turns(on.engine, "p", max_turns=3, grace=0.1)
        assert (turn.stop_reason, turn.cancel_observed) == ("timeout", False)
        stuck.set()
        time.sleep(0.1)  # now it wakes, sees the cancellation and leaves the session unchanged
        assert stored(tmp_path) == []
    assert time.monotonic() - started < HANG_SECONDS


def test_a_timed_out_turn_reports_its_calls(tmp_path: Path) -> None:
    deadline = TurnDeadline(1)

    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        yield ToolCall("click", {})
        while True:
            deadline.sleep(1)

    with engine_in(tmp_path, script, deadline=deadline) as on:
        (turn,) = run_turns(on.engine, "p", max_turns=1)
        assert [event["event"] for event in on.events][-1] == "turn_ended"
    assert (turn.stop_reason, turn.cancel_observed) == ("timeout", True)
    assert [call.name for call in turn.tool_calls] == ["click"]
    assert turn.error is not None
    assert turn.error.retryable is False
    assert turn.duration_ms > 0


@pytest.mark.parametrize("seconds", [None, NEVER_SECONDS])
def test_an_interrupted_turn_is_cancelled(tmp_path: Path, seconds: float | None) -> None:
    deadline = TurnDeadline(seconds)

    def press(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        os.kill(os.getpid(), signal.SIGINT)
        end = time.monotonic() + HANG_SECONDS
        while not deadline.is_cancelled and time.monotonic() < end:
            time.sleep(0.005)
        return ToolResult(True, "pressed")

    with engine_in(
        tmp_path, answering("ok", ToolCall("press", {})), tool("press", press), deadline=deadline
    ) as on:
        (turn,) = run_turns(on.engine, "p", max_turns=3, continuation="q", grace=5)
    assert (turn.stop_reason, turn.cancel_observed, turn.committed) == ("cancelled", True, False)
    assert turn.error is not None
    assert turn.error.code == "INTERRUPTED"
    assert stored(tmp_path) == []


@pytest.mark.parametrize("seconds", [None, 30])
def test_a_cancellation_counts_when_no_exception_reaches_the_turn(tmp_path: Path, seconds: float | None) -> None:
    deadline = TurnDeadline(seconds)

    def lose(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        deadline.cancel()
        return ToolResult(True, "went on")

    with engine_in(tmp_path, answering("ok", ToolCall("lose", {})), tool("lose", lose), deadline=deadline) as on:
        (turn,) = run_turns(on.engine, "p", max_turns=3, continuation="q")
    assert (turn.stop_reason, turn.cancel_observed, turn.committed) == ("cancelled", True, False)
    assert turn.error is not None
    assert turn.error.code == "INTERRUPTED"


# Events.


def test_events_have_one_correlation_id_and_a_sequence_without_gaps(tmp_path: Path) -> None:
    with engine_in(tmp_path, answering("ok", ToolCall("click", {"a": 1}))) as on:
        run_turns(on.engine, "p", max_turns=1)
        events = on.events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event["correlation_id"] for event in events} == {"c0ffee"}
    names = [event["event"] for event in events]
    assert names == ["turn_started", "tool_called", "tool_result", "stage", "committed", "turn_ended"]


def test_a_heartbeat_reports_the_current_phase() -> None:
    lines: list[bytes] = []
    events = EventStream("x", lines.append)
    events.enter("tool", tool="wait_for_node")
    end = time.monotonic() + HANG_SECONDS
    with events.heartbeat(0.02):
        while len(lines) < 2 and time.monotonic() < end:
            time.sleep(0.01)
    beats = [json.loads(line) for line in lines]
    assert len(beats) >= 2
    assert {(beat["event"], beat["phase"], beat["tool"]) for beat in beats} == {
        ("heartbeat", "tool", "wait_for_node")
    }


def test_a_failing_sink_is_a_warning() -> None:
    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    events = EventStream("x", full)
    events.emit("a")
    events.emit("b")
    assert events.warnings == ["events stopped after 0: No space left on device"]


def test_events_are_redacted_and_valid_unicode() -> None:
    lines: list[bytes] = []
    EventStream("x", lines.append).emit("message_delta", text="key sk-abcdefghijklmnopqrstuvwxyz0123456789 \udcff")
    text = msgspec.json.decode(lines[0])["text"]
    assert "abcdefghijklmnop" not in text


# --- errors after an effect


def _failing_after(*calls: ToolCall, code: str = "BRAIN_UNAVAILABLE") -> Script:
    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        for call in calls:  # noqa: UP028 - a tuple takes no results
            yield call
        raise ClawError(code, "the stream was cut")

    return script


def _rejecting(code: str, *, after_effect: bool = False) -> Tool:
    def run(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        error = ClawError(code, "no", after_effect=after_effect)
        return ToolResult(False, "no", error=error)

    return tool("click", run)


@pytest.mark.parametrize(
    ("used", "retryable"),
    [
        (tool("click"), False),
        (tool("click", level="read-only"), True),
        (_rejecting("NODE_NOT_FOUND"), True),
        (_rejecting("NODE_NOT_FOUND", after_effect=True), False),
        (_rejecting("RESULT_ENVELOPE_MALFORMED"), False),
        (_rejecting("TOOL_PAYLOAD_INVALID"), True),
    ],
)
def test_an_error_is_retryable_only_when_no_call_of_the_turn_may_have_acted(
    tmp_path: Path, used: Tool, *, retryable: bool
) -> None:
    with engine_in(tmp_path, _failing_after(ToolCall("click", {})), used) as on:
        turn = on.engine.submit("p")
    assert turn.error is not None
    assert (turn.error.code, turn.error.retryable) == ("BRAIN_UNAVAILABLE", retryable)


def test_an_effect_of_an_earlier_turn_of_the_run_counts(tmp_path: Path) -> None:
    scripts = {"p": answering("ok", ToolCall("click", {})), "q": _failing_after()}
    with engine_in(tmp_path, lambda request: scripts[request.prompt](request)) as on:
        first, second = run_turns(on.engine, "p", max_turns=2, continuation="q")
    assert first.error is None
    assert second.error is not None
    assert (second.error.code, second.error.retryable) == ("BRAIN_UNAVAILABLE", False)


def test_an_interrupt_in_the_middle_of_a_call_that_acts_is_not_retryable(tmp_path: Path) -> None:
    def press(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        raise KeyboardInterrupt

    for level, retryable in (("act", False), ("read-only", True)):
        pressing = tool("press", press, level=level)  # type: ignore[arg-type]
        with engine_in(tmp_path, answering("ok", ToolCall("press", {})), pressing) as on:
            (turn,) = run_turns(on.engine, "p", max_turns=1)
        assert turn.error is not None
        assert (turn.error.code, turn.error.retryable) == ("INTERRUPTED", retryable)


def test_the_duration_is_in_milliseconds_of_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    turn = TurnProgress()
    assert turn.duration_ms == 0
    now[0] = 112.5
    assert turn.duration_ms == 12_500
