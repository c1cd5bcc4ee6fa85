"""The policy's check of the node that the host chose for an action.

A rule about labels sees what the document names. A reference, an index or a pattern may name any node, so the
rules are asked again about the labels of the node that was found, before it is touched.
"""

import msgspec

from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action
from clawperator.engine.targets import nearest_self_or_ancestor
from clawperator.policy.gate import check_labelled_action
from clawperator.ui.node import Node
from clawperator.ui.privacy import has_password

_MAX_LABELS = 40


def check_target(action: Action, node: Node) -> None:
    """``PERMISSION_DENIED`` when a rule denies the action on what the node shows."""
    check_labelled_action(action.type, msgspec.to_builtins(action.params), _labels(action, node))


def _labels(action: Action, node: Node) -> tuple[str, ...]:
    """The labels and ids of a node, of what is inside it and, for a touch, of the node that takes the click."""
    top = node
    if not ACTIONS[action.type].read_only:
        top = nearest_self_or_ancestor(node, lambda one: one.flag("clickable")) or node
    found: dict[str, None] = {}
    for one in (node, *node.walk(), *top.walk()):
        label = "" if has_password(one) else one.label
        found |= dict.fromkeys(value for value in (label, one.content_desc, one.resource_id) if value)
        if len(found) >= _MAX_LABELS:
            break
    return tuple(found)
