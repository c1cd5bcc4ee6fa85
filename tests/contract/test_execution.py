"""Executions: accepted documents, aliases, and the errors of rejected ones."""

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.action_params import UI_READINESS, Retry
from clawperator.contract.actions import (
    ACTION_ALIASES,
    ACTIONS,
    PARAM_ALIASES,
    ClickParams,
    ReadTextParams,
    ScrollParams,
)
from clawperator.contract.execution import Plan, needs_host, operator_action, single_action, validate, with_timeout
from clawperator.contract.selectors import HOST_FIELDS, MATCHER_ALIASES, NodeMatcher
from clawperator.errors import CODES, ClawError
from clawperator.schemas import SCHEMAS, schema
from tests.support.schema_checks import assert_fits_schema

M = {"textEquals": "Wi-Fi"}
# One good set of params for each action type.
GOOD: dict[str, dict[str, Any] | None] = {
    "open_app": {"applicationId": "com.android.settings"},
    "open_uri": {"uri": "https://clawperator.com"},
    "close_app": {"applicationId": "com.android.settings"},
    "start_recording": {"sessionId": "demo-1"},
    "stop_recording": {},
    "wait_for_node": {"matcher": M, "timeoutMs": 5000},
    "click": {"matcher": M},
    "scroll_and_click": {"matcher": M, "direction": "up", "maxSwipes": 3},
    "scroll": {"direction": "down", "container": {"role": "list"}},
    "scroll_until": {"matcher": M, "clickAfter": True, "maxScrolls": 200},
    "read_text": {"matcher": M, "validator": "regex", "validatorPattern": r"\d+"},
    "enter_text": {"matcher": M, "text": "hello", "submit": False, "clear": True},
    "snapshot_ui": None,
    "take_screenshot": {"path": "a.png"},
    "sleep": {"durationMs": 0},
    "press_key": {"key": "back"},
    "wait_for_navigation": {"expectedPackage": "com.android.settings", "timeoutMs": 5000},
    "read_key_value_pair": {"labelMatcher": M},
    "rotate": {"orientation": "landscape"},
    "start_activity": {
        "component": "com.app/.Main",
        "uri": "https://a.b",
        "extras": {"n": 1, "t": True, "s": "x"},
    },
    "install_app": {"path": "app.apk"},
    "uninstall_app": {"applicationId": "com.app"},
    "clear_app_data": {"applicationId": "com.app"},
    "grant_permission": {"applicationId": "com.app", "permission": "android.permission.CAMERA"},
    "revoke_permission": {"applicationId": "com.app", "permission": "android.permission.CAMERA"},
    "read_logcat": {"applicationId": "com.app", "since": "30s", "maxLines": 10},
    "swipe": {"direction": "up", "matcher": M, "durationMs": 200},
    "drag": {"matcher": M, "toMatcher": {"textEquals": "Bin"}},
    "double_tap": {"coordinate": {"x": 1, "y": 2}},
    "submit_text": {},
    "query": {"matcher": M, "limit": 5, "suggest": True},
    "wait_until_gone": {"matcher": M},
    "wait_for_text_change": {"matcher": M, "text": "old"},
    "wait_until_idle": {"quietMs": 300},
    "wait_for_any": {"selectors": [M, {"role": "list"}], "timeoutMs": 1_000},
}
_SWIPE = ("container", "direction", "distanceRatio", "settleDelayMs", "findFirstScrollableChild")
_PARAMS: Mapping[str, frozenset[str]] = {
    name: frozenset(params)
    for name, params in {
        "open_app": ("applicationId", "retry"),
        "open_uri": ("uri", "retry"),
        "close_app": ("applicationId", "retry"),
        "start_recording": ("sessionId",),
        "stop_recording": ("sessionId",),
        "wait_for_node": ("matcher", "timeoutMs", "retry"),
        "click": ("matcher", "coordinate", "clickType", "retry"),
        "scroll_and_click": (
            *_SWIPE,
            "matcher",
            "maxSwipes",
            "clickAfter",
            "clickType",
            "scrollRetry",
            "clickRetry",
        ),
        "scroll": (*_SWIPE, "retry"),
        "scroll_until": (
            *_SWIPE,
            "matcher",
            "maxScrolls",
            "maxDurationMs",
            "noPositionChangeThreshold",
            "clickAfter",
            "clickType",
        ),
        "read_text": ("matcher", "all", "container", "validator", "validatorPattern", "retry"),
        "enter_text": ("matcher", "text", "submit", "clear", "retry"),
        "snapshot_ui": ("retry",),
        "take_screenshot": ("path", "retry"),
        "sleep": ("durationMs",),
        "press_key": ("key",),
        "wait_for_navigation": ("expectedPackage", "expectedNode", "timeoutMs"),
        "read_key_value_pair": ("labelMatcher", "retry"),
    }.items()
}
_MATCHER_FIELDS = {
    "resourceId",
    "role",
    "textEquals",
    "textContains",
    "contentDescEquals",
    "contentDescContains",
}
_HOST_SELECTORS: dict[str, Any] = {
    "ref": "e12",
    "shortId": "search",
    "className": "Button",
    "textMatches": "Wi.*",
    "contentDescMatches": "Wi.*",
    "unique": True,
    "index": 0,
    "anyOf": [{"textEquals": "a"}],
    **dict.fromkeys(("checked", "enabled", "focused", "selected", "scrollable", "password"), False),
    **{
        relation: {"textEquals": "a"}
        for relation in ("ancestor", "descendant", "sibling", "below", "above", "leftOf", "rightOf", "not")
    },
}


