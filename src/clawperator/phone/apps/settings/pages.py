"""What the Settings app knows: its plain pages, its lists of choices, and where each value is kept."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from clawperator.phone.toolkit.context import AppContext


class Stored(Struct, frozen=True):
    """Where a value is kept: in a table of the phone's settings, or in what the app itself has saved."""

    table: Literal["system", "secure", "global", "app"]
    key: str
    first: str = "0"
    on: str = "1"
    off: str = "0"


class Row(Struct, frozen=True):
    """One line of a page. ``opens`` names the screen behind it, ``turns`` what its switch turns."""

    title: str
    summary: str | Callable[[AppContext], str] = ""
    opens: str = ""
    turns: Stored | None = None


class Page(Struct, frozen=True):
    title: str
    rows: tuple[Row, ...]


class Choice(Struct, frozen=True):
    """A list of which one is chosen. An option is its label and the value that stands for it."""

    title: str
    stored: Stored
    options: tuple[tuple[str, str], ...]


class Network(Struct, frozen=True):
    name: str
    security: str
    signal: str


def read(here: AppContext, stored: Stored) -> str:
    if stored.table == "app":
        return str(here.data.get(stored.key, stored.first))
    value = here.system.settings.get(stored.table, stored.key)
    return stored.first if value is None else value


def write(here: AppContext, stored: Stored, value: str) -> None:
    if stored.table == "app":
        here.data[stored.key] = value
        return
    try:
        here.system.settings.put(stored.table, stored.key, value)
    except ValueError:
        here.toast("Couldn't save the setting")


def is_on(here: AppContext, stored: Stored) -> bool:
    """Where off is zero, any other number is on."""
    value = read(here, stored)
    return value == stored.on or (stored.off == "0" and value not in ("0", ""))


def percent(here: AppContext) -> int:
    """The brightness, whatever a program has written there."""
    value = read(here, BRIGHTNESS)
    level = int(value) if value.isdecimal() and len(value) < 6 else 0
    return round(min(level, 255) * 100 / 255)


def network(here: AppContext) -> str:
    """The name of the network the phone is on; none while Wi-Fi is off."""
    return read(here, NETWORK) if is_on(here, WIFI) else ""


def _prop(name: str) -> Callable[[AppContext], str]:
    return lambda here: here.system.properties.get(name, "")


BRIGHTNESS = Stored("system", "screen_brightness", "102")
WIFI = Stored("global", "wifi_on", "1")
NETWORK = Stored("app", "network", "Burrow")
NETWORKS = (
    Network("Burrow", "WPA3-Personal", "Excellent"),
    Network("Tidepool", "WPA2-Personal", "Good"),
    Network("Café Krabbe", "None", "Fair"),
)
NEARBY = ("Kitchen speaker", "Desk keyboard", "Car")

CHOICES = {
    "screen_timeout": Choice(
        "Screen timeout",
        Stored("system", "screen_off_timeout", "600000"),
        (
            ("15 seconds", "15000"),
            ("30 seconds", "30000"),
            ("1 minute", "60000"),
            ("2 minutes", "120000"),
            ("5 minutes", "300000"),
            ("10 minutes", "600000"),
            ("30 minutes", "1800000"),
        ),
    ),
    "font_size": Choice(
        "Font size",
        Stored("system", "font_scale", "1.0"),
        (("Small", "0.85"), ("Default", "1.0"), ("Large", "1.15"), ("Largest", "1.3")),
    ),
    "private_dns": Choice(
        "Private DNS",
        Stored("global", "private_dns_mode", "opportunistic"),
        (("Off", "off"), ("Automatic", "opportunistic")),
    ),
    "lock_screen": Choice(
        "Notifications on lock screen",
        Stored("secure", "lock_screen_show_notifications", "1"),
        (("Show all notifications", "1"), ("Don't show any notifications", "0")),
    ),
    "time_format": Choice(
        "Time format", Stored("system", "time_12_24", "12"), (("1:00 pm", "12"), ("13:00", "24"))
    ),
    "wallpaper_colour": Choice(
        "Colors",
        Stored("app", "wallpaper_colour", "coral"),
        (("Coral", "coral"), ("Kelp", "kelp"), ("Sand", "sand")),
    ),
}

