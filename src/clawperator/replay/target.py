"""The target of a recorded click, and the locators by which it is found on a live screen.

Locators are tried in the order of how long they usually stay valid. One that matches a single node finds it. One
that matches several does not choose among them, unless the position on the screen may decide.
"""

from collections.abc import Callable
from itertools import chain, islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator.api.snapshot import Snapshot
from clawperator.recording.events import ClickFacts
from clawperator.recording.heuristics import id_name
from clawperator.replay.screens import SHARED_IDS, is_text_field
from clawperator.ui.node import NOWHERE, Bounds, Node, role_of, visible_nodes

LocatorName = Literal["id_and_text", "text", "description", "id", "role_and_label"]
# How far above a label the node that takes its click may be.
_MAX_LEVELS_UP = 8
_TOGGLES = ("switch", "checkbox")


class Locator(Struct, frozen=True):
    """One way to find a node again.

    ``position`` is its place among the ``count`` nodes that matched on the recorded screen. Both are 0 without a
    snapshot.
    """

    name: LocatorName
    position: int = 0
    count: int = 0


class RecordedTarget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node as it was recorded. From ``role`` on, the fields need a snapshot.

    ``is_on`` is the state of the only switch in it. When it ``toggles``, each click changes that, unlike that of a
    radio button.
    """

    package: str
    resource_id: str = ""
    text: str = ""
    description: str = ""
    role: str = ""
    label: str = ""
    is_field: bool = False
    is_password: bool = False
    is_on: bool | None = None
    toggles: bool = False
    is_clickable: bool = True
    bounds: Bounds = NOWHERE
    frame: Bounds = NOWHERE
    locators: tuple[Locator, ...] = ()

    @property
    def name(self) -> str:
        if self.is_field and self.resource_id:
            return id_name(self.resource_id)
        return self.text or self.description or self.label or self.resource_id or f"the node at {self.bounds}"


def recorded_target(click: ClickFacts, screen: Snapshot | None) -> RecordedTarget:
    """The node a click was recorded on."""
    edges = (click.bounds.left, click.bounds.top, click.bounds.right, click.bounds.bottom)
    bounds = Bounds(*(round(edge) for edge in edges))
    target = RecordedTarget(
        package=click.packageName,
        resource_id=click.resourceId or "",
        text=click.text or "",
        description=click.contentDesc or "",
        bounds=NOWHERE if bounds.is_empty else bounds,
    )
    node = None if screen is None else _recorded_node(target, screen)
    if screen is None or node is None:
        return replace(target, locators=tuple(map(Locator, _locator_names(target, id_is_unique=False))))
    target = replace(
        target,
        role=role_of(node),
        label=first_label(node),
        is_field=is_text_field(node),
        is_password=node.flag("password"),
        is_on=switch_state(node),
        toggles=any(n.flag("checkable") and role_of(n) in _TOGGLES for n in node.walk()),
        is_clickable=_takes_clicks(node),
        frame=screen.frame,
    )
    same_id = [n for n in _visible_nodes(screen, target.package) if n.resource_id == target.resource_id]
    locators = []
    for name in _locator_names(target, id_is_unique=len(same_id) == 1):
        matching = matching_nodes(name, target, screen)
        if node in matching:
            locators.append(Locator(name, matching.index(node), len(matching)))
    return replace(target, locators=tuple(locators))


def matching_nodes(name: LocatorName, target: RecordedTarget, screen: Snapshot) -> list[Node]:
    """The nodes on a screen that take clicks and that the locator matches, in the order of the tree."""
    matches = _MATCHERS[name]
    nodes = _visible_nodes(screen, target.package)
    found = [node for node in nodes if _takes_clicks(node) and matches(node, target)]
    if found or name == "id":
        return found
    # A label whose row takes the click, though the row does not begin with it. A heading has no such row.
    labelled = [node for node in nodes if node.label and matches(node, target)]
    takers = (node for node in map(click_taker, labelled) if _takes_clicks(node) or not target.is_clickable)
    return list({id(node): node for node in takers}.values())


def click_taker(node: Node) -> Node:
    """The node that takes a click on this one: the closest clickable one at or above it, else itself."""
    above = islice(node.ancestors(), _MAX_LEVELS_UP)
    return next((one for one in chain((node,), above) if one.flag("clickable")), node)


def first_label(node: Node) -> str:
    """The first label of a node or its descendants: what a click on it is recorded with."""
    return next((n.label for n in node.walk() if n.label), "").strip()


def switch_state(node: Node) -> bool | None:
    """Whether a node, or the only checkable one in it, is on; None when there is none or more than one."""
    checkable = [n for n in node.walk() if n.flag("checkable")]
    return checkable[0].flag("checked") if len(checkable) == 1 else None


def text_fields(screen: Snapshot, package: str) -> list[Node]:
    """The visible text fields of an app."""
    return [node for node in _visible_nodes(screen, package) if is_text_field(node)]


def _locator_names(target: RecordedTarget, *, id_is_unique: bool) -> list[LocatorName]:
    """The locators a recorded node has.

    The text of a field is its content and finds nothing alone. An id finds a node alone only when no other node
    had it: the rows of a list share theirs, and so do the buttons of all dialogs.
    """
    names: list[LocatorName] = []
    if target.resource_id and target.text:
        names.append("id_and_text")
    if target.text and not target.is_field:
        names.append("text")
    if target.description:
        names.append("description")
    is_sole = id_is_unique or not (target.text or target.description)
    if target.resource_id and is_sole and not target.resource_id.startswith(SHARED_IDS):
        names.append("id")
    if target.role and target.label:
        names.append("role_and_label")
    return names


_MATCHERS: dict[LocatorName, Callable[[Node, RecordedTarget], bool]] = {
    "id_and_text": lambda node, target: (
        node.resource_id == target.resource_id and first_label(node) == target.text
    ),
    "text": lambda node, target: first_label(node) == target.text,
    "description": lambda node, target: node.content_desc.strip() == target.description,
    "id": lambda node, target: node.resource_id == target.resource_id,
    "role_and_label": lambda node, target: first_label(node) == target.label and role_of(node) == target.role,
}


def _takes_clicks(node: Node) -> bool:
    return node.flag("clickable") or is_text_field(node)


def _visible_nodes(screen: Snapshot, package: str) -> list[Node]:
    nodes = visible_nodes(screen.hierarchy, screen.frame)
    return [node for node in nodes if not package or node.package in ("", package)]


def _recorded_node(target: RecordedTarget, screen: Snapshot) -> Node | None:
    """The node of the snapshot that was clicked: the one with its id and bounds, or with its label."""
    same_id = [node for node in screen.hierarchy.nodes if node.resource_id == target.resource_id]
    in_place = [node for node in same_id if target.bounds != NOWHERE and node.bounds == target.bounds]
    in_place = [node for node in in_place if _takes_clicks(node)] or in_place
    if in_place:
        return in_place[0]
    label = target.text or target.description
    labelled = [node for node in same_id if _takes_clicks(node) and first_label(node) == label]
    return labelled[0] if len(labelled) == 1 else None
