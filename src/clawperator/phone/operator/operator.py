"""The Operator on the phone: executions arrive by broadcast, results go to the log, recordings to storage."""

import queue
import threading
from contextlib import suppress
from random import Random
from typing import Protocol

import msgspec

from clawperator.contract.action_types import is_snapshot
from clawperator.contract.execution import Execution
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.contract.wire import (
    OPERATOR_PACKAGES,
    RESULT_PREFIX,
    SNAPSHOT_MARKER,
    TEXT_BYTES,
    TEXT_SUM,
    accessibility_service,
    notification_listener,
    sum_of,
)
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock
from clawperator.engine.run import Engine
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.faults import Faults
from clawperator.phone.core.packages import Packages
from clawperator.phone.core.settings import SettingsProvider
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.log.buffer import LogBuffer, Priority, timber
from clawperator.phone.operator.driver import AccessibilitySource, PhoneDriver
from clawperator.phone.operator.parsing import DOCTOR_PING, parse_execution
from clawperator.phone.operator.recorder import Recorder
from clawperator.phone.storage.filesystem import Storage

# Release builds log under class names shortened to single letters.
_TAG = "a"
_SERVICES = "enabled_accessibility_services"
_MAX_QUEUED = 64
_CLOSE_SECONDS = 2


class OperatorHost(AccessibilitySource, Protocol):
    """The part of the phone that the Operator uses."""

    @property
    def clock(self) -> Clock: ...
    @property
    def random(self) -> Random: ...
    @property
    def faults(self) -> Faults: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def log(self) -> LogBuffer: ...
    @property
    def settings(self) -> SettingsProvider: ...
    @property
    def packages(self) -> Packages: ...
    @property
    def tasks(self) -> Tasks: ...


