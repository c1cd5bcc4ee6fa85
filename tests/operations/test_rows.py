"""The rows of operations are complete, and everything is derived from them."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest

from clawperator.agent.model_tools import compact_tools
from clawperator.agent.tools.builtin import _action_tool, builtin_tools, operation_tools
from clawperator.cli.handlers import completion
from clawperator.cli.help import help_text
from clawperator.contract import commands as names
from clawperator.contract.action_params import REGISTERED
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import BACKEND, MODULES, leaves, resolve_handler
from clawperator.contract.fields import about
from clawperator.operations import commands, model
from clawperator.operations.model import Operation, Params, all_operations, copied_fields, find_operation
from clawperator.serve.http.executions import action_request
from clawperator.serve.http.openapi import describe_routes
from clawperator.serve.http.routes import ROUTES, operation_routes
from clawperator.serve.mcp.server import define
from tests.support.hanging import HANG_SECONDS
from tests.support.paths import REPOSITORY
from tests.support.running import clawperator
from tests.support.sources import PACKAGE

ROWS = tuple(all_operations())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_complete(row: Operation) -> None:
    names = {field.attribute for field in row.fields}
    assert row.summary.endswith(".")
    assert row.examples
    assert row.is_alias or all(f"clawperator {row.name}" in example for example in row.examples)
    assert [field.name for field in row.fields if not field.description or field.description.endswith(".")] == []
    assert not row.subject or row.subject in names
    assert {name for rule in row.rules for name in (rule.field, rule.needs)} <= names
    assert {field.use.beside[0] for field in row.fields if field.use.beside} <= names
    assert row.is_cli_only or isinstance(resolve_handler(row.result), type)
    assert not row.around or callable(resolve_handler(row.around))
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
        ("click --text x --validate-only", ["clawperator.operations.actions"]),
        ("exec {} --validate-only", ["clawperator.operations.actions"]),
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
    _forget_commands()
    yield
    _forget_commands()


def _forget_commands() -> None:
    for made in (names._load, names.all_commands, commands.subcommand, commands.subcommands):
        made.cache_clear()


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
    assert "colour" in define(grouped, choose_device=False).input_schema["properties"]
    assert "--colour" in reference_pages()._help()
    routes = operation_routes()
    body = describe_routes(routes)["paths"]["/recordings/compare"]["post"]["requestBody"]
    assert "colour" in body["content"]["application/json"]["schema"]["properties"]


def reference_pages() -> Any:
    spec = importlib.util.spec_from_file_location("docs_generate", REPOSITORY / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def one_param_more(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The action ``snapshot_ui`` with one more field in its Struct."""
    row = ACTIONS["snapshot_ui"]
    field: Any = ("colour", Annotated[str, about("colour of the outline")], "red")
    shape = msgspec.defstruct("SnapshotUiParams", [field], bases=(row.params,), frozen=True)
    monkeypatch.setitem(REGISTERED, row.name, msgspec.structs.replace(row, params=shape))
    _forget_commands()
    yield
    _forget_commands()


@pytest.mark.usefixtures("one_param_more")
def test_a_parameter_more_of_an_action_is_found_at_every_entry_point() -> None:
    assert "--colour <colour>" in help_text(["snapshot"])
    assert "colour of the outline (default: red)" in help_text(["snapshot"])
    _, candidates = completion.offered(["clawperator", "snapshot", "--col"])
    assert "--colour" in [name for name, _ in candidates]
    ran = clawperator("snapshot", "--colour", "blue", "--validate-only")
    assert ran.json["execution"]["actions"][0]["params"] == {"colour": "blue"}
    tool = _action_tool(ACTIONS["snapshot_ui"])
    assert tool.schema()["properties"]["colour"]["description"] == "colour of the outline"
    (grouped,) = compact_tools([tool])
    assert "colour" in define(grouped, choose_device=False).input_schema["properties"]
    request = action_request("SnapshotRequest", "snapshot_ui")
    assert "colour" in msgspec.json.schema(request)["$defs"]["SnapshotRequest"]["properties"]
    pages = reference_pages()
    assert "--colour" in pages._help()
    assert "colour of the outline" in pages._actions()


def test_the_choices_of_a_field_are_written_once() -> None:
    choices = '"auto", "literal", "semantic"'
    places = [path for path in PACKAGE.rglob("*.py") if choices in path.read_text("utf-8")]
    assert [path.name for path in places] == ["kinds.py"]


# What an entry point writes by hand, because it is special to it.
BY_HAND = {
    "cli.handlers.runs": "--junit and --evidence around a replay and a skill; live output of a skill",
    "cli.handlers.streams": "watch and logs print while they run",
    "cli.handlers.pairing": "the code is read from the terminal or stdin",
    "cli.handlers.servers": "sockets and stdio",
    "cli.handlers.completion": "scripts of shells",
    "cli.handlers.program": "config, schema and agents init read the command line itself; the exit code of doctor",
    "cli.help": "help",
    "serve.http.routes": "files of the page, browser sessions, events, schemas",
    "serve.http.executions": "whole executions, and their events",
    "serve.page": "the live screen, touches and recordings of the page",
    "agent.tools": "run_execution and describe_screen",
}


def test_what_is_written_by_hand_at_an_entry_point_is_listed() -> None:
    commands_by_hand = {row.around.partition(":")[0] for row in ROWS if row.around}
    works = [route.endpoint or route.work for route in ROUTES]
    derived = ("_run_operation", "run_action")
    routes_by_hand = {
        work.__module__ for work in works if getattr(getattr(work, "func", None), "__name__", "") not in derived
    }
    rows = {*ACTIONS, *(row.tool_name for row in ROWS)}
    tools_by_hand = {tool.source_hint for tool in builtin_tools() if tool.name not in rows}
    found = {name.removeprefix("clawperator.") for name in (*commands_by_hand, *routes_by_hand)}
    found |= {hint.removeprefix("clawperator/").removesuffix(".py").replace("/", ".") for hint in tools_by_hand}
    assert {next((place for place in BY_HAND if name.startswith(place)), name) for name in found} == set(BY_HAND)
    assert len(BY_HAND) <= 12
