"""``logcat``: print the phone's log, from the past, from now on, or both. ``log`` writes to it.

``logcat`` takes what clients send. Writing to files, binary output and the log of the time before the last
boot are refused by name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from clawperator.errors import RefusedError
from clawperator.phone.core.process_list import SHELL_PID
from clawperator.phone.log.buffer import MAX_PAYLOAD, Entry, LogBuffer, Priority
from clawperator.phone.log.formats import render
from clawperator.phone.log.query import BUFFERS, Options, read_options
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command, encode
from clawperator.phone.shell.toybox.options import Options as Arguments
from clawperator.phone.shell.toybox.options import lines

_BLOCK = 32 * 1024
# How long a silent log is listened to before asking whether anyone still wants to hear it.
_LISTEN_SECONDS = 0.2
_PRIORITIES: Mapping[str, Priority] = {"v": "V", "d": "D", "i": "I", "w": "W", "e": "E", "f": "F"}
_SHELL_UID = 2000

_HELP = """\
Usage: logcat [OPTION]... [TAG[:PRIORITY]]...

  -d                   print what is there and exit
  -t N|TIME            like -d, with the last N records or those since TIME
  -T N|TIME            the same, and go on
  -c                   clear the log and exit
  -b BUFFER,...        main system crash radio events kernel security stats default all
  -v WORD,...          brief process tag thread raw time threadtime long
                       color descriptive epoch monotonic nsec printable uid usec UTC year zone
  -s                   print nothing but what a filter asks for
  -e PATTERN           only records whose message has the pattern
  -m N                 exit after N records
  --print              with -e and -m: print the others too
  --pid=N, --uid=N,... only records of these
  -D                   say where the buffer changes
  -g, -G SIZE          show or set the size of the buffers

PRIORITY is one of V D I W E F S. TIME is MM-DD hh:mm:ss.mmm, with YYYY- before it or not, or seconds.mmm.
"""


@command("logcat")
def logcat(process: ShellProcess) -> int:
    log = process.phone.log
    try:
        options = read_options(process.argv[1:], process.env, log.boot_ms, process.phone.clock.now_ms())
    except RefusedError as refusal:
        return process.error(str(refusal))
    if options.help:
        process.write(_HELP)
        return 0
    for warning in options.warnings:
        process.stderr.write(encode(f"WARNING: {warning}\n"))
    if options.clear or options.size or options.sizes:
        return _control(process, log, options)
    printer = _Printer(process, options)
    entries = log.read()
    after = entries[-1].number if entries else 0
    done = printer.print(_past(entries, options))
    while options.follow and not done:
        if process.cancelled.is_set():
            return INTERRUPTED
        entries = log.wait(after, _LISTEN_SECONDS, process.cancelled.is_set)
        if entries:
            after = entries[-1].number
            done = printer.print([e for e in entries if options.stored(e)])
    return 0


@command("log")
def log(process: ShellProcess) -> int:
    """``log [-p PRIORITY] [-t TAG] MESSAGE...``. Without a message every line of stdin is one."""
    arguments = Arguments(process, "", "pt")
    wish = arguments.value("p") or "i"
    priority = _PRIORITIES.get(wish.lower())
    if priority is None:
        return process.error(f"bad -p '{wish}'")
    messages: Iterable[bytes] = [encode(" ".join(arguments.operands))]
    if not arguments.operands:
        messages = (line.removesuffix(b"\n") for line in lines(process, process.stdin))
    buffer = process.phone.log
    tag = encode(arguments.value("t") or "log").decode("utf-8", "replace")
    for message in messages:
        buffer.write(priority, tag, message.decode("utf-8", "replace"), SHELL_PID, uid=_SHELL_UID)
    return 0


def _control(process: ShellProcess, log: LogBuffer, options: Options) -> int:
    names = [name for name in BUFFERS if name in options.buffers]
    if options.clear:
        log.clear(names)
    if options.size:
        try:
            log.resize(options.size)
        except ValueError:
            return process.error(f"failed to set the '{','.join(names)}' log size")
    if options.sizes:
        for name in names:
            used = _readable(log.used_bytes(name))
            process.write(
                f"{name}: ring buffer is {_readable(log.capacity_bytes)} ({used} consumed, {used} readable),"
                f" max entry is 5120 B, max payload is {MAX_PAYLOAD} B\n"
            )
    return 0


def _readable(size: int) -> str:
    for unit in ("B", "KiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} MiB"


def _past(entries: Sequence[Entry], options: Options) -> Sequence[Entry]:
    """What of the log so far is to be printed."""
    since = options.since_ms
    entries = [e for e in entries if options.stored(e) and (since is None or e.time_ms >= since)]
    return entries[-options.tail :] if options.tail else entries


class _Printer:
    """Prints records, remembering which buffer it was in and how many it has printed."""

    def __init__(self, process: ShellProcess, options: Options) -> None:
        self._stdout = process.stdout
        self._options = options
        self._begun: set[str] = set()
        self._buffer = ""
        self._count = 0

    def print(self, entries: Sequence[Entry]) -> bool:
        """True when as many were printed as were asked for."""
        block: list[str] = []
        size = 0
        for piece in self._pieces(entries):
            block.append(piece)
            size += len(piece)
            if size >= _BLOCK:
                self._stdout.write("".join(block).encode())
                block.clear()
                size = 0
        if block:
            self._stdout.write("".join(block).encode())
        return self._is_done()

    def _is_done(self) -> bool:
        return 0 < self._options.max_count <= self._count

    def _pieces(self, entries: Sequence[Entry]) -> Iterator[str]:
        options = self._options
        for entry in entries:
            if self._is_done():
                return
            if entry.buffer != self._buffer:
                self._buffer = entry.buffer
                if entry.buffer not in self._begun:
                    yield f"--------- beginning of {entry.buffer}\n"
                elif options.dividers:
                    yield f"--------- switch to {entry.buffer}\n"
                self._begun.add(entry.buffer)
            if not options.wants(entry):
                continue
            found = options.pattern is None or options.pattern.search(entry.message) is not None
            self._count += found
            if found or options.print_all:
                yield render(entry, options.format)
