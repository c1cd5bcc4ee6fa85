"""A recorded screen on the simulated phone: the recorded nodes, each with a view that takes input."""

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.cassette.cassette import CassetteSnapshot
from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.recording.events import ClickFacts
from clawperator.ui.node import Bounds, Hierarchy, Node

_FIELD_CLASSES = ("edittext", "autocompletetextview")
_MAX_LEVELS_UP = 8
_MIN_TEXT_SIZE, _MAX_TEXT_SIZE = 6.0, 16.0
_BULLET = "•"


class TapTarget(Struct, frozen=True):
    """The target of a recorded click: a node of a snapshot by its key, or, with an empty key, only an area."""

    snapshot: int
    key: str
    area: Bounds


def is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return any(part in name for part in _FIELD_CLASSES) or node.flag("password")


def fields(tree: Hierarchy) -> Iterator[tuple[str, Node]]:
    """The text fields of a screen, each with a key that is the same on the next screen."""
    seen: Counter[str] = Counter()
    for node in tree.nodes:
        if is_field(node):
            yield f"field {node.resource_id} {seen[node.resource_id]}", node
            seen[node.resource_id] += 1


def focused_field(tree: Hierarchy) -> str | None:
    """The key of the focused field."""
    return next((key for key, node in fields(tree) if node.flag("focused")), None)


def keys(tree: Hierarchy, number: int) -> list[str]:
    """The keys of all nodes of a snapshot. Only the key of a text field is valid on another snapshot."""
    named = {id(node): key for key, node in fields(tree)}
    return [named.get(id(node), f"{number}.{i}") for i, node in enumerate(tree.nodes)]


class ScreenState(Struct, frozen=True):
    """The changes of a screen since its snapshot, and the callbacks of its fields."""

    entry: BackStackEntry
    scale: float
    # The fields whose recorded text is a hint: it is shown while they are empty.
    hints: frozenset[str]
    typed: Callable[[str, str], None]
    submitted: Callable[[], None]


def live_tree(snapshot: CassetteSnapshot, number: int, state: ScreenState) -> Hierarchy:
    """The tree of a snapshot with a view behind each node, and with the current texts and focus."""
    tree = snapshot.tree()
    entry = state.entry
    names = keys(tree, number)
    focus = entry.focus if entry.focus in names else None
    for key, node in zip(names, tree.nodes, strict=True):
        node.source = PlacedView(_view(node, key, state), entry, key, node)
        if not is_field(node):
            continue
        typed = entry.texts.get(key)
        if typed is not None and (typed or key not in state.hints):
            node.attributes["text"] = _BULLET * len(typed) if node.flag("password") else typed
        if focus is not None:
            node.attributes["focused"] = "true" if key == focus else "false"
    return tree


def _view(node: Node, key: str, state: ScreenState) -> View:
    """A view that is painted like its node. Only a text field has behaviour."""
    labelled = bool(node.label) and not any(kid.label for kid in node.walk() if kid is not node)
    view = View(
        layout="frame" if node.children and not labelled else "leaf",
        class_name=node.class_name,
        text=node.text,
        desc=node.content_desc,
        id=node.resource_id,
        enabled=node.attributes.get("enabled") != "false",
        selected=node.flag("selected"),
        padding=2,
        size=max(_MIN_TEXT_SIZE, min(_MAX_TEXT_SIZE, node.bounds.height / state.scale * 0.8)),
    )
    if not is_field(node):
        return view
    return replace(
        view,
        edits="password" if node.flag("password") else "text",
        on_change=lambda _, text: state.typed(key, text),
        on_submit=lambda _: state.submitted(),
    )


def find_target(tree: Hierarchy, number: int, click: ClickFacts) -> TapTarget | None:
    """The target of a recorded click: the node that matches most fields of the click.

    Real phones sometimes leave out the bounds or the label. Being clickable alone is no match.
    """
    where = click_area(click)
    best: Node | None = None
    best_score = 0
    for node in tree.nodes:
        score = _match_score(node, click, where)
        if score > best_score:
            best, best_score = node, score
    if best is None:
        return None
    best = _clickable(best)
    return TapTarget(number, keys(tree, number)[tree.nodes.index(best)], best.bounds)


def click_area(click: ClickFacts) -> Bounds:
    """The bounds of a click; empty when they were not recorded."""
    box = click.bounds
    return Bounds(int(box.left), int(box.top), int(box.right), int(box.bottom))


def _match_score(node: Node, click: ClickFacts, where: Bounds) -> int:
    found = 0
    if not where.is_empty and node.bounds == where:
        found += 4
    if click.resourceId:
        found += 3 if node.resource_id == click.resourceId else -1
    if click.text:
        if node.text.strip() == click.text or node.content_desc.strip() == click.text:
            found += 3
        elif found and first_label(node) == click.text:
            found += 2
    if click.contentDesc and node.content_desc.strip() == click.contentDesc:
        found += 3
    if found > 0 and node.package != click.packageName:
        found -= 2
    return found * 2 + node.flag("clickable") if found > 0 else 0


def first_label(node: Node) -> str:
    """The first label of a node or its descendants."""
    return next((below.label.strip() for below in node.walk() if below.label), "")


def _clickable(node: Node) -> Node:
    """The closest clickable node at or above this one; this one if there is none."""
    above = node
    for _ in range(_MAX_LEVELS_UP):
        if above.flag("clickable"):
            return above
        if above.parent is None:
            break
        above = above.parent
    return node


def one_edit_apart(a: str, b: str) -> bool:
    """Whether one key press turns one text into the other: one character more or less."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) != 1:
        return False
    at = next((i for i, c in enumerate(a) if c != b[i]), len(a))
    return a[at:] == b[at + 1 :]


def text_before(shown: str, first: str, second: str | None) -> str:
    """The text of a field before the first recorded change.

    It is the snapshot's text, if one key press leads on from it. Otherwise the snapshot shows a hint, or is older
    than the text: then it is the first text without its last character.
    """
    if one_edit_apart(shown, first):
        return shown
    return first[:-1] if second is not None or len(first) == 1 else ""
