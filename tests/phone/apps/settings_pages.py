"""Navigation in the Settings app, for several tests."""

from clawperator.phone.core.phone import Phone
from clawperator.ui.node import Node
from tests.phone.screen import find, reveal, tap

SETTINGS = "com.android.settings"


def walk(phone: Phone, *titles: str) -> None:
    """Tap one row after the other, scrolling to it if necessary."""
    for title in titles:
        reveal(phone, id="android:id/title", text=title)
        tap(phone, id="android:id/title", text=title)


def row_of(phone: Phone, title: str) -> Node:
    return next(
        node for node in find(phone, id="android:id/title", text=title).ancestors() if node.flag("clickable")
    )


def part_of(phone: Phone, title: str, name: str) -> Node:
    return next(node for node in row_of(phone, title).walk() if node.resource_id == f"android:id/{name}")


def bar(phone: Phone) -> str:
    return find(phone, id="action_bar").text


def is_on(phone: Phone, title: str) -> bool:
    return part_of(phone, title, "switch_widget").flag("checked")
