"""Whether the Operator has finished a command whose host process no longer follows it."""

from clawperator._base.deadline import Deadline
from clawperator.device.adb.client import Device, ShellStream, simulated_address
from clawperator.device.adb.quoting import quote
from clawperator.device.backends.operator_log import LogLines, OperatorLogReader, read_record
from clawperator.device.run.lease import Holder
from clawperator.errors import RefusedError

_NOT_RUNNING = 5


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
    lines = LogLines()
    for is_error, data in stream.packets():
        if is_error:
            continue
        for line in lines.feed(data):
            if line.startswith(b"process "):
                if holder.operatorPid and line.split()[1:2] != [holder.operatorPid.encode()]:
                    return True
                continue
            record = read_record(line)
            document = None if record is None else reader.feed(record)
            if document is not None and document.get("commandId") == holder.sent:
                return True
    return stream.code == _NOT_RUNNING
