"""Text filters: grep, sort, uniq, cut, tr, seq, xargs and sed."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from msgspec import Struct

from clawperator._base.patterns import Regex, RegexError, RegexMatch, Syntax, compile_literal, compile_regex
from clawperator.phone.shell.language.parser import unescape
from clawperator.phone.shell.language.patterns import CLASSES
from clawperator.phone.shell.process import ShellProcess, command, decode, encode
from clawperator.phone.shell.toybox.files import walk
from clawperator.phone.shell.toybox.options import (
    CommandOptions,
    InputFiles,
    OptionError,
    read_blocks,
    read_lines,
    require_operands,
)

_MAX_KEPT = 16 * 1024 * 1024
_MAX_CONTEXT = 10_000
_ASCII = "".join(map(chr, range(128)))


class _Grep:
    """One run of grep."""

    def __init__(self, process: ShellProcess) -> None:
        self.process = process
        if process.name in {"egrep", "fgrep"}:
            process.argv[1:1] = ["-" + process.name[0].upper()]
        self.options = options = CommandOptions(process, "EFivcqnolLrRwxsHha", "emABC", ("color", "line-buffered"))
        operands = options.operands
        text = options.value("e")
        if text is None:
            if not operands:
                raise OptionError('no REGEX (see "grep --help")')
            text = operands.pop(0)
        self.patterns = [self._compile(one) for one in text.split("\n")]
        self.names = operands
        around = options.number("C", 0)
        self.before = min(options.number("B", around), _MAX_CONTEXT)
        self.after = options.number("A", around)
        self.limit = options.number("m", -1)
        self.found = False

    def _compile(self, text: str) -> Regex:
        options = self.options
        around = "word" if "w" in options else "line" if "x" in options else ""
        if "F" in options:
            return compile_literal(text, ignore_case="i" in options, around=around)
        syntax: Syntax = "extended" if "E" in options else "basic"
        return compile_regex(text, syntax, ignore_case="i" in options, around=around)

    def run(self) -> int:
        recursive = "r" in self.options or "R" in self.options
        names = self.names or (["."] if recursive else [])
        if recursive:
            names = [e.name for name in names for e in walk(self.process, name) if not e.status.is_dir]
            if not names:
                return 1
        named = (len(names) > 1 or recursive or "H" in self.options) and "h" not in self.options
        inputs = InputFiles(self.process, names, quiet="s" in self.options)
        for name, file in inputs:
            self._read(name, file, f"{name}:" if named else "")
            if self.found and "q" in self.options:
                return 0
        return 2 if inputs.failed else int(not self.found)

    def _read(self, name: str, file: BinaryIO, prefix: str) -> None:
        options, write = self.options, self.process.write
        quiet = any(flag in options for flag in "qclL")
        kept: deque[tuple[int, str]] = deque(maxlen=self.before)
        count = trailing = 0
        for number, raw in enumerate(read_lines(self.process, file), 1):
            line = decode(raw).removesuffix("\n")
            if any(pattern.search(line) for pattern in self.patterns) != ("v" in options):
                self.found = True
                count += 1
                trailing = self.after
                if not quiet:
                    for old, text in kept:
                        write(self._shown(prefix, old, text, "-"))
                    kept.clear()
                    self._print_match(prefix, number, line)
                if count == self.limit or (quiet and "c" not in options):
                    break
            elif trailing and not quiet:
                trailing -= 1
                write(self._shown(prefix, number, line, "-"))
            else:
                kept.append((number, line))
        if "q" in options:
            return
        if "c" in options:
            write(f"{prefix}{count}\n")
        elif ("l" in options and count) or ("L" in options and not count):
            write(f"{name}\n")

    def _print_match(self, prefix: str, number: int, line: str) -> None:
        if "o" not in self.options:
            self.process.write(self._shown(prefix, number, line, ":"))
            return
        for pattern in self.patterns:
            for found in pattern.find_all(line):
                if found[0]:
                    self.process.write(self._shown(prefix, number, found[0], ":"))

    def _shown(self, prefix: str, number: int, line: str, mark: str) -> str:
        return prefix + (f"{number}{mark}" if "n" in self.options else "") + line + "\n"


@command("grep", "egrep", "fgrep")
def grep(process: ShellProcess) -> int:
    try:
        return _Grep(process).run()
    except (OptionError, RegexError) as e:
        return process.error(str(e), 2)


@command("sort")
def sort(process: ShellProcess) -> int:
    options = CommandOptions(process, "nrufgs", "kto")
    inputs = InputFiles(process, options.operands)
    found: list[str] = []
    size = 0
    for line in inputs.lines():
        size += len(line)
        if size > _MAX_KEPT:
            return process.error("out of memory")
        found.append(line)
    separator = options.value("t")
    column = re.match(r"\d+", options.value("k") or "")
    numeric = any(flag in options or flag in (options.value("k") or "") for flag in "ng")

    def key(line: str) -> tuple[float, str]:
        text = line
        if column:
            fields = line.split(separator)
            text = (separator or " ").join(fields[max(int(column[0][:6]) - 1, 0) :])
        if numeric:
            number = re.match(r"\s*-?(\d+\.?\d*|\.\d+)", text)
            return float(number[0] if number else 0), ""
        return 0.0, text.lower() if "f" in options else text

    found.sort(key=lambda line: (key(line), "" if "s" in options else line), reverse="r" in options)
    if "u" in options:
        found = [line for n, line in enumerate(found) if not n or key(line) != key(found[n - 1])]
    text = "".join(f"{line}\n" for line in found)
    if target := options.value("o"):
        process.phone.storage.write(process.path(target), encode(text))
    else:
        process.write(text)
    return inputs.status


@command("uniq")
def uniq(process: ShellProcess) -> int:
    options = CommandOptions(process, "cdui")
    inputs = InputFiles(process, options.operands[:1])

    def show(line: str, count: int) -> None:
        if count and not ("d" in options and count == 1) and not ("u" in options and count > 1):
            process.write((f"{count:>7} " if "c" in options else "") + line + "\n")

    last, count = "", 0
    for line in inputs.lines():
        same = line.lower() == last.lower() if "i" in options else line == last
        if count and same:
            count += 1
        else:
            show(last, count)
            last, count = line, 1
    show(last, count)
    return inputs.status


def _read_ranges(text: str) -> Callable[[int], bool]:
    """A test for the positions, from 1, of a list such as ``1,3-5,7-``."""
    ranges = []
    for part in text.replace("\n", ",").split(","):
        match = re.fullmatch(r"(\d{0,9})(-?)(\d{0,9})", part)
        if match is None or not (match[1] or match[3]):
            raise OptionError(f"bad list '{part}'")
        first = int(match[1] or 1)
        ranges.append((first, int(match[3] or 1 << 31) if match[2] else first))
    return lambda position: any(a <= position <= b for a, b in ranges)


@command("cut")
def cut(process: ShellProcess) -> int:
    options = CommandOptions(process, "s", "dfcbF")
    chosen = next((flag for flag in "fcbF" if flag in options), None)
    if chosen is None:
        return process.error("no -cCfF")
    wanted = _read_ranges(options.value(chosen) or "")
    separator = options.value("d") or "\t"
    inputs = InputFiles(process, options.operands)

    def split(line: str) -> tuple[str, Sequence[str]]:
        """What stands between two pieces that are written, and the pieces: fields, words (-F) or characters."""
        if chosen == "f":
            return separator, line.split(separator)
        return (" ", line.split()) if chosen == "F" else ("", line)

    for line in inputs.lines():
        if chosen == "f" and separator not in line:
            process.write("" if "s" in options else line + "\n")
            continue
        joint, pieces = split(line)
        process.write(joint.join(piece for n, piece in enumerate(pieces, 1) if wanted(n)) + "\n")
    return inputs.status


def _read_set(text: str) -> bytes:
    """The bytes of a set such as ``a-z[:digit:]\\n``, in order."""
    out = bytearray()
    text = re.sub(r"\[:(\w+):\]", lambda m: f"\0{m[1]}\0", text)
    parts = text.split("\0")
    for number, part in enumerate(parts):
        if number % 2:
            if part not in CLASSES:
                raise OptionError(f"bad class '[:{part}:]'")
            out += "".join(re.findall(f"[{CLASSES[part]}]", _ASCII)).encode()
            continue
        raw = encode(unescape(part))
        at = 0
        while at < len(raw):
            if raw[at + 1 : at + 2] == b"-" and at + 2 < len(raw):
                out += bytes(range(raw[at], raw[at + 2] + 1))
                at += 3
            else:
                out.append(raw[at])
                at += 1
    return bytes(out)


@command("tr")
def tr(process: ShellProcess) -> int:
    options = CommandOptions(process, "dscC")
    require_operands(process, options.operands)
    first = _read_set(options.operands[0])
    second = _read_set(options.operands[1]) if len(options.operands) > 1 else b""
    if "c" in options or "C" in options:
        first = bytes(byte for byte in range(256) if byte not in first)
    table = None
    if second and "d" not in options:
        table = bytes.maketrans(first, (second + second[-1:] * len(first))[: len(first)])
    squeezed = (second or first) if "s" in options else b""
    last = -1
    for block in read_blocks(process, process.stdin):
        out = block.translate(table, first if "d" in options else b"")
        if squeezed:
            kept = bytearray()
            for byte in out:
                if byte != last or byte not in squeezed:
                    kept.append(byte)
                last = byte
            out = bytes(kept)
        process.stdout.write(out)
    return 0


@command("seq")
def seq(process: ShellProcess) -> int:
    words = process.argv[1:]
    separator = "\n"
    if words[:1] == ["-s"] and len(words) > 1:
        separator, words = words[1], words[2:]
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        return process.error(f"not integer: {' '.join(words)}")
    if not 1 <= len(numbers) <= 3:
        return process.error('Needs 1 argument (see "seq --help")')
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) == 3 else 1
    if not step:
        return process.error("step is zero")
    for number in range(first, numbers[-1] + (1 if step > 0 else -1), step):
        if process.cancelled.is_set():
            return 1
        process.write(f"{separator if number != first else ''}{number}")
    return process.write("\n")


def _arguments(process: ShellProcess, separator: str | None) -> Iterator[str]:
    """The words of stdin: split at separators, or at blanks outside quotes."""
    text = bytearray()
    for block in read_blocks(process, process.stdin):
        text += block
        if len(text) > _MAX_KEPT:
            raise OptionError("out of memory")
    whole = decode(bytes(text))
    if separator is not None:
        yield from (part for part in whole.split(separator) if part)
        return
    for match in re.finditer(r"""(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+""", whole):
        yield re.sub(r"""\\(.)|'([^']*)'|"([^"]*)\"""", lambda m: m[1] or m[2] or m[3] or "", match[0])