def document(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "commandId": "c",
        "taskId": "t",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 30000,
        "actions": list(actions),
        **more,
    }


def action(kind: str, params: Any = None, name: str = "a") -> dict[str, Any]:
    return {"id": name, "type": kind} if params is None else {"id": name, "type": kind, "params": params}


def plan(kind: str, params: Any = None) -> Plan:
    return validate(document(action(kind, params)))


def refusal(value: Any) -> ClawError:
    with pytest.raises(ClawError) as caught:
        validate(value)
    return caught.value


def details(value: Any) -> Any:
    error = refusal(value)
    assert error.code == "EXECUTION_VALIDATION_FAILED"
    return error.details


def test_there_are_eighteen_action_types_of_the_contract_and_each_has_a_good_example() -> None:
    assert list(ACTIONS) == list(GOOD)
    assert len([row for row in ACTIONS.values() if not row.runs_on_host]) == 16  # and close_app, take_screenshot
    for kind, params in GOOD.items():
        made = plan(kind, params)
        assert made.document == document(action(kind, params))
        assert type(made.execution.actions[0].params) is ACTIONS[kind].params


def test_the_schema_takes_what_validation_takes() -> None:
    for kind, params in GOOD.items():
        assert_fits_schema("execution", document(action(kind, params)))
        if params is not None:
            assert_fits_schema(f"action.{kind}", params)
    with pytest.raises(jsonschema.ValidationError):
        assert_fits_schema("execution", document(action("click", {"bogus": 1})))


def test_every_schema_is_a_schema() -> None:
    for name in SCHEMAS:
        made = schema(name)
        jsonschema.Draft202012Validator.check_schema(made)
        json.dumps(made)


def test_defaults_are_filled_in_beside_the_document_not_in_it() -> None:
    made = plan("scroll", {"direction": "up"})
    params = made.execution.actions[0].params
    assert isinstance(params, ScrollParams)
    assert (params.distanceRatio, params.settleDelayMs, params.findFirstScrollableChild) == (0.7, 250, True)
    assert made.document["actions"][0]["params"] == {"direction": "up"}
    read = plan("read_text", {"matcher": M, "retry": {"maxAttempts": 3}}).execution.actions[0].params
    assert isinstance(read, ReadTextParams)
    assert read.retry == Retry(3)
    waiting = plan("read_text", {"matcher": M}).execution.actions[0].params
    assert isinstance(waiting, ReadTextParams)
    assert waiting.retry is UI_READINESS


@pytest.mark.parametrize(("alias", "name"), sorted(ACTION_ALIASES.items()))
def test_action_aliases_become_canonical_in_any_case(alias: str, name: str) -> None:
    made = plan(f" {alias.upper()} ", GOOD[name])
    assert made.document["actions"][0]["type"] == name


