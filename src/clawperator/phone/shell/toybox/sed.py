"""sed: substitutions, and printing and deleting lines by number or pattern."""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator.phone.shell.process import ShellProcess, command, decode, encode
from clawperator.phone.shell.regex.match import Regex, RegexMatch, compile_regex
from clawperator.phone.shell.toybox.options import Inputs, OptionError, Options, lines

_ADDRESS = re.compile(r"\s*(?:(\d+)|(\$)|/((?:[^/\\\n]|\\.)*)/)")
_MAX_COMMANDS = 1_000
_MAX_LINE = 16 * 1024 * 1024


class Address(Struct, frozen=True):
    """A line: a number, the last one (0), or each that matches."""

    number: int | None
    pattern: Regex | None = None

    def matches(self, number: int, line: str, *, last: bool) -> bool:
        if self.pattern is not None:
            return bool(self.pattern.search(line))
        return last if self.number == 0 else number == self.number


class Edit(Struct):
    """One command of a script. ``inside`` remembers that a range has begun."""

    name: str
    start: Address | None = None
    end: Address | None = None
    negated: bool = False
    pattern: Regex | None = None
    replacement: str = ""
    flags: str = ""
    inside: bool = False

    def applies(self, number: int, line: str, *, last: bool) -> bool:
        return self._selects(number, line, last=last) != self.negated

    def _selects(self, number: int, line: str, *, last: bool) -> bool:
        if self.start is None:
            return True
        if self.end is None:
            return self.start.matches(number, line, last=last)
        if self.inside:
            past = self.end.number is not None and 0 < self.end.number <= number
            self.inside = not (past or self.end.matches(number, line, last=last))
            return True
        if self.start.matches(number, line, last=last):
            self.inside = self.end.pattern is not None or not (self.end.number and self.end.number <= number)
            return True
        return False


def read_script(text: str, *, extended: bool) -> list[Edit]:
    """The commands of a sed script. ``OptionError`` for what is none."""
    edits: list[Edit] = []
    at = 0
    while at < len(text):
        if text[at] in "; \t\n":
            at += 1
            continue
        edit = Edit("")
        at, edit.start = _read_address(text, at, extended=extended)
        if edit.start and text[at : at + 1] == ",":
            at, edit.end = _read_address(text, at + 1, extended=extended)
        while text[at : at + 1] in {" ", "!"} and at < len(text):
            edit.negated = edit.negated or text[at] == "!"
            at += 1
        edit.name = text[at : at + 1]
        at += 1
        if edit.name == "s":
            at = _read_substitution(edit, text, at, extended=extended)
        elif edit.name not in {"p", "d", "q", "="}:
            raise OptionError(f"bad pattern '{text}'@{at} ({edit.name})")
        edits.append(edit)
        if len(edits) > _MAX_COMMANDS:
            raise OptionError("script too long")
    return edits


def _read_address(text: str, at: int, *, extended: bool) -> tuple[int, Address | None]:
    match = _ADDRESS.match(text, at)
    if match is None:
        return at, None
    if match[3] is not None:
        return match.end(), Address(None, compile_regex(match[3].replace(r"\/", "/"), extended=extended))
    return match.end(), Address(int(match[1][:9]) if match[1] else 0)


def _read_substitution(edit: Edit, text: str, at: int, *, extended: bool) -> int:
    mark = text[at : at + 1]
    if not mark or mark in "\\\n":
        raise OptionError(f"bad pattern '{text}'@{at}")
    quoted = re.escape(mark)
    match = re.compile(
        rf"((?:[^{quoted}\\]|\\.)*){quoted}((?:[^{quoted}\\]|\\.)*){quoted}([gpiI0-9]*)", re.DOTALL
    ).match(text, at + 1)
    if match is None:
        raise OptionError(f"bad pattern '{text}'@{at} (s)")
    pattern = match[1].replace("\\" + mark, mark) if mark not in "()|{}.*[]^$+?" else match[1]
    edit.flags = match[3].lower()
    edit.pattern = compile_regex(pattern, extended=extended, ignore_case="i" in edit.flags)
    edit.replacement = match[2].replace("\\" + mark, mark)
    return match.end()


def _substitute(edit: Edit, line: str) -> tuple[str, bool]:
    """The line after a substitution, and whether there was one."""
    assert edit.pattern is not None
    digits = re.search(r"\d+", edit.flags)
    first = int(digits[0][:6]) if digits else 1
    pieces: list[str] = []
    at = size = 0
    done = False
    for count, found in enumerate(edit.pattern.find_all(line), 1):
        if count < first:
            continue
        done = True
        pieces += line[at : found.start], _replaced(edit, edit.pattern, found)
        size += len(pieces[-1])
        if size > _MAX_LINE:
            raise OptionError("out of memory")
        at = found.end
        if "g" not in edit.flags:
            break
    return "".join(pieces) + line[at:], done


def _replaced(edit: Edit, pattern: Regex, found: RegexMatch) -> str:
    def insert(mark: re.Match[str]) -> str:
        c = mark[1]
        if c is None:
            return found[0]
        if c.isdigit():
            if int(c) > pattern.groups:
                raise OptionError(f"no s//\\{c}/")
            return found[int(c)]
        return {"n": "\n", "t": "\t"}.get(c, c)

    return re.sub(r"\\(.)|&", insert, edit.replacement, flags=re.DOTALL)


def _edited(edits: list[Edit], source: Iterator[str], *, quiet: bool) -> Iterator[str]:
    line = next(source, None)
    number = 0
    while line is not None:
        following = next(source, None)
        number += 1
        text = line.removesuffix("\n")
        end = line[len(text) :]
        deleted = leave = False
        for edit in edits:
            if not edit.applies(number, text, last=following is None):
                continue
            if edit.name == "s":
                text, changed = _substitute(edit, text)
                if changed and "p" in edit.flags:
                    yield text + "\n"
            elif edit.name == "=":
                yield f"{number}\n"
            elif edit.name == "p":
                yield text + "\n"
            else:
                deleted, leave = edit.name == "d", edit.name == "q"
                break
        if not deleted and not quiet:
            yield text + end
        if leave:
            return
        line = following


@command("sed")
def sed(process: ShellProcess) -> int:
    options = Options(process, "nEri", "e")
    operands = options.operands
    script = options.value("e")
    if script is None:
        if not operands:
            return process.error("no pattern")
        script = operands.pop(0)
    extended, quiet = "E" in options or "r" in options, "n" in options
    inputs = Inputs(process, operands)
    storage = process.phone.storage

    def all_lines() -> Iterator[str]:
        for _, file in inputs:
            yield from (decode(line) for line in lines(process, file))

    if "i" not in options:
        for text in _edited(read_script(script, extended=extended), all_lines(), quiet=quiet):
            process.write(text)
        return inputs.status
    for name, file in inputs:
        with storage.replacing(process.path(name)) as target:
            source = (decode(line) for line in lines(process, file))
            for text in _edited(read_script(script, extended=extended), source, quiet=quiet):
                target.write(encode(text))
    return inputs.status
