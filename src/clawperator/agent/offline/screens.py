"""The captured screen: find the node, field, switch or value that a target names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from clawperator._text import is_blank, one_line
from clawperator.agent.offline.grammar import is_bare
from clawperator.agent.offline.instructions import Target
from clawperator.agent.offline.labels import (
    ANY_CASE,
    BEGINS,
    BY_ID,
    DESCRIBED,
    ID_WORDS,
    READ,
    SEEN,
    TOUCHED,
    WAYS,
    WHOLE,
    closest,
    fit,
    holder,
    in_row_of,
    is_checkable,
    is_field,
    label_of,
    own_label,
    rows_among,
    shown,
    switch_of,
    value_beside,
    words,
)
from clawperator.connection.snapshot import Snapshot
from clawperator.engine.privacy import HIDDEN
from clawperator.engine.targets import nearest
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.roles import role
from clawperator.ui.visible import visible

_LONGEST_KEPT = 200
_MOST_LISTED = 8
_UNDER_WAY = ("progressbar", "progressindicator")
_LISTED = re.compile(r",\s|\s(?:and|or|then)\s", re.IGNORECASE)


class Screen(Struct, frozen=True, dict=True):
    """What was on the screen at one moment."""

    snapshot: Snapshot

    @property
    def package(self) -> str:
        return self.snapshot.package or ""

    @cached_property
    def nodes(self) -> list[Node]:
        """What can be seen, depth first."""
        return visible(self.snapshot.hierarchy, self.snapshot.frame)

    @property
    def labels(self) -> list[str]:
        """What can be read, without what is in password fields."""
        return [label for node in self.nodes if not is_blank(label := own_label(node))]

    @property
    def scrolls(self) -> bool:
        return any(node.flag("scrollable") for node in self.nodes)

    @property
    def is_loading(self) -> bool:
        """Whether something on it says that more is to come."""
        return any(part in node.class_name.lower() for node in self.nodes for part in _UNDER_WAY)


def read_screen(data: Mapping[str, str]) -> Screen:
    """The screen a ``snapshot_ui`` step told of. ``HIERARCHY_INVALID`` when that is none."""
    screen = Screen(Snapshot(data.get("text", ""), data.get("foreground_package"), data.get("overlay_package"), 0))
    assert screen.nodes is not None  # parsed here, where its error belongs
    return screen


def ranked(screen: Screen, target: Target, most: int = SEEN) -> list[list[Node]]:
    """The nodes that a target may mean, those that fit equally well together, the best first.

    ``most`` says how loosely they may fit. The whole phrase counts before its parts: a row called "First name" is
    no first of those called "name".
    """
    whole = target.words != target.name and not target.exact
    bare = is_bare(target)
    limit = DESCRIBED if target.exact else ANY_CASE if bare else most
    ways: list[list[Node]] = [[] for _ in range(3 * WAYS)]
    for node in screen.nodes:
        if whole:
            way = fit(target.words, node, most)
            if way is not None:
                ways[way if way <= ANY_CASE else 2 * WAYS + way].append(node)
        way = fit(target.name, node, most)
        if way is not None and way <= limit and (bare or _may_be(node, target.role)):
            ways[WAYS + way].append(node)
    if bare:
        if target.role == "row":
            ways.append(rows_among(screen.nodes))
        else:
            ways.append([node for node in screen.nodes if _is_a(node, target.role)])
    if target.beside:
        others = next(iter(ranked(screen, Target(target.beside, target.beside), TOUCHED)), [])
        ways = [in_row_of(nodes, others) for nodes in ways]
    return [nodes for nodes in ways if nodes]


def _may_be(node: Node, wanted: str) -> bool:
    """Whether a node with the right name may be called by a role too. What takes a click is called anything."""
    match wanted:
        case "textfield":
            return is_field(node)
        case "switch" | "checkbox":
            above = holder(node)
            return is_checkable(node) or (above is not None and switch_of(node) is not None)
        case "tab":
            return role(node) == "tab" or any(role(child) == "tab" for child in node.children)
        case "button" | "icon" | "row" | "link":
            return holder(node) is not None
        case _:
            return True


def _is_a(node: Node, wanted: str) -> bool:
    """Whether a node is what a role says, when nothing else is said of it."""
    name = node.class_name.lower()
    match wanted:
        case "textfield":
            return is_field(node)
        case "switch" | "checkbox":
            return is_checkable(node)
        case "tab":
            return role(node) == "tab"
        case "button":
            return node.flag("clickable") and "button" in name and not is_checkable(node)
        case "icon":
            return node.flag("clickable") and "image" in name
        case "link":
            pages = ("webview" in above.class_name.lower() for above in node.ancestors())
            return node.flag("clickable") and not is_blank(own_label(node)) and any(pages)
        case _:
            return False


def choose(screen: Screen, target: Target, *, sure: bool = False) -> Node | None:
    """The node to touch; None when there is none. With ``sure`` only one that takes a click will do, else only one
    that has just this name.

    ``INSTRUCTION_AMBIGUOUS`` when several fit equally well and lead to different places.
    """
    best = next(iter(ranked(screen, target, TOUCHED if sure else WHOLE)), [])
    if sure:
        best = [node for node in best if holder(node) is not None]
    return pick(best_to_touch(best, target), target)


def is_disabled(node: Node, *, hold: bool = False) -> bool:
    """Whether the phone would take no touch here, as the node itself tells."""
    above = nearest(node, lambda n: n.flag("long-clickable" if hold else "clickable"))
    return (above or node).attributes.get("enabled") == "false"


def best_to_touch(nodes: Iterable[Node], target: Target) -> list[Node]:
    """One node for each thing that a click would go to; those that take no click only if there are no others."""
    by_holder: dict[int, Node] = {}
    still: list[Node] = []
    for node in nodes:
        above = holder(node)
        if above is None:
            still.append(node)
        else:
            by_holder.setdefault(id(above), node)
    found = list(by_holder.values()) or still
    if target.role == "button" and len(found) > 1:
        found = [node for node in found if "button" in node.class_name.lower()] or found
    return found


def pick(found: list[Node], target: Target) -> Node | None:
    """The one that is meant of those that fit equally well, in the order in which they are read."""
    found = sorted(found, key=lambda node: (node.bounds.top, node.bounds.left))
    if target.ordinal:
        if not found:
            return None
        if target.ordinal > len(found):
            raise ClawError(
                "NODE_NOT_FOUND",
                f"the screen shows {len(found)} called {shown(target.name or target.role)}, not {target.ordinal}",
                hint="Scroll first, or count again.",
                target=target.words,
            )
        return found[target.ordinal - 1 if target.ordinal > 0 else -1]
    if len(found) > 1:
        raise ambiguous(target, found)
    return found[0] if found else None


def ambiguous(target: Target, found: list[Node]) -> ClawError:
    names = [label_of(node) or node.resource_id.rpartition("/")[2] for node in found[:_MOST_LISTED]]
    named = [shown(name) if name else "something without a name" for name in names]
    told = [f"{name} at {node.bounds.centre}" for name, node in zip(named, found, strict=False)]
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return ClawError(
        "INSTRUCTION_AMBIGUOUS",
        f"{shown(target.words)} could be {len(found)} things: {', '.join(told)}{more}; none was touched",
        hint="Say which one: 'the first', 'the second', or 'next to' something in its row.",
        details={
            "candidates": [
                {"label": one_line(own_label(n), _LONGEST_KEPT), "bounds": str(n.bounds)} for n in found[:50]
            ]
        },
        operation="find",
        target=target.words,
    )


def missing(
    target: Target, screen: Screen, where: str = "on the screen", labels: list[str] | None = None
) -> ClawError:
    """Nothing has this name; ``labels`` are those that could have been meant, if not all."""
    near = [
        shown(label) for label in closest(target.name or target.words, screen.labels if labels is None else labels)
    ]
    told = f"; nearest: {', '.join(near)}" if near else "; the screen says nothing" if labels is None else ""
    hint = "Run 'claw bootstrap \"describe the screen\"' for what is there."
    if not target.exact and _LISTED.search(target.words):
        hint = "Give each thing an instruction of its own, and quote a name with 'and' or 'or' in it."
    return ClawError(
        "NODE_NOT_FOUND",
        f"nothing {where} is called {_named(target)}{told}",
        hint=hint,
        operation="find",
        target=target.words,
    )


def _named(target: Target) -> str:
    return f"{shown(target.name)} next to {shown(target.beside)}" if target.beside else shown(target.words)


# Of more things with one name no value is read: that would be a list.
_MOST_READ = 50
# What people call a field, and what its app does.
_ALSO_CALLED = {"address": "url", "e-mail address": "email", "user name": "username"}
# What is meant when a text is to be typed and no field is named.
FIELD = Target("text field", "text field", role="textfield")


class Fact(Struct, frozen=True):
    """A label and what stands beside it."""

    label: str
    value: str


# Fields


def find_field(screen: Screen, target: Target | None) -> Node | None:
    """The field that is meant; without a name the one with the focus, or the only one."""
    fields = [node for node in screen.nodes if is_field(node)]
    if target is None or is_bare(target):
        focused = [node for node in fields if node.flag("focused") and not (target and target.ordinal)]
        return pick(focused or fields, target or FIELD)
    for name in dict.fromkeys((target.name, target.words, _ALSO_CALLED.get(target.name.casefold(), target.name))):
        best: dict[int, list[Node]] = {}
        for node, before in _with_labels(screen):
            ways = [fit(name, node), None if before is None else fit(name, before)]
            # A label before a field tells as much as a word of its own name.
            known = [way + place * BEGINS for place, way in enumerate(ways) if way is not None]
            if known and not (target.exact and min(known) > BEGINS + 1):
                best.setdefault(min(known), []).append(node)
        if best:
            return pick(best[min(best)], target)
    return None


def _with_labels(screen: Screen) -> Iterator[tuple[Node, Node | None]]:
    """Every field with the label that stands right before it, if one does."""
    before: Node | None = None
    for node in screen.nodes:
        if is_field(node):
            yield node, before
            before = None
        elif not is_blank(own_label(node)):
            before = None if holder(node) is not None else node


# Switches


def find_switch(screen: Screen, target: Target) -> tuple[Node, Node] | None:
    """A label of just this name, or of "Use" and this name, and the switch, box or button beside it."""
    used = Target(f"Use {target.name}", f"Use {target.name}", target.ordinal, exact=target.exact)
    for nodes in (*ranked(screen, target, WHOLE), *ranked(screen, used, WHOLE)):
        found: dict[int, tuple[Node, Node]] = {}
        for node in nodes:
            control = switch_of(node)
            if control is not None:
                found.setdefault(id(control), (node, control))
        if found:
            labels = [node for node, _ in found.values()]
            chosen = pick(labels, target)
            return next(pair for pair in found.values() if pair[0] is chosen)
    return None


def is_on(control: Node) -> bool:
    return control.flag("checked")


# Values


def find_value(screen: Screen, target: Target, most: int = READ) -> Fact | None:
    """What the screen says of a name. ``INSTRUCTION_AMBIGUOUS`` when it says several things."""
    for nodes in ranked(screen, target, most):
        found: dict[str, tuple[Node, Fact]] = {}
        for node in nodes[:_MOST_READ]:
            fact = fact_of(node, target)
            if fact is not None:
                found.setdefault(fact.value, (node, fact))
        if found:
            chosen = pick([node for node, _ in found.values()], target)
            return next(fact for node, fact in found.values() if node is chosen)
    field = find_field(screen, target) if most == READ and not is_bare(target) else None
    return None if field is None else fact_of(field, target)


def fact_of(node: Node, target: Target) -> Fact | None:
    """What a node that fits a name says about it."""
    if is_field(node):
        return Fact(target.words, HIDDEN if node.flag("password") else node.text)
    way = fit(target.name, node)
    label = own_label(node)
    if way in (DESCRIBED, BY_ID, ID_WORDS) and not is_blank(node.text) and not is_checkable(node):
        return Fact(target.words, node.text)
    control = switch_of(node)
    if control is not None:
        return Fact(label, "on" if is_on(control) else "off")
    value = value_beside(node)
    if value is not None:
        return Fact(label, value)
    if way is not None and way >= BEGINS and len(words(label)) > len(words(target.name)):
        return Fact(target.words, label)
    return None
