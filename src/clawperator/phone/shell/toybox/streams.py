"""Commands that copy or print bytes: cat, echo, printf, head, tail, wc, tee, base64, yes and the checksums."""

import io
import re
from collections import deque
from contextlib import ExitStack

from clawperator.phone.shell.language.parser import unescape
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command, decode, encode
from clawperator.phone.shell.toybox.options import (
    CommandOptions,
    InputFiles,
    OptionError,
    read_blocks,
    read_lines,
    require_operands,
)

_MAX_WIDTH = 10_000
_MAX_KEPT = 16 * 1024 * 1024
_POLL_SECONDS = 0.1  # between two reads of a followed file
_DIRECTIVE = re.compile(r"%(?:%|([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?[hlLqjzt]*([diouxXeEfFgGcsb]))")


@command("cat")
def cat(process: ShellProcess) -> int:
    options = CommandOptions(process, "un")
    inputs = InputFiles(process, options.operands)
    number = 0
    for _, file in inputs:
        if "n" not in options:
            for block in read_blocks(process, file):
                process.stdout.write(block)
            continue
        for number, line in enumerate(read_lines(process, file), number + 1):  # noqa: B020 - counts on in the next file
            process.stdout.write(b"%6d\t%s" % (number, line))
    return inputs.status


@command("echo")
def echo(process: ShellProcess) -> int:
    words = process.argv[1:]
    newline, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags = words.pop(0)
        newline = "" if "n" in flags else newline
        escapes = flags.rfind("e") > flags.rfind("E") if "e" in flags or "E" in flags else escapes
    text = " ".join(words)
    if escapes:
        text, stop, _ = text.partition("\\c")
        text = unescape(text, zero_octal=True)
        newline = "" if stop else newline
    return process.write(text + newline)


@command("printf")
def printf(process: ShellProcess) -> int:
    require_operands(process, process.argv[1:])
    form, arguments = process.argv[1], deque(process.argv[2:])
    form = unescape(form)
    while not process.cancelled.is_set():
        before = len(arguments)
        process.write(_DIRECTIVE.sub(lambda match: _directive(match, arguments), form))
        # The format is reused while arguments are left and it consumes any.
        if not arguments or len(arguments) == before:
            return 0
    return 1


def _directive(match: re.Match[str], arguments: deque[str]) -> str:
    flags, width, precision, kind = match.groups()
    if kind is None:
        return "%"

    def size(text: str) -> int:
        number = int((arguments.popleft() if arguments else "0") if text == "*" else text[:6] or "0")
        return max(-_MAX_WIDTH, min(number, _MAX_WIDTH))

    form = "%" + flags
    form += str(size(width)) if width else ""
    form += f".{size(precision)}" if precision is not None else ""
    value = arguments.popleft() if arguments else ""
    if kind in "sbc":
        text = unescape(value, zero_octal=True) if kind == "b" else value[:1] if kind == "c" else value
        return (form + "s") % text
    if kind in "diouxX":
        return (form + ("d" if kind in "iu" else kind)) % _whole(value)
    try:
        return (form + kind) % float(value or 0)
    except ValueError:
        raise OptionError(f"bad number '{value}'") from None


def _whole(text: str) -> int:
    if text[:1] in {"'", '"'} and len(text) > 1:
        return ord(text[1])
    try:
        number = int(text or "0", 0 if text[:2].lower() == "0x" else 10)
    except ValueError:
        raise OptionError(f"bad number '{text[:40]}'") from None
    return (number + 2**63) % 2**64 - 2**63


@command("head")
def head(process: ShellProcess) -> int:
    _plain_count(process)
    options = CommandOptions(process, "qv", "nc")
    inputs = InputFiles(process, options.operands)
    for number, (name, file) in enumerate(inputs):
        if len(options.operands) > 1 and "q" not in options:
            process.write(f"{chr(10) * bool(number)}==> {name} <==\n")
        if "c" in options:
            _head_bytes(process, file, options.number("c", 0))
            continue
        left = options.number("n", 10)
        if left < 0:
            process.stdout.write(b"".join(list(read_lines(process, file))[:left]))
            continue
        for line in read_lines(process, file) if left else ():
            process.stdout.write(line)
            left -= 1
            if not left:
                break
    return inputs.status


def _plain_count(process: ShellProcess) -> None:
    """``-5`` is short for ``-n 5``."""
    if len(process.argv) > 1 and re.fullmatch(r"-\d+", process.argv[1]):
        process.argv[1:2] = ["-n", process.argv[1][1:]]


def _head_bytes(process: ShellProcess, source: InputStream, left: int) -> None:
    while left > 0 and (block := source.read(min(left, 1 << 16))):
        process.stdout.write(block)
        left -= len(block)


@command("tail")
def tail(process: ShellProcess) -> int:
    _plain_count(process)
    options = CommandOptions(process, "qfF", "nc")
    inputs = InputFiles(process, options.operands)
    ends: dict[str, int] = {}
    for name, file in inputs:
        _print_last(process, file, options)
        if hasattr(file, "tell"):  # a stream has ended: nothing is added to it
            ends[name] = file.tell()
    if ends and ("f" in options or "F" in options):
        return _follow(process, ends)
    return inputs.status


