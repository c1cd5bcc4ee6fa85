"""What every method of a phone needs: run a document, and read the only step of its result."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from clawperator.api.results import only_step
from clawperator.api.selectors import Selector, require_matcher
from clawperator.contract.execution import (
    LONGEST_WAIT_MS,
    new_command_id,
    new_execution,
    single_action,
    waiting_timeout,
    with_timeout,
)
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.looking import look_retry
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.device.run.references import References

_SOURCE = "clawperator-python"


class PhoneCalls(ABC):
    """The base of all methods: one call is one execution."""

    # The time of an execution whose call gives none; None for that of its action.
    _timeout_ms: float | None = None

    @property
    @abstractmethod
    def serial(self) -> str:
        """The name of the device."""

    @abstractmethod
    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        """Validate and run an execution document."""

    @abstractmethod
    def _references(self) -> "References":
        """The references of the device."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    def run(
        self, plan: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, timeout: float | None = None
    ) -> ResultEnvelope:
        """Run a list of actions as one execution, one action, or a whole execution document.

        The envelope has every step that ran, failed ones too; an error is raised only when nothing ran. An action
        is a type and params, with an optional id. ``timeout`` is the time for all of them, by default the maximum;
        an execution document has its own.
        """
        limit = None if timeout is None else milliseconds(timeout, MAX_EXECUTION_TIMEOUT_MS)
        if isinstance(plan, Mapping) and "actions" in plan:
            return self._execute(with_timeout(dict(plan), limit))
        timeout_ms = MAX_EXECUTION_TIMEOUT_MS if limit is None else limit
        command_id = new_command_id("python-")
        return self._execute(
            new_execution(_actions(plan), command_id=command_id, source=_SOURCE, timeout_ms=timeout_ms)
        )

    def _step(
        self,
        action: str,
        params: Mapping[str, Any] | None = None,
        *,
        look: float | None = None,
        wait_ms: int | None = None,
        take: float | None = None,
    ) -> StepResult:
        """The step of one action, or its error.

        The times are those of the action: ``look`` is how many seconds it looks for its node, ``wait_ms`` how long
        it waits by its own params, ``take`` how many seconds the execution may take.
        """
        timeout_ms = self._timeout_ms
        if look is not None:
            wait_ms = milliseconds(look, LONGEST_WAIT_MS)
            params = {**(params or {}), "retry": look_retry(wait_ms)}
        if wait_ms is not None:
            timeout_ms = waiting_timeout(wait_ms)
        if take is not None:
            timeout_ms = milliseconds(take, MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS)
        document = single_action(action, params, timeout_ms=timeout_ms, source=_SOURCE)
        return only_step(self._execute(document), self.serial)

    def _execute(self, document: dict[str, Any]) -> ResultEnvelope:
        """Run a document, and pass it with its result to the listeners."""
        listeners = tuple(_LISTENERS)
        for listener in listeners:
            listener.started(self, document)
        try:
            envelope = self._run(document)
        except ClawError as e:
            for listener in listeners:
                listener.ended(self, document, e)
            raise
        for listener in listeners:
            listener.ended(self, document, envelope)
        return envelope


class CallListener(Protocol):
    """Learns of every execution of every phone in this process. Its methods must not raise."""

    def started(self, phone: PhoneCalls, document: Mapping[str, Any]) -> None: ...
    def ended(
        self, phone: PhoneCalls, document: Mapping[str, Any], outcome: ResultEnvelope | ClawError
    ) -> None: ...


_LISTENERS: list[CallListener] = []


@contextmanager
def listening_to_calls(listener: CallListener) -> Iterator[None]:
    """Report the executions of all phones in this process to a listener while the ``with`` block runs."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def given(**params: Any) -> dict[str, Any]:
    """The parameters without those that are None."""
    return {name: value for name, value in params.items() if value is not None}


def container_of(container: Selector | None) -> dict[str, Any] | None:
    return None if container is None else require_matcher(None, container, "container")


def milliseconds(seconds: float, most_ms: int, least_ms: int = 0) -> int:
    """Seconds as milliseconds; ``EXECUTION_VALIDATION_FAILED`` outside of the limits."""
    if not (math.isfinite(seconds) and least_ms <= seconds * 1000 <= most_ms):
        raise _invalid(
            f"the timeout must be from {least_ms / 1000:g} to {most_ms / 1000:g} seconds, not {seconds}",
            f"Pass timeout= with a number of seconds from {least_ms / 1000:g} to {most_ms / 1000:g}.",
        )
    return round(seconds * 1000)


def _actions(plan: Any) -> list[Mapping[str, Any]]:
    """The actions of a list, or the only action; ``EXECUTION_VALIDATION_FAILED`` for anything else."""
    actions = [plan] if isinstance(plan, Mapping) else plan
    if isinstance(actions, Sequence) and not isinstance(actions, str | bytes | bytearray):
        if all(isinstance(action, Mapping) and "type" in action for action in actions):
            return list(actions)
        actions = next(a for a in actions if not (isinstance(a, Mapping) and "type" in a))
        found = f"an action without a type: {sorted(map(str, actions))}" if isinstance(actions, Mapping) else None
        raise _invalid(f"run got {found or f'{type(actions).__name__} as an action'}", _RUN_HINT)
    raise _invalid(f"run takes actions, not {type(plan).__name__}", _RUN_HINT)


_RUN_HINT = (
    'Pass a list of actions such as [{"type": "press_key", "params": {"key": "home"}}], one such action, or an '
    "execution document with commandId, taskId, source, expectedFormat, timeoutMs and actions."
)


def _invalid(message: str, hint: str) -> ClawError:
    return ClawError("EXECUTION_VALIDATION_FAILED", message, hint=hint, operation="validate")
