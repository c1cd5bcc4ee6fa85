"""The words of a script: quotes, escapes, and expansions that start with ``$``."""

import re
from abc import ABC, abstractmethod

from clawperator.errors import ClawperatorException
from clawperator.phone.shell.language.script import (
    ArithmeticExpansion,
    CommandList,
    CommandSubstitution,
    LiteralText,
    Part,
    Variable,
    Word,
)

MAX_NESTING = 30

_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
_PLAIN_IN_QUOTES = re.compile(r'[^"\\$`]+')
_PLAIN_IN_BRACES = re.compile(r"""[^'"\\$`}/:]+""")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_PARAMETER_IN_BRACES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|//?|:")
_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class ShellSyntaxError(ClawperatorException):
    """A syntax error; the message is what the shell prints."""


class UnfinishedError(ShellSyntaxError):
    """The script ends too early; more text could complete it."""


def unexpected(token: str) -> ShellSyntaxError:
    return ShellSyntaxError(f"syntax error: unexpected '{token or 'EOF'}'")


def unescape(text: str, *, zero_octal: bool = False) -> str:
    r"""Replace escapes such as ``\n``, ``\t``, ``\x41`` and ``\101``; unknown ones stay.

    With ``zero_octal``, as ``echo -e`` has it, an octal number has a zero before it: ``\0101``.
    """

    def one(match: re.Match[str]) -> str:
        byte, short, long, octal, letter = match.groups()
        if byte or octal:
            return _byte(int(byte, 16) if byte else int(octal, 8) & 0xFF)
        if short or long:
            code = int(short or long, 16)
            return chr(code) if code < 0xD800 or 0xDFFF < code <= 0x10FFFF else "\ufffd"
        return _LETTERS.get(letter) or (letter if letter in "\\'\"" else "\\" + letter)

    if zero_octal:
        text = re.sub(r"\\0([0-7]{1,3})", r"\\\1", text)
    if "\\" not in text:
        return text
    # Escaped bytes may form one UTF-8 character.
    return _ESCAPE.sub(one, text).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _byte(value: int) -> str:
    return chr(value) if value < 0x80 else chr(0xDC00 + value)


