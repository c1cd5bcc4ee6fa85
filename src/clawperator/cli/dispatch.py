"""The frame of ``clawperator``: find the command, call its handler, print one document, tell the exit code."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._text import distance, encodable, nearest
from clawperator.cli.console import Console
from clawperator.cli.handler import Call, Printed, Text, Verdict, soft_usage
from clawperator.cli.output import print_bytes
from clawperator.cli.parsing import Options, read_arguments, split_globals, usage
from clawperator.commands.actions import COMMANDS, REMOVED, find
from clawperator.commands.handlers import module_of
from clawperator.errors import ClawError


def _handler(name: str) -> Callable[[Call], Any]:
    """The function that answers a command. Nothing is imported before it is wanted."""
    # importlib would cost every command a quarter of a millisecond.
    handler: Callable[[Call], Any] = __import__(module_of(name), fromlist=("answer",)).answer
    return handler


# These are told by the frame itself and stay on one line whatever was asked.
_COMPACT = ("USAGE", "MISSING_ARGUMENT")


def run(argv: list[str]) -> int:
    """Carry out a command line. Always prints one document or text, and returns the exit code."""
    text, code = answer_line(argv)
    return code if text is None else print_bytes(text, code)


def answer_line(argv: list[str]) -> tuple[bytes | None, int]:
    """What a command line prints, and its exit code; None when it has printed everything already."""
    options = Options()
    try:
        options, rest = split_globals(argv)
        answer = _dispatch(options, rest, argv)
        if isinstance(answer, Printed):
            return None, 0
        return _told(answer, options)
    except ClawError as e:
        return _told(Verdict(e.document(), 1), options)
    except KeyboardInterrupt:
        return _told(Verdict(ClawError("INTERRUPTED", "stopped by the keyboard").document(), 130), options)
    except Exception as e:  # noqa: BLE001 - the door is where the unforeseen ends
        Console(options.log_level).lines("debug", [_trace()])
        error = ClawError(
            "UNKNOWN", f"{type(e).__name__}: {e}", hint="Run again with --verbose for the trace, and report it."
        )
        return _told(Verdict(error.document(), 1), options)


def _told(answer: Any, options: Options) -> tuple[bytes, int]:
    """What to print, and the exit code."""
    if isinstance(answer, Text):
        return answer.text.encode("utf-8", "replace"), answer.exit_code
    if isinstance(answer, Verdict):
        return _render(answer.document, options), answer.exit_code
    return _render(answer, options), exit_code(answer)


def _dispatch(options: Options, rest: list[str], argv: list[str]) -> Any:
    if not argv or rest[:1] == ["help"] or options.help:
        from clawperator.cli.help import help_text

        return Text(help_text(rest[1:] if rest[:1] == ["help"] else rest))
    if not rest:
        return soft_usage("no command was given", hint="Run 'clawperator help' for the commands.")
    if rest[0].startswith("-"):
        raise usage(f"unknown option {rest[0]} before the command", "Run 'clawperator help'.")
    command = find(rest[0])
    if command is None:
        raise unknown_command(rest)
    console = Console(options.log_level)
    tokens, family = rest[1:], ""
    if command.subcommands:
        verbs = [verb.name for verb in command.subcommands]
        hint = f"Run 'clawperator {command.name} --help' for more."
        if not tokens:
            return soft_usage(f"{command.name} needs a subcommand: {', '.join(verbs)}", hint=hint)
        verb = find(tokens[0], command.subcommands)
        if verb is None:
            near = nearest(tokens[0], verbs, max(2, len(tokens[0]) // 2))
            offer = f"did you mean {near!r}?" if near else f"there are {', '.join(verbs)}"
            raise usage(f"unknown subcommand {tokens[0]!r} of {command.name}; {offer}", hint)
        family, command, tokens = command.name + " ", verb, tokens[1:]
    arguments = read_arguments(command, tokens, prefix=family)
    name = family + command.name
    for flag in arguments.ignored:
        console.warn(f"{flag} means nothing to {name} and is passed over")
    return _handler(name)(Call(name, arguments, options, console))


def exit_code(document: Any) -> int:
    """The exit code a printed document stands for."""
    if isinstance(document, Struct):
        document = msgspec.to_builtins(document)
    if not isinstance(document, dict):
        return 0
    envelope = document.get("envelope")
    if isinstance(envelope, dict):
        steps = envelope.get("stepResults", ())
        return int(envelope.get("status") == "failed" or any(s.get("success") is False for s in steps))
    code = document.get("code")
    return int(isinstance(code, str) and code not in ("", "USAGE", "NOT_IMPLEMENTED"))


def unknown_command(rest: list[str]) -> ClawError:
    name = rest[0]
    if name in REMOVED:
        replaced = REMOVED[name].get(rest[1]) if len(rest) > 1 else None
        said = " ".join(rest[: 2 if replaced else 1])
        return ClawError(
            "UNKNOWN_COMMAND",
            f"'{said}' was removed" + (f"; use '{replaced}'" if replaced else ""),
            extra={"suggestion": replaced} if replaced else None,
            operation="argparse",
        )
    suggestion = _suggest(name)
    return ClawError(
        "UNKNOWN_COMMAND",
        f"unknown command {name!r}" + (f"; did you mean '{suggestion}'?" if suggestion else ""),
        extra={"suggestion": suggestion} if suggestion else None,
        operation="argparse",
        target=name,
    )


def _suggest(word: str) -> str | None:
    """The closest name: fewest edits, then names before synonyms, then the alphabet."""
    most = max(2, len(word) // 2)
    names = [(distance(word, c.name), 0, c.name) for c in COMMANDS]
    names += [(distance(word, s), 1, s) for c in COMMANDS for s in c.synonyms]
    best = min(names)
    return best[2] if best[0] <= most else None


def _render(document: Any, options: Options) -> bytes:
    try:
        text = msgspec.json.encode(document)
    except UnicodeEncodeError:  # a file name or argument that is not text
        text = msgspec.json.encode(encodable(msgspec.to_builtins(document)))
    if options.pretty and not (isinstance(document, dict) and document.get("code") in _COMPACT):
        return msgspec.json.format(text, indent=2)
    return text


def _trace() -> str:
    import traceback

    return traceback.format_exc()