class _ClosableClock:
    """A real clock for the Operator's thread. Closing it ends a sleep with ``SystemExit``.

    Not with an ``Exception``: the engine would report a failed step and go on.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self.is_closed = False

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        self._clock.wait(condition, seconds)

    def sleep(self, seconds: float) -> None:
        end = self.monotonic() + seconds
        with self._changed:
            while not self.is_closed and (left := end - self.monotonic()) > 0:
                self._clock.wait(self._changed, left)
            if self.is_closed:
                raise SystemExit

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()


class Operator:
    """Runs executions one after the other.

    On a virtual clock an execution runs before ``receive`` returns. On a real clock it runs in a thread of its
    own, as on a phone, and the broadcast does not wait for it.
    """

    def __init__(self, phone: OperatorHost, package: str) -> None:
        self._phone = phone
        self.package = package
        self.recorder = Recorder(phone.storage.system, phone.clock.now_ms, phone.random, package, self._log)
        is_virtual = isinstance(phone.clock, VirtualClock)
        self._closable = None if is_virtual else _ClosableClock(phone.clock)
        self._engine = Engine(
            PhoneDriver(phone),
            self._closable or phone.clock,
            random=phone.random,
            more_runners={DOCTOR_PING: lambda _context, _params: self._developer_settings()},
            backtracking=True,
        )
        # Counts process starts: an execution that outlives its process reports nothing.
        self._generation = 0
        self._queue: queue.Queue[tuple[int, Execution, float] | None] = queue.Queue(_MAX_QUEUED)
        self._thread: threading.Thread | None = None

    @property
    def component(self) -> str:
        return accessibility_service(self.package)

    def grant(self) -> None:
        """Grant the permissions of a phone that is set up."""
        table = self._phone.settings
        table.set_quietly("secure", _SERVICES, self.component)
        table.set_quietly("secure", "accessibility_enabled", "1")
        table.set_quietly("secure", "enabled_notification_listeners", notification_listener(self.package))
        self._phone.packages.grant(self.package, "android.permission.POST_NOTIFICATIONS")

    def replace_other_variants(self) -> None:
        """Enable this Operator in place of another variant that the phone was set up with before."""
        table = self._phone.settings
        others = [name for name in OPERATOR_PACKAGES if name not in self._phone.packages]
        if sum(table.remove_components(name) for name in others):
            self.grant()
            table.put("secure", "accessibility_enabled", "1")  # which stores all of them

    def is_alive(self) -> bool:
        return (
            not self._phone.faults.value("operator_killed")
            and self.package in self._phone.packages
            and self._phone.tasks.process(self.package) is not None
        )

    def is_bound(self) -> bool:
        """Whether its accessibility service is enabled and running."""
        return (
            self.is_alive()
            and not self._phone.faults.value("accessibility_off")
            and self._phone.settings.get("secure", "accessibility_enabled") == "1"
            and self.component in self._enabled_services()
        )

    def bind(self) -> None:
        """Start the process if the accessibility service is enabled, as the system does."""
        if self.component in self._enabled_services() and self.package in self._phone.packages:
            self._phone.tasks.ensure_process(self._phone.packages.app(self.package))

    def _enabled_services(self) -> list[str]:
        return [name for name in (self._phone.settings.get("secure", _SERVICES) or "").split(":") if name]

    def receive(self, payload: str | None) -> None:
        """Receive a broadcast. An invalid payload is logged and gets no result."""
        if self._phone.faults.value("operator_killed") or self.package not in self._phone.packages:
            return
        self._phone.tasks.ensure_process(self._phone.packages.app(self.package))
        execution = self._parse(payload)
        if execution is None:
            return
        now = self._phone.clock.monotonic()
        if self._closable is None:
            self._run(self._generation, execution, now)
            return
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve, args=(self._closable,), name="operator", daemon=True
            )
            self._thread.start()
        try:
            self._queue.put_nowait((self._generation, execution, now))
        except queue.Full:
            self._log("W", f"[Operator-Receiver] dropped {execution.commandId}: too many commands are queued")

    def on_event(self, event: AccessibilityEvent) -> None:
        if self.is_bound():
            self.recorder.on_event(event, self._phone.windows.xml)

    def on_stopped(self, package: str) -> None:
        """Handle a force-stop. Stopping the Operator also disables its accessibility service."""
        if package == self.package:
            self.die()
            kept = ":".join(name for name in self._enabled_services() if name != self.component)
            self._phone.settings.put("secure", _SERVICES, kept)

    def die(self) -> None:
        """End the process: its memory is lost, its files are kept."""
        self._generation += 1
        self.recorder.abandon()

    def close(self) -> None:
        """End the execution that is running, if any, and drop those that are queued."""
        self._generation += 1
        self.recorder.abandon()
        if self._closable is not None:
            self._closable.close()
        if self._thread is not None:
            with suppress(queue.Full):  # with a full queue the thread is not waiting for it
                self._queue.put_nowait(None)
            self._thread.join(_CLOSE_SECONDS)

    def _parse(self, payload: str | None) -> Execution | None:
        if payload is None:
            self._log("W", "[Operator-Receiver] no payload")
            return None
        try:
            return parse_execution(payload)
        except ValueError as e:
            self._log("W", f"[Operator-Receiver] the payload cannot be parsed: {e}")
            return None

    def _developer_settings(self) -> dict[str, str]:
        """The data of ``doctor_ping``."""
        keys = {
            "developer_options_enabled": "development_settings_enabled",
            "usb_debugging_enabled": "adb_enabled",
        }
        table = self._phone.settings
        return {name: "true" if table.get("global", key) == "1" else "false" for name, key in keys.items()}

    def _serve(self, clock: _ClosableClock) -> None:
        with suppress(SystemExit):
            while (job := self._queue.get()) is not None and not clock.is_closed:
                self._run(*job)

    def _run(self, generation: int, execution: Execution, received: float) -> None:
        self._log("D", f"[Clawperator-Command] start commandId={execution.commandId}")
        waited = (self._phone.clock.monotonic() - received) * 1000
        if not self.is_bound():
            envelope = _refusal(execution, "SERVICE_UNAVAILABLE", "the accessibility service is not running")
        elif waited >= execution.timeoutMs:
            envelope = _refusal(execution, "COMMAND_TIMEOUT", "the command timed out while it was queued")
        else:
            left = max(1.0, execution.timeoutMs - waited)
            envelope = self._engine.run(msgspec.structs.replace(execution, timeoutMs=left))
        if generation == self._generation:  # a process that died meanwhile reports nothing
            self._report(envelope)

    def _report(self, envelope: ResultEnvelope) -> None:
        steps = [self._without_tree(step) for step in envelope.stepResults]
        document = msgspec.json.encode(msgspec.structs.replace(envelope, stepResults=steps)).decode()
        self._log("D", f"[Clawperator-Command] {envelope.status} commandId={envelope.commandId}")
        self._log("I", f"{RESULT_PREFIX} {document}")

    def _without_tree(self, step: StepResult) -> StepResult:
        """Log a snapshot's hierarchy beside the result. The step has its size and checksum."""
        if not is_snapshot(step.actionType) or "text" not in step.data:
            return step
        text = step.data["text"]
        self._log("D", f"{SNAPSHOT_MARKER}\n{text}")
        size, check = sum_of(text)
        kept = {key: value for key, value in step.data.items() if key != "text"}
        return msgspec.structs.replace(step, data={**kept, TEXT_BYTES: str(size), TEXT_SUM: str(check)})

    def _log(self, priority: Priority, message: str) -> None:
        process = self._phone.tasks.process(self.package)
        timber(self._phone.log, priority, _TAG, message, process.pid if process else 0)


def _refusal(execution: Execution, code: str, message: str) -> ResultEnvelope:
    return ResultEnvelope(execution.commandId, execution.taskId, "failed", [], message, code)
