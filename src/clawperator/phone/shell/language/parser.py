"""The parser of the shell language: from text to the syntax tree.

The grammar is the part of POSIX that scripts sent to phones use. A script is parsed line by line, so the lines
before a syntax error still run. Nesting is limited: no input can exhaust the stack.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from clawperator.errors import ClawperatorException

# The syntax tree


class LiteralText(Struct, frozen=True):
    """Characters of a word. Quoted ones are never split, globbed or taken for a reserved word."""

    text: str
    quoted: bool


class Variable(Struct, frozen=True):
    """``$name``, or ``${name<operator>word}``. The operator ``length`` stands for ``${#name}``.

    ``${name/word/second}`` and ``${name:word:second}`` have two words; ``second`` is None when it is missing.
    """

    name: str
    quoted: bool
    operator: str = ""
    word: "Word" = ()
    second: "Word | None" = None


class CommandSubstitution(Struct, frozen=True):
    """``$(body)``."""

    body: "CommandList"
    quoted: bool


class ArithmeticExpansion(Struct, frozen=True):
    """``$((expression))``; variables in it with a ``$`` are expanded first."""

    expression: "Word"
    quoted: bool


Part: TypeAlias = "LiteralText | Variable | CommandSubstitution | ArithmeticExpansion"
Word: TypeAlias = "tuple[Part, ...]"


class Redirection(Struct, frozen=True):
    """``2>word``. A here-document has the operator ``<<`` and its text as the word."""

    fd: int
    operator: Literal["<", ">", ">>", "<>", ">|", "<&", ">&", "&>", "<<"]
    word: Word


class SimpleCommand(Struct, frozen=True):
    """Assignments, words and redirections; at least one of the three is not empty."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


class CompoundCommand(Struct, frozen=True, kw_only=True):
    """A group, branch or loop."""

    redirections: tuple[Redirection, ...] = ()


class CommandGroup(CompoundCommand, frozen=True):
    """``{ body; }``, or ``( body )`` in a subshell."""

    body: "CommandList"
    subshell: bool


class IfCommand(CompoundCommand, frozen=True):
    branches: "tuple[tuple[CommandList, CommandList], ...]"
    otherwise: "CommandList"


class WhileLoop(CompoundCommand, frozen=True):
    condition: "CommandList"
    body: "CommandList"
    until: bool


class ForLoop(CompoundCommand, frozen=True):
    """Over the words, or over the positional parameters when there is no ``in``."""

    name: str
    words: tuple[Word, ...] | None
    body: "CommandList"


class CaseCommand(CompoundCommand, frozen=True):
    word: Word
    branches: "tuple[tuple[tuple[Word, ...], CommandList], ...]"


class FunctionDefinition(Struct, frozen=True):
    name: str
    body: CompoundCommand


CommandNode: TypeAlias = "SimpleCommand | CompoundCommand | FunctionDefinition"


class Pipeline(Struct, frozen=True):
    stages: tuple[CommandNode, ...]
    negated: bool = False


class AndOrList(Struct, frozen=True):
    """Pipelines joined by ``&&`` and ``||``, each with the operator before it; the first has none."""

    pipelines: tuple[tuple[str, Pipeline], ...]
    background: bool = False


CommandList: TypeAlias = "tuple[AndOrList, ...]"


# Words: quotes, escapes, and expansions that start with ``$``

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
            value = int(byte, 16) if byte else int(octal, 8) & 0xFF
            return chr(value) if value < 0x80 else chr(0xDC00 + value)
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


# Words that end a list, and those that start a compound command.
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
_OPENERS = frozenset(("(", "if", "while", "until", "for", "case", "{"))
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_FUNCTION = re.compile(r"(?:function[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*\([ \t]*\)|function[ \t]+([A-Za-z_][\w.-]*)")
_REDIRECTION = re.compile(r"(\d?)(<<-|<<|>>|<>|>\||<&|>&|<|>)|(&>)")


class Parser:
    """Parses one script. Iterating gives its lines, each parsed on demand."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.position = 0
        self.depth = depth
        # Maps the end of a line to where the script continues after the line's here-documents.
        self._documents: dict[int, int] = {}

    @contextmanager
    def _nested(self) -> Iterator[None]:
        """Read one level deeper. ``ShellSyntaxError`` beyond ``MAX_NESTING``."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ShellSyntaxError("syntax error: nested too deeply")
        yield
        self.depth -= 1

    # Words

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def peek(self, length: int = 1) -> str:
        return self.text[self.position : self.position + length]

    def read_word(self) -> Word:
        """Read the word at this position; empty when there is none."""
        return _expand_tilde(tuple(self._read_parts(_PLAIN, " \t\n;&|<>()", quoted=False)))

    def _read_parts(self, plain: re.Pattern[str], stop: str, *, quoted: bool) -> Iterator[Part]:
        """Read to one of the characters of ``stop``, or to the end."""
        while (c := self.peek()) and c not in stop:
            if match := plain.match(self.text, self.position):
                self.position = match.end()
                yield LiteralText(match[0], quoted=False)
            elif c == "\\":
                yield from self._read_escaped()
            elif c == "'" and not quoted:
                yield LiteralText(self._read_enclosed("'"), quoted=True)
            elif c == '"':
                self.position += 1
                yield from self.read_quoted('"')
            elif c in "$`":
                yield self._read_dollar(quoted=quoted)
            else:
                self.position += 1
                yield LiteralText(c, quoted=False)

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

    def _read_enclosed(self, mark: str, *, escapes: bool = False) -> str:
        """Read to after the next ``mark``; return what is between the two. ``escapes`` may hide marks in it."""
        inside = rf"(?:[^{mark}\\]|\\.)*" if escapes else f"[^{mark}]*"
        match = re.compile(f"{mark}({inside}){mark}", re.DOTALL).match(self.text, self.position)
        if match is None:
            raise UnfinishedError("no closing quote")
        self.position = match.end()
        return match[1]

    def _read_dollar(self, *, quoted: bool) -> Part:
        if self.peek() == "`":
            escaped = r'\\([$`\\"])' if quoted else r"\\([$`\\])"
            script = re.sub(escaped, r"\1", self._read_enclosed("`", escapes=True))
            return CommandSubstitution(self.inner(script).read_whole(), quoted)
        self.position += 1
        if self.peek(2) == "((" and (end := self._find_arithmetic_end()):
            expression = self.inner(self.text[self.position + 2 : end]).read_quoted("")
            self.position = end + 2
            return ArithmeticExpansion(expression, quoted)
        if self.peek() == "(":
            self.position += 1
            with self._nested():
                body = self._read_list()
            if self.peek() != ")":
                raise self._syntax_error("$(")
            self.position += 1  # what follows is part of the same word
            return CommandSubstitution(body, quoted)
        if self.peek() == "{":
            self.position += 1
            with self._nested():
                return self._read_braces(quoted=quoted)
        if self.peek() == "'" and not quoted:
            return LiteralText(unescape(self._read_enclosed("'", escapes=True)), quoted=True)
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
        parts = tuple(self._read_parts(_PLAIN_IN_BRACES, "}" + separator, quoted=quoted))
        if self.at_end:
            raise UnfinishedError("syntax error: unmatched '{'")
        self.position += 1
        return parts, self.text[self.position - 1] == "}"

    def _bad_substitution(self, start: int) -> ShellSyntaxError:
        end = self.text.find("}", start) + 1
        if not end:
            return UnfinishedError("syntax error: unmatched '{'")
        return ShellSyntaxError(f"{self.text[start:end]}: bad substitution")

    # Commands

    def __iter__(self) -> Iterator[CommandList]:
        while True:
            self._skip_newlines()
            if self.at_end:
                return
            lines = self._read_list(to_newline=True)
            if self.peek() not in {"", "\n"}:
                raise unexpected(self._token())
            yield lines

    def inner(self, text: str) -> "Parser":
        """A parser of a nested text."""
        with self._nested():
            return Parser(text, self.depth)

    def read_whole(self) -> CommandList:
        """Parse everything to the end."""
        return tuple(line for lines in self for line in lines)

    def _read_list(self, *, to_newline: bool = False) -> CommandList:
        lines: list[AndOrList] = []
        while True:
            self._skip_blanks()
            if not to_newline:
                self._skip_newlines()
            if self.at_end or self.peek() in ")\n" or self.peek(2) == ";;" or self._bare_word() in _CLOSERS:
                return tuple(lines)
            pipelines = [("", self._read_pipeline())]
            while (operator := self.peek(2)) in {"&&", "||"}:
                self.position += 2
                self._skip_newlines()
                pipelines.append((operator, self._read_pipeline()))
            background = self.peek() == "&"
            lines.append(AndOrList(tuple(pipelines), background))
            if self.peek(2) == ";;":
                return tuple(lines)
            if background or self.peek() == ";":
                self.position += 1
            elif to_newline or self.peek() != "\n":
                return tuple(lines)

    def _read_pipeline(self) -> Pipeline:
        negated = False
        while self._bare_word() == "!":
            self.position += 1
            self._skip_blanks()
            negated = not negated
        stages = [self._read_command()]
        while self.peek() == "|" and self.peek(2) != "||":
            self.position += 1
            self._skip_newlines()
            stages.append(self._read_command())
        return Pipeline(tuple(stages), negated)

    def _read_command(self) -> CommandNode:
        function = _FUNCTION.match(self.text, self.position)
        if self._opener() in _OPENERS:
            return self._read_compound()
        if function and (function[1] or function[2]) not in _OPENERS | _CLOSERS:
            self.position = function.end()
            self._skip_newlines()
            return FunctionDefinition(function[1] or function[2], self._read_compound())
        return self._read_simple()

    def _read_simple(self) -> SimpleCommand:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            self._skip_blanks()
            if redirection := self._read_redirection():
                redirections.append(redirection)
            elif not words and (match := _ASSIGNMENT.match(self.text, self.position)):
                self.position = match.end()
                assignments.append((match[1], self.read_word()))
            elif word := self.read_word():
                words.append(word)
            elif self.peek() == "(" or not (words or assignments or redirections):
                raise self._syntax_error()
            else:
                return SimpleCommand(tuple(assignments), tuple(words), tuple(redirections))

    def _read_compound(self) -> CompoundCommand:
        opener = self._opener()
        if opener not in _OPENERS:
            raise self._syntax_error()
        self.position += len(opener)
        with self._nested():
            found = self._read_compound_body(opener)
        redirections = []
        self._skip_blanks()
        while redirection := self._read_redirection():
            redirections.append(redirection)
            self._skip_blanks()
        return replace(found, redirections=tuple(redirections)) if redirections else found

    def _opener(self) -> str:
        return "(" if self.peek() == "(" else self._bare_word()

    def _read_compound_body(self, opener: str) -> CompoundCommand:
        match opener:
            case "if":
                return self._read_if()
            case "for":
                return self._read_for()
            case "case":
                return self._read_case()
            case "while" | "until":
                condition = self._read_list()
                return WhileLoop(condition, self._read_do(opener), opener == "until")
            case _:
                body = self._read_list()
                self._expect(")" if opener == "(" else "}", opener)
                return CommandGroup(body, subshell=opener == "(")

    def _read_if(self) -> IfCommand:
        branches = []
        otherwise: CommandList = ()
        word = "if"
        while word in {"if", "elif"}:
            condition = self._read_list()
            self._expect("then", "if")
            branches.append((condition, self._read_list()))
            word = self._bare_word()
            if word in {"elif", "else"}:
                self.position += len(word)
        if word == "else":
            otherwise = self._read_list()
        self._expect("fi", "if")
        return IfCommand(tuple(branches), otherwise)

    def _read_do(self, opener: str) -> CommandList:
        self._expect("do", opener)
        body = self._read_list()
        self._expect("done", opener)
        return body

    def _read_for(self) -> ForLoop:
        self._skip_blanks()
        name = _NAME.match(self.text, self.position)
        if name is None:
            raise self._syntax_error()
        self.position = name.end()
        self._skip_newlines()
        words: list[Word] | None = None
        if self._bare_word() == "in":
            self.position += 2
            words = []
            self._skip_blanks()
            while word := self.read_word():
                words.append(word)
                self._skip_blanks()
        if self.peek() == ";":
            self.position += 1
        self._skip_newlines()
        return ForLoop(name[0], None if words is None else tuple(words), self._read_do("for"))

    def _read_case(self) -> CaseCommand:
        self._skip_blanks()
        subject = self.read_word()
        self._skip_newlines()
        if not subject:
            raise self._syntax_error()
        self._expect("in", "case")
        branches = []
        self._skip_newlines()
        while self._bare_word() != "esac":
            if self.peek() == "(":
                self.position += 1
            patterns: list[Word] = []
            while not patterns or self.peek() == "|":
                self.position += bool(patterns)
                self._skip_blanks()
                pattern = self.read_word()
                if not pattern:
                    raise self._syntax_error("case")
                patterns.append(pattern)
                self._skip_blanks()
            self._expect(")", "case")
            branches.append((tuple(patterns), self._read_list()))
            if self.peek(2) == ";;":
                self.position += 2
            self._skip_newlines()
            if self.at_end:
                raise self._syntax_error("case")
        self.position += len("esac")
        return CaseCommand(subject, tuple(branches))

    def _read_redirection(self) -> Redirection | None:
        match = _REDIRECTION.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        operator = match[2] or match[3]
        self._skip_blanks()
        word = self.read_word()
        if not word:
            raise self._syntax_error()
        if operator in {"<<", "<<-"}:
            body = self._read_document(word, strip=operator == "<<-")
            return Redirection(int(match[1] or 0), "<<", body)
        default = 0 if operator[0] == "<" else 1
        return Redirection(int(match[1] or default), operator, word)  # type: ignore[arg-type] # the regex allows no other

    def _read_document(self, delimiter: Word, *, strip: bool) -> Word:
        """Read a here-document: the text after this line, up to the delimiter. The position stays in this line."""
        quoted = any(isinstance(part, LiteralText) and part.quoted for part in delimiter)
        end = "".join(part.text for part in delimiter if isinstance(part, LiteralText))
        newline = self.text.find("\n", self.position)
        if newline < 0:
            raise UnfinishedError(f"here document '{end}' unclosed")
        at = self._documents.get(newline, newline + 1)
        lines: list[str] = []
        while at < len(self.text):
            stop = self.text.find("\n", at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[at:stop]
            line = line.lstrip("\t") if strip else line
            at = stop + 1
            if line == end:
                self._documents[newline] = at
                text = "".join(f"{line}\n" for line in lines)
                return (LiteralText(text, quoted=True),) if quoted else self.inner(text).read_quoted("")
            lines.append(line)
        raise UnfinishedError(f"here document '{end}' unclosed")

    def _skip_blanks(self) -> None:
        match = _BLANKS.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def _skip_newlines(self) -> None:
        self._skip_blanks()
        while self.peek() == "\n":
            self.position = self._documents.get(self.position, self.position + 1)
            self._skip_blanks()

    def _bare_word(self) -> str:
        """The unquoted word at this position, as reserved words are; empty when there is none."""
        match = _PLAIN.match(self.text, self.position)
        if match is None or self.text[match.end() : match.end() + 1] in {"'", '"', "\\", "$", "`"}:
            return ""
        return match[0]

    def _expect(self, token: str, opener: str) -> None:
        self._skip_newlines()
        found = self.peek() if token == ")" else self._bare_word()
        if found != token:
            raise self._syntax_error(opener)
        self.position += len(token)
        self._skip_blanks()

    def _token(self) -> str:
        if self.peek() == "\n":
            return "newline"
        if self.peek(2) in {";;", "&&", "||", ">>", "<<"}:
            return self.peek(2)
        return self._bare_word() or self.peek()

    def _syntax_error(self, opener: str = "") -> Exception:
        if self.at_end:
            problem = f"unmatched '{opener}'" if opener else "unexpected 'EOF'"
            return UnfinishedError(f"syntax error: {problem}")
        return unexpected(self._token())


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
