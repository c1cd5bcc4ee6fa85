"""Every field of a selector is on the command line, in the schemas, in Python, in the tools and in the docs."""

import json
import re

from clawperator.agent.tools.builtin import builtin_tools
from clawperator.api.selectors import FIELDS
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import find_command
from clawperator.contract.fields import fields_of
from clawperator.contract.selectors import HOST_FIELDS, NodeMatcher, NodeSelector
from clawperator.schemas import SCHEMAS, schema
from tests.support.paths import REPOSITORY

_FIELDS = {name.rstrip("_") for name in (*NodeMatcher.__struct_fields__, *HOST_FIELDS)}
_FLAGS = {field.name: field.flag for field in fields_of(NodeSelector)} | {"shortId": "--id"}


def test_every_field_has_a_flag_and_a_keyword() -> None:
    command = find_command("click")
    assert command is not None
    assert set(_FLAGS) == _FIELDS
    assert set(_FLAGS.values()) <= {flag.name for flag in command.flags}
    assert {*FIELDS.values(), "shortId"} == _FIELDS


def test_every_field_is_in_the_schema_of_every_action_with_a_selector() -> None:
    taking = [
        name
        for name, row in ACTIONS.items()
        if any("NodeSelector" in str(hint) for hint in row.params.__annotations__.values())
    ]
    assert {"click", "read_text", "query"} <= set(taking)
    for name in taking:
        text = json.dumps(schema(f"action.{name}"))
        assert [field for field in _FIELDS if f'"{field}"' not in text] == [], name
        assert f"action.{name}" in SCHEMAS


def test_every_field_and_flag_is_documented() -> None:
    page = (REPOSITORY / "docs" / "guides" / "selectors.md").read_text("utf-8")
    documented = set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)))
    assert documented >= _FIELDS
    assert set(_FLAGS.values()) <= documented
    assert NodeSelector.__struct_fields__[: len(NodeMatcher.__struct_fields__)] == NodeMatcher.__struct_fields__


def test_every_field_is_a_param_of_the_tools() -> None:
    (click,) = [tool for tool in builtin_tools() if tool.name == "click"]
    text = json.dumps(click.schema())
    assert [field for field in _FIELDS if f'"{field}"' not in text] == []
