"""Operator transport: send an execution by broadcast, read its result from logcat.

One adb connection runs one script: find the Operator, record the device time, broadcast, then follow logcat from
that time, filtered to the Operator's process. Starting to read late loses nothing, so there is no race and no need
to clear the log. Nothing is sent to a device without the Operator.

Logcat splits a long message over several records, with records of other threads in between. A message is
reassembled from records of one thread of the Operator's process: result documents, and complete hierarchies.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.notes import trace
from clawperator._base.text import one_line, printable
from clawperator._base.typed import convert
from clawperator.contract.action_params import changes_device
from clawperator.contract.limits import HOST_GRACE_MS, MAX_HIERARCHY_BYTES
from clawperator.contract.results import ResultEnvelope, StepResult, step_mismatch, sum_of
from clawperator.contract.wire import (
    ACTION,
    OPERATOR_PACKAGE,
    OPERATOR_PACKAGES,
    PAYLOAD,
    RESULT_PREFIX,
    SNAPSHOT_MARKER,
)
from clawperator.device.adb.client import Device, ShellStream, command_line, device_flag, quote, simulated_address
from clawperator.device.run.lease import Holder, Lease
from clawperator.device.settings import OperatorChoice, choosing_script
from clawperator.errors import CODES, ClawError, RefusedError

# date time pid tid priority, then "tag: message"
_HEAD = re.compile(rb"\S{1,32} {1,16}\S{1,32} {1,16}(\d{1,10}) {1,16}(\d{1,10}) [VDIWEF] ")
_END = "</hierarchy>"
# The beginning of each line of a hierarchy.
_ELEMENT = ("<node ", "</node>", _END)
# Tags of records that replace lines which the log dropped.
_DROP_TAGS = ("chatty", "liblog")
# Logcat splits messages at about 4,000 characters, so a longer line is not a record.
MAX_LINE_BYTES = 64 * 1024
_MAX_RESULT = 4 * 1024 * 1024
# A result in more pieces than this is not one of an Operator. Each piece may be tried as the last one.
_MAX_PIECES = 1_000
_MAX_HIERARCHIES_BYTES = 32 * 1024 * 1024
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


class Record(Struct, frozen=True):
    """One line of ``logcat -v threadtime``."""

    pid: int
    tid: int
    tag: str
    message: str


class LoggedTree(Struct, frozen=True):
    """The lines of a logged hierarchy, and whether its end is among them.

    ``has_drops`` when the log reported dropped lines between them, which may be those of another thread.
    """

    lines: tuple[str, ...]
    is_complete: bool
    has_drops: bool = False

    @property
    def size(self) -> int:
        return sum(map(len, self.lines))


class LogLines:
    """Splits a stream into lines. What a line has beyond ``MAX_LINE_BYTES`` is dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that these bytes complete."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:MAX_LINE_BYTES]
        return (line[:MAX_LINE_BYTES] for line in lines)


def read_record(line: bytes) -> Record | None:
    """Parse a line of the log; None for other lines, such as buffer headers."""
    line = line[:MAX_LINE_BYTES]
    found = _HEAD.match(line)
    if found is None:
        return None
    tag, colon, message = line[found.end() :].partition(b":")
    if not colon:
        return None
    return Record(
        int(found[1]),
        int(found[2]),
        tag.rstrip(b" ").decode("utf-8", "replace"),
        message.removeprefix(b" ").decode("utf-8", "replace"),
    )


