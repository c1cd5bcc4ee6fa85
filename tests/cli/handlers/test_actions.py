"""The action commands: the execution each one builds, and what it rejects."""

import re
from random import Random
from typing import Any

import msgspec
import pytest

from clawperator.contract.action_params import Retry
from clawperator.contract.commands import all_commands
from clawperator.engine.retry import retry_delays
from tests.support.running import clawperator
from tests.support.schema_checks import assert_fits_schema

SETTINGS = "com.android.settings"


def execution(*argv: str) -> Any:
    ran = clawperator(*argv, "--validate-only")
    assert ran.code == 0, ran.json
    assert_fits_schema("validated-execution", ran.json)
    assert ran.json["ok"] is True
    assert ran.json["validated"] is True
    return ran.json["execution"]


def refusal(*argv: str) -> tuple[int, str]:
    ran = clawperator(*argv, "--validate-only")
    return ran.code, ran.json["code"]


OBSERVE, ACTION, CLI = "clawperator-observe", "clawperator-action", "clawperator-cli"


@pytest.mark.parametrize(
    ("argv", "command_id", "task", "source", "timeout", "action_id", "mode", "kind", "params"),
    [
        ("snapshot", "snapshot-R", "", OBSERVE, 30000, "snap", "direct", "snapshot_ui", None),
        ("screenshot", "screenshot-R", "", OBSERVE, 30000, "snap", None, "take_screenshot", {}),
        (
            "screenshot --path a.png",
            "screenshot-R",
            "",
            OBSERVE,
            30000,
            "snap",
            None,
            "take_screenshot",
            {"path": "a.png"},
        ),
        (
            "click --text A",
            "click-R",
            "",
            ACTION,
            30000,
            "click",
            "direct",
            "click",
            {"matcher": {"textEquals": "A"}},
        ),
        (
            "click --coordinate 1 0x10 --long",
            "click-R",
            "",
            ACTION,
            30000,
            "click",
            "direct",
            "click",
            {"coordinate": {"x": 1, "y": 16}, "clickType": "long_click"},
        ),
        (
            "read --id a:id/b --container-role list",
            "read-R",
            "",
            ACTION,
            30000,
            "read",
            "direct",
            "read_text",
            {"matcher": {"resourceId": "a:id/b"}, "container": {"role": "list"}},
        ),
        (
            "read --role text --all --json",
            "read-R",
            "",
            ACTION,
            30000,
            "read",
            "direct",
            "read_text",
            {"matcher": {"role": "text"}, "all": True},
        ),
        (
            "read-value --label A --label-id a:id/b",
            "read-value-R",
            "",
            ACTION,
            30000,
            "read-value",
            "direct",
            "read_key_value_pair",
            {"labelMatcher": {"textEquals": "A", "resourceId": "a:id/b"}},
        ),
        (
            "wait --desc A",
            "wait-R",
            "",
            ACTION,
            30000,
            "wait",
            "direct",
            "wait_for_node",
            {"matcher": {"contentDescEquals": "A"}},
        ),
        (
            "wait --desc A --timeout 60000",
            "wait-R",
            "",
            ACTION,
            65000,
            "wait",
            "direct",
            "wait_for_node",
            {"matcher": {"contentDescEquals": "A"}, "timeoutMs": 60000},
        ),
        (
            f"wait-for-nav --app {SETTINGS} --timeout 5000",
            "wait-for-nav-R",
            "",
            ACTION,
            30000,
            "wait-for-nav",
            "direct",
            "wait_for_navigation",
            {"expectedPackage": SETTINGS, "timeoutMs": 5000},
        ),
        (
            "wait-for-nav --text A --timeout 30000",
            "wait-for-nav-R",
            "",
            ACTION,
            35000,
            "wait-for-nav",
            "direct",
            "wait_for_navigation",
            {"expectedNode": {"textEquals": "A"}, "timeoutMs": 30000},
        ),
        (
            "type hello --role textfield",
            "type-R",
            "",
            ACTION,
            30000,
            "type",
            "direct",
            "enter_text",
            {"matcher": {"role": "textfield"}, "text": "hello", "submit": False, "clear": False},
        ),
        (
            "type --text hello --id a:id/b --submit --clear",
            "type-R",
            "",
            ACTION,
            30000,
            "type",
            "direct",
            "enter_text",
            {"matcher": {"resourceId": "a:id/b"}, "text": "hello", "submit": True, "clear": True},
        ),
        (
            f"open {SETTINGS}",
            "open_app_T",
            "cli-action-open-app",
            CLI,
            15000,
            "a1",
            None,
            "open_app",
            {"applicationId": SETTINGS},
        ),
        (
            "open https://a.b/c?d=e",
            "open_uri_T",
            "cli-action-open-uri",
            CLI,
            15000,
            "a1",
            None,
            "open_uri",
            {"uri": "https://a.b/c?d=e"},
        ),
        (
            "press home",
            "press_key_T",
            "cli-action-press-key",
            CLI,
            10000,
            "a1",
            None,
            "press_key",
            {"key": "home"},
        ),
        ("back", "press_key_T", "cli-action-press-key", CLI, 10000, "a1", None, "press_key", {"key": "back"}),
        ("close a.b", "close-R", "", CLI, 30000, "close", None, "close_app", {"applicationId": "a.b"}),
        (
            "close a.b --timeout 9000",
            "close-R",
            "",
            CLI,
            9000,
            "close",
            None,
            "close_app",
            {"applicationId": "a.b"},
        ),
        ("sleep 1e3", "sleep-R", "", CLI, 30000, "sleep", None, "sleep", {"durationMs": 1000}),
        ("sleep 40000", "sleep-R", "", CLI, 45000, "sleep", None, "sleep", {"durationMs": 40000}),
        ("sleep 5 --timeout 50000", "sleep-R", "", CLI, 50000, "sleep", None, "sleep", {"durationMs": 5}),
        ("scroll down", "scroll-R", "cli-action-scroll", CLI, 30000, "a1", None, "scroll", {"direction": "down"}),
        (
            "scroll --direction left --container-id a:id/x --timeout 7000",
            "scroll-R",
            "cli-action-scroll",
            CLI,
            7000,
            "a1",
            None,
            "scroll",
            {"direction": "left", "container": {"resourceId": "a:id/x"}},
        ),
        (
            "scroll-until --text A",
            "scroll-until-R",
            "",
            CLI,
            30000,
            "a1",
            None,
            "scroll_until",
            {"direction": "down", "matcher": {"textEquals": "A"}},
        ),
        (
            "scroll-until up --text A --click",
            "scroll-until-R",
            "",
            CLI,
            30000,
            "a1",
            None,
            "scroll_and_click",
            {"direction": "up", "matcher": {"textEquals": "A"}, "clickAfter": True},
        ),
        (
            "scroll-and-click --text A",
            "scroll-until-R",
            "",
            CLI,
            30000,
            "a1",
            None,
            "scroll_and_click",
            {"direction": "down", "matcher": {"textEquals": "A"}, "clickAfter": True},
        ),
        (
            "recording start --session-id demo-session",
            "start_recording_T",
            "cli-record-start",
            CLI,
            10000,
            "a1",
            None,
            "start_recording",
            {"sessionId": "demo-session"},
        ),
        ("record stop", "stop_recording_T", "cli-record-stop", CLI, 15000, "a1", None, "stop_recording", {}),
    ],
)
def test_each_command_builds_its_execution(  # noqa: PLR0913, PLR0917 - one column each
    argv: str,
    command_id: str,
    task: str,
    source: str,
    timeout: int,
    action_id: str,
    mode: str | None,
    kind: str,
    params: Any,
) -> None:
    made = execution(*argv.split())
    pattern = command_id.replace("R", r"\d{13}-[a-z0-9]{7}").replace("_T", r"_\d{13}")
    assert re.fullmatch(pattern, made["commandId"])
    assert made["taskId"] == (task or made["commandId"])
    expected = {"id": action_id, "type": kind} | ({} if params is None else {"params": params})
    assert made["actions"] == [expected]
    assert (made["source"], made["timeoutMs"], made.get("mode")) == (source, timeout, mode)
    assert made["expectedFormat"] == "android-ui-automator"


