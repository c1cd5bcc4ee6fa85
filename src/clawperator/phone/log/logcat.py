"""The shell commands ``logcat``, which prints and follows the phone's log, and ``log``, which writes to it.

Options for files, binary output and the log before the last boot are rejected by name.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from getopt import GetoptError, gnu_getopt

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.patterns import Regex, RegexError, compile_regex
from clawperator.errors import RefusedError
from clawperator.phone.core.kernel import SHELL_PID
from clawperator.phone.log.buffer import MAX_PAYLOAD, LogBuffer, LogRecord, Priority
from clawperator.phone.shell.pipes import OutputStream
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command, encode
from clawperator.phone.shell.toybox.options import CommandOptions, read_lines

# Options and formats

BUFFERS = ("main", "radio", "events", "system", "crash", "stats", "security", "kernel")
_DEFAULT_BUFFERS = ("main", "system", "crash", "kernel")
_LEVELS = "VDIWEFS"
_SILENT = _LEVELS.index("S")
_SEPARATORS = re.compile(r"[,:; \t\n\r\f]+")

# The options by letter; a colon means that a value follows.
_SHORT = "cdDhgst:T:G:v:b:m:e:"
_LONG = {
    "buffer": "b",
    "buffer-size": "G",
    "clear": "c",
    "dividers": "D",
    "format": "v",
    "help": "h",
    "max-count": "m",
    "pid": "pid",
    "print": "print",
    "regex": "e",
    "tail": "t",
    "uid": "uid",
}
# The options without a value: the field each sets, and its value.
_FLAGS: Mapping[str, tuple[str, int]] = {
    "c": ("clear", True),
    "d": ("follow", False),
    "D": ("dividers", True),
    "h": ("help", True),
    "g": ("sizes", True),
    "s": ("level", _SILENT),
    "print": ("print_all", True),
}
_REFUSED = (
    *"BLPQSfnpr",
    *("binary", "file", "id", "last", "proto", "prune", "rotate-count", "rotate-kbytes", "statistics", "wrap"),
)

_DATED = re.compile(r"(?:(\d{4})-)?(\d\d?)-(\d\d?)[ T](\d\d?):(\d\d?):(\d\d?)(?:\.(\d+))?", re.ASCII)
_EPOCH = re.compile(r"(\d{1,12})\.(\d*)", re.ASCII)
_SIZE = re.compile(r"(\d{1,12})([kmg]?)b?", re.ASCII | re.IGNORECASE)
_DAY_MS = 24 * 60 * 60 * 1000

# What is before each line, by format; ``user`` and ``uid`` are empty without the modifier ``uid``.
_HEADS = {
    "brief": "{priority}/{tag:<8}({uid}{pid:5d}): ",
    "process": "{priority}({uid}{pid:5d}) ",
    "tag": "{priority}/{tag:<8}: ",
    "thread": "{priority}({uid}{pid:5d}:{tid:5d}) ",
    "raw": "",
    "time": "{time} {priority}/{tag:<8}({uid}{pid:5d}): ",
    "threadtime": "{time} {user}{pid:5d} {tid:5d} {priority} {tag:<8}: ",
    "long": "[ {time} {uid}{pid:5d}:{tid:5d} {priority}/{tag:<8} ]",
}
# On Android ``descriptive`` affects binary events only.
MODIFIERS = ("color", "descriptive", "epoch", "monotonic", "nsec", "printable", "uid", "usec", "year", "zone")

_COLOURS = {"V": 231, "D": 75, "I": 40, "W": 166, "E": 196, "F": 196}
_DIGITS = {"nsec": "000000", "usec": "000"}
# Users with names of at most five letters; others are shown by number.
_USERS = {0: "root", 2000: "shell"}
_ESCAPES = {c: f"\\{c:03o}" for c in (*range(32), 127) if c != ord("\n")} | {
    ord(c): "\\" + name for c, name in zip("\a\b\t\v\f\r\\", "abtvfr\\", strict=True)
}


class LogFormat(Struct, frozen=True):
    """A layout and its modifiers. ``boot_ms`` is the origin of monotonic time."""

    layout: str = "threadtime"
    modifiers: frozenset[str] = frozenset()
    boot_ms: int = 0


class LogcatOptions(Struct):
    """A parsed command line. ``levels`` are the minimum priorities by tag, ``level`` applies to all other tags."""

    format: LogFormat
    buffers: set[str]
    levels: dict[str, int]
    uids: set[int]
    warnings: list[str]
    level: int = 0
    follow: bool = True
    help: bool = False
    clear: bool = False
    sizes: bool = False
    size: int = 0
    tail: int = 0
    since_ms: int | None = None
    pid: int = 0
    pattern: Regex | None = None
    max_count: int = 0
    print_all: bool = False
    dividers: bool = False
    tail_only: bool = False

    def selects(self, record: LogRecord) -> bool:
        """Whether buffer, pid and uid of the record are selected."""
        return (
            record.buffer in self.buffers
            and (not self.pid or record.pid == self.pid)
            and (not self.uids or record.uid in self.uids)
        )

    def passes_filters(self, record: LogRecord) -> bool:
        """Whether the record passes the tag filters."""
        return _LEVELS.index(record.priority) >= self.levels.get(record.tag, self.level)


def read_options(arguments: Sequence[str], env: Mapping[str, str], boot_ms: int, now_ms: int) -> LogcatOptions:
    """Parse the arguments; ``RefusedError`` when they are invalid. Options may follow filters."""
    options = LogcatOptions(LogFormat(boot_ms=boot_ms), set(), {}, set(), [])
    # The size is optional; without it the option has no value.
    words = ["-g" if word == "--buffer-size" else word for word in arguments]
    try:
        given, filters = gnu_getopt(words, _SHORT, [name + "=" * (o not in _FLAGS) for name, o in _LONG.items()])
    except GetoptError as e:
        raise _bad_option(e, arguments) from None
    for name, value in given:
        _apply(options, _LONG.get(name[2:], name[1:]), value, now_ms)
    for text in filters or [env.get("ANDROID_LOG_TAGS", "")]:
        _add_filters(options, text)
    options.buffers = options.buffers or set(_DEFAULT_BUFFERS)
    if options.max_count and options.tail_only:
        raise RefusedError("Cannot use -m (--max-count) and -t together.")
    if options.print_all and not (options.pattern and options.max_count):
        options.warnings.append("--print is ignored without --regex and --max-count")
        options.print_all = False
    return options


def _bad_option(error: GetoptError, arguments: Sequence[str]) -> RefusedError:
    name = f"-{error.opt}" if len(error.opt) == 1 else f"--{error.opt}"
    if error.opt in _REFUSED:
        return RefusedError(f"{name} is not available on this phone.")
    if "requires" in error.msg:
        return RefusedError(f"Option '{name}' needs an argument.")
    given = next((word for word in arguments if word.startswith(f"{name}=")), name)
    return RefusedError(f"Unknown option '{given}'.")


def _apply(options: LogcatOptions, letter: str, value: str, now_ms: int) -> None:  # noqa: C901 - one case per option
    match letter:
        case letter if letter in _FLAGS:
            setattr(options, *_FLAGS[letter])
        case "t" | "T":
            options.follow = options.follow and letter == "T"
            options.tail_only = options.tail_only or letter == "t"
            _set_start(options, letter, value, now_ms)
        case "v":
            _set_format(options, value)
        case "b":
            _add_buffers(options, value)
        case "G":
            options.size = _read_size(value)
        case "m":
            options.max_count = _number(value)
            if not options.max_count:
                raise RefusedError(f"-m '{value}' isn't an integer greater than zero.")
        case "pid":
            options.pid = _number(value)
            if not options.pid:
                raise RefusedError(f"pid '{value}' out of range.")
        case "uid":
            options.uids.update(_number(word) for word in _words(value))
        case "e":
            try:
                options.pattern = compile_regex(value, "ecma")
            except RegexError as e:
                raise RefusedError(f"-e '{value}': {e}") from None


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text) if word]


def _number(text: str) -> int:
    """A count; 0 for anything else, or for an absurdly large number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _read_size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    size = int(found[1]) << (10 * "kmg".find(found[2].lower()) + 10 if found[2] else 0) if found else 0
    if not size:
        raise RefusedError("-G must be specified as <num><multiplier>.")
    return size


