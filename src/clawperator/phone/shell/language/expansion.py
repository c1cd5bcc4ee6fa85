"""Word expansion: variables, substitutions, arithmetic, field splitting and file name patterns."""

import re
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Literal, TypeAlias

from clawperator.phone.shell.language.parser import (
    ArithmeticExpansion,
    CommandSubstitution,
    LiteralText,
    Variable,
    Word,
)
from clawperator.phone.shell.language.patterns import Pattern, Segments, is_pattern
from clawperator.phone.shell.language.state import ShellError, ShellState

# Integer arithmetic of ``$((...))``: 64 bits, C's operators, variables by name

_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<<=|>>=|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^<>=!~?:(),])"
)
_MAX_DEPTH = 20
_MAX_TOKENS = 10_000


def _evaluate(shell: ShellState, expression: Word) -> int:
    """The value of an expression. Assignments in it change variables. ``ShellError`` when it is invalid."""
    return _Evaluation(expand_text(shell, expression), shell.variables).evaluate()


def _wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise ShellError("divide by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# The binary operators with their precedence; the highest binds first.
_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (0, lambda a, b: int(bool(a or b))),
    "&&": (1, lambda a, b: int(bool(a and b))),
    "|": (2, lambda a, b: a | b),
    "^": (3, lambda a, b: a ^ b),
    "&": (4, lambda a, b: a & b),
    "==": (5, lambda a, b: int(a == b)),
    "!=": (5, lambda a, b: int(a != b)),
    "<": (6, lambda a, b: int(a < b)),
    ">": (6, lambda a, b: int(a > b)),
    "<=": (6, lambda a, b: int(a <= b)),
    ">=": (6, lambda a, b: int(a >= b)),
    "<<": (7, lambda a, b: a << (b & 63)),
    ">>": (7, lambda a, b: a >> (b & 63)),
    "+": (8, lambda a, b: a + b),
    "-": (8, lambda a, b: a - b),
    "*": (9, lambda a, b: a * b),
    "/": (9, _divide),
    "%": (9, lambda a, b: a - b * _divide(a, b)),
}


class _Evaluation:
    def __init__(self, text: str, variables: MutableMapping[str, str]) -> None:
        self._variables = variables
        self._text = text = text.strip()
        self._tokens: list[str] = []
        self._at = 0
        self._depth = 0
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or len(self._tokens) > _MAX_TOKENS:
                raise ShellError(f"{text}: unexpected '{text[position:].strip()[:20]}'")
            self._tokens.append(match[1])
            position = match.end()
        self._tokens.append("")  # the end

    def evaluate(self) -> int:
        value = self._assignment() if self._text else 0
        while self._take(","):
            value = self._assignment()
        self._expect("")
        return value

    @property
    def _token(self) -> str:
        return self._tokens[self._at]

    def _take(self, *tokens: str) -> str:
        token = self._token
        if token not in tokens:
            return ""
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._token != token:
            raise self._unexpected()
        self._at += 1

    def _unexpected(self) -> ShellError:
        return ShellError(f"{self._text}: unexpected '{self._token or 'end of expression'}'")

    def _assignment(self) -> int:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ShellError("expression nested too deeply")
        name, sign = (*self._tokens[self._at : self._at + 2], "")[:2]
        if sign.endswith("=") and sign not in _BINARY and _is_name(name):
            self._at += 2
            value = self._assignment()
            if sign != "=":
                value = _wrap(_BINARY[sign[:-1]][1](self._value(name), value))
            self._variables[name] = str(value)
        else:
            value = self._binary()
            if self._take("?"):
                yes = self._assignment()
                self._expect(":")
                no = self._assignment()
                value = yes if value else no
        self._depth -= 1
        return value

    def _binary(self, lowest: int = 0) -> int:
        """The value of operands with operators of at least this precedence between them."""
        value = self._unary()
        while (found := _BINARY.get(self._token)) is not None and found[0] >= lowest:
            self._at += 1
            value = _wrap(found[1](value, self._binary(found[0] + 1)))
        return value

    def _unary(self) -> int:
        signs = []
        while sign := self._take("-", "+", "!", "~"):
            signs.append(sign)
        value = self._primary()
        for sign in reversed(signs):
            value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[sign]
        return _wrap(value)

    def _primary(self) -> int:
        token = self._token
        if self._take("("):
            value = self._assignment()
            self._expect(")")
            return value
        if not token[:1].isdigit() and not _is_name(token):
            raise self._unexpected()
        self._at += 1
        return self._value(token) if _is_name(token) else _wrap(_number(token))

    def _value(self, name: str) -> int:
        text = self._variables.get(name, "").strip() or "0"
        try:
            return _wrap(_number(text.removeprefix("-")) * (-1 if text.startswith("-") else 1))
        except ValueError:
            raise ShellError(f"{text[:40]}: bad number") from None


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


