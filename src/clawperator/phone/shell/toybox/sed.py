"""``sed``: substitute, and print or delete lines by number or pattern."""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator._base.patterns import Regex, RegexMatch, Syntax, compile_regex
from clawperator.phone.shell.process import ShellProcess, command, decode, encode
from clawperator.phone.shell.toybox.options import CommandOptions, InputFiles, OptionError, read_lines

_ADDRESS = re.compile(r"\s*(?:(\d+)|(\$)|/((?:[^/\\\n]|\\.)*)/)")
_MAX_COMMANDS = 1_000
_MAX_LINE = 16 * 1024 * 1024


class LineAddress(Struct, frozen=True):
    """A line: a number, the last one (0), or every one that matches."""

    number: int | None
    pattern: Regex | None = None

    def matches(self, number: int, line: str, *, last: bool) -> bool:
        if self.pattern is not None:
            return bool(self.pattern.search(line))
        return last if self.number == 0 else number == self.number


class SedCommand(Struct):
    """One command of a script. ``inside`` is True within its range of lines."""

    name: str
    start: LineAddress | None = None
    end: LineAddress | None = None
    pattern: Regex | None = None
    replacement: str = ""
    flags: str = ""
    inside: bool = False

    def applies(self, number: int, line: str, *, last: bool) -> bool:
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


def read_script(text: str, syntax: Syntax) -> list[SedCommand]:
    """Parse a sed script. ``OptionError`` or ``RegexError`` when it is invalid or not supported."""
    steps: list[SedCommand] = []
    at = 0
    while at < len(text):
        if text[at] in "; \t\n":
            at += 1
            continue
        step = SedCommand("")
        at, step.start = _read_address(text, at, syntax)
        if step.start and text[at : at + 1] == ",":
            at, step.end = _read_address(text, at + 1, syntax)
        while text[at : at + 1] == " ":
            at += 1
        step.name = text[at : at + 1]
        at += 1
        if step.name == "s":
            at = _read_substitution(step, text, at, syntax)
        elif step.name not in {"p", "d", "q"}:
            raise OptionError(f"bad pattern '{text}'@{at} ({step.name})")
        steps.append(step)
        if len(steps) > _MAX_COMMANDS:
            raise OptionError("script too long")
    return steps


def _read_address(text: str, at: int, syntax: Syntax) -> tuple[int, LineAddress | None]:
    match = _ADDRESS.match(text, at)
    if match is None:
        return at, None
    if match[3] is not None:
        return match.end(), LineAddress(None, compile_regex(match[3].replace(r"\/", "/"), syntax))
    return match.end(), LineAddress(int(match[1][:9]) if match[1] else 0)


def _read_substitution(step: SedCommand, text: str, at: int, syntax: Syntax) -> int:
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
    step.flags = match[3].lower()
    step.pattern = compile_regex(pattern, syntax, ignore_case="i" in step.flags)
    step.replacement = match[2].replace("\\" + mark, mark)
    return match.end()


def _substitute(step: SedCommand, line: str) -> tuple[str, bool]:
    """The line after a substitution, and whether there was one."""
    assert step.pattern is not None
    digits = re.search(r"\d+", step.flags)
    first = int(digits[0][:6]) if digits else 1
    pieces: list[str] = []
    at = size = 0
    done = False
    for count, found in enumerate(step.pattern.find_all(line), 1):
        if count < first:
            continue
        done = True
        pieces += line[at : found.start], _replaced(step, step.pattern, found)
        size += len(pieces[-1])
        if size > _MAX_LINE:
            raise OptionError("out of memory")
        at = found.end
        if "g" not in step.flags:
            break
    return "".join(pieces) + line[at:], done


def _replaced(step: SedCommand, pattern: Regex, found: RegexMatch) -> str:
    def insert(mark: re.Match[str]) -> str:
        c = mark[1]
        if c is None:
            return found[0]
        if c.isdigit():
            if int(c) > pattern.groups:
                raise OptionError(f"no s//\\{c}/")
            return found[int(c)]
        return {"n": "\n", "t": "\t"}.get(c, c)

    return re.sub(r"\\(.)|&", insert, step.replacement, flags=re.DOTALL)


def _edited(steps: list[SedCommand], source: Iterator[str], *, quiet: bool) -> Iterator[str]:
    line = next(source, None)
    number = 0
    while line is not None:
        following = next(source, None)
        number += 1
        text = line.removesuffix("\n")
        end = line[len(text) :]
        deleted = leave = False
        for step in steps:
            if not step.applies(number, text, last=following is None):
                continue
            if step.name == "s":
                text, changed = _substitute(step, text)
                if changed and "p" in step.flags:
                    yield text + "\n"
            elif step.name == "p":
                yield text + "\n"
            else:
                deleted, leave = step.name == "d", step.name == "q"
                break
        if not deleted and not quiet:
            yield text + end
        if leave:
            return
        line = following


@command("sed")
def sed(process: ShellProcess) -> int:
    options = CommandOptions(process, "nEri", "e")
    operands = options.operands
    script = options.value("e")
    if script is None:
        if not operands:
            return process.error("no pattern")
        script = operands.pop(0)
    syntax: Syntax = "extended" if "E" in options or "r" in options else "basic"
    quiet = "n" in options
    inputs = InputFiles(process, operands)
    storage = process.phone.storage

    def all_lines() -> Iterator[str]:
        for _, file in inputs:
            yield from (decode(line) for line in read_lines(process, file))

    if "i" not in options:
        for text in _edited(read_script(script, syntax), all_lines(), quiet=quiet):
            process.write(text)
        return inputs.status
    for name, file in inputs:
        with storage.replacing(process.path(name)) as target:
            source = (decode(line) for line in read_lines(process, file))
            for text in _edited(read_script(script, syntax), source, quiet=quiet):
                target.write(encode(text))
    return inputs.status
