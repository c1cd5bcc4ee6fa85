"""Text output as blocks: lines, tables and fields, laid out for a terminal or for a pipe.

A renderer yields blocks and never control characters: colours are names, and every text is escaped when it is
written. So text of an app, a device or a file cannot break a line, a table or a terminal. In a pipe there is no
colour, and no text is cut.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Literal

from msgspec import Struct

from clawperator._base.text import printable

Colour = Literal["red", "green", "yellow", "dim", "bold"]
_CODES: Mapping[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}
_GAP = "  "
_NARROWEST = 8  # no column of a table is cut to less
_DEFAULT_WIDTH = 80
_COLOURED: Mapping[Colour, str] = {
    "green": "ok pass passed success verified valid changed proved running device matched created updated",
    "yellow": "warn unchanged unknown skipped indeterminate not_run extra stopped",
    "red": "fail failed error missing offline unauthorized crashed invalid poisoned unavailable",
}
_STATES: Mapping[str, Colour] = {word: colour for colour, words in _COLOURED.items() for word in words.split()}


class Painted(Struct, frozen=True):
    """A text with a colour, which is shown on a terminal only."""

    text: str
    colour: Colour


Part = str | Painted
Line = Part | tuple[Part, ...]


class Table(Struct, frozen=True):
    """Rows under headings, or without headings; every row has as many cells as there are columns.

    A column without any text is left out. On a terminal, wide columns are cut to its width.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Part]]
    indent: int = 0


class Fields(Struct, frozen=True):
    """Names and values, one pair on each line, values aligned. Values are never cut; empty ones are left out."""

    pairs: Sequence[tuple[str, Part]]
    indent: int = 0


Block = Line | Table | Fields


def state(text: str) -> Part:
    """A word for a state or a verdict, in its colour."""
    colour = _STATES.get(text)
    return text if colour is None else Painted(text, colour)


class Terminal(Struct, frozen=True):
    """Where text is written to. Without a width nothing is cut."""

    colour: bool = False
    width: int | None = None

    @classmethod
    def of(cls, stream: IO[Any] | None) -> "Terminal":
        """The terminal of a stream; for a pipe or a file, no colour and no width."""
        try:
            if stream is None or not stream.isatty():
                return cls()
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError, AttributeError):
            return cls()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(not plain, columns or _DEFAULT_WIDTH)

    def render(self, blocks: Iterable[Block]) -> str:
        """The blocks as text, without the end of the last line."""
        return "\n".join(line for block in blocks for line in self.lines(block))

    def lines(self, block: Block) -> Iterator[str]:
        if isinstance(block, Table):
            yield from self._table(block)
        elif isinstance(block, Fields):
            yield from self._fields(block)
        else:
            yield self._line(block)

    def _line(self, line: Line) -> str:
        parts = line if isinstance(line, tuple) else (line,)
        return "".join(self._paint(_text_of(part), _colour_of(part)) for part in parts)

    def _paint(self, text: str, colour: Colour | None) -> str:
        """The only place that writes a control character."""
        if not self.colour or colour is None or not text:
            return text
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"

    def _fields(self, block: Fields) -> Iterator[str]:
        shown = [(f"{printable(name)}:", value) for name, value in block.pairs if _text_of(value)]
        widest = max((display_width(name) for name, _ in shown), default=0)
        for name, value in shown:
            gap = " " * (widest - display_width(name) + 1)
            yield " " * block.indent + self._line((Painted(name, "dim"), gap, value))

    def _table(self, table: Table) -> Iterator[str]:
        kept = [i for i in range(len(table.columns)) if any(_text_of(row[i]) for row in table.rows)]
        headings = [table.columns[i] for i in kept]
        rows = [[row[i] for i in kept] for row in table.rows]
        widths = [
            max([display_width(heading), *(display_width(_text_of(row[i])) for row in rows)])
            for i, heading in enumerate(headings)
        ]
        if self.width is not None:
            widths = _fitted(widths, self.width - table.indent - len(_GAP) * (len(widths) - 1))
        if any(headings):
            yield self._row([Painted(heading, "dim") for heading in headings], widths, table.indent)
        for row in rows:
            yield self._row(row, widths, table.indent)

    def _row(self, row: Sequence[Part], widths: Sequence[int], indent: int) -> str:
        """The cells of a row, padded to the widths. Nothing follows the last text."""
        out, pending = " " * indent, ""
        for part, width in zip(row, widths, strict=True):
            text = cut(_text_of(part), width) if self.width is not None else _text_of(part)
            if text:
                out += pending + self._paint(text, _colour_of(part))
                pending = ""
            pending += " " * (width - display_width(text)) + _GAP
        return out


def display_width(text: str) -> int:
    """How many columns of a terminal an escaped text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, width: int) -> str:
    """A text that takes at most so many columns, with ``…`` where something is left out."""
    if display_width(text) <= width:
        return text
    while text and display_width(text) > width - 1:
        text = text[: -max(1, (display_width(text) - width) // 2)]
    return text + "…"


def _text_of(part: Part) -> str:
    return printable(part.text if isinstance(part, Painted) else part)


def _colour_of(part: Part) -> Colour | None:
    return part.colour if isinstance(part, Painted) else None


def _fitted(widths: list[int], room: int) -> list[int]:
    """The widths of columns that fit, as far as they can: the widest are cut first, to equal widths."""
    widths = list(widths)
    while sum(widths) > room:
        widest = max(widths)
        if widest <= _NARROWEST:
            break
        at = [i for i, width in enumerate(widths) if width == widest]
        next_widest = max([width for width in widths if width < widest], default=0)
        lowest = max(next_widest, widest - -(-(sum(widths) - room) // len(at)), _NARROWEST)
        for i in at:
            widths[i] = lowest
    return widths
