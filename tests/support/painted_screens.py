"""A hit test by painting: which touchable element is on top at a point of a UI Automator dump.

Every touchable element is painted over what is there before it, in document order, on a grid of all edges of the
screen. It reads the XML by itself and shares no code with the package.
"""

import re
import xml.etree.ElementTree as ET
from bisect import bisect_right

_EDGES = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
_CLASSES = re.compile("edittext|autocompletetextview|seekbar|ratingbar|webview", re.IGNORECASE)
Box = tuple[int, int, int, int]


class PaintedScreen:
    """The elements of a dump in document order, and the grid on which the touchable ones are painted."""

    def __init__(self, xml: str) -> None:
        root = ET.fromstring(xml)
        tops = [_box(node) for node in root if node.tag == "node"]
        self._frame = (
            min(box[0] for box in tops),
            min(box[1] for box in tops),
            max(box[2] for box in tops),
            max(box[3] for box in tops),
        )
        self.elements = list(root.iter("node"))
        # Painted areas, with the number of their element.
        self._painted: list[tuple[Box, int]] = []
        numbers = {element: number for number, element in enumerate(self.elements)}
        self._paint(list(root), numbers, shown=True)
        self._xs = sorted({edge for (left, _, right, _), _ in self._painted for edge in (left, right)})
        self._ys = sorted({edge for (_, top, _, bottom), _ in self._painted for edge in (top, bottom)})
        self._cells: dict[tuple[int, int], int] = {}
        for (left, top, right, bottom), number in self._painted:
            for x in range(bisect_right(self._xs, left), bisect_right(self._xs, right - 1) + 1):
                for y in range(bisect_right(self._ys, top), bisect_right(self._ys, bottom - 1) + 1):
                    self._cells[x, y] = number

    @property
    def touchable(self) -> list[int]:
        """The numbers of the elements that take touches and are on the screen."""
        return [number for _, number in self._painted]

    def on_top(self, x: int, y: int) -> int | None:
        """The number of the element that a touch at this point reaches."""
        return self._cells.get((bisect_right(self._xs, x), bisect_right(self._ys, y)))

    def _paint(self, elements: list[ET.Element], numbers: dict[ET.Element, int], *, shown: bool) -> None:
        for element in elements:
            left, top, right, bottom = _box(element)
            left, top = max(left, self._frame[0]), max(top, self._frame[1])
            right, bottom = min(right, self._frame[2]), min(bottom, self._frame[3])
            visible = shown and element.get("visible-to-user") != "false" and left < right and top < bottom
            if visible and _is_touchable(element):
                self._painted.append(((left, top, right, bottom), numbers[element]))
            self._paint(list(element), numbers, shown=visible)


def _box(element: ET.Element) -> Box:
    found = _EDGES.fullmatch(element.get("bounds", ""))
    if found is None:
        return 0, 0, 0, 0
    left, top, right, bottom = map(int, found.groups())
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def _is_touchable(element: ET.Element) -> bool:
    flags = ("clickable", "long-clickable", "password")
    return any(element.get(name) == "true" for name in flags) or bool(_CLASSES.search(element.get("class", "")))
