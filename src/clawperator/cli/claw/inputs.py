"""What a command of ``claw`` takes from outside its line: a prompt from stdin, and the choice of a session."""

import sys

from clawperator.agent.sessions.store import DEFAULT_DIRECTORY
from clawperator.cli.claw.parsing import Read, parse_error
from clawperator.errors import ClawError

_MOST_BYTES = 1024 * 1024


def text_of(argument: str) -> str:
    """The argument itself, or all of stdin for ``-``. Bytes that are no text are shown as the mark for that."""
    if argument != "-":
        return _within_limit(argument)
    if sys.stdin is None:
        raise ClawError("USAGE", "there is no stdin to read from", operation="read", target="stdin")
    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    return _within_limit(data.decode("utf-8", "replace").removesuffix("\n"))


def _within_limit(text: str) -> str:
    if len(text) > _MOST_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the argument is longer than {_MOST_BYTES} characters",
            hint="Say it in fewer words.",
            operation="read",
        )
    return text


def directory(asked: Read) -> str:
    """The folder of the sessions."""
    given = asked.get("--directory")
    if given is not None and not given.strip():
        raise parse_error("argument --directory: it must not be empty", asked.name)
    return DEFAULT_DIRECTORY if given is None else given


def chosen_session(asked: Read) -> tuple[str | None, bool]:
    """The session to use, and whether it must be there already."""
    resumed, fresh = asked.get("--resume"), asked.get("--session-id")
    if resumed is not None and fresh is not None:
        raise parse_error("argument --resume: not allowed with argument --session-id", asked.name)
    return (fresh, False) if resumed is None else (resumed, True)