class OperatorLogReader:
    """Reassembles messages from records. Collects hierarchies and returns each result when it is complete.

    Only the last hierarchies are kept, up to a limit of memory. ``orphaned`` counts the characters of lines whose
    hierarchy has lost its beginning: a log that is too small drops its oldest lines.
    """

    def __init__(self) -> None:
        self.hierarchies: list[LoggedTree] = []
        self.orphaned = 0
        self._sizes: list[int] = []
        self._lines: list[str] | None = None
        self._has_drops = False
        self._size = 0
        self._result: list[str] | None = None
        self._result_size = 0
        self._source: tuple[int, str] | None = None

    def feed(self, record: Record) -> dict[str, object] | None:
        """The result document that this record completes, if any."""
        message = record.message
        if message.startswith(RESULT_PREFIX):
            self._close(complete=False)
            self._source = (record.tid, record.tag)
            return self._extend(message.removeprefix(RESULT_PREFIX).strip(), first=True)
        if SNAPSHOT_MARKER in message:
            self._close(complete=False)
            self._result = None
            self._source = (record.tid, record.tag)
            rest = message.partition(SNAPSHOT_MARKER)[2].strip()
            self._lines = [rest] if rest else []
            self._has_drops = False
            self._size = len(rest)
        elif record.tag in _DROP_TAGS:
            self._has_drops = True
        elif (record.tid, record.tag) != self._source:
            if message.lstrip(" ").startswith(_ELEMENT):
                self.orphaned += len(message)
            return None
        elif self._lines is not None:
            self._add_line(message)
        elif self._result is not None:
            return self._extend(message, first=False)
        return None

    def _add_line(self, message: str) -> None:
        assert self._lines is not None
        if message.startswith("["):
            self._close(complete=False)
            return
        self._lines.append(message)
        self._size += len(message)
        if self._size > MAX_HIERARCHY_BYTES:
            self._lines = None
        elif message.strip() == _END or message.endswith(_END):
            self._close(complete=True)

    def _close(self, *, complete: bool) -> None:
        if self._lines is None:
            return
        end = "complete" if complete else "incomplete"
        trace(f"{SNAPSHOT_MARKER} {len(self._lines)} log lines, {self._size} characters, {end}")
        self.hierarchies.append(LoggedTree(tuple(self._lines), complete, self._has_drops))
        self._sizes.append(self._size)
        self._lines = None
        while sum(self._sizes) > _MAX_HIERARCHIES_BYTES:
            del self._sizes[0], self.hierarchies[0]

    def _extend(self, piece: str, *, first: bool) -> dict[str, object] | None:
        """Add a piece to the current result. A result that exceeds the limits is dropped."""
        if first or self._result is None:
            self._result, self._result_size = [], 0
        self._result.append(piece)
        self._result_size += len(piece)
        if self._result_size > _MAX_RESULT or len(self._result) > _MAX_PIECES:
            self._result = None
            return None
        if not piece.endswith("}"):
            return None
        try:
            document = msgspec.json.decode("".join(self._result))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return None
        self._result = None
        return document if isinstance(document, dict) else None


def verified_text(tree: LoggedTree, expected: tuple[int, int]) -> str | None:
    """The XML of a hierarchy whose length and checksum are known; None when it differs or is incomplete."""
    if not tree.is_complete:
        return None
    return next((text for text in _readings(tree.lines) if sum_of(text) == expected), None)


def plausible_text(tree: LoggedTree) -> str | None:
    """The XML of a hierarchy without a checksum. It must show no sign of a lost line.

    Then it has its end, it is well-formed, and the children of each node have the indexes from 0 on. A loss at the
    end of a list of children has no sign.
    """
    if not tree.is_complete or tree.has_drops:
        return None
    from clawperator.ui.parse import parse_hierarchy

    text = "\n".join(tree.lines)
    try:
        nodes = parse_hierarchy(text).nodes
    except ClawError:
        return None
    has_gaps = any(_has_gap([child.attributes.get("index", "") for child in node.children]) for node in nodes)
    return None if has_gaps else text.strip()


def _readings(lines: tuple[str, ...]) -> Iterator[str]:
    """The possible texts before the log split some lines."""
    yield "\n".join(lines)
    text = ""
    for line in lines:
        # Each line we write ends an element. A line that does not is a piece, continued by the next line.
        text += f"\n{line}" if text.endswith(">") else line
    yield text


def _has_gap(indexes: list[str]) -> bool:
    """Whether indexes are not those from 0 on. Nodes without an index have none to miss."""
    return any(indexes) and indexes != [str(i) for i in range(len(indexes))]


def has_finished(device: Device, holder: Holder, seconds: float) -> bool:
    """Whether the command has ended on the device: its result is in the log, or its Operator's process is gone.

    A simulated phone that was restarted has another address. Waits for the result no longer than these seconds.
    ``DEVICE_...`` errors when the device cannot be reached.
    """
    if holder.endpoint != simulated_address(device):
        return True
    try:
        with ShellStream(device, _script(holder), Deadline(seconds)) as stream:
            return _follow(stream, holder)
    except (OSError, RefusedError):
        return False