def test_every_flat_command_shows_a_dry_run_by_all_its_names() -> None:
    argv = {
        "screenshot": [],
        "snapshot": [],
        "back": [],
        "click": ["--text", "A"],
        "open": [SETTINGS],
        "type": ["x", "--id", "y"],
        "read": ["--id", "y"],
        "wait": ["--id", "y"],
        "press": ["home"],
        "close": ["a.b"],
        "sleep": ["1"],
        "scroll": ["up"],
        "scroll-until": ["--id", "y"],
        "scroll-and-click": ["--id", "y"],
        "wait-for-nav": ["--id", "y", "--timeout", "5"],
        "read-value": ["--label", "y"],
        "swipe": ["up"],
        "drag": ["--text", "A", "--to", "1", "2"],
        "double-tap": ["--text", "A"],
        "submit": [],
        "rotate": ["landscape"],
        "start-activity": ["com.app/.Main"],
        "install-apk": ["app.apk"],
        "uninstall-app": ["a.b"],
        "clear-data": ["a.b"],
        "grant": ["a.b", "CAMERA"],
        "revoke": ["a.b", "CAMERA"],
        "logcat": ["--app", "a.b"],
        "query": ["--text", "A"],
    }
    plans = [c for c in all_commands() if any(f.name == "--dry-run" for f in c.flags) and c.name != "exec"]
    assert {c.name for c in plans} == set(argv)
    for command in plans:
        for name in (command.name, *command.synonyms):
            ran = clawperator(name, *argv[command.name], "--dry-run", "--validate-only")
            assert ran.code == 0, ran.json
            assert_fits_schema("dry-run", ran.json)
            assert list(ran.json) == ["ok", "dryRun", "plan"]
            assert list(ran.json["plan"]) == ["commandId", "timeoutMs", "actionCount", "actions"]


