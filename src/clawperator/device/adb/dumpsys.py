"""Parsing of ``dumpsys window``, ``dumpsys activity`` and ``wm size`` output of many Android versions.

The output is not trusted: every repetition of a pattern is bounded, so that reading takes linear time.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator.engine import Windows
from clawperator.recording import SYSTEM_UI

# Each names a component: the focused window, the focused app, the resumed activity. The first is most accurate,
# but it names no app while a popup has the focus, and nothing during a transition.
_FRONT = tuple(
    re.compile(pattern + r"\{\S{1,64} (?:u\d{1,4} )?([A-Za-z][\w.]{0,255})/", re.ASCII)
    for pattern in (
        r"mCurrentFocus=Window",
        r"mFocusedApp=[^\n]{0,200}?ActivityRecord",
        r"(?:topResumedActivity|m?ResumedActivity|mFocusedActivity)\s{0,8}[=:]\s{0,8}ActivityRecord",
    )
)
_FOCUS = re.compile(r"mCurrentFocus=Window\{(\S{1,64}) ")
_WINDOW = re.compile(
    r"^ {0,64}Window #\d{1,9} Window\{(\S{1,64}) (?:u\d{1,4} )?[^\n]{0,1000}\}:?[ \t\r]{0,8}$", re.MULTILINE
)
_PACKAGE = re.compile(r"\bpackage=([A-Za-z][\w.]{0,255})", re.ASCII)
_VISIBLE = re.compile(r"\bisVisible=(true|false)")
_READY = re.compile(r"\bisReadyForDisplay\(\)=true")
_SIZE = re.compile(r"(Physical|Override) size: (\d{1,5})x(\d{1,5})")
_ROTATION = re.compile(r"\bm(?:Current)?Rotation=(?:ROTATION_)?(\d{1,3})\b")


class _Window(Struct, frozen=True):
    name: str
    package: str


def read_foreground(dump: str) -> str | None:
    """The package in front, from the most accurate line; None without any."""
    for pattern in _FRONT:
        found = pattern.search(dump)
        if found:
            return found[1]
    return None


def read_windows(dump: str) -> Windows:
    """The package in front, the overlay and the number of visible windows, from a whole ``dumpsys window``.

    System bars count as windows, but not as an overlay, unless one of them has the focus.
    """
    front = read_foreground(dump)
    shown = list(_visible_windows(dump))
    focus = _FOCUS.search(dump)
    focused = next((w.package for w in shown if focus and w.name == focus[1]), front)
    overlay = focused if focused != front else _first_over(front, shown)
    return Windows(front, overlay, len(shown))


def _visible_windows(dump: str) -> Iterator[_Window]:
    """Visible windows, topmost first, as in the dump."""
    heads = list(_WINDOW.finditer(dump))
    ends = [*(head.start() for head in heads[1:]), len(dump)]
    for head, end in zip(heads, ends, strict=False):
        body = dump[head.end() : end]
        visible = _VISIBLE.search(body)
        package = _PACKAGE.search(body)
        if package and (visible[1] == "true" if visible else _READY.search(body)):
            yield _Window(head[1], package[1])


def _first_over(front: str | None, shown: list[_Window]) -> str | None:
    for window in shown:
        if window.package == front:
            return None
        if window.package != SYSTEM_UI:
            return window.package
    return None


def read_size(output: str) -> tuple[int, int] | None:
    """Width and height of the display in its natural orientation, from ``wm size``; an override counts."""
    sizes = {name: (int(width), int(height)) for name, width, height in _SIZE.findall(output)}
    return sizes.get("Override", sizes.get("Physical"))


def read_rotation(dump: str) -> int:
    """The rotation in quarter turns, from ``dumpsys window displays``."""
    found = _ROTATION.search(dump)
    rotation = int(found[1]) if found else 0
    return (rotation // 90 if rotation >= 90 else rotation) % 4
