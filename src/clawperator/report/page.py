"""The page of a report: its data, and the HTML file with style, script and data, which needs nothing else.

Texts come from apps and are not trusted. They are cut, masked and escaped here, before they reach the page.

The policy of the page allows this script, this style and pictures in the file itself, and nothing else. The data
are JSON in an element that no browser runs, and the script writes texts only as text.
"""

import base64
import hashlib
import unicodedata
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from itertools import islice
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator.errors import ClawError
from clawperator.recording.heuristics import id_name
from clawperator.ui.node import Bounds, Hierarchy, Node, role_of, visible_nodes
from clawperator.ui.outline import screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import mask, mask_passwords

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
        self._secrets = tuple(secrets)
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
        return shown_text(mask(text, self._secrets), limit)


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
    encoded = msgspec.json.encode(data)
    for character, escaped in _ESCAPES.items():
        encoded = encoded.replace(character, escaped)
    parts = {
        "POLICY": policy,
        "TITLE": escape(f"{data.title} · {data.kind} · Clawperator"),
        "STYLE": style,
        "DATA": encoded.decode(),
        "SCRIPT": script,
    }
    # Split at the places once: no text that is put in is looked at again.
    page, *rest = _asset("report.html").split("{{")
    for piece in rest:
        name, _, text = piece.partition("}}")
        page += parts[name] + text
    return page.encode()


