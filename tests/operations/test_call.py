"""Paths and rules between parameters, which the gate checks. ``test_gate`` has what a policy denies."""

from pathlib import Path

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolCall, ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.policy.rules import Policy
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
