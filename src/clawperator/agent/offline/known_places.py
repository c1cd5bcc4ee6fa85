"""Built-in names of apps, and the Settings pages of well-known values and switches.

A known place is opened only when the name is not on the screen. Each step to it is checked: on a device with
other pages the label is not found, and the instruction fails.
"""

import re
from functools import lru_cache
from unicodedata import normalize

from msgspec import Struct

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


class KnownPlace(Struct, frozen=True):
    """A label, and the pages of an app that lead to it from the app's first page."""

    pages: tuple[str, ...]
    label: str
    app: str = SETTINGS


def _page(*pages: str, **labels: str) -> dict[str, KnownPlace]:
    """Places on one page: name (with underscores for spaces) to label."""
    return {name.replace("_", " "): KnownPlace(pages, label) for name, label in labels.items()}


PLACES: dict[str, KnownPlace] = {
    **_page(
        "About phone",
        android_version="Android version",
        version_of_android="Android version",
        device_name="Device name",
        name_of_the_phone="Device name",
        phone_name="Device name",
        model="Model",
        phone_model="Model",
        serial_number="Serial number",
        build_number="Build number",
    ),
    **_page("About phone", "Android version", "Build details", api_level="API level", processor="Processor"),
    **_page("Battery", battery_level="Battery level", battery="Battery level", battery_saver="Battery Saver"),
    **_page("Storage", free_space="Free space", free_storage="Free space"),
    **_page(
        "Network & internet",
        network="Internet",
        wifi_network="Internet",
        airplane_mode="Airplane mode",
        data_saver="Data Saver",
    ),
    **_page("Network & internet", "Internet", wifi="Wi-Fi"),
    **_page("Connected devices", bluetooth="Use Bluetooth"),
    **_page(
        "Display",
        brightness="Brightness level",
        brightness_level="Brightness level",
        screen_timeout="Screen timeout",
        font_size="Font size",
        dark_theme="Dark theme",
        dark_mode="Dark theme",
        night_light="Night Light",
        adaptive_brightness="Adaptive brightness",
    ),
    **_page("Sound & vibration", do_not_disturb="Do Not Disturb"),
    **_page("Security & privacy", security_update="Security update"),
    **_page("Location", location="Use location"),
    **_page("System", "Date & time", time_zone="Time zone", time_format="Time format"),
}


def normalize_label(text: str) -> str:
    """Letters and digits of a text in lower case: "Wi-Fi" is "wifi", "&" is "and". Keeps very long texts."""
    return _normalize_label(text) if len(text) <= _MAX_NORMALIZED else text


@lru_cache(maxsize=1024)
def _normalize_label(text: str) -> str:
    return "".join(c for c in normalize("NFC", text).casefold().replace("&", "and") if c.isalnum())


_PLACES = {normalize_label(name): place for name, place in PLACES.items()}


def find_place(name: str) -> KnownPlace | None:
    return _PLACES.get(normalize_label(name))


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
