"""Built-in tools: their rows, the validation of parameters, and their results on a phone."""

import json
import os
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.confinement import WorkingFolder, confine
from clawperator.agent.ports import ToolContext, ToolResult, failed_result
from clawperator.agent.tools import plans
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.tools.messages import MESSAGES
from clawperator.contract.actions import ACTIONS
from clawperator.contract.fields import LEVELS
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.device.run import run
from clawperator.device.run.lease import lease
from clawperator.errors import CODES, ClawError
from tests.skills.sample_skills import ID, write_skill
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS
from tests.support.routes import Route

TOOLS = {tool.name: tool for tool in builtin_tools()}
SHIPPED = "com.android.settings.overview"
NOTES, SETTINGS = "com.clawperator.notes", "com.android.settings"
READ_ONLY = {
    *("snapshot_ui", "read_text", "read_key_value_pair", "wait_for_node", "wait_for_navigation", "sleep"),
    *("describe_screen", "list_devices", "list_packages", "doctor", "list_skills", "setup", "version"),
    *(
        "recording_describe",
        "recording_compare",
        "recording_list",
        "phone_list",
        "phone_faults",
        "emulator_list",
        "emulator_inspect",
        "emulator_status",
    ),
    *("skills_get", "skills_search", "skills_for_app", "skills_validate", "skills_compile_artifact"),
    *("wait_until_gone", "wait_for_text_change", "wait_until_idle", "wait_for_any", "query"),
}
SECRET = "correct horse battery"


def use(name: str, params: Any, folder: Path | str = ".", deadline: TurnDeadline | None = None) -> ToolResult:
    try:
        return TOOLS[name].run(params, ToolContext(deadline or TurnDeadline(), folder=str(folder)))
    except ClawError as e:  # as the registry does
        return failed_result(e)


def do(name: str, /, **params: Any) -> ToolResult:
    """A call that must succeed."""
    result = use(name, params)
    assert result.error is None, result.error.document()
    assert result.handled
    return result


def error(result: ToolResult) -> ClawError:
    assert not result.handled
    assert result.error is not None
    assert result.message == result.error.message
    return result.error


# The rows


def test_every_action_is_a_tool_by_its_canonical_name() -> None:
    assert list(TOOLS)[: len(ACTIONS)] == list(ACTIONS)
    assert set(MESSAGES) == set(ACTIONS)
    for name, row in ACTIONS.items():
        assert (TOOLS[name].responsibility, TOOLS[name].aliases) == (row.summary, row.aliases)


def test_the_other_tools_exist() -> None:
    recordings = {
        f"recording_{verb}"
        for verb in ("pull", "parse", "describe", "export", "compare", "replay", "repair", "list")
    }
    others = {
        "run_execution",
        "describe_screen",
        "list_devices",
        "list_packages",
        "doctor",
        "list_skills",
        "run_skill",
        "start_phone",
        "stop_phone",
        "report",
        *("operator_setup", "setup", "grant_device_permissions", "version"),
        *(f"emulator_{verb}" for verb in ("list", "inspect", "create", "start", "stop", "delete", "status")),
        "emulator_provision",
        *(f"skills_{verb}" for verb in ("get", "search", "for_app", "validate", "new", "compile_artifact")),
        *(f"skills_{verb}" for verb in ("install", "update", "sync")),
        *(f"phone_{verb}" for verb in ("list", "reset", "delete", "fault", "faults", "screenshot")),
    }
    assert set(TOOLS) - set(ACTIONS) == recordings | others


def test_no_two_tools_share_a_name() -> None:
    names = [name for tool in TOOLS.values() for name in (tool.name, *tool.aliases)]
    assert len(names) == len(set(names))


def test_only_tools_without_side_effects_are_read_only() -> None:
    assert {name for name, tool in TOOLS.items() if tool.level == "read-only"} == READ_ONLY
    assert {tool.level for tool in TOOLS.values()} <= set(LEVELS)


def test_the_source_of_every_tool_exists() -> None:
    import clawperator

    root = os.path.dirname(os.path.dirname(clawperator.__file__))
    for tool in TOOLS.values():
        assert os.path.isfile(os.path.join(root, tool.source_hint)), tool.source_hint
        assert "mcp" not in tool.source_hint
        assert tool.responsibility.endswith(".")


