"""Whatever the Python API returns is shown in one short line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.api.results import ActionResult, Scrolled
from clawperator.api.snapshot import Snapshot
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import ShellAnswer
from clawperator.testing import SimulatedPhone
from clawperator.ui.node import Node

TEXT = st.text(max_size=400)
VALUES: list[Any] = [
    st.builds(Snapshot, xml=TEXT, package=TEXT, overlay_package=st.none(), window_count=st.just(1)),
    st.builds(
        Node, attributes=st.dictionaries(st.sampled_from(["text", "class", "bounds", "content-desc"]), TEXT)
    ),
    st.builds(StepResult, TEXT, TEXT, st.booleans(), st.dictionaries(st.just("error"), TEXT)),
    st.builds(ResultEnvelope, TEXT, TEXT, st.just("failed"), st.just([]), TEXT),
    st.builds(ShellAnswer, st.integers(0, 255), st.binary(max_size=400), st.binary(max_size=400)),
    st.builds(
        Scrolled,
        effect=st.just("unknown"),
        matched_target=st.dictionaries(st.sampled_from(["label", "key"]), TEXT),
        candidate_count=st.just(0),
        dispatch_method=TEXT,
        settled_ms=st.just(0),
        data=st.dictionaries(TEXT, TEXT, max_size=2),
        outcome=TEXT,
        scrolls=st.just(1),
    ),
]


@given(st.one_of(VALUES))
def test_a_repr_fits_a_line(value: object) -> None:
    shown = repr(value)
    assert len(shown) <= 180
    assert shown.splitlines() == [shown]


def test_a_repr_names_what_matters(phone: SimulatedPhone) -> None:
    assert repr(phone) == "<SimulatedPhone claw-1>"
    assert repr(phone.open_app("com.android.settings")) == "<ActionResult changed, 'com.android.settings'>"
    assert repr(phone.click("Display")) == "<ActionResult changed, 'Display'>"
    assert repr(phone.scroll("up")).startswith("<Scrolled unchanged, edge_reached after 1")
    assert repr(phone.snapshot()).startswith("<Snapshot com.android.settings, ")
    assert repr(phone.run({"type": "snapshot_ui"})) == "<ResultEnvelope success, 1 steps>"
    assert repr(phone.run({"type": "snapshot_ui"}).stepResults) == "[<StepResult a1 snapshot_ui: success>]"
    assert repr(phone.shell("echo", "a")) == "<ShellAnswer 0: 'a'>"


def test_equal_results_are_equal_whatever_their_repr() -> None:
    facts: dict[str, Any] = {"candidate_count": 1, "dispatch_method": "", "settled_ms": 0, "data": {}}
    one = ActionResult(effect="changed", matched_target={"label": "a"}, **facts)
    assert one == ActionResult(effect="changed", matched_target={"label": "a"}, **facts)
    assert one != ActionResult(effect="changed", matched_target={"label": "b"}, **facts)


@pytest.mark.parametrize(
    "name",
    [
        "clickable",
        "enabled",
        "checkable",
        "checked",
        "focusable",
        "focused",
        "selected",
        "scrollable",
        "password",
        "long_clickable",
    ],
)
def test_a_node_has_its_states_as_attributes(name: str) -> None:
    attribute = name.replace("_", "-")
    for written, expected in (("true", True), ("false", False), ("", False)):
        assert getattr(Node({attribute: written}), name) is expected
    assert getattr(Node({}), name) is False


def test_a_node_has_its_role(phone: SimulatedPhone) -> None:
    phone.open_app("com.android.settings")
    phone.click("Display")
    switch = phone.find(role="switch")
    assert switch is not None
    assert (switch.role, switch.checkable, switch.checked) == ("switch", True, False)
    assert Node({"class": "android.widget.EditText"}).role == "textfield"
