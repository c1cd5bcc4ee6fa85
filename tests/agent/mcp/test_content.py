"""Results of MCP tools as text."""

from typing import Any

import pytest

from clawperator.agent.mcp.content import headline, model_text


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


IMAGE = {"type": "image", "mimeType": "image/png", "data": "A" * 8_000}
NOTE = {"type": "resource", "resource": {"uri": "file:///n.txt", "mimeType": "text/plain", "text": "a note"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///n.gz", "mimeType": "application/gzip", "blob": "AAAA"}}
LINK = {"type": "resource_link", "name": "n", "uri": "file:///n.txt", "description": "the note"}


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ({"content": [text("first\nsecond")]}, "first"),
        ({"content": [text('{\n  "city": "Bern",\n  "degrees": 21.5\n}')]}, '{ "city": "Bern", "degrees": 21.5 }'),
        ({"content": [text("[\n  1\n]")]}, "[ 1 ]"),
        ({"content": [text("2 errors\n  city\n    is missing")], "isError": True}, "2 errors city is missing"),
        ({"content": [NOTE]}, "a note"),
        ({"content": [IMAGE]}, "look returned an image (image/png, 6 kB)"),
        ({"content": [BLOB]}, "look returned a resource (file:///n.gz, application/gzip, 1 kB)"),
        ({"content": [LINK]}, "look returned a link (n, file:///n.txt, the note)"),
        ({"content": [{"type": "hologram"}]}, "look returned content (hologram)"),
        ({"content": [], "structuredContent": {"n": 1}}, '{"n":1}'),
        ({"content": []}, "look returned no text"),
        ({"content": "none", "structuredContent": None}, "look returned no text"),
        ({"content": [5, {"type": "text"}, {"type": "resource", "resource": 5}]}, "look returned a resource"),
        ({"content": [text("\x1b[31mred")]}, "\\x1b[31mred"),
        ({"content": [text("x" * 400)]}, "x" * 300 + "…"),
    ],
)
def test_the_headline_of_a_result(result: dict[str, Any], line: str) -> None:
    assert headline("look", result) == line


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": [text("first\nsecond"), text("third")]}, "first\nsecond\nthird"),
        ({"content": [text('{\n  "n": 1\n}')], "structuredContent": {"n": 1}}, '{"n":1}'),
        ({"content": [text("hello")], "structuredContent": {"result": "hello"}}, "hello"),
        ({"content": [text("42")], "structuredContent": {"result": 42}}, "42"),
        ({"content": [text("a"), text("b")], "structuredContent": {"result": ["a", "b"]}}, "a\nb"),
        ({"content": [text("[\n 1\n]")], "structuredContent": {"numbers": [1]}}, "[1]"),
        ({"content": [text("It is warm.")], "structuredContent": {"degrees": 21}}, 'It is warm.\n{"degrees":21}'),
        ({"content": [text("See:"), IMAGE]}, "See:\n[an image (image/png, 6 kB)]"),
        (
            {"content": [NOTE, LINK]},
            "[a resource (file:///n.txt, text/plain)]\na note\n[a link (n, file:///n.txt, the note)]",
        ),
        ({"content": [text("{no json")]}, "{no json"),
        ({"content": []}, "(nothing)"),
        ({}, "(nothing)"),
    ],
)
def test_the_model_text_of_a_result(result: dict[str, Any], content: str) -> None:
    assert model_text(result) == content
