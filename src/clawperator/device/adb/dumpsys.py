"""What ``dumpsys window`` and ``dumpsys activity`` tell, as phones of many versions write it."""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator.engine.driver import Windows
from clawperator.recording.heuristics import SYSTEM_UI

# Each names a component: the window with the focus, the app with the focus, the activity that runs in front. The
# first is the truth about the screen, but it names no app while a popup has the focus and nothing at all in a
# transition.
_FRONT = tuple(
    re.compile(pattern + r"\{\S+ (?:u\d+ )?([A-Za-z][\w.]*)/")
    for pattern in (
        r"mCurrentFocus=Window",
        r"mFocusedApp=[^\n]*?ActivityRecord",
        r"(?:topResumedActivity|m?ResumedActivity|mFocusedActivity)\s*[=:]\s*ActivityRecord",
    )
)
_FOCUS = re.compile(r"mCurrentFocus=Window\{(\S+) ")
_WINDOW = re.compile(r"^ *Window #\d+ Window\{(\S+) (?:u\d+ )?[^\n]*\}:?\s*$", re.MULTILINE)
_PACKAGE = re.compile(r"\bpackage=([A-Za-z][\w.]*)")
_VISIBLE = re.compile(r"\bisVisible=(true|false)")
_READY = re.compile(r"\bisReadyForDisplay\(\)=true")
_SIZE = re.compile(r"(Physical|Override) size: (\d{1,5})x(\d{1,5})")
_ROTATION = re.compile(r"\bm(?:Current)?Rotation=(?:ROTATION_)?(\d{1,3})\b")


class _Window(Struct, frozen=True):
    name: str
    package: str


def read_foreground(dump: str) -> str | None:
    """The package in front, by the best of the lines that tell; None when none does."""
    for pattern in _FRONT:
        found = pattern.search(dump)
        if found:
            return found[1]
    return None


def read_windows(dump: str) -> Windows:
    """Who is in front, who lies over it, and how many windows can be seen, from a whole ``dumpsys window``.

    The bars of the system lie over everything always; they count as windows, and not as something in the way,
    unless one of them has taken the focus.
    """
    front = read_foreground(dump)
    shown = list(_visible_windows(dump))
    focus = _FOCUS.search(dump)
    focused = next((w.package for w in shown if focus and w.name == focus[1]), front)
    overlay = focused if focused != front else _first_over(front, shown)
    return Windows(front, overlay, len(shown))


def _visible_windows(dump: str) -> Iterator[_Window]:
    """The topmost first, as the dump has them."""
    heads = list(_WINDOW.finditer(dump))
    ends = [*(head.start() for head in heads[1:]), len(dump)]
    for head, end in zip(heads, ends, strict=False):
        told = dump[head.end() : end]
        visible = _VISIBLE.search(told)
        package = _PACKAGE.search(told)
        if package and (visible[1] == "true" if visible else _READY.search(told)):
            yield _Window(head[1], package[1])


def _first_over(front: str | None, shown: list[_Window]) -> str | None:
    for window in shown:
        if window.package == front:
            return None
        if window.package != SYSTEM_UI:
            return window.package
    return None


def read_size(told: str) -> tuple[int, int] | None:
    """Width and height of the display as it is built, from ``wm size``. A size that was put in place counts."""
    sizes = {name: (int(width), int(height)) for name, width, height in _SIZE.findall(told)}
    return sizes.get("Override", sizes.get("Physical"))


def read_rotation(dump: str) -> int:
    """How many quarters the display is turned, from ``dumpsys window displays``."""
    found = _ROTATION.search(dump)
    turned = int(found[1]) if found else 0
    return (turned // 90 if turned >= 90 else turned) % 4
