"""Selectors: which nodes of a screen match.

The host resolves classes, states, patterns, relations, positions and indexes. Such a selector is evaluated from
the inside: the nodes that its nested selectors match, then those of all visible nodes that are in the given
relation to them. Relations look at the whole window, also where the search is inside a container.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial

from msgspec import UNSET, Struct
from msgspec.structs import replace

from clawperator._base.text import is_blank
from clawperator.contract.selectors import HOST_FIELDS, NodeMatcher, NodeSelector
from clawperator.errors import ClawperatorException
from clawperator.ui.node import Bounds, Hierarchy, Node, keep_visible, role_test, visible_nodes

Test = Callable[[Node], bool]
_STATES = ("checked", "enabled", "focused", "selected", "scrollable", "password")


@lru_cache(maxsize=64)
def compile_matcher(matcher: NodeMatcher) -> Test:
    """Whether a node matches every field of the matcher, as one function, cheapest tests first.

    Visibility is not checked.

    An empty field is a condition too: an empty ``textEquals`` matches nodes without a label, an empty
    ``textContains`` or ``contentDescContains`` matches any label or description, and an empty ``resourceId``,
    ``contentDescEquals`` or ``role`` matches nothing.
    """
    makers: tuple[tuple[str, Callable[[str], Test]], ...] = (
        ("resourceId", partial(_is_attribute, "resource-id")),
        ("contentDescEquals", partial(_is_attribute, "content-desc")),
        ("textEquals", _is_labelled),
        ("contentDescContains", _description_contains),
        ("textContains", _label_contains),
        ("role", lambda role: role_test(role.casefold())),
    )
    tests = [make(value) for name, make in makers if (value := getattr(matcher, name)) is not UNSET]
    if len(tests) == 1:
        return tests[0]
    return lambda node: all(test(node) for test in tests)


def _is_attribute(name: str, wanted: str) -> Test:
    if not wanted:
        return _never
    return lambda node: node.attributes.get(name) == wanted


def _is_labelled(wanted: str) -> Test:
    if not wanted:
        return lambda node: not node.label
    if is_blank(wanted):
        return _never

    def is_labelled(node: Node) -> bool:
        attributes = node.attributes
        if attributes.get("text") == wanted:
            return True
        return attributes.get("content-desc") == wanted and is_blank(attributes.get("text", ""))

    return is_labelled


def _description_contains(wanted: str) -> Test:
    folded = wanted.casefold()

    def description_contains(node: Node) -> bool:
        described = node.attributes.get("content-desc", "")
        return described != "" and folded in described.casefold()

    return description_contains


def _label_contains(wanted: str) -> Test:
    folded = wanted.casefold()
    if is_blank(folded):
        return lambda node: folded in node.label.casefold()

    # A text that contains the words is not blank, so only a match in the description needs the second test.
    def label_contains(node: Node) -> bool:
        attributes = node.attributes
        text = attributes.get("text", "")
        if text and folded in text.casefold():
            return True
        described = attributes.get("content-desc", "")
        return described != "" and folded in described.casefold() and is_blank(text)

    return label_contains


def _never(_node: Node) -> bool:
    return False


class AmbiguousSelectorError(ClawperatorException):
    """Several nodes match a selector that must match one. ``nodes`` are all of them, in order."""

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__(f"{len(nodes)} nodes match")
        self.nodes = nodes


def select_nodes(
    where: Hierarchy | Node, selector: NodeSelector, frame: Bounds, *, several: bool = False
) -> list[Node]:
    """The visible nodes that match, depth first, or nearest first where the selector has a position.

    ``AmbiguousSelectorError`` when several match and the selector must be unique: with ``unique``, or with a short
    id, which stands for one id. Not for the selector itself when the caller wants ``several``. ``ValueError`` for
    a reference.
    """
    if selector.ref is not UNSET:
        raise ValueError(f"the reference {selector.ref} is not resolved")
    inside = visible_nodes(where, frame)
    around = inside if isinstance(where, Hierarchy) else visible_nodes(_root(where), frame)
    found = _Search(around).matches(selector, inside)
    if len(found) > 1 and not several and (selector.unique or _has_found_short_id(selector, found[0])):
        raise AmbiguousSelectorError(found)
    return found


def _has_found_short_id(selector: NodeSelector, node: Node) -> bool:
    return selector.shortId is not UNSET or selector.short_resource_id not in ("", node.resource_id)


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


class _Search:
    """A search in one capture. ``nodes`` are all visible nodes of its window, depth first."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes

    def matches(self, selector: NodeSelector, among: list[Node]) -> list[Node]:
        tests = list(_own_tests(self._with_short_id(selector)))
        # The nearest ancestor is that of the whole window, also where only a part of it is searched.
        searched = among if selector.ancestor is UNSET else self._nodes
        found = [node for node in searched if all(test(node) for test in tests)]
        for name, relation in _RELATIONS.items():
            nested = getattr(selector, name)
            if found and isinstance(nested, NodeSelector):
                related = relation(self._nodes, self._nested(nested))
                found = [node for node in found if id(node) in related]
        if found and isinstance(selector.anyOf, tuple):
            wanted = _ids(node for one in selector.anyOf for node in self._nested(one))
            found = [node for node in found if id(node) in wanted]
        if found and isinstance(selector.ancestor, NodeSelector):
            inside = self._inside(selector.ancestor, found) & _ids(among)
            found = [node for node in found if id(node) in inside]
        # After the ancestor, so that no element of another row is taken because it is in the wanted state.
        states = list(_state_tests(selector))
        found = [node for node in found if all(test(node) for test in states)]
        if found and isinstance(selector.not_, NodeSelector):
            unwanted = _ids(self._nested(selector.not_))
            found = [node for node in found if id(node) not in unwanted]
        found = self._nearest_first(selector, found)
        if isinstance(selector.index, int):
            found = found[selector.index : selector.index + 1]
        return found

    def _with_short_id(self, selector: NodeSelector) -> NodeSelector:
        """The selector with ``shortId`` in place of a resource id without a package that no node has exactly."""
        name = selector.short_resource_id
        if not name or selector.shortId is not UNSET or any(node.resource_id == name for node in self._nodes):
            return selector
        return replace(selector, resourceId=UNSET, shortId=name)

    def _inside(self, ancestor: NodeSelector, candidates: list[Node]) -> set[int]:
        """The nodes inside a match of ``ancestor``; of matches around the same node, inside the nearest one."""
        around = self._nested(ancestor)
        if isinstance(ancestor.descendant, NodeSelector):
            around = _nearest_around(self._nested(ancestor.descendant), around, candidates)
        return _inside(self._nodes, around)

    def _nested(self, selector: NodeSelector) -> list[Node]:
        found = self.matches(selector, self._nodes)
        if selector.unique and len(found) > 1:
            raise AmbiguousSelectorError(found)
        return found

    def _nearest_first(self, selector: NodeSelector, nodes: list[Node]) -> list[Node]:
        """The nodes that are in each of the given positions, by the sum of their distances."""
        gaps: dict[int, int] = {}
        for name, side in _POSITIONS.items():
            nested = getattr(selector, name)
            if not nodes or not isinstance(nested, NodeSelector):
                continue
            anchors = _Anchors(side, self._nested(nested))
            kept = []
            for node in nodes:
                distance = anchors.distance(node)
                if distance is not None:
                    kept.append(node)
                    gaps[id(node)] = gaps.get(id(node), 0) + distance
            nodes = kept
        return sorted(nodes, key=lambda node: gaps[id(node)]) if gaps else nodes


