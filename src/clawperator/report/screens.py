"""Screens of a report: trees reduced to what is drawn, each distinct screen and node stored once.

A node is eight numbers: kind, left, top, width, height, text, id and states. The page draws them in this order.
"""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from clawperator.errors import ClawError
from clawperator.recording.heuristics import id_name
from clawperator.report.page import MAX_LABEL, NO_SCREEN, Mark, PageScreen, TextTable
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.outline import screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import mask_passwords
from clawperator.ui.roles import role_of
from clawperator.ui.visible import visible_nodes

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
_WITHOUT_LABEL = frozenset(
    ("window", "field", "switch", "checkbox", "radio", "image", "icon", "slider", "progress")
)
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
        drawn = [self._position(node) for node in self._drawn(tree, frame)]
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
        count = 0
        for node in visible_nodes(tree, frame):
            kind = _kind_of(node)
            box = _near(node.bounds.normalised().intersection(frame))
            if kind is None or box.is_empty:
                continue
            text = node.label
            states = sum(bit for name, bit in _STATE.items() if _has_state(node, name))
            if text and text == node.content_desc and text != node.text:
                states |= DESCRIBED
            name = id_name(node.resource_id)
            yield (
                _KIND[kind],
                *(box.left, box.top, box.width, box.height),
                *(self._texts.add(text, MAX_LABEL), self._texts.add(name, MAX_LABEL), states),
            )
            count += 1
            if count >= MAX_NODES:
                return


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
    kind = next((kind for part, kind in _BY_CLASS if part in name), "")
    if not kind:
        kind = _kind_of_other(node, name)
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
    if role in ("tab", "title"):
        return role
    if role == "icon":
        return "icon"
    return "item" if node.clickable else "text"


def _has_state(node: Node, state: str) -> bool:
    return node.attributes.get("enabled") == "false" if state == "disabled" else node.flag(state)


def _near(box: Bounds) -> Bounds:
    """The part of a box that may be on a display."""
    return box.normalised().intersection(Bounds(0, 0, _FARTHEST, _FARTHEST))
