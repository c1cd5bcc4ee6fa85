"""Accessibility events: what the phone emits, and what a recording is made of."""

from typing import Any, Literal

from msgspec import Struct

from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.recording.masking import mask_text
from clawperator.ui.node import Bounds

EventKind = Literal["window_state_changed", "view_clicked", "view_scrolled", "view_text_changed", "key_back"]


class AccessibilityEvent(Struct, frozen=True, kw_only=True):
    """One event. Fields that do not apply to its kind are None."""

    kind: EventKind
    package: str
    class_name: str | None = None
    title: str | None = None
    text: str | None = None
    content_desc: str | None = None
    resource_id: str | None = None
    bounds: Bounds | None = None
    is_password: bool = False  # the text is that of a password field
    # The offsets x and y, and their maxima.
    scroll: tuple[int, int, int, int] | None = None


def window_event(entry: BackStackEntry) -> AccessibilityEvent:
    """Another window is in front."""
    name, title = entry.screen.activity, entry.screen.title or None
    return AccessibilityEvent(kind="window_state_changed", package=entry.package, class_name=name, title=title)


def click_event(placed: PlacedView) -> AccessibilityEvent:
    """A click: with the view's own text, or the first label inside it."""
    node = placed.node
    label = next((n.label for n in node.walk() if n.label), None)
    return _event(
        placed,
        "view_clicked",
        text=node.text or label,
        content_desc=node.content_desc or None,
        resource_id=node.resource_id or None,
        bounds=node.bounds,
        is_password=node.flag("password"),
    )


def scroll_event(placed: PlacedView) -> AccessibilityEvent:
    return _event(placed, "view_scrolled", scroll=(*placed.offset, *placed.extent))


def text_event(placed: PlacedView, text: str) -> AccessibilityEvent:
    """A field's text changed. Passwords are masked."""
    is_password = placed.view.edits == "password" or placed.node.flag("password")
    shown = mask_text(text) if is_password else text
    return _event(placed, "view_text_changed", text=shown, is_password=is_password)


def _event(placed: PlacedView, kind: EventKind, **facts: Any) -> AccessibilityEvent:
    package, class_name = placed.entry.package, placed.view.class_name
    return AccessibilityEvent(kind=kind, package=package, class_name=class_name, **facts)
