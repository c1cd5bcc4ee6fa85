"""Rooms full of what makes screens hard: each is small, and says in a line of status what was done in it.

What a room remembers lies in its own arguments, so that it is as new each time it is entered.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

from msgspec import Struct

from clawperator.phone.toolkit.app import App, Build, back, go
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    Rows,
    View,
    button,
    checkbox,
    column,
    frame,
    icon,
    item,
    listing,
    row,
    scroll,
    strip,
    text,
    title,
    toolbar,
)

PACKAGE = "com.clawperator.hard"
ENDLESS = 100_000

_LATE_MS = (400, 1_500, 4_000)
_READY_MS = 2_000
_SPIN_MS, _SPINS = 100, 30
_AMBUSH_MS = 700
_SIDE = 12  # of the square of tiny targets
_TEXTS = (
    "Two\nlines",
    "Three\n\nlines, one of them empty",
    "A tab\tin between",
    "👩‍👩‍👧 family, 🇳🇴 flag, 👍🏽 thumb",
    "中文字符、日本語、한국어",
    "مرحبا بالعالم",
    "שלום, world",
    "\"double\", 'single', `back` & <angle>",
    "$HOME; rm -rf ~ | $(true)",
    "e\u0301 is not é",
    "  spaces around  ",
    "no\u00a0break",
    "100 % {brace} [bracket] \\ backslash",
)
_DUPLICATES = 5
_NAMES = ("Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot")


class Room(Struct, frozen=True):
    name: str
    title: str
    summary: str
    build: Callable[[AppContext], tuple[View, ...]]
    enter: Effect | None = None


def apps() -> list[App]:
    app = App(PACKAGE, "Hard Mode", state={"agreed": False})
    app.screen("home", title="Hard Mode")(_menu)
    for room in _ROOMS:
        app.screen(room.name, title=room.title, on_show=room.enter)(_furnished(room))
    app.dialog("rating", title="Enjoying Hard Mode?")(_rating)
    app.dialog("terms", title="Terms", cancelable=False)(_terms)
    return [app]


def _menu(_: AppContext) -> View:
    rooms = (item(room.title, room.summary, go(room.name)) for room in _ROOMS)
    return column(toolbar("Hard Mode"), listing(*rooms, id="rooms"), weight=1)


def _furnished(room: Room) -> Build:
    """A room with its name above and its status below."""

    def build(here: AppContext) -> View:
        bar = toolbar(room.title, icon("Leave", back, id="leave"))
        status = text(here.args.get("status", "Nothing happened yet"), id="status", padding=12)
        return column(bar, *room.build(here), status, weight=1)

    return build


def _say(status: str) -> Effect:
    return lambda here: here.args.__setitem__("status", status)


def _keep(key: str, value: Any) -> Effect:
    return lambda here: here.args.__setitem__(key, value)


# Lists


def _endless(_: AppContext) -> tuple[View, ...]:
    def line(i: int) -> View:
        return item(f"Row {i + 1:,}", on_click=_say(f"Row {i + 1:,}"))

    return (listing(rows=Rows(ENDLESS, 56, line), id="endless"),)


def _shelves(_: AppContext) -> tuple[View, ...]:
    def card(shelf: int, i: int) -> View:
        label = f"Book {shelf}.{i}"
        return View(text=label, on_click=_say(label), width=112, height=88, padding=12, tone="surface")

    def shelf(i: int) -> View:
        cards = (card(i + 1, n + 1) for n in range(20))
        return column(text(f"Shelf {i + 1}"), strip(*cards, id=f"shelf_{i + 1}", height=96, gap=8))

    return (listing(rows=Rows(30, 140, shelf), id="shelves"),)


def _inner_list(_: AppContext) -> tuple[View, ...]:
    def line(i: int) -> View:
        return item(f"Inner {i + 1}", on_click=_say(f"Inner {i + 1}"))

    above = (text(f"Paragraph {i + 1} above the list", height=64) for i in range(6))
    below = (text(f"Paragraph {i + 1} below the list", height=64) for i in range(12))
    inner = listing(rows=Rows(50, 56, line), id="inner", height=240, weight=0)
    return (scroll(*above, inner, *below, button("At the end", _say("At the end")), id="page"),)


def _far_away(_: AppContext) -> tuple[View, ...]:
    lines = (text(f"Line {i + 1}", height=56) for i in range(40))
    return (scroll(*lines, button("Far away", _say("Far away"), id="far"), id="page"),)


def _restless(here: AppContext) -> tuple[View, ...]:
    order = here.args.setdefault("order", list(_NAMES))

    def choose(name: str) -> Effect:
        def run(there: AppContext) -> None:
            there.args["order"] = order[1::2] + order[::2]
            there.args["status"] = name

        return run

    return (listing(*(item(name, on_click=choose(name)) for name in order), id="restless"),)


def _ghost(here: AppContext) -> tuple[View, ...]:
    def vanish(there: AppContext) -> None:
        there.args.update(gone=True, status="The ghost is gone")

    ghost = () if here.args.get("gone") else (item("Ghost", on_click=vanish, id="ghost"),)
    return (listing(item("Before"), *ghost, item("Behind", on_click=_say("Behind")), id="haunted"),)


# Names


def _unlabelled(_: AppContext) -> tuple[View, ...]:
    icons = [icon("", _say(f"Icon {i + 1}")) for i in range(12)]
    return (column(*(row(*icons[i : i + 4], gap=16) for i in range(0, 12, 4)), gap=16, weight=1, padding=16),)


def _same_names(_: AppContext) -> tuple[View, ...]:
    rows = (item("Item", on_click=_say(f"Item, number {i + 1}")) for i in range(_DUPLICATES))
    return (listing(*rows, id="items"),)


def _many_deletes(here: AppContext) -> tuple[View, ...]:
    left = here.args.setdefault("left", list(_NAMES))

    def delete(name: str) -> Effect:
        def run(there: AppContext) -> None:
            there.args.update(left=[other for other in left if other != name], status=f"{name} deleted")

        return run

    return (listing(*(item(name, end=button("Delete", delete(name), width=112)) for name in left), id="names"),)


def _odd_texts(_: AppContext) -> tuple[View, ...]:
    return (listing(*(item(label, on_click=_say(label)) for label in _TEXTS), id="texts"),)


# Time


def _arrive(here: AppContext) -> None:
    here.args.update(arrived=0, spins=0, ready=False)
    for i, milliseconds in enumerate(_LATE_MS):
        here.after(milliseconds, _keep("arrived", i + 1))
    here.after(_READY_MS, _keep("ready", True))
    here.after(_SPIN_MS, _spin)


def _spin(here: AppContext) -> None:
    here.args["spins"] += 1
    if here.args["spins"] < _SPINS:
        here.after(_SPIN_MS, _spin)


def _late(here: AppContext) -> tuple[View, ...]:
    spins = here.args["spins"]
    turning = "Done" if spins >= _SPINS else f"Working, {spins * 100 // _SPINS} %"
    by_now = _LATE_MS[: here.args["arrived"]]
    arrived = (item(f"Arrived after {ms} ms", on_click=_say(f"{ms} ms")) for ms in by_now)
    ready = button("Go on", _say("Gone on"), id="ready", enabled=here.args["ready"])
    return text(turning, id="spinner", padding=12), ready, listing(*arrived, id="arrivals")


def _ambush(dialog: str) -> Effect:
    def spring(here: AppContext) -> None:
        # Whoever has left the room by then is not followed.
        if here.is_in_front:
            here.go(dialog)

    return lambda here: here.after(_AMBUSH_MS, spring)


def _claim(_: AppContext) -> tuple[View, ...]:
    return text("Something will cover this."), button("Claim", _say("Claimed"), id="claim"), View(weight=1)


def _rating(_: AppContext) -> View:
    return column(
        title("Enjoying Hard Mode?"),
        button("Rate it", back, id="android:id/button1"),
        button("Not now", back, id="android:id/button2"),
        padding=16,
        gap=8,
    )


def _terms(here: AppContext) -> View:
    return column(
        title("Terms"),
        text("Neither Back nor a tap beside this takes it away."),
        checkbox("I have read them", "agreed", id="agree"),
        button("Accept", back, id="android:id/button1", enabled=here.state["agreed"]),
        padding=16,
        gap=8,
    )


def _forget_terms(here: AppContext) -> None:
    here.state["agreed"] = False
    _ambush("terms")(here)


# Touch


def _hole(_: AppContext) -> tuple[View, ...]:
    return (View(class_name="android.webkit.WebView", weight=1, on_click=_say("The hole was touched")),)


def _odd_buttons(_: AppContext) -> tuple[View, ...]:
    label = text("Tap my far ancestor")
    inner = reduce(lambda view, _: frame(view), range(4), label)
    return (
        button("Does nothing", id="idle"),
        button("Disabled", _say("A disabled button was pressed"), id="disabled", enabled=False),
        frame(inner, on_click=_say("Far ancestor"), id="ancestor", padding=12),
        text("Press me long", id="long", padding=12, on_long_click=_say("Pressed long")),
        View(weight=1),
    )


def _slivers(_: AppContext) -> tuple[View, ...]:
    parts = (
        View(desc="No height", on_click=_say("No height"), id="flat"),
        button("Visible", _say("Visible"), id="visible"),
        row(View(desc="No width", on_click=_say("No width"), height=48, id="thin"), height=48),
        text("", id="empty", padding=0),
    )
    return (scroll(*parts, id="slivers"),)


def _canvas(_: AppContext) -> tuple[View, ...]:
    def dot(line: int, at: int) -> View:
        name = f"{line + 1}:{at + 1}"
        return View(desc=name, on_click=_say(name), width=8, height=8, tone="accent")

    lines = (row(*(dot(line, at) for at in range(_SIDE)), gap=2) for line in range(_SIDE))
    return (column(*lines, gap=2, padding=16, weight=1, id="canvas"),)


_ROOMS = (
    Room("endless", "Endless list", "A hundred thousand rows", _endless),
    Room("shelves", "Shelves", "Strips that scroll sideways in a list", _shelves),
    Room("inner_list", "List in a page", "Two things scroll the same way", _inner_list),
    Room("far_away", "Far away", "A button below a long page", _far_away),
    Room("restless", "Restless list", "Another order after each tap", _restless),
    Room("ghost", "Ghost", "A row that vanishes when it is tapped", _ghost),
    Room("unlabelled", "Icons without names", "No text, no description, no id", _unlabelled),
    Room("same_names", "Same names", "Five rows that read the same", _same_names),
    Room("many_deletes", "Many deletes", "One button per row, all called Delete", _many_deletes),
    Room("odd_texts", "Odd texts", "Lines, emoji, scripts and quotes", _odd_texts),
    Room("late", "Late content", "Rows that arrive one by one", _late, _arrive),
    Room("ambush", "Ambush", "A dialog comes up and covers the room", _claim, _ambush("rating")),
    Room("siege", "Siege", "A dialog that will not be waved away", _claim, _forget_terms),
    Room("hole", "Hole", "A page that tells nothing of itself", _hole),
    Room("odd_buttons", "Odd buttons", "Idle, disabled, far away, or for long presses", _odd_buttons),
    Room("slivers", "Slivers", "Views with no height or no width", _slivers),
    Room("canvas", "Canvas", "Targets of a few pixels", _canvas),
)
