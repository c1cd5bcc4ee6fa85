"""From the words of a script to the arguments of a command: variables, splitting, patterns."""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Literal, Protocol, TypeAlias

from clawperator.phone.shell.language.arithmetic import ArithmeticSyntaxError, evaluate
from clawperator.phone.shell.language.patterns import Pattern, Segments, is_pattern
from clawperator.phone.shell.language.script import Arithmetic, Lines, Literally, Substitution, Variable, Word
from clawperator.phone.storage.filesystem import Storage

_MAX_LOOKED_AT = 3_000_000  # characters, for one replacement
MAX_VALUE = 1024 * 1024
MAX_FIELDS = 50_000

# Text and what may still become of it: nothing, a pattern, or pieces; "break" ends an argument.
Kind: TypeAlias = Literal["quoted", "plain", "split", "break"]
Piece: TypeAlias = tuple[str, Kind]


class ShellError(Exception):
    """What the shell says before it gives up a script."""


class Scope(Protocol):
    """What expansion needs of a shell."""

    cwd: str

    @property
    def variables(self) -> MutableMapping[str, str]: ...
    @property
    def arguments(self) -> Sequence[str]: ...
    @property
    def options(self) -> set[str]: ...
    @property
    def storage(self) -> Storage: ...
    def special(self, name: str) -> str | None: ...
    def substitute(self, body: Lines) -> str: ...


def expand_fields(scope: Scope, words: Sequence[Word]) -> list[str]:
    """The arguments some words stand for."""
    found: list[str] = []
    for word in words:
        if (
            len(word) == 1
            and isinstance(only := word[0], Literally)
            and not is_pattern([(only.text, only.quoted)])
        ):
            found.append(only.text)
            continue
        for segments in _split(_pieces(scope, word), scope.variables.get("IFS", " \t\n")):
            text = "".join(text for text, _ in segments)
            matches = _glob(scope, segments) if is_pattern(segments) and "f" not in scope.options else []
            found.extend(matches or [text])
            if len(found) > MAX_FIELDS:
                raise ShellError("argument list too long")
    return found


def expand_text(scope: Scope, word: Word) -> str:
    """The one text a word stands for where arguments are not split: in assignments, redirections, documents."""
    if len(word) == 1 and isinstance(word[0], Literally):
        return word[0].text
    text = "".join(" " if kind == "break" else text for text, kind in _pieces(scope, word))
    if len(text) > MAX_VALUE:
        raise ShellError("value too long")
    return text


def expand_pattern(scope: Scope, word: Word) -> Pattern:
    return Pattern([(text, kind == "quoted") for text, kind in _pieces(scope, word)])


def _pieces(scope: Scope, word: Word) -> Iterator[Piece]:
    for part in word:
        match part:
            case Literally(text=text, quoted=quoted):
                yield text, "quoted" if quoted else "plain"
            case Variable():
                yield from _expand_variable(scope, part)
            case Substitution(body=body, quoted=quoted):
                yield scope.substitute(body), "quoted" if quoted else "split"
            case Arithmetic(expression=expression, quoted=quoted):
                try:
                    value = evaluate(expand_text(scope, expression), scope.variables)
                except ArithmeticSyntaxError as e:
                    raise ShellError(str(e)) from None
                yield str(value), "quoted" if quoted else "split"


def _expand_variable(scope: Scope, part: Variable) -> Iterator[Piece]:
    kind: Kind = "quoted" if part.quoted else "split"
    if part.name in {"@", "*"} and part.operator != "length":
        yield from _expand_arguments(scope, part)
        return
    value = lookup(scope, part.name)
    operator = part.operator
    if operator == "length":
        length = len(scope.arguments) if part.name in {"@", "*"} else len(value or "")
        yield str(length), kind
        return
    missing = value is None or (operator.startswith(":") and value == "")
    if operator.lstrip(":") in {"-", "+", "=", "?"} and operator != ":":
        yield from _expand_default(scope, part, None if missing else value)
        return
    if value is None:
        if "u" in scope.options:
            raise ShellError(f"{part.name}: parameter not set")
        value = ""
    yield (_edit(scope, part, value) if operator else value), kind


def _expand_arguments(scope: Scope, part: Variable) -> Iterator[Piece]:
    arguments = list(scope.arguments)
    if not arguments and part.operator.lstrip(":") == "-":
        yield from _requoted(scope, part)
        return
    if part.operator and part.operator.lstrip(":") not in {"-", "+"}:
        arguments = [_edit(scope, part, argument) for argument in arguments]
    if part.name == "*" and part.quoted:
        yield scope.variables.get("IFS", " ")[:1].join(arguments), "quoted"
        return
    for number, argument in enumerate(arguments):
        if number:
            yield "", "break"
        yield argument, "quoted" if part.quoted else "split"


def _expand_default(scope: Scope, part: Variable, value: str | None) -> Iterator[Piece]:
    operator = part.operator[-1]
    kind: Kind = "quoted" if part.quoted else "split"
    if operator == "+":
        if value is not None:
            yield from _requoted(scope, part)
        elif part.quoted:
            yield "", "quoted"
    elif value is not None:
        yield value, kind
    elif operator == "-":
        yield from _requoted(scope, part)
    elif operator == "=":
        text = expand_text(scope, part.word)
        scope.variables[part.name] = text
        yield text, kind
    else:
        raise ShellError(f"{part.name}: {expand_text(scope, part.word) or 'parameter null or not set'}")


