"""The tools as MCP clients get them: names, schemas and annotations of the compact tools."""

from typing import Any

import mcp_types as types
from msgspec.structs import asdict

from clawperator.agent.compact.tools import CompactTool

# Names the device of a call, when the server is not started for one device.
DEVICE = "device"
# Limits the time of a call.
CALL_TIMEOUT = "callTimeoutMs"
_STRING = {"type": "string"}
_ELEMENT = {"type": "object", "properties": {"ref": _STRING, "role": _STRING, "label": _STRING}}
# What the structured content of these tools contains.
OUTPUT_SCHEMAS: dict[str, dict[str, Any]] = {
    "snapshot": {
        "type": "object",
        "properties": {
            "snapshotId": _STRING,
            "package": {"type": ["string", "null"]},
            "kind": {"enum": ["screen", "changes"]},
            "outline": _STRING,
        },
        "required": ["snapshotId", "outline"],
    },
    "query": {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "matches": {"type": "array", "items": _ELEMENT},
            "text": {"type": ["string", "array"]},
            "label": _STRING,
            "value": _STRING,
        },
    },
    "devices": {
        "type": "object",
        "properties": {
            "devices": {
                "type": "array",
                "items": {"type": "object", "properties": {"serial": _STRING, "state": _STRING}},
            }
        },
        "required": ["devices"],
    },
}
_NOTES_OF = "snapshot"
_DEVICE_NOTE = "device: serial of the phone, for this and other tools; needed when there are several."
_TIMEOUT_NOTE = f"{CALL_TIMEOUT}: time limit of the call, for every tool."


def define(tool: CompactTool, *, choose_device: bool) -> types.Tool:
    """The definition of a compact tool. With ``choose_device`` a call may name its device."""
    schema = tool.schema()
    common: dict[str, Any] = {CALL_TIMEOUT: {"type": "integer"}}
    notes = [_TIMEOUT_NOTE]
    if choose_device and takes_device(tool.name):
        common[DEVICE] = _STRING
        notes.append(_DEVICE_NOTE)
    hints = asdict(tool.annotations)
    return types.Tool(
        name=tool.name,
        description="\n".join((tool.description, *(notes if tool.name == _NOTES_OF else ()))),
        input_schema={**schema, "properties": {**schema["properties"], **common}},
        output_schema=OUTPUT_SCHEMAS.get(tool.name),
        annotations=types.ToolAnnotations.model_validate(hints),
    )


def takes_device(name: str) -> bool:
    """Whether a call of the tool is about one device."""
    return name != "devices"
