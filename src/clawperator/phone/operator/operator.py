"""The Operator on the phone: commands come by broadcast, results go to the log, recordings to storage."""

import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from clawperator.contract import limits
from clawperator.contract.execution import Execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.contract.wire import (
    RESULT_PREFIX,
    SNAPSHOT_MARKER,
    TEXT_BYTES,
    TEXT_SUM,
    accessibility_service,
    notification_listener,
    sum_of,
)
from clawperator.engine.clock import VirtualClock
from clawperator.engine.run import Engine
from clawperator.errors import ClawError
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.log.buffer import Priority, timber
from clawperator.phone.operator.driver import PhoneDriver
from clawperator.phone.operator.recorder import Recorder

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone

# The class names a release build logs under are single letters.
_TAG = "a"
_SERVICES = "enabled_accessibility_services"
_MOST_WAITING = 64
_CLOSE_SECONDS = 2


class Operator:
    """Runs executions one after the other.

    On a virtual clock an execution runs before ``receive`` returns. On a real one it runs in a thread of
    its own, as on a phone, and the broadcast does not wait for it.
    """

    def __init__(self, phone: "Phone", package: str) -> None:
        self._phone = phone
        self.package = package
        self.recorder = Recorder(phone.storage.system, phone.clock.now_ms, phone.random, package, self._say)
        self._engine = Engine(PhoneDriver(phone, privileged=False), phone.clock, random=phone.random)
        self._life = 0
        self._waiting: queue.Queue[tuple[int, Execution, float] | None] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None

    @property
    def component(self) -> str:
        return accessibility_service(self.package)

    def grant(self) -> None:
        """The permissions a set-up phone has given it."""
        table = self._phone.settings
        table.set_quietly("secure", _SERVICES, self.component)
        table.set_quietly("secure", "accessibility_enabled", "1")
        table.set_quietly("secure", "enabled_notification_listeners", notification_listener(self.package))
        self._phone.packages.grant(self.package, "android.permission.POST_NOTIFICATIONS")

    def is_alive(self) -> bool:
        return (
            not self._phone.faults.value("operator_killed")
            and self.package in self._phone.packages
            and self._phone.process_of(self.package) is not None
        )

    def is_bound(self) -> bool:
        """Whether its accessibility service is enabled and running."""
        return (
            self.is_alive()
            and not self._phone.faults.value("accessibility_off")
            and self._phone.settings.get("secure", "accessibility_enabled") == "1"
            and self.component in self._services()
        )

    def bind(self) -> None:
        """What the system does when its service is allowed: start the process."""
        if self.component in self._services() and self.package in self._phone.packages:
            self._phone.tasks.ensure_process(self._phone.packages.app(self.package))

    def _services(self) -> list[str]:
        """The accessibility services that are allowed."""
        return [name for name in (self._phone.settings.get("secure", _SERVICES) or "").split(":") if name]

    def receive(self, payload: str | None) -> None:
        """A broadcast reached the receiver. What cannot be parsed is logged and gets no result."""
        if self._phone.faults.value("operator_killed") or self.package not in self._phone.packages:
            return
        self._phone.tasks.ensure_process(self._phone.packages.app(self.package))
        execution = self._read(payload)
        if execution is None:
            return
        now = self._phone.clock.monotonic()
        if isinstance(self._phone.clock, VirtualClock):
            self._carry_out(self._life, execution, now)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="operator", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait((self._life, execution, now))
        except queue.Full:
            self._say("W", f"[Operator-Receiver] dropped {execution.commandId}: too many commands wait")

    def on_event(self, event: AccessibilityEvent) -> None:
        if self.is_bound():
            self.recorder.on_event(event, self._phone.glass.xml)

    def on_stopped(self, package: str) -> None:
        """An app was force-stopped. Stopping the Operator also takes its accessibility service away."""
        if package == self.package:
            self.die()
            kept = ":".join(name for name in self._services() if name != self.component)
            self._phone.settings.put("secure", _SERVICES, kept)

    def die(self) -> None:
        """The process is gone: what it held in memory is lost, what it wrote is not."""
        self._life += 1
        self.recorder.abandon()

    def close(self) -> None:
        self._life += 1
        self.recorder.abandon()
        if self._thread is not None:
            with suppress(queue.Full):
                self._waiting.put(None, timeout=_CLOSE_SECONDS)
            self._thread.join(_CLOSE_SECONDS)

    def _read(self, payload: str | None) -> Execution | None:
        if not payload or not payload.strip():
            self._say("W", "[Operator-Receiver] no payload")
            return None
        if len(payload.encode("utf-8", "surrogatepass")) > limits.MAX_PAYLOAD_BYTES:
            self._say("W", "[Operator-Receiver] the payload is too large")
            return None
        try:
            return validate(msgspec.json.decode(payload)).execution
        except (msgspec.DecodeError, UnicodeEncodeError, ClawError) as e:
            self._say("W", f"[Operator-Receiver] the payload cannot be parsed: {e}")
            return None

    def _serve(self) -> None:
        while (job := self._waiting.get()) is not None:
            self._carry_out(*job)

    def _carry_out(self, life: int, execution: Execution, received: float) -> None:
        self._say("D", f"[Clawperator-Command] start commandId={execution.commandId}")
        waited = (self._phone.clock.monotonic() - received) * 1000
        if not self.is_bound():
            envelope = _refusal(execution, "SERVICE_UNAVAILABLE", "the accessibility service is not running")
        elif waited >= execution.timeoutMs:
            envelope = _refusal(
                execution, "COMMAND_TIMEOUT", "the command waited for its turn until its time ran out"
            )
        else:
            left = max(1.0, execution.timeoutMs - waited)
            envelope = self._engine.run(msgspec.structs.replace(execution, timeoutMs=left))
        if life == self._life:  # a process that died in between says nothing more
            self._tell(envelope)

    def _tell(self, envelope: ResultEnvelope) -> None:
        steps = [self._without_tree(step) for step in envelope.stepResults]
        document = msgspec.json.encode(msgspec.structs.replace(envelope, stepResults=steps)).decode()
        self._say("D", f"[Clawperator-Command] {envelope.status} commandId={envelope.commandId}")
        self._say("I", f"{RESULT_PREFIX} {document}")

    def _without_tree(self, step: StepResult) -> StepResult:
        """Hierarchies travel in the log, beside the result. The step says what proves them whole."""
        if step.actionType != "snapshot_ui" or "text" not in step.data:
            return step
        text = step.data["text"]
        self._say("D", f"{SNAPSHOT_MARKER}\n{text}")
        size, check = sum_of(text)
        kept = {key: value for key, value in step.data.items() if key != "text"}
        return msgspec.structs.replace(step, data={**kept, TEXT_BYTES: str(size), TEXT_SUM: str(check)})

    def _say(self, priority: Priority, message: str) -> None:
        process = self._phone.process_of(self.package)
        timber(self._phone.log, priority, _TAG, message, process.pid if process else 0)


def _refusal(execution: Execution, code: str, message: str) -> ResultEnvelope:
    return ResultEnvelope(execution.commandId, execution.taskId, "failed", [], message, code)
