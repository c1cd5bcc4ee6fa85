"""Selectors that the host resolves, on both backends: what is touched, what is refused, and what it costs."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from clawperator.contract.execution import new_execution, validate
from clawperator.contract.results import ExecutionResult, StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import operator as operator_module
from clawperator.device.backends.operator_driver import OperatorDriver
from clawperator.device.backends.operator_link import deliver
from clawperator.device.run.references import References
from clawperator.device.run.run import run_plan
from clawperator.errors import ClawError
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View, button, column, field, frame, item, listing, row, switch, text
from clawperator.policy.gate import PolicyGate, approve, enforcing
from clawperator.policy.rules import Policy, read_rule
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import outline_of, screen_frame
from clawperator.ui.parse import parse_hierarchy
from tests.support.fast_clock import SkippingClock

# What is not on the screen in these tests does not appear later.
pytestmark = pytest.mark.usefixtures("quick_retries")

PACKAGE = "com.example.rows"
OPERATOR = "com.clawperator.operator"
ONCE = {"maxAttempts": 1}


def _log(entry: str) -> Effect:
    return lambda context: context.state["touched"].append(entry)


def rows_app() -> App:
    """Rows with equal buttons, a row without an own label, two views without any, and three fields."""
    app = App(
        PACKAGE,
        "Rows",
        state={
            "names": ["Alice", "Bob", "Carol"],
            "touched": [],
            "on": False,
            "pin": "",
            "first": "",
            "second": "",
        },
    )

    @app.screen("home")
    def home(context: AppContext) -> View:
        def line(name: str) -> View:
            return row(text(name, id="name"), button("Delete", _log(f"Delete {name}"), id="delete"))

        blank = (frame(on_click=_log(f"blank {i}"), width=40, height=40) for i in range(2))
        return column(
            field("pin", "PIN", id="pin", edits="password"),
            row(text("First"), field("first")),
            row(text("Second"), field("second")),
            listing(*(line(name) for name in context.state["names"]), id="people", height=200),
            item("Storage", "Used: 3 GB", _log("Storage")),
            row(text("Wi-Fi"), switch("on", id="toggle")),
            row(*blank),
        )

    return app


class Bench(Struct, frozen=True):
    phone: SimulatedPhone
    device: Device
    backend: Any

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.phone.phone.tasks.front.process.state
        return state

    def rename(self, *names: str) -> None:
        """Show other rows, as the app would."""
        self.state["names"][:] = names
        self.phone.phone.windows.invalidate()

    @property
    def touched(self) -> list[str]:
        return list(self.state["touched"])

    def run(self, *actions: dict[str, Any], timeout_ms: int = 60_000) -> ExecutionResult:
        numbered = [{"id": f"a{i}", **action} for i, action in enumerate(actions, 1)]
        plan = validate(new_execution(numbered, command_id="c1", source="test", timeout_ms=timeout_ms))
        return run_plan(approve(plan), self.device, package=OPERATOR, backend=self.backend)

    def step(self, kind: str, **params: Any) -> StepResult:
        (step,) = self.run({"type": kind, "params": params}).envelope.stepResults
        return step

    def click(self, **matcher: Any) -> StepResult:
        return self.step("click", matcher={name.rstrip("_"): value for name, value in matcher.items()})

    def number(self) -> dict[str, str]:
        """Assign references to the elements of the screen. Returns them by label, or id, and buttons by row."""
        (step,) = self.run({"type": "snapshot_ui"}).envelope.stepResults
        screen = parse_hierarchy(step.data["text"])
        outline = outline_of(screen, screen_frame(screen))
        References(self.device.serial).assign(outline, "s1")
        refs: dict[str, str] = {}
        name = ""
        for element in outline.elements:
            name = element.label if element.label != "Delete" else name
            label = element.label if element.label != "Delete" else f"Delete {name}"
            refs[label or element.node.resource_id.rpartition("/")[2]] = element.ref
        return refs


@contextmanager
def _running(backend: str, home: Path) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_HOME", str(home))
        with simulated_phone(apps=[rows_app()], clock=SkippingClock()) as phone, phone.serve() as ports:
            device = Device("claw-1", Endpoint("127.0.0.1", ports.server_port, simulated=True))
            phone.open_app(PACKAGE)
            yield Bench(phone, device, backend)


@pytest.fixture(params=["operator", "adb"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with _running(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Bench]:
    with _running("operator", tmp_path) as made:
        yield made


@pytest.fixture
def deliveries(monkeypatch: pytest.MonkeyPatch) -> list[list[dict[str, Any]]]:
    """The actions of each delivery to the Operator."""
    sent: list[list[dict[str, Any]]] = []

    def record(device: Device, package: str, document: dict[str, Any], **more: Any) -> Any:
        sent.append(document["actions"])
        return deliver(device, package, document, **more)

    monkeypatch.setattr(operator_module, "deliver", record)
    return sent


def change_after_capture(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None], capture: int = 1) -> None:
    """Call ``change`` right after a capture of the host, once."""
    dump = OperatorDriver.dump
    count = 0

    def dump_and_change(driver: OperatorDriver) -> Hierarchy:
        nonlocal count
        screen = dump(driver)
        count += 1
        if count == capture:
            change()
        return screen

    monkeypatch.setattr(OperatorDriver, "dump", dump_and_change)


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ({"textEquals": "Delete", "sibling": {"textEquals": "Bob"}}, "Delete Bob"),
        ({"shortId": "delete", "rightOf": {"textEquals": "Carol"}}, "Delete Carol"),
        ({"role": "button", "index": 1}, "Delete Bob"),
        ({"textMatches": "Stor.*"}, "Storage"),
        ({"className": "Button", "textEquals": "Delete", "index": 0}, "Delete Alice"),
        (
            {"descendant": {"textMatches": "Used: .*"}, "enabled": True, "className": "LinearLayout", "index": 1},
            "Storage",
        ),
        ({"anyOf": [{"textEquals": "Nothing"}, {"textEquals": "Storage"}]}, "Storage"),
        ({"textEquals": "Storage", "unique": True}, "Storage"),
    ],
)
def test_the_chosen_node_is_clicked_and_reported(bench: Bench, matcher: dict[str, Any], expected: str) -> None:
    step = bench.click(**matcher)
    assert step.success, step
    assert bench.touched == [expected]
    assert step.data["effect"] in ("changed", "unchanged", "unknown")
    assert step.data["click_types"] == "click"
    assert "coordinate" not in step.data


def test_a_node_without_a_selector_of_the_contract_is_tapped_where_it_is(bench: Bench) -> None:
    step = bench.click(className="FrameLayout", below={"textEquals": "Wi-Fi"}, index=1)
    assert step.success, step
    assert bench.touched == ["blank 1"]


def test_a_click_takes_two_deliveries(operator: Bench, deliveries: list[list[dict[str, Any]]]) -> None:
    assert operator.click(textMatches="Stor.*").success
    assert [[action["type"] for action in actions] for actions in deliveries] == [["snapshot_ui"], ["click"]]
    assert deliveries[1][0]["params"]["matcher"] == {"resourceId": "android:id/title"}
    assert deliveries[1][0]["params"]["retry"] == ONCE


def test_a_tap_where_the_node_is_takes_four_deliveries_with_a_guard(
    operator: Bench, deliveries: list[list[dict[str, Any]]]
) -> None:
    assert operator.click(textEquals="Delete", sibling={"textEquals": "Bob"}).success
    assert [[action["type"] for action in actions] for actions in deliveries] == [
        ["snapshot_ui"],
        ["snapshot_ui"],
        ["wait_for_node", "click"],
        ["snapshot_ui"],
    ]


def test_several_matches_are_refused_when_one_is_required(bench: Bench) -> None:
    for matcher in ({"textEquals": "Delete", "unique": True}, {"shortId": "delete"}):
        step = bench.click(**matcher)
        assert step.data["error"] == "NODE_AMBIGUOUS"
        found = json.loads(step.data["candidates"])
        assert [one["label"] for one in found] == ["Delete"] * 3
        assert "dispatched" not in step.data
        for one, name in zip(found, ("Alice", "Bob", "Carol"), strict=True):
            assert bench.click(**one["selector"]).success
            assert bench.state["touched"].pop() == f"Delete {name}"
    assert bench.touched == []


def test_long_labels_are_shortened_in_candidates_and_errors(bench: Bench) -> None:
    bench.rename("x" * 130, "x" * 130)
    step = bench.click(shortId="name")
    assert step.data["error"] == "NODE_AMBIGUOUS"
    assert [len(one["label"]) for one in json.loads(step.data["candidates"])] == [120, 120]
    waited = bench.step("wait_for_text_change", matcher={"shortId": "name", "index": 0}, timeoutMs=1)
    assert waited.data["error"] == "WAIT_TIMEOUT"
    assert len(waited.data["message"]) < 200


def test_a_reference_is_found_where_it_moved_to(bench: Bench) -> None:
    ref = bench.number()["Delete Bob"]
    bench.rename("Zoe", "Alice", "Carol", "Bob")
    step = bench.click(ref=ref)
    assert step.success, step
    assert bench.touched == ["Delete Bob"]


def test_a_reference_to_an_element_that_is_gone_touches_nothing(bench: Bench) -> None:
    refs = bench.number()
    bench.rename("Alice", "Carol")
    steps = [bench.click(ref=refs[name]) for name in ("Bob", "Delete Bob")]
    assert [step.data["error"] for step in steps] == ["REF_STALE", "REF_STALE"]
    assert not any("dispatched" in step.data for step in steps)
    candidates = json.loads(steps[1].data["candidates"])
    assert {one["label"] for one in candidates} == {"Delete"}
    assert bench.click(**candidates[0]["selector"]).success
    assert bench.touched == ["Delete Alice"]


@pytest.mark.parametrize(("kind", "params"), [("enter_text", {"text": "x"}), ("submit_text", {})])
def test_text_for_a_reference_to_an_element_that_is_no_field_touches_nothing(
    bench: Bench, kind: str, params: dict[str, Any]
) -> None:
    step = bench.step(kind, matcher={"ref": bench.number()["Delete Bob"]}, **params)
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "dispatched" not in step.data
    assert bench.touched == []


def test_a_reference_to_a_field_takes_text(bench: Bench) -> None:
    step = bench.step("enter_text", text="x", matcher={"ref": bench.number()["pin"]})
    assert step.success, step
    assert bench.state["pin"] == "x"


def test_an_unknown_reference_fails_at_once(bench: Bench) -> None:
    bench.number()
    assert bench.click(ref="e9999").data["error"] == "REF_STALE"
    assert bench.click(ref="e1@nowhere").data["error"] == "REF_STALE"
    assert bench.touched == []


def test_an_element_that_cannot_be_told_from_others_is_not_gone(bench: Bench) -> None:
    ref = bench.number()["Bob"]
    bench.rename("Alice", "Bob", "Bob")
    waited = bench.step("wait_until_gone", matcher={"ref": ref}, timeoutMs=300)
    assert waited.data["error"] == "WAIT_TIMEOUT"
    bench.rename("Alice", "Carol")
    assert bench.step("wait_until_gone", matcher={"ref": ref}).success


def test_one_of_several_nodes_may_be_a_reference_that_is_gone(bench: Bench) -> None:
    ref = bench.number()["Bob"]
    selectors = [{"ref": ref}, {"textEquals": "Alice", "unique": True}, {"textEquals": "Carol"}]
    assert bench.step("wait_for_any", selectors=selectors).data["matched_index"] == "0"
    bench.rename("Alice", "Alice", "Carol")
    assert bench.step("wait_for_any", selectors=selectors).data["matched_index"] == "2"


def test_text_is_entered_into_the_chosen_field(bench: Bench) -> None:
    step = bench.step(
        "enter_text", matcher={"className": "EditText", "rightOf": {"textEquals": "Second"}}, text="two"
    )
    assert step.success, step
    assert (bench.state["first"], bench.state["second"]) == ("", "two")
    step = bench.step("enter_text", matcher={"shortId": "pin"}, text="1234")
    assert step.success, step
    assert bench.state["pin"] == "1234"
    assert "1234" not in str(step)


def test_reads_waits_and_scrolls_take_selectors_of_the_host(bench: Bench) -> None:
    assert bench.step("read_text", matcher={"shortId": "name", "index": 2}).data["text"] == "Carol"
    every = bench.step("read_text", matcher={"shortId": "name"}, all=True)
    assert json.loads(every.data["text"]) == ["Alice", "Bob", "Carol"]
    inside = bench.step("read_text", matcher={"textMatches": "B.*"}, container={"shortId": "people"})
    assert inside.data["text"] == "Bob"
    assert bench.step("wait_for_node", matcher={"shortId": "toggle", "checked": False}).success
    waited = bench.step("wait_for_navigation", expectedNode={"shortId": "pin", "password": True}, timeoutMs=5_000)
    assert waited.success
    value = bench.step("read_key_value_pair", labelMatcher={"textMatches": "Stor.*"})
    assert value.data["value"] == "Used: 3 GB"
    assert bench.step("scroll", container={"shortId": "people"}).success
    found = bench.step("scroll_until", matcher={"textMatches": "Carol"}, container={"shortId": "people"})
    assert found.data["termination_reason"] == "TARGET_FOUND"
    done = bench.step("scroll_and_click", matcher={"textMatches": "Stor.*"})
    assert done.success
    assert bench.touched == ["Storage"]


def test_a_node_that_is_not_there_is_retried_by_the_policy_of_the_action(bench: Bench) -> None:
    step = bench.step("click", matcher={"textMatches": "Nothing"}, retry=ONCE)
    assert step.data["error"] == "NODE_NOT_FOUND"
    assert "dispatched" not in step.data


def test_a_target_that_leaves_before_the_click_is_not_a_success(
    operator: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_after_capture(monkeypatch, lambda: operator.rename("Alice", "Carol"))
    step = operator.click(textEquals="Delete", sibling={"textEquals": "Bob"})
    assert not step.success
    assert operator.touched == []


def test_a_click_on_another_node_of_the_same_name_is_not_a_success(
    operator: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only Delete on the screen is that of another row by the time the click arrives."""
    operator.rename("Bob")
    change_after_capture(monkeypatch, lambda: operator.rename("Alice"))
    step = operator.step("click", matcher={"textEquals": "Delete", "sibling": {"textEquals": "Bob"}}, retry=ONCE)
    assert step.data["error"] == "TARGET_CHANGED"
    assert step.data["dispatched"] == "true"
    assert "Delete" in step.data["acted_on"]