def _number(text: str) -> int:
    if len(text) > 40:
        raise ShellError(f"{text[:40]}: bad number")
    return int(text, 16) if text[:2].lower() == "0x" else int(text)


# Words

_MAX_EXAMINED = 3_000_000  # characters, for one replacement
MAX_VALUE = 1024 * 1024
MAX_FIELDS = 50_000

# Text and how it is treated further: literally, as a pattern, or split; "break" ends an argument.
Kind: TypeAlias = Literal["quoted", "plain", "split", "break"]
Piece: TypeAlias = tuple[str, Kind]


def expand_fields(shell: ShellState, words: Sequence[Word]) -> list[str]:
    """Expand words to arguments."""
    found: list[str] = []
    for word in words:
        only = word[0] if len(word) == 1 else None
        if isinstance(only, LiteralText) and not is_pattern([(only.text, only.quoted)]):
            found.append(only.text)
            continue
        for segments in _split(_pieces(shell, word), shell.variables.get("IFS", " \t\n")):
            text = "".join(text for text, _ in segments)
            matches = _glob(shell, segments) if is_pattern(segments) and "f" not in shell.options else []
            found.extend(matches or [text])
            if len(found) > MAX_FIELDS:
                raise ShellError("argument list too long")
    return found


def expand_text(shell: ShellState, word: Word) -> str:
    """Expand a word to one text, without splitting: in assignments, redirections and here-documents."""
    if len(word) == 1 and isinstance(word[0], LiteralText):
        return word[0].text
    text = "".join(" " if kind == "break" else text for text, kind in _pieces(shell, word))
    if len(text) > MAX_VALUE:
        raise ShellError("value too long")
    return text


def expand_pattern(shell: ShellState, word: Word) -> Pattern:
    return Pattern([(text, kind == "quoted") for text, kind in _pieces(shell, word)])


def _pieces(shell: ShellState, word: Word) -> Iterator[Piece]:
    for part in word:
        match part:
            case LiteralText(text=text, quoted=quoted):
                yield text, "quoted" if quoted else "plain"
            case Variable():
                yield from _expand_variable(shell, part)
            case CommandSubstitution(body=body, quoted=quoted):
                yield shell.substitute(body), "quoted" if quoted else "split"
            case ArithmeticExpansion(expression=expression, quoted=quoted):
                yield str(_evaluate(shell, expression)), "quoted" if quoted else "split"


def _expand_variable(shell: ShellState, part: Variable) -> Iterator[Piece]:
    kind: Kind = "quoted" if part.quoted else "split"
    if part.name in {"@", "*"} and part.operator != "length":
        yield from _expand_arguments(shell, part)
        return
    value = lookup(shell, part.name)
    operator = part.operator
    if operator == "length":
        length = len(shell.arguments) if part.name in {"@", "*"} else len(value or "")
        yield str(length), kind
        return
    missing = value is None or (operator.startswith(":") and value == "")
    if operator.lstrip(":") in {"-", "+", "=", "?"} and operator != ":":
        yield from _expand_default(shell, part, None if missing else value)
        return
    if value is None:
        if "u" in shell.options:
            raise ShellError(f"{part.name}: parameter not set")
        value = ""
    yield (_apply_operator(shell, part, value) if operator else value), kind