def _requoted(scope: Scope, part: Variable) -> Iterator[Piece]:
    """The word of ``${name:-word}``, which is quoted where the whole is."""
    if part.quoted:
        yield "", "quoted"
    for text, kind in _pieces(scope, part.word):
        yield text, "quoted" if part.quoted and kind != "break" else "split" if kind == "plain" else kind


def lookup(scope: Scope, name: str) -> str | None:
    """The value of a variable, an argument or one of the shell's own parameters."""
    if name.isdigit() and name != "0":
        position = int(name[:9])
        return scope.arguments[position - 1] if position <= len(scope.arguments) else None
    if name[0].isalpha() or name[0] == "_":
        return scope.variables.get(name)
    return scope.special(name)


def _edit(scope: Scope, part: Variable, value: str) -> str:
    """``${name#pattern}`` and the like."""
    operator = part.operator
    if operator == ":":
        return _substring(scope, part, value)
    pattern = expand_pattern(scope, part.word)
    if operator in {"/", "//"}:
        return _replace(value, pattern, expand_text(scope, part.second or ()), every=operator == "//")
    if operator[0] == "#":
        ends = pattern.ends(value)
        return value[ends[-1 if operator == "##" else 0] :] if ends else value
    ends = pattern.reversed().ends(value[::-1])
    return value[: len(value) - ends[-1 if operator == "%%" else 0]] if ends else value


def _substring(scope: Scope, part: Variable, value: str) -> str:
    try:
        start = evaluate(expand_text(scope, part.word), scope.variables)
        length = None if part.second is None else evaluate(expand_text(scope, part.second), scope.variables)
    except ArithmeticSyntaxError as e:
        raise ShellError(str(e)) from None
    start = max(len(value) + start, 0) if start < 0 else start
    if length is None:
        return value[start:]
    return value[start : start + length] if length >= 0 else value[start:length]


def _replace(value: str, pattern: Pattern, replacement: str, *, every: bool) -> str:
    pieces = []
    at = 0
    while at < len(value):
        ends = pattern.ends(value, at)
        if pattern.looked_at > _MAX_LOOKED_AT:
            raise ShellError("value too long")
        if ends and ends[-1] > at:
            pieces.append(replacement)
            at = ends[-1]
            if not every:
                break
        else:
            pieces.append(value[at])
            at += 1
    text = "".join(pieces) + value[at:]
    if len(text) > MAX_VALUE:
        raise ShellError("value too long")
    return text


def _split(pieces: Iterator[Piece], separators: str) -> Iterator[Segments]:
    """Arguments, each as text that may or may not be a pattern."""
    blank = re.escape("".join(c for c in separators if c in " \t\n"))
    other = re.escape("".join(c for c in separators if c not in " \t\n"))
    expressions = [f"[{blank}]*[{other}][{blank}]*" if blank else f"[{other}]"] if other else []
    expressions += [f"[{blank}]+"] if blank else []
    separator = re.compile("|".join(expressions)) if expressions else None
    current: Segments | None = None
    for text, kind in pieces:
        if kind == "break":
            yield current or []
            current = []
            continue
        if kind != "split" or separator is None:
            if text or kind == "quoted":
                current = current or []
                current.append((text, kind == "quoted"))
            continue
        at = 0
        for match in separator.finditer(text):
            if match.start() > at or match[0].strip(" \t\n"):
                current = current or []
                current.append((text[at : match.start()], False))
            if current is not None:
                yield current
            current = None
            at = match.end()
        if at < len(text):
            current = current or []
            current.append((text[at:], False))
    if current is not None:
        yield current


def _glob(scope: Scope, segments: Segments) -> list[str]:
    """The device files a pattern names, sorted."""
    components: list[Segments] = [[]]
    for text, quoted in segments:
        for number, piece in enumerate(text.split("/")):
            if number:
                components.append([])
            components[-1].append((piece, quoted))
    found = [""]
    for number, component in enumerate(components):
        end = "" if number == len(components) - 1 else "/"
        if not is_pattern(component):
            text = "".join(text for text, _ in component) + end
            found = [base + text for base in found]
            continue
        pattern = Pattern(component)
        found = [base + name + end for base in found for name in _names(scope, base, pattern)]
        if len(found) > MAX_FIELDS:
            raise ShellError("argument list too long")
    return [path for path in found if path and scope.storage.exists(_absolute(scope, path))]


def _names(scope: Scope, base: str, pattern: Pattern) -> list[str]:
    try:
        names = scope.storage.list(_absolute(scope, base or "."))
    except OSError:
        return []
    return [n for n in names if (pattern.starts_with_dot or not n.startswith(".")) and pattern.matches(n)]


def _absolute(scope: Scope, path: str) -> str:
    return path if path.startswith("/") else f"{scope.cwd}/{path}"
