"""Hit test: a point of the screen at which a touch reaches the element that was asked for.

A touch goes to the topmost node at its point that takes touches. Children are above their parents. Siblings are
drawn in document order as a rule, but an app may raise one above the others. So a point that no other element
shares comes first, then one at which the wanted element is last in document order.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawperator.ui.node import Bounds, Hierarchy, Node, visible_nodes

Point = tuple[int, int]

# Parts of the names of classes that take touches although they are not clickable.
_TAKING_CLASSES = ("edittext", "autocompletetextview", "seekbar", "ratingbar", "webview")
# A covered element is searched for a free point in so many rows and columns.
_GRID = 9
_MAX_LABELS = 12


class TouchPoint(Struct, frozen=True):
    """Where to touch an element. Without a point, ``cover`` is what would take the touch instead."""

    point: Point | None
    cover: Node | None = None


class HitTest:
    """Finds points to touch on one captured screen."""

    def __init__(self, screen: Hierarchy, frame: Bounds) -> None:
        self._frame = frame
        # In document order: what takes touches, and what only shows a label.
        self._takers: list[tuple[Node, Bounds]] = []
        self._shown: list[tuple[Node, Bounds]] = []
        for node in visible_nodes(screen, frame):
            if takes_touch(node):
                self._takers.append((node, node.bounds.normalised()))
            elif node.label:
                self._shown.append((node, node.bounds.normalised()))

    def find(self, node: Node, holder: Node | None = None, *, inside: bool = False) -> TouchPoint:
        """Find a point to touch a node at. ``holder`` is the node or ancestor that takes the touch for it.

        The centre comes first, then the labels of the node, then a grid; then the same for the holder. With
        ``inside``, what is inside the node counts as part of it: a swipe over a list begins on one of its rows.
        A label without a holder may be drawn on a button, which then takes the touch for it.
        """
        holder = holder or _button_below(node)
        parts = {id(one) for one in node.walk()}
        above = {id(one) for one in node.ancestors()}
        # What may take the touch: the nodes from this one up to its holder.
        accepted = {id(node)} if node is holder else {id(node), *_up_to(node, holder)}
        own = parts | above
        if holder is not None:
            accepted.add(id(holder))
            own |= {id(one) for one in holder.walk()}
        if inside:
            accepted |= parts
        second: Point | None = None
        covers: list[Node] = []
        for at in self._candidates(node, holder):
            if at is None:
                if second is not None:
                    break
                continue
            takers = [taker for taker, area in self._takers if area.contains(*at)]
            if takers and id(takers[-1]) not in accepted:
                covers.append(takers[-1])
            elif all(id(taker) in own for taker in takers) and not self._shows_other(at, own):
                return TouchPoint(at)
            else:
                second = second or at
        if second is not None:
            return TouchPoint(second)
        cover = covers[0]
        if holder is None and id(cover) in parts and all(one is cover for one in covers):
            # Nothing takes a touch for the node itself, so the only control inside it is meant.
            return TouchPoint(self._area(node).centre)
        return TouchPoint(None, cover)

    def reaches(self, node: Node, at: Point) -> bool:
        """Whether a movement that begins at a point is one of this node, of its content or of what contains it."""
        top = self.topmost(*at)
        return top is None or top is node or node in top.ancestors() or top in node.ancestors()

    def places_across(self, node: Node, *, is_vertical: bool) -> list[int]:
        """Where a vertical or horizontal movement over a node can be: its middle first."""
        area = self._area(node)
        start, length = (area.left, area.width) if is_vertical else (area.top, area.height)
        middle = area.centre[0 if is_vertical else 1]
        return [middle, *sorted((_part(start, length, n) for n in range(_GRID)), key=lambda at: abs(at - middle))]

    def topmost(self, x: int, y: int) -> Node | None:
        """Return the node that takes a touch at a point; None when there is none."""
        return next((node for node, area in reversed(self._takers) if area.contains(x, y)), None)

    def _shows_other(self, at: Point, own: set[int]) -> bool:
        """Whether another node shows a label at the point. It may be drawn above the element."""
        return any(area.contains(*at) and id(node) not in own for node, area in self._shown)

    def _candidates(self, node: Node, holder: Node | None) -> Iterator[Point | None]:
        """Points to try. None separates the preferred ones from those near an edge, and those of the holder."""
        area = self._area(node)
        yield area.centre
        for label in _labels(node):
            if area.contains(*(at := self._area(label).centre)):
                yield at
        inner, outer = _grid(area)
        yield from inner
        yield None
        yield from outer
        if holder is not None and holder is not node:
            yield None
            yield from self._candidates(holder, None)

    def _area(self, node: Node) -> Bounds:
        """The part of a node that is on the screen and inside what scrolls it."""
        area = node.bounds.normalised().intersection(self._frame)
        for above in node.ancestors():
            if above.scrollable:
                clipped = area.intersection(above.bounds.normalised())
                area = area if clipped.is_empty else clipped
        return area


def _button_below(node: Node) -> Node | None:
    """The sibling before the node that takes touches and lies below all of it."""
    if node.parent is None or takes_touch(node):
        return None
    area = node.bounds.normalised()
    found = None
    for sibling in node.parent.children:
        if sibling is node:
            break
        if takes_touch(sibling) and area.intersection(sibling.bounds.normalised()) == area:
            found = sibling
    return found


def takes_touch(node: Node) -> bool:
    """Whether a touch at this node goes no further: also a disabled button takes it."""
    if node.clickable or node.long_clickable or node.password:
        return True
    name = node.class_name.lower()
    return any(part in name for part in _TAKING_CLASSES)


def _labels(node: Node) -> Iterable[Node]:
    """The labels inside a node that do not belong to something touchable inside it."""
    found: list[Node] = []
    waiting = node.children[::-1]
    while waiting and len(found) < _MAX_LABELS:
        one = waiting.pop()
        if takes_touch(one):
            continue
        if one.label and not one.bounds.normalised().is_empty:
            found.append(one)
        waiting.extend(reversed(one.children))
    return found


def _grid(area: Bounds) -> tuple[list[Point], list[Point]]:
    """Points all over an area: those inside it, the ones near its centre first, and those along its edges."""
    x, y = area.centre
    inner: set[Point] = set()
    outer: set[Point] = set()
    for column in range(_GRID):
        for row in range(_GRID):
            is_edge = {column, row} & {0, _GRID - 1}
            at = _part(area.left, area.width, column), _part(area.top, area.height, row)
            (outer if is_edge else inner).add(at)

    def near(points: set[Point]) -> list[Point]:
        return sorted(points, key=lambda at: ((at[0] - x) ** 2 + (at[1] - y) ** 2, at))

    return near(inner), near(outer - inner)


def _part(start: int, length: int, number: int) -> int:
    return start + length * (2 * number + 1) // (2 * _GRID)


def _up_to(node: Node, holder: Node | None) -> Iterator[int]:
    for one in node.ancestors():
        yield id(one)
        if one is holder:
            return
