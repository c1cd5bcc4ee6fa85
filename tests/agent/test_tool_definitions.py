"""Tool definitions for models."""

from typing import Any

import msgspec
import pytest

from clawperator.agent.model_tools import define_tool
from tests.agent.models.model_server import tool

TEXT = {"type": "string"}


def foreign(schema: dict[str, Any]) -> dict[str, Any]:
    return define_tool("t", msgspec.structs.replace(tool("t", schema), family="mcp")).parameters


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_a_referenced_schema_is_resolved(place: str) -> None:
    schema = {"$ref": f"#/{place}/P", place: {"P": {"type": "object", "properties": {"a": TEXT}}}}
    assert foreign(schema) == {"type": "object", "properties": {"a": TEXT}, place: schema[place]}


def test_titles_and_schema_keywords_are_removed() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "tArguments",
        "type": "object",
        "properties": {"title": {"title": "Title", "type": "string"}, "many": {"items": {"title": "x", **TEXT}}},
        "required": ["title"],
        "additionalProperties": False,
    }
    assert foreign(schema) == {
        "type": "object",
        "properties": {"title": TEXT, "many": {"items": TEXT}},
        "required": ["title"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf"])
def test_alternatives_at_the_top_are_merged_into_one_object(word: str) -> None:
    branches = [{"properties": {"a": TEXT}, "required": ["a"]}, {"$ref": "#/$defs/B"}, "no schema"]
    schema = {word: branches, "$defs": {"B": {"properties": {"b": TEXT}}}}
    parameters = foreign(schema)
    assert parameters["properties"] == {"a": TEXT, "b": TEXT}
    assert word not in parameters


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"properties": None}, {"$ref": 5}, {"$ref": "#/$defs/none"}, {"anyOf": {}}]
)
def test_an_invalid_schema_becomes_an_open_object(schema: dict[str, Any]) -> None:
    parameters = foreign(schema)
    assert (parameters["type"], parameters["properties"]) == ("object", {})


def test_an_endlessly_nested_schema_is_truncated() -> None:
    schema: dict[str, Any] = {}
    for _ in range(400):
        schema = {"type": "array", "items": schema}
    depth, below = 0, foreign({"type": "object", "properties": {"a": schema}})["properties"]["a"]
    while below:
        depth, below = depth + 1, below.get("items")
    assert depth < 50
