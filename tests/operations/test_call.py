"""Paths and rules between parameters, which the gate checks. ``test_gate`` has what a policy denies."""

import json
from pathlib import Path

import pytest

from clawperator._base.home import PhoneFolder
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolCall, ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.policy.rules import Policy
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
