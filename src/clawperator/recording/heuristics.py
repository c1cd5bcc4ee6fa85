"""What single events give away: keyboards, launchers, dialogs, windows in passing, clicks on nothing.

The rules read names of packages and classes, never words on the screen, so they hold in any language. A recording
asks the same few questions again and again: answers are kept.
"""

from collections.abc import Sequence
from functools import lru_cache

from clawperator._text import trim
from clawperator.recording.export import ExportedClick, ExportedEvent, ExportedPressKey, ExportedWindowChange

SYSTEM_UI = "com.android.systemui"
_KEYBOARD_WINDOWS = ("SoftInputWindow", "inputmethodservice")
_DIALOG_WORDS = ("dialog", "popup", "bottomsheet", "picker")
_PASSING_WORDS = ("toast", "loading", "progress", "splash")


def keyboards(events: Sequence[ExportedEvent]) -> frozenset[str]:
    """The packages that are keyboards: they say so in their name, or in that of one of their windows."""
    packages = {event.packageName for event in events if not isinstance(event, ExportedPressKey)}
    windows = {(e.packageName, e.className) for e in events if type(e) is ExportedWindowChange}
    return frozenset(p for p, window in [*((p, None) for p in packages), *windows] if is_keyboard(p, window))


@lru_cache(1_024)
def is_keyboard(package: str, window: str | None) -> bool:
    return "inputmethod" in package or any(word in (window or "") for word in _KEYBOARD_WINDOWS)


def is_vanished(event: ExportedEvent) -> bool:
    """A click whose target was gone when it was written down: it has no size, and its words may be another's."""
    if not isinstance(event, ExportedClick):
        return False
    bounds = event.bounds
    return bounds.right <= bounds.left or bounds.bottom <= bounds.top


@lru_cache(1_024)
def is_launcher(package: str) -> bool:
    return "launcher" in package or package == "com.miui.home"


def is_masked(text: str) -> bool:
    """Whether a text is the dots a password field shows."""
    return bool(text) and not text.strip("•*●")


def name_of(resource_id: str | None) -> str:
    """The part of a resource id that names the element."""
    return resource_id.rpartition("/")[2] if resource_id else ""


def label_of(click: ExportedClick) -> str:
    return trim(click.text or "") or trim(click.contentDesc or "") or name_of(click.resourceId)


@lru_cache(1_024)
def is_passing(window: str) -> bool:
    """A window that comes and goes by itself, or a piece of one that its app announces as a window."""
    word = window.lower()
    if word.startswith(("android.widget.", "android.view.")):
        return True
    return not word.endswith("activity") and any(passing in word for passing in _PASSING_WORDS)


@lru_cache(1_024)
def is_dialog(window: str) -> bool:
    """A class that says so, or one without a package: only the windows of obfuscated dialogs have such names."""
    if not window or window.endswith("Activity"):
        return False
    return "." not in window or any(word in window.lower() for word in _DIALOG_WORDS)