def _expand_arguments(shell: ShellState, part: Variable) -> Iterator[Piece]:
    arguments = list(shell.arguments)
    if not arguments and part.operator.lstrip(":") == "-":
        yield from _requoted(shell, part)
        return
    if part.operator and part.operator.lstrip(":") not in {"-", "+"}:
        arguments = [_apply_operator(shell, part, argument) for argument in arguments]
    if part.name == "*" and part.quoted:
        yield shell.variables.get("IFS", " ")[:1].join(arguments), "quoted"
        return
    for number, argument in enumerate(arguments):
        if number:
            yield "", "break"
        yield argument, "quoted" if part.quoted else "split"


def _expand_default(shell: ShellState, part: Variable, value: str | None) -> Iterator[Piece]:
    operator = part.operator[-1]
    kind: Kind = "quoted" if part.quoted else "split"
    if operator == "+":
        if value is not None:
            yield from _requoted(shell, part)
        elif part.quoted:
            yield "", "quoted"
    elif value is not None:
        yield value, kind
    elif operator == "-":
        yield from _requoted(shell, part)
    elif operator == "=":
        text = expand_text(shell, part.word)
        shell.variables[part.name] = text
        yield text, kind
    else:
        raise ShellError(f"{part.name}: {expand_text(shell, part.word) or 'parameter null or not set'}")


def _requoted(shell: ShellState, part: Variable) -> Iterator[Piece]:
    """The word of ``${name:-word}``, quoted if the whole expansion is."""
    if part.quoted:
        yield "", "quoted"
    for text, kind in _pieces(shell, part.word):
        yield text, "quoted" if part.quoted and kind != "break" else "split" if kind == "plain" else kind


def lookup(shell: ShellState, name: str) -> str | None:
    """The value of a variable, a positional parameter or a special parameter."""
    if name.isdigit() and name != "0":
        position = int(name[:9])
        return shell.arguments[position - 1] if position <= len(shell.arguments) else None
    if name[0].isalpha() or name[0] == "_":
        return shell.variables.get(name)
    return shell.special(name)


def _apply_operator(shell: ShellState, part: Variable, value: str) -> str:
    """Apply the operator of ``${name#pattern}`` and similar expansions."""
    operator = part.operator
    if operator == ":":
        return _substring(shell, part, value)
    pattern = expand_pattern(shell, part.word)
    if operator in {"/", "//"}:
        return _replace(value, pattern, expand_text(shell, part.second or ()), every=operator == "//")
    if operator[0] == "#":
        ends = pattern.ends(value)
        return value[ends[-1 if operator == "##" else 0] :] if ends else value
    ends = pattern.reversed().ends(value[::-1])
    return value[: len(value) - ends[-1 if operator == "%%" else 0]] if ends else value


def _substring(shell: ShellState, part: Variable, value: str) -> str:
    start = _evaluate(shell, part.word)
    value = value[max(len(value) + start, 0) if start < 0 else start :]
    return value if part.second is None else value[: _evaluate(shell, part.second)]


def _replace(value: str, pattern: Pattern, replacement: str, *, every: bool) -> str:
    pieces = []
    at = 0
    while at < len(value):
        ends = pattern.ends(value, at)
        if pattern.examined > _MAX_EXAMINED:
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
    """Split pieces into arguments, each still with its quoting."""
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


def _glob(shell: ShellState, segments: Segments) -> list[str]:
    """The device files that match a pattern, sorted."""
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
        found = [base + name + end for base in found for name in _names(shell, base, pattern)]
        if len(found) > MAX_FIELDS:
            raise ShellError("argument list too long")
    return [path for path in found if path and shell.storage.exists(_absolute(shell, path))]


def _names(shell: ShellState, base: str, pattern: Pattern) -> list[str]:
    try:
        names = shell.storage.list(_absolute(shell, base or "."))
    except OSError:
        return []
    return [n for n in names if (pattern.starts_with_dot or not n.startswith(".")) and pattern.matches(n)]


def _absolute(shell: ShellState, path: str) -> str:
    return path if path.startswith("/") else f"{shell.cwd}/{path}"