PAGES = {
    "home": Page(
        "Settings",
        (
            Row("Network & internet", "Wi-Fi", "network_and_internet"),
            Row("Connected devices", "Bluetooth", "connected_devices"),
            Row("Apps", "All apps, unused apps", "apps"),
            Row("Notifications", "App notifications, history", "notifications"),
            Row("Battery", "100%", "battery"),
            Row("Storage", "9% used - 116 GB free", "storage"),
            Row("Sound & vibration", "Do Not Disturb, vibration, touch", "sound"),
            Row("Display", "Dark theme, font size, brightness", "display"),
            Row("Wallpaper & style", "Colors, themed icons", "wallpaper"),
            Row("Accessibility", "Services, color, motion", "accessibility"),
            Row("Security & privacy", "Security update, privacy controls", "security"),
            Row("Location", "Location access", "location"),
            Row("System", "Languages, time, developer options", "system"),
            Row("About phone", _prop("ro.product.model"), "about"),
        ),
    ),
    "network_and_internet": Page(
        "Network & internet",
        (
            Row("Internet", lambda here: network(here) or "Not connected", "internet"),
            Row("Airplane mode", turns=Stored("global", "airplane_mode_on")),
            Row("Data Saver", turns=Stored("app", "data_saver")),
            Row("Private DNS", opens="private_dns"),
        ),
    ),
    "connected_devices": Page(
        "Connected devices",
        (
            Row("Use Bluetooth", turns=Stored("global", "bluetooth_on", "1")),
            Row("Pair new device", "Bluetooth will turn on to pair", "pair"),
            Row("Saved devices", lambda here: ", ".join(here.data["paired"]) or "None", "devices"),
        ),
    ),
    "apps": Page(
        "Apps",
        (
            Row("See all apps", lambda here: f"{len(here.system.packages.all())} apps", "all_apps"),
            Row("Unused apps", "0 unused apps"),
        ),
    ),
    "notifications": Page(
        "Notifications",
        (
            Row("App notifications", "Control notifications from individual apps", "app_notifications"),
            Row("Notification history", turns=Stored("secure", "notification_history_enabled")),
            Row("Notifications on lock screen", opens="lock_screen"),
            Row("Notification dot on app icon", turns=Stored("secure", "notification_badging", "1")),
        ),
    ),
    "battery": Page(
        "Battery",
        (
            Row("Battery level", "100%"),
            Row("Battery Saver", turns=Stored("global", "low_power")),
            Row(
                "Battery percentage",
                "Show in status bar",
                turns=Stored("system", "status_bar_show_battery_percent"),
            ),
        ),
    ),
    "storage": Page("Storage", (Row("System", "11 GB"), Row("Apps", "0.6 GB"), Row("Free space", "116 GB"))),
    "sound": Page(
        "Sound & vibration",
        (
            Row("Do Not Disturb", turns=Stored("global", "zen_mode")),
            Row("Vibrate when ringing", turns=Stored("system", "vibrate_when_ringing")),
            Row("Touch sounds", turns=Stored("system", "sound_effects_enabled", "1")),
            Row("Touch feedback", turns=Stored("system", "haptic_feedback_enabled", "1")),
        ),
    ),
    "display": Page(
        "Display",
        (
            Row("Brightness level", lambda here: f"{percent(here)}%", "brightness"),
            Row("Adaptive brightness", turns=Stored("system", "screen_brightness_mode")),
            Row("Screen timeout", opens="screen_timeout"),
            Row("Dark theme", turns=Stored("secure", "ui_night_mode", "1", "2", "1")),
            Row("Font size", opens="font_size"),
            Row("Night Light", turns=Stored("secure", "night_display_activated")),
            Row("Auto-rotate screen", turns=Stored("system", "accelerometer_rotation")),
        ),
    ),
    "wallpaper": Page(
        "Wallpaper & style",
        (Row("Colors", opens="wallpaper_colour"), Row("Themed icons", turns=Stored("app", "themed_icons"))),
    ),
    "accessibility": Page(
        "Accessibility",
        (
            Row(
                "Clawperator Operator", lambda here: "On" if here.system.operator.is_bound() else "Off", "operator"
            ),
            Row("Color and motion", "Color inversion, animations", "colour_and_motion"),
            Row("High contrast text", turns=Stored("secure", "high_text_contrast_enabled")),
        ),
    ),
    "colour_and_motion": Page(
        "Color and motion",
        (
            Row("Color inversion", turns=Stored("secure", "accessibility_display_inversion_enabled")),
            Row("Remove animations", turns=Stored("global", "animator_duration_scale", "0.0", "0.0", "1.0")),
        ),
    ),
    "security": Page(
        "Security & privacy",
        (
            Row("Security update", _prop("ro.build.version.security_patch")),
            Row("Privacy controls", "Passwords, clipboard", "privacy"),
        ),
    ),
    "privacy": Page(
        "Privacy controls",
        (
            Row(
                "Show passwords",
                "Show characters briefly as you type",
                turns=Stored("system", "show_password", "1"),
            ),
            Row("Show clipboard access", turns=Stored("secure", "clipboard_show_access_notifications", "1")),
        ),
    ),
    "location": Page(
        "Location",
        (
            Row("Use location", turns=Stored("secure", "location_mode", "3", "3")),
            Row("Location services", "Wi-Fi and Bluetooth scanning", "location_services"),
        ),
    ),
    "location_services": Page(
        "Location services",
        (
            Row("Wi-Fi scanning", turns=Stored("global", "wifi_scan_always_enabled")),
            Row("Bluetooth scanning", turns=Stored("global", "ble_scan_always_enabled")),
        ),
    ),
    "system": Page(
        "System",
        (
            Row("Languages & input", "English (United States), Gboard", "languages"),
            Row("Date & time", _prop("persist.sys.timezone"), "date_and_time"),
            Row("Developer options", "USB debugging, stay awake", "developer"),
        ),
    ),
    "languages": Page(
        "Languages & input",
        (
            Row("System languages", "English (United States)"),
            Row("On-screen keyboard", "Gboard", "keyboards"),
        ),
    ),
    "keyboards": Page("On-screen keyboard", (Row("Gboard", "Multilingual typing", "gboard"),)),
    "gboard": Page(
        "Gboard",
        (
            Row("Auto-correction", turns=Stored("app", "gboard_auto_correction", "1")),
            Row("Glide typing", turns=Stored("app", "gboard_glide", "1")),
            Row("Haptic feedback on keypress", turns=Stored("app", "gboard_haptic")),
        ),
    ),
    "date_and_time": Page(
        "Date & time",
        (
            Row("Set time automatically", turns=Stored("global", "auto_time", "1")),
            Row("Time zone", _prop("persist.sys.timezone")),
            Row("Time format", opens="time_format"),
        ),
    ),
    "developer": Page(
        "Developer options",
        (
            Row("Use developer options", turns=Stored("global", "development_settings_enabled", "1")),
            Row(
                "Stay awake",
                "Screen will never sleep while charging",
                turns=Stored("global", "stay_on_while_plugged_in", "0", "7"),
            ),
            Row("USB debugging", "Debug mode when USB is connected", turns=Stored("global", "adb_enabled", "1")),
            Row("Show taps", turns=Stored("system", "show_touches")),
        ),
    ),
    "about": Page(
        "About phone",
        (
            Row("Device name", _prop("ro.product.model")),
            Row("Model", _prop("ro.product.device")),
            Row("Serial number", _prop("ro.serialno")),
            Row("Android version", _prop("ro.build.version.release"), "android_version"),
            Row("Build number", _prop("ro.build.id")),
        ),
    ),
    "android_version": Page(
        "Android version",
        (
            Row("Android version", _prop("ro.build.version.release")),
            Row("Android security update", _prop("ro.build.version.security_patch"), "security"),
            Row("Build details", _prop("ro.build.type"), "build"),
        ),
    ),
    "build": Page(
        "Build details",
        (
            Row("API level", _prop("ro.build.version.sdk")),
            Row("Fingerprint", _prop("ro.build.fingerprint")),
            Row("Processor", _prop("ro.product.cpu.abi")),
        ),
    ),
}
