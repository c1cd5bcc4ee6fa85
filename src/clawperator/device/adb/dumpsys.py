"""Displays, windows and the app in front, in the output of ``dumpsys`` and ``wm size``.

A phone has one logical display, number 0. A foldable shows it on one of several panels, each with a physical id;
an external screen or a mirrored one is a further logical display. The output is not trusted: every repetition of a
pattern is bounded, so that reading takes linear time.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator.engine.driver import Windows
from clawperator.recording.heuristics import SYSTEM_UI

Size = tuple[int, int]

_SECTION = re.compile(r"^[ \t]{0,64}Display: mDisplayId=(\d{1,9})\b|^WINDOW MANAGER ", re.MULTILINE)
_SIZES = re.compile(
    r"^[ \t]{0,64}init=(\d{1,5})x(\d{1,5})[^\n]{0,40}?"
    r"(?: base=(\d{1,5})x(\d{1,5})[^\n]{0,40}?)?\s{1,8}cur=(\d{1,5})x(\d{1,5})",
    re.MULTILINE,
)
# "m(?<=\bm)" is "\bm" with a literal first, which "search" finds without trying the pattern everywhere.
_HAS_FOCUS = re.compile(r"m(?<=\bm)CurrentFocus=Window\{")
_FOCUSED = re.compile(r"m(?<=\bm)(?:Top)?FocusedDisplayId\s{0,8}=\s{0,8}(\d{1,9})\b")
_WM_SIZE = re.compile(r"(Physical|Override) size: (\d{1,5})x(\d{1,5})")
_ROTATION = re.compile(r"m(?<=\bm)(?:Current)?Rotation=(?:ROTATION_)?(\d{1,3})\b")

_PHYSICAL_ID = re.compile(r"^Display (\d{1,20}) \(", re.MULTILINE)
_VIEWPORT = re.compile(r"DisplayViewport\{([^}\n]{0,2000})\}")
_INFO = re.compile(r"DisplayInfo\{([^\n]{0,4000})")
_NUMBER = re.compile(r"\bdisplayId[ =](\d{1,9})\b")
_LOCAL = re.compile(r"uniqueId[ =]['\"]local:(\d{1,20})['\"]")
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


class Display(Struct, frozen=True):
    """A logical display: its size upright and as it is turned now, and whether a window of it has the focus."""

    id: int
    natural: Size
    current: Size
    has_focus: bool


class Section(Struct, frozen=True):
    """What ``dumpsys window`` prints about one display."""

    id: int
    text: str


def display_sections(dump: str) -> list[Section]:
    """The parts of ``dumpsys window`` about each display; none where it does not divide them."""
    return [Section(int(head[1]), text) for head, text in _parts(_SECTION, dump) if head[1] is not None]


def _parts(pattern: re.Pattern[str], dump: str) -> Iterator[tuple[re.Match[str], str]]:
    """The heads that a pattern matches, each with the text up to the next one."""
    heads = list(pattern.finditer(dump))
    ends = [*(head.start() for head in heads[1:]), len(dump)]
    return ((head, dump[head.end() : end]) for head, end in zip(heads, ends, strict=False))


def focused_display_id(dump: str) -> int | None:
    """The display whose window gets keys, from ``dumpsys window``; None when the dump leaves that open.

    Displays may each have a focused window of their own. ``dumpsys window displays`` does not show which of them
    is the focused display, ``dumpsys window windows`` does.
    """
    named = _FOCUSED.search(dump)
    if named:
        return int(named[1])
    sections = display_sections(dump)
    focused = [section.id for section in sections if _HAS_FOCUS.search(section.text)]
    if len(focused) == 1:
        return focused[0]
    return None if focused else min((section.id for section in sections), default=0)


def read_displays(dump: str) -> list[Display]:
    """The displays of ``dumpsys window displays`` whose size it has."""
    found = []
    for section in display_sections(dump):
        sizes = _SIZES.search(section.text)
        if sizes:
            width, height, base_width, base_height, now_width, now_height = sizes.groups()
            natural = int(base_width or width), int(base_height or height)
            has_focus = bool(_HAS_FOCUS.search(section.text))
            found.append(Display(section.id, natural, (int(now_width), int(now_height)), has_focus))
    return found


def read_size(output: str) -> Size | None:
    """Width and height of the display in its natural orientation, from ``wm size``; an override counts."""
    sizes = {name: (int(width), int(height)) for name, width, height in _WM_SIZE.findall(output)}
    return sizes.get("Override", sizes.get("Physical"))


def read_rotation(dump: str) -> int:
    """The rotation in quarter turns, from ``dumpsys window displays``."""
    found = _ROTATION.search(dump)
    rotation = int(found[1]) if found else 0
    return (rotation // 90 if rotation >= 90 else rotation) % 4


def read_physical_ids(output: str) -> list[str]:
    """The ids of the panels, from ``dumpsys SurfaceFlinger --display-id``."""
    return _PHYSICAL_ID.findall(output)


def physical_id_in_use(dump: str, display: int) -> str | None:
    """The id of the panel that shows a logical display, from ``dumpsys display``; else of one that is on."""
    for pattern in (_VIEWPORT, _INFO):
        on = [panel for found in pattern.finditer(dump) if (panel := _panel_that_is_on(found[1]))]
        if on:
            return next((physical for shown, physical in on if shown == display), on[0][1])
    return None


def _panel_that_is_on(text: str) -> tuple[int, str] | None:
    """The number of a display and the id of its panel; None when it is off or the text does not have both."""
    number, local = _NUMBER.search(text), _LOCAL.search(text)
    if number is None or local is None or "isActive=false" in text or re.search(r"\bstate OFF\b", text):
        return None
    return int(number[1]), local[1]


class _Window(Struct, frozen=True):
    name: str
    package: str
    is_bar: bool


def read_foreground(dump: str) -> str | None:
    """The package in front of the focused display, from the most accurate line; None without any."""
    texts = dict.fromkeys((_of_focused_display(dump), dump))
    found = (pattern.search(text) for text in texts for pattern in _FRONT)
    return next((component[1] for component in found if component), None)


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
    top = focused if focused != front else next((w.package for w in shown if not w.is_bar), front)
    return Windows(front, top if top != front else None, len(shown))


def _visible_windows(dump: str, display: int | None) -> Iterator[_Window]:
    """Visible windows of a display, or of all, topmost first, as in the dump."""
    for head, body in _parts(_WINDOW, dump):
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
