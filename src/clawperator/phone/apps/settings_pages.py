"""The data of the Settings app: pages, choice pages, and where each value is stored."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from clawperator.phone.toolkit.context import AppContext


class StoredValue(Struct, frozen=True):
    """Where a value is stored: in a table of the system settings, or in the app's own data."""

    table: Literal["system", "secure", "global", "app"]
    key: str
    default: str = "0"
    on: str = "1"
    off: str = "0"


class SettingsRow(Struct, frozen=True):
    """One row of a page: with the screen it ``opens``, or the value that its switch ``toggles``."""

    title: str
    summary: str | Callable[[AppContext], str] = ""
    opens: str = ""
    toggles: StoredValue | None = None


class SettingsPage(Struct, frozen=True):
    title: str
    rows: tuple[SettingsRow, ...]


class ChoicePage(Struct, frozen=True):
    """A page of radio buttons. An option is its label and its stored value."""

    title: str
    stored: StoredValue
    options: tuple[tuple[str, str], ...]


class Network(Struct, frozen=True):
    name: str
    security: str
    signal: str


def read(context: AppContext, stored: StoredValue) -> str:
    if stored.table == "app":
        return str(context.data.get(stored.key, stored.default))
    value = context.system.settings.get(stored.table, stored.key)
    return stored.default if value is None else value


def write(context: AppContext, stored: StoredValue, value: str) -> None:
    if stored.table == "app":
        context.data[stored.key] = value
        return
    try:
        context.system.settings.put(stored.table, stored.key, value)
    except ValueError:
        context.toast("Couldn't save the setting")


def is_on(context: AppContext, stored: StoredValue) -> bool:
    """Whether a value counts as on. Where off is 0, any other number is on."""
    value = read(context, stored)
    return value == stored.on or (stored.off == "0" and value not in ("0", ""))


def percent(context: AppContext) -> int:
    """The brightness in percent. Programs may have stored anything there."""
    value = read(context, BRIGHTNESS)
    level = int(value) if value.isdecimal() and len(value) < 6 else 0
    return round(min(level, 255) * 100 / 255)


def network(context: AppContext) -> str:
    """The name of the connected network; empty while Wi-Fi is off."""
    return read(context, NETWORK) if is_on(context, WIFI) else ""


def _prop(name: str) -> Callable[[AppContext], str]:
    return lambda context: context.system.properties.get(name, "")


BRIGHTNESS = StoredValue("system", "screen_brightness", "102")
WIFI = StoredValue("global", "wifi_on", "1")
NETWORK = StoredValue("app", "network", "Burrow")
NETWORKS = (
    Network("Burrow", "WPA3-Personal", "Excellent"),
    Network("Tidepool", "WPA2-Personal", "Good"),
    Network("Café Krabbe", "None", "Fair"),
)
NEARBY = ("Kitchen speaker", "Desk keyboard", "Car")