def _set_format(options: LogcatOptions, text: str) -> None:
    for word in _words(text):
        modifier = {"colour": "color", "UTC": "zone"}.get(word, word)
        if word in _HEADS:
            options.format = replace(options.format, layout=word)
        elif modifier in MODIFIERS:
            options.format = replace(options.format, modifiers=options.format.modifiers | {modifier})
        else:
            raise RefusedError(f"Invalid -v '{word}'.")


def _add_buffers(options: LogcatOptions, text: str) -> None:
    for name in _words(text):
        if name not in (*BUFFERS, "default", "all"):
            raise RefusedError(f"Unknown -b buffer '{name}'.")
        options.buffers.update({"default": ("main", "system", "crash"), "all": BUFFERS}.get(name, (name,)))


def _add_filters(options: LogcatOptions, text: str) -> None:
    for spec in re.split(r"[ \t,]+", text):
        if not spec:
            continue
        tag, has_level, letter = spec.partition(":")
        letter = letter[:1].upper()
        if not tag or (has_level and (not letter or letter not in _LEVELS + "*")):
            raise RefusedError(f"Invalid filter expression '{text}'.")
        named = letter in _LEVELS if letter else False
        if tag == "*":
            options.level = _LEVELS.index(letter if named else "D")
        else:
            options.levels[tag] = _LEVELS.index(letter if named else "V")


