"""Apps, URIs and keys."""

import json
from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver, node
from tests.engine.scripted_plans import run, step

AFTER = ("sleep", {"durationMs": 0})


def phone(**answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node("home"), **answers)


def test_open_app_reports_its_effect() -> None:
    a = phone()
    a.answers["launch"] = lambda _: a.show(node("app"))
    data = step(a, "open_app", applicationId="com.app").data
    assert data["application_id"] == "com.app"
    assert json.loads(data["matched_target"]) == {"package": "com.app"}
    assert (data["dispatch_method"], data["effect"], data["candidate_count"]) == ("launch_intent", "changed", "1")


def test_an_unknown_app_ends_the_execution() -> None:
    result = run(phone(launch=False), ("open_app", {"applicationId": "com.app"}), AFTER)
    assert result.errorCode == "APP_NOT_FOUND"
    assert len(result.stepResults) == 1
    assert result.stepResults[0].data["application_id"] == "com.app"


@pytest.mark.parametrize("uri", ["https://a.b/c", "HTTPS://A.B", "geo:0,0"])
def test_a_uri_is_opened_whatever_its_scheme_as_the_host_has_checked_it(uri: str) -> None:
    a = phone()
    data = step(a, "open_uri", uri=uri).data
    assert (data["uri"], data["dispatch_method"]) == (uri, "view_intent")
    assert a.named("view") == [(uri,)]


def test_an_unhandled_uri_ends_the_execution() -> None:
    result = run(phone(view=False), ("open_uri", {"uri": "https://a.b"}), AFTER)
    assert result.errorCode == "URI_NOT_HANDLED"
    assert len(result.stepResults) == 1


def test_close_app_runs_in_its_place() -> None:
    a = phone()
    result = run(
        a,
        ("open_app", {"applicationId": "com.app"}),
        ("close_app", {"applicationId": "com.app"}),
    )
    assert [c[0] for c in a.calls if c[0] != "dump"] == ["launch", "is_running", "force_stop"]
    data = result.stepResults[1].data
    assert (data["application_id"], data["dispatch_method"]) == ("com.app", "force_stop")
    assert "was_running" not in data


def test_closing_an_app_that_does_not_run_says_so() -> None:
    assert step(phone(is_running=False), "close_app", applicationId="com.app").data["was_running"] == "false"


@pytest.mark.parametrize("driver", [ScriptedDriver(VirtualClock()), phone(force_stop=False)])
def test_a_driver_that_cannot_close_apps_fails_the_step_and_the_next_one_runs(driver: ScriptedDriver) -> None:
    result = run(driver, ("close_app", {"applicationId": "com.app"}), AFTER)
    data = result.stepResults[0].data
    assert (data["error"], data["application_id"]) == ("UNSUPPORTED_RUNTIME_CLOSE", "com.app")
    assert data["message"]
    assert len(result.stepResults) == 2


@pytest.mark.parametrize("key", ["back", "home", "recents"])
def test_keys_are_pressed(key: str) -> None:
    a = phone()
    data = step(a, "press_key", key=key).data
    assert (data["key"], data["dispatch_method"], data["effect"]) == (key, "global_action", "unchanged")
    assert a.named("key") == [(key,)]


def test_a_rejected_key_is_reported_and_the_next_action_runs() -> None:
    result = run(phone(key=False), ("press_key", {"key": "back"}), AFTER)
    assert result.stepResults[0].data["error"] == "GLOBAL_ACTION_FAILED"
    assert result.stepResults[0].data["key"] == "back"
    assert len(result.stepResults) == 2