CHOICES = {
    "screen_timeout": ChoicePage(
        "Screen timeout",
        StoredValue("system", "screen_off_timeout", "600000"),
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
    "font_size": ChoicePage(
        "Font size",
        StoredValue("system", "font_scale", "1.0"),
        (("Small", "0.85"), ("Default", "1.0"), ("Large", "1.15"), ("Largest", "1.3")),
    ),
    "private_dns": ChoicePage(
        "Private DNS",
        StoredValue("global", "private_dns_mode", "opportunistic"),
        (("Off", "off"), ("Automatic", "opportunistic")),
    ),
    "lock_screen": ChoicePage(
        "Notifications on lock screen",
        StoredValue("secure", "lock_screen_show_notifications", "1"),
        (("Show all notifications", "1"), ("Don't show any notifications", "0")),
    ),
    "time_format": ChoicePage(
        "Time format", StoredValue("system", "time_12_24", "12"), (("1:00 pm", "12"), ("13:00", "24"))
    ),
    "wallpaper_colour": ChoicePage(
        "Colors",
        StoredValue("app", "wallpaper_colour", "coral"),
        (("Coral", "coral"), ("Kelp", "kelp"), ("Sand", "sand")),
    ),
}

PAGES = {
    "home": SettingsPage(
        "Settings",
        (
            SettingsRow("Network & internet", "Wi-Fi", "network_and_internet"),
            SettingsRow("Connected devices", "Bluetooth", "connected_devices"),
            SettingsRow("Apps", "All apps, unused apps", "apps"),
            SettingsRow("Notifications", "App notifications, history", "notifications"),
            SettingsRow("Battery", "100%", "battery"),
            SettingsRow("Storage", "9% used - 116 GB free", "storage"),
            SettingsRow("Sound & vibration", "Do Not Disturb, vibration, touch", "sound"),
            SettingsRow("Display", "Dark theme, font size, brightness", "display"),
            SettingsRow("Wallpaper & style", "Colors, themed icons", "wallpaper"),
            SettingsRow("Accessibility", "Services, color, motion", "accessibility"),
            SettingsRow("Security & privacy", "Security update, privacy controls", "security"),
            SettingsRow("Location", "Location access", "location"),
            SettingsRow("System", "Languages, time, developer options", "system"),
            SettingsRow("About phone", _prop("ro.product.model"), "about"),
        ),
    ),
    "network_and_internet": SettingsPage(
        "Network & internet",
        (
            SettingsRow("Internet", lambda context: network(context) or "Not connected", "internet"),
            SettingsRow("Airplane mode", toggles=StoredValue("global", "airplane_mode_on")),
            SettingsRow("Data Saver", toggles=StoredValue("app", "data_saver")),
            SettingsRow("Private DNS", opens="private_dns"),
        ),
    ),
    "connected_devices": SettingsPage(
        "Connected devices",
        (
            SettingsRow("Use Bluetooth", toggles=StoredValue("global", "bluetooth_on", "1")),
            SettingsRow("Pair new device", "Bluetooth will turn on to pair", "pair"),
            SettingsRow("Saved devices", lambda context: ", ".join(context.data["paired"]) or "None", "devices"),
        ),
    ),
    "apps": SettingsPage(
        "Apps",
        (
            SettingsRow("See all apps", lambda context: f"{len(context.system.packages.all())} apps", "all_apps"),
            SettingsRow("Unused apps", "0 unused apps"),
        ),
    ),
    "notifications": SettingsPage(
        "Notifications",
        (
            SettingsRow("App notifications", "Control notifications from individual apps", "app_notifications"),
            SettingsRow("Notification history", toggles=StoredValue("secure", "notification_history_enabled")),
            SettingsRow("Notifications on lock screen", opens="lock_screen"),
            SettingsRow(
                "Notification dot on app icon", toggles=StoredValue("secure", "notification_badging", "1")
            ),
        ),
    ),
    "battery": SettingsPage(
        "Battery",
        (
            SettingsRow("Battery level", "100%"),
            SettingsRow("Battery Saver", toggles=StoredValue("global", "low_power")),
            SettingsRow(
                "Battery percentage",
                "Show in status bar",
                toggles=StoredValue("system", "status_bar_show_battery_percent"),
            ),
        ),
    ),
    "storage": SettingsPage(
        "Storage",
        (SettingsRow("System", "11 GB"), SettingsRow("Apps", "0.6 GB"), SettingsRow("Free space", "116 GB")),
    ),
    "sound": SettingsPage(
        "Sound & vibration",
        (
            SettingsRow("Do Not Disturb", toggles=StoredValue("global", "zen_mode")),
            SettingsRow("Vibrate when ringing", toggles=StoredValue("system", "vibrate_when_ringing")),
            SettingsRow("Touch sounds", toggles=StoredValue("system", "sound_effects_enabled", "1")),
            SettingsRow("Touch feedback", toggles=StoredValue("system", "haptic_feedback_enabled", "1")),
        ),
    ),
    "display": SettingsPage(
        "Display",
        (
            SettingsRow("Brightness level", lambda context: f"{percent(context)}%", "brightness"),
            SettingsRow("Adaptive brightness", toggles=StoredValue("system", "screen_brightness_mode")),
            SettingsRow("Screen timeout", opens="screen_timeout"),
            SettingsRow("Dark theme", toggles=StoredValue("secure", "ui_night_mode", "1", "2", "1")),
            SettingsRow("Font size", opens="font_size"),
            SettingsRow("Night Light", toggles=StoredValue("secure", "night_display_activated")),
            SettingsRow("Auto-rotate screen", toggles=StoredValue("system", "accelerometer_rotation")),
        ),
    ),
    "wallpaper": SettingsPage(
        "Wallpaper & style",
        (
            SettingsRow("Colors", opens="wallpaper_colour"),
            SettingsRow("Themed icons", toggles=StoredValue("app", "themed_icons")),
        ),
    ),
    "accessibility": SettingsPage(
        "Accessibility",
        (
            SettingsRow(
                "Clawperator Operator",
                lambda context: "On" if context.system.operator.is_bound() else "Off",
                "operator",
            ),
            SettingsRow("Color and motion", "Color inversion, animations", "colour_and_motion"),
            SettingsRow("High contrast text", toggles=StoredValue("secure", "high_text_contrast_enabled")),
        ),
    ),
    "colour_and_motion": SettingsPage(
        "Color and motion",
        (
            SettingsRow(
                "Color inversion", toggles=StoredValue("secure", "accessibility_display_inversion_enabled")
            ),
            SettingsRow(
                "Remove animations", toggles=StoredValue("global", "animator_duration_scale", "0.0", "0.0", "1.0")
            ),
        ),
    ),
    "security": SettingsPage(
        "Security & privacy",
        (
            SettingsRow("Security update", _prop("ro.build.version.security_patch")),
            SettingsRow("Privacy controls", "Passwords, clipboard", "privacy"),
        ),
    ),
    "privacy": SettingsPage(
        "Privacy controls",
        (
            SettingsRow(
                "Show passwords",
                "Show characters briefly as you type",
                toggles=StoredValue("system", "show_password", "1"),
            ),
            SettingsRow(
                "Show clipboard access", toggles=StoredValue("secure", "clipboard_show_access_notifications", "1")
            ),
        ),
    ),
    "location": SettingsPage(
        "Location",
        (
            SettingsRow("Use location", toggles=StoredValue("secure", "location_mode", "3", "3")),
            SettingsRow("Location services", "Wi-Fi and Bluetooth scanning", "location_services"),
        ),
    ),
    "location_services": SettingsPage(
        "Location services",
        (
            SettingsRow("Wi-Fi scanning", toggles=StoredValue("global", "wifi_scan_always_enabled")),
            SettingsRow("Bluetooth scanning", toggles=StoredValue("global", "ble_scan_always_enabled")),
        ),
    ),
    "system": SettingsPage(
        "System",
        (
            SettingsRow("Languages & input", "English (United States), Gboard", "languages"),
            SettingsRow("Date & time", _prop("persist.sys.timezone"), "date_and_time"),
            SettingsRow("Developer options", "USB debugging, stay awake", "developer"),
        ),
    ),
    "languages": SettingsPage(
        "Languages & input",
        (
            SettingsRow("System languages", "English (United States)"),
            SettingsRow("On-screen keyboard", "Gboard", "keyboards"),
        ),
    ),
    "keyboards": SettingsPage("On-screen keyboard", (SettingsRow("Gboard", "Multilingual typing", "gboard"),)),
    "gboard": SettingsPage(
        "Gboard",
        (
            SettingsRow("Auto-correction", toggles=StoredValue("app", "gboard_auto_correction", "1")),
            SettingsRow("Glide typing", toggles=StoredValue("app", "gboard_glide", "1")),
            SettingsRow("Haptic feedback on keypress", toggles=StoredValue("app", "gboard_haptic")),
        ),
    ),
    "date_and_time": SettingsPage(
        "Date & time",
        (
            SettingsRow("Set time automatically", toggles=StoredValue("global", "auto_time", "1")),
            SettingsRow("Time zone", _prop("persist.sys.timezone")),
            SettingsRow("Time format", opens="time_format"),
        ),
    ),
    "developer": SettingsPage(
        "Developer options",
        (
            SettingsRow(
                "Use developer options", toggles=StoredValue("global", "development_settings_enabled", "1")
            ),
            SettingsRow(
                "Stay awake",
                "Screen will never sleep while charging",
                toggles=StoredValue("global", "stay_on_while_plugged_in", "0", "7"),
            ),
            SettingsRow(
                "USB debugging",
                "Debug mode when USB is connected",
                toggles=StoredValue("global", "adb_enabled", "1"),
            ),
            SettingsRow("Show taps", toggles=StoredValue("system", "show_touches")),
        ),
    ),
    "about": SettingsPage(
        "About phone",
        (
            SettingsRow("Device name", _prop("ro.product.model")),
            SettingsRow("Model", _prop("ro.product.device")),
            SettingsRow("Serial number", _prop("ro.serialno")),
            SettingsRow("Android version", _prop("ro.build.version.release"), "android_version"),
            SettingsRow("Build number", _prop("ro.build.id")),
        ),
    ),
    "android_version": SettingsPage(
        "Android version",
        (
            SettingsRow("Android version", _prop("ro.build.version.release")),
            SettingsRow("Android security update", _prop("ro.build.version.security_patch"), "security"),
            SettingsRow("Build details", _prop("ro.build.type"), "build"),
        ),
    ),
    "build": SettingsPage(
        "Build details",
        (
            SettingsRow("API level", _prop("ro.build.version.sdk")),
            SettingsRow("Fingerprint", _prop("ro.build.fingerprint")),
            SettingsRow("Processor", _prop("ro.product.cpu.abi")),
        ),
    ),
}
