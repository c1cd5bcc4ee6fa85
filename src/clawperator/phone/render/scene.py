"""What a picture shows: the windows of the phone, and the state that its bars display.

Clocks show UTC.
"""

import time

from msgspec import Struct

from clawperator.phone.core.settings import SettingsProvider
from clawperator.phone.core.windows import Display, Window, WindowManager

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