def test_every_timeout_works() -> None:
    for argv in ("snapshot", "screenshot", "click --id x", f"open {SETTINGS}", "open a://b", "type x --id y"):
        assert execution(*argv.split(), "--timeout", "4321")["timeoutMs"] == 4321
    for argv in ("read --id x", "press home", "back", "read-value --label x", "record start", "record stop"):
        assert execution(*argv.split(), "--timeout-ms", "4321")["timeoutMs"] == 4321
        assert refusal(*argv.split(), "--timeout", "999") == (1, "EXECUTION_VALIDATION_FAILED")
        assert refusal(*argv.split(), "--timeout", "soon") == (1, "EXECUTION_VALIDATION_FAILED")


@pytest.mark.parametrize("line", ["click --text x", "type x --id y", "read --text x", "read-value --label x"])
@pytest.mark.parametrize("timeout", [1_000, 4_321, 120_000])
def test_the_timeout_bounds_how_long_a_command_looks_for_its_element(line: str, timeout: int) -> None:
    params = execution(*line.split(), "--timeout", str(timeout))["actions"][0]["params"]
    retry = msgspec.convert(params["retry"], Retry)
    looks = sum(retry_delays(retry, Random(0)))
    assert timeout * 0.7 <= looks < timeout
    assert "retry" not in execution(*line.split())["actions"][0]["params"]


def test_with_a_timeout_of_zero_a_command_looks_once_as_in_python() -> None:
    document = execution("click", "--text", "x", "--timeout", "0")
    assert document["actions"][0]["params"]["retry"] == {"maxAttempts": 1}
    assert document["timeoutMs"] == execution("click", "--text", "x")["timeoutMs"]
    assert refusal("press", "home", "--timeout", "0") == (1, "EXECUTION_VALIDATION_FAILED")


def test_a_timeout_leaves_commands_without_an_element_as_they_are() -> None:
    for line in ("click --coordinate 1 2", "scroll down", "press home", "snapshot", "scroll-until --text x"):
        params = execution(*line.split(), "--timeout", "2000")["actions"][0].get("params", {})
        assert "retry" not in params


def test_flag_aliases_mean_the_same() -> None:
    for flag in ("--package", "--package-id", "--application-id", "--app-id", "--app"):
        assert execution("open", flag, SETTINGS)["actions"][0]["params"] == {"applicationId": SETTINGS}
        assert execution("close", flag, SETTINGS)["actions"][0]["params"] == {"applicationId": SETTINGS}
        assert execution("wait-for-nav", flag, SETTINGS, "--timeout", "9")["actions"][0]["type"]
    for flag in ("--url", "--uri"):
        assert execution("open", flag, "https://a.b")["actions"][0]["type"] == "open_uri"
    for flag, field in (
        ("--resource-id", "resourceId"),
        ("--content-desc", "contentDescEquals"),
        ("--content-desc-contains", "contentDescContains"),
        ("--text-contains", "textContains"),
    ):
        assert execution("click", flag, "a:id/x")["actions"][0]["params"]["matcher"] == {field: "a:id/x"}
        made = execution("scroll", "up", f"--container-{flag[2:]}", "a:id/x")
        assert made["actions"][0]["params"]["container"] == {field: "a:id/x"}
    assert execution("press", "--button", "home")["actions"][0]["params"] == {"key": "home"}
    assert execution("screenshot", "--file", "x")["actions"][0]["params"] == {"path": "x"}
    for flag in ("--text", "--label-text", "--label"):
        assert execution("read-value", flag, "x")["actions"][0]["params"]["labelMatcher"] == {"textEquals": "x"}


