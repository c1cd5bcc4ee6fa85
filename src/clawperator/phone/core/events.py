"""What accessibility tells its services: the events behind a recording."""

from typing import Literal

from msgspec import Struct

from clawperator.ui.node import Bounds

EventKind = Literal["window_state_changed", "view_clicked", "view_scrolled", "view_text_changed", "key_back"]


class AccessibilityEvent(Struct, frozen=True, kw_only=True):
    """One event. Fields that its kind does not have are None."""

    kind: EventKind
    package: str
    class_name: str | None = None
    title: str | None = None
    text: str | None = None
    content_desc: str | None = None
    resource_id: str | None = None
    bounds: Bounds | None = None
    # x, y, and the furthest each can go.
    scroll: tuple[int, int, int, int] | None = None
