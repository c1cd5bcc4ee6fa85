"""The gate: an operation that is denied by any of its names runs at no entry point, and its paths are confined."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolCall, ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.commands.model import POLICY_VARIABLE
from clawperator.errors import ClawError
from clawperator.operations.call import operation_names
from clawperator.operations.model import Operation, ParamField, all_operations
from clawperator.policy.inheritance import encode_policy
from clawperator.policy.rules import Policy, read_rule
from clawperator.serve.access import open_access
from clawperator.serve.http.calls import Services, perform
from clawperator.serve.http.routes import ROUTES
from clawperator.serve.http.sse import EventHub
from clawperator.serve.http.workers import Workers
from clawperator.serve.page.live_recordings import LiveRecordings
from clawperator.serve.page.watched_screens import WatchedScreens
from tests.support.running import claw_json, clawperator

OPERATIONS = {row.name: row for row in all_operations()}


def rules(row: Operation) -> list[str]:
    """Every name of an operation that a rule can have, and a prefix of each."""
    names = [name for name in operation_names(row) if " " not in name]
    return [*names, *(f"{name[:-1]}*" for name in names)]


def example(field: ParamField) -> Any:
    if field.choices:
        return field.choices[0]
    return "missing.json" if field.type is str else 1


def needed(row: Operation) -> dict[str, Any]:
    return {field.name: example(field) for field in row.fields if field.required}


def line(row: Operation) -> list[str]:
    words = sorted((field for field in row.fields if field.required), key=lambda field: field.use.word)
    return [text for f in words for text in ([] if f.use.word else [f.flag]) + [str(example(f))]]


def policy(rule: str) -> Policy:
    return Policy(mode="full", deny=(read_rule(rule, "--deny-tool"),))


def by_command(row: Operation, rule: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(POLICY_VARIABLE, encode_policy(policy(rule)))
    code: str = clawperator(*row.name.split(), *line(row)).json["code"]
    monkeypatch.delenv(POLICY_VARIABLE)
    return code


def by_exec_command(row: Operation, rule: str, _: pytest.MonkeyPatch) -> str:
    ran = claw_json(
        "exec-command", "--permission-mode", "full", "--deny-tool", rule, row.name, " ".join(line(row))
    )
    code: str = ran.json["error"]["code"]
    return code


def by_tool(row: Operation, rule: str, _: pytest.MonkeyPatch) -> str:
    if row.is_cli_only:
        return "PERMISSION_DENIED"
    registry = ToolRegistry(builtin_tools(), policy(rule))
    result = registry.call(ToolCall(row.tool_name, needed(row)), ToolContext(TurnDeadline(5)))
    return result.error.code if result.error else ""


def by_route(row: Operation, rule: str, _: pytest.MonkeyPatch) -> str:
    if not row.route:
        return "PERMISSION_DENIED"
    route = next(route for route in ROUTES if f"{route.method} {route.path}" == row.route)
    access = open_access(AgentOptions(mode="full", deny_tools=(rule,), include_mcp=False))
    services = Services(access, EventHub(), Workers(), WatchedScreens(access.policy), LiveRecordings())
    request = route.request(**{field.attribute: example(field) for field in row.fields if field.required})
    assert route.work is not None
    with pytest.raises(ClawError) as info:
        perform(services, route.rule, request, route.work, 5)
    return info.value.code


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("call", [by_command, by_exec_command, by_tool, by_route])
def test_a_rule_by_any_name_denies_an_operation_at_every_entry_point(
    name: str,
    call: Callable[[Operation, str, pytest.MonkeyPatch], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    row = OPERATIONS[name]
    codes = {rule: call(row, rule, monkeypatch) for rule in rules(row)}
    assert {rule: code for rule, code in codes.items() if code != "PERMISSION_DENIED"} == {}
    assert list(tmp_path.iterdir()) == []


# They need no more than a name: they would write a skill, fetch skills, or list nothing.
SUCCEEDING = ("skills new", "skills sync", "skills for-app")
# They fail without the file, the phone or the name that they need, and so do nothing.
HARMLESS = [
    row.name
    for row in OPERATIONS.values()
    if any(f.required and not f.choices for f in row.fields) and row.name not in SUCCEEDING
]


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("call", [by_command, by_exec_command, by_tool, by_route])
def test_a_rule_about_another_operation_denies_nothing(
    name: str,
    call: Callable[[Operation, str, pytest.MonkeyPatch], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    row = OPERATIONS[name]
    if (call is by_route and not row.route) or (call is by_tool and row.is_cli_only):
        return
    assert call(row, "no_such_operation", monkeypatch) not in ("", "PERMISSION_DENIED")


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
