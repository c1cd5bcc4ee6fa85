"""Write the generated parts of README.md and docs/, and the async phone, from what they describe.

The text between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` is generated, the rest of a page is written by
hand. ``make docs`` runs this; a test fails when a page is out of date.
"""  # noqa: INP001 - a script, not a package

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import clawperator
from clawperator import skill_api, testing
from clawperator._base.codes import HINTS
from clawperator.agent.envelope import KINDS
from clawperator.agent.model_tools import compact_tools, describe_call
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.cli.help import claw_help_text, help_text
from clawperator.contract.action_params import Retry
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS, PARAM_ALIASES, TOP_ALIASES
from clawperator.contract.commands import Command, all_commands, leaves
from clawperator.contract.execution import ExecutionShape
from clawperator.contract.selectors import MATCHER_ALIASES, NodeMatcher
from clawperator.errors import CODES, ClawError
from clawperator.operations.claw import claw_commands
from clawperator.operations.hints import python_hint, translate
from clawperator.phone.core.faults import FAULTS
from clawperator.recording.compare.checkpoints import REQUIRED
from clawperator.recording.compare.compare import MATCHES, SUMMARIES
from clawperator.recording.events import FACTS, own_fields
from clawperator.schemas import list_schemas

ROOT = Path(__file__).resolve().parent.parent
PHONE = ROOT / "src/clawperator/api/phone.py"
ASYNC_PHONE = PHONE.with_name("async_phone.py")
# Commands that need a connected device; a test runs each of them without one.
NEED_PHONE = frozenset(
    {"recording pull", "watch", "devices", "pair", "packages list", "operator setup", "grant-device-permissions"}
)