def test_param_aliases_become_canonical() -> None:
    samples = {name: value for params in GOOD.values() for name, value in (params or {}).items()}
    samples |= {"distanceRatio": 0.5, "settleDelayMs": 1, "maxDurationMs": 1, "noPositionChangeThreshold": 1}
    samples |= {"findFirstScrollableChild": True, "expectedNode": M, "coordinate": {"x": 1, "y": 1}}
    samples |= {"clickType": "focus"}
    for alias, name in PARAM_ALIASES.items():
        kind = next(k for k in ACTIONS if name in ACTIONS[k].params.__struct_fields__)
        rest = {k: v for k, v in (GOOD[kind] or {}).items() if k != name}
        if kind == "wait_for_navigation":
            rest.setdefault("timeoutMs", 1000)
        value = True if alias == "longPress" else samples[name]
        if kind == "click" and name == "durationMs":
            rest["clickType"], value = "long_click", 700
        expected = "long_click" if alias == "longPress" else value
        assert plan(kind, {**rest, alias: value}).document["actions"][0]["params"][name] == expected, alias


@pytest.mark.parametrize(("alias", "name"), sorted(MATCHER_ALIASES.items()))
def test_matcher_aliases_become_canonical(alias: str, name: str) -> None:
    value = {"role": "x"} if name in ("leftOf", "rightOf") else [{"role": "x"}] if name == "anyOf" else "x"
    made = plan("click", {"matcher": {alias: value}})
    assert made.document["actions"][0]["params"]["matcher"] == {name: value}


def test_top_level_aliases_become_canonical() -> None:
    given = document(action("sleep", {"durationMs": 1}))
    for alias, name in (("command_id", "commandId"), ("task_id", "taskId"), ("timeout_ms", "timeoutMs")):
        given[alias] = given.pop(name)
    made = validate(given)
    assert list(made.document) == ["commandId", "taskId", "source", "expectedFormat", "timeoutMs", "actions"]


def test_a_canonical_name_wins_over_its_alias() -> None:
    made = plan("open_app", {"app": "a.b", "applicationId": "c.d", "package": "e.f"})
    assert made.document["actions"][0]["params"] == {"applicationId": "c.d"}
    assert plan("click", {"matcher": M, "longPress": False}).document["actions"][0]["params"] == {"matcher": M}


def test_numbers_lose_an_empty_fraction_and_words_their_spaces() -> None:
    made = validate(document(action("sleep", {"durationMs": 5.0}), timeoutMs=30000.0))
    assert json.dumps(made.document["actions"]) == '[{"id": "a", "type": "sleep", "params": {"durationMs": 5}}]'
    assert json.dumps(made.document["timeoutMs"]) == "30000"
    assert plan("press_key", {"key": " BACK "}).document["actions"][0]["params"] == {"key": "back"}
    assert plan("scroll", {"direction": "Up"}).document["actions"][0]["params"] == {"direction": "up"}


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("longClick", "long_click"),
        ("LONG_CLICK", "long_click"),
        ("longclick", "long_click"),
        (" Focus ", "focus"),
        ("Click", "click"),
        ("DEFAULT", "default"),
    ],
)
def test_a_click_type_is_sent_in_its_canonical_spelling(written: str, sent: str) -> None:
    for kind in ("click", "scroll_and_click", "scroll_until"):
        made = plan(kind, {"matcher": M, "clickType": written})
        assert made.document["actions"][0]["params"]["clickType"] == sent
        assert made.execution.actions[0].params.clickType == sent  # type: ignore[attr-defined]
    assert (
        plan("click", {"matcher": M, "longPress": written}).document["actions"][0]["params"]["clickType"] == sent
    )


