"""What is known beforehand: the names of some apps, and where in them well-known facts and switches are.

A place is gone to only when the name is not on the screen. It is a guess that is checked at each step: where a
phone has other pages, the label is not found and the instruction fails.
"""

import re
from functools import lru_cache
from unicodedata import normalize

from msgspec import Struct

# Names that people use, and the package that is meant. Any other name is looked for on the phone.
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
# The names a package may begin with, and the endings of names of hosts that are taken for links.
_PACKAGE_HEADS = frozenset(
    ("com", "org", "net", "io", "de", "app", "me", "dev", "android", "uk", "fr", "jp", "cn")
)
_HOST_TAILS = frozenset(
    ("com", "org", "net", "io", "dev", "de", "uk", "fr", "eu", "info", "edu", "gov", "invalid")
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?\S+")
_DOTTED = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_LONGEST_SQUASHED = 1_000


class Place(Struct, frozen=True):
    """A label behind some pages of an app, the first of which is on its first page."""

    pages: tuple[str, ...]
    label: str
    app: str = SETTINGS


def _on(*pages: str, **labels: str) -> dict[str, Place]:
    """Places on one page: by keyword, words with underscores for spaces, the label each is found under."""
    return {name.replace("_", " "): Place(pages, label) for name, label in labels.items()}


PLACES: dict[str, Place] = {
    **_on(
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
    **_on("About phone", "Android version", "Build details", api_level="API level", processor="Processor"),
    **_on("Battery", battery_level="Battery level", battery="Battery level", battery_saver="Battery Saver"),
    **_on("Storage", free_space="Free space", free_storage="Free space"),
    **_on(
        "Network & internet",
        network="Internet",
        wifi_network="Internet",
        airplane_mode="Airplane mode",
        data_saver="Data Saver",
    ),
    **_on("Network & internet", "Internet", wifi="Wi-Fi"),
    **_on("Connected devices", bluetooth="Use Bluetooth"),
    **_on(
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
    **_on("Sound & vibration", do_not_disturb="Do Not Disturb"),
    **_on("Security & privacy", security_update="Security update"),
    **_on("Location", location="Use location"),
    **_on("System", "Date & time", time_zone="Time zone", time_format="Time format"),
}


def squash(text: str) -> str:
    """The letters and digits of a text in lower case: Wi-Fi is wifi, & is and. A very long one is left so."""
    return _squash(text) if len(text) <= _LONGEST_SQUASHED else text


@lru_cache(maxsize=1024)
def _squash(text: str) -> str:
    return "".join(c for c in normalize("NFC", text).casefold().replace("&", "and") if c.isalnum())


_PLACES = {squash(name): place for name, place in PLACES.items()}


def find_place(name: str) -> Place | None:
    return _PLACES.get(squash(name))


def known_app(name: str) -> str:
    """The package that is meant: one of the table, or the name itself when it is a package; else nothing."""
    known = APPS.get(" ".join(name.casefold().split()))
    return known or (name if is_package(name) else "")


def is_package(name: str) -> bool:
    return _DOTTED.fullmatch(name) is not None and name.partition(".")[0].casefold() in _PACKAGE_HEADS


def as_link(name: str) -> str:
    """The link that is meant: one with a scheme as it is, the name of a host by https; else nothing."""
    if _SCHEME.fullmatch(name):
        return name
    host = name.partition("/")[0]
    if not _DOTTED.fullmatch(host) or is_package(name) or " " in name:
        return ""
    return f"https://{name}" if host.rpartition(".")[2].casefold() in _HOST_TAILS else ""
