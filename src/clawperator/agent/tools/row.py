"""Build tools from a Struct, which gives schema and validation of the parameters, and a function."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from clawperator._base.typed import convert
from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.commands.model import Level
from clawperator.errors import ClawError

P = TypeVar("P", bound=Struct)
ToolFunction = Callable[[Mapping[str, Any], ToolContext], ToolResult]


class NoParams(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a tool without any."""


def make_tool(  # noqa: PLR0913 - the columns of one row
    name: str,
    responsibility: str,
    shape: type[P],
    work: Callable[[P, ToolContext], ToolResult],
    *,
    level: Level,
    module: str,
    family: str,
    model_tool: str = "",
) -> Tool:
    """A tool whose parameters are a ``shape``."""
    return Tool(
        name=name,
        responsibility=responsibility,
        source_hint=source_of(module),
        level=level,
        schema=lambda: schema_of(shape),
        run=returning_errors(lambda params, context: work(read_params(shape, params, name), context)),
        family=family,
        model_tool=model_tool,
    )


def source_of(module: str) -> str:
    """The source file of a module."""
    return module.replace(".", "/") + ".py"


def schema_of(shape: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a Struct with an object at the top, as model APIs require."""
    schema: dict[str, Any] = msgspec.json.decode(_encoded_schema(shape))
    return schema


@cache
def _encoded_schema(shape: type[Struct]) -> bytes:
    """Kept encoded: building it is slow, and each caller gets a document of its own."""
    _, defs = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    top = defs.pop(shape.__name__)
    return msgspec.json.encode({**top, "$defs": defs} if defs else top)


def returning_errors(run: ToolFunction) -> ToolFunction:
    """The same function, but with a raised ``ClawError`` as its result."""

    def answer(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        try:
            return run(params, context)
        except ClawError as e:
            return failed_result(e)

    return answer


def failed_result(error: ClawError, **more: Any) -> ToolResult:
    return ToolResult(handled=False, message=error.message, error=error, **more)


def require_object(params: object, tool: str) -> dict[str, Any]:
    """The parameters, if they are a JSON object; ``TOOL_PAYLOAD_INVALID`` otherwise."""
    if not isinstance(params, Mapping):
        raise payload_error(tool, "the parameters must be a JSON object")
    try:
        msgspec.json.encode(params)
    except (TypeError, ValueError, OverflowError) as e:
        raise payload_error(tool, f"the parameters are not JSON: {type(e).__name__}") from None
    except RecursionError:
        raise payload_error(tool, "the parameters are nested too deeply") from None
    return dict(params)


def read_params(shape: type[P], params: object, tool: str) -> P:
    """The typed parameters. ``TOOL_PAYLOAD_INVALID`` lists every issue."""
    given = require_object(params, tool)
    try:
        return convert(given, shape)
    except (msgspec.ValidationError, RecursionError):
        from clawperator.contract.issues import struct_issues

        issues = struct_issues(shape, given, "")
        found = [{"path": issue.path, "message": issue.message} for issue in issues]
        first = issues[0] if issues else None
        message = f"{first.path}: {first.message}".removeprefix(": ") if first else "invalid parameters"
        raise payload_error(tool, message, {"issues": found}) from None


def payload_error(tool: str, message: str, details: Mapping[str, Any] | None = None) -> ClawError:
    return ClawError(
        "TOOL_PAYLOAD_INVALID",
        message,
        hint=f"Run 'claw show-tool {tool} --output-format json' for its parameters.",
        details=details,
        operation="validate",
        target=tool,
    )
