"""Views: plain data that describes a screen, built anew each time the screen is shown.

Sizes are in dp. A view fills the width it is given. A column gives each child its natural height and distributes
the rest among children with a ``weight``; a row does the same horizontally. The functions below are shorthands for
common ``View`` values.
"""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.toolkit.context import Change, Effect

Layout = Literal["leaf", "column", "row", "frame"]
_LIST = "androidx.recyclerview.widget.RecyclerView"


class Rows(Struct, frozen=True):
    """Rows of equal height that are built only while they are visible, for very long lists."""

    count: int
    height: float
    build: Callable[[int], "View"]


class View(Struct, frozen=True, kw_only=True, eq=False):
    """One rectangle of the screen."""

    layout: Layout = "leaf"
    class_name: str = "android.view.View"
    children: tuple["View", ...] = ()
    rows: Rows | None = None

    text: str = ""
    desc: str = ""
    hint: str = ""
    # "save" becomes package:id/save; a name with a colon or a slash is used unchanged.
    id: str = ""

    on_click: Effect | None = None
    on_long_click: Effect | None = None
    on_double_tap: Effect | None = None
    # A view with a name can be dragged; the view it is dropped on gets the name.
    drag_name: str = ""
    on_drop: Change | None = None
    on_change: Change | None = None
    on_submit: Effect | None = None
    # The key of the app's state that holds a field's text or a switch's state.
    bind: str = ""

    scrolls: Literal["", "vertical", "horizontal"] = ""
    # Whether children that are scrolled away stay in the tree: in a ScrollView, not in a RecyclerView.
    keeps_hidden: bool = False
    edits: Literal["", "text", "number", "password"] = ""
    # Whether the enter key inserts a line break.
    multiline: bool = False
    checked: bool | None = None
    selected: bool = False
    enabled: bool = True
    clickable: bool | None = None
    heading: bool = False
    collection_item: bool = False
    columns: int = 1

    width: float = 0
    height: float = 0
    weight: float = 0
    padding: float = 0
    gap: float = 0
    # In a frame: in the lower right corner, like a floating action button.
    corner: bool = False
    size: float = 16
    # The colour scheme in screenshots.
    tone: Literal["", "surface", "accent", "muted", "danger", "dark"] = ""
    # One or two characters drawn as an icon in plain screenshots; with a text, the view is an app on the launcher.
    picture: str = ""
    # A clock, whose hands or digits are in the picture only: a tree that changes each minute would help no client.
    shows_time: bool = False


def _view(more: dict[str, Any], class_name: str, **plain: Any) -> View:
    """A view with the plain attributes of its kind, unless ``more`` has others."""
    return View(**{"class_name": class_name, **plain, **more})


def text(label: str, **more: Any) -> View:
    return _view(more, "android.widget.TextView", text=label, padding=4)


def title(label: str, **more: Any) -> View:
    return text(label, **{"heading": True, "size": 22, "padding": 12, **more})


def button(label: str, on_click: Effect | None = None, **more: Any) -> View:
    plain = {"clickable": True, "height": 48, "padding": 12, "tone": "accent"}
    return _view(more, "android.widget.Button", text=label, on_click=on_click, **plain)


def icon(desc: str, on_click: Effect | None = None, **more: Any) -> View:
    """An image button. Without ``desc`` it has no label."""
    plain = {"width": 48, "height": 48, "clickable": True}
    return _view(more, "android.widget.ImageButton", desc=desc, on_click=on_click, **plain)


def image(desc: str = "", **more: Any) -> View:
    return _view(more, "android.widget.ImageView", desc=desc, width=40, height=40)


def field(bind: str, hint: str = "", **more: Any) -> View:
    """A text field whose text is kept in the app's state under ``bind``."""
    return _view(more, "android.widget.EditText", bind=bind, hint=hint, edits="text", height=56, padding=12)


def switch(bind: str, **more: Any) -> View:
    """A switch whose state is kept in the app's state under ``bind`` as a bool. With ``text`` it fills a row."""
    size = {"padding": 12} if more.get("text") else {"width": 52}
    return _view(more, "android.widget.Switch", bind=bind, height=48, checked=False, **size)


