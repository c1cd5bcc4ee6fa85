"""Turn engine: pass a prompt to the brain, its calls to the tools, and commit the turn to the session once.

    stop_reason          state afterwards
    completed            committed: prompt, answer, calls, denials, evidence and usage, in one line of the session
    max_turns_reached    the session already had its maximum of turns; nothing was done
    max_budget_reached   the turn would exceed the token budget; the session is unchanged
    cancelled            cancelled, or the brain was unavailable; the session is unchanged
    timeout              the time limit of all turns was reached; the session is unchanged

``outcome`` reports whether the task itself was done. A turn that answers "that is not on the screen" is completed,
and its outcome is ``failed``.
"""

import time
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.text import literal_pattern
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.inventory.routing import Match
from clawperator.agent.ports import (
    Answer,
    Brain,
    BrainRequest,
    Evidence,
    Exchange,
    ToolCall,
    ToolContext,
    ToolResult,
    failed_result,
)
from clawperator.agent.redaction import intended_texts, prompt_secrets
from clawperator.agent.sessions.records import CallRecord, Denial, TurnRecord, Usage, now_ms
from clawperator.agent.sessions.writer import OpenSession
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.plans import mask_typed_text, typed_texts
from clawperator.agent.turns.events import EventStream
from clawperator.agent.turns.results import StopReason, ToolCallSummary, TurnResult, cancelled
from clawperator.errors import ClawError, ClawperatorException

_UNFINISHED = "was running when the turn ended"
# Errors of these kinds are found before anything is done.
_NOTHING_DONE = ("policy", "usage", "parse")


class Limits(Struct, frozen=True):
    """Limits of a session and a turn. Tokens are words, unless the brain reports a count."""

    max_turns: int = 8
    max_budget_tokens: int = 2_000
    compact_after_turns: int = 12
    max_steps: int = 120


class _BudgetReachedError(ClawperatorException):
    """The replies so far exceed the token budget."""


class TurnProgress:
    """The work of the current turn so far."""

    def __init__(self) -> None:
        self.calls: list[ToolCallSummary] = []
        self.running: ToolCallSummary | None = None
        self.denials: list[Denial] = []
        self.evidence: list[Evidence] = []
        self.secrets: list[str] = []
        self.typed: set[str] = set()  # into fields other than password fields
        self.may_have_effect = False  # on the phone or elsewhere; also while a call that acts is being made
        self.usage = Usage()
        self.started_at_ms = now_ms()
        self._started = time.monotonic()

    @property
    def duration_ms(self) -> int:
        """Measured with the monotonic clock: the system clock may be set back."""
        return round((time.monotonic() - self._started) * 1000)

    def add_usage(self, usage: Usage) -> None:
        self.usage = self.usage.plus(usage)


