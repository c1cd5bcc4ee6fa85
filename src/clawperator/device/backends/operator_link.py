"""Operator transport: send an execution by broadcast, read its result from logcat.

One adb connection runs one script: find the Operator, record the device time, broadcast, then follow logcat from
that time, filtered to the Operator's process. Starting to read late loses nothing, so there is no race and no need
to clear the log. Nothing is sent to a device without the Operator.
"""

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.notes import trace
from clawperator._base.text import one_line, printable
from clawperator._base.typed import convert
from clawperator.contract.action_types import changes_device
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.contract.results import ResultEnvelope, StepResult, step_mismatch
from clawperator.contract.wire import ACTION, OPERATOR_PACKAGE, OPERATOR_PACKAGES, PAYLOAD
from clawperator.device.adb.client import Device, ShellStream, simulated_address
from clawperator.device.adb.quoting import command_line, quote
from clawperator.device.backends.operator_log import (
    MAX_LINE_BYTES,
    LoggedTree,
    LogLines,
    OperatorLogReader,
    read_record,
)
from clawperator.device.operators import OperatorChoice, choosing_script
from clawperator.device.run.lease import Lease
from clawperator.device.serials import device_flag
from clawperator.errors import CODES, ClawError, RefusedError

GRACE_SECONDS = HOST_GRACE_MS / 1000
_MAX_EVENTS = 30
# Lines of the script: the enabled Operator and the device's clock before the broadcast, its process after it.
_OPERATOR = re.compile(rb"operator ([A-Za-z0-9._]{1,255})")
_CLOCK = re.compile(rb"clock ([0-9.]{1,32})")
_PROCESS = re.compile(rb"process (\d{1,10})(?: |$)")
# Exit codes of the script.
_NOT_INSTALLED = 3
_BROADCAST_FAILED = 4
_NOT_RUNNING = 5
_NOT_ENABLED = 6
# Exit codes before the broadcast.
_NOTHING_SENT = (_NOT_INSTALLED, _NOT_ENABLED)


class Delivered(Struct, frozen=True):
    """The Operator's answer: its envelope and the hierarchies it logged.

    ``orphaned`` is the size of the lines of hierarchies whose beginning was lost.
    """

    envelope: ResultEnvelope
    hierarchies: tuple[LoggedTree, ...]
    orphaned: int = 0


class _WireStep(Struct, frozen=True):
    """A step as the Operator sends it: data of any type."""

    id: str
    actionType: str
    success: bool
    data: Any = None


class _WireEnvelope(Struct, frozen=True):
    """An envelope as the Operator sends it."""

    commandId: str
    taskId: str
    status: Literal["success", "failed"]
    stepResults: list[_WireStep]
    error: str | None
    errorCode: str | None = None


def deliver(
    device: Device, operator: str | OperatorChoice, document: dict[str, Any], *, lease: Lease | None = None
) -> Delivered:
    """Send an execution to the Operator and wait for its envelope: for its timeout and a grace.

    A choice without a package gets the one that is enabled on the device. ``OPERATOR_NOT_INSTALLED`` when there is
    none; nothing was sent then.
    The lease records what the device runs, for the case that this process does not see the end of it.
    """
    choice = OperatorChoice(operator) if isinstance(operator, str) else operator
    return _Delivery(device, choice, document, lease).run()


