"""A stress app: one small screen per scenario that is hard to automate, each with a status line.

A scenario keeps its state in the arguments of its screen, so that it starts afresh each time it is opened.

Tasks are seeded: find one row in a list that arrives late, moves, has duplicates, or is covered. The link
``hard:task/42`` opens task 42; ``stress_task(42)`` describes it. The app's state holds the truth: ``taps`` are the
numbers of the rows that were touched, in order.
"""

from collections.abc import Callable
from functools import reduce
from random import Random
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

# Tasks

LINK = "hard:task/"
SCREEN = "task"
_NOTICE = "task_notice"
_WORDS = ("Amber", "Basil", "Cedar", "Dune", "Ember", "Fjord", "Grove", "Hazel", "Iris", "Juniper", "Kelp", "Lark")
_KINDS = ("invoice", "parcel", "photo", "ticket")
_ROWS = 9
_MOVE_MS = 250
_MAX_SEED = 10**9


class StressTask(Struct, frozen=True):
    """A task: tap the row with the label ``target``.

    ``rows`` are the labels by row number. ``late`` are the milliseconds after which each row appears. ``moves`` is
    how often the rows change their order, ``notice_ms`` when a dialog covers the list, 0 for never.
    """

    seed: int
    target: str
    rows: tuple[str, ...]
    late: tuple[int, ...]
    moves: int
    notice_ms: int

    @property
    def matches(self) -> tuple[int, ...]:
        """The numbers of the rows that have the label: none, one, or several."""
        return tuple(number for number, label in enumerate(self.rows) if label == self.target)

    def order(self, move: int) -> list[int]:
        """The order of the rows after so many moves."""
        order = list(range(len(self.rows)))
        for number in range(min(move, self.moves)):
            Random(f"{self.seed}:{number}").shuffle(order)  # noqa: S311 - reproducible on purpose
        return order


def stress_task(seed: int) -> StressTask:
    """The task of a seed. One in eight has no such row, one in eight has two of them."""
    random = Random(seed)  # noqa: S311 - reproducible on purpose
    labels = [f"{word} {kind}" for word in _WORDS for kind in _KINDS]
    target, *others = random.sample(labels, _ROWS + 1)
    kind = seed % 8
    if kind == 0:
        rows = others
    elif kind == 1:
        rows = [target, target, *others[2:]]
    else:
        rows = [target, *others[1:]]
    random.shuffle(rows)
    return StressTask(
        seed,
        target,
        tuple(rows),
        tuple(random.choice((0, 0, 0, 300, 900)) for _ in rows),
        random.choice((0, 0, 2, 5)),
        random.choice((0, 0, 0, 200, 600)),
    )


def _task_of(context: AppContext) -> StressTask:
    word = str(context.args.get("uri", "")).lower().removeprefix(LINK)
    return stress_task(min(int(word), _MAX_SEED) if word.isascii() and word.isdigit() and len(word) < 20 else 0)


def _begin(context: AppContext) -> None:
    task = _task_of(context)
    context.state["taps"] = []
    context.args.update(elapsed=0, move=0)
    for milliseconds in sorted(set(task.late) - {0}):
        context.after(milliseconds, _set_arg("elapsed", milliseconds))
    for move in range(task.moves):
        context.after(_MOVE_MS * (move + 1), _set_arg("move", move + 1))
    if task.notice_ms:
        context.after(task.notice_ms, _cover_with(_NOTICE))


def _task(context: AppContext) -> View:
    task = _task_of(context)
    shown = [n for n in task.order(context.args["move"]) if task.late[n] <= context.args["elapsed"]]
    rows = (item(task.rows[number], on_click=_tap(number)) for number in shown)
    done = text(f"{len(context.state['taps'])} taps", id="status", padding=12)
    return column(toolbar("Task"), listing(*rows, id="rows"), done, weight=1)


def _tap(number: int) -> Effect:
    return lambda context: context.state["taps"].append(number)