class WordReader(ABC):
    """A position in a script, and methods that read words from there."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.position = 0
        self.depth = depth
        if depth > MAX_NESTING:
            raise ShellSyntaxError("syntax error: nested too deeply")

    @abstractmethod
    def read_substitution(self) -> CommandList:
        """Read the script of ``$( )``, from after the opening parenthesis to after the closing one."""

    @abstractmethod
    def inner(self, text: str) -> "WordReader":
        """A reader of a nested text."""

    @abstractmethod
    def read_whole(self) -> CommandList:
        """Parse everything to the end."""

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def peek(self, length: int = 1) -> str:
        return self.text[self.position : self.position + length]

    def read_word(self) -> Word:
        """Read the word at this position; empty when there is none."""
        parts: list[Part] = []
        while not self.at_end:
            if match := _PLAIN.match(self.text, self.position):
                self.position = match.end()
                parts.append(LiteralText(match[0], quoted=False))
                continue
            c = self.peek()
            if c == "\\":
                parts.extend(self._read_escaped())
            elif c == "'":
                parts.append(self._read_single())
            elif c == '"':
                self.position += 1
                parts.extend(self.read_quoted('"'))
            elif c in "$`":
                parts.append(self._read_dollar(quoted=False))
            else:
                break
        return _expand_tilde(tuple(parts))

    def read_quoted(self, end: str) -> Word:
        """Read double-quoted text to after the closing quote. Without ``end``, read to the end."""
        parts: list[Part] = []
        while not self.at_end:
            if match := _PLAIN_IN_QUOTES.match(self.text, self.position):
                self.position = match.end()
                parts.append(LiteralText(match[0], quoted=True))
                continue
            c = self.peek()
            if c == end:
                self.position += 1
                return tuple(parts) or (LiteralText("", quoted=True),)
            if c == "\\":
                parts.append(self._read_escaped_in_quotes('$`\\"' if end else "$`\\"))
            elif c == '"':
                self.position += 1
                parts.append(LiteralText(c, quoted=True))
            else:
                parts.append(self._read_dollar(quoted=True))
        if end:
            raise UnfinishedError("no closing quote")
        return tuple(parts)

    def _read_escaped(self) -> list[Part]:
        c = self.text[self.position + 1 : self.position + 2]
        self.position += 2
        return [] if c == "\n" else [LiteralText(c or "\\", quoted=True)]

    def _read_escaped_in_quotes(self, special: str) -> LiteralText:
        c = self.text[self.position + 1 : self.position + 2]
        self.position += 1 + len(c)
        if c == "\n":
            return LiteralText("", quoted=True)
        return LiteralText(c if c and c in special else "\\" + c, quoted=True)

    def _read_single(self) -> LiteralText:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise UnfinishedError("no closing quote")
        text = self.text[self.position + 1 : end]
        self.position = end + 1
        return LiteralText(text, quoted=True)

    def _read_dollar(self, *, quoted: bool) -> Part:
        if self.peek() == "`":
            return CommandSubstitution(self._read_backquoted(quoted=quoted), quoted)
        self.position += 1
        if self.peek(2) == "((" and (end := self._find_arithmetic_end()):
            expression = self.inner(self.text[self.position + 2 : end]).read_quoted("")
            self.position = end + 2
            return ArithmeticExpansion(expression, quoted)
        if self.peek() == "(":
            self.position += 1
            return CommandSubstitution(self.read_substitution(), quoted)
        if self.peek() == "{":
            self.position += 1
            return self._nested_braces(quoted=quoted)
        if self.peek() == "'" and not quoted:
            return self._read_ansi()
        if match := _PARAMETER.match(self.text, self.position):
            self.position = match.end()
            return Variable(match[0], quoted)
        return LiteralText("$", quoted)

    def _find_arithmetic_end(self) -> int | None:
        """The position of the ``))`` that closes this ``((``; None when this is a subshell."""
        depth = 0
        for at in range(self.position + 2, len(self.text)):
            c = self.text[at]
            if c == "(":
                depth += 1
            elif c == ")" and depth:
                depth -= 1
            elif c == ")":
                return at if self.text[at + 1 : at + 2] == ")" else None
        raise UnfinishedError("syntax error: unmatched '(('")

    def _read_ansi(self) -> LiteralText:
        match = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self.position)
        if match is None:
            raise UnfinishedError("no closing quote")
        self.position = match.end()
        return LiteralText(unescape(match[1]), quoted=True)

    def _read_backquoted(self, *, quoted: bool) -> CommandList:
        match = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.position)
        if match is None:
            raise UnfinishedError("no closing quote")
        self.position = match.end()
        special = r'\\([$`\\"])' if quoted else r"\\([$`\\])"
        return self.inner(re.sub(special, r"\1", match[1])).read_whole()

    def _nested_braces(self, *, quoted: bool) -> Variable:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ShellSyntaxError("syntax error: nested too deeply")
        try:
            return self._read_braces(quoted=quoted)
        finally:
            self.depth -= 1

    def _read_braces(self, *, quoted: bool) -> Variable:
        start = self.position - 2
        length = self.peek() == "#" and self.peek(2) != "#}"
        self.position += length
        name = _PARAMETER_IN_BRACES.match(self.text, self.position)
        if name is None:
            raise self._bad_substitution(start)
        self.position = name.end()
        if self.peek() == "}":
            self.position += 1
            return Variable(name[0], quoted, "length" if length else "")
        operator = _OPERATOR.match(self.text, self.position)
        if length or operator is None:
            raise self._bad_substitution(start)
        self.position = operator.end()
        separator = {"/": "/", "//": "/", ":": ":"}.get(operator[0], "")
        word, ended = self._read_in_braces(separator, quoted=quoted)
        second = None if ended else self._read_in_braces("", quoted=quoted)[0]
        return Variable(name[0], quoted, operator[0], word, second)

    def _read_in_braces(self, separator: str, *, quoted: bool) -> tuple[Word, bool]:
        """Read a word to after ``}`` or the separator. True when it ended at the brace."""
        parts: list[Part] = []
        while not self.at_end:
            c = self.peek()
            if c in ("}", separator):
                self.position += 1
                return tuple(parts), c == "}"
            if match := _PLAIN_IN_BRACES.match(self.text, self.position):
                self.position = match.end()
                parts.append(LiteralText(match[0], quoted=False))
            elif c == "\\":
                parts.extend(self._read_escaped())
            elif c == "'" and not quoted:
                parts.append(self._read_single())
            elif c == '"':
                self.position += 1
                parts.extend(self.read_quoted('"'))
            elif c in "$`":
                parts.append(self._read_dollar(quoted=quoted))
            else:
                self.position += 1
                parts.append(LiteralText(c, quoted=False))
        raise UnfinishedError("syntax error: unmatched '{'")

    def _bad_substitution(self, start: int) -> ShellSyntaxError:
        end = self.text.find("}", start) + 1
        if not end:
            return UnfinishedError("syntax error: unmatched '{'")
        return ShellSyntaxError(f"{self.text[start:end]}: bad substitution")


def _expand_tilde(word: Word) -> Word:
    """Expand ``~`` and ``~/...`` to the home folder."""
    first = word[0] if word else None
    if not isinstance(first, LiteralText) or first.quoted or first.text[:1] != "~":
        return word
    if first.text == "~" and len(word) == 1:
        return (Variable("HOME", quoted=True),)
    if first.text.startswith("~/"):
        return (Variable("HOME", quoted=True), LiteralText(first.text[1:], quoted=False), *word[1:])
    return word
