"""The Operator on the phone: executions arrive by broadcast, results go to the log, recordings to storage."""

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, Protocol, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator._base.text import is_blank, utf16_length
from clawperator._base.typed import convert, decode
from clawperator.contract import limits
from clawperator.contract.action_params import (
    ClickName,
    Coordinate,
    DirectionName,
    OperatorKey,
    Params,
    Retry,
    is_snapshot,
)
from clawperator.contract.actions import (
    ACTIONS,
    ClickParams,
    EnterTextParams,
    ReadTextParams,
    WaitForNavigationParams,
)
from clawperator.contract.execution import Action, Execution
from clawperator.contract.results import ResultEnvelope, StepResult, sum_of
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.contract.wire import (
    OPERATOR_PACKAGES,
    RESULT_PREFIX,
    SNAPSHOT_MARKER,
    TEXT_BYTES,
    TEXT_SUM,
    accessibility_service,
    notification_listener,
)
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock
from clawperator.engine.run import Engine
from clawperator.errors import ClawperatorException
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.faults import Faults
from clawperator.phone.core.packages import Packages
from clawperator.phone.core.settings import SettingsProvider
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.log.buffer import LogBuffer, Priority, timber
from clawperator.phone.operator.driver import AccessibilitySource, PhoneDriver
from clawperator.phone.operator.recorder import Recorder
from clawperator.phone.storage.filesystem import Storage

# The Operator's own parser of executions
#
# It differs from the host's ``validate`` on purpose, as a real Operator does: it ignores keys that it does not
# know, clamps numbers, treats a value of the wrong type as absent, accepts duplicate ids, trims no text and knows
# no aliases. An execution that it cannot parse gets no result.

DOCTOR_PING = "doctor_ping"
MAX_ACTIONS = 64
DEFAULT_TIMEOUT_MS = 30_000
_MAX_RETRY_DELAY_MS = 60_000
# Those that the host runs itself, but that an Operator knows.
_HOST_ACTIONS = ("close_app", "take_screenshot")


class PayloadError(ClawperatorException, ValueError):
    """A payload that the Operator cannot parse."""


class _Fields(Struct, frozen=True):
    """An object of the payload. Its methods read one field each, UNSET when it is missing or of another type.

    ``PayloadError`` when the payload is invalid.
    """

    values: Mapping[str, Any]

    def text(self, name: str, most: int = limits.MAX_MATCHER_VALUE_LENGTH) -> str | UnsetType:
        value = self.values.get(name)
        if not isinstance(value, str):
            return UNSET
        if utf16_length(value) > most:
            raise PayloadError(f"{name} is longer than {most} characters")
        return value

    def filled(self, name: str, most: int = limits.MAX_MATCHER_VALUE_LENGTH) -> str | UnsetType:
        """A text that must not be blank, if it is given."""
        value = self.text(name, most)
        if isinstance(value, str) and is_blank(value):
            raise PayloadError(f"{name} must not be blank")
        return value

    def required(self, name: str, most: int) -> str:
        value = self.filled(name, most)
        if not isinstance(value, str):
            raise PayloadError(f"{name} is required")
        return value

    def word(self, name: str, known: Sequence[str]) -> str | UnsetType:
        """One of the known words, in any case, without spaces around it."""
        value = self.text(name)
        if isinstance(value, str) and value.lower() not in known:
            raise PayloadError(f"unsupported {name}: {value!a}")
        return value.lower() if isinstance(value, str) else UNSET

    def flag(self, name: str) -> bool | UnsetType:
        value = self.values.get(name)
        return value if isinstance(value, bool) else UNSET

    def number(self, name: str, low: float, high: float) -> float | UnsetType:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return UNSET
        return min(max(value, low), high)

    def number_or(self, name: str, low: float, high: float, default: float) -> float:
        value = self.number(name, low, high)
        return default if value is UNSET else value

    def whole(self, name: str, low: int, high: int) -> int | UnsetType:
        value = self.values.get(name)
        return min(max(value, low), high) if type(value) is int else UNSET

    def object(self, name: str) -> "_Fields | None":
        if name not in self.values:
            return None
        value = self.values[name]
        if not isinstance(value, dict):
            raise PayloadError(f"{name} is not an object")
        return _Fields(value)

    def matcher(self, name: str) -> NodeSelector | UnsetType:
        """A matcher of the six fields that the Operator knows, at least one of them given."""
        found = self.object(name)
        if found is None:
            return UNSET
        given = {field: found.text(field) for field in NodeMatcher.__struct_fields__}
        known = {field: value for field, value in given.items() if value is not UNSET}
        if not known:
            raise PayloadError(f"{name} must include at least one matcher field")
        return convert(known, NodeSelector)

    def point(self, name: str) -> Coordinate | UnsetType:
        found = self.object(name)
        if found is None:
            return UNSET
        x, y = found.values.get("x"), found.values.get("y")
        if type(x) is not int or type(y) is not int or x < 0 or y < 0:
            raise PayloadError(f"a {name} needs x and y of at least 0")
        return Coordinate(x, y)

    def retry(self, name: str) -> Retry | UnsetType:
        """The retry policy. One that is given replaces the preset as a whole."""
        found = self.object(name)
        if found is None:
            return UNSET
        attempts = found.whole("maxAttempts", 1, 10)
        initial = found.number_or("initialDelayMs", 0, 30_000, 0)
        return Retry(
            1 if attempts is UNSET else attempts,
            initial,
            found.number_or("maxDelayMs", initial, _MAX_RETRY_DELAY_MS, initial),
            found.number_or("backoffMultiplier", 1, 5, 1),
            found.number_or("jitterRatio", 0, 1, 0),
        )


