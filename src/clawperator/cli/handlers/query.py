"""``query``: list the elements that match a selector, on a device or in a saved snapshot."""

from typing import TYPE_CHECKING, Any

from clawperator._base.text import read_number
from clawperator._base.typed import decode
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.handlers.execution import run_command
from clawperator.cli.handlers.selectors import element
from clawperator.cli.parsing import invalid
from clawperator.contract.execution import single_action, validate, with_timeout
from clawperator.contract.host_actions import QueryParams
from clawperator.contract.selectors import NodeSelector

if TYPE_CHECKING:
    from clawperator.ui.node import Hierarchy

_MAX_BYTES = 64 * 1024 * 1024


def query(call: Call) -> CommandResult:
    path = call.arguments.get("--file")
    if path is None:
        return run_command(call)
    if call.arguments.has("--evidence"):
        from clawperator.cli.evidence import refuse_without_run

        refuse_without_run(call.arguments, "--file")
    return _query_file(call, path)


def query_execution(call: Call) -> dict[str, Any]:
    return with_timeout(single_action("query", _params(call)), call.options.timeout_ms)


def _params(call: Call) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if (selector := element(call)) is not None:
        params["matcher"] = selector
    if (limit := call.arguments.get("--limit")) is not None:
        params["limit"] = read_number(limit)
    if call.arguments.has("--suggest"):
        params["suggest"] = True
    return params


def _query_file(call: Call, path: str) -> CommandResult:
    """Query a saved snapshot. Needs no device."""
    plan = validate(query_execution(call))
    params = plan.execution.actions[0].params
    assert isinstance(params, QueryParams)
    selector = params.matcher if isinstance(params.matcher, NodeSelector) else None
    if selector is not None and isinstance(selector.ref, str):
        raise invalid("--file cannot be queried for a reference", "Use --text or another selector flag.")
    from clawperator.ui.describe import describe_matches, query_nodes
    from clawperator.ui.outline import screen_frame

    screen = _read_snapshot(path)
    frame = screen_frame(screen)
    nodes = query_nodes(screen, selector, frame)
    matches = describe_matches(screen, nodes[: params.limit], frame, suggest=params.suggest)
    return CommandResult({"file": path, "count": len(nodes), "matches": matches})


def _read_snapshot(path: str) -> "Hierarchy":
    """The screen in a file: hierarchy XML, or the result of a command with a snapshot."""
    from clawperator._base.files import file_error, read_limited
    from clawperator.ui.parse import parse_hierarchy

    try:
        data = read_limited(path, _MAX_BYTES)
    except (OSError, ValueError) as e:
        hint = "Run 'clawperator snapshot > snapshot.json' to save a snapshot."
        raise file_error("FILESYSTEM_FAILED", "read", path, e, hint=hint) from e
    if data.lstrip().startswith(b"{"):
        return parse_hierarchy(_text_of_result(data, path))
    return parse_hierarchy(data)


def _text_of_result(data: bytes, path: str) -> str:
    """The XML of the last snapshot in a result document."""
    try:
        document = decode(data)
        steps = document["envelope"]["stepResults"]
        texts = [step["data"]["text"] for step in steps if step["data"].get("actual_format") == "hierarchy_xml"]
        return str(texts[-1])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise invalid(
            f"{path} has no snapshot as XML", "Run 'clawperator snapshot > snapshot.json' without --view."
        ) from None
