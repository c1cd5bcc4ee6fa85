"""An Operator receives the actions, params and matcher fields of its contract, and nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest

from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import validate
from clawperator.contract.operator_plan import needs_host, operator_action
from clawperator.contract.selectors import HOST_FIELDS
from tests.contract.test_execution import GOOD, action, document

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
