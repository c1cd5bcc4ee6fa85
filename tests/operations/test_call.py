"""Paths and rules between parameters, which the gate checks. ``test_gate`` has what a policy denies."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator import start_phone
from clawperator._base.home import PhoneFolder
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.inventory.inventory import command_inventory
from clawperator.agent.ports import ToolCall, ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.cli.claw.command_tools import CommandContext, prepare
from clawperator.contract.commands import POLICY_VARIABLE
from clawperator.contract.execution import new_execution
from clawperator.errors import ClawError
from clawperator.policy.rules import Params, Policy, PolicyEntry, encode_policy, read_rule
from clawperator.skills.registry import home_registry
from tests.recording import samples
from tests.support.running import claw_json, clawperator


def test_an_allow_rule_about_an_input_covers_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    allowed = ("--permission-mode", "read-only", "--allow-tool", "recording_parse(demo.ndjson)")
    own = claw_json("exec-command", *allowed, "recording parse", "--input demo.ndjson")
    other = claw_json("exec-command", *allowed, "recording parse", "--input demo.ndjson --out other.json")
    assert own.json["error"]["code"] == "RECORDING_PARSE_FAILED"
    assert other.json["error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.parametrize(("entry", "words"), [("cli", "--checkpoints needs --strategy"), ("tool", "checkpoints")])
def test_a_rule_between_fields_is_said_in_the_words_of_the_entry_point(entry: str, words: str) -> None:
    params = {"baseline": "a", "result": "b", "checkpoints": "c", "strategy": "derived"}
    if entry == "cli":
        flags = [text for name, value in params.items() for text in (f"--{name}", value)]
        error = clawperator("recording", "compare", *flags).json
    else:
        registry = ToolRegistry(builtin_tools(), Policy(mode="full"))
        result = registry.call(ToolCall("recording_compare", params), ToolContext(TurnDeadline(5)))
        assert result.error is not None
        error = {"code": result.error.code, "message": result.error.message}
    assert error["code"] in ("USAGE", "TOOL_PAYLOAD_INVALID")
    assert error["message"].startswith(words)


RECORDINGS = "recordings/secret.ndjson"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, beside an empty home of the product."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAWPERATOR_DEVICE_ID", raising=False)
    return made


@pytest.mark.parametrize("given", [RECORDINGS, f"./{RECORDINGS}", "recordings", "recordings/../recordings"])
def test_a_rule_about_a_file_holds_however_it_is_found(given: str, folder: Path) -> None:
    (folder / "recordings").mkdir()
    samples.write(folder / RECORDINGS, [samples.window(0)])
    denied = ("--deny-tool", f"recording_export({RECORDINGS})")
    ran = claw_json("exec-tool", *denied, "recording_export", json.dumps({"input": given}))
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"
    assert claw_json("exec-tool", "recording_export", json.dumps({"input": given})).code == 0


@pytest.mark.parametrize(
    ("tool", "rule"), [("stop_phone", "phone_stop(shop)"), ("phone_reset", "phone_reset(shop)")]
)
@pytest.mark.usefixtures("folder")
def test_a_rule_about_a_phone_holds_however_it_is_chosen(
    tool: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("exec-tool", "--permission-mode", "full", "--deny-tool", rule, tool, "{}")
    PhoneFolder("shop").make()
    assert claw_json(*call).json["error"]["code"] == "PERMISSION_DENIED"
    PhoneFolder("mill").make()
    assert claw_json(*call).json["error"]["code"] == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "shop")
    assert claw_json(*call).json["error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.usefixtures("folder")
def test_a_rule_about_a_phone_denies_to_stop_all_phones() -> None:
    phone = PhoneFolder("shop")
    phone.make()
    with phone.lock():
        ran = claw_json("exec-tool", "--deny-tool", "phone_stop(shop)", "stop_phone", '{"all": true}')
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"


def test_an_agent_creates_skills_in_its_folder_only(folder: Path) -> None:
    installed = Path(home_registry())
    installed.parent.mkdir(parents=True)
    installed.write_text('{"schemaVersion":"1.0","skills":[]}')
    params = json.dumps({"skill": "com.example.app.greet"})
    ran = claw_json("exec-tool", "--permission-mode", "act", "skills_new", params)
    assert ran.code == 0
    assert (folder / "skills/com.example.app.greet/skill.json").is_file()
    assert json.loads(installed.read_text())["skills"] == []


def test_an_execution_with_evidence_writes_in_the_folder_only(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "shot.png"
    shot = {"id": "a", "type": "take_screenshot", "params": {"path": str(outside)}}
    plan = json.dumps(new_execution([shot], command_id="c", source="test", timeout_ms=5_000))
    for flags in ("", " --evidence ev", " --dry-run", " --validate-only"):
        ran = claw_json("exec-command", "exec", f"'{plan}'{flags}")
        assert ran.json["error"]["code"] == "PERMISSION_DENIED", flags
    assert not outside.exists()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("given", ["secret.png", "./secret.png", "shots/../secret.png"])
@pytest.mark.parametrize("rule", ["take_screenshot(secret.png)", "screenshot(secret.*)"])
@pytest.mark.usefixtures("folder")
def test_a_rule_about_the_file_of_an_action_holds_however_it_is_spelled(given: str, rule: str) -> None:
    params = json.dumps({"path": given})
    ran = claw_json("exec-tool", "--deny-tool", rule, "take_screenshot", params)
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"
    ran = claw_json("exec-command", "--deny-tool", rule, "screenshot", f"--path {given}")
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"


def test_a_rule_about_the_file_of_an_execution_holds(folder: Path) -> None:
    home = {"id": "a", "type": "press_key", "params": {"key": "home"}}
    plan = new_execution([home], command_id="c", source="test", timeout_ms=5_000)
    (folder / "p.json").write_text(json.dumps(plan))
    ran = claw_json("exec-command", "--deny-tool", "exec(p.json)", "exec", "./p.json")
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"


def test_an_allow_rule_about_a_folder_covers_no_detour_out_of_it(folder: Path) -> None:
    for name in ("open", "private"):
        (folder / name).mkdir()
        samples.write(folder / name / "a.ndjson", [samples.window(0)])
    allowed = ("--permission-mode", "read-only", "--allow-tool", "recording_export(open/*)")
    for given, code in (("open/a.ndjson", 0), ("open/../private/a.ndjson", 1)):
        ran = claw_json("exec-tool", *allowed, "recording_export", json.dumps({"input": given}))
        assert ran.code == code, given


@pytest.mark.parametrize(
    ("rule", "name", "params"),
    [
        ("stop_recording(keepme)", "stop_recording", {}),
        ("recording-stop(keepme)", "stop_recording", {}),
        ("recording_pull(keepme)", "recording_pull", {}),
        ("skills_validate(com.example.app.greet)", "skills_validate", {}),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_rule_about_one_of_several_denies_a_call_that_leaves_open_which(
    rule: str, name: str, params: dict[str, Any]
) -> None:
    ran = claw_json("exec-tool", "--deny-tool", rule, name, json.dumps(params))
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    ("denied", "line"),
    [
        ("phone_fault", "phone start shop --fault offline=on"),
        ("stop_phone", "phone delete shop --force"),
        ("phone_faults", "phone fault"),
        ("grant_permission", "doctor --fix"),
        ("grant_device_permissions", "doctor --fix"),
        ("install_app", "operator setup --apk operator.apk"),
        ("grant_permission", "operator setup --apk operator.apk"),
        ("grant_permission", "grant-device-permissions"),
        ("emulator_create", "emulator provision"),
        ("emulator_start", "provision emulator"),
        ("snapshot_ui", "screenshot --marks"),
    ],
)
def test_a_denied_operation_is_not_part_of_another_one(
    denied: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy(mode="full", deny=(read_rule(denied, "--deny-tool"),))
    monkeypatch.setenv(POLICY_VARIABLE, encode_policy(policy))
    assert clawperator(*line.split()).json["code"] == "PERMISSION_DENIED"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("rule", ["start_phone", "phone-start", "phone", "phone_start(shop)", "*"])
@pytest.mark.usefixtures("folder")
def test_a_program_starts_no_phone_that_is_denied(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(mode="full", deny=(read_rule(rule, "--deny-tool"),))
    monkeypatch.setenv(POLICY_VARIABLE, encode_policy(policy))
    with pytest.raises(ClawError) as info:
        start_phone("shop")
    assert info.value.code == "PERMISSION_DENIED"
    assert not PhoneFolder("shop").exists()


def test_a_question_about_an_execution_shows_its_actions(folder: Path) -> None:
    asked: list[Any] = []

    def ask(entry: PolicyEntry, params: Params, _: str) -> bool:
        asked.append((entry.name, params))
        return False

    close = {"type": "close_app", "params": {"applicationId": "com.example.app"}}
    policy = Policy(mode="full", ask=(read_rule("close_app", "--ask-tool"),))
    registry = ToolRegistry(builtin_tools(), policy, asker=ask)
    context = ToolContext(TurnDeadline(5), folder=str(folder))
    result = registry.call(ToolCall("run_execution", {"actions": [close]}), context)
    assert result.error is not None
    assert result.error.code == "PERMISSION_DENIED"
    assert [name for name, _ in asked] == ["run_execution"]
    (shown,) = asked[0][1]["actions"]
    assert (shown["type"], shown["params"]) == ("close_app", {"applicationId": "com.example.app"})


@pytest.mark.parametrize(
    ("flag", "rule", "near"),
    [
        ("--deny-tool", "pres_key", "press_key"),
        ("--ask-tool", "clicks(Delete)", "click"),
        ("--deny-tool", "zzzzz", ""),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_rule_that_names_nothing_is_a_warning(flag: str, rule: str, near: str) -> None:
    ran = claw_json("exec-tool", flag, rule, "phone_list", "{}")
    assert ran.json["warnings"] == [
        f"the rule {rule} matches no tool, command or action" + (f"; did you mean {near}?" if near else "")
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "press-key",
        "recording_*",
        "phone",
        "serve",
        "exec-tool",
        "tap",
        "shell",
        "com.example.app.greet",
        "mcp__a__b",
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_rule_that_names_something_is_no_warning(rule: str) -> None:
    assert claw_json("exec-tool", "--deny-tool", rule, "recording_list", "{}").json["warnings"] == []


def test_declared_secrets_are_masked_in_results_and_errors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    home = folder.parent / "home"
    home.mkdir()
    (home / "clawperator.toml").write_text('secrets = ["SHOP_PASSWORD"]\n')
    (folder / "recordings").mkdir()
    samples.write(folder / "recordings" / "a-hunter2.ndjson", [samples.window(0)])
    (one,) = clawperator("recording", "list").json["recordings"]
    assert (one["sessionId"], one["path"]) == ("a-••••", "recordings/a-••••.ndjson")
    assert "hunter2" not in str(claw_json("exec-tool", "recording_list", "{}").json)
    failed = clawperator("recording", "describe", "--input", "hunter2.ndjson").json
    assert failed["code"] == "RECORDING_PARSE_FAILED"
    assert "hunter2" not in str(failed)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("recording_export(secret.json)", "recording export --input recordings/a.ndjson --out secret.json"),
        ("recording_export(recordings/a.export.json)", "recording export --input recordings/a.ndjson"),
        ("recording_compare(secret.json)", "recording compare --baseline a.json --result ./secret.json"),
        ("press_key(ev)", "press home --evidence ev"),
        ("query", "query --file screen.json --text Display"),
        ("query(screen.json)", "query --file ./screen.json --text Display"),
        ("query(Display)", "query --file screen.json --text Display"),
        ("enter_text(secret.txt)", "type --secret-file ./secret.txt"),
    ],
)
def test_a_rule_about_any_file_of_a_command_holds(rule: str, line: str, folder: Path) -> None:
    (folder / "recordings").mkdir()
    samples.write(folder / "recordings" / "a.ndjson", [samples.window(0)])
    before = sorted(folder.rglob("*"))
    name, _, arguments = line.partition(" --")
    name, _, word = name.partition(" home")
    prompt = f"home --{arguments}" if name == "press" else f"--{arguments}"
    assert word == ""
    ran = claw_json("exec-command", "--deny-tool", rule, name, prompt)
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"
    assert sorted(folder.rglob("*")) == before


def test_an_allow_rule_covers_no_output_that_a_link_leads_elsewhere(folder: Path) -> None:
    (folder / "recordings").mkdir()
    samples.write(folder / "recordings" / "a.ndjson", [samples.window(0)])
    (folder / "recordings" / "a.export.json").symlink_to("../outside.json")
    allowed = ("--permission-mode", "read-only", "--allow-tool", "recording_export(recordings/*)")
    ran = claw_json("exec-tool", *allowed, "recording_export", '{"input": "recordings/a.ndjson"}')
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"
    assert not (folder / "outside.json").exists()


@pytest.mark.usefixtures("folder")
def test_an_allow_rule_about_a_target_covers_no_evidence() -> None:
    allowed = ("--permission-mode", "read-only", "--allow-tool", "press_key(home)")
    ran = claw_json("exec-command", *allowed, "press", "home --evidence ev")
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.usefixtures("folder")
def test_an_allow_rule_about_files_covers_no_execution_in_the_line() -> None:
    home = {"id": "a", "type": "snapshot_ui"}
    plan = new_execution([home], command_id="a/../plans/x", source="test", timeout_ms=5_000)
    allowed = ("--permission-mode", "read-only", "--allow-tool", "exec(plans/*)")
    ran = claw_json("exec-command", *allowed, "exec", f"'{json.dumps(plan)}'")
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.usefixtures("folder")
def test_a_skill_that_runs_as_a_command_is_asked_about_once() -> None:
    asked: list[str] = []

    def ask(entry: PolicyEntry, _: Params, __: str) -> bool:
        asked.append(entry.name)
        return True

    entry = command_inventory().find("com.android.settings.overview")
    policy = Policy(mode="full", ask=(read_rule("run_skill", "--ask-tool"),))
    registry = ToolRegistry([prepare(entry, "", CommandContext())], policy, asker=ask)
    result = registry.call(ToolCall(entry.name, {}), ToolContext(TurnDeadline(20)))
    assert result.error is not None
    assert result.error.code != "PERMISSION_DENIED"
    assert asked == [entry.name]
