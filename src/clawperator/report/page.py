"""The page of a report: its data, and the HTML file with style, script and data, which needs nothing else.

Texts come from apps and are not trusted. They are cut, masked and escaped here, before they reach the page.

The policy of the page allows this script, this style and pictures in the file itself, and nothing else. The data
are JSON in an element that no browser runs, and the script writes texts only as text.
"""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

from clawperator._base.secret_text import literal_pattern
from clawperator.ui.node import HIDDEN

# The data: texts, rows and lists, each distinct text stored once


# Lengths at which texts are cut, in characters.
MAX_LABEL = 300
MAX_TITLE = 200
MAX_VALUE = 4_000
MAX_OUTPUT = 20_000
# Beyond so many bytes in all, new texts are cut much shorter.
_MAX_ALL_TEXTS = 3_000_000
_SHORT = 80
_JOINER = "\u200d"  # joins emoji; it does not change the direction of a text

# How a row ended: nothing to report, good, bad, or something to look at.
Tone = Literal["", "good", "bad", "warn"]
TONES: tuple[Tone, ...] = ("", "good", "bad", "warn")

# Left, top, right and bottom in pixels of the screen.
Mark = tuple[int, int, int, int]
NO_SCREEN = -1


class PageRow(Struct, frozen=True, array_like=True, gc=False):
    """One row of a list. Texts are positions in the table of texts, screens positions in the list of screens.

    ``note`` is a few words below the title. ``time`` is in milliseconds from the start. ``mark`` is what was
    touched on the screen ``before``. ``facts`` are names and values in turn. ``link`` is the position of a row in
    the next list; -1 for none. ``compares``: ``before`` is the recorded screen and ``after`` the observed one.
    """

    kind: int
    title: int
    note: int
    time: int | float | None
    package: int
    tone: int
    status: int
    before: int
    after: int
    mark: Mark | None
    facts: tuple[int, ...]
    link: int = -1
    compares: bool = False


class PageList(Struct, frozen=True):
    """A list of rows that the page shows under a tab. ``note`` is shown above it."""

    name: str
    rows: list[PageRow]
    note: str = ""


class Verdict(Struct, frozen=True):
    """The outcome of what is reported: a word, a sentence, and further lines. ``word`` is shown for ``label``."""

    tone: Tone
    label: str
    text: str = ""
    lines: tuple[str, ...] = ()
    word: str = ""


class PageScreen(Struct, frozen=True, array_like=True, gc=False):
    """A screen to draw: its display size, its nodes, and the picture of it, if there is one."""

    width: int
    height: int
    nodes: list[int]
    picture: int = -1


class PageData(Struct, frozen=True, kw_only=True):
    """Everything the page shows. ``nodes`` has ``NODE_FIELDS`` numbers per node."""

    version: int = 1
    product: str
    title: str
    kind: str
    facts: list[tuple[str, str]]
    verdict: Verdict | None
    warnings: list[str]
    lists: list[PageList]
    selected: tuple[int, int]
    tones: tuple[Tone, ...] = TONES
    kinds: tuple[str, ...]
    texts: list[str]
    nodes: list[int]
    screens: list[PageScreen]
    pictures: list[str]


class TextTable:
    """Distinct texts of a page. ``secrets`` are replaced by four dots wherever they occur."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.texts = [""]
        self._positions = {"": 0}
        self._pattern = literal_pattern(secrets)
        self._size = 0

    def add(self, text: str, limit: int = MAX_LABEL) -> int:
        """The position of a text, which is cut and escaped."""
        position = self._positions.get(text) if len(text) <= _SHORT else None
        if position is not None:
            return position
        shown = self.shown(text, limit if self._size < _MAX_ALL_TEXTS else min(limit, _SHORT))
        position = self._positions.get(shown)
        if position is None:
            position = self._positions[shown] = len(self.texts)
            self.texts.append(shown)
            self._size += len(shown.encode())
        return position

    def shown(self, text: str, limit: int = MAX_VALUE) -> str:
        """A text as the page shows it."""
        return shown_text(mask(text, self._pattern), limit)


def mask(text: str, pattern: re.Pattern[str] | None) -> str:
    return text if pattern is None else pattern.sub(HIDDEN, text)


def shown_text(text: str, limit: int = MAX_VALUE) -> str:
    """A text from an app, cut to a length, with control and bidi characters escaped. Line breaks are kept."""
    whole = len(text)
    if whole > limit:
        return f"{_escaped(text[:limit])}… ({whole:,} characters)"
    return _escaped(text)


def _escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape, text.replace("\r\n", "\n")))


def _escape(character: str) -> str:
    if character.isprintable() or character in ("\n", _JOINER):
        return character
    if character == "\t" or unicodedata.category(character) == "Zs":
        return " "
    return ascii(character)[1:-1]


def seconds(milliseconds: float) -> str:
    """A duration for people: ``840 ms``, ``12.3 s``, ``4 min 5 s``."""
    if abs(milliseconds) < 1_000:
        return f"{milliseconds:g} ms"
    if abs(milliseconds) < 60_000:
        return f"{milliseconds / 1_000:.1f} s"
    minutes, rest = divmod(round(milliseconds / 1_000), 60)
    return f"{minutes} min {rest} s"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def first_of(rows: Sequence[PageRow], tone: Tone) -> int:
    """The position of the first row of a tone; -1 when there is none."""
    wanted = TONES.index(tone)
    return next((i for i, row in enumerate(rows) if row.tone == wanted), -1)


def filled(*lists: PageList) -> list[PageList]:
    """The lists that have rows."""
    return [page_list for page_list in lists if page_list.rows]


# HTML

_STYLES = ("colours.css", "report.css")
_SCRIPTS = ("screen.js", "report.js")
# In JSON only strings contain these characters. Escaped, no text can end the element that holds the data.
_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}


def render_page(data: PageData) -> bytes:
    """The report as one HTML file."""
    style = "\n" + "\n".join(map(_asset, _STYLES))
    script = "\n" + "\n".join(map(_asset, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": escape(f"{data.title} · {data.kind} · Clawperator"),
        "STYLE": style,
        "DATA": _embedded(data),
        "SCRIPT": script,
    }
    # Split at the places once: no text that is put in is looked at again.
    page, *rest = _asset("report.html").split("{{")
    for piece in rest:
        name, _, text = piece.partition("}}")
        page += parts[name] + text
    return page.encode()


def _embedded(data: PageData) -> str:
    text = msgspec.json.encode(data)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.decode()


def _source(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text("utf-8")