@command("xargs")
def xargs(process: ShellProcess) -> int:
    options = CommandOptions(process, "0r", "nI", leading=True)
    words = options.operands or ["echo"]
    found = list(_arguments(process, "\0" if "0" in options else "\n" if "I" in options else None))
    step = max(options.number("n", 1_000), 1)
    if mark := options.value("I"):
        batches = [[word.replace(mark, one) for word in words] for one in found]
    else:
        batches = [[*words, *found[at : at + step]] for at in range(0, len(found), step)]
        batches = batches or ([] if "r" in options else [words])
    status = 0
    for batch in batches:
        if process.cancelled.is_set():
            return 1
        code = process.run(batch)
        if code == 127:
            return code
        status = 123 if code else status
    return status


# ``sed``: substitute, and print or delete lines by number or pattern

_ADDRESS = re.compile(r"\s*(?:(\d+)|(\$)|/((?:[^/\\\n]|\\.)*)/)")
_MAX_COMMANDS = 1_000
_MAX_LINE = 16 * 1024 * 1024


class LineAddress(Struct, frozen=True):
    """A line: a number, the last one (0), or every one that matches."""

    number: int
    pattern: Regex | None = None

    def matches(self, number: int, line: str, *, last: bool) -> bool:
        if self.pattern is not None:
            return bool(self.pattern.search(line))
        return number == self.number or (last and self.number == 0)


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
        found = self.inside or self.start.matches(number, line, last=last)
        if found and self.end is not None:
            past = 0 < self.end.number <= number
            # The line that begins a range may match its end only by number.
            ends = (self.inside or self.end.pattern is None) and self.end.matches(number, line, last=last)
            self.inside = not (past or ends)
        return found


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
        at = len(text) - len(text[at:].lstrip(" "))
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
    pattern = None if match[3] is None else compile_regex(match[3].replace(r"\/", "/"), syntax)
    return match.end(), LineAddress(-1 if pattern is not None else int((match[1] or "0")[:9]), pattern)