class _Delivery:
    """A running delivery. Tracks its phase so that errors can report how far it got."""

    def __init__(
        self, device: Device, operator: OperatorChoice, document: dict[str, Any], lease: Lease | None
    ) -> None:
        self._device = device
        self._operator = operator
        self._document = document
        self._lease = lease
        self._deadline = Deadline(document["timeoutMs"] / 1000 + GRACE_SECONDS)
        self._seconds = self._deadline.within(float("inf"))
        self._phase = "connecting"
        self._dispatched = "not_sent"
        self._is_over = False
        self._stderr = bytearray()
        self._events: list[str] = []

    def run(self) -> Delivered:
        if self._lease is not None:
            seconds = self._document["timeoutMs"] / 1000
            endpoint = simulated_address(self._device)
            self._lease.sending(self._document["commandId"], seconds, self._operator.name, endpoint)
        try:
            return self._run()
        except ClawError:
            # Nothing runs without a broadcast or without an Operator, and nothing more runs after a result.
            if self._lease is not None and (self._dispatched == "not_sent" or self._is_over):
                self._lease.ended()
            raise

    def _run(self) -> Delivered:
        try:
            with ShellStream(
                self._device, self._script(), self._deadline, before_request=self._starting
            ) as stream:
                delivered = self._follow(stream)
        except RefusedError as e:
            self._dispatched = "not_sent"
            raise self._connection_error(str(e)) from e
        except ClawError as e:
            if e.code in ("ANDROID_VERSION_UNSUPPORTED", "PAYLOAD_TOO_LARGE"):  # its shell did not get the script
                self._dispatched = "not_sent"
            raise
        except TimeoutError as e:
            raise self._timeout_error() from e
        except OSError as e:
            raise self._connection_error(str(e)) from e
        if delivered is not None:
            if self._lease is not None:
                self._lease.ended()
            return delivered
        if stream.code in _NOTHING_SENT and self._phase == "starting":
            self._dispatched = "not_sent"
        self._is_over = stream.code in (*_NOTHING_SENT, _BROADCAST_FAILED, _NOT_RUNNING)
        raise self._script_error(stream.code)

    def _starting(self) -> None:
        # From here on the device may have the script, and may run it late.
        self._phase, self._dispatched = "starting", "unknown"
        trace(f"connected to {self._device.serial}: broadcast to {self._operator.package or 'its Operator'}")

    def _script(self) -> str:
        payload = msgspec.json.encode(self._document).decode()
        extras = command_line("--es", PAYLOAD, payload, "--receiver-foreground")
        send = f'{command_line("am", "broadcast", "-a", ACTION)} -p "$O" {extras}'
        return (
            f"{self._finding_script()}; "
            # Old versions of date print the format of the nanoseconds. logcat reads no time without a fraction.
            'T=$(date +%s.%N); case "$T" in *[!0-9.]*|*.) T=$(date +%s).000;; esac; echo clock $T; '
            f"{send} 1>&2 || exit {_BROADCAST_FAILED}; echo sent; "
            '[ -n "$P" ] || for i in 1 2 3 4; do P=$(pidof "$O") && break; sleep 0.3; done; '
            f'[ -n "$P" ] || exit {_NOT_RUNNING}; '
            f'echo process $P; exec logcat -b main -v threadtime -T "$T" --pid="${{P%% *}}"'
        )

    def _finding_script(self) -> str:
        """Set ``O`` to the Operator and ``P`` to its processes, if it has one. Exit when it is not installed."""
        package = self._operator.package
        find = f'P=$(pidof "$O") || pm path "$O" >/dev/null || exit {_NOT_INSTALLED}'
        if package is not None:
            return f"O={quote(package)}; {find}"
        if self._operator.may_be_absent:
            return f'{choosing_script(f"exit {_NOT_ENABLED}")}; echo operator $O; P=$(pidof "$O")'
        return f"{choosing_script(f'O={quote(OPERATOR_PACKAGE)}')}; echo operator $O; {find}"

    def _follow(self, stream: ShellStream) -> Delivered | None:
        reader = OperatorLogReader()
        count = 0
        lines = LogLines()
        for is_error, data in stream.packets():
            if is_error:
                self._stderr += data[: max(0, MAX_LINE_BYTES - len(self._stderr))]
                continue
            for line in lines.feed(data):
                self._deadline.left()  # a device may send faster than lines can be read
                if self._phase != "waiting":
                    self._read_progress(line)
                    continue
                record = read_record(line)
                if record is None:
                    continue
                count += 1
                if len(self._events) < _MAX_EVENTS:
                    self._events.append(printable(record.message[:200]))
                document = reader.feed(record)
                if document is not None and document.get("commandId") == self._document["commandId"]:
                    self._is_over = True
                    trace(f"result of {self._document['commandId']} after {count} log lines")
                    return Delivered(self._envelope(document), tuple(reader.hierarchies), reader.orphaned)
        return None

    def _read_progress(self, line: bytes) -> None:
        """Lines of the script itself, which precede those of the log."""
        if found := _OPERATOR.fullmatch(line):
            self._operator.package = found[1].decode()
            self._note(operator=self._operator.package)
            trace(f"Operator {self._operator.package} on {self._device.serial}")
        elif line.startswith(b"clock "):
            self._phase = "dispatching"
            if found := _CLOCK.fullmatch(line):
                self._note(device_time=found[1].decode())
        elif line == b"sent":
            self._phase, self._dispatched = "dispatched", "sent"
            trace("broadcast sent; waiting for the Operator's process")
        elif line.startswith(b"process "):
            self._phase = "waiting"
            if found := _PROCESS.match(line):
                self._note(operator_pid=found[1].decode())
                trace(f"reading the log of process {found[1].decode()}, waiting for the result")

    def _note(self, **facts: str) -> None:
        if self._lease is not None:
            self._lease.noted(**facts)

    def _envelope(self, document: dict[str, object]) -> ResultEnvelope:
        try:
            wire = convert(document, _WireEnvelope)
        except msgspec.ValidationError as e:
            raise self._malformed(str(e)) from e
        steps = [StepResult(s.id, s.actionType, s.success, _strings(s.data)) for s in wire.stepResults]
        if wire.status == "success":
            actions = [(action["id"], action["type"]) for action in self._document["actions"]]
            if (problem := step_mismatch(steps, actions)) is not None:
                raise self._malformed(problem)
        code = wire.errorCode if wire.errorCode is not None else msgspec.UNSET
        return ResultEnvelope(wire.commandId, wire.taskId, wire.status, steps, wire.error, code)

    # Errors

    def _malformed(self, problem: str) -> ClawError:
        return self._error(
            "RESULT_ENVELOPE_MALFORMED",
            f"the Operator's result is malformed: {problem}",
            "Run 'clawperator version --check-compat'. The plan may have run: check the screen before retrying.",
        )

    def _may_have_changed(self) -> bool:
        """Whether actions that change the device may have reached it."""
        acts = any(changes_device(action["type"]) for action in self._document["actions"])
        return acts and self._dispatched != "not_sent"

    def _diagnostics(self) -> dict[str, Any]:
        return {
            "broadcastDispatchStatus": self._dispatched,
            "lastCorrelatedEvents": self._events,
            "deviceId": self._device.serial,
            "operatorPackage": self._operator.name,
        }

    def _timeout_error(self) -> ClawError:
        last = self._document["actions"][-1]
        hint = f"Run 'clawperator doctor {device_flag(self._device.serial)}' to check the Operator."
        if self._dispatched == "sent" and self._events:
            hint = "The Operator is still running the plan. Retry with a larger --timeout, or split the plan."
        elif self._dispatched != "not_sent":
            hint += " The plan may have run: check the screen before retrying."
        status = {"sent": "the command was sent", "not_sent": "the command was not sent"}
        return ClawError(
            "RESULT_ENVELOPE_TIMEOUT",
            f"no result within {self._seconds * 1000:.0f} ms; " + status.get(self._dispatched, "delivery unknown"),
            hint=hint,
            details={
                "commandId": self._document["commandId"],
                "taskId": self._document["taskId"],
                "lastActionId": last["id"],
                "lastActionType": last["type"],
                "lastActionCaveat": "the last action of the plan, not the one that was running",
                "phase": self._phase,
                "elapsedMs": round(self._seconds * 1000),
                "timeoutMs": self._document["timeoutMs"],
            },
            extra=self._diagnostics(),
            operation="execute",
            target=self._device.serial,
            after_effect=self._may_have_changed(),
        )

    def _connection_error(self, reason: str) -> ClawError:
        sent = self._dispatched != "not_sent"
        return self._error(
            "LOGCAT_UNAVAILABLE" if sent else "BROADCAST_FAILED",
            f"lost the connection to {self._device.serial} while {self._phase}: {reason}",
            "Run 'clawperator snapshot' before retrying: the plan may have run."
            if sent
            else "Nothing was sent: run the command again.",
            phase=self._phase,
        )

    def _script_error(self, code: int | None) -> ClawError:
        """The error of a script that ended without following the log."""
        stderr = one_line(self._stderr.decode("utf-8", "replace"), 300)
        package = self._operator.name
        if code == _NOT_ENABLED and self._operator.may_be_absent:
            self._operator.is_absent = True
            return operator_not_installed(package, self._device, extra=self._diagnostics(), variants=False)
        if code == _NOT_INSTALLED or "does not exist" in stderr:
            return operator_not_installed(package, self._device, extra=self._diagnostics())
        if code == _NOT_RUNNING:
            return self._error(
                "OPERATOR_NOT_RUNNING",
                f"Operator {package} is installed on {self._device.serial} but not running",
                f"Open the Operator app on the device, then run 'clawperator doctor --fix "
                f"{device_flag(self._device.serial)}'.",
            )
        if code == _BROADCAST_FAILED:
            return self._error(
                "BROADCAST_FAILED",
                f"the broadcast to {package} failed: {stderr}",
                f"Run 'clawperator doctor {device_flag(self._device.serial)}' to check the device.",
            )
        reason = f": {stderr}" if stderr else ""
        return self._connection_error(f"logcat exited with code {code}{reason}")

    def _error(self, code: str, message: str, hint: str, **details: str) -> ClawError:
        return ClawError(
            code,
            message,
            hint=hint,
            details={"commandId": self._document["commandId"], **details},
            extra=self._diagnostics(),
            operation="execute",
            target=self._device.serial,
            after_effect=self._may_have_changed(),
        )