def _notice(_: AppContext) -> View:
    return column(text("Something came up."), button("Close", back), padding=16, gap=8)


# Scenarios

PACKAGE = "com.clawperator.hard"
ENDLESS = 100_000

_LATE_MS = (400, 1_500, 4_000)
_READY_MS = 2_000
_SPIN_MS, _SPINS = 100, 30
_AMBUSH_MS = 700
_GRID_SIDE = 12  # of the square of tiny targets
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


class Scenario(Struct, frozen=True):
    name: str
    title: str
    summary: str
    build: Callable[[AppContext], tuple[View, ...]]
    on_show: Effect | None = None


def apps() -> list[App]:
    app = App(PACKAGE, "Hard Mode", state={"agreed": False, "taps": []}, links=(LINK,), link_screen=SCREEN)
    app.screen("home", title="Hard Mode")(_menu)
    for scenario in SCENARIOS:
        app.screen(scenario.name, title=scenario.title, on_show=scenario.on_show)(_with_status(scenario))
    app.dialog("rating", title="Enjoying Hard Mode?")(_rating)
    app.dialog("terms", title="Terms", cancelable=False)(_terms)
    app.screen(SCREEN, title="Task", on_show=_begin)(_task)
    app.dialog(_NOTICE, title="Notice")(_notice)
    return [app]


def _menu(_: AppContext) -> View:
    rows = (item(scenario.title, scenario.summary, go(scenario.name)) for scenario in SCENARIOS)
    return column(toolbar("Hard Mode"), listing(*rows, id="scenarios"), weight=1)


def _with_status(scenario: Scenario) -> Build:
    """A scenario with its title above and its status line below."""

    def build(context: AppContext) -> View:
        bar = toolbar(scenario.title, icon("Leave", back, id="leave"))
        status = text(context.args.get("status", "Nothing happened yet"), id="status", padding=12)
        return column(bar, *scenario.build(context), status, weight=1)

    return build


def _set_status(status: str) -> Effect:
    return _set_arg("status", status)


def _set_arg(key: str, value: Any) -> Effect:
    return lambda context: context.args.__setitem__(key, value)


# Lists


def _endless(_: AppContext) -> tuple[View, ...]:
    def line(i: int) -> View:
        return item(f"Row {i + 1:,}", on_click=_set_status(f"Row {i + 1:,}"))

    return (listing(rows=Rows(ENDLESS, 56, line), id="endless"),)


def _shelves(_: AppContext) -> tuple[View, ...]:
    def card(shelf: int, i: int) -> View:
        label = f"Book {shelf}.{i}"
        return View(text=label, on_click=_set_status(label), width=112, height=88, padding=12, tone="surface")

    def shelf(i: int) -> View:
        cards = (card(i + 1, n + 1) for n in range(20))
        return column(text(f"Shelf {i + 1}"), strip(*cards, id=f"shelf_{i + 1}", height=96, gap=8))

    return (listing(rows=Rows(30, 140, shelf), id="shelves"),)


def _inner_list(_: AppContext) -> tuple[View, ...]:
    def line(i: int) -> View:
        return item(f"Inner {i + 1}", on_click=_set_status(f"Inner {i + 1}"))

    above = (text(f"Paragraph {i + 1} above the list", height=64) for i in range(6))
    below = (text(f"Paragraph {i + 1} below the list", height=64) for i in range(12))
    inner = listing(rows=Rows(50, 56, line), id="inner", height=240, weight=0)
    return (scroll(*above, inner, *below, button("At the end", _set_status("At the end")), id="page"),)


def _far_away(_: AppContext) -> tuple[View, ...]:
    lines = (text(f"Line {i + 1}", height=56) for i in range(40))
    return (scroll(*lines, button("Far away", _set_status("Far away"), id="far"), id="page"),)


