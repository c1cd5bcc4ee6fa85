"""What a picture shows, and the tools of a painter: a drawing, a theme, a scale, texts that fit their area."""

import time

from msgspec import Struct

from clawperator.phone.core.settings import SettingsProvider
from clawperator.phone.core.windows import Display, Window, WindowManager
from clawperator.phone.render.drawing import Drawing, Theme
from clawperator.phone.render.fonts import capital_height, fit_lines, font_size, text_width
from clawperator.ui.node import Bounds

# The scene: the windows of the phone, and the state that its bars display. Clocks show UTC.


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999


def clock_text(now_ms: int, time_format: str | None) -> str:
    """Hours and minutes, such as 9:41, or 21:41 where the setting ``time_12_24`` is 24."""
    now = _fields(now_ms)
    if time_format == "24":
        return f"{now.tm_hour:02}:{now.tm_min:02}"
    return f"{now.tm_hour % 12 or 12}:{now.tm_min:02}"


def date_text(now_ms: int) -> str:
    """The day, such as Tue, Nov 14."""
    now = _fields(now_ms)
    return f"{_DAYS[now.tm_wday]}, {_MONTHS[now.tm_mon - 1]} {now.tm_mday}"


def _fields(now_ms: int) -> time.struct_time:
    return time.gmtime(min(max(now_ms, 0), _LATEST_MS) / 1000)


class Scene(Struct, frozen=True):
    """One moment of the screen. Equal scenes give equal pictures: a window that changes is replaced."""

    display: Display
    awake: bool
    windows: tuple[Window, ...]
    keyboard: Window | None
    navigation: Window
    # The place of the cursor in the focused field; it moves without a new window.
    cursor: tuple[str | None, int]
    toast: str
    # Time and date.
    time: str
    date: str
    dark: bool
    airplane: bool
    wifi: bool
    shows_percent: bool


def capture(windows: WindowManager, settings: SettingsProvider, now_ms: int) -> Scene:
    """The screen as it is now."""
    entry = windows.top()
    return Scene(
        display=windows.display,
        awake=windows.awake,
        windows=tuple(windows.app_windows()),
        keyboard=windows.keyboard(),
        navigation=windows.navigation(),
        cursor=(entry.focus, entry.cursor),
        toast=windows.toast_text() or "",
        time=clock_text(now_ms, settings.get("system", "time_12_24")),
        date=date_text(now_ms),
        dark=settings.get("secure", "ui_night_mode") == "2",
        airplane=settings.get("global", "airplane_mode_on") == "1",
        wifi=settings.get("global", "wifi_on") != "0",
        shows_percent=settings.get("system", "status_bar_show_battery_percent") == "1",
    )


# The pen

# The layout expects characters of this part of the text size; at this size nearly every text fits.
_FONT_PART = 0.94
_LINE_HEIGHT = 1.35  # that of the layout
# A text that does not fit is drawn smaller, and then cut.
_SMALLER = (1.0, 0.93, 0.86)
# A text of at most so many characters is never wrapped to save some pixels.
_MAX_WORD = 16


class Lettering(Struct, frozen=True):
    """How a text is drawn: its size in dp, its colour, and its place in the area."""

    size: float
    colour: int
    centred: bool = False
    # At the top of the area instead of in its middle.
    top: bool = False


class Pen:
    """Draws on a drawing in the colours of a theme. Lengths in dp are converted with ``dp``."""

    def __init__(self, drawing: Drawing, theme: Theme, scene: Scene) -> None:
        self.drawing = drawing
        self.theme = theme
        self.scale = scene.display.scale
        # What clocks show.
        self.time = scene.time
        self.date = scene.date

    def dp(self, length: float) -> int:
        return round(length * self.scale)

    def inset(self, area: Bounds, across: float, down: float) -> Bounds:
        """The area without a margin, in dp. A margin never takes more than the area has."""
        x, y = min(self.dp(across), area.width // 2), min(self.dp(down), area.height // 2)
        return Bounds(area.left + x, area.top + y, area.right - x, area.bottom - y)

    def write(self, text: str, area: Bounds, style: Lettering, *, spare: int = 0) -> None:
        """Draw a text in an area: wrapped, and cut where it does not fit.

        A line that is a little too long may use ``spare`` pixels at each side.
        """
        size = self.font_size(style.size)
        if len(text) <= _MAX_WORD and 0 < text_width(text, size) - area.width <= 2 * spare:
            area = Bounds(area.left - spare, area.top, area.right + spare, area.bottom)
        pitch = max(1, round(style.size * self.scale * _LINE_HEIGHT))
        most = max(1, (area.height + pitch // 3) // pitch)
        size, lines = self.fitted(text, area.width, most, style.size)
        top = area.top if style.top else area.top + (area.height - len(lines) * pitch) // 2
        for number, line in enumerate(lines):
            baseline = top + number * pitch + (pitch + capital_height(size)) // 2
            left = area.left
            if style.centred:
                left += (area.width - text_width(line, size)) // 2
            self.drawing.text(left, baseline, line, size, style.colour)

    def font_size(self, dp: float) -> int:
        """The size of the font for a text size in dp."""
        return font_size(dp * self.scale * _FONT_PART)

    def fitted(self, text: str, width: int, most: int, dp: float) -> tuple[int, list[str]]:
        """The font size and the lines of a text. Words stay whole if possible."""
        tries = []
        for part in _SMALLER:
            size = self.font_size(dp * part)
            found = fit_lines(text, size, max(1, width), most)
            if found.fits and found.is_whole:
                return size, found.lines
            tries.append((size, found))
        size, found = next((each for each in tries if each[1].fits), tries[-1])
        return size, found.lines