@pytest.mark.parametrize(
    ("kind", "params", "path"),
    [
        # what the phone could not parse
        ("click", {"matcher": M, "clickType": "double"}, "params.clickType"),
        ("read_text", {"matcher": M, "validator": "email"}, "params.validator"),
        ("enter_text", {"matcher": M, "text": "  "}, "params.text"),
        ("enter_text", {"matcher": M, "text": ""}, "params.text"),
        ("scroll_and_click", {"matcher": M, "direction": "sideways"}, "params.direction"),
        # presence and blanks
        ("open_app", {}, "params.applicationId"),
        ("open_app", None, "params.applicationId"),
        ("open_app", {"applicationId": " "}, "params.applicationId"),
        ("open_app", {"applicationId": "com.a; rm -rf /"}, "params.applicationId"),
        ("open_uri", {"uri": ""}, "params.uri"),
        ("open_uri", {"uri": "a" * 2049}, "params.uri"),
        ("start_recording", {"sessionId": " "}, "params.sessionId"),
        ("start_recording", {"sessionId": "../x"}, "params.sessionId"),
        ("take_screenshot", {"path": ""}, "params.path"),
        ("wait_for_node", {}, "params.matcher"),
        ("read_key_value_pair", {}, "params.labelMatcher"),
        # rules over several fields
        ("click", {}, "params"),
        ("click", {"matcher": M, "coordinate": {"x": 1, "y": 1}}, "params"),
        ("click", {"coordinate": {"x": 1, "y": 1}, "clickType": "focus"}, "params.clickType"),
        ("click", {"coordinate": {"x": 1, "y": 1}, "clickType": "FOCUS"}, "params.clickType"),
        ("scroll_until", {"clickAfter": True}, "params.matcher"),
        ("wait_for_navigation", {"timeoutMs": 5}, "params"),
        ("read_text", {"matcher": M, "validator": "regex"}, "params.validatorPattern"),
        ("read_text", {"matcher": M, "validator": "regex", "validatorPattern": "("}, "params.validatorPattern"),
        # ranges and types
        ("sleep", {"durationMs": -1}, "params.durationMs"),
        ("sleep", {"durationMs": 120_001}, "params.durationMs"),
        ("sleep", {"durationMs": True}, "params.durationMs"),
        ("sleep", {"durationMs": "5"}, "params.durationMs"),
        ("wait_for_navigation", {"expectedPackage": "a", "timeoutMs": 30_001}, "params.timeoutMs"),
        ("wait_for_navigation", {"expectedPackage": "a", "timeoutMs": 0}, "params.timeoutMs"),
        ("wait_for_navigation", {"expectedPackage": "a"}, "params.timeoutMs"),
        ("scroll", {"distanceRatio": 1.1}, "params.distanceRatio"),
        ("scroll", {"settleDelayMs": 10_001}, "params.settleDelayMs"),
        ("scroll_until", {"maxScrolls": 201}, "params.maxScrolls"),
        ("scroll_until", {"maxScrolls": 1.5}, "params.maxScrolls"),
        ("scroll_until", {"noPositionChangeThreshold": 0}, "params.noPositionChangeThreshold"),
        ("click", {"coordinate": {"x": -1, "y": 1}}, "params.coordinate.x"),
        ("click", {"coordinate": {"x": 1}}, "params.coordinate.y"),
        ("click", {"coordinate": {"x": 1, "y": 1, "z": 1}}, "params.coordinate"),
        ("click", {"matcher": M, "retry": {"maxAttempts": 11}}, "params.retry.maxAttempts"),
        ("click", {"matcher": M, "retry": {"initialDelayMs": 9, "maxDelayMs": 5}}, "params.retry.maxDelayMs"),
        ("wait_for_navigation", {"expectedPackage": "a b", "timeoutMs": 5}, "params.expectedPackage"),
        ("press_key", {"key": "self_destruct"}, "params.key"),
        # matchers
        ("click", {"matcher": {}}, "params.matcher"),
        ("click", {"matcher": {"textEquals": ""}}, "params.matcher"),
        ("click", {"matcher": {"xpath": "//x"}}, "params.matcher"),
        ("click", {"matcher": {"role": 5}}, "params.matcher.role"),
        ("click", {"matcher": {"role": None}}, "params.matcher.role"),
        ("click", {"matcher": "Wi-Fi"}, "params.matcher"),
        ("click", {"matcher": {"textEquals": "a" * 513}}, "params.matcher.textEquals"),
        ("click", {"matcher": {"textEquals": "😀" * 257}}, "params.matcher.textEquals"),
        # unknown and removed names
        ("scroll", {"target": M}, "params"),
        ("snapshot_ui", {"format": "json"}, "params"),
        ("click", {"matcher": M, "timeoutMs": 5}, "params"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_path(kind: str, params: Any, path: str) -> None:
    found = details(document(action("sleep", {"durationMs": 1}, "first"), action(kind, params, "second")))
    assert found["path"] == f"actions.1.{path}"
    assert (found["actionId"], found["actionType"]) == ("second", kind)
    assert json.loads(found["reason"])[0]["path"] == found["path"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"commandId": ""}, "commandId"),
        ({"commandId": " "}, "commandId"),
        ({"commandId": "a" * 129}, "commandId"),
        ({"taskId": 5}, "taskId"),
        ({"source": "a" * 65}, "source"),
        ({"expectedFormat": "ios"}, "expectedFormat"),
        ({"timeoutMs": 999}, "timeoutMs"),
        ({"timeoutMs": 120_001}, "timeoutMs"),
        ({"timeoutMs": "30000"}, "timeoutMs"),
        ({"timeoutMs": True}, "timeoutMs"),
        ({"actions": []}, "actions"),
        ({"actions": {}}, "actions"),
        ({"actions": [5]}, "actions.0"),
        ({"actions": [{"id": "a"}]}, "actions.0.type"),
        ({"actions": [action("sleep", {"durationMs": 1}), action("sleep", {"durationMs": 1})]}, "actions.1.id"),
        ({"actions": [{**action("sleep", {"durationMs": 1}), "note": "x"}]}, "actions.0"),
        ({"actions": [{"id": "a", "type": "snapshot_ui", "params": None}]}, "actions.0.params"),
        ({"actions": [action("snapshot_ui", name=f"a{i}") for i in range(51)]}, "actions"),
        ({"mode": "turbo"}, "mode"),
        ({"extra": 1}, ""),
    ],
)
def test_what_breaks_the_frame_is_refused_with_its_path(change: dict[str, Any], path: str) -> None:
    assert details({**document(action("snapshot_ui")), **change})["path"] == path