_Reader = Callable[[_Fields, str], Any]


# How each param is read: that of any action, or, with the name of an action before it, only of that action. Others
# are not read: ``clear``, for example, means nothing, because a new text replaces what the field holds. The
# recorder checks the characters of a session id.
_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(("matcher", "labelMatcher", "container", "expectedNode"), _Fields.matcher),
    **dict.fromkeys(("retry", "scrollRetry", "clickRetry"), _Fields.retry),
    **dict.fromkeys(("submit", "read_text.all", "clickAfter", "findFirstScrollableChild"), _Fields.flag),
    **dict.fromkeys(("applicationId", "expectedPackage", "text"), _Fields.filled),
    "uri": partial(_Fields.filled, most=limits.MAX_URI_LENGTH),
    "sessionId": partial(_Fields.filled, most=limits.MAX_ID_LENGTH),
    "validatorPattern": partial(_Fields.text, most=limits.MAX_PAYLOAD_BYTES),
    "validator": partial(_Fields.word, known=("temperature", "version", "regex")),
    "clickType": partial(_Fields.word, known=get_args(ClickName)),
    "direction": partial(_Fields.word, known=get_args(DirectionName)),
    "key": partial(_Fields.word, known=get_args(OperatorKey)),
    "coordinate": _Fields.point,
    "distanceRatio": partial(_Fields.number, low=0, high=1),
    "settleDelayMs": partial(_Fields.number, low=0, high=limits.MAX_SETTLE_DELAY_MS),
    "maxDurationMs": partial(_Fields.number, low=0, high=limits.MAX_EXECUTION_TIMEOUT_MS),
    "wait_for_node.timeoutMs": partial(_Fields.number, low=1, high=limits.MAX_EXECUTION_TIMEOUT_MS),
    "wait_for_navigation.timeoutMs": partial(_Fields.number, low=1, high=limits.MAX_NAVIGATION_TIMEOUT_MS),
    "sleep.durationMs": partial(_Fields.number_or, low=0, high=limits.MAX_EXECUTION_TIMEOUT_MS, default=0),
    "maxSwipes": partial(_Fields.whole, low=1, high=limits.MAX_SWIPES),
    "maxScrolls": partial(_Fields.whole, low=1, high=limits.MAX_SCROLLS),
    "noPositionChangeThreshold": partial(_Fields.whole, low=1, high=limits.MAX_NO_POSITION_CHANGE_THRESHOLD),
}


