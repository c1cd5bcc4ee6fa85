"""What of a screen can be seen: the nodes a selector may mean."""

from collections.abc import Callable, Iterable, Iterator

from clawperator.ui.node import Bounds, Hierarchy, Node, read_edges


def visible(where: Hierarchy | Node, frame: Bounds) -> list[Node]:
    """The nodes that can be seen within ``frame``, depth first.

    A node can be seen when it covers part of the frame and the phone does not say that it is hidden. Where one
    cannot, nothing below it counts. What the search starts from, a node or the roots, is always kept.
    """
    shows = _on(frame)
    kept: list[Node] = []
    waiting = _tops(where)[::-1]
    while waiting:
        node = waiting.pop()
        kept.append(node)
        if node.children:
            waiting += [child for child in reversed(node.children) if shows(child)]
    return kept


def keep_visible(nodes: Iterable[Node], where: Hierarchy | Node, frame: Bounds) -> Iterator[Node]:
    """Those of ``nodes`` that ``visible`` would keep, one by one. All must lie at or below ``where``.

    It looks only at the nodes and what is above them, so a search that tests names first is done sooner.
    """
    shows = _on(frame)
    known = dict.fromkeys(_tops(where), True)
    for node in nodes:
        above = node.parent
        if above is None or node in known:
            seen = known.get(node, True)
        else:
            if above not in known:
                _climb(above, known, shows)
            seen = known[above] and shows(node)
            if node.children:
                known[node] = seen
        if seen:
            yield node


def _climb(node: Node, known: dict[Node, bool], shows: Callable[[Node], bool]) -> None:
    """Learn whether a node can be seen, by way of the nearest above it of which that is known."""
    climbed = [node]
    while (above := climbed[-1].parent) is not None and above not in known:
        climbed.append(above)
    seen = above is None or known[above]
    for below in reversed(climbed):
        seen = known[below] = seen and shows(below)


def _tops(where: Hierarchy | Node) -> list[Node]:
    return [where] if isinstance(where, Node) else where.roots


def _on(frame: Bounds) -> Callable[[Node], bool]:
    """Whether a node, looked at alone, can be seen within the frame."""
    from_x, from_y, to_x, to_y = frame.left, frame.top, frame.right, frame.bottom

    def shows(node: Node) -> bool:
        attributes = node.attributes
        if attributes.get("visible-to-user") == "false" or "invisible" in node.extras:
            return False
        left, top, right, bottom = read_edges(attributes.get("bounds", ""))
        if from_x <= left < right <= to_x and from_y <= top < bottom <= to_y:
            return True
        if left > right:
            left, right = right, left
        if top > bottom:
            top, bottom = bottom, top
        return left < right and top < bottom and left < to_x and from_x < right and top < to_y and from_y < bottom

    return shows
