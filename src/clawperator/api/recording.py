"""A recording as a ``with`` block."""

import os
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from clawperator.api.results import Recorded
from clawperator.errors import ClawError


class RecordingDevice(Protocol):
    """The part of a connected device that records."""

    def start_recording(self, session_id: str | None = None) -> Recorded: ...

    def stop_recording(self, session_id: str | None = None) -> Recorded: ...

    def pull_recording(self, session_id: str | None = None, folder: "str | os.PathLike[str]" = ...) -> str: ...


class RecordingSession:
    """A recording that runs while the ``with`` block does."""

    def __init__(self, device: RecordingDevice, session_id: str | None) -> None:
        self._device = device
        self._requested_id = session_id
        self._recorded: Recorded | None = None

    def __enter__(self) -> Self:
        self._recorded = self._device.start_recording(self._requested_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._recorded = self._device.stop_recording(self.session_id)
            return
        with suppress(ClawError):  # the error of the block matters more
            self._device.stop_recording(self.session_id)

    @property
    def result(self) -> Recorded:
        """Its session and file; after the block also its number of events."""
        if self._recorded is None:
            raise ClawError("RECORDING_NOT_IN_PROGRESS", "the recording has not started")
        return self._recorded

    @property
    def session_id(self) -> str:
        return self.result.session_id

    def pull(self, folder: str | os.PathLike[str] = "recordings") -> str:
        """Pull it from the device, after the block. Returns the path of the file."""
        return self._device.pull_recording(self.session_id, folder)