def test_every_issue_is_reported_at_once_structure_first() -> None:
    bad = document(action("open_uri", {"uri": 5}), action("click", {"bogus": 1, "matcher": {"role": 1}}))
    bad |= {"timeoutMs": 1, "extra": 2}
    found = details(bad)
    assert [issue["path"] for issue in json.loads(found["reason"])] == [
        "timeoutMs",
        "actions.0.params.uri",
        "actions.1.params.matcher.role",
        "actions.1.params",
        "",
    ]


@pytest.mark.parametrize(
    ("actions", "paths"),
    [
        # unknown keys before missing params
        ([action("wait_for_node", {"textEquals": "x"})], ["actions.0.params", "actions.0.params.matcher"]),
        # of all actions
        (
            [action("wait_for_node", {}, "a"), action("sleep", {"durationMs": 1, "bogus": 1}, "b")],
            ["actions.1.params", "actions.0.params.matcher"],
        ),
        # and before ranges and keywords, but after values of another type
        (
            [action("scroll", {"bogus": 1, "distanceRatio": 2, "direction": "in", "settleDelayMs": "5"})],
            [
                "actions.0.params.settleDelayMs",
                "actions.0.params",
                "actions.0.params.direction",
                "actions.0.params.distanceRatio",
            ],
        ),
        (
            [action("scroll_until", {"bogus": 1, "maxScrolls": 1.5})],
            ["actions.0.params", "actions.0.params.maxScrolls"],
        ),
        # the members of an object are part of the structure
        (
            [action("click", {"bogus": 1, "coordinate": {"x": -1}})],
            ["actions.0.params.coordinate.x", "actions.0.params.coordinate.y", "actions.0.params"],
        ),
        # a rule over all params before the single ones
        (
            [action("wait_for_navigation")],
            ["actions.0.params", "actions.0.params.timeoutMs"],
        ),
        # in the order of actions
        (
            [
                action("click", {}, "a"),
                action("wait_for_node", {}, "b"),
                action("open_app", {"applicationId": " "}, "c"),
            ],
            ["actions.0.params", "actions.1.params.matcher", "actions.2.params.applicationId"],
        ),
        # the unknown keys of an action after its params, those of the execution last
        (
            [{**action("sleep", {"durationMs": "1"}), "note": "x"}, action("nap", None, "b")],
            ["actions.0.params.durationMs", "actions.0", "actions"],
        ),
    ],
)
def test_structure_comes_before_rules(actions: list[dict[str, Any]], paths: list[str]) -> None:
    found = details(document(*actions))
    assert [issue["path"] for issue in json.loads(found["reason"])] == paths
    assert found["path"] == paths[0]


@pytest.mark.parametrize("kind", sorted(ACTIONS))
def test_an_action_without_params_is_a_plan_or_refused(kind: str) -> None:
    try:
        plan(kind, {})
    except ClawError as e:
        found = (e.code, e.target.startswith("actions.0.params"))
        assert found == ("EXECUTION_VALIDATION_FAILED", True)


