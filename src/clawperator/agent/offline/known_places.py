"""Built-in names of apps, and the Settings pages of well-known values and switches.

A known place is opened only when the name is not on the screen. Each step to it is checked: on a device with
other pages the label is not found, and the instruction fails.
"""

import re
from functools import lru_cache
from unicodedata import normalize

from msgspec import Struct

from clawperator._base.text import distance

# Common app names and their packages. Other names are searched for on the device.
APPS = {
    "settings": "com.android.settings",
    "youtube": "com.google.android.youtube",
    "video": "com.google.android.youtube",
    "chrome": "com.android.chrome",
    "browser": "com.android.chrome",
    "web browser": "com.android.chrome",
    "solar": "com.solaxcloud.starter",
    "solax": "com.solaxcloud.starter",
    "solaxcloud": "com.solaxcloud.starter",
    "solax cloud": "com.solaxcloud.starter",
    "notes": "com.clawperator.notes",
}
SETTINGS = APPS["settings"]
# First parts of package names, and last parts of host names that are taken for links.
_PACKAGE_PREFIXES = frozenset(
    ("com", "org", "net", "io", "de", "app", "me", "dev", "android", "uk", "fr", "jp", "cn")
)
_HOST_SUFFIXES = frozenset(
    ("com", "org", "net", "io", "dev", "de", "uk", "fr", "eu", "info", "edu", "gov", "invalid")
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?\S+")
_DOTTED = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_MAX_NORMALIZED = 1_000
# Shorter names are never taken for a misspelled other name.
_MIN_TYPO_LENGTH, _MAX_TYPO_LENGTH = 4, 40
_MIN_TWO_TYPOS_LENGTH = 6
_MAX_TYPO_DISTANCE = 2
_MAX_SIMILAR = 3
# Titles of Settings pages that also name an app or a part of the system.
_OTHER_MEANINGS = frozenset(("internet", "notifications", "apps"))


class KnownPlace(Struct, frozen=True):
    """A label, and the pages of an app that lead to it from the app's first page."""

    pages: tuple[str, ...]
    label: str
    app: str = SETTINGS
    is_switch: bool = False
    has_options: bool = False


class SettingsPagePath(Struct, frozen=True):
    """A page of Settings: the rows to tap from its first page, and the title it shows."""

    rows: tuple[str, ...]
    title: str


def _values(*pages: str, **labels: str) -> dict[str, KnownPlace]:
    """Values on one page: label (with underscores for spaces) to its other names, separated by "|"."""
    return {
        name: KnownPlace(pages, label.replace("_", " "))
        for label, names in labels.items()
        for name in (label.replace("_", " "), label.replace("_", " ").removeprefix("Use "), *names.split("|"))
        if name
    }


def _choices(*pages: str, **labels: str) -> dict[str, KnownPlace]:
    """Values on one page that are one of several options, written as for ``_values``."""
    places = _values(*pages, **labels)
    return {name: KnownPlace(pages, place.label, has_options=True) for name, place in places.items()}


def _switches(*pages: str, **labels: str) -> dict[str, KnownPlace]:
    """Switches on one page, written as for ``_values``."""
    places = _values(*pages, **labels)
    return {name: KnownPlace(pages, place.label, is_switch=True) for name, place in places.items()}


PLACES: dict[str, KnownPlace] = {
    **_values(
        "About phone",
        Android_version="version of Android|Android release",
        Device_name="name of the phone|phone name|name of the device",
        Model="phone model|model of the phone|device model|model name",
        Serial_number="phone serial number|device serial number",
        Build_number="",
    ),
    **_values("About phone", "Android version", "Build details", API_level="", Processor="CPU"),
    **_values(
        "Battery",
        Battery_level="battery|battery charge|charge level|battery percentage|battery status|power level",
    ),
    **_switches(
        "Battery",
        Battery_Saver="power saver|power saving|battery saving|low power",
    ),
    **_values("Storage", Free_space="free storage|available storage|available space|storage left|storage space"),
    **_values(
        "Network & internet",
        Internet="network|wifi network|network name|wifi name|name of the network|current network",
    ),
    **_choices("Network & internet", Private_DNS="DNS"),
    **_switches(
        "Network & internet",
        Airplane_mode="aeroplane mode|flight mode|plane mode|airplane|offline mode",
        Data_Saver="data saving|data saver mode",
    ),
    **_switches("Network & internet", "Internet", **{"Wi-Fi": "WLAN|wireless LAN"}),
    **_switches("Connected devices", Use_Bluetooth="Bluetooth"),
    **_values(
        "Connected devices", Saved_devices="paired devices|saved Bluetooth devices|paired Bluetooth devices"
    ),
    **_values("Display", Brightness_level="brightness|screen brightness|display brightness"),
    **_choices(
        "Display",
        Screen_timeout="display timeout|screen off timeout|sleep timeout|screen time-out",
        Font_size="text size|size of the font|size of the text",
    ),
    **_switches(
        "Display",
        Dark_theme="dark mode",
        Night_Light="blue light filter|night light mode",
        Adaptive_brightness="auto brightness|automatic brightness",
        **{"Auto-rotate screen": "auto-rotate|auto rotation|automatic rotation|screen rotation|autorotate"},
    ),
    **_switches(
        "Sound & vibration",
        Do_Not_Disturb="DND|do not disturb mode",
        Vibrate_when_ringing="",
        Touch_sounds="",
        Touch_feedback="",
    ),
    **_choices("Wallpaper & style", Colors="wallpaper colors|wallpaper color|colours|wallpaper colour"),
    **_switches("Wallpaper & style", Themed_icons=""),
    **_switches(
        "Notifications", Notification_history="", Notification_dot_on_app_icon="notification dot|notification dots"
    ),
    **_choices("Notifications", Notifications_on_lock_screen="lock screen notifications"),
    **_switches("Accessibility", High_contrast_text=""),
    **_switches(
        "Accessibility",
        "Color and motion",
        Color_inversion="colour inversion|inverted colors",
        Remove_animations="",
    ),
    **_values("Security & privacy", Security_update="Android security update|security patch"),
    **_switches("Security & privacy", "Privacy controls", Show_passwords="", Show_clipboard_access=""),
    **_switches("Location", Use_location="location|GPS|location access"),
    **_switches("Location", "Location services", **{"Wi-Fi scanning": ""}, Bluetooth_scanning=""),
    **_values("System", "Date & time", Time_zone="timezone"),
    **_choices("System", "Date & time", Time_format=""),
    **_switches("System", "Date & time", Set_time_automatically="automatic time"),
    **_values("System", "Languages & input", System_languages="language|languages|system language|phone language"),
    **_switches(
        "System",
        "Developer options",
        USB_debugging="debugging",
        Stay_awake="",
        Show_taps="",
        Use_developer_options="",
    ),
}

# Pages by name. A name in ``PLACES`` also names its page.
PAGES: dict[str, SettingsPagePath] = {
    name: SettingsPagePath(rows, title)
    for rows, title, names in (
        (("Network & internet",), "Network & internet", "network|network and internet"),
        (("Network & internet", "Internet"), "Internet", "wifi|internet|wlan|wireless"),
        (("Network & internet", "Private DNS"), "Private DNS", "private dns"),
        (("Connected devices",), "Connected devices", "bluetooth|connected devices|devices"),
        (("Connected devices", "Pair new device"), "Pair new device", "pair new device|pairing"),
        (("Connected devices", "Saved devices"), "Saved devices", "saved devices|paired devices"),
        (("Apps",), "Apps", "apps|app|applications"),
        (("Apps", "See all apps"), "All apps", "all apps|see all apps|installed apps"),
        (("Notifications",), "Notifications", "notifications|notification"),
        (("Notifications", "App notifications"), "App notifications", "app notifications|app notification"),
        (("Battery",), "Battery", "battery|power"),
        (("Storage",), "Storage", "storage"),
        (("Sound & vibration",), "Sound & vibration", "sound|sounds|vibration|sound and vibration|audio"),
        (("Display",), "Display", "display|screen"),
        (("Display", "Brightness level"), "Brightness level", "brightness|brightness level|screen brightness"),
        (("Display", "Screen timeout"), "Screen timeout", "screen timeout"),
        (("Display", "Font size"), "Font size", "font size|font|text size"),
        (("Wallpaper & style",), "Wallpaper & style", "wallpaper|wallpaper and style|style"),
        (("Accessibility",), "Accessibility", "accessibility"),
        (("Accessibility", "Color and motion"), "Color and motion", "color and motion|colour and motion"),
        (("Security & privacy",), "Security & privacy", "security|privacy|security and privacy"),
        (("Security & privacy", "Privacy controls"), "Privacy controls", "privacy controls"),
        (("Location",), "Location", "location"),
        (("Location", "Location services"), "Location services", "location services"),
        (("System",), "System", "system"),
        (("System", "Languages & input"), "Languages & input", "language|languages|languages and input|input"),
        (("System", "Date & time"), "Date & time", "date and time|date|time|time and date|clock"),
        (("System", "Developer options"), "Developer options", "developer|developer options"),
        (("About phone",), "About phone", "about phone|about|about this phone|about the phone|phone info"),
    )
    for name in names.split("|")
}


def normalize_label(text: str) -> str:
    """Letters and digits of a text in lower case: "Wi-Fi" is "wifi", "&" is "and". Keeps very long texts."""
    return _normalize_label(text) if len(text) <= _MAX_NORMALIZED else text


@lru_cache(maxsize=1024)
def _normalize_label(text: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFC", text).casefold().replace("&", "and")))


_PLACES = {normalize_label(name): place for name, place in PLACES.items()}
_PAGES_BY_NAME = {normalize_label(name): page for name, page in PAGES.items()}


def find_place(name: str) -> KnownPlace | None:
    """The known place of a name. "mode" at the end of a switch's name does not matter."""
    wanted = normalize_label(name)
    found = _PLACES.get(wanted)
    if found is None and wanted.endswith("mode"):
        found = _PLACES.get(wanted.removesuffix("mode"))
        return found if found is not None and found.is_switch else None
    return found


def find_page(name: str) -> SettingsPagePath | None:
    """The Settings page of a name, or the page of a known place with this name."""
    page = _PAGES_BY_NAME.get(normalize_label(name))
    place = find_place(name) if page is None else None
    return SettingsPagePath(place.pages, place.pages[-1]) if place is not None else page


def find_titled_page(name: str) -> SettingsPagePath | None:
    """The Settings page with this title, or of a setting with this label, for "open …" without "settings".

    A name that also means something else, such as "clock" or "internet", is not a title.
    """
    wanted = normalize_label(name)
    page = find_page(name)
    place = find_place(name)
    titles = {normalize_label(page.title)} if page is not None else set()
    if place is not None:
        titles |= {normalize_label(place.label), normalize_label(place.label.removeprefix("Use "))}
    return page if wanted in titles - _OTHER_MEANINGS else None


def similar_known_names(name: str) -> list[str]:
    """Labels of known places, Settings pages and apps that differ from a name by a typing error."""
    wanted = normalize_label(name)
    if len(wanted) < _MIN_TYPO_LENGTH or len(wanted) > _MAX_TYPO_LENGTH:
        return []
    names = {
        **{normalize_label(app): app.title() for app in APPS},
        **{known: page.title for known, page in _PAGES_BY_NAME.items()},
        **{known: place.label for known, place in _PLACES.items()},
    }
    near = [label for known, label in names.items() if is_typo(wanted, known)]
    return list(dict.fromkeys(near))[:_MAX_SIMILAR]


def is_typo(text: str, known: str) -> bool:
    """Whether two normalized names differ by a letter or two after the first. Other digits make another name."""
    shorter = min(len(text), len(known))
    if (
        text == known
        or text[:1] != known[:1]
        or shorter < _MIN_TYPO_LENGTH
        or abs(len(text) - len(known)) > _MAX_TYPO_DISTANCE
    ):
        return False
    if [c for c in text if c.isdigit()] != [c for c in known if c.isdigit()]:
        return False
    return distance(text, known) <= (1 if shorter < _MIN_TWO_TYPOS_LENGTH else _MAX_TYPO_DISTANCE)


def known_app(name: str) -> str:
    """The package of a built-in app name, or the name itself when it is a package; otherwise empty."""
    known = APPS.get(" ".join(name.casefold().split()))
    return known or (name if is_package(name) else "")


def is_package(name: str) -> bool:
    return _DOTTED.fullmatch(name) is not None and name.partition(".")[0].casefold() in _PACKAGE_PREFIXES


def parse_link(name: str) -> str:
    """The URL of a name with a scheme or of a host name (https); otherwise empty."""
    if _SCHEME.fullmatch(name):
        return name
    host = name.partition("/")[0]
    if not _DOTTED.fullmatch(host) or is_package(name) or " " in name:
        return ""
    return f"https://{name}" if host.rpartition(".")[2].casefold() in _HOST_SUFFIXES else ""