def _print_last(process: ShellProcess, source: InputStream, options: CommandOptions) -> None:
    unit = "c" if "c" in options else "n"
    from_start = (options.value(unit) or "").startswith("+")
    count = abs(options.number(unit, 10))
    if unit == "c":
        _print_last_bytes(process, source, count, from_start=from_start)
        return
    pieces = read_lines(process, source)
    if from_start:
        for number, line in enumerate(pieces, 1):
            if number >= count:
                process.stdout.write(line)
    else:
        kept: deque[bytes] = deque()
        size = 0
        for piece in pieces:
            kept.append(piece)
            size += len(piece)
            while len(kept) > count or size > _MAX_KEPT:  # a limit of memory
                size -= len(kept.popleft())
        process.stdout.write(b"".join(kept))


def _print_last_bytes(process: ShellProcess, source: InputStream, count: int, *, from_start: bool) -> None:
    """Print the last bytes, within a limit of memory, or all from the ``count``-th on."""
    if from_start:
        before = max(count - 1, 0)
        for block in read_blocks(process, source):
            process.stdout.write(block[before:])
            before = max(before - len(block), 0)
        return
    count = min(count, _MAX_KEPT)
    data = bytearray()
    for block in read_blocks(process, source):
        data += block
        del data[: -count or len(data)]
    process.stdout.write(bytes(data))


def _follow(process: ShellProcess, ends: dict[str, int]) -> int:
    """Print what is appended to files. A file that became shorter is printed from its beginning."""
    while not process.wait(_POLL_SECONDS):
        for name, end in ends.items():
            try:
                file = process.open(name)
            except OSError:
                continue  # it may come back
            with file:
                file.seek(end if end <= file.seek(0, io.SEEK_END) else 0)
                for block in read_blocks(process, file):
                    process.stdout.write(block)
                ends[name] = file.tell()
    return INTERRUPTED


@command("wc")
def wc(process: ShellProcess) -> int:
    options = CommandOptions(process, "lwcm")
    shown = [flag for flag in "lwmc" if flag in options] or ["l", "w", "c"]
    inputs = InputFiles(process, options.operands)
    total = dict.fromkeys("lwmc", 0)

    def show(counts: dict[str, int], name: str) -> None:
        numbers = [str(counts[flag]) if len(shown) == 1 else f"{counts[flag]:>7}" for flag in shown]
        process.write(" ".join(numbers) + (f" {name}" if name != "-" else "") + "\n")

    for name, file in inputs:
        counts = dict.fromkeys("lwmc", 0)
        for line in read_lines(process, file):
            counts["l"] += line.endswith(b"\n")
            counts["w"] += len(line.split())
            counts["m"] += len(decode(line))
            counts["c"] += len(line)
        total = {flag: total[flag] + counts[flag] for flag in total}
        show(counts, name)
    if len(options.operands) > 1:
        show(total, "total")
    return inputs.status


@command("tee")
def tee(process: ShellProcess) -> int:
    options = CommandOptions(process, "a")
    status = 0
    with ExitStack() as files:
        outputs: list[OutputStream] = [process.stdout]
        for name in options.operands:
            try:
                outputs.append(files.enter_context(process.open(name, "ab" if "a" in options else "wb")))
            except OSError as e:
                status = process.failed(name, e)
        for block in read_blocks(process, process.stdin):
            for output in outputs:
                output.write(block)
    return status


@command("base64")
def base64_(process: ShellProcess) -> int:
    import base64
    import binascii

    options = CommandOptions(process, "d", "w")
    inputs = InputFiles(process, options.operands)
    for _, file in inputs:
        data = bytearray()
        for block in read_blocks(process, file):
            data += block
            if len(data) > _MAX_KEPT:
                return process.error("out of memory")
        if "d" in options:
            try:
                process.stdout.write(base64.b64decode(b"".join(bytes(data).split())))
            except binascii.Error:
                return process.error("bad input")
            continue
        width = options.number("w", 76)
        text = base64.b64encode(bytes(data))
        step = width if width > 0 else len(text) or 1
        rows = [text[at : at + step] + b"\n" for at in range(0, len(text), step)]
        process.stdout.write(b"".join(rows) if width else text)
    return inputs.status


@command("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha512sum")
def checksum(process: ShellProcess) -> int:
    import hashlib

    options = CommandOptions(process, "b")
    inputs = InputFiles(process, options.operands)
    for name, file in inputs:
        digest = hashlib.new(process.name.removesuffix("sum"), usedforsecurity=False)
        for block in read_blocks(process, file):
            digest.update(block)
        process.write(digest.hexdigest() + ("" if "b" in options else f"  {name}") + "\n")
    return inputs.status


@command("yes")
def yes(process: ShellProcess) -> int:
    line = encode(" ".join(process.argv[1:]) or "y") + b"\n"
    while not process.cancelled.is_set():
        process.stdout.write(line)
    return 0