def test_a_screen_that_changes_between_the_captures_is_not_tapped(
    operator: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_after_capture(monkeypatch, lambda: operator.rename("Zoe", "Alice", "Bob"), capture=2)
    step = operator.step("click", matcher={"textEquals": "Delete", "sibling": {"textEquals": "Bob"}}, retry=ONCE)
    assert not step.success
    assert "Delete Bob" in operator.touched or step.data["error"] in ("TARGET_CHANGED", "NODE_NOT_FOUND")


def test_a_row_that_moves_just_before_a_touch_of_its_place_is_not_a_success(operator: Bench) -> None:
    operator.phone.fault("shift", 1.0)
    step = operator.step("click", matcher={"textEquals": "Delete", "sibling": {"textEquals": "Bob"}}, retry=ONCE)
    assert "Delete Bob" not in operator.touched
    assert step.data["error"] == "TARGET_CHANGED"
    assert step.data["dispatched"] == "true"


def test_a_long_press_of_a_row_that_moves_is_not_a_success(operator: Bench) -> None:
    operator.phone.fault("shift", 1.0)
    matcher = {"textEquals": "Delete", "sibling": {"textEquals": "Bob"}}
    step = operator.step("click", matcher=matcher, retry=ONCE, clickType="long_click", durationMs=1_200)
    assert "Delete Bob" not in operator.touched
    assert step.data["error"] == "TARGET_CHANGED"
    assert step.data["dispatched"] == "true"


def test_a_touch_of_a_place_whose_element_is_gone_afterwards_is_not_verified(operator: Bench) -> None:
    operator.state["touched"] = _Leaving(operator)
    step = operator.step("click", matcher={"textEquals": "Delete", "sibling": {"textEquals": "Bob"}}, retry=ONCE)
    assert step.success
    assert step.data["target_verified"] == "false"
    assert operator.touched == ["Delete Bob"]
    step = operator.step("click", matcher={"textEquals": "Delete", "sibling": {"textEquals": "Carol"}}, retry=ONCE)
    assert step.success
    assert "target_verified" not in step.data


class _Leaving(list[str]):
    """Removes the row of Bob when something is touched for the first time."""

    def __init__(self, operator: Bench) -> None:
        super().__init__()
        self._operator = operator

    def append(self, entry: str) -> None:
        super().append(entry)
        if entry == "Delete Bob":
            self._operator.rename("Alice", "Carol")


def test_errors_of_the_link_are_those_of_other_actions(bench: Bench) -> None:
    def code(matcher: dict[str, Any]) -> str:
        try:
            (step,) = bench.run({"type": "click", "params": {"matcher": matcher}}).envelope.stepResults
        except ClawError as e:
            return f"raised {e.code}"
        return step.data["error"]

    bench.phone.fault("operator_killed" if bench.backend == "operator" else "offline")
    expected = "raised OPERATOR_NOT_RUNNING" if bench.backend == "operator" else "DEVICE_OFFLINE"
    assert code({"textEquals": "Storage"}) == expected
    assert code({"textMatches": "Stor.*"}) == expected


@pytest.mark.parametrize(
    "matcher", [{"textMatches": "D.*"}, {"role": "button", "index": 0}, {"ref": "Delete Alice"}]
)
def test_a_rule_about_a_label_applies_to_the_node_that_was_found(bench: Bench, matcher: dict[str, Any]) -> None:
    refs = bench.number()
    given = {name: refs.get(value, value) if name == "ref" else value for name, value in matcher.items()}
    policy = Policy(mode="act", deny=(read_rule("click(Delete*)", "flag"),))
    with enforcing(PolicyGate(policy)):
        step = bench.click(**given)
        assert step.data["error"] == "PERMISSION_DENIED"
        assert bench.click(textMatches="Stor.*").success
    assert bench.touched == ["Storage"]


def test_what_a_node_is_near_to_never_allows_a_click(bench: Bench) -> None:
    policy = Policy(mode="read-only", allow=(read_rule("click(Bob)", "flag"),))
    with enforcing(PolicyGate(policy)), pytest.raises(ClawError) as caught:
        bench.click(textEquals="Delete", sibling={"textEquals": "Bob"})
    assert caught.value.code == "PERMISSION_DENIED"


@pytest.mark.parametrize("matcher", [{"textEquals": "Storrage"}, {"textMatches": "Storage!"}])
def test_a_failed_search_names_near_matches(bench: Bench, matcher: dict[str, Any]) -> None:
    result = bench.run({"type": "click", "params": {"matcher": matcher, "retry": ONCE}})
    (step,) = result.envelope.stepResults
    assert step.data["error"] == "NODE_NOT_FOUND"
    assert json.loads(step.data["nearest"])[0] == {"value": "Storage", "selector": {"textEquals": "Storage"}}
    assert step.data["hint"].startswith('Did you mean text "Storage"?')
    assert result.envelope.hint == step.data["hint"]


def test_near_matches_of_ids_containers_and_fields(bench: Bench) -> None:
    step = bench.step("read_text", matcher={"textEquals": "Bob"}, container={"shortId": "peple"}, retry=ONCE)
    assert step.data["error"] == "CONTAINER_NOT_FOUND"
    assert f'container id "{PACKAGE}:id/people"' in step.data["hint"]
    step = bench.step("enter_text", matcher={"textEquals": "Wifi"}, text="x", retry=ONCE)
    assert 'text "Wi-Fi"' in step.data["hint"]
    step = bench.step("click", matcher={"textEquals": "Nothing like it"}, retry=ONCE)
    assert "nearest" not in step.data


def test_an_error_without_time_for_a_capture_is_reported_as_it_is(operator: Bench) -> None:
    result = operator.run(
        {"type": "wait_for_node", "params": {"matcher": {"textEquals": "Storrage"}}}, timeout_ms=1_000
    )
    assert result.envelope.status == "failed"