def parse_execution(payload: str) -> Execution:
    """The execution of a broadcast's payload; ``ValueError`` when it cannot be parsed."""
    if is_blank(payload):
        raise PayloadError("the payload is blank")
    if len(payload.encode("utf-8", "surrogatepass")) > limits.MAX_PAYLOAD_BYTES:
        raise PayloadError(f"the payload has more than {limits.MAX_PAYLOAD_BYTES} bytes")
    document = decode(payload)
    if not isinstance(document, dict):
        raise PayloadError("the payload is not an object")
    root = _Fields(document)
    shortest, longest = limits.MIN_EXECUTION_TIMEOUT_MS, limits.MAX_EXECUTION_TIMEOUT_MS
    timeout = root.number_or("timeoutMs", shortest, longest, DEFAULT_TIMEOUT_MS)
    command, task = root.required("commandId", limits.MAX_ID_LENGTH), root.required("taskId", limits.MAX_ID_LENGTH)
    source = root.required("source", limits.MAX_SOURCE_LENGTH)
    actions = document.get("actions")
    if not isinstance(actions, list) or not 1 <= len(actions) <= MAX_ACTIONS:
        raise PayloadError(f"actions must be a list of 1 to {MAX_ACTIONS} actions")
    return Execution(command, task, source, timeout, tuple(_action(action) for action in actions), None)


def _action(value: Any) -> Action:
    if not isinstance(value, dict):
        raise PayloadError("an action is not an object")
    fields = _Fields(value)
    identifier = fields.required("id", limits.MAX_ID_LENGTH)
    name = fields.required("type", limits.MAX_ACTION_TYPE_LENGTH).lower()
    return Action(identifier, name, _params(name, fields.object("params") or _Fields({})))


def _params(name: str, given: _Fields) -> Params:
    if name == DOCTOR_PING:
        return Params()
    row = ACTIONS.get(name)
    if row is None or (row.runs_on_host and name not in _HOST_ACTIONS):
        raise PayloadError(f"unsupported action type: {name!a}")
    values = {}
    for field in row.params.__struct_fields__:
        read = _READERS.get(f"{name}.{field}") or _READERS.get(field)
        if read is not None and (value := read(given, field)) is not UNSET:
            values[field] = value
    try:
        params = row.params(**values)
    except TypeError as e:  # a required param is missing
        raise PayloadError(f"{name}: {e}") from None
    _check(params)
    return params


def _check(params: Params) -> None:
    """Check what actions demand of several params."""
    match params:
        case ClickParams():
            if (params.matcher is UNSET) == (params.coordinate is UNSET):
                raise PayloadError("click needs exactly one of matcher and coordinate")
            if params.coordinate is not UNSET and params.clickType == "focus":
                raise PayloadError("a coordinate cannot be focused")
        case EnterTextParams() if params.matcher is UNSET or params.text is UNSET:
            raise PayloadError("enter_text needs matcher and text")
        case ReadTextParams(validator="regex", validatorPattern=pattern) if pattern is UNSET or is_blank(pattern):
            raise PayloadError("the validator regex needs a validatorPattern")
        case WaitForNavigationParams(expectedPackage=package, expectedNode=node) if package is node is UNSET:
            raise PayloadError("wait_for_navigation needs expectedPackage or expectedNode")


# The Operator

# Release builds log under class names shortened to single letters.
_TAG = "a"
_SERVICES = "enabled_accessibility_services"
_MAX_QUEUED = 64
_CLOSE_SECONDS = 2


class OperatorHost(AccessibilitySource, Protocol):
    """The part of the phone that the Operator uses."""

    random: Random
    faults: Faults
    storage: Storage
    log: LogBuffer
    settings: SettingsProvider
    packages: Packages
    tasks: Tasks


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
        if self._phone.faults.value("operator_killed") or self.package not in self._phone.packages:
            return False
        return self._phone.tasks.process(self.package) is not None

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
        try:
            if payload is None:
                self._log("W", "[Operator-Receiver] no payload")
                return
            execution = parse_execution(payload)
        except ValueError as e:
            self._log("W", f"[Operator-Receiver] the payload cannot be parsed: {e}")
            return
        now = self._phone.clock.monotonic()
        if self._closable is None:
            self._run(self._generation, execution, now)
            return
        if self._thread is None:
            serve = partial(self._serve, self._closable)
            self._thread = threading.Thread(target=serve, name="operator", daemon=True)
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
