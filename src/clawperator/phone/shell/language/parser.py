"""The parser of the shell language: from text to the syntax tree.

The grammar is the part of POSIX that scripts sent to phones use. A script is parsed line by line, so the lines
before a syntax error still run. Nesting is limited: no input can exhaust the stack.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from clawperator.phone.shell.language.script import (
    AndOrList,
    CaseCommand,
    CommandGroup,
    CommandList,
    CommandNode,
    CompoundCommand,
    ForLoop,
    FunctionDefinition,
    IfCommand,
    LiteralText,
    Pipeline,
    Redirection,
    SimpleCommand,
    WhileLoop,
    Word,
)
from clawperator.phone.shell.language.words import UnfinishedError, WordReader, unexpected

# Words that end a list, and those that start a compound command.
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
_OPENERS = frozenset(("if", "while", "until", "for", "case", "{"))
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_BARE_WORD = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_FUNCTION = re.compile(r"(?:function[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*\([ \t]*\)|function[ \t]+([A-Za-z_][\w.-]*)")
_REDIRECTION = re.compile(r"(\d?)(<<-|<<|>>|<>|>\||<&|>&|<|>)|(&>)")


class Parser(WordReader):
    """Parses one script. Iterating gives its lines, each parsed on demand."""

    def __init__(self, text: str, depth: int = 0, documents: dict[int, int] | None = None) -> None:
        super().__init__(text, depth)
        # Maps the end of a line to where the script continues after the line's here-documents.
        self._documents = {} if documents is None else documents

    def __iter__(self) -> Iterator[CommandList]:
        while True:
            self._skip_newlines()
            if self.at_end:
                return
            lines = self._read_list(to_newline=True)
            if self.peek() not in {"", "\n"}:
                raise unexpected(self._token())
            yield lines

    def read_substitution(self) -> CommandList:
        reader = Parser(self.text, self.depth + 1, self._documents)
        reader.position = self.position
        body = reader._read_list()
        if reader.peek() != ")":
            raise reader._syntax_error("$(")
        self.position = reader.position + 1  # what follows is part of the same word
        return body

    def inner(self, text: str) -> "Parser":
        return Parser(text, self.depth + 1)

    def read_whole(self) -> CommandList:
        return tuple(line for lines in self for line in lines)

    def _read_list(self, *, to_newline: bool = False) -> CommandList:
        lines: list[AndOrList] = []
        while True:
            self._skip_blanks()
            if not to_newline:
                self._skip_newlines()
            if self.at_end or self.peek() in ")\n" or self.peek(2) == ";;" or self._bare_word() in _CLOSERS:
                return tuple(lines)
            pipelines = self._read_joined()
            background = self.peek() == "&"
            lines.append(AndOrList(pipelines, background))
            if self.peek(2) == ";;":
                return tuple(lines)
            if background or self.peek() == ";":
                self.position += 1
            elif to_newline or self.peek() != "\n":
                return tuple(lines)

    def _read_joined(self) -> tuple[tuple[str, Pipeline], ...]:
        found = [("", self._read_pipeline())]
        while (operator := self.peek(2)) in {"&&", "||"}:
            self.position += 2
            self._skip_newlines()
            found.append((operator, self._read_pipeline()))
        return tuple(found)

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
        word = self._bare_word()
        function = _FUNCTION.match(self.text, self.position)
        if self.peek() == "(" or word in _OPENERS:
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
        reader = Parser(self.text, self.depth + 1, self._documents)
        reader.position = self.position
        opener = "(" if self.peek() == "(" else self._bare_word()
        reader.position += len(opener)
        if opener == "(":
            body = reader._read_list()
            reader._expect(")", "(")
            found: CompoundCommand = CommandGroup(body, subshell=True)
        elif opener == "{":
            body = reader._read_list()
            reader._expect("}", "{")
            found = CommandGroup(body, subshell=False)
        elif opener == "if":
            found = reader._read_if()
        elif opener in {"while", "until"}:
            condition = reader._read_list()
            found = WhileLoop(condition, reader._read_do(opener), opener == "until")
        elif opener == "for":
            found = reader._read_for()
        elif opener == "case":
            found = reader._read_case()
        else:
            raise self._syntax_error()
        self.position = reader.position
        return self._with_redirections(found)

    def _with_redirections(self, found: CompoundCommand) -> CompoundCommand:
        redirections = []
        self._skip_blanks()
        while redirection := self._read_redirection():
            redirections.append(redirection)
            self._skip_blanks()
        return replace(found, redirections=tuple(redirections)) if redirections else found

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
        match = _BARE_WORD.match(self.text, self.position)
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
            return UnfinishedError(
                f"syntax error: unmatched '{opener}'" if opener else "syntax error: unexpected 'EOF'"
            )
        return unexpected(self._token())
