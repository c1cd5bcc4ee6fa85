"""From an action's row follow its command, schema, tool, engine function, methods, message and documentation."""

import inspect
import re
from pathlib import Path

import pytest

from clawperator.agent.tools import messages
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.api.async_phone import AsyncConnectedPhone
from clawperator.api.phone import ConnectedPhone
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import Command, leaves
from clawperator.contract.execution import single_action, validate
from clawperator.engine.run import RUNNERS
from clawperator.schemas import schema

DOCS = Path(__file__).parents[2] / "docs"
TOOLS = {tool.name: tool for tool in builtin_tools()}
every_action = pytest.mark.parametrize("name", ACTIONS)


def commands_of(name: str) -> list[Command]:
    return [command for _, command in leaves() if name in command.tools and command.is_action]


def methods_of(name: str) -> list[str]:
    """The public methods of the connected phone that run the action."""
    methods = inspect.getmembers(ConnectedPhone, inspect.isfunction)
    return [
        method
        for method, function in methods
        if re.search(rf'_(act|step|wait)\("{name}"', inspect.getsource(function)) and method[0] != "_"
    ]


@every_action
def test_an_action_has_a_command(name: str) -> None:
    commands = commands_of(name)
    assert commands
    expected = "read-only" if ACTIONS[name].read_only else ACTIONS[name].level
    assert {command.level for command in commands} == {expected}


@every_action
def test_an_action_has_a_schema_of_its_params(name: str) -> None:
    document = schema(f"action.{name}")
    shape = document["$defs"][ACTIONS[name].params.__name__]
    assert list(shape["properties"]) == list(ACTIONS[name].params.__struct_fields__)
    variants = schema("execution")["$defs"]["ActionShape"]["anyOf"]
    assert [variant["description"] for variant in variants if variant["title"] == name] == [ACTIONS[name].summary]


@every_action
def test_an_action_is_a_tool(name: str) -> None:
    row, tool = ACTIONS[name], TOOLS[name]
    assert (tool.responsibility, tool.aliases, tool.family) == (row.summary, row.aliases, row.family)
    assert tool.level == ("read-only" if row.read_only else row.level)


@every_action
def test_an_action_has_an_engine_function(name: str) -> None:
    assert RUNNERS[name].__name__ == name


@every_action
def test_an_action_has_a_method_and_an_async_method(name: str) -> None:
    methods = methods_of(name)
    assert methods
    for method in methods:
        twin = getattr(AsyncConnectedPhone, method)
        assert inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin) == inspect.signature(getattr(ConnectedPhone, method))


@every_action
def test_an_action_has_a_result_message(name: str) -> None:
    assert name in messages.MESSAGES


@every_action
def test_an_action_is_documented(name: str) -> None:
    text = (DOCS / "reference" / "executions.md").read_text("utf-8")
    assert f"### {name}\n\n{ACTIONS[name].summary}" in text


@every_action
def test_a_single_action_has_the_fixed_fields_of_its_row(name: str) -> None:
    template = ACTIONS[name].template
    document = single_action(name, {})
    assert document["commandId"].startswith(template.prefix)
    assert document["taskId"] == (template.task_id or document["commandId"])
    assert (document["source"], document["timeoutMs"]) == (template.source, template.timeout_ms)
    assert document["actions"] == [{"id": template.action_id, "type": name, "params": {}}]
    assert document.get("mode") == template.mode


def test_an_action_without_required_params_is_valid_as_it_is() -> None:
    assert validate(single_action("snapshot_ui")).execution.actions[0].type == "snapshot_ui"
