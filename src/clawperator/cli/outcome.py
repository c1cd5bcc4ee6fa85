"""How a command ended: its result or the error that it raised, and the document of either."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.text import encodable
from clawperator.cli.command_line import CommandResult
from clawperator.errors import ClawError

_INTERRUPTED_CODE = 130


class CommandOutcome(Struct, frozen=True):
    """The end of a command, kept so that something can be done before it is reported."""

    result: CommandResult | None
    raised: BaseException | None

    @property
    def exit_code(self) -> int:
        if self.result is not None:
            return self.result.exit_code
        return _INTERRUPTED_CODE if isinstance(self.raised, KeyboardInterrupt) else 1

    @property
    def document(self) -> Mapping[str, Any]:
        """The printed document, in plain JSON values."""
        if self.result is not None:
            document: Mapping[str, Any] = encodable(msgspec.to_builtins(self.result.document))
            return document
        if isinstance(self.raised, ClawError):
            error: Mapping[str, Any] = encodable(msgspec.to_builtins(self.raised.document()))
            return error
        if isinstance(self.raised, KeyboardInterrupt):
            return {"code": "INTERRUPTED", "message": "interrupted from the keyboard"}
        return {"code": "UNKNOWN", "message": encodable(f"{type(self.raised).__name__}: {self.raised}")}

    def unwrap(self) -> CommandResult:
        """The result; an error is raised again."""
        if self.raised is not None:
            raise self.raised
        assert self.result is not None
        return self.result


def run_to_end(run: Callable[[], CommandResult]) -> CommandOutcome:
    """Run a command. An error or an interrupt is part of the outcome."""
    try:
        return CommandOutcome(run(), None)
    except (Exception, KeyboardInterrupt) as e:  # noqa: BLE001 - the caller raises it again
        return CommandOutcome(None, e)
