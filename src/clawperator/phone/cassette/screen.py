"""A recorded screen on the glass: its nodes just as they were, with something behind each that can be touched."""

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.cassette.cassette import Shot
from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.recording.events import ClickFacts
from clawperator.ui.node import Bounds, Hierarchy, Node

_FIELDS = ("edittext", "autocompletetextview")
_CLIMB = 8
_SMALLEST_TEXT, _LARGEST_TEXT = 6.0, 16.0
_BULLET = "•"


class Target(Struct, frozen=True):
    """What a recorded click was on: a place of a shot by its name, or, without one, just an area of it."""

    shot: int
    key: str
    area: Bounds


def is_field(node: Node) -> bool:
    name = node.class_name.lower()
    return any(part in name for part in _FIELDS) or node.flag("password")


def fields(tree: Hierarchy) -> Iterator[tuple[str, Node]]:
    """The text fields of a screen, each with a name that the same field has on the next screen too."""
    seen: Counter[str] = Counter()
    for node in tree.nodes:
        if is_field(node):
            yield f"field {node.resource_id} {seen[node.resource_id]}", node
            seen[node.resource_id] += 1


def focused_field(tree: Hierarchy) -> str | None:
    """The field that has the cursor in the snapshot."""
    return next((key for key, node in fields(tree) if node.flag("focused")), None)


def keys(tree: Hierarchy, number: int) -> list[str]:
    """The names of all nodes of a shot. Only a field has one that means something on another shot."""
    named = {id(node): key for key, node in fields(tree)}
    return [named.get(id(node), f"{number}.{i}") for i, node in enumerate(tree.nodes)]


class Dress(Struct, frozen=True):
    """How a screen differs from its shot by what was done since, and whom its fields tell."""

    entry: BackStackEntry
    scale: float
    # The fields whose recorded text is but a hint: it shows while they are empty.
    hints: frozenset[str]
    typed: Callable[[str, str], None]
    submitted: Callable[[], None]


def dress(shot: Shot, number: int, how: Dress) -> Hierarchy:
    """The tree of a shot, with a place behind each node. What was typed and focused meanwhile is shown in it."""
    tree = shot.tree()
    entry = how.entry
    names = keys(tree, number)
    focus = entry.focus if entry.focus in names else None
    for key, node in zip(names, tree.nodes, strict=True):
        node.source = PlacedView(_view(node, key, how), entry, key, node)
        if not is_field(node):
            continue
        typed = entry.texts.get(key)
        if typed is not None and (typed or key not in how.hints):
            node.attributes["text"] = _BULLET * len(typed) if node.flag("password") else typed
        if focus is not None:
            node.attributes["focused"] = "true" if key == focus else "false"
    return tree


def _view(node: Node, key: str, how: Dress) -> View:
    """A view that paints as its node says. Only a field does something of its own."""
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
        size=max(_SMALLEST_TEXT, min(_LARGEST_TEXT, node.bounds.height / how.scale * 0.8)),
    )
    if not is_field(node):
        return view
    return replace(
        view,
        edits="password" if node.flag("password") else "text",
        on_change=lambda _, text: how.typed(key, text),
        on_submit=lambda _: how.submitted(),
    )


def find_target(tree: Hierarchy, number: int, click: ClickFacts) -> Target | None:
    """What a recorded click was on: the node that agrees with most of what the click says.

    A real phone leaves out the bounds at times, or the words. A node that agrees with nothing but in being
    clickable is not meant.
    """
    where = click_area(click)
    best: Node | None = None
    most = 0
    for node in tree.nodes:
        agreed = _agreement(node, click, where)
        if agreed > most:
            best, most = node, agreed
    if best is None:
        return None
    best = _clickable(best)
    return Target(number, keys(tree, number)[tree.nodes.index(best)], best.bounds)


def click_area(click: ClickFacts) -> Bounds:
    """Where a click was; empty when it does not say so."""
    box = click.bounds
    return Bounds(int(box.left), int(box.top), int(box.right), int(box.bottom))


def _agreement(node: Node, click: ClickFacts, where: Bounds) -> int:
    found = 0
    if not where.is_empty and node.bounds == where:
        found += 4
    if click.resourceId:
        found += 3 if node.resource_id == click.resourceId else -1
    if click.text:
        if node.text.strip() == click.text or node.content_desc.strip() == click.text:
            found += 3
        elif found and first_words(node) == click.text:
            found += 2
    if click.contentDesc and node.content_desc.strip() == click.contentDesc:
        found += 3
    if found > 0 and node.package != click.packageName:
        found -= 2
    return found * 2 + node.flag("clickable") if found > 0 else 0


def first_words(node: Node) -> str:
    """What a node says, or the first of what lies in it."""
    return next((below.label.strip() for below in node.walk() if below.label), "")


def _clickable(node: Node) -> Node:
    """The node, or what around it takes the click."""
    above = node
    for _ in range(_CLIMB):
        if above.flag("clickable"):
            return above
        if above.parent is None:
            break
        above = above.parent
    return node


def one_edit_apart(a: str, b: str) -> bool:
    """Whether one key makes one text of the other: a character more or less somewhere."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) != 1:
        return False
    at = next((i for i, c in enumerate(a) if c != b[i]), len(a))
    return a[at:] == b[at + 1 :]


def text_before(shown: str, first: str, second: str | None) -> str:
    """What a field held before the first recorded change: what the snapshot shows, if a key leads on from there.

    Otherwise the snapshot shows a hint, or is older than the text; who then types leaves out the last character.
    """
    if one_edit_apart(shown, first):
        return shown
    return first[:-1] if second is not None or len(first) == 1 else ""
