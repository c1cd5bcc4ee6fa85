"""Rules about labels hold for the node that the host chose."""

from typing import Any

import pytest

from clawperator.contract.execution import Action, new_execution, validate
from clawperator.engine.targets import check_target
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.policy.rules import Policy, read_rule
from clawperator.ui.node import Node
from tests.ui.trees import node


def action(kind: str = "click", **params: Any) -> Action:
    document = new_execution(
        [{"type": kind, "params": params or {"matcher": {"ref": "e1"}}}],
        command_id="c",
        source="t",
        timeout_ms=5_000,
    )
    return validate(document).execution.actions[0]


def is_denied(rule: str, chosen: Node, act: Action | None = None) -> bool:
    with enforcing(PolicyGate(Policy("full", deny=(read_rule(rule, "flag"),)))):
        try:
            check_target(act or action(), chosen)
        except ClawError as e:
            return e.code == "PERMISSION_DENIED"
    return False


PAY = node(text="Pay now", content_desc="Pays the bill", resource_id="a:id/pay")


@pytest.mark.parametrize(
    ("rule", "denied"),
    [
        ("click(Pay now)", True),
        ("click(Pays the bill)", True),
        ("click(a:id/pay)", True),
        ("click(Cancel)", False),
        ("press_key", False),
    ],
)
def test_a_node_is_known_by_its_label_its_description_and_its_id(rule: str, *, denied: bool) -> None:
    assert is_denied(rule, PAY) == denied


def test_without_a_policy_every_node_may_be_touched() -> None:
    check_target(action(), PAY)


def test_what_is_inside_a_node_counts() -> None:
    assert is_denied("click(Pay now)", node(node(node(text="Pay now"))))


def test_a_touch_counts_for_the_node_that_takes_the_click() -> None:
    icon = node(class_="android.widget.ImageView")
    row = node(icon, node(text="Pay now"), clickable="true")
    node(row, node(text="Delete"))
    assert is_denied("click(Pay now)", icon)
    assert not is_denied("click(Delete)", icon)


def test_reading_counts_for_the_node_alone() -> None:
    icon = node(text="Icon")
    node(icon, node(text="Pay now"), clickable="true")
    read_text = action("read_text", matcher={"ref": "e1"})
    assert is_denied("read_text(Icon)", icon, read_text)
    assert not is_denied("read_text(Pay now)", icon, read_text)


def test_a_node_that_no_click_reaches_counts_itself() -> None:
    alone = node(text="Pay now")
    node(alone, node(text="Delete"))
    assert is_denied("click(Pay now)", alone)
    assert not is_denied("click(Delete)", alone)


def test_a_password_is_no_label() -> None:
    field = node(text="hunter2", password="true", resource_id="a:id/password")
    assert not is_denied("click(hunter2)", field)
    assert is_denied("click(a:id/password)", field)


def test_the_labels_of_a_large_node_are_limited() -> None:
    """Texts of the first nodes, until there are 40."""
    large = node(*(node(text=f"row {number}") for number in range(1, 60)))
    assert is_denied("click(row 40)", large)
    assert not is_denied("click(row 41)", large)
