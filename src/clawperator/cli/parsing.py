"""From argv to options: global options anywhere, then the command's own flags and arguments."""

from collections.abc import Iterable
from typing import Any, NoReturn

from msgspec import Struct

from clawperator._text import distance, is_blank, read_number
from clawperator.commands.actions import GLOBALS, value_flags
from clawperator.commands.model import Command, Flag
from clawperator.errors import ClawError

LEVELS = ("debug", "info", "warn", "error")
_SIMILAR = 0.75


class Options(Struct, frozen=True):
    """The global options."""

    device: str | None = None
    operator_package: str | None = None
    json: bool = False  # asked for explicitly
    pretty: bool = False
    timeout: str | None = None
    log_level: str = "info"
    help: bool = False

    @property
    def timeout_ms(self) -> int | float | None:
        """The timeout as a number; ``EXECUTION_VALIDATION_FAILED`` when it is none."""
        if self.timeout is None:
            return None
        number = read_number(self.timeout) if not is_blank(self.timeout) else 0
        if number is None:
            raise invalid(f"--timeout must be a number of milliseconds, not {self.timeout!r}")
        return number


class Arguments(Struct, frozen=True):
    """What a command was given: values by the flag's own name, arguments, and flags it does not know."""

    values: dict[str, tuple[str, ...]]
    words: list[str]
    ignored: list[str]

    def has(self, flag: str) -> bool:
        return flag in self.values

    def get(self, flag: str) -> str | None:
        given = self.values.get(flag)
        return given[0] if given else None

    def all(self, flag: str) -> tuple[str, ...]:
        """The values of a flag that may be given several times."""
        return self.values.get(flag, ())


def usage(message: str, hint: str | None = None) -> ClawError:
    return ClawError("USAGE", message, hint=hint, operation="argparse")


def invalid(message: str, hint: str | None = None) -> ClawError:
    return ClawError("EXECUTION_VALIDATION_FAILED", message, hint=hint, operation="argparse")


def split_globals(argv: list[str]) -> tuple[Options, list[str]]:
    """Take the global options out of ``argv``, up to a bare ``--``."""
    names = _by_name(GLOBALS)
    given: dict[str, Any] = {}
    rest: list[str] = []
    i = 0
    while i < len(argv):
        token = argv[i]
        i += 1
        if token == "--":
            if rest[-1:] and rest[-1] in value_flags() and i < len(argv):  # --flag -- --any-text
                rest += (token, argv[i])
                i += 1
                continue
            return _options(given), [*rest, token, *argv[i:]]
        name, equals, inline = token.partition("=")
        flag = names.get(name)
        if flag is None:
            rest.append(token)
        elif flag.values == 0:
            given[flag.name] = True
        elif equals:
            given[flag.name] = inline
        elif i < len(argv):
            given[flag.name] = argv[i]
            i += 1
        else:
            raise usage(f"{flag.name} needs a value: {flag.name} {flag.metavar}")
    return _options(given), rest


def _options(given: dict[str, Any]) -> Options:
    package = given.get("--operator-package")
    if package is not None and (is_blank(package) or package.startswith("-")):
        raise usage("--operator-package needs a package name", "Pass --operator-package com.clawperator.operator.")
    timeout = given.get("--timeout")
    if timeout is not None and timeout.startswith("--"):
        raise usage("--timeout needs a value: --timeout <ms>")
    level = given.get("--log-level", "info").lower()
    if level not in LEVELS:
        raise usage(f"--log-level must be one of {', '.join(LEVELS)}, not {given['--log-level']!r}")
    output = given.get("--output")
    return Options(
        device=given.get("--device") or None,
        operator_package=package,
        json="--json" in given or output == "json",
        pretty=output == "pretty" and "--json" not in given,
        timeout=timeout,
        log_level="debug" if "--verbose" in given else level,
        help="--help" in given,
    )


