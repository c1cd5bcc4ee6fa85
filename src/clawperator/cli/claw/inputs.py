"""Inputs of ``claw`` commands: prompts from stdin, the session folder and the session."""

from clawperator.agent.sessions.store import DEFAULT_DIRECTORY
from clawperator.cli.console import read_stdin
from clawperator.cli.parsing import ParsedArguments, parse_error
from clawperator.errors import ClawError

_MOST_BYTES = 1024 * 1024


def text_of(argument: str) -> str:
    """The argument itself, or stdin for ``-``. Invalid UTF-8 is replaced."""
    if argument != "-":
        return _within_limit(argument)
    return _within_limit(read_stdin(_MOST_BYTES + 1).decode("utf-8", "replace").removesuffix("\n"))


def _within_limit(text: str) -> str:
    if len(text) > _MOST_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the argument is longer than {_MOST_BYTES} characters",
            hint="Shorten it.",
            operation="read",
        )
    return text


def directory(arguments: ParsedArguments) -> str:
    """The session folder."""
    given = arguments.get("--directory")
    if given is not None and not given.strip():
        raise parse_error("argument --directory: it must not be empty", arguments.name)
    return DEFAULT_DIRECTORY if given is None else given


def chosen_session(arguments: ParsedArguments) -> tuple[str | None, bool]:
    """The session to use, and whether it must already exist."""
    resumed, fresh = arguments.get("--resume"), arguments.get("--session-id")
    if resumed is not None and fresh is not None:
        raise parse_error("argument --resume: not allowed with argument --session-id", arguments.name)
    return (fresh, False) if resumed is None else (resumed, True)
