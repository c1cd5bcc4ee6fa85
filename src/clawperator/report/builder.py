"""Builds the data of a report page: rows with their screens, facts and texts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import MsgspecError, Struct

from clawperator import __version__
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.report.page import (
    KINDS,
    MAX_TITLE,
    MAX_VALUE,
    NO_SCREEN,
    TONES,
    Mark,
    PageData,
    PageList,
    PageRow,
    ScreenTable,
    TextTable,
    Tone,
    Verdict,
    plural,
)
from clawperator.ui.node import read_bounds

Facts = Iterable[tuple[str, str | None]]
# Rows of one list. A longer list is cut, with a note.
MAX_ROWS = 50_000


class RowScreens(Struct, frozen=True):
    """The screens of a row: before and after it, and what was touched on the first one.

    With ``compares`` they are the recorded and the observed screen, shown side by side.
    """

    before: int = NO_SCREEN
    after: int = NO_SCREEN
    mark: Mark | None = None
    compares: bool = False


def compared_screens(recorded: RowScreens, observed: RowScreens) -> RowScreens:
    """The screens after both, or else before both, side by side; those of one where the other has none."""
    if NO_SCREEN not in (recorded.after, observed.after):
        return RowScreens(recorded.after, observed.after, None, compares=True)
    mine = recorded.before if recorded.before != NO_SCREEN else recorded.after
    other = observed.before if observed.before != NO_SCREEN else observed.after
    if NO_SCREEN in (mine, other):
        return observed if mine == NO_SCREEN else recorded
    return RowScreens(mine, other, recorded.mark if mine == recorded.before else None, compares=True)


class RowStatus(Struct, frozen=True):
    """How a row ended, as a word and as a tone."""

    label: str = ""
    tone: Tone = ""


class ReportParts(Struct, frozen=True, kw_only=True):
    """What a report is about, and its lists. ``selected`` is the list and the row to show first."""

    kind: str
    title: str
    facts: Sequence[tuple[str, str | None]]
    lists: Sequence[PageList]
    verdict: Verdict | None = None
    selected: tuple[int, int] = (0, 0)


NOTHING = RowScreens()
NO_STATUS = RowStatus()


class PageBuilder:
    """Collects the parts of a page. ``secrets`` are texts that it may not contain."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.texts = TextTable(secrets)
        self.screens = ScreenTable(self.texts)
        self.warnings: list[str] = []

    def row(  # noqa: PLR0913 - the parts of a row
        self,
        kind: str,
        title: str,
        facts: Facts = (),
        *,
        note: str = "",
        time: float | None = None,
        package: str = "",
        status: RowStatus = NO_STATUS,
        screens: RowScreens = NOTHING,
        link: int = -1,
        longest: int = MAX_VALUE,
    ) -> PageRow:
        """A row. Facts without a value are left out; longer values than ``longest`` are cut."""
        add = self.texts.add
        numbers = [n for name, value in facts if value for n in (add(name), add(value, longest))]
        return PageRow(
            kind=add(kind),
            title=add(title, MAX_TITLE),
            note=add(note, MAX_TITLE),
            time=time,
            package=add(package),
            tone=TONES.index(status.tone),
            status=add(status.label),
            before=screens.before,
            after=screens.after,
            mark=screens.mark,
            facts=tuple(numbers),
            link=link,
            compares=screens.compares,
        )

    def finish(self, parts: ReportParts) -> PageData:
        shown = self.texts.shown
        screens = self.screens
        if screens.left_out:
            self.warnings.append(f"Too many screens: {plural(screens.left_out, 'snapshot')} left out.")
        if screens.unreadable:
            self.warnings.append(f"{plural(screens.unreadable, 'snapshot')} could not be read.")
        return PageData(
            product=f"Clawperator {__version__}",
            title=shown(parts.title, MAX_TITLE),
            kind=parts.kind,
            facts=[(name, shown(value)) for name, value in parts.facts if value],
            verdict=None if parts.verdict is None else self._shown_verdict(parts.verdict),
            warnings=[shown(text) for text in self.warnings],
            lists=list(parts.lists),
            selected=parts.selected,
            kinds=KINDS,
            texts=self.texts.texts,
            nodes=screens.nodes(),
            screens=screens.screens(),
            pictures=screens.pictures,
        )

    def _shown_verdict(self, verdict: Verdict) -> Verdict:
        shown = self.texts.shown
        lines = tuple(shown(line) for line in verdict.lines if line)
        label = shown(verdict.label, MAX_TITLE)
        return Verdict(verdict.tone, label, shown(verdict.text), lines, verdict.word or label.replace("_", " "))