def test_several_flags_make_one_matcher_and_json_makes_one_too() -> None:
    both = execution("click", "--text", "A", "--role", "button")["actions"][0]["params"]["matcher"]
    assert both == {"textEquals": "A", "role": "button"}
    matcher = execution("click", "--selector", '{"text":"A","id":"b"}')["actions"][0]["params"]["matcher"]
    assert matcher == {"textEquals": "A", "resourceId": "b"}


@pytest.mark.parametrize("words", [[""], ["--text", ""], ["--text="]])
def test_an_empty_text_is_refused_with_the_flag_that_clears(words: list[str]) -> None:
    ran = clawperator("type", *words, "--id", "x", "--dry-run")
    assert (ran.code, ran.json["code"]) == (1, "MISSING_ARGUMENT")
    assert "--clear" in ran.json["hint"]


def test_a_value_that_begins_with_a_dash_is_written_with_an_equals_sign() -> None:
    assert execution("click", "--text=-5")["actions"][0]["params"]["matcher"] == {"textEquals": "-5"}
    assert execution("click", "--text=--json")["actions"][0]["params"]["matcher"] == {"textEquals": "--json"}
    assert execution("click", "--text=a=b")["actions"][0]["params"]["matcher"] == {"textEquals": "a=b"}
    assert execution("click", "--text", "--", "--x")["actions"][0]["params"]["matcher"] == {"textEquals": "--x"}
    typed = clawperator("type", "--id", "y", "--validate-only", "--", "--submit").json["execution"]
    assert typed["actions"][0]["params"]["text"] == "--submit"


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["click"], "MISSING_SELECTOR"),
        (["type", "--id", "x"], "MISSING_ARGUMENT"),
        (["type", "", "--id", "x"], "MISSING_ARGUMENT"),
        (["type", "x", "--secret", "NAME", "--id", "x"], "EXECUTION_VALIDATION_FAILED"),
        (["type", "x", "--append", "--clear", "--id", "x"], "EXECUTION_VALIDATION_FAILED"),
        (["read"], "MISSING_SELECTOR"),
        (["wait"], "MISSING_SELECTOR"),
        (["scroll-until"], "MISSING_SELECTOR"),
        (["scroll-and-click", "down"], "MISSING_SELECTOR"),
        (["open"], "MISSING_ARGUMENT"),
        (["type", "--id", "y"], "MISSING_ARGUMENT"),
        (["type", "", "--id", "y"], "MISSING_ARGUMENT"),
        (["press"], "MISSING_ARGUMENT"),
        (["close"], "MISSING_ARGUMENT"),
        (["close", " "], "MISSING_ARGUMENT"),
        (["sleep"], "MISSING_ARGUMENT"),
        (["scroll"], "MISSING_ARGUMENT"),
        (["scroll", "sideways"], "MISSING_ARGUMENT"),
        (["scroll", "DOWN"], "MISSING_ARGUMENT"),
        (["scroll-until", "sideways", "--id", "y"], "MISSING_ARGUMENT"),
        (["wait-for-nav", "--app", "a.b"], "MISSING_ARGUMENT"),
        (["wait-for-nav", "--timeout", "5"], "MISSING_ARGUMENT"),
        (["read-value"], "MISSING_ARGUMENT"),
        (["read-value", "--label", "a", "--label-id", ""], "EXECUTION_VALIDATION_FAILED"),
        (["start-activity", "a.b/.C", "--component", ""], "EXECUTION_VALIDATION_FAILED"),
        (["grant", "a.b", "CAMERA", "--app", ""], "EXECUTION_VALIDATION_FAILED"),
        (["read-value", "--label="], "EXECUTION_VALIDATION_FAILED"),
        (["open", "a.b", "--app", "c.d"], "EXECUTION_VALIDATION_FAILED"),
        (["type", "x", "--text", "y", "--id", "z"], "EXECUTION_VALIDATION_FAILED"),
        (["press", "home", "--key", "back"], "EXECUTION_VALIDATION_FAILED"),
        (["press", "self_destruct"], "EXECUTION_VALIDATION_FAILED"),
        (["sleep", "-5"], "EXECUTION_VALIDATION_FAILED"),
        (["sleep", "soon"], "EXECUTION_VALIDATION_FAILED"),
        (["sleep", "120001"], "EXECUTION_VALIDATION_FAILED"),
        (["sleep", "115001"], "EXECUTION_VALIDATION_FAILED"),
        (["wait-for-nav", "--app", "a b", "--timeout", "5"], "EXECUTION_VALIDATION_FAILED"),
        (["scroll", "up", "--direction", "up"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--coordinate", "1", "2", "--text", "x"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--coordinate", "1", "-2"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--coordinate", "1"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--coordinate", "1.5", "2"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--coordinate", "1", "2", "--focus"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--text", "x", "--long", "--focus"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--text"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--text", "-5"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--text", " "], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--text", "a", "--text", "b"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--selector", "{"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--selector", "[]"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--selector", "{}"], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--selector", " "], "EXECUTION_VALIDATION_FAILED"),
        (["click", "--selector", '{"text":"a"}', "--id", "x"], "EXECUTION_VALIDATION_FAILED"),
        (["read", "--id", "x", "--all"], "EXECUTION_VALIDATION_FAILED"),
        (["read-value", "--label", "x", "--all"], "EXECUTION_VALIDATION_FAILED"),
        (["read-value", "--label", " "], "EXECUTION_VALIDATION_FAILED"),
        (["wait", "--id", "x", "--timeout", "0"], "EXECUTION_VALIDATION_FAILED"),
        (["wait", "--id", "x", "--timeout", "115001"], "EXECUTION_VALIDATION_FAILED"),
        (["wait-for-nav", "--app", " ", "--timeout", "5"], "EXECUTION_VALIDATION_FAILED"),
        (["wait-for-nav", "--app", "--timeout", "5"], "EXECUTION_VALIDATION_FAILED"),
        (["wait-for-nav", "--app", "a.b", "--timeout", "x"], "EXECUTION_VALIDATION_FAILED"),
        (["wait-for-nav", "--app", "a.b", "--timeout", "-1"], "EXECUTION_VALIDATION_FAILED"),
        (["wait-for-nav", "--app", "a.b", "--timeout", "30001"], "EXECUTION_VALIDATION_FAILED"),
        (["record", "start", "--session-id", "a/b"], "EXECUTION_VALIDATION_FAILED"),
    ],
)
def test_what_a_command_cannot_take_is_refused(argv: list[str], code: str) -> None:
    assert refusal(*argv) == (1, code)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("https://a", "open_uri"),
        ("HTTPS://A", "open_uri"),
        ("market://details?id=a", "open_uri"),
        ("a+b-c.d://x", "open_uri"),
        ("see https://a", "open_uri"),
        ("mailto:x", "open_uri"),
        ("com.a.b", "open_app"),
    ],
)
def test_a_scheme_makes_a_uri(target: str, kind: str) -> None:
    assert execution("open", target)["actions"][0]["type"] == kind


def test_without_a_phone_the_error_is_typed_and_hints_at_the_simulated_one() -> None:
    for line in ("snapshot", "click --text A", "record start", f"open {SETTINGS}", "record pull"):
        ran = clawperator(*line.split())
        assert (ran.code, ran.json["code"]) == (1, "ADB_NOT_FOUND")
        assert "'clawperator phone start'" in ran.json["hint"]
    bad = clawperator("record", "pull", "--session-id", "a/../b")
    assert (bad.code, bad.json["code"]) == (1, "RECORDING_SESSION_NOT_FOUND")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("type",), "<text> or --secret or --secret-file"),
        (("sleep", "soon"), "<ms> must be a number"),
        (("wait", "--idle", "--quiet", "long"), "--quiet must be a number"),
    ],
)
def test_an_error_names_only_what_the_command_has(argv: tuple[str, ...], named: str) -> None:
    assert named in clawperator(*argv, "--validate-only").json["message"]
