"""The Operator's parser: lenient where a real Operator is, silent where a real one is."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract import limits
from clawperator.contract.action_params import Retry
from clawperator.contract.actions import ACTIONS, ClickParams
from clawperator.contract.execution import Execution, needs_host, operator_action, validate
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.engine.clicks import CLICK_KINDS
from clawperator.errors import ClawError
from clawperator.phone.operator.operator import MAX_ACTIONS, PayloadError, parse_execution
from clawperator.testing import SimulatedPhone
from tests.phone.operator.test_operator import log_lines, payload, results

DISPLAY = {"textEquals": "Display"}


def action(kind: str, **params: Any) -> dict[str, Any]:
    return {"id": "a1", "type": kind, "params": params}


def parsed(kind: str, **params: Any) -> Any:
    return parse_execution(payload(action(kind, **params))).actions[0].params


def document(**changed: Any) -> str:
    return json.dumps({**json.loads(payload(action("sleep"))), **changed})


class TestUnknownKeysAndDuplicates:
    def test_unknown_keys_are_ignored_at_every_level(self) -> None:
        click = action("click", matcher={**DISPLAY, "depth": 3}, retry={"maxAttempts": 2, "foo": 1}, maxSwipes=3)
        execution = parse_execution(document(actions=[{**click, "note": "x"}], future=True))
        params = execution.actions[0].params
        assert isinstance(params, ClickParams)
        assert params.matcher == NodeSelector(textEquals="Display")
        assert params.retry == Retry(2, 0, 0, 1, 0)

    def test_actions_with_the_same_id_all_run(self, phone: SimulatedPhone) -> None:
        phone.phone.operator.receive(payload(action("sleep", durationMs=1), action("press_key", key="home")))
        (envelope,) = results(phone.phone)
        assert [step["actionType"] for step in envelope["stepResults"]] == ["sleep", "press_key"]

    def test_a_matcher_counts_only_its_six_known_fields(self, phone: SimulatedPhone) -> None:
        """A host that sends another field would click another node: the Operator does not know that field."""
        phone.open_app("com.android.settings")
        leaked = {"role": "text", "className": "android.widget.Switch", "index": 7}
        plain = {"role": "text"}
        for matcher in (leaked, plain):
            phone.phone.operator.receive(payload(action("read_text", matcher=matcher)))
        first, second = (envelope["stepResults"][0] for envelope in results(phone.phone))
        assert first["success"]
        assert first["data"]["text"] == second["data"]["text"]

    @pytest.mark.parametrize("matcher", [{}, {"ref": "e12"}, {"text": "Display"}, {"textEquals": None}])
    def test_a_matcher_without_a_known_field_is_unparsable(self, matcher: dict[str, Any]) -> None:
        with pytest.raises(PayloadError, match="at least one matcher field"):
            parsed("click", matcher=matcher)


class TestNumbers:
    @pytest.mark.parametrize(
        ("kind", "params", "name", "expected"),
        [
            ("sleep", {}, "durationMs", 0),
            ("sleep", {"durationMs": -1}, "durationMs", 0),
            ("sleep", {"durationMs": 999_999}, "durationMs", 120_000),
            ("sleep", {"durationMs": "soon"}, "durationMs", 0),
            ("sleep", {"durationMs": True}, "durationMs", 0),
            ("wait_for_node", {"timeoutMs": 999_999}, "timeoutMs", 120_000),
            ("wait_for_node", {"timeoutMs": 0}, "timeoutMs", 1),
            ("wait_for_navigation", {"timeoutMs": 99_999}, "timeoutMs", 30_000),
            ("scroll_and_click", {"maxSwipes": 0}, "maxSwipes", 1),
            ("scroll_and_click", {"maxSwipes": 51}, "maxSwipes", 50),
            ("scroll_and_click", {}, "maxSwipes", 10),
            ("scroll_and_click", {}, "clickAfter", True),
            ("scroll_until", {"maxScrolls": 0}, "maxScrolls", 1),
            ("scroll_until", {"maxScrolls": 999}, "maxScrolls", 200),
            ("scroll_until", {}, "maxScrolls", 20),
            ("scroll_until", {}, "maxDurationMs", 10_000),
            ("scroll_until", {"noPositionChangeThreshold": 99}, "noPositionChangeThreshold", 20),
            ("scroll_until", {}, "noPositionChangeThreshold", 3),
            ("scroll_until", {}, "clickAfter", False),
            ("scroll", {}, "distanceRatio", 0.7),
            ("scroll", {"distanceRatio": 7}, "distanceRatio", 1),
            ("scroll", {}, "settleDelayMs", 250),
            ("scroll", {"settleDelayMs": 99_999}, "settleDelayMs", 10_000),
            ("scroll", {}, "direction", "down"),
            ("scroll", {}, "findFirstScrollableChild", True),
            ("scroll", {}, "retry", Retry()),
        ],
    )
    def test_numbers_are_clamped_and_absent_ones_have_defaults(
        self, kind: str, params: dict[str, Any], name: str, expected: Any
    ) -> None:
        needed = {"matcher": DISPLAY, "expectedPackage": "com.android.settings"}
        assert getattr(parsed(kind, **needed, **params), name) == expected

    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            ({}, Retry(1, 0, 0, 1, 0)),
            ({"maxAttempts": 99, "initialDelayMs": -5}, Retry(10, 0, 0, 1, 0)),
            ({"initialDelayMs": 50_000, "maxDelayMs": 1}, Retry(1, 30_000, 30_000, 1, 0)),
            ({"maxDelayMs": 999_999, "backoffMultiplier": 9, "jitterRatio": 3}, Retry(1, 0, 60_000, 5, 1)),
        ],
    )
    def test_a_given_retry_replaces_the_preset_and_is_clamped(
        self, written: dict[str, Any], expected: Retry
    ) -> None:
        assert parsed("click", matcher=DISPLAY, retry=written).retry == expected

    @pytest.mark.parametrize(
        ("written", "expected"), [({}, 30_000), ({"timeoutMs": 1}, 1_000), ({"timeoutMs": 999_999}, 120_000)]
    )
    def test_the_timeout_has_a_default_and_limits(self, written: dict[str, Any], expected: int) -> None:
        without = {key: value for key, value in json.loads(document()).items() if key != "timeoutMs"}
        assert parse_execution(json.dumps({**without, **written})).timeoutMs == expected


class TestWords:
    @pytest.mark.parametrize(
        ("written", "kind"),
        [(None, "click"), ("CLICK", "click"), ("longClick", "long_click"), ("Long_Click", "long_click")],
    )
    def test_the_click_type_may_have_any_case(self, written: str | None, kind: str) -> None:
        assert CLICK_KINDS[parsed("click", matcher=DISPLAY, clickType=written).clickType] == kind

    def test_keys_directions_validators_and_action_types_may_have_any_case(self) -> None:
        assert parsed("press_key", key="BACK").key == "back"
        assert parsed("scroll", direction="Up").direction == "up"
        assert parsed("read_text", matcher=DISPLAY, validator="VERSION").validator == "version"
        assert parsed("Sleep", durationMs=5).durationMs == 5

    @pytest.mark.parametrize(
        "wrong",
        [
            action("click", matcher=DISPLAY, clickType="bogus"),
            action("click", matcher=DISPLAY, clickType="click "),
            action("press_key", key="BACK "),
            action("press_key", key="enter"),
            action("press_key"),
            action("scroll", direction=" down"),
            action("scroll", direction="sideways"),
            action("scroll_and_click", matcher=DISPLAY, direction="sideways"),
            action("read_text", matcher=DISPLAY, validator="number"),
            action("read_text", matcher=DISPLAY, validator="regex"),
        ],
    )
    def test_an_unknown_word_makes_the_payload_unparsable(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(PayloadError):
            parse_execution(payload(wrong))

    @pytest.mark.parametrize("kind", ["tap", "find", "open_url", "screenshot", "swipe", "query", " click"])
    def test_aliases_and_types_of_the_host_are_unknown(self, kind: str) -> None:
        with pytest.raises(PayloadError, match="unsupported action type"):
            parsed(kind, matcher=DISPLAY, uri="https://example.com")


class TestUnparsable:
    @pytest.mark.parametrize(
        "wrong",
        [
            action("enter_text", matcher=DISPLAY, text="  "),
            action("enter_text", matcher=DISPLAY, text=""),
            action("enter_text", matcher=DISPLAY),
            action("enter_text", matcher=DISPLAY, text="x" * 513),
            action("open_app", applicationId=" "),
            action("open_uri", uri="https://example.com/" + "x" * 2_048),
            action("start_recording", sessionId=" "),
            action("start_recording", sessionId="x" * 129),
            action("click"),
            action("click", matcher=DISPLAY, coordinate={"x": 1, "y": 1}),
            action("click", coordinate={"x": -1, "y": 1}),
            action("click", coordinate={"x": 1, "y": 1}, clickType="focus"),
            action("click", matcher="Display"),
            action("click", matcher={"textEquals": "x" * 513}),
            action("click", matcher=DISPLAY, retry=3),
            action("wait_for_navigation", timeoutMs=500),
            action("wait_for_navigation", expectedPackage="com.android.settings"),
            action("wait_for_navigation", expectedPackage=" ", timeoutMs=500),
            {"id": " ", "type": "sleep"},
            {"id": "x" * 129, "type": "sleep"},
            {"type": "sleep"},
            {"id": "a1"},
            {"id": "a1", "type": "sleep", "params": None},
        ],
    )
    def test_an_invalid_action_makes_the_whole_payload_unparsable(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(PayloadError):
            parse_execution(payload(action("sleep"), wrong))

    @pytest.mark.parametrize(
        "changed",
        [
            {"commandId": " "},
            {"commandId": 5},
            {"taskId": ""},
            {"source": "x" * 65},
            {"actions": []},
            {"actions": {}},
            {"actions": [action("sleep")] * (MAX_ACTIONS + 1)},
            {"actions": ["sleep"]},
            {"padding": "x" * limits.MAX_PAYLOAD_BYTES},
        ],
    )
    def test_an_invalid_document_is_unparsable(self, changed: dict[str, Any]) -> None:
        with pytest.raises(PayloadError):
            parse_execution(document(**changed))

    def test_more_actions_than_the_host_allows_are_accepted(self) -> None:
        assert len(parse_execution(document(actions=[action("sleep")] * MAX_ACTIONS)).actions) == MAX_ACTIONS

    def test_an_unparsable_payload_gets_a_log_line_and_no_result(self, phone: SimulatedPhone) -> None:
        phone.phone.operator.receive(payload(action("press_key", key="BACK ")))
        assert results(phone.phone) == []
        assert any("[Operator-Receiver] the payload cannot be parsed" in line for line in log_lines(phone.phone))


def test_doctor_ping_reports_the_developer_settings(phone: SimulatedPhone) -> None:
    phone.shell_script("settings put global development_settings_enabled 0")
    phone.phone.operator.receive(payload({"id": "h1", "type": "doctor_ping"}))
    (envelope,) = results(phone.phone)
    assert envelope["status"] == "success"
    assert envelope["stepResults"] == [
        {
            "id": "h1",
            "actionType": "doctor_ping",
            "success": True,
            "data": {"developer_options_enabled": "false", "usb_debugging_enabled": "true"},
        }
    ]


def test_a_recording_with_an_invalid_session_id_is_a_failed_step(phone: SimulatedPhone) -> None:
    phone.phone.operator.receive(payload(action("start_recording", sessionId="a/b"), action("sleep")))
    (envelope,) = results(phone.phone)
    assert envelope["stepResults"][0]["data"]["error"] == "RECORDING_START_FAILED"
    assert envelope["stepResults"][1]["success"]


def test_stopping_a_recording_with_an_invalid_session_id_stops_nothing(phone: SimulatedPhone) -> None:
    phone.start_recording("demo")
    phone.phone.operator.receive(payload(action("stop_recording", sessionId="a/b")))
    (envelope,) = results(phone.phone)
    assert envelope["stepResults"][0]["data"]["error"] == "RECORDING_NOT_IN_PROGRESS"
    assert phone.phone.operator.recorder.session_id == "demo"


# Every plan that the host sends means the same on the device.

_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
_numbers = st.integers(-10, 130_000) | st.integers(1_000, 10_000) | st.floats(1, 10_000)
_matchers = st.dictionaries(st.sampled_from(NodeMatcher.__struct_fields__), _texts | st.just(""), min_size=1)
_retries = st.fixed_dictionaries(
    {},
    optional={
        "maxAttempts": st.integers(0, 10),
        "initialDelayMs": st.integers(0, 2_000),
        "maxDelayMs": st.integers(1_000, 9_000),
        "backoffMultiplier": st.floats(1, 5),
        "jitterRatio": st.floats(0, 1),
    },
)
_values: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("matcher", "container", "expectedNode", "labelMatcher"), _matchers),
    **dict.fromkeys(("retry", "scrollRetry", "clickRetry"), _retries),
    **dict.fromkeys(("submit", "all", "findFirstScrollableChild", "clickAfter"), st.booleans()),
    **dict.fromkeys(("applicationId", "expectedPackage"), st.just("com.android.settings") | _texts),
    **dict.fromkeys(("maxSwipes", "maxScrolls", "noPositionChangeThreshold"), st.integers(0, 60)),
    **dict.fromkeys(("durationMs", "timeoutMs", "settleDelayMs", "maxDurationMs"), _numbers),
    "distanceRatio": st.floats(0, 1.2),
    "coordinate": st.fixed_dictionaries({"x": st.integers(-1, 2_000), "y": st.integers(-1, 2_000)}),
    "clickType": st.sampled_from(["default", "click", "long_click", "longclick", "focus", "x"]),
    "direction": st.sampled_from(["down", " UP ", "left", "Right", "x"]),
    "key": st.sampled_from(["back", "HOME ", "recents", "x"]),
    "validator": st.sampled_from(["temperature", "Version", " regex", "x"]),
    "validatorPattern": st.just("[0-9]+") | _texts,
    "sessionId": st.just("demo") | _texts,
    "text": _texts,
    "uri": _texts,
    "path": _texts,
}


_WIRE_ACTIONS = sorted(name for name, row in ACTIONS.items() if not row.runs_on_host)


@st.composite
def _actions(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(_WIRE_ACTIONS))
    fields = [field for field in msgspec.structs.fields(ACTIONS[kind].params) if field.name in _values]
    given = [field.name for field in fields if field.required or draw(st.booleans())]
    return {"id": draw(_texts), "type": kind, "params": {name: draw(_values[name]) for name in given}}


def _meaning(execution: Execution) -> Any:
    """What the engine does with an execution: params with every default, click types as their kind."""
    shown = msgspec.to_builtins(execution)
    for each in shown["actions"]:
        params = each["params"]
        if "clickType" in params:
            params["clickType"] = CLICK_KINDS[params["clickType"]]
        for name in ("retry", "scrollRetry", "clickRetry"):
            if name in params:
                params[name].setdefault("maxDelayMs", params[name]["initialDelayMs"])
        params.pop("path", None)  # used by the host only
    return {**shown, "mode": None}


@pytest.mark.random
@given(actions=st.lists(_actions(), min_size=1, max_size=3), timeout=_numbers)
def test_every_plan_that_the_host_sends_means_the_same_on_the_device(
    actions: list[dict[str, Any]], timeout: float
) -> None:
    try:
        plan = validate(json.loads(payload(*actions)) | {"timeoutMs": timeout, "mode": "direct"})
    except ClawError:
        return
    if any(map(needs_host, plan.execution.actions)):
        return
    sent = {**plan.document, "actions": [operator_action(action) for action in plan.document["actions"]]}
    assert _meaning(parse_execution(msgspec.json.encode(sent).decode())) == _meaning(plan.execution)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.random
@given(params=st.dictionaries(st.sampled_from([*_values, "other"]), _json), kind=st.sampled_from(_WIRE_ACTIONS))
def test_any_json_is_parsed_or_refused(params: dict[str, Any], kind: str) -> None:
    try:
        execution = parse_execution(payload(action(kind, **params)))
    except ValueError:
        return
    assert execution.actions[0].type == kind
