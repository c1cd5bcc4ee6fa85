"""The Operator link: one connection takes an execution to the phone and brings its result back.

The script notes the phone's clock, sends the broadcast, then follows the log from that moment, filtered to the
Operator's process. A log that is followed late still tells what came before. Nothing of the person's log is
cleared.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._typed import convert
from clawperator.contract.results import ResultEnvelope
from clawperator.contract.wire import ACTION, PAYLOAD
from clawperator.device.adb.client import AdbRefusedError, Deadline, Device, ShellStream
from clawperator.device.adb.quoting import command_line, quote
from clawperator.device.backends.operator_log import Answers, LoggedTree, read_record
from clawperator.errors import ClawError

_GRACE_SECONDS = 5.0
_LONGEST_LINE = 64 * 1024
_MOST_CORRELATED = 30
_ABSENT = 3
_FAILED = 4
_DEAD = 5


class Delivered(Struct, frozen=True):
    """What came back: the envelope as the phone told it, and the hierarchies it wrote to the log."""

    envelope: ResultEnvelope
    hierarchies: tuple[LoggedTree, ...]


class _StepShape(Struct, frozen=True):
    """A step on the wire: its data may be anything yet."""

    id: str
    actionType: str
    success: bool
    data: Any = None


class _Shape(Struct, frozen=True):
    """The envelope on the wire, before its data are made strings."""

    commandId: str
    taskId: str
    status: Literal["success", "failed"]
    stepResults: list[_StepShape]
    error: str | None
    errorCode: str | None = None


def deliver(device: Device, package: str, document: dict[str, Any]) -> Delivered:
    """Send an execution to the Operator and wait for its envelope."""
    return _Delivery(device, package, document).run()


class _Delivery:
    """One execution on its way. Remembers how far it got, for the telling when it does not arrive."""

    def __init__(self, device: Device, package: str, document: dict[str, Any]) -> None:
        self._device = device
        self._package = package
        self._document = document
        self._seconds = document["timeoutMs"] / 1000 + _GRACE_SECONDS
        self._deadline = Deadline(self._seconds)
        self._phase = "connecting"
        self._dispatched = "not_sent"
        self._said = bytearray()
        self._heard: list[str] = []

    def run(self) -> Delivered:
        try:
            with ShellStream(self._device, self._script(), self._deadline) as stream:
                delivered = self._follow(stream)
        except TimeoutError as e:
            raise self._too_late() from e
        except (OSError, AdbRefusedError) as e:
            raise self._lost(str(e)) from e
        if delivered is not None:
            return delivered
        raise self._ended(stream.code)

    def _script(self) -> str:
        payload = msgspec.json.encode(self._document).decode()
        broadcast = command_line(
            "am", "broadcast", "-a", ACTION, "-p", self._package, "--es", PAYLOAD, payload, "--receiver-foreground"
        )
        name = quote(self._package)
        return (
            f"T=$(date +%s.%N); echo clock $T; {broadcast} 1>&2 || exit {_FAILED}; echo sent; "
            f"for i in 1 2 3 4; do P=$(pidof {name}) && break; "
            f"pm path {name} >/dev/null || exit {_ABSENT}; sleep 0.3; done; "
            f'[ -n "$P" ] || exit {_DEAD}; '
            f'echo process $P; exec logcat -b main -v threadtime -T "$T" --pid="${{P%% *}}"'
        )

    def _follow(self, stream: ShellStream) -> Delivered | None:
        answers = Answers()
        rest = b""
        for is_error, data in stream.packets():
            if is_error:
                self._said += data[: max(0, _LONGEST_LINE - len(self._said))]
                continue
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[:_LONGEST_LINE]
            for line in lines:
                if self._phase != "waiting":
                    self._take_head(line)
                    continue
                record = read_record(line)
                if record is None:
                    continue
                if len(self._heard) < _MOST_CORRELATED:
                    self._heard.append(record.message[:200])
                document = answers.take(record)
                if document is not None and document.get("commandId") == self._document["commandId"]:
                    return Delivered(self._envelope(document), tuple(answers.hierarchies))
        return None

    def _take_head(self, line: bytes) -> None:
        """The lines the script says itself, before the log's."""
        if line.startswith(b"clock "):
            self._phase, self._dispatched = "dispatching", "unknown"
        elif line == b"sent":
            self._phase, self._dispatched = "dispatched", "sent"
        elif line.startswith(b"process "):
            self._phase = "waiting"

    def _envelope(self, document: dict[str, object]) -> ResultEnvelope:
        from clawperator.contract.results import StepResult

        try:
            shape = convert(document, _Shape)
        except msgspec.ValidationError as e:
            raise ClawError(
                "RESULT_ENVELOPE_MALFORMED",
                f"the Operator's result breaks its contract: {e}",
                hint="Run 'clawperator version --check-compat'.",
                details={"commandId": self._document["commandId"]},
                extra=self._told(),
            ) from e
        steps = [StepResult(s.id, s.actionType, s.success, _texts(s.data)) for s in shape.stepResults]
        code = shape.errorCode if shape.errorCode is not None else msgspec.UNSET
        return ResultEnvelope(shape.commandId, shape.taskId, shape.status, steps, shape.error, code)

    # What is told when it did not work

    def _told(self) -> dict[str, Any]:
        return {
            "broadcastDispatchStatus": self._dispatched,
            "lastCorrelatedEvents": self._heard,
            "deviceId": self._device.serial,
            "operatorPackage": self._package,
        }

    def _too_late(self) -> ClawError:
        last = self._document["actions"][-1]
        hint = "Run 'clawperator doctor' to see whether the Operator answers."
        if self._dispatched == "sent" and self._heard:
            hint = "The Operator works on it. Give it more time with --timeout, or make the plan shorter."
        return ClawError(
            "RESULT_ENVELOPE_TIMEOUT",
            f"no result came within {self._seconds * 1000:.0f} ms; the command was "
            + {"sent": "sent", "not_sent": "not sent"}.get(self._dispatched, "perhaps sent"),
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
            extra=self._told(),
            operation="execute",
            target=self._device.serial,
        )

    def _lost(self, reason: str) -> ClawError:
        code = "BROADCAST_FAILED" if self._dispatched == "not_sent" else "LOGCAT_UNAVAILABLE"
        return ClawError(
            code,
            f"the connection to the phone {self._device.serial} broke while {self._phase}: {reason}",
            hint="Look at the screen before trying again: the plan may have run."
            if self._dispatched != "not_sent"
            else "Nothing was sent; try again.",
            details={"commandId": self._document["commandId"], "phase": self._phase},
            extra=self._told(),
            operation="execute",
            target=self._device.serial,
        )

    def _ended(self, code: int | None) -> ClawError:
        """The script ended by itself: nothing followed the broadcast."""
        said = " ".join(self._said.decode("utf-8", "replace").split())
        if code == _ABSENT or "does not exist" in said:
            return operator_not_installed(self._package, self._device.serial, extra=self._told())
        if code == _DEAD:
            return ClawError(
                "OPERATOR_NOT_RUNNING",
                f"the Operator {self._package} is installed and does not run",
                hint="Open the Operator on the phone once, then run 'clawperator doctor --fix'.",
                details={"commandId": self._document["commandId"]},
                extra=self._told(),
                operation="execute",
                target=self._device.serial,
            )
        if code == _FAILED:
            return ClawError(
                "BROADCAST_FAILED",
                f"the broadcast to {self._package} failed: {said[:300]}",
                hint="Run 'clawperator doctor' to see what is wrong with the phone.",
                details={"commandId": self._document["commandId"]},
                extra=self._told(),
                operation="execute",
                target=self._device.serial,
            )
        return self._lost(f"the log ended with code {code}")


def operator_not_installed(package: str, serial: str, *, extra: dict[str, Any] | None = None) -> ClawError:
    command = f"clawperator operator setup --apk <operator.apk> --device {serial}"
    return ClawError(
        "OPERATOR_NOT_INSTALLED",
        f"the Operator {package} does not run on the phone {serial}",
        hint=f"Install it with '{command}', or add '--backend adb' to do without it.",
        details={"checkId": "readiness.apk.presence", "installCommand": command},
        extra=extra,
        operation="execute",
        target=serial,
    )


def _texts(data: object) -> dict[str, str]:
    if not isinstance(data, dict):
        return {}
    return {
        str(key): value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for key, value in data.items()
    }
