"""Results as MCP clients get them: text, the screen as untrusted text, images, and structured content."""

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import msgspec

from clawperator.agent.compact.results import named_matches
from clawperator.agent.compact.tools import FinishedTool
from clawperator.errors import ClawError

# Marks content with text of apps, and holds the error of a failed call, in the metadata of a result.
UNTRUSTED = "clawperator/untrusted"
ERROR = "clawperator/error"
# The number of a step's data that the structured content has as a number.
_COUNT = "count"


def tool_result(tool: str, finished: FinishedTool, notes: tuple[str, ...] = ()) -> types.CallToolResult:
    """The result of a call. ``notes`` come first: what an earlier call left behind."""
    shown = finished.shown
    blocks: list[types.ContentBlock] = [types.TextContent(text="\n".join((*notes, shown.text)))]
    of_apps = [shown.found, shown.screen.text if shown.screen is not None else ""]
    blocks += [types.TextContent(text=text, _meta={UNTRUSTED: True}) for text in of_apps if text]
    blocks += [types.ImageContent(data=image.data, mime_type=image.media_type) for image in shown.images]
    if shown.is_error:
        return types.CallToolResult(content=blocks, is_error=True, _meta=_error_meta(finished.result.error))
    return types.CallToolResult(content=blocks, structured_content=structured(tool, finished))


def error_result(error: ClawError) -> types.CallToolResult:
    """The result of a call that could not be made."""
    lines = [f"Not done: {error.message}", f"code: {error.code}", *([error.hint] if error.hint else [])]
    return types.CallToolResult(
        content=[types.TextContent(text="\n".join(lines))], is_error=True, _meta=_error_meta(error)
    )


def _error_meta(error: ClawError | None) -> dict[str, Any] | None:
    return None if error is None else {ERROR: error.document()}


def structured(tool: str, finished: FinishedTool) -> dict[str, Any] | None:
    """The structured content of a tool that has an output schema; None for the others."""
    document = finished.result.result
    if tool == "devices":
        return dict(document) if isinstance(document, Mapping) else {"devices": []}
    if tool == "snapshot":
        return _screen(finished)
    return _found(document) if tool == "query" else None


def _screen(finished: FinishedTool) -> dict[str, Any]:
    screen = finished.result.screen
    if screen is None:
        return {"snapshotId": "", "outline": ""}
    kind = "screen" if screen.is_whole else "changes"
    return {"snapshotId": screen.id, "package": screen.package, "kind": kind, "outline": screen.text}


def _found(document: Any) -> dict[str, Any]:
    """What a query or a read found, from the data of its step."""
    try:
        data: dict[str, str] = document["envelope"]["stepResults"][0]["data"]
    except (KeyError, IndexError, TypeError):
        return {}
    found: dict[str, Any] = {name: data[name] for name in ("label", "value") if name in data}
    if "text" in data:
        found["text"] = msgspec.json.decode(data["text"]) if data.get("all") == "true" else data["text"]
    if "matches" in data:
        found["matches"] = msgspec.json.decode(named_matches(data).get("matches", data["matches"]))
    if _COUNT in data:
        found[_COUNT] = int(data[_COUNT])
    return found
