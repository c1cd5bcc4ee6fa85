"""Tool definitions for models: names that services accept, and schemas that cost few tokens.

The definitions are part of every request of a turn. So the schemas of our own tools contain only what a model
needs: no titles, no lengths, and no tuning parameters. Tools still accept those: no schema excludes further
properties. MCP tools keep the schemas of their servers.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawperator.agent.ports import Tool

# Parameters for retries and gestures. Their defaults are right for a connected phone.
TUNING_PARAMETERS = frozenset(
    (
        "retry",
        "scrollRetry",
        "clickRetry",
        "settle",
        "settleDelayMs",
        "findFirstScrollableChild",
        "maxDurationMs",
        "noPositionChangeThreshold",
    )
)
_LONGEST_NAME = 64
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_DEPTH = 32
_NAME_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_KEYWORDS = ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "contains")
# Services reject these at the top of a schema: it must be a plain object.
_NOT_AT_TOP = ("allOf", "anyOf", "oneOf", "enum", "not", "$schema")


class ToolDefinition(Struct, frozen=True):
    """A tool as models see it."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def openai_form(self) -> dict[str, Any]:
        own = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": own}

    @property
    def anthropic_form(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}


def define_tool(name: str, tool: Tool) -> ToolDefinition:
    schema = tool.schema()
    own = schema if tool.family == "mcp" else _shortened(schema)
    return ToolDefinition(name, tool.responsibility, object_schema(own))


def wire_names(tools: Sequence[Tool]) -> dict[str, Tool]:
    """The tools by unique names of at most 64 letters, digits, _ and -. Valid names are unchanged."""
    names = {tool.name: tool for tool in reversed(tools) if wire_name(tool.name) == tool.name}
    for tool in tools:
        if wire_name(tool.name) == tool.name:
            continue
        name = wire_name(tool.name)
        if name in names or len(tool.name) > _LONGEST_NAME:
            # The checksum makes truncated names unique, and is the same in every turn.
            name = f"{name[: _LONGEST_NAME - 9]}_{zlib.crc32(tool.name.encode('utf-8', 'replace')):08x}"
        names.setdefault(name, tool)
    order = {id(tool): at for at, tool in enumerate(tools)}
    return dict(sorted(names.items(), key=lambda item: order[id(item[1])]))


def wire_name(name: str) -> str:
    return _INVALID_IN_NAME.sub("_", name)[:_LONGEST_NAME] or "_"


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with an object at its top, as services require.

    A reference is resolved. Alternatives are merged: the properties of each become optional ones.
    """
    top = dict(schema)
    target = _referred(top, top.get("$ref"))
    if target is not None:
        del top["$ref"]
        top = {**target, **top}
    branches = [branch for word in ("allOf", "anyOf", "oneOf") for branch in _list(top.get(word))]
    for word in _NOT_AT_TOP:
        top.pop(word, None)
    top = _without_titles(top)
    properties = _object(top.get("properties"))
    for branch in branches:
        found = _object(_referred(schema, _object(branch).get("$ref")) or branch)
        properties = {**_object(_without_titles(found).get("properties")), **properties}
    return {**top, "type": "object", "properties": properties}


def _referred(schema: Mapping[str, Any], reference: Any) -> dict[str, Any] | None:
    """Resolve a reference to one of the definitions of a schema."""
    if not isinstance(reference, str):
        return None
    for place in ("$defs", "definitions"):
        target = _object(schema.get(place)).get(reference.removeprefix(f"#/{place}/"))
        if isinstance(target, dict):
            return target
    return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _without_titles(schema: Any, depth: int = 0) -> Any:
    """The schema without titles. A parameter may itself be called title."""
    if isinstance(schema, list):
        return [_without_titles(below, depth) for below in schema]
    if not isinstance(schema, dict):
        return schema
    if depth > _MAX_DEPTH:
        return {}
    kept: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _NAME_KEYWORDS and isinstance(value, dict):
            kept[word] = {name: _without_titles(below, depth + 1) for name, below in value.items()}
        elif word in _SCHEMA_KEYWORDS:
            kept[word] = _without_titles(value, depth + 1)
        elif word != "title" or not isinstance(value, str):
            kept[word] = value
    return kept


def _shortened(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of ours without tuning parameters. Definitions that are used once are inlined."""
    top = {name: value for name, value in schema.items() if name != "$defs"}
    properties = {
        name: value
        for name, value in _object(top.get("properties")).items()
        if name not in TUNING_PARAMETERS or name in _list(top.get("required"))
    }
    short = _short({**top, "properties": properties})
    definitions = {name: _short(value) for name, value in _object(schema.get("$defs")).items()}
    uses = {name: _uses([short, *definitions.values()], name) for name in definitions}
    once = {name: value for name, value in definitions.items() if uses[name] == 1}
    often = {name: _resolved(value, once) for name, value in definitions.items() if uses[name] > 1}
    inlined: dict[str, Any] = _resolved(short, once)
    return {**inlined, "$defs": often} if often else inlined


def _short(value: Any) -> Any:
    """A schema without what only validators need."""
    if isinstance(value, list):
        return [_short(below) for below in value]
    if not isinstance(value, dict):
        return value
    kind = {"type": "string"} if "enum" in value and "type" not in value else {}  # some services require it
    return kind | {
        word: {name: _short(own) for name, own in below.items()} if word == "properties" else _short(below)
        for word, below in value.items()
        if word not in ("title", "maxLength", "minLength")
        and below not in ([], {})
        and (word, below) != ("additionalProperties", False)
    }


def _uses(value: Any, name: str) -> int:
    if isinstance(value, list):
        return sum(_uses(below, name) for below in value)
    if not isinstance(value, dict):
        return 0
    return (value.get("$ref") == f"#/$defs/{name}") + sum(_uses(below, name) for below in value.values())


def _resolved(value: Any, definitions: Mapping[str, Any]) -> Any:
    """Inline the definitions. The description at a reference comes first."""
    if isinstance(value, list):
        return [_resolved(below, definitions) for below in value]
    if not isinstance(value, dict):
        return value
    target = definitions.get(str(value.get("$ref", "")).removeprefix("#/$defs/"))
    if target is not None:
        descriptions = [text for text in (value.get("description"), target.get("description")) if text]
        value = {**target, **{word: below for word, below in value.items() if word != "$ref"}}
        value |= {"description": ". ".join(descriptions)} if descriptions else {}
    return {word: _resolved(below, definitions) for word, below in value.items()}
