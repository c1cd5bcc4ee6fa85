"""The events of a recording while it is being made, read from the device's file as it grows."""

import threading
from collections import OrderedDict
from typing import Any

import msgspec

from clawperator._base.secrets import known_secrets
from clawperator._base.text import one_line
from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.contract.wire import recordings_folder
from clawperator.device.adb.client import Device, command_line, run_shell
from clawperator.errors import ClawError
from clawperator.recording.events import InvalidLineError, decode_event
from clawperator.recording.masking import PasswordMasker

_READ_SECONDS = 10.0
_MAX_READ = 2 * MAX_RECORDING_LINE_BYTES
_MAX_EVENTS = 10_000
_MAX_RECORDINGS = 16
_MAX_TEXT = 200


class LiveRecording:
    """One recording. ``events`` are those that were read, without snapshots and with secrets masked."""

    def __init__(self, device: Device, package: str, session_id: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.left_out = 0  # events beyond the most that are kept
        self._device = device
        self._path = f"{recordings_folder(package)}/{session_id}.ndjson"
        self._lock = threading.Lock()
        self._masker = PasswordMasker(known_secrets())
        self._offset = 0

    def read(self) -> None:
        """Read what was written since the last call. ``RECORDING_SESSION_NOT_FOUND`` when there is no file."""
        with self._lock:
            tail = command_line("tail", "-c", f"+{self._offset + 1}", self._path)
            script = f"{tail} | {command_line('head', '-c', str(_MAX_READ))}"
            answer = run_shell(self._device, script, seconds=_READ_SECONDS, max_bytes=2 * _MAX_READ)
            if answer.stderr and not answer.stdout:
                message = f"the recording cannot be read: {answer.complaint}"
                raise ClawError("RECORDING_SESSION_NOT_FOUND", message, operation="recording", target=self._path)
            whole, newline, _ = answer.stdout.rpartition(b"\n")
            self._offset += len(whole) + len(newline)
            for line in whole.split(b"\n"):
                self._add(line)

    def _add(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except InvalidLineError:  # the header, or a line that a later command will report
            return
        self._masker.mask(event)
        if len(self.events) >= _MAX_EVENTS:
            self.left_out += 1
            return
        fields = msgspec.structs.asdict(event)
        fields.pop("snapshot")
        self.events.append({"type": event.kind} | {name: _shown(value) for name, value in fields.items()})


def _shown(value: Any) -> Any:
    return one_line(value, _MAX_TEXT) if isinstance(value, str) else value


class LiveRecordings:
    """The recordings that clients follow: the last ones are kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, str, str], LiveRecording] = OrderedDict()

    def get(self, device: Device, package: str, session_id: str, *, again: bool) -> LiveRecording:
        """The recording; ``again`` reads it from its start, where another one of that name may be by now."""
        key = (device.serial, device.endpoint.address, package, session_id)
        with self._lock:
            found = None if again else self._known.get(key)
            if found is None:
                found = self._known[key] = LiveRecording(device, package, session_id)
                while len(self._known) > _MAX_RECORDINGS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return found
