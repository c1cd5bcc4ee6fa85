"""Fields, switches and values on a screen."""

from collections.abc import Iterator

from msgspec import Struct

from clawperator._text import is_blank
from clawperator.agent.offline.instructions import Target
from clawperator.agent.offline.names import (
    BEGINS,
    BY_ID,
    DESCRIBED,
    ID_WORDS,
    READ,
    WHOLE,
    fit,
    is_field,
    own_label,
    words,
)
from clawperator.agent.offline.row_grouping import holder, is_checkable, switch_of, value_beside
from clawperator.agent.offline.screens import Screen, pick, ranked
from clawperator.agent.offline.targets import is_bare
from clawperator.engine.privacy import HIDDEN
from clawperator.ui.node import Node

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
