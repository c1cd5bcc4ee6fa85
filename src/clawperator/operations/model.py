"""The row of an operation. Command line, tools, routes, schemas, policy names and reference pages derive from it.

An operation is a function with one Struct of parameters. Each field of the Struct carries its own description,
choices (a ``Literal``), default, limits, spelling on command lines and kind of path:

    class CompareParams(Params, frozen=True, kw_only=True):
        \"\"\"Compare a skill run, or another recording, with a baseline recording.\"\"\"

        baseline: Annotated[FilePath, about("export of the baseline recording", path="in")]
        mode: Annotated[CompareMode, about("comparison mode", rare=True)] = "auto"

    @operation("recording compare", "clawperator.recording.compare.compare:CompareReport", level="read-only")
    def compare(params: CompareParams, caller: Caller) -> CompareReport: ...

The device, the backend and other settings belong to the caller, not to the parameters. Creating the Structs of all
operations would slow down every command, so a command imports only the module of its own family.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import fields, replace

from clawperator.contract.commands import MODULES
from clawperator.contract.fields import LEVELS, Level, ParamField, about, default_of, fields_of
from clawperator.errors import ClawError

FilePath = Annotated[str, Meta(min_length=1, max_length=4_096)]
# The longest time of an operation on large files or a slow device, and of one that installs or runs programs.
LONG_SECONDS, HOUR_SECONDS = 600.0, 3_660.0


JunitFile = Annotated[
    FilePath | UnsetType, about("also write a JUnit XML report to this file", path="out", cli_only=True)
]
EvidenceFolder = Annotated[
    FilePath | UnsetType,
    about(
        "save the result, and the screen before and after, in a new subfolder of this folder",
        metavar="<folder>",
        path="out",
        raises="act",
        cli_only=True,
    ),
]


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Parameters of an operation. The docstring of each subclass is the summary of its operation."""


class NoParams(Params, frozen=True, kw_only=True):
    """No parameters. The row of the operation has its ``purpose``."""


class Rule(Struct, frozen=True):
    """A field that may be given only when another one has one of these values. ``UNSET`` means "not given"."""

    field: str
    needs: str
    values: tuple[Any, ...]


class Operation(Struct, frozen=True, kw_only=True):
    """One thing that the product can do.

    ``aliases`` are other full names of it. Its summary is its ``purpose``, or the docstring of its parameters.
    ``result`` names the type of its result, ``text`` the function that shows it to people, both as
    ``module:name``. ``subject`` is the field that policy rules match; deny and ask rules about the actions and
    operations that it ``performs`` hold for it, too. ``resolve`` looks up files and phones that the parameters
    leave open.
    ``ok`` and ``message`` read the result: whether the exit code is 0, and one line about it, by default its own;
    ``failure`` is the error inside it. ``evidence`` is the kind of evidence that a session keeps, and the path to
    its id in the result. An operation ``on_device`` uses the caller's device; one that ``runs_plans``, its backend
    too. ``route`` is its method and path, ``errors`` are typical codes, ``seconds`` its longest time. ``tool`` is
    the tool through which models use it; they do not get an operation without one. ``tool_alias`` is the name of
    its own tool where that is not the name of the operation. HTTP answers have the result as the member
    ``answer_as``, if it is given. ``synonyms`` are other words for the last word of its name. ``around`` names a
    function of the command line that runs the call, for fields that only command lines have. An operation without
    a result exists on command lines only: that function is all of it.
    """

    name: str
    params: type[Params]
    run: Callable[[Any, Any], Any]
    result: str
    level: Level
    aliases: tuple[str, ...] = ()
    is_alias: bool = False
    purpose: str = ""
    subject: str = ""
    performs: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    resolve: Callable[[Any, Any], Any] | None = None
    ok: Callable[[Any], bool] = lambda _: True
    message: Callable[[Any, Any], str] = lambda result, _: result.message
    failure: Callable[[Any, Any], ClawError | None] = lambda _, __: None
    text: str = ""
    evidence: tuple[str, str] | None = None
    on_device: bool = False
    runs_plans: bool = False
    route: str = ""
    errors: tuple[str, ...] = ()
    seconds: float = 60.0
    tool: str = ""
    tool_alias: str = ""
    answer_as: str = ""
    synonyms: tuple[str, ...] = ()
    around: str = ""
    examples: tuple[str, ...] = ()
    notes: str = ""

    @property
    def summary(self) -> str:
        return self.purpose or (self.params.__doc__ or "").partition("\n")[0]

    @property
    def tool_name(self) -> str:
        return self.tool_alias or self.name.replace(" ", "_").replace("-", "_")

    @property
    def is_cli_only(self) -> bool:
        return not self.result

    @property
    def module(self) -> str:
        return self.around.partition(":")[0] if self.is_cli_only else self.run.__module__

    @property
    def fields(self) -> tuple[ParamField, ...]:
        return fields_of(self.params)

    def level_of(self, params: Params) -> Level:
        """The level that a call with these parameters needs."""
        raised = (field.use.raises for field in given_fields(params))
        return max((self.level, *(level for level in raised if level)), key=LEVELS.index)