def _ids(nodes: Iterable[Node]) -> set[int]:
    return {id(node) for node in nodes}


def _own_tests(selector: NodeSelector) -> Iterator[Test]:
    """The conditions on the node itself, without its states."""
    if any(getattr(selector, name) is not UNSET for name in NodeMatcher.__struct_fields__):
        others = {name: False if name == "unique" else UNSET for name in HOST_FIELDS}
        yield compile_matcher(replace(selector, **others))
    if isinstance(selector.shortId, str):
        yield _has_short_id(selector.shortId)
    if isinstance(selector.className, str):
        yield _has_class(selector.className)
    if isinstance(selector.textMatches, str):
        yield _has_pattern(selector.textMatches, "label")
    if isinstance(selector.contentDescMatches, str):
        yield _has_pattern(selector.contentDescMatches, "content_desc")


def _has_pattern(pattern: str, name: str) -> Test:
    from clawperator._base.patterns import compile_linear  # most selectors have no pattern

    compiled = compile_linear(pattern)
    return lambda node: compiled.fullmatch(getattr(node, name))


def _state_tests(selector: NodeSelector) -> Iterator[Test]:
    for name in _STATES:
        wanted = getattr(selector, name)
        if isinstance(wanted, bool):
            yield _has_state(name, wanted=wanted)


def _has_short_id(wanted: str) -> Test:
    ending = f":id/{wanted}"
    return lambda node: node.resource_id == wanted or node.resource_id.endswith(ending)


