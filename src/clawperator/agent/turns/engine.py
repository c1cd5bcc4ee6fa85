"""One turn: a prompt goes to the brain, its calls to the tools, and what came of it into the session, once.

    stop_reason          what is true afterwards
    completed            committed: prompt, answer, calls, denials, evidence and usage, in one line of the session
    max_turns_reached    the session had its number of turns already; nothing was done
    max_budget_reached   the turn would go over the budget of tokens; the session is untouched
    cancelled            somebody cancelled, or the brain could not be reached; the session is untouched
    timeout              the time for all turns ran out; the session is untouched

``outcome`` tells whether the job itself was done. A turn that answers "that is not on the screen" is complete, and
its outcome is ``failed``.
"""

import time
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.ports import (
    Answer,
    Brain,
    BrainRequest,
    Denial,
    Evidence,
    Exchange,
    ToolCall,
    ToolContext,
    ToolResult,
    Usage,
)
from clawperator.agent.sessions.files import now_ms
from clawperator.agent.sessions.records import CallRecord, TurnRecord
from clawperator.agent.sessions.writer import OpenSession
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.turns.events import EventStream
from clawperator.agent.turns.results import Called, StopReason, TurnResult
from clawperator.agent.typed_text_masking import typed_texts, without_typed_texts
from clawperator.errors import ClawError


class Limits(Struct, frozen=True):
    """How much a session and a turn may use. Tokens are words, unless the brain counts better."""

    max_turns: int = 8
    max_budget_tokens: int = 2_000
    compact_after_turns: int = 12
    max_steps: int = 120


class Matched(Struct, frozen=True):
    """What routing found, once for all turns."""

    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class _Work:
    """What a turn has done so far."""

    def __init__(self) -> None:
        self.calls: list[Called] = []
        self.denials: list[Denial] = []
        self.evidence: list[Evidence] = []
        self.secrets: list[str] = []
        self.counted = Usage()
        self.started_at_ms = now_ms()
        self._began = time.monotonic()

    @property
    def duration_ms(self) -> int:
        """By a clock that nobody sets: the other one may go backwards."""
        return round((time.monotonic() - self._began) * 1000)

    @property
    def has_acted(self) -> bool:
        return any(call.handled for call in self.calls)

    def count(self, usage: Usage) -> None:
        self.counted = Usage(
            self.counted.input_tokens + usage.input_tokens, self.counted.output_tokens + usage.output_tokens
        )


