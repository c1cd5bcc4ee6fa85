"""A recording as a ``with`` block."""

import os
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from clawperator.connection.results import Recorded
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.connection.phone import ConnectedPhone


class Recording:
    """A recording that runs while the ``with`` block does."""

    def __init__(self, phone: "ConnectedPhone", session_id: str | None) -> None:
        self._phone = phone
        self._wanted = session_id
        self._recorded: Recorded | None = None

    def __enter__(self) -> Self:
        self._recorded = self._phone.start_recording(self._wanted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._recorded = self._phone.stop_recording(self.session_id)
            return
        with suppress(ClawError):  # what went wrong in the block is what the caller must hear
            self._phone.stop_recording(self.session_id)

    @property
    def result(self) -> Recorded:
        """What the phone told of it. The number of events is known after the block."""
        if self._recorded is None:
            raise ClawError("RECORDING_NOT_IN_PROGRESS", "the recording starts with its 'with' block")
        return self._recorded

    @property
    def session_id(self) -> str:
        return self.result.session_id

    def pull(self, folder: str | os.PathLike[str] = "recordings") -> str:
        """Fetch it from the phone, after the block. Gives the path of the file."""
        return self._phone.pull_recording(self.session_id, folder)