def _has_class(wanted: str) -> Test:
    if "." in wanted:
        return lambda node: node.class_name == wanted
    return lambda node: node.class_name.rpartition(".")[2] == wanted


def _has_state(name: str, *, wanted: bool) -> Test:
    if name == "enabled":  # a node is enabled unless the device reports otherwise
        return lambda node: (node.attributes.get(name) != "false") is wanted
    return lambda node: node.flag(name) is wanted


# Relations in the tree: of all visible nodes, those in the relation to one of ``others``.


def _inside(nodes: list[Node], others: list[Node]) -> set[int]:
    around = _ids(others)
    inside: set[int] = set()
    for node in nodes:  # a parent comes before its children
        above = node.parent
        if above is not None and (id(above) in around or id(above) in inside):
            inside.add(id(node))
    return inside


def _around(_nodes: list[Node], others: list[Node]) -> set[int]:
    around: set[int] = set()
    for node in others:
        for above in node.ancestors():
            if id(above) in around:
                break
            around.add(id(above))
    return around


def _nearest_around(nodes: list[Node], containers: list[Node], candidates: list[Node]) -> list[Node]:
    """Of each node, the nearest container around it that also contains a candidate."""
    wanted = _ids(containers) & _around([], candidates)
    nearest: list[Node] = []
    seen: set[int] = set()
    for node in nodes:
        for above in node.ancestors():
            if id(above) in seen:
                break
            seen.add(id(above))
            if id(above) in wanted:
                nearest.append(above)
                break
    return nearest


def _beside(nodes: list[Node], others: list[Node]) -> set[int]:
    by_parent: dict[int, set[int]] = {}
    for node in others:
        if node.parent is not None:
            by_parent.setdefault(id(node.parent), set()).add(id(node))
    return {
        id(node)
        for node in nodes
        if node.parent is not None and by_parent.get(id(node.parent), set()) - {id(node)}
    }


_RELATIONS: dict[str, Callable[[list[Node], list[Node]], set[int]]] = {"descendant": _around, "sibling": _beside}


# Positions on the screen. The two nodes must share a row for left and right, a column for above and below.


class _Side(Struct, frozen=True):
    """A position: the edge of a node that must be beyond the edge of another, and the span that they share."""

    edge: Callable[[Bounds], int]
    edge_of_other: Callable[[Bounds], int]
    span: Callable[[Bounds], tuple[int, int]]


_POSITIONS: dict[str, _Side] = {
    "below": _Side(lambda b: b.top, lambda b: b.bottom, lambda b: (b.left, b.right)),
    "above": _Side(lambda b: -b.bottom, lambda b: -b.top, lambda b: (b.left, b.right)),
    "leftOf": _Side(lambda b: -b.right, lambda b: -b.left, lambda b: (b.top, b.bottom)),
    "rightOf": _Side(lambda b: b.left, lambda b: b.right, lambda b: (b.top, b.bottom)),
}


class _Anchors:
    """The nodes that others are on one side of. Those of one column or row are searched together."""

    def __init__(self, side: _Side, nodes: list[Node]) -> None:
        self._side = side
        edges: dict[tuple[int, int], set[int]] = {}
        for node in nodes:
            area = node.bounds.normalised()
            edges.setdefault(side.span(area), set()).add(side.edge_of_other(area))
        self._edges = [(span, sorted(found)) for span, found in edges.items()]

    def distance(self, node: Node) -> int | None:
        """How far a node is from the nearest of them; None when it is on this side of none."""
        area = node.bounds.normalised()
        edge = self._side.edge(area)
        low, high = self._side.span(area)
        nearest: int | None = None
        for (start, end), edges in self._edges:
            if low < end and start < high and (count := bisect_right(edges, edge)):
                distance = edge - edges[count - 1]
                nearest = distance if nearest is None else min(nearest, distance)
        return nearest


def find_nodes(where: Hierarchy | Node, matcher: NodeMatcher, frame: Bounds) -> list[Node]:
    """All nodes that match and are visible in ``frame``, depth first, or nearest first to a given position.

    That a selector must be unique is not checked. ``ValueError`` for a reference: only the store of a device
    knows what it names.
    """
    if isinstance(matcher, NodeSelector) and not matcher.for_operator:
        return select_nodes(where, matcher, frame, several=True)
    nodes = where.walk() if isinstance(where, Node) else where.nodes
    return list(keep_visible(filter(compile_matcher(matcher), nodes), where, frame))