class TurnEngine:
    """Submits prompts to a brain, one after the other, and commits what came of each to a session."""

    def __init__(  # noqa: PLR0913 - the parts of an agent
        self,
        session: OpenSession,
        brain: Brain,
        registry: ToolRegistry,
        context: ToolContext,
        *,
        events: EventStream,
        limits: Limits | None = None,
        matched: Matched | None = None,
        structured: bool = False,
    ) -> None:
        self.session = session
        self._brain = brain
        self._registry = registry
        self._context = context
        self.deadline = context.deadline
        self._events = events
        self._limits = limits or Limits()
        self.matched = matched or Matched()
        self._structured = structured
        self._work = _Work()
        self.committed: TurnResult | None = None  # the turn that is under way, once it counts

    def submit(self, prompt: str) -> TurnResult:
        """Carry out one turn. Whatever goes wrong is in the result."""
        self.begin()
        number = self.session.prompt_count + 1
        self._events.enter("turn", turn=number)
        self._events.emit("turn_started", session_id=self.session.session_id, turn=number, brain=self._brain.name)
        return self.with_work(self._carry_out(prompt, self._work))

    def begin(self) -> None:
        """A new turn: nothing has been done in it."""
        self._work = _Work()
        self.committed = None

    def with_work(self, result: TurnResult) -> TurnResult:
        """The result with what the turn has done so far, also when somebody else had to end it."""
        work = self._work
        return replace(
            result,
            output=result.output if result.committed else self._shown(result.output),
            matched_commands=self.matched.commands,
            matched_tools=self.matched.tools,
            tool_calls=tuple(work.calls),
            permission_denials=tuple(work.denials),
            spent=result.usage if result.committed else work.counted,
            duration_ms=work.duration_ms,
        )

    def announce(self, result: TurnResult) -> None:
        """Tell that the turn has ended, and how."""
        self._events.emit(
            "turn_ended",
            turn=result.turn or self.session.prompt_count + 1,
            stop_reason=result.stop_reason,
            outcome=result.outcome,
            committed=result.committed,
            usage=msgspec.to_builtins(result.spent),
            transcript_size=self.session.prompt_count,
        )

    def _carry_out(self, prompt: str, work: _Work) -> TurnResult:
        refused = self._refuse(prompt)
        if refused is not None:
            return refused
        try:
            answer = self._think(prompt, work)
        except TurnCancelledError:
            return TurnResult(prompt=prompt, output="", stop_reason="cancelled", cancel_observed=True)
        except ClawError as e:
            if not work.has_acted and e.code != "TURN_STEPS_REACHED":
                return self._abandoned(prompt, e.message, e)
            answer = self._broken_off(e)
        return self._settle(prompt, answer, work)

    def _refuse(self, prompt: str) -> TurnResult | None:
        """What keeps a turn from being begun."""
        if self.deadline.is_over:
            return TurnResult(prompt=prompt, output="", stop_reason="cancelled", cancel_observed=True)
        if self.session.prompt_count >= self._limits.max_turns:
            said = f"The session has {self.session.prompt_count} turns, and may have {self._limits.max_turns}."
            return self._refused(prompt, said, "max_turns_reached")
        if self._goes_over(Usage(words(prompt))):
            said = f"The prompt alone would go over the budget of {self._limits.max_budget_tokens} tokens."
            return self._refused(prompt, said, "max_budget_reached")
        return None

    def _settle(self, prompt: str, answer: Answer, work: _Work) -> TurnResult:
        """Count what was used, and commit the turn if it is within the budget."""
        if answer.usage is not None:
            work.counted = answer.usage
        elif work.counted == Usage():
            work.counted = Usage(words(prompt), words(answer.text))
        if self._goes_over(work.counted):
            return self._refused(prompt, answer.text, "max_budget_reached")
        shown = replace(answer, text=self._shown(answer.text), usage=work.counted)
        try:
            return self._commit(prompt, shown, work)
        except TurnCancelledError:
            return TurnResult(prompt=prompt, output=answer.text, stop_reason="cancelled", cancel_observed=True)
        except ClawError as e:
            return self._abandoned(prompt, answer.text, e)

    def _abandoned(self, prompt: str, output: str, error: ClawError) -> TurnResult:
        """A turn that is not part of the session: its brain was not there, or it could not be written."""
        return TurnResult(
            prompt=prompt,
            output=output,
            stop_reason="cancelled",
            cancel_observed=True,
            outcome="failed",
            error=error,
        )

    def _broken_off(self, error: ClawError) -> Answer:
        """What a turn says whose brain failed when tools had acted already. That must not be forgotten."""
        text = f"Broken off: {error.message}"
        return Answer(text, "failed", error)

    def _goes_over(self, usage: Usage) -> bool:
        used = self.session.usage
        total = used.input_tokens + used.output_tokens + usage.input_tokens + usage.output_tokens
        return total > self._limits.max_budget_tokens

    def _refused(self, prompt: str, output: str, reason: StopReason) -> TurnResult:
        """Nothing of it is kept. What it would have used does not count."""
        return TurnResult(
            prompt=prompt, output=output, stop_reason=reason, outcome="failed", usage=self.session.usage
        )

    def _shown(self, text: str) -> str:
        if not self._structured:
            return text
        document = {"summary": text.splitlines(), "session_id": self.session.session_id}
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()

    def _think(self, prompt: str, work: _Work) -> Answer:
        request = BrainRequest(
            prompt=prompt,
            tools=self._registry.tools,
            deadline=self.deadline,
            history=self._history(),
            on_text=lambda text: self._events.emit("message_delta", text=text),
            on_usage=work.count,
        )
        thinking = self._brain.respond(request)
        try:
            self._events.enter("thinking", brain=self._brain.name)
            call = next(thinking)
            while True:
                self.deadline.check()
                self._check_steps(work, call)
                call = thinking.send(self._call(call, work))
        except StopIteration as e:
            answer: Answer = e.value
            return answer
        except (ClawError, TurnCancelledError):
            raise
        except Exception as e:  # a brain with a fault must not take with it what the tools have done
            raise ClawError(
                "UNKNOWN", f"the brain {self._brain.name} failed: {type(e).__name__}: {e}", operation="think"
            ) from e
        finally:
            thinking.close()

    def _check_steps(self, work: _Work, call: ToolCall) -> None:
        if len(work.calls) >= self._limits.max_steps:
            raise ClawError(
                "TURN_STEPS_REACHED",
                f"the turn made {len(work.calls)} calls, as many as it may",
                operation="turn",
                target=call.name,
            )

    def _history(self) -> tuple[Exchange, ...]:
        """The last turns, as many as a brain is given; who resumes a long session gets no more."""
        kept = self.session.turns[-self._limits.compact_after_turns :]
        return tuple(Exchange(turn.prompt, turn.output or "") for turn in kept)

    def _call(self, call: ToolCall, work: _Work) -> ToolResult:
        shown = without_typed_texts(call)
        self._events.enter("tool", tool=call.name)
        self._events.emit("tool_called", tool=call.name, step=len(work.calls) + 1, params=shown)
        result = self._registry.call(call, self._context)
        if result.error is not None and result.error.code == "TURN_TIMEOUT":
            raise TurnCancelledError  # too little time is left to begin anything
        code = result.error.code if result.error else None
        effect = _effect(result.result)
        work.calls.append(Called(call.name, shown, result.handled, result.message, code, effect))
        work.evidence += result.evidence
        work.secrets += result.secrets
        if result.error is not None and result.error.code == "PERMISSION_DENIED":
            work.denials.append(Denial(call.name, result.error.message))
            self._events.emit("permission_denial", tool=call.name, reason=result.error.message)
        self._events.emit(
            "tool_result",
            tool=call.name,
            step=len(work.calls),
            handled=result.handled,
            message=_without(result.message, (*result.secrets, *typed_texts(call))),
            code=code,
            effect=effect,
        )
        self._events.enter("thinking", brain=self._brain.name)
        return result

    def _commit(self, prompt: str, answer: Answer, work: _Work) -> TurnResult:
        usage = answer.usage or Usage()
        record = TurnRecord(
            correlation_id=self._events.correlation_id,
            prompt=prompt,
            output=answer.text,
            stop_reason="completed",
            outcome=answer.outcome,
            started_at_ms=work.started_at_ms,
            ended_at_ms=work.started_at_ms + work.duration_ms,
            brain=self._brain.name,
            usage=usage,
            matched_commands=self.matched.commands,
            matched_tools=self.matched.tools,
            tool_calls=tuple(CallRecord(c.name, dict(c.params), c.handled, c.message, c.code) for c in work.calls),
            permission_denials=tuple(work.denials),
        )
        self.deadline.begin_commit()
        try:
            self._events.enter("commit")
            self._events.emit("stage", stage="commit")
            kept = self.session.commit(record, work.evidence, secrets=work.secrets)
            self.committed = self._as_committed(prompt, answer, kept)
        finally:
            self.deadline.end_commit()
        self._events.emit("committed", turn=kept.turn, path=self.session.path)
        return self.committed

    def _as_committed(self, prompt: str, answer: Answer, kept: TurnRecord) -> TurnResult:
        return TurnResult(
            prompt=prompt,
            output=answer.text,
            stop_reason="completed",
            outcome=answer.outcome,
            committed=True,
            turn=kept.turn,
            evidence=tuple(kept.evidence),
            usage=answer.usage or Usage(),
            compacted_turns=max(self.session.prompt_count - 1 - self._limits.compact_after_turns, 0),
            error=answer.error,
        )


def words(text: str) -> int:
    return len(text.split())


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def _effect(result: Any) -> str | None:
    """What the last step of an execution says came of it."""
    if isinstance(result, dict) and isinstance(envelope := result.get("envelope"), dict):
        for step in reversed(envelope.get("stepResults", ())):
            if effect := step.get("data", {}).get("effect"):
                return str(effect)
    return None