def test_every_schema_is_an_object_with_described_parameters() -> None:
    for tool in TOOLS.values():
        schema = tool.schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for name, described in schema["properties"].items():
            text = json.dumps(described)
            assert "description" in text or "$ref" in text, f"{tool.name}.{name}"
    jsonschema.validate({"actions": [{"type": "sleep", "params": {}}]}, TOOLS["run_execution"].schema())


# What is refused, without a phone


@pytest.mark.parametrize(
    ("name", "params", "code", "reason"),
    [
        ("click", [], "TOOL_PAYLOAD_INVALID", "object"),
        ("click", "x", "TOOL_PAYLOAD_INVALID", "object"),
        ("click", {}, "EXECUTION_VALIDATION_FAILED", "matcher"),
        ("click", {"matcher": {"text": "a"}, "dance": 1}, "EXECUTION_VALIDATION_FAILED", "dance"),
        ("open_app", {"applicationId": "no.package name"}, "EXECUTION_VALIDATION_FAILED", "package name"),
        ("doctor", {"fix": True}, "TOOL_PAYLOAD_INVALID", "fix"),
        ("list_packages", {"thirdParty": "yes"}, "TOOL_PAYLOAD_INVALID", "thirdParty"),
        ("run_execution", {}, "TOOL_PAYLOAD_INVALID", "actions"),
        ("run_execution", {"actions": [{"type": "dance"}]}, "EXECUTION_VALIDATION_FAILED", "dance"),
        ("run_execution", {"actions": [{"params": {}}]}, "TOOL_PAYLOAD_INVALID", "actions.0.type"),
        ("recording_parse", {}, "TOOL_PAYLOAD_INVALID", "input"),
        ("recording_parse", {"input": "a\0b"}, "TOOL_PAYLOAD_INVALID", "path"),
        ("recording_parse", {"input": "none.ndjson"}, "RECORDING_PARSE_FAILED", "none.ndjson"),
        ("recording_replay", {"input": "none.ndjson"}, "RECORDING_PARSE_FAILED", "none.ndjson"),
        ("run_skill", {"skill": "no.such"}, "SKILL_NOT_FOUND", "no.such"),
        ("run_skill", {"skill": SHIPPED, "args": ["a\0"]}, "SKILL_INPUT_INVALID", "not valid text"),
        ("click", {"matcher": {"text": "a"}}, "ADB_NOT_FOUND", "ADB_PATH"),
        ("list_devices", {}, "ADB_NOT_FOUND", "ADB_PATH"),
    ],
)
def test_invalid_parameters_are_reported_with_their_path(
    tmp_path: Path, name: str, params: Any, code: str, reason: str
) -> None:
    found = error(use(name, params, tmp_path))
    assert found.code == code
    assert reason in found.message
    assert found.hint


def test_an_error_about_an_action_names_the_parameters_of_its_tool(tmp_path: Path) -> None:
    assert error(use("press_key", {"key": "x"}, tmp_path)).message == "key: unknown value 'x'"
    assert error(use("click", {}, tmp_path)).message == "click needs exactly one of matcher and coordinate"
    plan = {"actions": [{"type": "press_key", "params": {"key": "x"}}]}
    assert error(use("run_execution", plan, tmp_path)).message.startswith("actions.0.params.key: ")


def test_without_a_phone_the_hint_starts_one(tmp_path: Path) -> None:
    assert "clawperator phone start" in (error(use("snapshot_ui", {}, tmp_path)).hint or "")
    assert "clawperator phone start" in (error(use("describe_screen", {}, tmp_path)).hint or "")
    assert not use("doctor", {}, tmp_path).result["ok"]


