"""What a picture shows: the windows of the phone, and the state that its bars display."""

from msgspec import Struct

from clawperator.phone.core.settings import SettingsProvider
from clawperator.phone.core.window import Display, Window
from clawperator.phone.core.window_manager import WindowManager
from clawperator.phone.render.local_time import clock_text, date_text


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