def _script(holder: Holder) -> str:
    since = f"-T {quote(holder.deviceTime)} " if holder.deviceTime else ""
    return (
        f"P=$(pidof {quote(holder.operator)}) || exit {_NOT_RUNNING}; echo process $P; "
        f'exec logcat -b main -v threadtime {since}--pid="${{P%% *}}"'
    )


def _follow(stream: ShellStream, holder: Holder) -> bool:
    reader = OperatorLogReader()
    for line in _output_lines(stream, bytearray()):
        if line.startswith(b"process "):
            if holder.operatorPid and line.split()[1:2] != [holder.operatorPid.encode()]:
                return True
            continue
        record = read_record(line)
        document = None if record is None else reader.feed(record)
        if document is not None and document.get("commandId") == holder.sent:
            return True
    return stream.code == _NOT_RUNNING


def _output_lines(stream: ShellStream, errors: bytearray) -> Iterator[bytes]:
    """The lines of stdout as they arrive. ``errors`` gets the beginning of stderr."""
    lines = LogLines()
    for is_error, data in stream.packets():
        if is_error:
            errors += data[: max(0, MAX_LINE_BYTES - len(errors))]
        else:
            yield from lines.feed(data)


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
            script = self._script()
            with ShellStream(self._device, script, self._deadline, before_request=self._starting) as stream:
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
        for line in _output_lines(stream, self._stderr):
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
        message = f"the Operator's result is malformed: {problem}"
        hint = "Run 'clawperator version --check-compat'. The plan may have run: check the screen before retrying."
        return self._error("RESULT_ENVELOPE_MALFORMED", message, hint)

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
            hint = "The Operator is still running the plan. Retry with a longer timeout, or split the plan."
        elif self._dispatched != "not_sent":
            hint += " The plan may have run: check the screen before retrying."
        status = {"sent": "the command was sent", "not_sent": "the command was not sent"}
        return self._error(
            "RESULT_ENVELOPE_TIMEOUT",
            f"no result within {self._seconds * 1000:.0f} ms; " + status.get(self._dispatched, "delivery unknown"),
            hint,
            taskId=self._document["taskId"],
            lastActionId=last["id"],
            lastActionType=last["type"],
            lastActionCaveat="the last action of the plan, not the one that was running",
            phase=self._phase,
            elapsedMs=round(self._seconds * 1000),
            timeoutMs=self._document["timeoutMs"],
        )

    def _connection_error(self, reason: str) -> ClawError:
        code, hint = "BROADCAST_FAILED", "Nothing was sent: run the command again."
        if self._dispatched != "not_sent":
            code, hint = "LOGCAT_UNAVAILABLE", "Run 'clawperator snapshot' before retrying: the plan may have run."
        message = f"lost the connection to {self._device.serial} while {self._phase}: {reason}"
        return self._error(code, message, hint, phase=self._phase)

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
            message = f"Operator {package} is installed on {self._device.serial} but not running"
            flag = device_flag(self._device.serial)
            hint = f"Open the Operator app on the device, then run 'clawperator doctor --fix {flag}'."
            return self._error("OPERATOR_NOT_RUNNING", message, hint)
        if code == _BROADCAST_FAILED:
            hint = f"Run 'clawperator doctor {device_flag(self._device.serial)}' to check the device."
            return self._error("BROADCAST_FAILED", f"the broadcast to {package} failed: {stderr}", hint)
        reason = f": {stderr}" if stderr else ""
        return self._connection_error(f"logcat exited with code {code}{reason}")

    def _error(self, code: str, message: str, hint: str, **details: Any) -> ClawError:
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
    hint = f"Run '{command}' to install it, or use the backend adb."
    more: dict[str, Any] = {}
    try:
        if variants and package in OPERATOR_PACKAGES:
            require_operator(device, package)
    except ClawError as e:
        if e.code == "OPERATOR_VARIANT_MISMATCH":
            message, hint, more = e.message, e.hint, dict(e.details or {})
    code, serial = "OPERATOR_NOT_INSTALLED", device.serial
    extra = extra or {"broadcastDispatchStatus": "not_sent", "deviceId": serial, "operatorPackage": package}
    details = {"checkId": "readiness.apk.presence", "summary": message, "detail": hint, "installCommand": command}
    details |= more
    return ClawError(code, message, hint=hint, details=details, extra=extra, operation="execute", target=serial)


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
