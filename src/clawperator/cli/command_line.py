"""The command line of ``clawperator``: global options, the parsed call a handler receives, the result it returns.

Global options may appear anywhere; then comes a command with its flags and words.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.text import distance, is_blank, nearest, read_number
from clawperator.cli.console import Console
from clawperator.cli.parsing import (
    ArgvParser,
    ParsedArguments,
    by_name,
    chosen,
    help_hint,
    invalid,
    needs_value,
    takes_no_value,
    usage,
)
from clawperator.contract.commands import (
    GLOBALS,
    MODULES,
    SYNONYMS,
    Command,
    find_by_path,
    find_command,
    replacement,
    resolve_handler,
)
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.execution import Plan
    from clawperator.operations.call import Caller


class GlobalOptions(Struct, frozen=True):
    """The options of every command. ``json`` is true when JSON was requested explicitly.

    ``pretty`` is indented JSON, ``text`` output for people; otherwise a document is printed on one line.
    ``default_output`` is true when no flag chooses the output format.
    """

    device: str | None = None
    operator_package: str | None = None
    json: bool = False
    pretty: bool = False
    text: bool = False
    default_output: bool = False
    timeout: str | None = None
    log_level: str = "info"
    help: bool = False

    @property
    def timeout_ms(self) -> int | float | None:
        """The timeout as a number; ``EXECUTION_VALIDATION_FAILED`` when it is none."""
        if self.timeout is None:
            return None
        number = read_number(self.timeout)
        if number is None:
            raise invalid(
                f"--timeout must be a number of milliseconds, not {self.timeout!r}",
                "Write for example --timeout 5000.",
            )
        return number


class Call(Struct, frozen=True):
    """A parsed command. ``name`` is its full canonical name: ``recording parse``.

    ``caller`` is the agent that runs it; None means the user. ``plan`` is its execution, where that is known: that
    of an agent has confined paths.
    """

    name: str
    arguments: ParsedArguments
    options: GlobalOptions
    console: Console
    caller: "Caller | None" = None
    plan: "Plan | None" = None

    @property
    def word(self) -> str | None:
        """The first word; None when there is none."""
        return self.arguments.words[0] if self.arguments.words else None


class CommandResult(Struct, frozen=True):
    """A document to print, and the exit code. ``plan`` is what ran, if the document reports an execution."""

    document: Any
    exit_code: int = 0
    plan: "Plan | None" = None


class TextResult(Struct, frozen=True):
    """Text to print as it is, and the exit code."""

    text: str
    exit_code: int = 0


class ReadableResult(Struct, frozen=True):
    """The output of text mode: what the command did, for stdout, and its error, for stderr; None for nothing."""

    text: str | None
    problem: str | None = None
    exit_code: int = 0


class LargeResult(Struct, frozen=True):
    """A document that is written in pieces, because it may be larger than memory should be."""

    write_to: Callable[[IO[bytes]], None]
    exit_code: int = 0


class StreamedResult(Struct, frozen=True):
    """The result of a command that has written its output to stdout already."""


HandlerResult = CommandResult | LargeResult | TextResult | ReadableResult | StreamedResult
Handler = Callable[[Call], HandlerResult]


def split_globals(argv: list[str], command: Command | None = None) -> tuple[GlobalOptions, list[str]]:
    """Take the global options out of ``argv``, up to a bare ``--`` that is not before the value of a flag.

    The command is the first word, unless it is given.
    """
    names = by_name(GLOBALS)
    given: dict[str, Any] = {}
    rest: list[str] = []
    i = 0
    while i < len(argv):
        token = argv[i]
        i += 1
        if token == "--":
            if i < len(argv) and _awaits_value(rest, command):  # --flag -- --any-text
                rest += (token, argv[i])
                i += 1
                continue
            return _options(given), [*rest, token, *argv[i:]]
        name, equals, inline = token.partition("=")
        flag = names.get(name)
        if flag is None:
            rest.append(token)
        elif flag.values == 0:
            if equals:
                raise takes_no_value(flag)
            given[flag.name] = True
        else:
            if not equals:
                if i == len(argv) or argv[i].startswith("--"):
                    raise needs_value(flag, "")
                inline = argv[i]
                i += 1
            if not inline and flag.name != "--device":  # an empty device is none
                raise needs_value(flag, "")
            given[flag.name] = chosen(flag, inline, "") if flag.choices else inline
    return _options(given), rest


def _awaits_value(rest: list[str], command: Command | None) -> bool:
    """Whether the last token is a flag of the command that takes a value."""
    if not rest:
        return False
    command = command or find_by_path(rest[:2]) or find_by_path(rest[:1])
    flag = by_name(command.flags).get(rest[-1]) if command else None
    return flag is not None and flag.values > 0


def requested_output(argv: list[str]) -> str | None:
    """The output format that a command line asks for, also one that cannot be parsed; None for the default."""
    if "--json" in argv:
        return "json"
    output = next(flag for flag in GLOBALS if flag.name == "--output")
    found = None
    for i, token in enumerate(argv):
        name, equals, inline = token.partition("=")
        if name in (output.name, *output.aliases):
            found = inline if equals else next(iter(argv[i + 1 :]), None)
    return found


def _options(given: dict[str, Any]) -> GlobalOptions:
    package = given.get("--operator-package")
    if package is not None and (is_blank(package) or package.startswith("-")):
        raise usage("--operator-package needs a package name", "Pass --operator-package com.clawperator.operator.")
    output = given.get("--output")
    return GlobalOptions(
        device=given.get("--device") or None,
        operator_package=package,
        json="--json" in given or output == "json",
        pretty=output == "pretty" and "--json" not in given,
        text=output == "text" and "--json" not in given,
        default_output=output is None and "--json" not in given,
        timeout=given.get("--timeout"),
        log_level="debug" if "--verbose" in given else given.get("--log-level", "info"),
        help="--help" in given,
    )


def read_arguments(
    command: Command, tokens: list[str], title: str, options: GlobalOptions | None = None
) -> ParsedArguments:
    """The flags and words of a command. ``title`` is its full name: ``recording parse``."""
    arguments = ArgvParser(command, tokens, title=title, strict=False, shared=GLOBALS).run()
    surplus = () if command.usage.endswith("...]") else arguments.words[len(command.usage.split()) :]
    if command.usage == "[<ref>]" and arguments.words and not _is_reference(arguments.words[0]):
        surplus = arguments.words
    if surplus:
        hint = _surplus_hint(arguments, title, surplus, options or GlobalOptions())
        raise usage(f"unexpected argument {surplus[0]!r} for {title}", hint)
    return arguments


def _is_reference(word: str) -> bool:
    from clawperator.contract.selectors import REFERENCE

    return REFERENCE.fullmatch(word) is not None


def _surplus_hint(arguments: ParsedArguments, title: str, surplus: tuple[str, ...], options: GlobalOptions) -> str:
    """The command that was probably meant, if it is a valid one: the words belong to a flag."""
    from shlex import join, quote

    if title == "pair":
        return "The pairing code is not an argument: other users could see it. Type it when it is asked for."
    if title == "setup" and surplus[0].endswith(".apk"):
        return f"Run 'clawperator install-apk {quote(surplus[0])}'."
    for own in _meant(arguments, surplus):
        if _is_valid(Call(title, own, options, Console("error"))):
            shared = [f"--{name}={text}" for name in ("timeout", "device") if (text := getattr(options, name))]
            return f"Run '{join(['clawperator', *title.split(), *_tokens(own), *shared])}'."
    return help_hint(title)


def _meant(arguments: ParsedArguments, surplus: tuple[str, ...]) -> Iterator[ParsedArguments]:
    """The arguments with the surplus words as values of flags, the most likely first."""
    assert arguments.command is not None
    free = [flag.name for flag in arguments.command.flags if not arguments.has(flag.name)]
    words, numbers = arguments.words, all(word.isdecimal() for word in arguments.words)
    likely: list[dict[str, tuple[str, ...]]] = []
    if numbers and len(words) == 4:
        likely.append({"--from": words[:2], "--to": words[2:]})
        surplus = words
    if numbers and len(surplus) == 2:
        likely.append({"--coordinate": surplus})
    if len(surplus) == 1 and _is_reference(surplus[0]):
        likely.append({"--ref": surplus})
    text = (" ".join(surplus),)
    likely += ({"--app": text}, {"--package": text}) if "." in text[0] else ()
    files, labels = ("--input", "--file"), ("--text", "--label")
    is_file = text[0].endswith((".xml", ".json"))
    likely += ({name: text} for name in ((*files, *labels) if is_file else (*labels, *files)))
    for values in likely:
        if values.keys() <= set(free):
            kept = words[: len(words) - len(surplus)]
            yield ParsedArguments(arguments.command, kept, {**values, **arguments.values})


def _is_valid(call: Call) -> bool:
    """Whether a command line can run, as far as that is known without a device."""
    command, arguments = call.arguments.command, call.arguments
    assert command is not None
    try:
        if command.is_action:
            prints = ParsedArguments(command, arguments.words, {**arguments.values, "--dry-run": ()})
            made = resolve_handler("clawperator.cli.actions:build_execution")(replace(call, arguments=prints))
            resolve_handler("clawperator.cli.actions:valid_plan")(made, call)
        elif command.is_operation:
            from clawperator.operations.model import find_operation

            resolve_handler("clawperator.cli.operation:read_params")(find_operation(call.name), call)
    except ClawError:
        return False
    return True


def _tokens(arguments: ParsedArguments) -> Iterator[str]:
    """The words and flags of a command line."""
    assert arguments.command is not None
    flags = {flag.name: flag for flag in arguments.command.flags}
    yield from arguments.words
    for name, texts in arguments.values.items():
        if flags[name].values != 1:
            yield from (name, *texts)
        else:
            yield from (
                part for text in texts for part in ([f"{name}={text}"] if text[:1] == "-" else [name, text])
            )


def find_named(words: Sequence[str]) -> tuple[Command, Command | None]:
    """The command and the subcommand that ``words`` begin with.

    ``UNKNOWN_COMMAND`` or ``USAGE`` with the nearest name where there is none of that name.
    """
    command = find_command(words[0])
    if command is None:
        raise _unknown_command(list(words))
    if not command.family or len(words) == 1:
        return command, None
    subcommand = find_command(words[1], command)
    if subcommand is None:
        names = [one.name for one in command.subcommands]
        near = nearest(words[1], names, max(2, len(words[1]) // 2))
        offer = f"did you mean {near!r}?" if near else f"choose from {', '.join(names)}"
        raise usage(f"unknown subcommand {words[1]!r} of {command.name}; {offer}", help_hint(command.name))
    return command, subcommand


def _unknown_command(rest: list[str]) -> ClawError:
    name = rest[0]
    if found := replacement(rest):
        removed, suggestion = found
        message = f"'{removed}' was removed" + (f"; use '{suggestion}'" if suggestion else "")
    else:
        suggestion = _suggest(name)
        message = f"unknown command {name!r}" + (f"; did you mean '{suggestion}'?" if suggestion else "")
    extra = {"suggestion": suggestion} if suggestion else None
    return ClawError("UNKNOWN_COMMAND", message, extra=extra, operation="argparse", target="" if found else name)


def _suggest(word: str) -> str | None:
    """The closest name: fewest edits, then names before synonyms, then the alphabet."""
    most = min(max(2, len(word) // 2), len(word) - 1)  # a letter alone is like every short name
    names = [(distance(word, name), 0, name) for name in MODULES]
    names += [(distance(word, name), 1, name) for name in SYNONYMS]
    best = min(names)
    return best[2] if best[0] <= most else None
