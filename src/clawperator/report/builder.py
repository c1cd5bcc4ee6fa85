"""Builds the data of a report page: rows with their screens, facts and texts."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from clawperator import __version__
from clawperator.report.page_data import (
    MAX_TITLE,
    MAX_VALUE,
    NO_SCREEN,
    TONES,
    Mark,
    PageData,
    PageList,
    PageRow,
    TextTable,
    Tone,
    Verdict,
    plural,
)
from clawperator.report.screens import KINDS, ScreenTable

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
        """The whole page."""
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
