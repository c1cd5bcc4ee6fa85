"""Visibility: the nodes that a selector may match."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import MsgspecError

from clawperator.ui.node import Bounds, Hierarchy, Node, decode_edges


def visible_nodes(where: Hierarchy | Node, frame: Bounds) -> list[Node]:
    """The nodes that are visible in ``frame``, depth first.

    A node is visible when it covers part of the frame and the device does not report it as hidden. Descendants of
    an invisible node are invisible. The start of the search, a node or the roots, is always kept.
    """
    shows = visibility_test(frame)
    kept: list[Node] = []
    waiting = _tops(where)[::-1]
    while waiting:
        node = waiting.pop()
        kept.append(node)
        if node.children:
            waiting += [child for child in reversed(node.children) if shows(child)]
    return kept


def keep_visible(nodes: Iterable[Node], where: Hierarchy | Node, frame: Bounds) -> Iterator[Node]:
    """Those of ``nodes`` that ``visible`` would keep. All must be at or below ``where``.

    It tests only the nodes and their ancestors, so a search that tests names first is faster.
    """
    shows = visibility_test(frame)
    known: dict[Node | None, bool] = dict.fromkeys(_tops(where), True)
    last: Node | None = None
    over = True
    for node in nodes:
        above = node.parent
        if above is None or node is where:
            yield node
            continue
        if above is not last:  # siblings usually follow each other
            last = above
            found = known.get(above)
            over = _climb(above, known, shows) if found is None else found
        if over and shows(node):
            yield node


def _climb(node: Node, known: dict[Node | None, bool], shows: Callable[[Node], bool]) -> bool:
    """Whether a node is visible, from its nearest ancestor whose visibility is known."""
    above = node.parent
    seen = above is None or known.get(above)
    if seen is not None:
        seen = known[node] = seen and shows(node)
        return seen
    climbed = [node]
    while above is not None and above not in known:
        climbed.append(above)
        above = above.parent
    seen = above is None or known[above]
    for below in reversed(climbed):
        seen = known[below] = seen and shows(below)
    return seen


def _tops(where: Hierarchy | Node) -> list[Node]:
    return [where] if isinstance(where, Node) else where.roots


def visibility_test(frame: Bounds) -> Callable[[Node], bool]:
    """A function that tests whether a node by itself is visible in the frame."""
    from_x, from_y, to_x, to_y = frame.left, frame.top, frame.right, frame.bottom

    def shows(node: Node) -> bool:
        attributes = node.attributes
        try:
            left, top, right, bottom = decode_edges(attributes["bounds"].replace("][", ","))
        except (KeyError, MsgspecError, ValueError):
            return False
        if not (from_x <= left < right <= to_x and from_y <= top < bottom <= to_y):
            left, right = min(left, right), max(left, right)
            top, bottom = min(top, bottom), max(top, bottom)
            if (
                left == right
                or top == bottom
                or not (left < to_x and from_x < right and top < to_y and from_y < bottom)
            ):
                return False
        if "visible-to-user" in attributes and attributes["visible-to-user"] == "false":
            return False
        return not (node.extras and "invisible" in node.extras)

    return shows