def operator_not_installed(
    package: str, device: Device, *, extra: dict[str, Any] | None = None, variants: bool = True
) -> ClawError:
    """The error of a missing Operator, with the advice of ``doctor``.

    With ``variants`` the device is asked for another variant that is installed.
    """
    from clawperator.device.setup.version_check import install_command, require_operator

    command = install_command(device.serial)
    message = f"Operator {package} is not installed on {device.serial}"
    hint = f"Install it with '{command}', or add '--backend adb'."
    more: dict[str, Any] = {}
    try:
        if variants and package in OPERATOR_PACKAGES:
            require_operator(device, package)
    except ClawError as e:
        if e.code == "OPERATOR_VARIANT_MISMATCH":
            message, hint, more = e.message, e.hint, dict(e.details or {})
    extra = extra or {
        "broadcastDispatchStatus": "not_sent",
        "deviceId": device.serial,
        "operatorPackage": package,
    }
    details = {"checkId": "readiness.apk.presence", "summary": message, "detail": hint, "installCommand": command}
    return ClawError(
        "OPERATOR_NOT_INSTALLED",
        message,
        hint=hint,
        details={**details, **more},
        extra=extra,
        operation="execute",
        target=device.serial,
    )


def known_code(code: object) -> str:
    """The code of an Operator's error; an Operator of another version may have codes of its own."""
    return code if isinstance(code, str) and code in CODES else "UNKNOWN"


def _strings(data: object) -> dict[str, str]:
    if not isinstance(data, dict):
        return {}
    return {
        str(key): value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for key, value in data.items()
    }