def read_arguments(command: Command, tokens: list[str], *, prefix: str = "") -> Arguments:
    """Sort ``tokens`` into flags and words. ``prefix`` is the command's family, for messages."""
    known = _by_name(command.flags)
    open_ended = command.usage.endswith("...]")
    out = Arguments({}, [], [])
    i = 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        if token == "--":
            out.words.extend(tokens[i:])
            break
        flag = known.get(token.partition("=")[0])
        if not token.startswith("--") or (flag is None and (open_ended or _is_dashed_file(command, tokens, i))):
            out.words.append(token)
        elif flag is None:
            i = _pass_over(token, tokens, i, out) or _unknown(token, command, prefix)
        elif flag.name in out.values and not flag.repeats:
            raise _refused(flag, f"{flag.name} is given more than once")
        else:
            taken, i = _take(flag, tokens, i)
            out.values[flag.name] = (*out.values.get(flag.name, ()), *taken)
    surplus = [] if open_ended else out.words[len(command.usage.split()) :]
    if surplus:
        title = prefix + command.name
        raise usage(f"unexpected argument {surplus[0]!r} for {title}", f"Run 'clawperator {title} --help'.")
    return out


def _is_dashed_file(command: Command, tokens: list[str], i: int) -> bool:
    """``exec`` may be given a file whose name begins with dashes, as its first word, with no word after it."""
    name = tokens[0].partition("=")[0]
    next_is_flag = all(t.startswith("--") for t in tokens[1:2])
    return command.name == "exec" and i == 1 and next_is_flag and name not in value_flags()


def _pass_over(token: str, tokens: list[str], i: int, out: Arguments) -> int:
    """The place after a flag that only other commands know, and its values; 0 if none knows it."""
    name, equals, _ = token.partition("=")
    most = value_flags().get(name)
    if most is None:
        return 0
    out.ignored.append(name)
    last = i if equals else min(i + most, len(tokens))
    while i < last and not tokens[i].startswith("--"):
        i += 1
    return i


def _unknown(token: str, command: Command, prefix: str) -> NoReturn:
    raise _unknown_flag(token.partition("=")[0], command, prefix + command.name)


def _take(flag: Flag, tokens: list[str], i: int) -> tuple[tuple[str, ...], int]:
    """The values of the flag before place ``i``, and the place after them."""
    _, equals, inline = tokens[i - 1].partition("=")
    if flag.values == 0:
        if equals:
            raise usage(f"{flag.name} takes no value")
        return (), i
    if flag.values == 1 and equals:
        return (inline,), i
    if flag.values == 1 and tokens[i : i + 1] == ["--"] and i + 1 < len(tokens):
        return (tokens[i + 1],), i + 2  # --flag -- --any-text
    values = tokens[i : i + flag.values]
    forbidden = "-" if flag.literal else "--"
    if equals or len(values) < flag.values or any(v.startswith(forbidden) for v in values):
        hint = f"Write {flag.name}=... for a value that begins with a dash." if flag.values == 1 else None
        raise _refused(flag, f"{flag.name} needs {_count(flag.values)}: {flag.name} {flag.metavar}", hint)
    return tuple(values), i + flag.values


def _count(values: int) -> str:
    return "a value" if values == 1 else f"{values} values"


def _refused(flag: Flag, message: str, hint: str | None = None) -> ClawError:
    return invalid(message, hint) if flag.literal else usage(message, hint)


def _unknown_flag(name: str, command: Command, title: str) -> ClawError:
    near = _most_similar(name, [*_by_name(command.flags), *_by_name(GLOBALS)])
    return usage(
        f"unknown flag {name} for {title}" + (f"; did you mean {near}?" if near else ""),
        f"Run 'clawperator {title} --help' for its flags.",
    )


def _most_similar(name: str, known: list[str]) -> str | None:
    scored = [(1 - distance(name, other) / max(len(name), len(other)), other) for other in known]
    best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    return best[1] if best[0] > _SIMILAR else None


def _by_name(flags: Iterable[Flag]) -> dict[str, Flag]:
    return {name: flag for flag in flags for name in (flag.name, *flag.aliases)}