def _source(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text("utf-8")


# Screens: trees reduced to what is drawn, each distinct screen and node stored once.
# A node is eight numbers: kind, left, top, width, height, text, id and states. The page draws them in this order.

# How the page draws a node.
KINDS = (
    *("window", "group", "list", "text", "title", "button", "item", "field", "switch", "checkbox", "radio"),
    *("image", "icon", "tab", "slider", "progress", "web"),
)
_KIND = {name: number for number, name in enumerate(KINDS)}
NODE_FIELDS = 8
STATES = ("clickable", "checked", "focused", "selected", "disabled", "password", "scrollable")
_STATE = {name: 1 << number for number, name in enumerate(STATES)}
DESCRIBED = 1 << len(STATES)  # the label is a description, and not on the screen

# Parts of class names that decide how a node is drawn, in the order they are tried.
_BY_CLASS = (
    ("edittext", "field"),
    ("autocomplete", "field"),
    ("radiobutton", "radio"),
    ("switch", "switch"),
    ("togglebutton", "switch"),
    ("checkbox", "checkbox"),
    ("seekbar", "slider"),
    ("ratingbar", "slider"),
    ("progressbar", "progress"),
    ("imagebutton", "icon"),
    ("imageview", "image"),
    ("button", "button"),
)
_WITHOUT_LABEL = ("window", "field", "switch", "checkbox", "radio", "image", "icon", "slider", "progress")
# Limits of one report: screens, nodes of one screen, and nodes of all screens.
MAX_SCREENS = 2_000
MAX_NODES = 2_000
MAX_ALL_NODES = 220_000
# Positions beyond this are not on any display.
_FARTHEST = 30_000
MAX_PICTURE_BYTES = 4 * 1024 * 1024
MAX_ALL_PICTURES = 8 * 1024 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"

_Numbers = tuple[int, ...]


class ScreenTable:
    """The distinct screens of a report. ``left_out`` and ``unreadable`` count snapshots that are not drawn."""

    def __init__(self, texts: TextTable) -> None:
        self.left_out = self.unreadable = 0
        self.pictures: list[str] = []
        self._texts = texts
        self._nodes: list[_Numbers] = []
        self._positions: dict[_Numbers, int] = {}
        self._used = 0
        self._screens: list[list[int]] = []
        self._rotations: list[int] = []
        self._displays: dict[int, tuple[int, int]] = {}  # the size of the display for each rotation
        self._by_content: dict[bytes, int] = {}
        self._by_nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._picture_of: dict[int, int] = {}
        self._picture_bytes = 0

    def add(self, xml: str | None) -> int:
        """The position of the screen with this tree; -1 if there is none, or none that can be drawn.

        Passwords in it are masked.
        """
        if not xml:
            return NO_SCREEN
        content = hashlib.blake2b(xml.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._by_content.get(content)
        if known is None:
            known = self._by_content[content] = self._add_tree(xml)
        return known

    def add_picture(self, screen: int, png: bytes) -> None:
        """Keep the picture of a screen, if it is a PNG of a bearable size."""
        if not png.startswith(_PNG) or len(png) > MAX_PICTURE_BYTES or screen in self._picture_of:
            return
        if self._picture_bytes + len(png) <= MAX_ALL_PICTURES:
            self._picture_bytes += len(png)
            self._picture_of[screen] = len(self.pictures)
            self.pictures.append(base64.b64encode(png).decode())

    def find(self, screen: int, *, name: str = "", kind: str = "", state: str = "") -> Mark | None:
        """The place of the first node with this short id, kind and state."""
        if screen == NO_SCREEN:
            return None
        wanted = self._texts.add(name) if name else 0
        for number in self._screens[screen]:
            node = self._nodes[number]
            if (
                (not wanted or node[6] == wanted)
                and (not kind or node[0] == _KIND[kind])
                and (not state or node[7] & _STATE[state])
            ):
                return node[1], node[2], node[1] + node[3], node[2] + node[4]
        return None

    def nodes(self) -> list[int]:
        """The numbers of all nodes, one after the other."""
        return [number for node in self._nodes for number in node]

    def screens(self) -> list[PageScreen]:
        return [
            PageScreen(*self._displays[rotation], nodes, self._picture_of.get(i, -1))
            for i, (nodes, rotation) in enumerate(zip(self._screens, self._rotations, strict=True))
        ]

    def __len__(self) -> int:
        return len(self._screens)

    def _add_tree(self, xml: str) -> int:
        if len(self._screens) >= MAX_SCREENS or self._used >= MAX_ALL_NODES:
            self.left_out += 1
            return NO_SCREEN
        try:
            tree = mask_passwords(parse_hierarchy(xml))
        except ClawError:
            self.unreadable += 1
            return NO_SCREEN
        frame = _near(screen_frame(tree))
        if frame.is_empty:
            return NO_SCREEN
        drawn = [self._position(node) for node in islice(self._drawn(tree, frame), MAX_NODES)]
        same = (tree.rotation, tuple(drawn))
        known = self._by_nodes.get(same)
        if known is not None:
            return known
        self._used += len(drawn)
        width, height = self._displays.get(tree.rotation, (0, 0))
        self._displays[tree.rotation] = max(width, frame.right), max(height, frame.bottom)
        position = self._by_nodes[same] = len(self._screens)
        self._screens.append(drawn)
        self._rotations.append(tree.rotation)
        return position

    def _position(self, node: _Numbers) -> int:
        position = self._positions.get(node)
        if position is None:
            position = self._positions[node] = len(self._nodes)
            self._nodes.append(node)
        return position

    def _drawn(self, tree: Hierarchy, frame: Bounds) -> Iterator[_Numbers]:
        for node in visible_nodes(tree, frame):
            kind = _kind_of(node)
            box = _near(node.bounds.normalised().intersection(frame))
            if kind is None or box.is_empty:
                continue
            text = node.label
            states = sum(bit for name, bit in _STATE.items() if name != "disabled" and node.flag(name))
            states |= _STATE["disabled"] if node.attributes.get("enabled") == "false" else 0
            if text and text == node.content_desc and text != node.text:
                states |= DESCRIBED
            name = id_name(node.resource_id)
            yield (
                _KIND[kind],
                *(box.left, box.top, box.width, box.height),
                *(self._texts.add(text, MAX_LABEL), self._texts.add(name, MAX_LABEL), states),
            )


def drawing_of(xml: str) -> dict[str, Any] | None:
    """One screen as the data that the script ``screen.js`` draws; None if it cannot be drawn."""
    texts = TextTable()
    table = ScreenTable(texts)
    if table.add(xml) == NO_SCREEN:
        return None
    return {"kinds": KINDS, "texts": texts.texts, "nodes": table.nodes(), "screens": table.screens()}


def _kind_of(node: Node) -> str | None:
    """How a node is drawn; None if it is not."""
    name = node.class_name.lower()
    kind = next((kind for part, kind in _BY_CLASS if part in name), "") or _kind_of_other(node, name)
    if kind in ("image", "icon") and node.label and node.label == node.text:
        kind = "button" if node.clickable else "text"
    return kind if kind in _WITHOUT_LABEL or node.label or kind in ("group", "list", "web") else None


def _kind_of_other(node: Node, name: str) -> str:
    if node.parent is None:
        return "window"
    if "webview" in name and not node.children:
        return "web"
    if not node.label:
        return "group" if node.clickable else "list" if node.scrollable else ""
    role = role_of(node)
    if role in ("tab", "title", "icon"):
        return role
    return "item" if node.clickable else "text"


def _near(box: Bounds) -> Bounds:
    """The part of a box that may be on a display."""
    return box.normalised().intersection(Bounds(0, 0, _FARTHEST, _FARTHEST))