# The rows of actions: what each step did, on what, and with which effect

# Members of a step's data that have a place of their own in a row.
_SHOWN_ELSEWHERE = frozenset(("matched_target", "effect", "error", "message", "hint"))


class _TargetNode(Struct, frozen=True):
    """What a step acted on, as its ``matched_target`` describes it."""

    label: str = ""
    resourceId: str = ""
    bounds: str = ""
    package: str = ""
    key: str = ""
    uri: str = ""
    type_: str = msgspec.field(default="", name="class")


_TARGET = msgspec.json.Decoder(_TargetNode)


def action_rows(envelopes: Sequence[ResultEnvelope], builder: PageBuilder, screens: RowScreens) -> list[PageRow]:
    """The steps of executions. The screen of a step is the last one that a snapshot shows."""
    steps = [step for envelope in envelopes for step in envelope.stepResults]
    rows = []
    screen = screens.before
    for position, step in enumerate(steps):
        seen = builder.screens.add(_tree(step))
        if seen != NO_SCREEN:
            screen = seen
        after = screens.after if position == len(steps) - 1 else NO_SCREEN
        rows.append(action_row(step, builder, RowScreens(screen, after)))
    return rows


def action_row(  # noqa: PLR0913 - what is known of a step
    step: StepResult,
    builder: PageBuilder,
    screens: RowScreens,
    *,
    time: float | None = None,
    more: Facts = (),
    wanted: str = "",
) -> PageRow:
    """A step of an execution: when it began, what it acted on, or ``wanted`` to act on, and ``more`` facts."""
    data = step.data
    tree = _tree(step)
    target = _target(data.get("matched_target"))
    error = data.get("error", "")
    effect = data.get("effect", "")
    tone: Tone = "bad" if not step.success else "warn" if effect == "unchanged" else "good"
    named = (target.label, target.resourceId.rpartition("/")[2], target.package, target.key, target.uri)
    label = next(filter(None, named), data.get("application_id", "") or wanted)
    typed = data.get("text", "") if step.actionType == "enter_text" else ""
    box = read_bounds(target.bounds)
    mark = None if box.is_empty else (box.left, box.top, box.right, box.bottom)
    return builder.row(
        step.actionType,
        f"{step.actionType.replace('_', ' ')} {label}".strip(),
        [
            ("Text entered", typed),
            *error_facts({"code": error, **data} if error else {}),
            ("Target", target.label),
            ("Resource id", target.resourceId),
            ("Class", target.type_),
            ("Bounds", target.bounds),
            ("Effect", effect),
            *(
                (name.replace("_", " ").capitalize(), value)
                for name, value in data.items()
                if name not in _SHOWN_ELSEWHERE and not (name == "text" and (tree or typed))
            ),
            ("Step", step.id),
            *more,
        ],
        note=error and data.get("message", ""),
        time=time,
        package=data.get("resolved_package") or target.package,
        status=RowStatus((effect or "ok") if step.success else error or "failed", tone),
        screens=RowScreens(screens.before, screens.after, screens.mark or mark),
    )


def _tree(step: StepResult) -> str | None:
    """The UI hierarchy that a step returned."""
    text = step.data.get("text", "")
    return text if text.startswith(("<?xml", "<hierarchy")) else None


def _target(text: str | None) -> _TargetNode:
    try:
        return _TARGET.decode(text) if text else _TargetNode()
    except (MsgspecError, ValueError):
        return _TargetNode()


def error_facts(error: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The code, message and hint of an error document, as far as it has them."""
    names = (("Error", "code"), ("Message", "message"), ("Hint", "hint"))
    return [(name, str(error[key])) for name, key in names if error.get(key)]
