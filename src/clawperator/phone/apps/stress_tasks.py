"""Seeded tasks of the stress app: find one row in a list that arrives late, moves, has duplicates, or is covered.

The link ``hard:task/42`` opens task 42; ``stress_task(42)`` describes it. The app's state holds the truth:
``taps`` are the numbers of the rows that were touched, in order.
"""

from random import Random

from msgspec import Struct

from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View, button, column, item, listing, text, toolbar

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


def add_tasks(app: App) -> None:
    """Add the screen of the tasks, and the dialog that covers it."""
    app.screen(SCREEN, title="Task", on_show=_begin)(_task)
    app.dialog(_NOTICE, title="Notice")(_notice)


def _task_of(context: AppContext) -> StressTask:
    word = str(context.args.get("uri", "")).lower().removeprefix(LINK)
    return stress_task(min(int(word), _MAX_SEED) if word.isascii() and word.isdigit() and len(word) < 20 else 0)


def _begin(context: AppContext) -> None:
    task = _task_of(context)
    context.state["taps"] = []
    context.args.update(elapsed=0, move=0)
    for milliseconds in sorted(set(task.late) - {0}):
        context.after(milliseconds, _set("elapsed", milliseconds))
    for move in range(task.moves):
        context.after(_MOVE_MS * (move + 1), _set("move", move + 1))
    if task.notice_ms:
        context.after(task.notice_ms, _show_notice)


def _set(key: str, value: int) -> Effect:
    return lambda context: context.args.__setitem__(key, value)


def _show_notice(context: AppContext) -> None:
    if context.is_in_front:
        context.go(_NOTICE)


def _task(context: AppContext) -> View:
    task = _task_of(context)
    shown = [n for n in task.order(context.args["move"]) if task.late[n] <= context.args["elapsed"]]
    rows = (item(task.rows[number], on_click=_tap(number)) for number in shown)
    done = text(f"{len(context.state['taps'])} taps", id="status", padding=12)
    return column(toolbar("Task"), listing(*rows, id="rows"), done, weight=1)


def _tap(number: int) -> Effect:
    return lambda context: context.state["taps"].append(number)


def _notice(_: AppContext) -> View:
    return column(text("Something came up."), button("Close", lambda context: context.back()), padding=16, gap=8)
