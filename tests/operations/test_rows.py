"""The rows of operations are complete, and everything is derived from them."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest

from clawperator.agent.compact.tools import compact_tools
from clawperator.agent.tools.operations import operation_tools
from clawperator.cli.handlers import completion
from clawperator.cli.help import help_text
from clawperator.commands import registry
from clawperator.commands.model import BACKEND, resolve_handler
from clawperator.commands.registry import MODULES, leaves
from clawperator.operations import model
from clawperator.operations.model import Operation, Params, about, all_operations, copied_fields, find_operation
from clawperator.serve.http.openapi import describe_routes
from clawperator.serve.http.operations import operation_routes
from tests.support.hanging import HANG_SECONDS
from tests.support.sources import PACKAGE

ROWS = tuple(all_operations())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_complete(row: Operation) -> None:
    names = {field.attribute for field in row.fields}
    assert row.summary.endswith(".")
    assert row.examples or row.name.split()[0] in ("emulator", "provision")  # which need an Android SDK
    assert row.is_alias or all(example.startswith(f"clawperator {row.name}") for example in row.examples)
    assert [field.name for field in row.fields if not field.description or field.description.endswith(".")] == []
    assert not row.subject or row.subject in names
    assert {name for rule in row.rules for name in (rule.field, rule.needs)} <= names
    assert {field.use.beside[0] for field in row.fields if field.use.beside} <= names
    assert isinstance(resolve_handler(row.result), type)
    assert not row.text or callable(resolve_handler(row.text))


def test_no_flag_is_without_a_field() -> None:
    for name, command in leaves():
        if command.is_operation:
            row = find_operation(name)
            flags = [field.flag for field in row.fields if field.has_flag]
            assert [flag.name for flag in command.flags] == flags + [BACKEND.name] * row.runs_plans


@pytest.mark.parametrize(
    ("line", "families"),
    [
        ("click --text x --validate-only", []),
        ("exec {} --validate-only", []),
        ("recording parse", ["clawperator.operations.recordings"]),
    ],
)
def test_a_command_line_loads_only_its_own_family(line: str, families: list[str]) -> None:
    script = (
        "import sys; from clawperator.cli import dispatch; dispatch.run(sys.argv[1:]);"
        "print(*(name for name in sys.modules if name.startswith('clawperator.operations.')), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *line.split()],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_SECONDS,
    )
    loaded = ran.stderr.splitlines()[-1].split() if ran.stderr.strip() else []
    assert [name for name in loaded if name in MODULES.values()] == families


@pytest.fixture
def one_option_more(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``recording compare`` with one more field in its Struct."""
    row = find_operation("recording compare")
    field: Any = ("colour", Annotated[str, about("colour of the verdict")], "red")
    settings: Any = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, "rename": "camel"}
    shape = msgspec.defstruct("CompareParams", [*copied_fields(row.params), field], bases=(Params,), **settings)
    monkeypatch.setitem(model._operations, row.name, msgspec.structs.replace(row, params=shape))
    registry._load.cache_clear()
    registry.all_commands.cache_clear()
    yield
    registry._load.cache_clear()
    registry.all_commands.cache_clear()


@pytest.mark.usefixtures("one_option_more")
def test_an_option_more_in_a_row_is_found_at_every_entry_point() -> None:
    command = next(command for name, command in leaves() if name == "recording compare")
    assert "--colour" in [flag.name for flag in command.flags]
    assert "--colour <colour>" in help_text(["recording", "compare"])
    assert "colour of the verdict (default: red)" in help_text(["recording", "compare"])
    _, candidates = completion.offered(["clawperator", "recording", "compare", "--col"])
    assert "--colour" in [name for name, _ in candidates]
    tool = next(tool for tool in operation_tools() if tool.name == "recording_compare")
    assert tool.schema()["properties"]["colour"] == {
        "type": "string",
        "description": "colour of the verdict",
        "default": "red",
    }
    (grouped,) = compact_tools([tool])
    assert "colour" in grouped.schema()["properties"]
    routes = operation_routes()
    body = describe_routes(routes)["paths"]["/recordings/compare"]["post"]["requestBody"]
    assert "colour" in body["content"]["application/json"]["schema"]["properties"]


def test_the_choices_of_a_field_are_written_once() -> None:
    choices = '"auto", "literal", "semantic"'
    places = [path for path in PACKAGE.rglob("*.py") if choices in path.read_text("utf-8")]
    assert [path.name for path in places] == ["kinds.py"]