def _restless(context: AppContext) -> tuple[View, ...]:
    order = context.args.setdefault("order", list(_NAMES))

    def choose(name: str) -> Effect:
        def run(context: AppContext) -> None:
            context.args["order"] = order[1::2] + order[::2]
            context.args["status"] = name

        return run

    return (listing(*(item(name, on_click=choose(name)) for name in order), id="restless"),)


def _ghost(context: AppContext) -> tuple[View, ...]:
    def vanish(context: AppContext) -> None:
        context.args.update(gone=True, status="The ghost is gone")

    ghost = () if context.args.get("gone") else (item("Ghost", on_click=vanish, id="ghost"),)
    return (listing(item("Before"), *ghost, item("Behind", on_click=_set_status("Behind")), id="haunted"),)


# Names


def _unlabelled(_: AppContext) -> tuple[View, ...]:
    icons = [icon("", _set_status(f"Icon {i + 1}")) for i in range(12)]
    return (column(*(row(*icons[i : i + 4], gap=16) for i in range(0, 12, 4)), gap=16, weight=1, padding=16),)


def _same_names(_: AppContext) -> tuple[View, ...]:
    rows = (item("Item", on_click=_set_status(f"Item, number {i + 1}")) for i in range(_DUPLICATES))
    return (listing(*rows, id="items"),)


def _many_deletes(context: AppContext) -> tuple[View, ...]:
    left = context.args.setdefault("left", list(_NAMES))

    def delete(name: str) -> Effect:
        def run(context: AppContext) -> None:
            context.args.update(left=[other for other in left if other != name], status=f"{name} deleted")

        return run

    return (listing(*(item(name, end=button("Delete", delete(name), width=112)) for name in left), id="names"),)


def _odd_texts(_: AppContext) -> tuple[View, ...]:
    return (listing(*(item(label, on_click=_set_status(label)) for label in _TEXTS), id="texts"),)


# Time


def _start_arrivals(context: AppContext) -> None:
    context.args.update(arrived=0, spins=0, ready=False)
    for i, milliseconds in enumerate(_LATE_MS):
        context.after(milliseconds, _set_arg("arrived", i + 1))
    context.after(_READY_MS, _set_arg("ready", True))
    context.after(_SPIN_MS, _spin)


def _spin(context: AppContext) -> None:
    context.args["spins"] += 1
    if context.args["spins"] < _SPINS:
        context.after(_SPIN_MS, _spin)


def _late(context: AppContext) -> tuple[View, ...]:
    spins = context.args["spins"]
    progress = "Done" if spins >= _SPINS else f"Working, {spins * 100 // _SPINS} %"
    arrived_ms = _LATE_MS[: context.args["arrived"]]
    arrived = (item(f"Arrived after {ms} ms", on_click=_set_status(f"{ms} ms")) for ms in arrived_ms)
    ready = button("Go on", _set_status("Gone on"), id="ready", enabled=context.args["ready"])
    return text(progress, id="spinner", padding=12), ready, listing(*arrived, id="arrivals")


def _cover_with(dialog: str) -> Effect:
    """Open a dialog: not over another screen, if this one was left meanwhile."""
    return lambda context: context.go(dialog) if context.is_in_front else None


def _ambush(dialog: str) -> Effect:
    return lambda context: context.after(_AMBUSH_MS, _cover_with(dialog))


def _claim(_: AppContext) -> tuple[View, ...]:
    return text("Something will cover this."), button("Claim", _set_status("Claimed"), id="claim"), View(weight=1)


def _rating(_: AppContext) -> View:
    return column(
        title("Enjoying Hard Mode?"),
        button("Rate it", back, id="android:id/button1"),
        button("Not now", back, id="android:id/button2"),
        padding=16,
        gap=8,
    )


def _terms(context: AppContext) -> View:
    return column(
        title("Terms"),
        text("Neither Back nor a tap beside this takes it away."),
        checkbox("I have read them", "agreed", id="agree"),
        button("Accept", back, id="android:id/button1", enabled=context.state["agreed"]),
        padding=16,
        gap=8,
    )