class TurnEngine:
    """Submits prompts to a brain, one after the other, and commits each turn to the session."""

    def __init__(  # noqa: PLR0913 - the parts of an agent
        self,
        session: OpenSession,
        brain: Brain,
        registry: ToolRegistry,
        context: ToolContext,
        *,
        events: EventStream,
        limits: Limits | None = None,
        matches: Iterable[Match] = (),
        structured: bool = False,
    ) -> None:
        self.session = session
        self._brain = brain
        self._registry = registry
        self._context = context
        self.deadline = context.deadline
        self._events = events
        self._limits = limits or Limits()
        names = [(match.kind, match.name) for match in matches]  # the same for all turns of a run
        self._commands = tuple(name for kind, name in names if kind == "command")
        self._tools = tuple(name for kind, name in names if kind == "tool")
        self._structured = structured
        self._progress = TurnProgress()
        self.committed: TurnResult | None = None  # the current turn, once it is in the session
        self._had_effect = False  # in an earlier turn

    def submit(self, prompt: str) -> TurnResult:
        """Run one turn. Every failure is part of the result."""
        self.start_turn()
        number = self.session.prompt_count + 1
        self._events.hide(prompt_secrets(prompt))
        self._events.enter("turn", turn=number)
        self._events.emit("turn_started", session_id=self.session.session_id, turn=number, brain=self._brain.name)
        return self.with_progress(self._check_limits(prompt) or self._run(prompt, self._progress))

    def start_turn(self) -> None:
        """Reset the progress for a new turn."""
        self._had_effect = self._had_effect or self._progress.may_have_effect
        self._progress = TurnProgress()
        self.committed = None

    def with_progress(self, result: TurnResult) -> TurnResult:
        """The result with the calls, denials and usage of the turn so far, however it ended.

        An error after an effect of this run is not retryable: a retry would repeat what was done.
        """
        progress, error = self._progress, result.error
        if error is not None and (self._had_effect or progress.may_have_effect):
            error = error.with_(after_effect=True)
        # The call that was running when the turn was stopped.
        unfinished = [replace(call, code=error.code) for call in (progress.running,) if call and error]
        return replace(
            result,
            error=error,
            output=result.output if result.committed else self._render(result.output),
            matched_commands=self._commands,
            matched_tools=self._tools,
            tool_calls=(*progress.calls, *unfinished),
            permission_denials=tuple(progress.denials),
            spent=result.usage if result.committed else progress.usage,
            duration_ms=progress.duration_ms,
        )

    def emit_turn_ended(self, result: TurnResult) -> None:
        self._events.emit(
            "turn_ended",
            turn=result.turn or self.session.prompt_count + 1,
            stop_reason=result.stop_reason,
            outcome=result.outcome,
            committed=result.committed,
            usage=msgspec.to_builtins(result.spent),
            transcript_size=self.session.prompt_count,
        )

    def _run(self, prompt: str, progress: TurnProgress) -> TurnResult:
        try:
            answer = self._run_brain(prompt, progress)
        except TurnCancelledError:
            return cancelled(prompt)
        except _BudgetReachedError:
            return self._refused(prompt, self._budget_report(progress), "max_budget_reached")
        except ClawError as e:
            if not any(call.handled for call in progress.calls) and e.code != "TURN_STEPS_REACHED":
                return cancelled(prompt, e.message, e)
            answer = Answer(f"Stopped: {e.message}", "failed", e)  # keep the completed calls
        return self._finish(prompt, answer, progress)

    def _check_limits(self, prompt: str) -> TurnResult | None:
        """The result of a turn that must not start; None when it may."""
        if self.deadline.is_over:
            return cancelled(prompt)
        count, limits = self.session.prompt_count, self._limits
        if count >= limits.max_turns:
            reason = f"Session turn limit ({limits.max_turns}) reached: the session has {count} turns."
            return self._refused(prompt, reason, "max_turns_reached")
        if self._exceeds_budget(Usage(word_count(prompt))):
            reason = f"Token budget ({limits.max_budget_tokens}) exceeded by the prompt alone."
            return self._refused(prompt, reason, "max_budget_reached")
        return None

    def _refused(self, prompt: str, output: str, reason: StopReason) -> TurnResult:
        """A turn over a limit of the session. Nothing of it is kept; ``usage`` is the session's, unchanged."""
        return TurnResult(
            prompt=prompt, output=output, stop_reason=reason, outcome="failed", usage=self.session.usage
        )

    def _budget_report(self, progress: TurnProgress) -> str:
        made = sum(call.handled for call in progress.calls)
        return (
            f"Token budget ({self._limits.max_budget_tokens}) exceeded: {self._tokens(progress.usage)} tokens "
            f"used. The calls of the last reply were not made; {made} calls before it were."
        )

    def _tokens(self, usage: Usage) -> int:
        """The tokens of the session and of this turn."""
        used = self.session.usage
        return used.input_tokens + used.output_tokens + usage.input_tokens + usage.output_tokens

    def _exceeds_budget(self, usage: Usage) -> bool:
        return self._tokens(usage) > self._limits.max_budget_tokens

    def _run_brain(self, prompt: str, progress: TurnProgress) -> Answer:
        """Run the brain to its answer, making each call it requests."""
        request = BrainRequest(
            prompt=prompt,
            tools=self._registry.tools,
            deadline=self.deadline,
            # Limited also for a long session that is resumed.
            history=tuple(
                Exchange(turn.prompt, turn.output or "")
                for turn in self.session.turns[-self._limits.compact_after_turns :]
            ),
            offered=self._registry.offered(),
            on_text=self._events.emit_text,
            on_usage=progress.add_usage,
            on_warning=self._events.warn_once,
        )
        steps = self._brain.respond(request)
        try:
            self._events.enter("thinking", brain=self._brain.name)
            call = next(steps)
            while True:
                self.deadline.check()
                self._check_call(call, progress)
                call = steps.send(self._call_tool(call, progress))
        except StopIteration as e:
            answer: Answer = e.value
            return answer
        except (ClawError, TurnCancelledError, _BudgetReachedError):
            raise
        except Exception as e:  # a defective brain must not lose the calls that were made
            message = f"the brain {self._brain.name} failed: {type(e).__name__}: {e}"
            raise ClawError("UNKNOWN", message, operation="think") from e
        finally:
            steps.close()
            self._events.end_text()

    def _check_call(self, call: ToolCall, progress: TurnProgress) -> None:
        """The usage of a reply counts before its calls: a reply over the budget makes none of them."""
        if self._exceeds_budget(progress.usage):
            raise _BudgetReachedError
        if len(progress.calls) >= self._limits.max_steps:
            message = f"tool-call limit ({self._limits.max_steps}) reached"
            raise ClawError("TURN_STEPS_REACHED", message, operation="turn", target=call.name)

    def _call_tool(self, call: ToolCall, progress: TurnProgress) -> ToolResult:
        params, texts = mask_typed_text(call), typed_texts(call)
        self._events.end_text()
        self._events.enter("tool", tool=call.name)
        self._events.emit("tool_called", tool=call.name, step=len(progress.calls) + 1, params=params)
        had_effect = progress.may_have_effect
        progress.may_have_effect = had_effect or self._registry.acts(call)  # an interrupt may come at any time
        progress.running = ToolCallSummary(call.name, params, handled=False, message=_UNFINISHED)
        result = self._registry.call(call, self._context) if call.problem is None else failed_result(call.problem)
        progress.may_have_effect = had_effect or (progress.may_have_effect and _may_have_acted(result))
        code = result.error.code if result.error else None
        if code == "TURN_TIMEOUT":
            progress.running = None
            raise TurnCancelledError  # not enough time is left to start anything
        effect = _effect(result.result)
        progress.running = None
        progress.calls.append(ToolCallSummary(call.name, params, result.handled, result.message, code, effect))
        progress.evidence += result.evidence
        # A text that was not typed may be a password.
        secrets = result.secrets if result.handled else (*result.secrets, *texts)
        progress.secrets += secrets
        progress.typed.update(set(texts).difference(secrets))
        self._events.hide(secrets)
        if result.error is not None and code == "PERMISSION_DENIED":
            progress.denials.append(Denial(call.name, result.error.message))
            self._events.emit("permission_denial", tool=call.name, reason=result.error.message)
        hidden = literal_pattern((*secrets, *texts))
        self._events.emit(
            "tool_result",
            tool=call.name,
            step=len(progress.calls),
            handled=result.handled,
            message=result.message if hidden is None else hidden.sub("…", result.message),
            code=code,
            effect=effect,
        )
        self._events.enter("thinking", brain=self._brain.name)
        return result

    def _finish(self, prompt: str, answer: Answer, progress: TurnProgress) -> TurnResult:
        """Count the tokens, and commit the turn if it is within the budget."""
        if answer.usage is not None:
            progress.usage = answer.usage
        elif progress.usage == Usage():
            progress.usage = Usage(word_count(prompt), word_count(answer.text))
        if self._exceeds_budget(progress.usage):
            return self._refused(prompt, answer.text, "max_budget_reached")
        try:
            return self._commit(prompt, replace(answer, text=self._render(answer.text)), progress)
        except TurnCancelledError:
            return cancelled(prompt, answer.text)
        except ClawError as e:
            return cancelled(prompt, answer.text, e)

    def _render(self, text: str) -> str:
        """The output as text, or with ``--structured-output`` as a JSON document."""
        if not self._structured:
            return text
        document = {"summary": text.splitlines(), "session_id": self.session.session_id}
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()

    def _commit(self, prompt: str, answer: Answer, progress: TurnProgress) -> TurnResult:
        record = TurnRecord(
            correlation_id=self._events.correlation_id,
            prompt=prompt,
            output=answer.text,
            stop_reason="completed",
            outcome=answer.outcome,
            started_at_ms=progress.started_at_ms,
            ended_at_ms=progress.started_at_ms + progress.duration_ms,
            brain=self._brain.name,
            usage=progress.usage,
            matched_commands=self._commands,
            matched_tools=self._tools,
            tool_calls=tuple(
                CallRecord(c.name, dict(c.params), c.handled, c.message, c.code) for c in progress.calls
            ),
            permission_denials=tuple(progress.denials),
        )
        self.deadline.begin_commit()
        try:
            self._events.enter("commit")
            self._events.emit("stage", stage="commit")
            kept = self.session.commit(record, progress.evidence, secrets=_secrets(prompt, answer, progress))
            result = TurnResult(
                prompt=prompt,
                output=answer.text,
                stop_reason="completed",
                outcome=answer.outcome,
                committed=True,
                turn=kept.turn,
                evidence=tuple(kept.evidence),
                usage=progress.usage,
                compacted_turns=max(self.session.prompt_count - 1 - self._limits.compact_after_turns, 0),
                error=answer.error,
            )
            self.committed = result
        finally:
            self.deadline.end_commit()
        self._events.emit("committed", turn=kept.turn, path=self.session.path)
        return result


def _may_have_acted(result: ToolResult) -> bool:
    """Whether a call of a tool that acts may have changed something. In doubt it has."""
    if result.error is None:
        return True
    return result.error.after_effect or not (result.error.retryable or result.error.kind in _NOTHING_DONE)


def _secrets(prompt: str, answer: Answer, progress: TurnProgress) -> list[str]:
    """The texts to redact. What a failed turn did not type may be a password: its field was not seen."""
    if answer.outcome == "done":
        return progress.secrets
    return [*progress.secrets, *(text for text in intended_texts(prompt) if text not in progress.typed)]


def word_count(text: str) -> int:
    return len(text.split())


def _effect(result: Any) -> str | None:
    """The effect that the last step of an execution reports."""
    if isinstance(result, dict) and isinstance(envelope := result.get("envelope"), dict):
        for step in reversed(envelope.get("stepResults", ())):
            if effect := step.get("data", {}).get("effect"):
                return str(effect)
    return None
