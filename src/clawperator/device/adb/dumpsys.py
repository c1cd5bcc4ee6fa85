"""The app in front and the windows over it, in the output of ``dumpsys window`` and ``dumpsys activity``.

The output differs between Android versions, and it is not trusted: every repetition of a pattern is bounded, so
that reading takes linear time.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator.device.adb.displays import display_sections, focused_display_id
from clawperator.engine.driver import Windows
from clawperator.recording.heuristics import SYSTEM_UI

# Each names a component: the focused window, the focused app, the resumed activity. The first is most accurate,
# but it names no app while a popup has the focus, and nothing during a transition.
_FRONT = tuple(
    re.compile(pattern + r"\{\S{1,64}\s{1,8}(?:u\d{1,4}\s{1,8})?([A-Za-z][\w.]{0,255})/", re.ASCII)
    for pattern in (
        r"mCurrentFocus=Window",
        r"mFocusedApp=[^\n]{0,200}?ActivityRecord",
        r"(?:topResumedActivity|m?ResumedActivity|mFocusedActivity)\s{0,8}[=:]\s{0,8}ActivityRecord",
    )
)
_FOCUS = re.compile(r"mCurrentFocus=Window\{(\S{1,64})\s")
_WINDOW = re.compile(
    r"^ {0,64}Window #\d{1,9} Window\{(\S{1,64}) (?:u\d{1,4} )?([^\n]{0,1000})\}:?[ \t\r]{0,8}$", re.MULTILINE
)
_PACKAGE = re.compile(r"\bpackage=([A-Za-z][\w.]{0,255})", re.ASCII)
_VISIBLE = re.compile(r"\bisVisible=(true|false)")
_READY = re.compile(r"\bisReadyForDisplay\(\)=true")
_DISPLAY = re.compile(r"\bmDisplayId=(\d{1,9})\b")
_TYPE = re.compile(r"\bty=(\w{1,40})")

# Windows that belong to the screen rather than lie over it: bars, the keyboard, the wallpaper, areas for gestures.
# Old versions print the number of a type.
_BAR_TYPES = frozenset(
    (
        *("STATUS_BAR", "STATUS_BAR_PANEL", "STATUS_BAR_SUB_PANEL", "STATUS_BAR_ADDITIONAL", "NOTIFICATION_SHADE"),
        *("NAVIGATION_BAR", "NAVIGATION_BAR_PANEL", "INPUT_METHOD", "INPUT_METHOD_DIALOG", "WALLPAPER"),
        *("DOCK_DIVIDER", "MAGNIFICATION_OVERLAY", "SECURE_SYSTEM_OVERLAY", "POINTER"),
        *("2000", "2014", "2017", "2041", "2040", "2019", "2024"),
        *("2011", "2012", "2013", "2034", "2027", "2015", "2018"),
    )
)
_BAR_TITLES = re.compile(
    r"InputMethod|StatusBar|NotificationShade|NavigationBar\d{0,9}|Taskbar|GestureStub\w{0,40}|"
    r"EdgeBackGestureHandler\d{0,9}|ScreenDecorOverlay\w{0,40}|DockedStackDivider|StageCoordinatorSplitDivider"
)
# The handle of Samsung's edge panel is there all the time.
_BAR_PACKAGES = (SYSTEM_UI, "com.samsung.android.app.cocktailbarservice")


class _Window(Struct, frozen=True):
    name: str
    package: str
    is_bar: bool


def read_foreground(dump: str) -> str | None:
    """The package in front of the focused display, from the most accurate line; None without any."""
    for text in dict.fromkeys((_of_focused_display(dump), dump)):
        for pattern in _FRONT:
            found = pattern.search(text)
            if found:
                return found[1]
    return None


def _of_focused_display(dump: str) -> str:
    """The part of a dump about the focused display; the whole dump where it has no parts."""
    display = focused_display_id(dump)
    return next((section.text for section in display_sections(dump) if section.id == display), dump)


def read_windows(dump: str) -> Windows:
    """The package in front, the overlay and the number of visible windows, from a whole ``dumpsys window``.

    They are those of the focused display. Bars and the keyboard count as windows, but not as an overlay, unless
    one of them has the focus.
    """
    front = read_foreground(dump)
    shown = list(_visible_windows(dump, focused_display_id(dump)))
    focus = _FOCUS.search(_of_focused_display(dump)) or _FOCUS.search(dump)
    focused = next((w.package for w in shown if focus and w.name == focus[1]), front)
    overlay = focused if focused != front else _first_over(front, shown)
    return Windows(front, overlay, len(shown))


def _visible_windows(dump: str, display: int | None) -> Iterator[_Window]:
    """Visible windows of a display, or of all, topmost first, as in the dump."""
    heads = list(_WINDOW.finditer(dump))
    ends = [*(head.start() for head in heads[1:]), len(dump)]
    for head, end in zip(heads, ends, strict=False):
        body = dump[head.end() : end]
        visible, package, of, kind = (p.search(body) for p in (_VISIBLE, _PACKAGE, _DISPLAY, _TYPE))
        if package is None or not (visible[1] == "true" if visible else _READY.search(body)):
            continue
        if display is not None and of is not None and int(of[1]) != display:
            continue
        is_bar = (
            package[1] in _BAR_PACKAGES
            or (kind is not None and kind[1] in _BAR_TYPES)
            or _BAR_TITLES.fullmatch(head[2]) is not None
        )
        yield _Window(head[1], package[1], is_bar)


def _first_over(front: str | None, shown: list[_Window]) -> str | None:
    for window in shown:
        if window.package == front and not window.is_bar:
            return None
        if not window.is_bar:
            return window.package
    return None