def _reset_terms(context: AppContext) -> None:
    context.state["agreed"] = False
    _ambush("terms")(context)


# Touch


def _hole(_: AppContext) -> tuple[View, ...]:
    return (View(class_name="android.webkit.WebView", weight=1, on_click=_set_status("The hole was touched")),)


def _odd_buttons(_: AppContext) -> tuple[View, ...]:
    label = text("Tap my far ancestor")
    inner = reduce(lambda view, _: frame(view), range(4), label)
    return (
        button("Does nothing", id="idle"),
        button("Disabled", _set_status("A disabled button was pressed"), id="disabled", enabled=False),
        frame(inner, on_click=_set_status("Far ancestor"), id="ancestor", padding=12),
        text("Press me long", id="long", padding=12, on_long_click=_set_status("Pressed long")),
        View(weight=1),
    )


def _gestures(_: AppContext) -> tuple[View, ...]:
    def drop(context: AppContext, name: str) -> None:
        context.args["status"] = f"{name} in the box"

    return (
        text("Double tap me", id="double", padding=12, on_double_tap=_set_status("Tapped twice")),
        text("Drag me", id="parcel", padding=12, drag_name="Parcel", tone="surface"),
        View(weight=1),
        text("Drop it here", id="box", padding=12, on_drop=drop, tone="surface"),
    )


def _slivers(_: AppContext) -> tuple[View, ...]:
    parts = (
        View(desc="No height", on_click=_set_status("No height"), id="flat"),
        button("Visible", _set_status("Visible"), id="visible"),
        row(View(desc="No width", on_click=_set_status("No width"), height=48, id="thin"), height=48),
        text("", id="empty", padding=0),
    )
    return (scroll(*parts, id="slivers"),)


def _canvas(_: AppContext) -> tuple[View, ...]:
    def dot(line: int, at: int) -> View:
        name = f"{line + 1}:{at + 1}"
        return View(desc=name, on_click=_set_status(name), width=8, height=8, tone="accent")

    lines = (row(*(dot(line, at) for at in range(_GRID_SIDE)), gap=2) for line in range(_GRID_SIDE))
    return (column(*lines, gap=2, padding=16, weight=1, id="canvas"),)


SCENARIOS = (
    Scenario("endless", "Endless list", "A hundred thousand rows", _endless),
    Scenario("shelves", "Shelves", "Strips that scroll sideways in a list", _shelves),
    Scenario("inner_list", "List in a page", "Two things scroll the same way", _inner_list),
    Scenario("far_away", "Far away", "A button below a long page", _far_away),
    Scenario("restless", "Restless list", "Another order after each tap", _restless),
    Scenario("ghost", "Ghost", "A row that vanishes when it is tapped", _ghost),
    Scenario("unlabelled", "Icons without names", "No text, no description, no id", _unlabelled),
    Scenario("same_names", "Same names", "Five rows that read the same", _same_names),
    Scenario("many_deletes", "Many deletes", "One button per row, all called Delete", _many_deletes),
    Scenario("odd_texts", "Odd texts", "Lines, emoji, scripts and quotes", _odd_texts),
    Scenario("late", "Late content", "Rows that arrive one by one", _late, _start_arrivals),
    Scenario("ambush", "Ambush", "A dialog covers the screen after a while", _claim, _ambush("rating")),
    Scenario("siege", "Siege", "A dialog that cannot be dismissed", _claim, _reset_terms),
    Scenario("hole", "Hole", "A WebView that exposes no nodes", _hole),
    Scenario("odd_buttons", "Odd buttons", "Idle, disabled, far away, or for long presses", _odd_buttons),
    Scenario("gestures", "Gestures", "A double tap, and something to drag", _gestures),
    Scenario("slivers", "Slivers", "Views with no height or no width", _slivers),
    Scenario("canvas", "Canvas", "Targets of a few pixels", _canvas),
)
