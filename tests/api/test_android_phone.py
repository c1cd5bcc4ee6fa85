"""The methods that every phone has: their times, plans and names."""

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.api.android_phone import AndroidPhone
from clawperator.api.phone import ConnectedPhone
from clawperator.api.selectors import FIELDS, Selector, SelectorKwargs
from clawperator.api.snapshot import Snapshot
from clawperator.contract.action_types import Retry
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import LONGEST_WAIT_MS, validate
from clawperator.contract.looking import look_retry
from clawperator.contract.selectors import NodeSelector
from clawperator.device.adb.client import Device, Endpoint
from clawperator.engine.retry import retry_delays
from clawperator.errors import ClawError
from clawperator.testing import ScriptedBackend

METHODS = {
    name: method
    for name, method in inspect.getmembers(AndroidPhone, inspect.isfunction)
    if not name.startswith("_")
}


def scripted(*results: dict[str, str]) -> tuple[ConnectedPhone, ScriptedBackend]:
    backend = ScriptedBackend(*results)
    return ConnectedPhone(Device("none", Endpoint("127.0.0.1", 1)), backend=backend), backend


def sent(call: Callable[[ConnectedPhone], object]) -> dict[str, Any]:
    """The only execution document that a call runs."""
    phone, backend = scripted({"text": "[]", "value": "", "pairs": "[]", "path": "", "sessionId": "s"})
    call(phone)
    (plan,) = backend.plans
    return plan.document


def test_every_method_takes_a_timeout() -> None:
    # The time of a sleep is its argument; a recording ends with its block.
    assert {name for name, method in METHODS.items() if "timeout" not in inspect.signature(method).parameters} == {
        "recording",
        "sleep",
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda phone: phone.click("x", timeout=2),
        lambda phone: phone.enter_text("v", text="x", timeout=2),
        lambda phone: phone.read_all("x", timeout=2),
        lambda phone: phone.read_value("x", timeout=2),
        lambda phone: phone.read_values("x", timeout=2),
    ],
)
def test_a_timeout_limits_how_long_a_node_is_looked_for(call: Callable[[ConnectedPhone], object]) -> None:
    document = sent(call)
    assert document["actions"][0]["params"]["retry"] == look_retry(2_000)
    assert document["timeoutMs"] == 30_000


@pytest.mark.parametrize(
    "call",
    [
        lambda phone: phone.open_app("com.example", timeout=3),
        lambda phone: phone.close_app("com.example", timeout=3),
        lambda phone: phone.recents(timeout=3),
        lambda phone: phone.scroll(timeout=3),
        lambda phone: phone.snapshot(timeout=3),
        lambda phone: phone.start_recording(timeout=3),
        lambda phone: phone.run({"type": "snapshot_ui"}, timeout=3),
    ],
)
def test_a_timeout_limits_a_method_that_looks_for_nothing(call: Callable[[ConnectedPhone], object]) -> None:
    document = sent(call)
    assert "retry" not in document["actions"][0].get("params", {})
    # The plan is sent with the time that is left.
    assert 1_000 <= document["timeoutMs"] <= 3_000


def test_without_a_timeout_the_document_has_no_retry_of_its_own() -> None:
    assert "retry" not in sent(lambda phone: phone.click("x"))["actions"][0]["params"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 500])
def test_an_impossible_timeout_is_refused_with_the_limits(seconds: float) -> None:
    phone, backend = scripted()
    for call in (phone.click, phone.open_app):
        with pytest.raises(ClawError) as info:
            call("com.example", timeout=seconds)
        assert info.value.code == "EXECUTION_VALIDATION_FAILED"
        assert "Pass timeout= with a number of seconds from" in str(info.value.hint)
    assert backend.plans == []


@given(st.integers(0, LONGEST_WAIT_MS))
def test_a_retry_policy_looks_for_as_long_as_the_timeout(look_ms: int) -> None:
    action = {"type": "click", "params": {"matcher": {"text": "x"}, "retry": look_retry(look_ms)}}
    document = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    plan = validate({**document, "timeoutMs": 1_000, "actions": [{"id": "a", **action}]})
    retry = plan.execution.actions[0].params.retry  # type: ignore[attr-defined]
    assert isinstance(retry, Retry)
    delays = list(retry_delays(retry, None))  # type: ignore[arg-type] # no jitter is drawn
    assert sum(delays) == pytest.approx(look_ms, abs=1)
    assert delays == sorted(delays)
    assert max(delays, default=0) <= max(500, look_ms / 4)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ('[{"type": "snapshot_ui"}]', "run takes actions, not str"),
        (None, "run takes actions, not NoneType"),
        (["snapshot_ui"], "run got str as an action"),
        ([{"type": "snapshot_ui"}, {"text": "x"}], "run got an action without a type: ['text']"),
        ({"commandId": "c"}, "run got an action without a type: ['commandId']"),
    ],
)
def test_run_explains_what_it_takes(plan: Any, message: str) -> None:
    phone, backend = scripted()
    with pytest.raises(ClawError) as info:
        phone.run(plan)
    assert (info.value.code, info.value.message) == ("EXECUTION_VALIDATION_FAILED", message)
    assert str(info.value.hint).startswith("Pass a list of actions")
    assert backend.plans == []