def test_unknown_keys_are_listed_and_placed() -> None:
    found = details(document(action("click", {"matcher": M, "timeoutMs": 5, "bogus": 1})))
    assert found["invalidKeys"] == ["timeoutMs", "bogus"]
    assert found["hint"] == (
        "timeoutMs is a parameter of wait_for_node, wait_for_navigation, wait_until_gone, wait_for_text_change, "
        "wait_until_idle, wait_for_any."
    )
    assert "use container" in details(document(action("scroll", {"target": M})))["hint"]
    assert "use matcher" in details(document(action("scroll_until", {"target": M})))["hint"]
    error = details(document(action("click", {"matcher": M, "package": "a.b"})))
    assert error["invalidKeys"] == ["package"]
    assert error["hint"].startswith("package is a parameter of open_app, close_app, ")
    assert "removed" in details(document(action("snapshot", {"format": "x"})))["hint"]
    assert details(document(action("click", {"matchr": M})))["hint"] == 'Did you mean "matcher"?'


def test_an_unsupported_type_is_reported_as_it_was_written() -> None:
    found = details(document(action("Clik", {"matcher": M})))
    assert (found["path"], found["actionType"], found["hint"]) == ("actions", "Clik", 'Did you mean "click"?')
    assert details(document(action("doctor_ping")))["actionType"] == "doctor_ping"


@pytest.mark.parametrize("depth", [100, 400, 900, 5_000])
def test_depth_is_an_issue_like_any_other(depth: int) -> None:
    nested: Any = 1
    for _ in range(depth):
        nested = {"matcher": nested}
    assert "path" in details(document(action("click", nested)))


def test_one_cause_is_one_issue() -> None:
    for kind, name in (("start_recording", "sessionId"), ("open_app", "applicationId")):
        assert len(json.loads(details(document(action(kind, {name: " "})))["reason"])) == 1


def test_a_payload_that_is_not_an_object_is_rejected() -> None:
    for value in (None, 5, "x", [], [document()]):
        assert details(value)["path"] == ""


def test_a_payload_over_64000_bytes_is_too_large() -> None:
    many = [action("enter_text", {"matcher": M, "text": "é" * 500}, f"a{i}") for i in range(50)]
    assert validate(document(*many))
    wide = [action("open_uri", {"uri": "é" * 1000}, f"a{i}") for i in range(40)]
    assert refusal(document(*wide)).code == "PAYLOAD_TOO_LARGE"


def test_an_empty_field_is_allowed_beside_another() -> None:
    params = plan("click", {"matcher": {"textEquals": "x", "role": ""}}).execution.actions[0].params
    assert isinstance(params, ClickParams)
    assert isinstance(params.matcher, NodeMatcher)
    assert params.matcher.role == ""


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.random
@given(value=json_values)
def test_any_json_value_is_a_plan_or_a_typed_error(value: Any) -> None:
    assert refusal(value).code == "EXECUTION_VALIDATION_FAILED"


@pytest.mark.random
@given(data=st.data())
def test_any_change_to_a_good_plan_is_a_plan_or_a_typed_error(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(GOOD)))
    params = dict(GOOD[kind] or {})
    names = st.sampled_from([*ACTIONS[kind].params.__struct_fields__, *PARAM_ALIASES]) | st.text(max_size=5)
    params[data.draw(names)] = data.draw(json_values)
    given = document(action(kind, params))
    given[data.draw(st.sampled_from([*given, "mode", "x"]))] = data.draw(json_values | st.just("direct"))
    try:
        made = validate(given)
    except ClawError as e:
        error = e.document()
        assert error["code"] in CODES  # either end is right
    else:
        # What was accepted is canonical: it is accepted again, unchanged, and the schema agrees.
        assert validate(made.document).document == made.document
        assert_fits_schema("execution", made.document)


@pytest.mark.parametrize(
    ("action", "path"),
    [
        ({"id": "\ud800", "type": "click", "params": {"matcher": M}}, "actions.0.id"),
        ({"id": "a", "type": "\udcff"}, "actions.0.type"),
        ({"id": "a", "type": "click", "params": {"\ud800": 1}}, "actions.0.params"),
        ({"id": "a", "type": "click", "params": {1: 2}}, "actions.0.params"),
        (
            {"id": "a", "type": "click", "params": {"matcher": {"textEquals": "x\udcff"}}},
            "actions.0.params.matcher.textEquals",
        ),
    ],
)
def test_text_that_is_not_unicode_is_an_issue_with_its_path(action: dict[str, Any], path: str) -> None:
    with pytest.raises(ClawError) as raised:
        validate(document(action))
    error = raised.value
    assert error.code == "EXECUTION_VALIDATION_FAILED"
    assert error.target == path
    assert json.loads(json.dumps(error.document(), ensure_ascii=False).encode())["details"]["path"] == path


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"durationMs": "5"}, "expected number, got str"),
        ({"durationMs": 120_001}, "expected number <= 120000"),
        ({}, "is missing"),
    ],
)
def test_messages_are_in_the_terms_of_json(params: dict[str, Any], message: str) -> None:
    (issue,) = json.loads(details(document(action("sleep", params)))["reason"])
    assert issue["message"] == message


