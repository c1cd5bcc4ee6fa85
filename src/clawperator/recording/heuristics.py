"""Rules about single events: launchers, keyboards, system UI, masked texts, transient windows, vanished targets.

Every package that asks such a question asks it here. The rules read package and class names, never labels on the
screen, so they hold in any language. A recording repeats the same few names: answers are cached.
"""

from functools import lru_cache
from typing import Literal

from clawperator._base.text import trim
from clawperator.recording.events import ClickFacts, ScrollFacts, TextChangeFacts

NavigationKey = Literal["back", "home", "recents"]

SYSTEM_UI = "com.android.systemui"
# The window of the system's back gesture.
GESTURE_WINDOW = "android.view.View"

_LAUNCHER_WORDS = ("launcher", "trebuchet")
_LAUNCHERS = frozenset(("com.miui.home", "com.sonyericsson.home", "com.sonymobile.home"))
_KEYBOARD_WORDS = ("inputmethod", "keyboard", "honeyboard", "swiftkey")
_KEYBOARD_WINDOWS = ("SoftInputWindow", "inputmethodservice")
_FIELD_WORDS = ("input", "edit", "field", "search", "query", "textbox")
_DIALOG_WORDS = ("dialog", "popup", "bottomsheet", "picker")
_TRANSIENT_WORDS = ("toast", "loading", "progress", "splash")
_SHORTEST_ALIKE = 3  # shorter texts are part of too many labels
_NAVIGATION_KEYS: dict[str, NavigationKey] = {
    "back": "back",
    "home": "home",
    "home_button": "home",
    "recent_apps": "recents",
    "recents": "recents",
    "overview": "recents",
}


@lru_cache(1_024)
def is_launcher(package: str) -> bool:
    name = package.lower()
    return name in _LAUNCHERS or any(word in name for word in _LAUNCHER_WORDS)


_MASKED_SECRET = "••••"  # HIDDEN of ``ui.node``, which would cost every command on recordings half a millisecond


@lru_cache(1_024)
def is_keyboard(package: str, window: str | None = None) -> bool:
    """Whether a package is a keyboard, by its name or the class of one of its windows."""
    name = package.lower()
    if "ime" in name.split(".") or any(word in name for word in _KEYBOARD_WORDS):
        return True
    return any(word in (window or "") for word in _KEYBOARD_WINDOWS)


def is_masked(text: str) -> bool:
    """Whether a text is what a password field shows instead of its content, or has a masked secret in it.

    That is bullets, of which Android may leave one character readable, the last one typed; or only asterisks.
    """
    if _MASKED_SECRET in text:
        return True
    readable = text.strip("•●")
    if len(readable) < len(text):
        return len(readable) <= 1
    return bool(text) and not text.strip("*")


@lru_cache(1_024)
def is_transient(window: str) -> bool:
    """Whether a window comes and goes by itself, or is a part of one that its app announces as a window."""
    name = window.lower()
    if name.startswith(("android.widget.", "android.view.")):
        return True
    return not name.endswith("activity") and any(word in name for word in _TRANSIENT_WORDS)


@lru_cache(1_024)
def is_dialog(window: str) -> bool:
    """Whether a window class is named like a dialog. One without a package is an obfuscated dialog."""
    if not window or window.endswith("Activity"):
        return False
    return "." not in window or any(word in window.lower() for word in _DIALOG_WORDS)


@lru_cache(1_024)
def is_recents(package: str, window: str, title: str | None) -> bool:
    """Whether a window is the list of recent apps."""
    return "recents" in window.lower() or (is_launcher(package) and "recent" in (title or "").lower())


def is_vanished(click: ClickFacts) -> bool:
    """Whether the target was gone when the click was recorded: it has no size, and its label may be another's."""
    bounds = click.bounds
    return bounds.right <= bounds.left or bounds.bottom <= bounds.top


def navigation_key(click: ClickFacts) -> NavigationKey | None:
    """The key of the navigation bar that was clicked, by its id, its description or its text."""
    if click.packageName != SYSTEM_UI:
        return None
    names = (id_name(click.resourceId), click.contentDesc or "", click.text or "")
    return next((key for name in names if (key := _NAVIGATION_KEYS.get(name.lower()))), None)


def focuses_field(click: ClickFacts, change: TextChangeFacts) -> bool:
    """Whether a click put the cursor into the field that holds a text, by their resource ids."""
    if change.resourceId is not None:
        return click.resourceId == change.resourceId
    name = id_name(click.resourceId).lower()
    return any(word in name for word in _FIELD_WORDS)


def scroll_axis(scroll: ScrollFacts) -> Literal["vertical", "horizontal"] | None:
    """Along which axis the content moved, as far as the event holds that."""
    if scroll.maxScrollY > 0 or scroll.scrollY > 0:
        return "vertical"
    return "horizontal" if scroll.maxScrollX > 0 or scroll.scrollX > 0 else None


def id_name(resource_id: str | None) -> str:
    """The part of a resource id that names the element."""
    return resource_id.rpartition("/")[2] if resource_id else ""


def label_of(click: ClickFacts) -> str:
    return trim(click.text or "") or trim(click.contentDesc or "") or id_name(click.resourceId)


def is_alike(text: str, label: str) -> bool:
    """Whether one of them is a part of the other, and long enough to mean something."""
    return min(len(text), len(label)) >= _SHORTEST_ALIKE and (text in label or label in text)