def test_the_skills_that_came_with_the_product_are_listed(tmp_path: Path) -> None:
    result = use("list_skills", {"app": "com.google.android.youtube", "keyword": "video"}, tmp_path)
    (skill,) = result.result["skills"]
    assert (skill["id"], skill["inputs"]) == ("com.google.android.youtube.search", {"query": "string"})
    assert use("list_skills", {"keyword": "zeppelin"}, tmp_path).message == "no matching skills"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["/", "..", ".", "\0", "x", "com.android.settings"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


# A phone that is started runs on.
KEYS = {name: [*tool.schema()["properties"], "app"] for name, tool in TOOLS.items() if name != "start_phone"}


@pytest.mark.random
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(whole=JSON, values=st.lists(JSON, min_size=1, max_size=4), first=st.integers(0, 8))
def test_any_parameters_give_a_result(tmp_path: Path, whole: Any, values: list[Any], first: int) -> None:
    for name, keys in KEYS.items():
        named = {keys[place % len(keys)]: value for place, value in enumerate(values, first)}
        for params in (whole, named):
            result = use(name, params, tmp_path)
            assert result.handled or error(result).code in CODES


# Files


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "sub/../../a", "link/a", "link"])
def test_paths_outside_the_folder_are_denied(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (folder / "x.ndjson").write_text("{}")
    for name, params in (
        ("recording_parse", {"input": path}),
        ("recording_export", {"input": "x.ndjson", "out": path}),
        ("recording_compare", {"baseline": path, "result": path}),
        ("recording_replay", {"input": path}),
        ("recording_pull", {"folder": path}),
        ("take_screenshot", {"file": path}),
        ("run_execution", {"actions": [{"type": "screenshot", "params": {"path": path}}]}),
    ):
        found = error(use(name, params, folder))
        assert (found.code, found.target) == ("PERMISSION_DENIED", path), name
    assert sorted(os.listdir(tmp_path)) == ["work"]


def test_a_path_inside_the_folder_may_be_absolute(tmp_path: Path) -> None:
    folder = WorkingFolder(str(tmp_path))
    assert confine(folder, str(tmp_path / "a"), "x", "write") == str(tmp_path / "a")
    assert confine(folder, "./b/../a", "x", "read") == str(tmp_path / "a")


def test_a_pipe_is_not_a_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.ndjson")
    assert error(use("recording_describe", {"input": "a.ndjson"}, tmp_path)).code == "TOOL_PAYLOAD_INVALID"
    assert error(use("recording_export", {"input": "."}, tmp_path)).code == "RECORDING_EXPORT_FAILED"


def test_an_output_link_out_of_the_folder_is_denied(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.ndjson").write_text("{}")
    (folder / "a.steps.json").symlink_to(tmp_path / "elsewhere")
    assert error(use("recording_parse", {"input": "a.ndjson"}, folder)).code == "PERMISSION_DENIED"


# On a phone

ONCE = {"maxAttempts": 1}


def open_settings(route: Route) -> ToolResult:
    """Settings from its beginning, whatever was done there before."""
    route.shell(f"am force-stop {SETTINGS}")
    return do("open_app", app=SETTINGS)


def test_an_action_returns_the_document_and_a_message_with_its_effect(route: Route) -> None:
    assert open_settings(route).message == f"opened {SETTINGS}: the screen changed"
    clicked = do("click", matcher={"text": "Display"})
    assert clicked.message == "clicked 'Display': the screen changed"
    (step,) = clicked.result["envelope"]["stepResults"]
    assert (step["actionType"], step["success"], step["data"]["effect"]) == ("click", True, "changed")
    assert clicked.result["deviceId"] == route.serial
    (evidence,) = clicked.evidence
    assert (evidence.kind, evidence.device_id, evidence.document) == ("execution", route.serial, clicked.result)
    assert evidence.ref.startswith("claw-")
    assert evidence.ref == clicked.result["envelope"]["commandId"]
    assert do("press_key", key="back").message == "pressed back: the screen changed"
    still = do("click", coordinate={"x": 1, "y": 1})
    assert still.message == "clicked the point (1,1): nothing changed on the screen"


@pytest.mark.usefixtures("route")
def test_the_message_of_a_click_includes_an_error_text_that_appeared() -> None:
    do("open_app", applicationId=NOTES)
    do("click", matcher={"contentDescEquals": "Add note"})
    saved = do("click", matcher={"textEquals": "Save"})
    assert saved.message == "clicked 'Save': the screen changed and now shows 'Title is required'"


@pytest.mark.usefixtures("route")
def test_closing_an_app_that_does_not_run_is_reported_as_such() -> None:
    do("open_app", applicationId=NOTES)
    assert do("close_app", applicationId=NOTES).message == f"closed {NOTES}"
    assert do("close_app", applicationId=NOTES).message == f"{NOTES} was not running"


def test_the_message_of_a_read_contains_the_text(route: Route) -> None:
    open_settings(route)
    found = do("scroll_and_click", matcher={"text": "About phone"}).message
    assert found.endswith("clicked 'About phone': the screen changed")
    version = route.shell("getprop ro.build.version.release").strip()
    assert do("read_key_value_pair", labelMatcher={"text": "Android version"}).message == (
        f"read: Android version = {version}"
    )
    assert do("read_text", matcher={"text": "Model"}).message == "read: Model"
    assert do("read_text", matcher={"role": "text"}, all=True).message.startswith("read ")
    assert do("wait_for_node", matcher={"text": "Model"}).message == "'Model' is on the screen"
    assert SETTINGS in do("wait_for_navigation", expectedPackage=SETTINGS, timeoutMs=2000).message
    assert do("sleep", durationMs=1).message == "slept 1 ms"


def test_describe_screen_lists_labels_with_roles_values_and_states(route: Route) -> None:
    open_settings(route)
    described = do("describe_screen")
    labels = described.result["labels"]
    by_label = {label["label"]: label for label in labels}
    assert by_label["Search settings"]["role"] == "button"
    assert by_label["Battery"]["value"] == "100%"
    assert re.fullmatch(r"e\d+", by_label["Battery"]["ref"])
    assert (described.result["package"], described.result["labelCount"]) == (SETTINGS, len(labels))
    assert described.result["deviceId"] == route.serial
    assert described.message == f"the screen shows {len(labels)} labels in {SETTINGS}"
    captured = do("snapshot_ui")
    nodes = captured.result["envelope"]["stepResults"][0]["data"]["text"].count("<node")
    assert captured.message == f"captured the screen of {SETTINGS}: {nodes} nodes"
    assert [e.kind for e in (*described.evidence, *captured.evidence)] == ["snapshot", "snapshot"]


def test_describe_screen_shows_switches_on_or_off(route: Route) -> None:
    open_settings(route)
    do("click", matcher={"text": "Display"})

    def dark_theme() -> tuple[str, str, list[str]]:
        labels = do("describe_screen").result["labels"]
        found = next(label for label in labels if label["label"] == "Dark theme")
        return found["role"], found["state"], found["states"]

    assert dark_theme() == ("switch", "off", ["off"])
    do("click", matcher={"text": "Dark theme"})
    assert dark_theme() == ("switch", "on", ["on"])


def test_a_screenshot_is_evidence_by_path(route: Route, tmp_path: Path) -> None:
    assert route.serial
    result = use("take_screenshot", {"path": "a.png"}, tmp_path)
    (evidence,) = result.evidence
    assert (evidence.kind, evidence.path) == ("screenshot", str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_failed_step_has_its_code_and_the_document(route: Route) -> None:
    missed = use("click", {"matcher": {"text": "Nowhere"}, "retry": ONCE})
    found = error(missed)
    assert (found.code, found.operation, found.target) == ("NODE_NOT_FOUND", "click", route.serial)
    assert missed.result["envelope"]["stepResults"][0]["success"] is False
    assert [e.kind for e in missed.evidence] == ["execution"]
    absent = error(use("open_app", {"app": "com.example.none", "retry": ONCE}))
    assert absent.code == "APP_NOT_FOUND"
    late = error(use("wait_for_navigation", {"expectedPackage": "com.example.none", "timeoutMs": 100}))
    assert late.code == "NAVIGATION_TIMEOUT"
    assert all("clawperator " in (e.hint or "") for e in (found, absent, late))


def test_a_plan_reports_its_last_step(route: Route, tmp_path: Path) -> None:
    assert route.serial
    actions = [
        {"type": "open_app", "params": {"app": SETTINGS}},
        {"type": "screenshot", "params": {"path": "b.png"}},
        {"type": "snapshot", "id": "last"},
    ]
    result = use("run_execution", {"actions": actions, "timeoutMs": 10_000}, tmp_path)
    assert result.handled
    assert [step["id"] for step in result.result["envelope"]["stepResults"]] == ["a1", "a2", "last"]
    assert result.message.startswith("did 3 actions; the last: captured the screen of ")
    assert [e.kind for e in result.evidence] == ["execution", "screenshot"]
    missing = {"type": "click", "params": {"matcher": {"text": "Nope"}, "retry": ONCE}}
    half = use("run_execution", {"actions": [actions[0], missing]})
    assert error(half).code == "NODE_NOT_FOUND"
    assert len(half.result["envelope"]["stepResults"]) == 2


def test_a_busy_phone_is_an_error(route: Route) -> None:
    with lease(route.serial, "other", 0):
        found = error(use("snapshot_ui", {}, deadline=TurnDeadline(1.2)))
    assert (found.code, found.retryable) == ("EXECUTION_CONFLICT_IN_FLIGHT", True)


def test_too_little_time_is_an_error_before_anything_runs(route: Route) -> None:
    found = error(use("click", {"matcher": {"text": "Display"}}, deadline=TurnDeadline(0.5)))
    assert (found.code, found.target) == ("TURN_TIMEOUT", route.serial)


def test_phones_and_packages_are_listed_and_doctor_reports(route: Route) -> None:
    assert do("list_devices").result == {"devices": [{"serial": route.serial, "state": "device"}]}
    assert SETTINGS in do("list_packages").result["packages"]
    assert SETTINGS not in do("list_packages", thirdParty=True).result["packages"]
    assert do("doctor").message.startswith("ready: ")


# Passwords


@pytest.fixture
def sign_in(route: Route) -> Route:
    """The phone with a field for a password on its screen."""
    route.shell(f"am force-stop {NOTES}")
    do("open_app", app=NOTES)
    do("click", matcher={"contentDescEquals": "Account"})
    return route


def test_text_typed_into_a_password_field_is_secret(sign_in: Route) -> None:
    assert sign_in.serial
    field = {"resourceId": f"{NOTES}:id/password"}
    result = do("enter_text", matcher=field, text=SECRET)
    assert result.secrets == (SECRET,)
    assert result.message.startswith("typed ••• into 'Password': ")
    assert SECRET not in msgspec.json.encode([result.message, result.result, result.evidence]).decode()
    plain = do("enter_text", matcher={"resourceId": f"{NOTES}:id/email"}, text="a@b.c")
    assert (plain.secrets, plain.message) == ((), "typed 'a@b.c' into 'E-mail': the screen changed")
    plan = do("run_execution", actions=[{"type": "type_text", "params": {"node": field, "value": SECRET}}])
    assert plan.secrets == (SECRET,)
    assert SECRET not in msgspec.json.encode([plan.message, plan.result]).decode()


@pytest.mark.parametrize(("label", "secrets"), [("Password", (SECRET,)), ("E-mail", ())])
def test_a_field_is_found_by_its_reference(sign_in: Route, label: str, secrets: tuple[str, ...]) -> None:
    assert sign_in.serial
    (step,) = do("snapshot_ui", view="outline").result["envelope"]["stepResults"]
    line = next(line for line in step["data"]["text"].splitlines() if label in line and "field" in line)
    result = do("enter_text", matcher={"ref": line.split()[0]}, text=SECRET)
    assert result.secrets == secrets


def test_a_password_that_was_not_accepted_is_secret(sign_in: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    real = run.run_plan

    def fail(plan: Any, device: Any, **more: Any) -> ExecutionResult:
        if plan.plan.execution.actions[0].type == "snapshot_ui":
            return real(plan, device, **more)
        raise ClawError("RESULT_ENVELOPE_TIMEOUT", "no result came back")

    monkeypatch.setattr(plans, "run_plan", fail)
    result = use("enter_text", {"matcher": {"resourceId": f"{NOTES}:id/password"}, "text": SECRET})
    assert (error(result).code, result.secrets) == ("RESULT_ENVELOPE_TIMEOUT", (SECRET,))
    assert sign_in.serial
    open_field = use("enter_text", {"matcher": {"resourceId": f"{NOTES}:id/email"}, "text": "a@b.c"})
    assert open_field.secrets == ()


@pytest.mark.parametrize(
    ("steps", "secret"),
    [
        # Another Operator may echo the text, and a plan is not looked at before.
        ([StepResult("a1", "enter_text", True, {"text": SECRET, "submit": "false"})], True),
        ([StepResult("a1", "enter_text", True, {"text": SECRET, "dispatch_method": "set_text"})], False),
        ([StepResult("a1", "enter_text", False, {"error": "NODE_NOT_FOUND", "message": "no"})], True),
        ([StepResult("a1", "enter_text", False, {"error": "UNKNOWN", "message": f"no {SECRET}"})], True),
        ([], True),
    ],
)
def test_text_that_may_be_a_password_is_masked(
    route: Route,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[StepResult],
    secret: bool,  # noqa: FBT001 - a column
) -> None:
    ok = bool(steps) and all(step.success for step in steps)
    envelope = ResultEnvelope("c", "c", "success" if ok else "failed", steps, None if ok else f"failed: {SECRET}")
    monkeypatch.setattr(plans, "run_plan", lambda *_, **__: ExecutionResult(envelope, route.serial, "operator"))
    actions = [{"type": "enter_text", "params": {"matcher": {"role": "textfield"}, "text": SECRET}}]
    result = use("run_execution", {"actions": actions})
    assert result.secrets == ((SECRET,) if secret else ())
    if secret:
        shown = [result.message, result.result, result.error and result.error.document()]
        assert SECRET not in msgspec.json.encode(shown).decode()


def test_steps_before_a_timeout_are_reported(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [StepResult("a1", "enter_text", True, {"text": SECRET})]

    def fail(*_: Any, **__: Any) -> ExecutionResult:
        raise ClawError("BROADCAST_FAILED", "no answer", extra={"stepResults": steps})

    monkeypatch.setattr(plans, "run_plan", fail)
    actions = [
        {"type": "enter_text", "params": {"matcher": {"role": "textfield"}, "text": SECRET}},
        {"type": "screenshot"},
        {"type": "press_key", "params": {"key": "home"}},
    ]
    result = use("run_execution", {"actions": actions})
    assert error(result).code == "BROADCAST_FAILED"
    assert result.result["deviceId"] == route.serial
    assert [step["actionType"] for step in result.result["stepResults"]] == ["enter_text"]
    assert SECRET not in msgspec.json.encode([result.result, error(result).document()]).decode()


# Recordings and skills


def record(route: Route, session: str) -> tuple[ToolResult, ToolResult]:
    """A recording of two steps on the phone."""
    do("press_key", key="home")
    route.shell(f"am force-stop {SETTINGS}")
    began = do("start_recording", sessionId=session)
    do("open_app", app=SETTINGS)
    do("click", matcher={"text": "Display"})
    return began, do("stop_recording")


def test_a_recording_is_made_pulled_described_compared_and_replayed(route: Route, tmp_path: Path) -> None:
    began, ended = record(route, "demo")
    assert began.message == "started the recording demo"
    assert ended.message.startswith("stopped the recording demo with ")

    def work(name: str, **params: Any) -> ToolResult:
        result = use(name, params, tmp_path)
        assert result.handled, result.error and result.error.document()
        return result

    pulled = work("recording_pull")
    assert pulled.message == "pulled recording demo to recordings/demo.ndjson"
    assert [(e.kind, e.path) for e in pulled.evidence] == [("recording", str(tmp_path / "recordings/demo.ndjson"))]
    source = {"input": "recordings/demo.ndjson"}
    assert work("recording_parse", **source).result["stepCount"] == 2
    assert (tmp_path / "recordings/demo.steps.json").exists()
    assert work("recording_describe", **source).result["sessionId"] == "demo"
    assert work("recording_export", input="recordings", out="demo.json").message.endswith(" events to demo.json")
    compared = work("recording_compare", baseline="demo.json", result="demo.json", strategy="derived")
    assert compared.message.startswith("literal_match: ")
    assert work("recording_replay", **source, dryRun=True).result["dryRun"] is True
    do("press_key", key="home")
    route.shell(f"am force-stop {SETTINGS}")
    replayed = work("recording_replay", **source)
    assert replayed.message == "replayed 2 of 2 steps, each of them proved"


def test_a_cancelled_replay_stops_between_two_steps(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(route, "twice")
    do("press_key", key="home")
    route.shell(f"am force-stop {SETTINGS}")
    assert use("recording_pull", {}, tmp_path).handled
    deadline = TurnDeadline()
    from clawperator.replay.run import _StepRunner

    real = _StepRunner.run_step

    def one(self: Any, step: Any) -> Any:
        deadline.cancel()
        return real(self, step)

    monkeypatch.setattr(_StepRunner, "run_step", one)
    with pytest.raises(TurnCancelledError):
        use("recording_replay", {"input": "recordings/twice.ndjson"}, tmp_path, deadline)


def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, **more: Any) -> Mapping[str, str]:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(write_skill(tmp_path, script, **more)))
    return {"skill": ID}


def test_skill_arguments_are_positional_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = {"inputs": {"name": "string", "times": "integer[1,3]"}}
    script = "import os\nprint(os.environ['CLAWPERATOR_SKILL_INPUTS'])"
    named = skill(tmp_path, monkeypatch, script, contract=contract)
    for args in (["Ann", "2"], {"times": 2, "name": "Ann"}):
        result = use("run_skill", {**named, "args": args})
        assert result.handled
        assert json.loads(result.result["output"]) == {"name": "Ann", "times": 2}
        assert result.message == f'skill {ID} succeeded: {{"name":"Ann","times":2}}'
        assert [(e.kind, e.ref) for e in result.evidence] == [("skill_run", ID)]
    assert error(use("run_skill", {**named, "args": {"size": 1}})).code == "SKILL_INPUT_INVALID"


def test_a_skill_that_promises_a_verification_and_reports_none_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = {"verification": {"kind": "node_text_matches", "matcher": "Hello"}}
    result = use("run_skill", skill(tmp_path, monkeypatch, "print('I did nothing')", contract=contract))
    assert not result.handled
    assert (error(result).code, error(result).retryable) == ("SKILL_VERIFICATION_INDETERMINATE", False)
    assert [evidence.kind for evidence in result.evidence] == ["skill_run"]


def test_a_failed_skill_keeps_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = skill(tmp_path, monkeypatch, "print('half')\nraise SystemExit(3)")
    result = use("run_skill", named)
    assert error(result).code == "SKILL_EXECUTION_FAILED"
    assert (result.result["stdout"], result.result["exitCode"]) == ("half\n", 3)
    assert [e.kind for e in result.evidence] == ["skill_run"]


@pytest.mark.parametrize("seconds", [None, 0.6])
def test_a_skill_stops_with_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    named = skill(tmp_path, monkeypatch, f"import time\ntime.sleep({NEVER_SECONDS})")
    deadline = TurnDeadline(seconds)
    if seconds is None:
        threading.Timer(0.3, deadline.cancel).start()
    started = time.monotonic()
    with pytest.raises(TurnCancelledError):
        use("run_skill", named, deadline=deadline)
    assert time.monotonic() - started < HANG_SECONDS


@pytest.mark.parametrize("params", [{"serial": "../x"}, {"serial": ""}, {"seed": -1}, {"serial": 5}, {"app": []}])
def test_a_phone_is_not_started_with_odd_parameters(tmp_path: Path, params: dict[str, Any]) -> None:
    assert error(use("start_phone", params, tmp_path)).code in CODES


def test_a_simulated_phone_is_started_and_stopped(tmp_path: Path) -> None:
    started = use("start_phone", {"serial": "agent-1"}, tmp_path)
    try:
        assert started.handled
        assert (started.result["serial"], started.result["state"]) == ("agent-1", "running")
    finally:
        stopped = use("stop_phone", {"serial": "agent-1"}, tmp_path)
    assert stopped.message == "phone agent-1 stopped"
    assert use("stop_phone", {"serial": "agent-1"}, tmp_path).message == "phone agent-1 was not running"
    assert use("stop_phone", {"serial": "unknown"}, tmp_path).error is not None
