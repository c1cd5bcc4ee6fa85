"""Integer arithmetic of ``$((...))``: 64 bits, C's operators, variables by name."""

import re
from collections.abc import Callable, MutableMapping

from clawperator.errors import ClawperatorException

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|(<<=|>>=|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^<>=!~?:(),]))"
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_MAX_DEPTH = 20
_MAX_TOKENS = 10_000


class ArithmeticSyntaxError(ClawperatorException):
    """An invalid expression; the message is what the shell prints."""


def evaluate(text: str, variables: MutableMapping[str, str]) -> int:
    """The value of an expression. Assignments in it change ``variables``."""
    return _Evaluation(text, variables).evaluate()


def _wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise ArithmeticSyntaxError("divide by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
}


class _Evaluation:
    def __init__(self, text: str, variables: MutableMapping[str, str]) -> None:
        self._variables = variables
        self._text = text
        self._tokens: list[str] = []
        self._at = 0
        self._depth = 0
        position, text = 0, text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or len(self._tokens) > _MAX_TOKENS:
                raise ArithmeticSyntaxError(f"{text}: unexpected '{text[position:].strip()[:20]}'")
            self._tokens.append(match[1] or match[2] or match[3])
            position = match.end()

    def evaluate(self) -> int:
        if not self._tokens:
            return 0
        value = self._assignment()
        while self._take(","):
            value = self._assignment()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return value

    def _unexpected(self) -> ArithmeticSyntaxError:
        token = self._tokens[self._at] if self._at < len(self._tokens) else "end of expression"
        return ArithmeticSyntaxError(f"{self._text.strip()}: unexpected '{token}'")

    def _take(self, *tokens: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at] in tokens:
            self._at += 1
            return self._tokens[self._at - 1]
        return None

    def _assignment(self) -> int:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ArithmeticSyntaxError("expression nested too deeply")
        name, operator = (*self._tokens[self._at : self._at + 2], "", "")[:2]
        if operator in _ASSIGNMENTS and (name[:1].isalpha() or name[:1] == "_"):
            self._at += 2
            value = self._assignment()
            if operator != "=":
                value = _wrap(_OPERATIONS[operator[:-1]](self._value(name), value))
            self._variables[name] = str(value)
        else:
            value = self._binary(0)
            if self._take("?"):
                yes = self._assignment()
                if not self._take(":"):
                    raise self._unexpected()
                no = self._assignment()
                value = yes if value else no
        self._depth -= 1
        return value

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        value = self._binary(level + 1)
        while operator := self._take(*_LEVELS[level]):
            value = _wrap(_OPERATIONS[operator](value, self._binary(level + 1)))
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
        if self._take("("):
            value = self._assignment()
            if not self._take(")"):
                raise self._unexpected()
            return value
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if token[:1].isdigit():
            self._at += 1
            return _wrap(_number(token))
        if token[:1].isalpha() or token[:1] == "_":
            self._at += 1
            return self._value(token)
        raise self._unexpected()

    def _value(self, name: str) -> int:
        text = self._variables.get(name, "").strip() or "0"
        try:
            return _wrap(_number(text.removeprefix("-")) * (-1 if text.startswith("-") else 1))
        except ValueError:
            raise ArithmeticSyntaxError(f"{text[:40]}: bad number") from None


def _number(text: str) -> int:
    if len(text) > 40:
        raise ArithmeticSyntaxError(f"{text[:40]}: bad number")
    return int(text, 16) if text[:2].lower() == "0x" else int(text)
