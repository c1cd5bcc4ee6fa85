"""From argv to a command of ``claw`` and its values. Nothing is abbreviated, passed over or guessed."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from clawperator._text import nearest, read_number
from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
from clawperator.commands.model import Command, Flag
from clawperator.errors import ClawError

FORMAT_FLAG = "--output-format"
FORMAT_VARIABLE = "CLAW_OUTPUT_FORMAT"
FORMATS = ("text", "json")
MISSING = "<missing>"

# More is no number that anybody means, and some that no clock can wait for or nobody can write down.
_MOST_SECONDS = 1_000_000_000
_MOST_WHOLE = 2**63 - 1
# Of a longer word nobody can say what was meant by it.
_LONGEST_GUESSED = 64


class Read(Struct, frozen=True):
    """A command line. ``command`` is None when only help or the version is wanted."""

    command: Command | None
    words: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    wants_help: bool = False
    wants_version: bool = False

    def has(self, flag: str) -> bool:
        return flag in self.values

    def get(self, flag: str) -> str | None:
        given = self.values.get(flag)
        return given[-1] if given else None

    def all(self, flag: str) -> tuple[str, ...]:
        return self.values.get(flag, ())

    def whole(self, flag: str, default: int, *, least: int | None = 0) -> int:
        """A whole number, not below ``least``."""
        text = self.get(flag)
        if text is None:
            return default
        number = read_number(text)
        if not isinstance(number, int) or (least is not None and number < least) or abs(number) > _MOST_WHOLE:
            asked = "a whole number" + ("" if least is None else f" from {least} up")
            raise parse_error(f"argument {flag}: it must be {asked}, not {_cut(text)!r}", self.name)
        return number

    def seconds(self, flag: str) -> float | None:
        text = self.get(flag)
        if text is None:
            return None
        number = read_number(text)
        if number is None or abs(number) > _MOST_SECONDS:
            asked = f"a number of seconds, {_MOST_SECONDS} at most"
            raise parse_error(f"argument {flag}: it must be {asked}, not {_cut(text)!r}", self.name)
        return float(number)

    def choice(self, flag: str, choices: tuple[str, ...], default: str) -> str:
        text = self.get(flag)
        if text is None:
            return default
        if text.casefold() not in choices:
            known = ", ".join(choices)
            raise parse_error(f"argument {flag}: invalid choice: {text!r} (choose from {known})", self.name)
        return text.casefold()

    @property
    def name(self) -> str:
        return self.command.name if self.command else MISSING


def parse_error(message: str, target: str, hint: str | None = None) -> ClawError:
    """What is wrong with a command line."""
    if hint is None:
        known = target if any(c.name == target for c in CLAW_COMMANDS) else ""
        hint = f"Run 'claw {known} --help' for what it takes.".replace("  ", " ")
    return ClawError("ARGUMENTS_INVALID", message, hint=hint, operation="argparse", target=target)


def attempted(argv: list[str]) -> str:
    """The command somebody meant, however wrong the rest is."""
    return argv[0] if argv and not argv[0].startswith("-") else MISSING


def wanted_format(argv: list[str], default: str | None) -> str:
    """How to answer, even when the rest of the line cannot be read: the last format named, JSON if in doubt."""
    given = [text.casefold() for text in _formats(argv)]
    known = [text for text in given if text in FORMATS]
    if given and len(known) < len(given):
        return "json" if "json" in known else _default(default)
    return known[-1] if known else _default(default)


def _default(text: str | None) -> str:
    return "json" if text and text.casefold() == "json" else "text"


def _formats(argv: list[str]) -> Iterable[str]:
    for place, token in enumerate(argv):
        if token == "--":
            return
        name, equals, inline = token.partition("=")
        if name == FORMAT_FLAG:
            yield inline if equals else (argv[place + 1] if place + 1 < len(argv) else "")


def read(argv: list[str], default_format: str | None = None) -> Read:
    """Sort the tokens. Options may stand anywhere after or before the command, up to a bare ``--``."""
    command, place = _command(argv)
    flags = _by_name((*CLAW_GLOBALS, *(command.flags if command else ())))
    words: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    i = 0
    target = command.name if command else argv[place] if place >= 0 else MISSING
    while i < len(argv):
        token = argv[i]
        i += 1
        if token == "--":
            words += argv[i:]
            break
        if _is_word(token):
            if i - 1 != place:
                words.append(token)
            continue
        flag = flags.get(token.partition("=")[0])
        if flag is None:
            raise _unrecognised(token, flags, target)
        value, i = _value(flag, argv, i, target)
        if flag.name in values and not flag.repeats and flag.name != FORMAT_FLAG and value is not None:
            raise parse_error(f"argument {flag.name}: it is given more than once", target)
        values[flag.name] = (*values.get(flag.name, ()), *(() if value is None else (value,)))
    _check_formats(values.get(FORMAT_FLAG, ()), default_format, target)
    out = Read(command, tuple(words), values, "--help" in values, "--version" in values)
    if not (out.wants_help or out.wants_version):
        _check_words(out, argv[place] if place >= 0 else MISSING)
    return out


def _command(argv: list[str]) -> tuple[Command | None, int]:
    """The command and its place: the first word that belongs to no option."""
    i = 0
    while i < len(argv):
        token = argv[i]
        if token == "--":
            break
        if _is_word(token):
            return next((command for command in CLAW_COMMANDS if command.name == token), None), i
        name, equals, _ = token.partition("=")
        i += 2 if name == FORMAT_FLAG and not equals else 1
    return None, -1


def _check_formats(given: tuple[str, ...], default: str | None, target: str) -> None:
    for text in given:
        if text.casefold() not in FORMATS:
            raise parse_error(f"argument {FORMAT_FLAG}: invalid choice: {text!r} (choose from text, json)", target)
    if not given and default and default.casefold() not in FORMATS:
        raise parse_error(
            f"{FORMAT_VARIABLE}: invalid choice: {default!r} (choose from text, json)",
            target,
            f"Run 'export {FORMAT_VARIABLE}=json', or unset it.",
        )


def _check_words(out: Read, named: str) -> None:
    if out.command is None:
        known = [command.name for command in CLAW_COMMANDS]
        if named == MISSING:
            message = "the following arguments are required: command"
            raise parse_error(message, MISSING, "Run 'claw --help' for the commands.")
        near = _nearest(named, known)
        choices = ", ".join(repr(name) for name in known)
        raise parse_error(
            f"argument command: invalid choice: {named!r} (choose from {choices})",
            named,
            f"Did you mean {near!r}? Run 'claw {near} --help'." if near else "Run 'claw --help' for the commands.",
        )
    wanted = out.command.usage.split()
    missing = [word.strip("<>") for word in wanted[len(out.words) :] if not word.startswith("[")]
    if missing:
        raise parse_error(f"the following arguments are required: {', '.join(missing)}", out.name)
    if len(out.words) > len(wanted):
        surplus = " ".join(out.words[len(wanted) :])[:200]
        hint = "Put quotes around an argument that holds spaces." if wanted else None
        raise parse_error(f"unrecognized arguments: {surplus}", out.name, hint)


def _value(flag: Flag, argv: list[str], i: int, target: str) -> tuple[str | None, int]:
    """The value of the option before place ``i``, and the place after it."""
    _, equals, inline = argv[i - 1].partition("=")
    if flag.values == 0:
        if equals:
            raise parse_error(f"argument {flag.name}: it takes no value", target)
        return None, i
    if equals:
        return inline, i
    if i >= len(argv) or (argv[i].startswith("--") and len(argv[i]) > 2) or argv[i] == "--":
        raise parse_error(
            f"argument {flag.name}: expected one argument",
            target,
            f"Write {flag.name}=... for a value that begins with dashes.",
        )
    return argv[i], i + 1


def _is_word(token: str) -> bool:
    """Whether it cannot be an option: no dash before it, a number, or white space where the name would be."""
    name = token.partition("=")[0]
    return not token.startswith("-") or token == "-" or len(name.split()) > 1 or read_number(token) is not None


def _unrecognised(token: str, flags: Mapping[str, Flag], target: str) -> ClawError:
    name = token.partition("=")[0]
    near = _nearest(name, flags) if name.startswith("--") else None
    return parse_error(
        f"unrecognized arguments: {token[:200]}",
        target,
        (f"Did you mean {near}? " if near else "") + "A word that begins with a dash goes after a bare '--'.",
    )


def _nearest(word: str, names: Iterable[str]) -> str | None:
    return nearest(word, names, max(2, len(word) // 3)) if len(word) <= _LONGEST_GUESSED else None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_GUESSED else text[:_LONGEST_GUESSED] + "…"


def _by_name(flags: Iterable[Flag]) -> dict[str, Flag]:
    return {name: flag for flag in flags for name in (flag.name, *flag.aliases)}