class Family(Struct, frozen=True):
    """Operations whose names begin with the same word. ``actions`` are the commands of actions before them."""

    summary: str
    synonyms: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


Function = TypeVar("Function", bound=Callable[[Any, Any], Any])
_operations: dict[str, Operation] = {}
FAMILIES: dict[str, Family] = {}  # of the modules that are imported


def operation(name: str, result: str = "", *, level: Level, **columns: Any) -> Callable[[Function], Function]:
    """Add the row of an operation: the decorator of its function, whose first parameter is its Struct.

    ``result`` is not needed where the function returns that type, and its module is imported. Without ``examples``
    the command alone is the example.
    """
    columns = {"examples": (f"clawperator {name}",), **columns}

    def add(function: Function) -> Function:
        shape, *_, returned = function.__annotations__.values()
        shown = result or f"{returned.__module__}:{returned.__name__}"
        row = Operation(name=name, result=shown, level=level, params=shape, run=function, **columns)
        _operations[name] = row
        for alias in row.aliases:  # a command of its own, but no route and no tool
            others = (name, *(other for other in row.aliases if other != alias))
            own = replace(row, name=alias, aliases=others, is_alias=True, tool_alias=row.tool_name)
            _operations[alias] = replace(own, route="", tool="")
        return function

    return add


def cli_operation(name: str, params: type[Params], around: str, *, level: Level, **columns: Any) -> Operation:
    """Add the row of an operation that exists on command lines only: it reads stdin, prints text, or serves."""
    row = Operation(
        name=name, params=params, run=lambda *_: None, result="", level=level, around=around, **columns
    )
    _operations[name] = row
    return row


def load_family(name: str) -> tuple[Operation, ...]:
    """The operations whose names begin with this word, in the order of their module."""
    # importlib would cost every command a quarter of a millisecond.
    __import__(MODULES[name])
    return tuple(row for row in _operations.values() if row.name.split()[0] == name)


def find_operation(name: str) -> Operation:
    """The operation with this full name; KeyError for another one."""
    load_family(name.split(maxsplit=1)[0])
    return _operations[name]


def all_operations() -> Iterator[Operation]:
    """Every operation. Imports every family."""
    for name, module in MODULES.items():
        if not module.endswith(".actions"):
            yield from load_family(name)


@cache
def shape_of(row: Operation) -> type[Struct]:
    """The parameters of an operation without the fields that only command lines have."""
    if not any(field.use.cli_only for field in row.fields):
        return row.params
    hidden = {field.attribute for field in row.fields if field.use.cli_only}
    kept = [own for own in copied_fields(row.params) if own[0] not in hidden]
    namespace = {"__doc__": row.params.__doc__}
    return msgspec.defstruct(row.params.__name__, kept, bases=(Params,), namespace=namespace, **_SHAPE)


_SHAPE: Any = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, "rename": "camel"}


def copied_fields(shape: type[Struct]) -> list[Any]:
    """The fields of a Struct, for ``msgspec.defstruct``."""
    return [(i.name, i.type) if i.required else (i.name, i.type, default_of(i)) for i in fields(shape)]


def document_of(result: Any) -> Any:
    """The document of a result. A large result, which is written in pieces, has it as ``narrative``."""
    return msgspec.to_builtins(getattr(result, "narrative", result))


def given_fields(params: Params) -> Iterator[ParamField]:
    """The fields that differ from their defaults."""
    return (field for field in fields_of(type(params)) if getattr(params, field.attribute) != field.default)
