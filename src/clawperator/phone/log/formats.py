"""How ``logcat`` prints a record: eight formats, and what can be added to them."""

import time
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.log.buffer import Entry

FORMATS = ("brief", "process", "tag", "thread", "raw", "time", "threadtime", "long")
# On Android ``descriptive`` names the parts of binary events; a text record has none.
MODIFIERS = ("color", "descriptive", "epoch", "monotonic", "nsec", "printable", "uid", "usec", "year", "zone")

_COLOURS = {"V": 231, "D": 75, "I": 40, "W": 166, "E": 196, "F": 196}
_DIGITS = {"nsec": "000000", "usec": "000"}
# Names of at most five letters are shown, other users by their number.
_USERS = {0: "root", 2000: "shell"}
_ESCAPES = {c: f"\\{c:03o}" for c in (*range(32), 127) if c != ord("\n")} | {
    ord(c): "\\" + name for c, name in zip("\a\b\t\v\f\r\\", "abtvfr\\", strict=True)
}


class Format(Struct, frozen=True):
    """A layout, and the modifiers that are on. ``boot_ms`` is where monotonic time begins."""

    layout: str = "threadtime"
    modifiers: frozenset[str] = frozenset()
    boot_ms: int = 0

    def asked(self, word: str) -> "Format | None":
        """The format after one more word of ``-v``; None when there is no such word."""
        if word in FORMATS:
            return replace(self, layout=word)
        word = {"colour": "color", "UTC": "zone"}.get(word, word)
        if word in MODIFIERS:
            return replace(self, modifiers=self.modifiers | {word})
        return None


def render(entry: Entry, how: Format) -> str:
    """The record as it is printed, with its line ends: its head stands before each line of its message."""
    message = entry.message.translate(_ESCAPES) if "printable" in how.modifiers else entry.message
    head, tail = _head(entry, how), "\n"
    if how.layout == "process":
        tail = f"  ({entry.tag})\n"
    if "color" in how.modifiers:
        head = f"\x1b[38;5;{_COLOURS[entry.priority]}m{head}"
        tail = "\x1b[0m" + tail
    if how.layout == "long":
        return f"{head}\n{message}{tail}\n"
    lines = message.removesuffix("\n").split("\n")
    return "".join([f"{head}{line}{tail}" for line in lines])


def _head(entry: Entry, how: Format) -> str:
    layout, priority, tag, pid = how.layout, entry.priority, entry.tag, entry.pid
    uid = _uid(entry.uid) if "uid" in how.modifiers else ""
    if layout == "threadtime":
        user = uid.replace(":", " ")
        return f"{_time(entry.time_ms, how)} {user}{pid:5d} {entry.tid:5d} {priority} {tag:<8}: "
    if layout == "time":
        return f"{_time(entry.time_ms, how)} {priority}/{tag:<8}({uid}{pid:5d}): "
    if layout == "tag":
        return f"{priority}/{tag:<8}: "
    if layout == "brief":
        return f"{priority}/{tag:<8}({uid}{pid:5d}): "
    if layout == "process":
        return f"{priority}({uid}{pid:5d}) "
    if layout == "thread":
        return f"{priority}({uid}{pid:5d}:{entry.tid:5d}) "
    if layout == "long":
        return f"[ {_time(entry.time_ms, how)} {uid}{pid:5d}:{entry.tid:5d} {priority}/{tag:<8} ]"
    return ""


def _uid(uid: int) -> str:
    return f"{_USERS.get(uid, uid):>5}:"


def _time(time_ms: int, how: Format) -> str:
    with_what = how.modifiers
    if "monotonic" in with_what:
        time_ms -= how.boot_ms
    seconds, milliseconds = divmod(time_ms, 1000)
    zone = ""
    if "monotonic" in with_what:
        date = f"{seconds:6d}"
    elif "epoch" in with_what:
        date = f"{seconds:19d}"
    else:
        date = _date(seconds)
        if "year" not in with_what:
            date = date[5:]
        if "zone" in with_what:
            zone = " +0000"
    finer = "nsec" if "nsec" in with_what else "usec"
    return f"{date}.{milliseconds:03d}{_DIGITS[finer] if finer in with_what else ''}{zone}"


@lru_cache(maxsize=256)
def _date(seconds: int) -> str:
    """A second in the phone's time zone, which is UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