def _read_substitution(step: SedCommand, text: str, at: int, syntax: Syntax) -> int:
    mark = re.escape(text[at : at + 1])
    part = rf"((?:[^{mark}\\]|\\.)*){mark}"
    match = re.compile(rf"[^\\\n]{part}{part}([gpiI0-9]*)", re.DOTALL).match(text, at) if mark else None
    if match is None:
        raise OptionError(f"bad pattern '{text}'@{at} (s)")
    mark = text[at]
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
    for count, found in enumerate(step.pattern.find_all(line), 1):
        if count < first:
            continue
        pieces += line[at : found.start], _replaced(step, step.pattern, found)
        size += len(pieces[-1])
        if size > _MAX_LINE:
            raise OptionError("out of memory")
        at = found.end
        if "g" not in step.flags:
            break
    return "".join(pieces) + line[at:], bool(pieces)


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
        left = ""
        for step in steps:
            if not step.applies(number, text, last=following is None):
                continue
            changed = step.name == "p"
            if step.name == "s":
                text, changed = _substitute(step, text)
                changed = changed and "p" in step.flags
            if changed:
                yield text + "\n"
            if step.name in {"d", "q"}:
                left = step.name
                break
        if left != "d" and not quiet:
            yield text + end
        if left == "q":
            return
        line = following


@command("sed")
def sed(process: ShellProcess) -> int:
    options = CommandOptions(process, "nEri", "e")
    operands = options.operands
    if "e" not in options and not operands:
        return process.error("no pattern")
    script = options.value("e") or operands.pop(0)
    syntax: Syntax = "extended" if options.any_of("E", "r") else "basic"
    inputs = InputFiles(process, operands)

    def edited(lines: Iterator[bytes]) -> Iterator[str]:
        return _edited(read_script(script, syntax), map(decode, lines), quiet="n" in options)

    if "i" not in options:
        for text in edited(line for _, file in inputs for line in read_lines(process, file)):
            process.write(text)
        return inputs.status
    for name, file in inputs:
        with process.phone.storage.replacing(process.path(name)) as target:
            for text in edited(read_lines(process, file)):
                target.write(encode(text))
    return inputs.status
