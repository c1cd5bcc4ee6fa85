"""Reading labels and the values beside them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.actions import ReadTextParams
from clawperator.contract.execution import Action, Execution
from clawperator.contract.selectors import NodeSelector
from clawperator.engine.clock import VirtualClock
from clawperator.engine.run import Engine
from clawperator.engine.scripted import FullScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.testing import simulated_phone
from clawperator.ui.node import Node
from tests.engine.scripted_plans import run, step

ONCE = {"maxAttempts": 1}
AFTER = ("sleep", {"durationMs": 0})


def phone(*roots: Node, **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), *roots, **answers)


def read(a: FullScriptedDriver, **params: Any) -> dict[str, str]:
    return step(a, "read_text", **{"retry": ONCE, **params}).data


def test_the_label_is_the_text_or_else_the_description() -> None:
    assert read(phone(node("21 °C", id="t")), matcher={"resourceId": "t"}) == {
        "text": "21 °C",
        "validator": "none",
    }
    assert read(phone(node(" ", desc="Search", id="t")), matcher={"resourceId": "t"})["text"] == "Search"


def test_a_missing_node_ends_the_execution() -> None:
    result = run(phone(), ("read_text", {"matcher": {"resourceId": "t"}, "retry": ONCE}), AFTER)
    assert result.errorCode == "NODE_NOT_FOUND"
    assert len(result.stepResults) == 1


@pytest.mark.parametrize(
    ("validator", "text", "good"),
    [
        ("temperature", "21", True),
        ("temperature", "-3.5 °C", True),
        ("temperature", "\u22123,5°f", True),
        ("temperature", " 70 F ", True),
        ("temperature", "21℃", True),
        ("temperature", "--", False),
        ("temperature", "21 degrees", False),
        ("temperature", "21 22", False),
        ("version", "14", True),
        ("version", "1.20.3", True),
        ("version", "1.20.", False),
        ("version", "v1.2", False),
    ],
)
def test_a_validator_decides(validator: str, text: str, *, good: bool) -> None:
    data = read(phone(node(text, id="t")), matcher={"resourceId": "t"}, validator=validator)
    assert data["validator"] == validator
    if good:
        assert data["text"] == text
    else:
        assert (data["error"], data["raw_text"]) == ("VALIDATOR_MISMATCH", text)


@pytest.mark.parametrize(("text", "good"), [("ab12", True), ("xab12", False), ("ab12x", False)])
def test_a_pattern_must_match_the_whole_text(text: str, *, good: bool) -> None:
    a = phone(node(text, id="t"))
    data = read(a, matcher={"resourceId": "t"}, validator="regex", validatorPattern="[a-z]{2}(?<n>[0-9]+)")
    assert ("error" not in data) is good


def test_a_mismatch_lets_the_next_action_run() -> None:
    action = ("read_text", {"matcher": {"resourceId": "t"}, "validator": "version", "retry": ONCE})
    assert len(run(phone(node("x", id="t")), action, AFTER).stepResults) == 2


def test_a_text_that_becomes_valid_is_read() -> None:
    a = phone(node("--", id="t"))
    a.show_at(1, node("21 °C", id="t"))
    assert step(a, "read_text", matcher={"resourceId": "t"}, validator="temperature").data["text"] == "21 °C"


def test_a_pattern_that_does_not_compile_is_a_typed_failure() -> None:
    params = ReadTextParams(NodeSelector(resourceId="t"), validator="regex", validatorPattern="(")
    a = phone()
    result = Engine(a, a.clock).run(Execution("c", "t", "s", 1_000, (Action("x", "read_text", params),), None))
    assert result.errorCode == "INVALID_REGEX_PATTERN"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:a*)*c"])
def test_no_pattern_can_hang(pattern: str) -> None:
    a = phone(node("a" * 1_500 + "!", id="t"))
    data = read(a, matcher={"resourceId": "t"}, validator="regex", validatorPattern=pattern)
    assert data["error"] == "VALIDATOR_MISMATCH"


def test_a_pattern_that_needs_backtracking_is_refused_on_the_host() -> None:
    a = phone(node("ab", id="t"))
    data = read(a, matcher={"resourceId": "t"}, validator="regex", validatorPattern="(?=a).*")
    assert data["error"] == "INVALID_REGEX_PATTERN"
    assert "look-around" in data["message"]
    assert "Operator" in data["hint"]


def test_a_pattern_that_needs_backtracking_runs_on_a_phone() -> None:
    with simulated_phone() as simulated:
        simulated.open_app("com.android.settings")
        assert simulated.read("Display", validator="regex", pattern="(?=D).*") == "Display"
        with pytest.raises(ClawError) as failed:
            simulated.read("Display", validator="regex", pattern="(?!D).*", timeout=1)
        assert failed.value.code == "VALIDATOR_MISMATCH"


def two_lists() -> FullScriptedDriver:
    return phone(
        node(
            "",
            node("", node("one", id="t"), id="first", bounds="[0,0][1080,100]"),
            node("", node("two", id="t"), node("three", id="t"), id="second", bounds="[0,100][1080,200]"),
        )
    )


def test_a_container_limits_the_search() -> None:
    data = read(two_lists(), matcher={"resourceId": "t"}, container={"resourceId": "second"})
    assert (data["text"], data["container"]) == ("two", '{"resourceId":"second"}')


@pytest.mark.parametrize(
    ("matcher", "container", "code"),
    [("t", "third", "CONTAINER_NOT_FOUND"), ("u", "second", "NODE_NOT_FOUND")],
)
def test_what_is_missing_with_a_container_lets_the_next_action_run(
    matcher: str, container: str, code: str
) -> None:
    params = {"matcher": {"resourceId": matcher}, "container": {"resourceId": container}, "retry": ONCE}
    result = run(two_lists(), ("read_text", params), AFTER)
    assert result.errorCode == code
    assert len(result.stepResults) == 2


def test_all_gives_every_label_as_json() -> None:
    data = read(two_lists(), matcher={"resourceId": "t"}, all=True)
    assert data == {"text": '["one","two","three"]', "all": "true", "count": "3", "validator": "none"}
    data = read(two_lists(), matcher={"resourceId": "t"}, all=True, container={"resourceId": "second"})
    assert json.loads(data["text"]) == ["two", "three"]


def test_all_of_nothing_is_an_empty_list() -> None:
    assert read(phone(), matcher={"resourceId": "t"}, all=True)["text"] == "[]"
    data = read(two_lists(), matcher={"resourceId": "u"}, all=True, container={"resourceId": "second"})
    assert (data["text"], data["count"]) == ("[]", "0")


def test_with_all_each_text_must_be_valid() -> None:
    data = read(two_lists(), matcher={"resourceId": "t"}, all=True, validator="regex", validatorPattern="one|two")
    assert (data["error"], data["raw_text"]) == ("VALIDATOR_MISMATCH", "three")


@pytest.mark.random
@given(st.lists(st.text(st.characters(), min_size=1), max_size=4))
def test_all_is_valid_json_whatever_the_texts(texts: list[str]) -> None:
    a = phone(node("root", *(node(text, id="t") for text in texts)))
    data = read(a, matcher={"resourceId": "t"}, all=True)
    values = json.loads(data["text"])
    assert len(values) == len(texts)
    json.dumps(data, ensure_ascii=False).encode()
    for got, text in zip(values, texts, strict=True):
        assert got == text or not text.strip() or not text.isprintable() or "\ufffd" in got


def pair(a: FullScriptedDriver, **params: Any) -> dict[str, str]:
    return step(a, "read_key_value_pair", labelMatcher={"textEquals": "Wi-Fi"}, **{"retry": ONCE, **params}).data


def row(*children: Node, **attributes: str) -> Node:
    return node("", *children, cls="android.widget.LinearLayout", **attributes)


def test_the_value_is_what_follows_the_label() -> None:
    a = phone(row(node("Wi-Fi"), node("Connected")))
    assert pair(a) == {"label": "Wi-Fi", "value": "Connected"}


def test_a_summary_is_preferred() -> None:
    a = phone(row(node("Wi-Fi"), row(node("3")), node("Connected", id="android:id/summary")))
    assert pair(a)["value"] == "Connected"


def test_the_value_may_be_in_the_next_column() -> None:
    a = phone(row(row(row(node("Wi-Fi"))), row(node("", desc="On"))))
    assert pair(a)["value"] == "On"


@pytest.mark.parametrize(
    "root",
    [
        row(node("Wi-Fi")),
        row(row(node("Wi-Fi")), row(node("Bluetooth")), scrollable="true"),
        node("", row(node("Wi-Fi")), row(node("Bluetooth")), cls="android.widget.ListView"),
        row(node("Wi-Fi"), node(""), id="x"),
        row(node("Wi-Fi"), node("off screen", bounds="[0,2400][10,2500]")),
    ],
)
def test_a_label_without_a_value_does_not_take_that_of_another_row(root: Node) -> None:
    assert pair(phone(root))["error"] == "VALUE_NODE_NOT_FOUND"


def test_a_row_ends_the_search() -> None:
    inner = row(row(node("Wi-Fi")))
    inner.extras = frozenset({"horizontal"})
    assert pair(phone(row(inner, node("next row"))))["error"] == "VALUE_NODE_NOT_FOUND"


def test_a_missing_label_lets_the_next_action_run() -> None:
    action = ("read_key_value_pair", {"labelMatcher": {"textEquals": "Wi-Fi"}, "retry": ONCE})
    result = run(phone(), action, AFTER)
    assert result.errorCode == "NODE_NOT_FOUND"
    assert len(result.stepResults) == 2


def test_all_pairs_are_returned_as_json() -> None:
    a = phone(
        row(row(node("Wi-Fi"), node("A")), row(node("Wi-Fi")), row(node("Wi-Fi"), node("B")), scrollable="true")
    )
    data = pair(a, all=True)
    assert (data["label"], data["value"], data["all"], data["count"]) == ("Wi-Fi", "A", "true", "2")
    assert [p["value"] for p in json.loads(data["pairs"])] == ["A", "B"]


def test_a_value_that_comes_late_is_read() -> None:
    a = phone(row(node("Wi-Fi")))
    a.show_at(1, row(node("Wi-Fi"), node("Connected")))
    assert step(a, "read_key_value_pair", labelMatcher={"textEquals": "Wi-Fi"}).data["value"] == "Connected"