def test_run_takes_one_action() -> None:
    document = sent(lambda phone: phone.run({"type": "press_key", "params": {"key": "home"}}))
    assert [action["type"] for action in document["actions"]] == ["press_key"]


def test_a_connection_can_be_used_in_a_with_block() -> None:
    phone, _ = scripted()
    with phone as same:
        assert same is phone


def test_every_selector_field_has_a_keyword() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(NodeSelector)}
    assert {*FIELDS.values(), "shortId"} == fields
    assert {*SelectorKwargs.__annotations__, "text"} == set(FIELDS)
    assert set(Selector.__annotations__) == set(FIELDS)


def test_keywords_are_the_fields_of_a_selector() -> None:
    def matcher(**keywords: Any) -> dict[str, Any]:
        found: dict[str, Any] = sent(lambda phone: phone.click(**keywords))["actions"][0]["params"]["matcher"]
        return found

    assert matcher(text="a", below="b", checked=True) == {
        "textEquals": "a",
        "below": {"textEquals": "b"},
        "checked": True,
    }
    assert matcher(role="switch", ancestor={"descendant": "Wi-Fi", "class_name": "LinearLayout"}) == {
        "role": "switch",
        "ancestor": {"descendant": {"textEquals": "Wi-Fi"}, "className": "LinearLayout"},
    }
    assert matcher(any_of=["OK", {"text_matches": "Y.s"}], not_={"enabled": False}) == {
        "anyOf": [{"textEquals": "OK"}, {"textMatches": "Y.s"}],
        "not": {"enabled": False},
    }
    assert matcher(id="search") == {"resourceId": "search"}
    assert matcher(id="android:id/title", index=1) == {"resourceId": "android:id/title", "index": 1}
    assert matcher(ref="e12") == {"ref": "e12"}


@pytest.mark.parametrize(
    "keywords",
    [
        {"text_matches": "("},
        {"index": 0},
        {"index": -1, "text": "a"},
        {"checked": "yes"},
        {"any_of": []},
        {"ref": "x"},
    ],
)
def test_an_invalid_selector_is_refused_by_every_search(keywords: dict[str, Any]) -> None:
    phone, backend = scripted()
    snapshot = Snapshot('<hierarchy rotation="0"></hierarchy>', None, None, 0)
    for call in (phone.click, snapshot.find, snapshot.find_all):
        with pytest.raises(ClawError) as info:
            call(**keywords)
        assert info.value.code == "EXECUTION_VALIDATION_FAILED", call
    assert backend.plans == []


def test_an_invalid_argument_shows_one_traceback() -> None:
    phone, _ = scripted()
    calls: list[Callable[[], object]] = [lambda: phone.press("nothing"), lambda: phone.click(text=5)]  # type: ignore[arg-type]
    for call in calls:
        with pytest.raises(ClawError) as info:
            call()
        assert "".join(traceback.format_exception(info.value)).count("Traceback") == 1


def test_a_nested_selector_without_fields_is_refused() -> None:
    phone, _ = scripted()
    with pytest.raises(ClawError) as info:
        phone.click("a", below={})
    assert (info.value.code, info.value.message) == ("MISSING_SELECTOR", "below needs a selector")


def sources(action: str) -> str:
    """The source of every method that runs an action."""
    return "".join(
        source for method in METHODS.values() if f'_step("{action}"' in (source := inspect.getsource(method))
    )


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_a_method_with_the_params_that_the_host_resolves(action: str) -> None:
    written = sources(action)
    assert written
    params = (
        ACTIONS[action].params.__struct_fields__ if ACTIONS[action].runs_on_host else ACTIONS[action].host_params
    )
    # Expectations are a keyword of every acting method; retries are what timeout= is for.
    words = {"expect": "expectation("}
    assert [name for name in params if name != "retry" and words.get(name, name) not in written] == []
