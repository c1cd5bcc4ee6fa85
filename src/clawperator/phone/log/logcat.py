"""The shell commands ``logcat``, which prints and follows the phone's log, and ``log``, which writes to it.

Options for files, binary output and the log before the last boot are rejected by name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from clawperator.errors import RefusedError
from clawperator.phone.core.kernel import SHELL_PID
from clawperator.phone.log.buffer import MAX_PAYLOAD, LogBuffer, LogRecord, Priority
from clawperator.phone.log.logcat_options import BUFFERS, LogcatOptions, read_options, render
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command, encode
from clawperator.phone.shell.toybox.options import CommandOptions, read_lines

_BLOCK = 32 * 1024
# How often a follower without new records checks whether it is cancelled.
_POLL_SECONDS = 0.2
_PRIORITIES: Mapping[str, Priority] = {"v": "V", "d": "D", "i": "I", "w": "W", "e": "E", "f": "F"}
_SHELL_UID = 2000

_HELP = """\
Usage: logcat [OPTION]... [TAG[:PRIORITY]]...

  -d                   print the current log and exit
  -t N|TIME            like -d, with the last N records or those since TIME
  -T N|TIME            the same, and keep following
  -c                   clear the log and exit
  -b BUFFER,...        main system crash radio events kernel security stats default all
  -v WORD,...          brief process tag thread raw time threadtime long
                       color descriptive epoch monotonic nsec printable uid usec UTC year zone
  -s                   print only what a filter selects
  -e PATTERN           only records whose message matches
  -m N                 exit after N records
  --print              with -e and -m: print the others too
  --pid=N, --uid=N,... only records of these
  -D                   print a divider where the buffer changes
  -g, -G SIZE          show or set the size of the buffers

PRIORITY is one of V D I W E F S. TIME is MM-DD hh:mm:ss.mmm, optionally with YYYY- before it, or seconds.mmm.
"""


@command("logcat")
def logcat(process: ShellProcess) -> int:
    log = process.phone.log
    try:
        options = read_options(process.argv[1:], process.env, log.boot_ms, process.phone.clock.now_ms())
    except RefusedError as e:
        return process.error(str(e))
    if options.help:
        process.write(_HELP)
        return 0
    for warning in options.warnings:
        process.stderr.write(encode(f"WARNING: {warning}\n"))
    if options.clear or options.size or options.sizes:
        return _control(process, log, options)
    printer = _Printer(process, options)
    records = log.read()
    after = records[-1].number if records else 0
    done = printer.print(_current(records, options))
    while options.follow and not done:
        if process.cancelled.is_set():
            return INTERRUPTED
        records = log.wait(after, _POLL_SECONDS, process.cancelled.is_set)
        if records:
            after = records[-1].number
            done = printer.print([e for e in records if options.selects(e)])
    return 0


@command("log")
def log(process: ShellProcess) -> int:
    """``log [-p PRIORITY] [-t TAG] MESSAGE...``. Without a message, each line of stdin is one."""
    arguments = CommandOptions(process, "", "pt")
    name = arguments.value("p") or "i"
    priority = _PRIORITIES.get(name.lower())
    if priority is None:
        return process.error(f"bad -p '{name}'")
    messages: Iterable[bytes] = [encode(" ".join(arguments.operands))]
    if not arguments.operands:
        messages = (line.removesuffix(b"\n") for line in read_lines(process, process.stdin))
    buffer = process.phone.log
    tag = encode(arguments.value("t") or "log").decode("utf-8", "replace")
    for message in messages:
        buffer.write(priority, tag, message.decode("utf-8", "replace"), SHELL_PID, uid=_SHELL_UID)
    return 0


def _control(process: ShellProcess, log: LogBuffer, options: LogcatOptions) -> int:
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


def _current(records: Sequence[LogRecord], options: LogcatOptions) -> Sequence[LogRecord]:
    """The records of the current log to print."""
    since = options.since_ms
    records = [e for e in records if options.selects(e) and (since is None or e.time_ms >= since)]
    return records[-options.tail :] if options.tail else records


class _Printer:
    """Prints records, and tracks the current buffer and the number of records printed."""

    def __init__(self, process: ShellProcess, options: LogcatOptions) -> None:
        self._stdout = process.stdout
        self._options = options
        self._begun: set[str] = set()
        self._buffer = ""
        self._count = 0

    def print(self, records: Sequence[LogRecord]) -> bool:
        """Print records. True when the maximum count is reached."""
        block: list[str] = []
        size = 0
        for piece in self._pieces(records):
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

    def _pieces(self, records: Sequence[LogRecord]) -> Iterator[str]:
        options = self._options
        for record in records:
            if self._is_done():
                return
            if record.buffer != self._buffer:
                self._buffer = record.buffer
                if record.buffer not in self._begun:
                    yield f"--------- beginning of {record.buffer}\n"
                elif options.dividers:
                    yield f"--------- switch to {record.buffer}\n"
                self._begun.add(record.buffer)
            if not options.passes_filters(record):
                continue
            found = options.pattern is None or options.pattern.search(record.message) is not None
            self._count += found
            if found or options.print_all:
                yield render(record, options.format)