_PART = re.compile(r"(<!-- begin: ([a-z-]+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)
_REF = "#/$defs/{name}"
# What str(signature) adds to annotations: module prefixes, quoted forward references, reprs of typed dictionaries.
_PREFIX = re.compile(r"\b(?:clawperator|collections|typing)(?:\.[a-z_]+)*\.")
_FORWARD_REFERENCE = re.compile(r"'([A-Z]\w*(?: \| None)?)'")
_TYPED_DICT = re.compile(r"\*<class (\w+)>")

Schema = Mapping[str, Any]


def pages() -> list[Path]:
    """Every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


# The Python API.


def _api() -> str:
    """The public names of the package, its functions and classes first, then the errors."""
    names = [name for name in clawperator.__all__ if name != "__version__"]
    objects = {name: getattr(clawperator, name) for name in names}
    errors = {name: value for name, value in objects.items() if _is_error(value)}
    lines = ["## clawperator", ""]
    for name, value in objects.items():
        if name not in errors:
            lines += _entry(name, value)
    lines += ["## Errors", "", "| Class | Base | Raised when |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | `{value.__base__.__name__}` | {_summary(value)} |" for name, value in errors.items()]
    lines += ["", "`ClawError` has these members:", ""]
    lines += [f"- {line}" for line in _members(ClawError)]
    for module in (testing, skill_api):
        lines += ["", f"## {module.__name__}", "", _text(module), ""]
        for name in _public(module):
            lines += _entry(name, getattr(module, name))
    return "\n".join(lines)


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, ClawError)


def _public(module: ModuleType) -> list[str]:
    return [name for name in module.__all__ if not name.startswith("_")]


def _entry(name: str, value: Any) -> list[str]:
    lines = [f"### {name}", ""]
    if isinstance(value, type):
        lines += [_text(value), ""]
        if issubclass(value, msgspec.Struct) and value.__struct_fields__:
            lines += [
                "Fields: " + _codes(field for field in value.__struct_fields__ if not field.startswith("_")) + ".",
                "",
            ]
        members = [] if value is clawperator.AsyncConnectedPhone else list(_members(value))
        return [*lines, *(f"- {line}" for line in members), *([""] if members else [])]
    if callable(value):
        return [*lines, f"`{name}{_signature(value)}`", "", _text(value), ""]
    return [*lines, f"`{value!r}`", ""]


def _members(owner: type) -> Iterator[str]:
    """Public methods and properties of a class, in their order, without those of a documented base."""
    documented = [getattr(module, name) for module in (clawperator, testing) for name in _public(module)]
    for name, value in _own_and_inherited(owner, documented).items():
        if isinstance(value, property):
            yield f"`{name}`" + _after(_summary(value.fget))
        elif inspect.isfunction(value) or isinstance(value, classmethod | staticmethod):
            function = value if inspect.isfunction(value) else value.__func__
            yield f"`{name}{_signature(function, bound=not isinstance(value, staticmethod))}`" + _after(
                _summary(function)
            )


def _own_and_inherited(owner: type, without: Iterable[object]) -> dict[str, Any]:
    """The public members of a class and of its bases in this package, except those of the classes ``without``."""
    above = [base for base in owner.__mro__[1:] if base in without]
    known = {base for other in above for base in other.__mro__}
    bases = [base for base in (*owner.__mro__[1:], owner) if base not in known]
    ours = [base for base in bases if base.__module__.startswith("clawperator.")]
    names = dict.fromkeys(name for base in ours for name in vars(base) if not name.startswith("_"))
    return {name: inspect.getattr_static(owner, name) for name in names}


def _after(summary: str) -> str:
    return f": {summary}" if summary else ""


def _signature(function: Any, *, bound: bool = False) -> str:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    text = _FORWARD_REFERENCE.sub(r"\1", _PREFIX.sub("", str(signature.replace(parameters=parameters))))
    return _TYPED_DICT.sub(r"Unpack[\1]", text)


def _text(value: Any) -> str:
    return (inspect.getdoc(value) or "").replace("``", "`")


def _summary(value: Any) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(_text(value).split("\n\n", 1)[0].split())


def rewrite(text: str) -> str:
    """The page with its generated parts rewritten."""
    return _PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]().strip()}\n{part[3]}", text)


# The async phone.

_ASYNC_HEAD = '''"""The Python API for asyncio: each method runs in a thread. ``make docs`` writes this file.

Cancelling a call stops waiting for it, not the action: its thread holds the device's lease until the device has
answered, so that nothing else runs in between.
"""

from asyncio import to_thread
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from clawperator.api.phone import AsyncRecording, ConnectedPhone, connect
from clawperator.contract.commands import BackendName

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(
    method: Callable[Concatenate[ConnectedPhone, P], R],
) -> Callable[Concatenate["AsyncConnectedPhone", P], Coroutine[Any, Any, R]]:
    """An awaitable version of a method of ``ConnectedPhone``."""

    @wraps(method)
    async def call(self: "AsyncConnectedPhone", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await to_thread(method, self.phone, *args, **kwargs)

    return call


class AsyncConnectedPhone:
    """A ``ConnectedPhone`` with awaitable methods: same names, keywords and results. ``phone`` is the original."""

    def __init__(self, phone: ConnectedPhone) -> None:
        self.phone = phone

    @property
    def serial(self) -> str:
        """The name of the device, as adb lists it."""
        return self.phone.serial

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between calls, so nothing is closed."""

    def recording(self, session_id: str | None = None) -> AsyncRecording:
        """Record while an ``async with`` block runs."""
        return AsyncRecording(self.phone.recording(session_id))

'''
_ASYNC_TAIL = '''

async def connect_async(
    serial: str | None = None,
    *,
    operator_package: str | None = None,
    backend: BackendName | None = None,
    allow_schemes: Sequence[str] = (),
) -> AsyncConnectedPhone:
    """Like ``connect``, with methods to await."""
    phone = await to_thread(
        connect, serial, operator_package=operator_package, backend=backend, allow_schemes=allow_schemes
    )
    return AsyncConnectedPhone(phone)
'''


def async_phone() -> str:
    """``api/async_phone.py``: ``connect_async``, and an awaitable twin of each public method of a phone."""
    tree = ast.parse(PHONE.read_text("utf-8"))
    classes = {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}
    members = [*classes["AndroidPhone"], *classes["ConnectedPhone"]]
    names = [node.name for node in members if isinstance(node, ast.FunctionDef)]
    names += [str(ast.unparse(node.targets[0])) for node in members if isinstance(node, ast.Assign)]
    methods = [name for name in dict.fromkeys(names) if name[0] != "_" and name not in ("recording", "serial")]
    lines = [f"    {name} = _in_thread(ConnectedPhone.{name})\n" for name in methods]
    return "".join((_ASYNC_HEAD, *lines, _ASYNC_TAIL))


def main() -> int:
    for page in (ASYNC_PHONE, *pages()):
        old = page.read_text(encoding="utf-8")
        new = async_phone() if page == ASYNC_PHONE else rewrite(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"rewrote {page.relative_to(ROOT)}\n")
    return 0


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: object) -> str:
    return f"`{text}`"


def _codes(texts: Iterable[object]) -> str:
    return ", ".join(map(_code, texts))


# Commands.


def _commands() -> str:
    return _table(
        ("Command", "What it does", "Without a device"),
        ((_code(name), command.summary, _without_phone(name, command)) for name, command in leaves()),
    )


def _without_phone(name: str, command: Command) -> str:
    if name in NEED_PHONE:
        return "needs a device"
    if name.startswith(("emulator ", "provision ")) and name not in ("emulator list", "emulator inspect"):
        return "needs the Android SDK"
    if name.startswith("skills "):
        return "depends on the skill" if name == "skills run" else "works"
    return "`--dry-run` only" if any(flag.name == "--dry-run" for flag in command.flags) else "works"


def _help() -> str:
    parts = [f"### clawperator\n\n```text\n{help_text([])}\n```"]
    for command in all_commands():
        parts += [f"### {' '.join(words)}\n\n```text\n{help_text(words)}\n```" for words in _names(command)]
    return "\n\n".join(parts)


def _names(command: Command) -> Iterator[list[str]]:
    yield [command.name]
    for below in command.subcommands:
        yield [command.name, below.name]


def _templates() -> str:
    return _table(
        ("Action", "Command", "`commandId`", "`taskId`", "`source`", "`timeoutMs`", "action id", "`mode`"),
        (
            (
                _code(name),
                _codes(full_name for full_name, command in leaves() if name in command.tools),
                _code(f"{t.prefix}<ms>-<random>" if t.prefix.endswith("-") else f"{t.prefix}_<ms>"),
                _code(t.task_id) if t.task_id else "the `commandId`",
                _code(t.source),
                str(t.timeout_ms),
                _code(t.action_id),
                _code(t.mode) if t.mode else "",
            )
            for name, t in ((name, row.template) for name, row in ACTIONS.items())
        ),
    )


def _claw_help() -> str:
    parts = [f"### claw\n\n```text\n{claw_help_text(None)}\n```"]
    parts += [f"### {command.name}\n\n```text\n{claw_help_text(command)}\n```" for command in claw_commands()]
    return "\n\n".join(parts)


def _claw_kinds() -> str:
    kinds = dict.fromkeys(KINDS.values())
    return _table(
        ("Kind", "Class", "Code"),
        (
            (_code(kind), _code(CODES[codes[0]].kind), _codes(codes))
            for kind in kinds
            for codes in [[code for code, other in KINDS.items() if other == kind]]
        ),
    )


# Executions.


def _struct_table(shape: type[msgspec.Struct]) -> str:
    """One row per field: type, limits, default, and what its description says."""
    _, defs = msgspec.json.schema_components([shape], ref_template=_REF)
    schema = defs[shape.__name__]
    required = schema.get("required", ())
    rows = []
    for name, field in schema["properties"].items():
        default = "required" if name in required else _default(field)
        rows.append((_code(name), _type(field), default, field.get("description", "")))
    shown = 4 if any(row[3] for row in rows) else 3
    return _table(("Name", "Type and limits", "Default", "Meaning")[:shown], (row[:shown] for row in rows))


def _type(field: Schema) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2].removesuffix("Shape")
    if "enum" in field:
        return _codes(field["enum"])
    if "anyOf" in field:
        return ", ".join(_type(one) for one in field["anyOf"])
    name = str(field["type"])
    if name == "array":
        name = f"array of {_type(field['items'])}"
    return name + _limits(field)


def _limits(field: Schema) -> str:
    low = field.get("minimum", field.get("minLength", field.get("minItems")))
    high = field.get("maximum", field.get("maxLength", field.get("maxItems")))
    unit = " characters" if "maxLength" in field or "minLength" in field else ""
    if "exclusiveMinimum" in field:
        return f", above {field['exclusiveMinimum']}, at most {high}"
    if low is not None and high is not None:
        return f", {low} to {high}{unit}"
    if high is not None:
        return f", at most {high}{unit}"
    return "" if low is None else f", at least {low}{unit}"


def _default(field: Schema) -> str:
    if "default" not in field:
        return ""
    default = field["default"]
    if isinstance(default, dict):
        return _describe_retry(default)
    return _code(msgspec.json.encode(default).decode())


def _describe_retry(retry: Schema) -> str:
    attempts = retry["maxAttempts"]
    if attempts == 1:
        return "1 attempt"
    return f"{attempts} attempts, {retry['initialDelayMs']} to {retry['maxDelayMs']} ms apart"


def _actions() -> str:
    parts = []
    for name, row in ACTIONS.items():
        also = f" Aliases: {_codes(row.aliases)}." if row.aliases else ""
        parts.append(f"### {name}\n\n{row.summary}{also}\n\n{_struct_table(row.params)}")
    return "\n\n".join(parts)


def _aliases() -> str:
    tables: tuple[tuple[str, Mapping[str, str]], ...] = (
        ("top level", TOP_ALIASES),
        ("action `type`", ACTION_ALIASES),
        ("`params`", PARAM_ALIASES),
        ("a selector", MATCHER_ALIASES),
    )
    rows = []
    for where, aliases in tables:
        for canonical in dict.fromkeys(aliases.values()):
            also = [alias for alias, name in aliases.items() if name == canonical]
            rows.append((where, _code(canonical), _codes(also)))
    return _table(("Where", "Canonical", "Aliases"), rows)


# Recordings.


def _events() -> str:
    return _table(
        ("Type", "Its own fields"),
        ((_code(facts.kind), _codes(own_fields(facts))) for facts in FACTS),
    )


def _outcomes() -> str:
    return _table(
        ("Outcome", "Exit code", "Meaning"),
        ((_code(name), "0" if name in MATCHES else "1", text) for name, text in SUMMARIES.items()),
    )


# Errors and schemas.


def _model_tools() -> str:
    """The tools for models, with the actions that they stand for."""
    return _table(
        ("Tool", "Actions", "Level"),
        (
            (_code(made.name), _codes(member.name for member in made.members), made.level)
            for made in compact_tools(builtin_tools())
        ),
    )


def _errors() -> str:
    return _table(
        ("Code", "Kind", "Retryable", "Meaning"),
        ((_code(n), code.kind, "yes" if code.retryable else "no", code.meaning) for n, code in CODES.items()),
    )


def _hint() -> str:
    """One hint as each entry point writes it."""
    from clawperator.serve.http.errors import describe_request

    hint = HINTS["NAVIGATION_TIMEOUT"]
    rows = (
        ("command line", hint),
        ("MCP, models", translate(hint, describe_call)),
        ("HTTP", translate(hint, describe_request)),
        ("Python", python_hint(hint)),
    )
    return _table(("Where", "Hint"), rows)


def _schemas() -> str:
    return _table(("Name", "Of what"), ((_code(s["name"]), s["description"]) for s in list_schemas()))


def _faults() -> str:
    words = {
        "flag": "on or off",
        "chance": "a chance from 0 to 1",
        "milliseconds": "milliseconds",
        "quarter_turns": "quarter turns",
    }
    return _table(
        ("Fault", "Setting", "`on` means", "What happens"),
        ((_code(f.name), words[f.kind], f"{f.on:g}", f.description) for f in FAULTS.values()),
    )


def _routes() -> str:
    """Every route of the HTTP server with its fields; those in brackets are optional."""
    from clawperator.serve.http.routes import ROUTES

    lines = ["| Route | Fields | What it does |", "| --- | --- | --- |"]
    for route in ROUTES:
        fields = [
            f"`{field.encode_name}`" if field.required else f"[`{field.encode_name}`]"
            for field in msgspec.structs.fields(route.request)
            if field.encode_name not in route.path_fields
        ]
        lines.append(f"| `{route.method} {route.path}` | {', '.join(fields)} | {route.summary} |")
    return "\n".join(lines)


def _android() -> str:
    """What real phones answer, as far as tests know it: the rows of the table, file by file."""
    lines = []
    for file in sorted((ROOT / "tests/fixtures/real_phones").glob("*.toml")):
        text = file.read_text("utf-8")
        lines += [f"### {text.partition(chr(10))[0].removeprefix('# ')}", ""]
        cells = [
            (_version(row), row["vendor"], _code(row["command"]), row["behaviour"], row["source"])
            for row in tomllib.loads(text)["row"]
        ]
        lines += [_table(("Android", "Phone", "Command", "Behaviour", "Source"), cells), ""]
    return "\n".join(lines)


def _version(row: Mapping[str, Any]) -> str:
    return f"{row['android']}?" if row.get("inferred") else str(row["android"])


PARTS: Mapping[str, Callable[[], str]] = {
    "routes": _routes,
    "commands": _commands,
    "help": _help,
    "claw-help": _claw_help,
    "claw-kinds": _claw_kinds,
    "model-tools": _model_tools,
    "templates": _templates,
    "execution": lambda: _struct_table(ExecutionShape),
    "matcher": lambda: _struct_table(NodeMatcher),
    "retry": lambda: _struct_table(Retry),
    "actions": _actions,
    "aliases": _aliases,
    "events": _events,
    "checkpoints": lambda: "\n".join(f"{i}. `{name}`" for i, name in enumerate(REQUIRED, 1)),
    "outcomes": _outcomes,
    "errors": _errors,
    "hint": _hint,
    "schemas": _schemas,
    "faults": _faults,
    "api": _api,
    "android": _android,
}

if __name__ == "__main__":
    sys.exit(main())