def test_a_timeout_replaces_that_of_the_document() -> None:
    given = document(action("snapshot_ui"))
    assert with_timeout(given, None) is given
    for timeout_ms in (1_000, 2_500.5, 120_000):
        assert with_timeout(given, timeout_ms) == {**given, "timeoutMs": timeout_ms}
    assert given == document(action("snapshot_ui"))


@pytest.mark.parametrize("timeout_ms", [-1, 0, 999, 120_001, float("nan"), float("inf")])
def test_a_timeout_out_of_range_is_refused(timeout_ms: float) -> None:
    with pytest.raises(ClawError) as raised:
        with_timeout(document(action("snapshot_ui")), timeout_ms)
    assert raised.value.code == "EXECUTION_VALIDATION_FAILED"
    assert "from 1000 to 120000" in raised.value.hint


@pytest.mark.parametrize(
    ("params", "given", "expected"),
    [
        ({"key": "back"}, None, 10_000),
        ({"key": "back", "settle": True}, None, 30_000),
        ({"key": "back", "expect": {"text": "Done", "timeoutMs": 7_000}}, None, 17_000),
        ({"key": "back", "settle": True}, 4_321, 4_321),
    ],
)
def test_the_time_of_a_single_action(params: dict[str, Any], given: int | None, expected: int) -> None:
    assert single_action("press_key", params, timeout_ms=given)["timeoutMs"] == expected


@pytest.mark.parametrize("kind", ["install_app", "open_app"])
def test_an_expectation_leaves_every_action_within_the_longest_timeout(kind: str) -> None:
    params = {"path": "a.apk"} if kind == "install_app" else {"applicationId": "com.android.settings"}
    document = single_action(kind, {**params, "expect": {"text": "Done", "timeoutMs": 90_000}})
    assert validate(document).execution.timeoutMs <= 120_000


@pytest.mark.parametrize(("milliseconds", "is_valid"), [(10, False), (499, False), (500, True), (30_000, True)])
def test_a_long_click_is_long_enough_for_one(milliseconds: int, *, is_valid: bool) -> None:
    params = {"matcher": M, "clickType": "long_click", "durationMs": milliseconds}
    if is_valid:
        plan("click", params)
        return
    with pytest.raises(ClawError) as error:
        plan("click", params)
    assert (error.value.code, error.value.target) == ("EXECUTION_VALIDATION_FAILED", "actions.0.params.durationMs")


def test_every_action_for_an_operator_is_one_of_its_contract() -> None:
    sent = {name for name, row in ACTIONS.items() if not row.runs_on_host}
    assert sent == set(_PARAMS) - {"close_app", "take_screenshot"}


@pytest.mark.parametrize("name", sorted(name for name, row in ACTIONS.items() if not row.runs_on_host))
def test_an_operator_receives_only_params_of_its_contract(name: str) -> None:
    row = ACTIONS[name]
    params = dict.fromkeys(row.params.__struct_fields__, "x")
    assert set(operator_action({"id": "a", "type": name, "params": params})["params"]) == set(_PARAMS[name])


@pytest.mark.parametrize("name", sorted(GOOD))
def test_the_contracts_actions_go_to_the_operator(name: str) -> None:
    made = validate(document(action(name, GOOD[name])))
    assert needs_host(made.execution.actions[0]) == ACTIONS[name].runs_on_host


def test_every_selector_field_of_the_host_is_resolved_by_the_host() -> None:
    assert {name.rstrip("_") for name in HOST_FIELDS} == set(_HOST_SELECTORS)
    for field, value in _HOST_SELECTORS.items():
        matcher = {field: value} if field == "ref" else {"textEquals": "a", field: value}
        made = validate(document(action("click", {"matcher": matcher})))
        assert needs_host(made.execution.actions[0]), field
        with pytest.raises(ValueError, match=field):
            operator_action(made.document["actions"][0])