def checkbox(label: str, bind: str, **more: Any) -> View:
    return _view(more, "android.widget.CheckBox", text=label, bind=bind, height=48, padding=12, checked=False)


def radio(label: str, on_click: Effect | None = None, **more: Any) -> View:
    """A radio button. The app sets ``checked`` each time it builds the screen."""
    plain = {"height": 48, "padding": 12, "checked": False}
    return _view(more, "android.widget.RadioButton", text=label, on_click=on_click, **plain)


def progress(desc: str = "", **more: Any) -> View:
    """A progress bar."""
    return _view(more, "android.widget.ProgressBar", desc=desc, height=8, tone="accent")


def column(*children: View, **more: Any) -> View:
    return _view(more, "android.widget.LinearLayout", layout="column", children=children)


def row(*children: View, **more: Any) -> View:
    return _view(more, "android.widget.LinearLayout", layout="row", children=children)


def frame(*children: View, **more: Any) -> View:
    """Children on top of each other, the last one topmost."""
    return _view(more, "android.widget.FrameLayout", layout="frame", children=children)


def scroll(*children: View, **more: Any) -> View:
    """A scrolling page. Children that are scrolled away stay in the tree."""
    plain = {"scrolls": "vertical", "keeps_hidden": True}
    return column(*children, **{"class_name": "android.widget.ScrollView", **plain, **_filling(more)})


def listing(*children: View, **more: Any) -> View:
    """A scrolling list. Children that are scrolled away leave the tree."""
    return column(*children, **{"class_name": _LIST, "scrolls": "vertical", **_filling(more)})


def _filling(more: dict[str, Any]) -> dict[str, Any]:
    """A scrolling view takes the remaining height, unless it has one of its own."""
    return more if "height" in more else {"weight": 1, **more}


def strip(*children: View, **more: Any) -> View:
    """A list that scrolls horizontally."""
    return row(*children, **{"class_name": _LIST, "scrolls": "horizontal", **more})


def item(
    label: str, summary: str = "", on_click: Effect | None = None, *, end: View | None = None, **more: Any
) -> View:
    """A list row: a title, an optional summary below it, and an optional view at the end."""
    lines = [text(label, id="android:id/title", padding=2)]
    if summary:
        lines.append(text(summary, id="android:id/summary", size=14, tone="muted", padding=2))
    words = column(*lines, weight=1, class_name="android.widget.RelativeLayout")
    parts = (words, end) if end is not None else (words,)
    plain = {"padding": 12, "collection_item": True}
    return row(*parts, on_click=on_click, clickable=on_click is not None, **{**plain, **more})


def toolbar(label: str, *actions: View, **more: Any) -> View:
    """The bar at the top of a screen. Without a label its first text is the title, and the rest is at the end."""
    plain = {"class_name": "androidx.appcompat.widget.Toolbar", "height": 56, "padding": 4, "tone": "surface"}
    named = text(label, size=20, weight=1, padding=12, height=48)
    if not label:
        first = next((view for view in actions if view.class_name == named.class_name and not view.weight), None)
        return row(*(replace(view, weight=1) if view is first else view for view in actions), **{**plain, **more})
    return row(named, *actions, **{**plain, **more})


def tabs(*children: View, **more: Any) -> View:
    name = "com.google.android.material.bottomnavigation.BottomNavigationView"
    return row(*children, **{"class_name": name, "height": 64, "tone": "surface", **more})


def tab(label: str, on_click: Effect | None = None, **more: Any) -> View:
    plain = {"weight": 1, "height": 64, "clickable": True, "padding": 12}
    return _view(more, "android.widget.FrameLayout", text=label, on_click=on_click, **plain)


def alert(label: str, content: View, no: View, yes: View) -> View:
    """The view of a dialog: a title, its content, and two buttons side by side, with the ids of Android's."""
    buttons = (replace(no, id="android:id/button2", weight=1), replace(yes, id="android:id/button1", weight=1))
    named = title(label, id="android:id/alertTitle")
    return column(named, content, row(*buttons, gap=8), padding=16, tone="surface")


def web(*children: View, **more: Any) -> View:
    """A page drawn by a browser engine: its parts have no widget classes and no package ids."""
    return column(*children, **{"class_name": "android.webkit.WebView", "weight": 1, **more})