def _set_start(options: LogcatOptions, letter: str, value: str, now_ms: int) -> None:
    if value.isascii() and value.isdecimal():
        options.tail = _number(value)
        if not options.tail:
            options.warnings.append(f"-{letter} {value} invalid, setting to 1")
            options.tail = 1
        return
    since = read_time(value, now_ms)
    if since is None:
        raise RefusedError(f"-{letter} '{value}' not in time format.")
    options.since_ms, rest = since
    if rest:
        options.warnings.append(f"-{letter} '{value}': ignored '{rest}' after the time")


def read_time(text: str, now_ms: int) -> tuple[int, str] | None:
    """The time in epoch milliseconds, and the rest of the text. None when the text is not a time.

    A date without a year is the latest one that is not in the future.
    """
    if found := _EPOCH.match(text):
        return int(found[1]) * 1000 + int(found[2][:3].ljust(3, "0")), text[found.end() :]
    found = _DATED.match(text)
    if found is None:
        return None
    year = int(found[1] or 0)
    month, day, hour, minute, second = (int(part) for part in found.groups()[1:6])
    fraction = int((found[7] or "")[:3].ljust(3, "0"))
    this_year = datetime.fromtimestamp(now_ms / 1000, UTC).year
    for candidate in (year,) if year else (this_year, this_year - 1):
        try:
            moment = int(datetime(candidate, month, day, hour, minute, second, tzinfo=UTC).timestamp()) * 1000
        except ValueError:  # an invalid day or hour
            continue
        if year or moment <= now_ms + _DAY_MS:
            return moment + fraction, text[found.end() :]
    return None


def render(record: LogRecord, log_format: LogFormat) -> str:
    """The printed lines of a record, each with the record's head."""
    message = record.message.translate(_ESCAPES) if "printable" in log_format.modifiers else record.message
    head, tail = _head(record, log_format), "\n"
    if log_format.layout == "process":
        tail = f"  ({record.tag})\n"
    if "color" in log_format.modifiers:
        head = f"\x1b[38;5;{_COLOURS[record.priority]}m{head}"
        tail = "\x1b[0m" + tail
    if log_format.layout == "long":
        return f"{head}\n{message}{tail}\n"
    lines = message.removesuffix("\n").split("\n")
    return "".join([f"{head}{line}{tail}" for line in lines])


def _head(record: LogRecord, log_format: LogFormat) -> str:
    uid = f"{_USERS.get(record.uid, record.uid):>5}:" if "uid" in log_format.modifiers else ""
    return _HEADS[log_format.layout].format(
        time=_time(record.time_ms, log_format),
        user=uid.replace(":", " "),
        uid=uid,
        pid=record.pid,
        tid=record.tid,
        priority=record.priority,
        tag=record.tag,
    )


def _time(time_ms: int, log_format: LogFormat) -> str:
    modifiers = log_format.modifiers
    if "monotonic" in modifiers:
        time_ms -= log_format.boot_ms
    seconds, milliseconds = divmod(time_ms, 1000)
    zone = ""
    if "monotonic" in modifiers:
        date = f"{seconds:6d}"
    elif "epoch" in modifiers:
        date = f"{seconds:19d}"
    else:
        date = _date(seconds)
        if "year" not in modifiers:
            date = date[5:]
        if "zone" in modifiers:
            zone = " +0000"
    finer = "nsec" if "nsec" in modifiers else "usec"
    return f"{date}.{milliseconds:03d}{_DIGITS[finer] if finer in modifiers else ''}{zone}"


@lru_cache(maxsize=256)
def _date(seconds: int) -> str:
    """A second in the phone's time zone, which is UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


# Commands

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
        return process.write(_HELP)
    for warning in options.warnings:
        process.stderr.write(encode(f"WARNING: {warning}\n"))
    if options.clear or options.size or options.sizes:
        return _control(process, log, options)
    printer = _Printer(process.stdout, options)
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
            used, size = _readable(log.used_bytes(name)), _readable(log.capacity_bytes)
            limits = f"max entry is 5120 B, max payload is {MAX_PAYLOAD} B"
            process.write(f"{name}: ring buffer is {size} ({used} consumed, {used} readable), {limits}\n")
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


class _Printer(Struct):
    """Prints records, and tracks the current buffer and the number of records printed."""

    _stdout: OutputStream
    _options: LogcatOptions
    _begun: set[str] = set()
    _buffer: str = ""
    _count: int = 0

    def print(self, records: Sequence[LogRecord]) -> bool:
        """Print records. True when the maximum count is reached."""
        text = "".join(self._pieces(records))
        if text:
            self._stdout.write(text.encode())
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
