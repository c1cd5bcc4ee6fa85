"""What a recording knows of a clicked node, and finding that node on a live screen by it.

Clues are tried in the order of how long they usually stay true. One that fits a single node finds it. One that
fits several does not choose among them: that is for a person, or for the place on the screen if that was allowed.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from clawperator.connection.snapshot import Snapshot
from clawperator.recording.events import ClickFacts
from clawperator.replay.fingerprint import SHARED_IDS, is_field
from clawperator.ui.node import NOWHERE, Bounds, Node
from clawperator.ui.roles import role
from clawperator.ui.visible import visible

ClueName = Literal["id_and_text", "text", "description", "id", "role_and_label"]
# How far above a label the node that takes its click may be.
_REACH = 8


class Clue(Struct, frozen=True):
    """One way to find a node again.

    ``position`` is its place among the ``count`` nodes that fitted on the recorded screen. Without a snapshot both
    are 0.
    """

    name: ClueName
    position: int = 0
    count: int = 0


class Target(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node as it was recorded. What it was, beside what the click tells, is known by the snapshot alone."""

    package: str
    resource_id: str = ""
    text: str = ""
    description: str = ""
    role: str = ""
    label: str = ""
    is_field: bool = False
    is_password: bool = False
    is_on: bool | None = None
    is_clickable: bool = True
    bounds: Bounds = NOWHERE
    frame: Bounds = NOWHERE
    clues: tuple[Clue, ...] = ()

    @property
    def name(self) -> str:
        """What a person would call it."""
        if self.is_field and self.resource_id:
            return self.resource_id.rpartition("/")[2]
        return self.text or self.description or self.label or self.resource_id or f"the node at {self.bounds}"


def recorded_target(click: ClickFacts, screen: Snapshot | None) -> Target:
    """The node a click was recorded on."""
    edges = (click.bounds.left, click.bounds.top, click.bounds.right, click.bounds.bottom)
    bounds = Bounds(*(round(edge) for edge in edges))
    bare = Target(
        package=click.packageName,
        resource_id=click.resourceId or "",
        text=click.text or "",
        description=click.contentDesc or "",
        bounds=NOWHERE if bounds.is_empty else bounds,
    )
    node = None if screen is None else _recorded_node(bare, screen)
    if screen is None or node is None:
        return _with(bare, clues=tuple(Clue(name) for name in _names(bare, id_is_unique=False)))
    known = _with(
        bare,
        role=role(node),
        label=words(node),
        is_field=is_field(node),
        is_password=node.flag("password"),
        is_on=state(node),
        is_clickable=_acts(node),
        frame=screen.frame,
    )
    unique = len([n for n in _reachable(screen, known.package) if n.resource_id == known.resource_id]) == 1
    clues = []
    for name in _names(known, id_is_unique=unique):
        fitting = fit(name, known, screen)
        if node in fitting:
            clues.append(Clue(name, fitting.index(node), len(fitting)))
    return _with(known, clues=tuple(clues))


def fit(name: ClueName, target: Target, screen: Snapshot) -> list[Node]:
    """The nodes on a screen that take a click and that the clue fits, in the order of the tree."""
    test = _TESTS[name]
    able = [node for node in _reachable(screen, target.package) if _acts(node)]
    fitting = [node for node in able if test(node, target)]
    if fitting or name == "id":
        return fitting
    # A label whose row takes the click, though the row does not begin with it. A heading has no such row.
    labelled = [node for node in _reachable(screen, target.package) if node.label and test(node, target)]
    return _once(taker for taker in map(acting, labelled) if _acts(taker) or not target.is_clickable)


def acting(node: Node) -> Node:
    """The node that would take a click on this one: the closest clickable one at or above it, else itself."""
    at: Node | None = node
    for _ in range(_REACH + 1):
        if at is None:
            break
        if at.flag("clickable"):
            return at
        at = at.parent
    return node


def words(node: Node) -> str:
    """The first label of a node or of what lies in it: what a click on it is recorded with."""
    return next((n.label for n in node.walk() if n.label), "").strip()


def state(node: Node) -> bool | None:
    """Whether a node, or the one box or switch in it, is on; None when there is none or more than one."""
    boxes = [n for n in node.walk() if n.flag("checkable")]
    return boxes[0].flag("checked") if len(boxes) == 1 else None


def fields(screen: Snapshot, package: str) -> list[Node]:
    """The fields of an app that can be seen."""
    return [node for node in _reachable(screen, package) if is_field(node)]


def _with(target: Target, **changes: object) -> Target:
    from msgspec.structs import replace

    return replace(target, **changes)


def _names(target: Target, *, id_is_unique: bool) -> list[ClueName]:
    """The clues a recorded node has.

    What stands in a field is its content and finds nothing alone. An id finds a node alone only when no other had
    it: the rows of a list share theirs, and so do the buttons of all dialogs.
    """
    named: list[ClueName] = []
    if target.resource_id and target.text:
        named.append("id_and_text")
    if target.text and not target.is_field:
        named.append("text")
    if target.description:
        named.append("description")
    sole = id_is_unique or not (target.text or target.description)
    if target.resource_id and sole and not target.resource_id.startswith(SHARED_IDS):
        named.append("id")
    if target.role and target.label:
        named.append("role_and_label")
    return named


_TESTS: dict[ClueName, Callable[[Node, Target], bool]] = {
    "id_and_text": lambda node, target: node.resource_id == target.resource_id and words(node) == target.text,
    "text": lambda node, target: words(node) == target.text,
    "description": lambda node, target: node.content_desc.strip() == target.description,
    "id": lambda node, target: node.resource_id == target.resource_id,
    "role_and_label": lambda node, target: words(node) == target.label and role(node) == target.role,
}


def _acts(node: Node) -> bool:
    return node.flag("clickable") or is_field(node)


def _reachable(screen: Snapshot, package: str) -> list[Node]:
    seen = visible(screen.hierarchy, screen.frame)
    return [node for node in seen if not package or node.package in ("", package)]


def _recorded_node(target: Target, screen: Snapshot) -> Node | None:
    """The node of the snapshot that was clicked: the one with its id in its place, or with its words."""
    there = [node for node in screen.hierarchy.nodes if node.resource_id == target.resource_id]
    placed = [node for node in there if target.bounds != NOWHERE and node.bounds == target.bounds]
    placed = [node for node in placed if _acts(node)] or placed
    if placed:
        return placed[0]
    worded = [node for node in there if _acts(node) and words(node) == (target.text or target.description)]
    return worded[0] if len(worded) == 1 else None


def _once(nodes: Iterable[Node]) -> list[Node]:
    return list({id(node): node for node in nodes}.values())
