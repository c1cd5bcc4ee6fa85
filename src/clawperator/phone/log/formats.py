"""The output formats of ``logcat``: eight layouts, and their modifiers."""

import time
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.log.buffer import LogRecord

FORMATS = ("brief", "process", "tag", "thread", "raw", "time", "threadtime", "long")
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

    def with_word(self, word: str) -> "LogFormat | None":
        """The format after one more word of ``-v``; None for an unknown word."""
        if word in FORMATS:
            return replace(self, layout=word)
        word = {"colour": "color", "UTC": "zone"}.get(word, word)
        if word in MODIFIERS:
            return replace(self, modifiers=self.modifiers | {word})
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
    layout, priority, tag, pid = log_format.layout, record.priority, record.tag, record.pid
    uid = _uid(record.uid) if "uid" in log_format.modifiers else ""
    if layout == "threadtime":
        user = uid.replace(":", " ")
        return f"{_time(record.time_ms, log_format)} {user}{pid:5d} {record.tid:5d} {priority} {tag:<8}: "
    if layout == "time":
        return f"{_time(record.time_ms, log_format)} {priority}/{tag:<8}({uid}{pid:5d}): "
    if layout == "tag":
        return f"{priority}/{tag:<8}: "
    if layout == "brief":
        return f"{priority}/{tag:<8}({uid}{pid:5d}): "
    if layout == "process":
        return f"{priority}({uid}{pid:5d}) "
    if layout == "thread":
        return f"{priority}({uid}{pid:5d}:{record.tid:5d}) "
    if layout == "long":
        return f"[ {_time(record.time_ms, log_format)} {uid}{pid:5d}:{record.tid:5d} {priority}/{tag:<8} ]"
    return ""


def _uid(uid: int) -> str:
    return f"{_USERS.get(uid, uid):>5}:"


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
