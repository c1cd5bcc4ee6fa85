"""The tools that models get: about fourteen, each of which stands for several of the agent's tools.

The definitions are part of every request of a turn, so they are short. Names of actions, summaries, parameters and
levels come from the rows of the tools; ``model_tool`` of a row names the tool here. A call is translated to a call
of the agent's tool, which the policy checks, the session records, and the registry runs.

Selectors are left out of the schemas: every element is named by ``ref``, by its ``label``, or by a ``selector``,
whose fields are listed once, in the description of ``query``.
"""

import os
import re
import struct
import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from clawperator._base.files import open_regular
from clawperator._base.text import nearest, printable
from clawperator._base.typed import compact_json
from clawperator.agent.ports import (
    ScreenView,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    failed_result,
    invalid_call,
    unknown_tool,
)
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import call_text, tool_name
from clawperator.contract.action_params import changes_device, is_snapshot
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS, PARAM_ALIASES
from clawperator.contract.fields import LEVELS, Level, fields_of
from clawperator.contract.selectors import REFERENCE, NodeSelector
from clawperator.errors import ClawError
from clawperator.operations.hints import Next, ask_user, find_calls, translate

# Definitions: names and schemas that services accept

_LONGEST_NAME = 64
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_DEPTH = 32
_NAME_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_KEYWORDS = ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "contains")
# Services reject these at the top of a schema: it must be a plain object.
_NOT_AT_TOP = ("allOf", "anyOf", "oneOf", "enum", "not", "$schema")


class ToolDefinition(Struct, frozen=True):
    """A tool as models see it."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def openai_form(self) -> dict[str, Any]:
        return {"type": "function", "function": asdict(self)}

    @property
    def anthropic_form(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}


def define_tool(name: str, tool: Tool) -> ToolDefinition:
    return ToolDefinition(name, tool.responsibility, object_schema(tool.schema()))


def wire_names(tools: Sequence[Tool]) -> dict[str, Tool]:
    """The tools by unique names of at most 64 letters, digits, _ and -. Valid names are unchanged."""
    names = {tool.name: tool for tool in reversed(tools) if wire_name(tool.name) == tool.name}
    for tool in tools:
        if wire_name(tool.name) == tool.name:
            continue
        name = wire_name(tool.name)
        if name in names or len(tool.name) > _LONGEST_NAME:
            # The checksum makes truncated names unique, and is the same in every turn.
            name = f"{name[: _LONGEST_NAME - 9]}_{zlib.crc32(tool.name.encode('utf-8', 'replace')):08x}"
        names.setdefault(name, tool)
    order = {id(tool): at for at, tool in enumerate(tools)}
    return dict(sorted(names.items(), key=lambda item: order[id(item[1])]))


def wire_name(name: str) -> str:
    return _INVALID_IN_NAME.sub("_", name)[:_LONGEST_NAME] or "_"


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with an object at its top, as services require.

    A reference is resolved. Alternatives are merged: the properties of each become optional ones.
    """
    top = dict(schema)
    target = _referred(top, top.get("$ref"))
    if target is not None:
        del top["$ref"]
        top = {**target, **top}
    branches = [branch for word in ("allOf", "anyOf", "oneOf") for branch in _list(top.get(word))]
    for word in _NOT_AT_TOP:
        top.pop(word, None)
    top = _without_titles(top)
    properties = _object(top.get("properties"))
    for branch in branches:
        found = _object(_referred(schema, _object(branch).get("$ref")) or branch)
        properties = {**_object(_without_titles(found).get("properties")), **properties}
    return {**top, "type": "object", "properties": properties}


def _referred(schema: Mapping[str, Any], reference: Any) -> dict[str, Any] | None:
    """Resolve a reference to one of the definitions of a schema."""
    if not isinstance(reference, str):
        return None
    for place in ("$defs", "definitions"):
        target = _object(schema.get(place)).get(reference.removeprefix(f"#/{place}/"))
        if isinstance(target, dict):
            return target
    return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _without_titles(schema: Any, depth: int = 0) -> Any:
    """The schema without titles. A parameter may itself be called title."""
    if isinstance(schema, list):
        return [_without_titles(below, depth) for below in schema]
    if not isinstance(schema, dict):
        return schema
    if depth > _MAX_DEPTH:
        return {}
    kept: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _NAME_KEYWORDS and isinstance(value, dict):
            kept[word] = {name: _without_titles(below, depth + 1) for name, below in value.items()}
        elif word in _SCHEMA_KEYWORDS:
            kept[word] = _without_titles(value, depth + 1)
        elif word != "title" or not isinstance(value, str):
            kept[word] = value
    return kept


# Results

LONGEST_RESULT = 20_000
# Fields of a step that say what it found or changed.
_FOUND = ("text", "value", "label", "matches", "path", "effect", "screen_message", "message", "error", "nearest")
_LISTED = ("matches", "candidates", "nearest")
# The selector in the parameters of an action, where a call has ``ref``, ``label`` or ``selector``.
_TARGET = re.compile(r"\b(?:matcher|labelMatcher|expectedNode)\b(?:\.(ref)\b)?")
# Commands that describe the tools, which a model knows.
_INSPECTING = ("claw ", "clawperator schema")
_DATA, _DATA_END = "<data>", "</data>"
_FOUND_BLOCK, _FOUND_END = "<found untrusted>", "</found>"
_LONGEST_FIELD = 2_000
# Ids, and the trees that a replay keeps for its report.
_LEFT_OUT = ("deviceId", "commandId", "terminalSource", "isCanonicalTerminal", "observedScreen", "recordedScreen")
REPLACED = "[screen replaced by a later one]"
MOST_IMAGE_BYTES = 3_500_000  # services accept 5 MB in base64
_LONGEST_EDGE = 1_568  # services scale larger images down themselves, after charging for the upload
_MOST_IMAGES = 4
_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PNG = b"\x89PNG\r\n\x1a\n"


class ResultImage(Struct, frozen=True):
    """An image of a result: its media type, its data in base64, and a note about it."""

    media_type: str
    data: str
    note: str = ""


class CompactResult(Struct, frozen=True):
    """The result of a call for a model: its text, what it found in apps, the screen after it, and its images.

    ``found`` is a block that marks its text as data, or empty.
    """

    text: str
    is_error: bool = False
    found: str = ""
    screen: ScreenView | None = None
    images: tuple[ResultImage, ...] = ()


class ResultRenderer:
    """Renders results for one conversation: it remembers the screen that was shown last."""

    def __init__(self, *, with_images: bool = False) -> None:
        self.last_screen = ""  # the id of its snapshot
        self._with_images = with_images

    def render(self, call: ToolCall, result: ToolResult, *, is_mcp: bool = False) -> CompactResult:
        """The result of a call. Results of MCP tools are marked as data."""
        images = result_images(result) if self._with_images else ()
        notes = [f"[{image.note}]" for image in images if image.note]
        own = mcp_text(result) if is_mcp else result_text(result)
        text = "\n".join([own, *notes])
        found = "" if is_mcp else found_text(call, result)
        if result.screen is not None:
            self.last_screen = result.screen.id
        return CompactResult(text, not result.handled, found, result.screen, images)


def mcp_text(result: ToolResult) -> str:
    """The result of an MCP tool, in a block that marks it as data. Its document contains message and error."""
    if not isinstance(result.result, dict):
        return result_text(result)
    from clawperator.agent.mcp.tools import model_text

    text = _block(_DATA, limited(model_text(result.result)), _DATA_END)
    return f"{'' if result.handled else 'Not done: '}{text}"


def _block(begin: str, text: str, end: str) -> str:
    """The text in a block that it cannot end."""
    return "\n".join((begin, text.replace(end, end.replace("/", "\\/")), end))


def result_text(result: ToolResult) -> str:
    """The result of a call of the agent's own tools, without what it found in apps."""
    lines = [result.message]
    if not result.handled:
        lines = [f"Not done: {result.message}"]
        if result.error is not None:
            # The hint quotes labels of the app, which are in the block of what was found.
            is_quoted = any("nearest" in step.get("data", {}) for step in _step_results(result.result))
            hint = "" if is_quoted else shown_hint(result.error)
            lines += [f"code: {result.error.code}", *([hint] if hint else [])]
            if result.error.code == "EXECUTION_VALIDATION_FAILED":
                lines = [_TARGET.sub(lambda found: found[1] or "selector", line) for line in lines]
    document = result.result
    if isinstance(document, Mapping):
        has_steps = "envelope" in document or "stepResults" in document
        own = {name: value for name, value in document.items() if name not in _LEFT_OUT}
        document = None if has_steps else own
    if document is not None and result.handled:
        lines.append(compact_json(document))
    return limited("\n".join(lines))


def shown_hint(error: ClawError) -> str:
    """The hint of an error. A model gets none about commands that describe the agent and its tools."""
    if any(call.line.startswith(_INSPECTING) for call in find_calls(error.hint)):
        return ""
    return translate(error.hint, describe_call)


def found_text(call: ToolCall, result: ToolResult) -> str:
    """What the steps of a call found, and the elements most like one that was not found, as a marked block."""
    lines = _steps(result.result) if call.name == "run_execution" else _found(result.result)
    return _block(_FOUND_BLOCK, limited("\n".join(lines)), _FOUND_END) if lines else ""


def _steps(document: Any) -> list[str]:
    """One line for each step of a plan."""
    lines = []
    for step in _step_results(document):
        data = step.get("data", {})
        facts = {name: _short(data[name]) for name in _FOUND if data.get(name)}
        if "snapshot_id" in data:
            facts.pop("text", None)
        done = "done" if step.get("success") else "failed"
        found = compact_json(facts) if facts else ""
        lines.append(f"{step.get('id')} {step.get('actionType')}: {done} {found}".rstrip())
    return lines


def _found(document: Any) -> list[str]:
    """What a single step found, where its message holds only a part of it."""
    lines = []
    for step in _step_results(document):
        data = step.get("data", {})
        data = {**data, **named_matches(data)}
        lines += [f"{name}: {_short(data[name])}" for name in _LISTED if data.get(name)]
        if data.get("all") == "true" and isinstance(data.get("text"), str):
            lines.append(_short(data["text"]))
    return lines


def named_matches(data: Mapping[str, Any]) -> dict[str, str]:
    """The matches of a query, each reference with the snapshot that it was seen in. Empty where there are none."""
    try:
        matches, snapshot = msgspec.json.decode(data["matches"]), data["snapshot_id"]
        named = [{**one, "ref": f"{one['ref']}@{snapshot}"} if one.get("ref") else one for one in matches]
    except (KeyError, TypeError, AttributeError, ValueError):
        return {}
    return {"matches": msgspec.json.encode(named).decode()}


def _step_results(document: Any) -> list[dict[str, Any]]:
    """The steps of an execution; none for any other document."""
    envelope = document.get("envelope", document) if isinstance(document, Mapping) else None
    steps = envelope.get("stepResults") if isinstance(envelope, Mapping) else None
    return [step for step in _list(steps) if isinstance(step, dict)]


def _short(text: Any) -> str:
    shown = printable(" ".join(str(text).split()))
    return shown if len(shown) <= _LONGEST_FIELD else f"{shown[:_LONGEST_FIELD]}…"


def limited(text: str) -> str:
    """The text up to the longest result, cut at a line end where there is one."""
    if len(text) <= LONGEST_RESULT:
        return text
    kept = text[:LONGEST_RESULT]
    kept = kept[: kept.rfind("\n")] if "\n" in kept[LONGEST_RESULT // 2 :] else kept
    return f"{kept}\n[cut off: {len(text) - len(kept)} more characters are not shown]"


def result_images(result: ToolResult) -> tuple[ResultImage, ...]:
    """The images of a result: its screenshots, and the image blocks of an MCP result."""
    paths = [piece.path for piece in result.evidence if piece.kind == "screenshot" and piece.path is not None]
    blocks = _list(_object(result.result).get("content"))
    found = (*map(_read_image, paths), *(_image_block(_object(block)) for block in blocks))
    return tuple(image for image in found if image is not None)[:_MOST_IMAGES]


def _read_image(path: str) -> ResultImage | None:
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > 10 * MOST_IMAGE_BYTES:
                return None
            return _image("image/png", file.read(10 * MOST_IMAGE_BYTES + 1))
    except OSError:
        return None


def _image_block(block: dict[str, Any]) -> ResultImage | None:
    media_type, data = block.get("mimeType"), block.get("data")
    if block.get("type") != "image" or media_type not in _MEDIA_TYPES or not isinstance(data, str):
        return None
    try:
        return _image(str(media_type), b64decode(data, validate=True))
    except (Base64Error, ValueError):
        return None


def _image(media_type: str, data: bytes) -> ResultImage | None:
    """The image, scaled down if it is large. None for one that is too large to send."""
    is_png = data.startswith(_PNG) and len(data) >= 24
    edges = struct.unpack(">II", data[16:24]) if is_png else (0, 0)
    is_large = len(data) > MOST_IMAGE_BYTES or max(edges) > _LONGEST_EDGE
    scaled = _scaled(data) if is_large else None
    if scaled is not None:
        return scaled
    if len(data) > MOST_IMAGE_BYTES or not data:
        return None
    return ResultImage(media_type, b64encode(data).decode())


def _scaled(data: bytes) -> ResultImage | None:
    """The image with a longest edge that services keep. None when Pillow cannot read it."""
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            image.thumbnail((_LONGEST_EDGE, _LONGEST_EDGE))
            out = io.BytesIO()
            image.convert("RGB").save(out, "PNG", optimize=False)
            shown = image.size
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    if out.tell() > MOST_IMAGE_BYTES:
        return None
    note = f"image of {shown[0]}x{shown[1]} pixels; the original has {width}x{height}, which coordinates refer to"
    return ResultImage("image/png", b64encode(out.getvalue()).decode(), note)


# Compact tools

# An outline of more tokens is cut at whole lines, with a notice. A call of ``snapshot`` can ask for more.
_MOST_TOKENS = 3_000
OUTLINE: Mapping[str, Any] = {"view": "outline", "maxTokens": _MOST_TOKENS}
# Each tool with the action that it means when a call names none. Without a default the call must name one.
COMPACT_TOOLS: Mapping[str, str | None] = {
    "snapshot": "snapshot_ui",
    "tap": "click",
    "type": "enter_text",
    "press": "press_key",
    "scroll": "scroll",
    "wait": "wait_for_node",
    "query": "query",
    "app": None,
    "screenshot": "take_screenshot",
    "run_plan": "run_execution",
    "devices": "list_devices",
    "phone": None,
    "recording": None,
    "skills": "list_skills",
}
_PLAN = "run_execution"
# Names the action that a call means. Actions have parameters of their own that are called action.
_ACTION = "do"
# Tools that add nothing here: ``snapshot`` shows the screen.
_COVERED = frozenset(("describe_screen",))
# Actions of this tool are offered only as actions of a plan.
_PLAN_TOOL = "run_plan"
# The parameters of a call that select an element, and those of an action that hold the selector.
_REF, _LABEL, _SELECTOR = "ref", "label", "selector"
_TARGETS = ("matcher", "labelMatcher", "expectedNode")
_TARGET_PROPERTIES = {
    _REF: {"type": "string", "description": "such as e12"},
    _LABEL: {"type": "string", "description": "exact label"},
    _SELECTOR: {"type": "object", "description": "selector, see query"},
}
# Every acting tool has it. One tool describes it, and no signature names it.
_EXPECT, _DESCRIBES_EXPECT = "expect", "tap"
# A description is cut after its first clause.
_LATER_CLAUSES = re.compile(r"[;:,(] .*| \(.*")
_TYPES: Mapping[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


class CompactTool(Struct, frozen=True):
    """A tool for models. ``members`` are the agent's tools it stands for: those that the policy can allow.

    ``in_plans`` are actions that no tool offers by itself: they install, delete or grant.
    """

    name: str
    members: tuple[Tool, ...]
    in_plans: tuple[Tool, ...] = ()

    @property
    def default(self) -> str | None:
        """The action of a call that names none: the usual one, or the only one."""
        usual = COMPACT_TOOLS[self.name]
        names = [member.name for member in self.members]
        return usual if usual in names else names[0] if len(names) == 1 else None

    @property
    def _known(self) -> set[str]:
        """The tools that it stands for, also those that the policy denies."""
        from clawperator.agent.tools.builtin import builtin_tools

        return {tool.name for tool in (*self.members, *builtin_tools()) if tool.model_tool == self.name}

    @property
    def level(self) -> Level:
        return max((member.level for member in (*self.members, *self.in_plans)), key=LEVELS.index)

    @property
    def annotations(self) -> dict[str, bool]:
        """Hints for clients about what a call may do, by the highest level of its actions.

        An app may do anything in the world when it is touched.
        """
        only_reads, deletes = self.level == LEVELS[0], self.level == LEVELS[-1]
        hints = {"readOnlyHint": only_reads, "destructiveHint": deletes, "idempotentHint": only_reads}
        return {**hints, "openWorldHint": not only_reads}

    @property
    def description(self) -> str:
        """The summary of the only member, or one line for each: its parameters and its summary."""
        lines = [member.responsibility for member in self.members]
        if len(self.members) > 1:
            lines = [f"{member.name}({_signature(member)}): {member.responsibility}" for member in self.members]
            lines[0] += " Default." if self.default is not None else ""
        lines += [f"{entry.name}({_signature(entry)}): {entry.responsibility}" for entry in self.in_plans]
        if self.name == "query":
            names = ", ".join(field.name for field in fields_of(NodeSelector) if field.name != _REF)
            lines.append(f"Fields of a selector; all given ones must match: {names}.")
        return "\n".join(lines)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters: those of all members."""
        properties: dict[str, Any] = {}
        if len(self.members) > 1:
            names = [member.name for member in self.members]
            properties[_ACTION] = {"type": "string", "enum": names, "description": "what to do"}
        every = [_parameters(member) for member in self.members]
        for own, _ in every:
            properties |= {name: value for name, value in own.items() if name not in properties}
        if self.name != _DESCRIBES_EXPECT and _EXPECT in properties:
            properties[_EXPECT] = {"type": "object", "description": f"as in {_DESCRIBES_EXPECT}"}
        required = frozenset.intersection(*(needed for _, needed in every))
        required |= {_ACTION} if self.default is None else frozenset()
        names = [name for name in properties if name in required]
        return {"type": "object", "properties": properties, **({"required": names} if names else {})}

    def call(self, params: Mapping[str, Any], call_id: str = "", since: str = "") -> ToolCall:
        """The call of the agent's tool that these parameters mean. An invalid one has a ``problem``.

        ``since`` is the id of the screen that was shown last: a call that acts shows what changed since then. An
        action that was not offered is translated as well: the registry denies it with the reason.
        """
        own = dict(params)
        named = own.pop(_ACTION, None)
        name = self.default if named is None else named
        name = ACTION_ALIASES.get(name, name) if isinstance(name, str) else None
        if name is None or not (name in ACTIONS or name in self._known):
            choices = ", ".join(member.name for member in self.members)
            return ToolCall(self.name, {}, call_id, invalid_call(self.name, f"{_ACTION} must be one of {choices}"))
        unknown = next((key for key in own if not self._takes(name, key)), None)
        if unknown is not None:
            return ToolCall(self.name, {}, call_id, self._unknown_parameter(name, unknown))
        if name == _PLAN:
            actions = own.get("actions")
            own |= {"actions": [_planned(action) for action in actions]} if isinstance(actions, list) else {}
            return ToolCall(name, own, call_id, observe=changes_since(since))
        if is_snapshot(name):
            return ToolCall(name, {**OUTLINE, **own}, call_id, observe=OUTLINE)
        acts = name in ACTIONS and changes_device(name)
        return ToolCall(name, _with_target(name, own), call_id, observe=changes_since(since) if acts else None)

    def _takes(self, name: str, key: str) -> bool:
        """Whether an action has a parameter, under any of its names. True for an action that was not offered."""
        member = next((member for member in self.members if member.name == name), None)
        if member is None:
            return True
        known = {field.name for field in fields_of(member.shape)}
        row = ACTIONS.get(name)
        if row is not None:
            known |= {"target", *row.removed_params}  # the error of the action says what to use instead
        if _target_of(name) is not None:
            known |= _TARGET_PROPERTIES.keys()
        return key in known or (row is not None and PARAM_ALIASES.get(key) in known)

    def _unknown_parameter(self, name: str, key: str) -> ClawError:
        member = next(member for member in self.members if member.name == name)
        known = list(_parameters(member)[0])
        near = nearest(key, known, max(2, len(key) // 3))
        called = self.name if name == self.default else f"{self.name} with {_ACTION} {name}"
        hint = f"Did you mean {near}?" if near else f"It takes {', '.join(known) or 'no parameter'}."
        return invalid_call(self.name, f"{called} has no parameter {printable(key[:_LONGEST_NAME])}", hint)


def compact_tools(offered: Iterable[Tool]) -> tuple[CompactTool, ...]:
    """The tools for models that stand for these tools of the agent, in their fixed order.

    Tools of others, such as those of MCP servers, belong to none of them.
    """
    groups: dict[str, list[Tool]] = {name: [] for name in COMPACT_TOOLS}
    in_plans: list[Tool] = []
    for tool in offered:
        if tool.model_tool not in groups or tool.name in _COVERED:
            continue
        if tool.model_tool == _PLAN_TOOL and tool.name != _PLAN:
            in_plans.append(tool)
            continue
        is_usual = tool.name == COMPACT_TOOLS[tool.model_tool]
        groups[tool.model_tool].insert(0 if is_usual else len(groups[tool.model_tool]), tool)
    return tuple(
        CompactTool(name, tuple(members), tuple(in_plans) if name == _PLAN_TOOL else ())
        for name, members in groups.items()
        if members
    )


def _parameters(member: Tool) -> tuple[dict[str, Any], frozenset[str]]:
    """The parameters of a member, and the required ones. An element is named by reference, label or selector.

    Rare parameters are left out.
    """
    target = _target_of(member.name)
    properties: dict[str, Any] = {}
    fields = [
        field for field in fields_of(member.shape) if field.required or not (field.use.rare or field.use.cli_only)
    ]
    for field in fields:
        if field.name == target:
            properties |= _TARGET_PROPERTIES
        else:
            properties[field.name] = _schema_of(field.type, _LATER_CLAUSES.sub("", field.description))
    return properties, frozenset(field.name for field in fields if field.required and field.name != target)


def _schema_of(type_: Any, description: str = "") -> dict[str, Any]:
    """A short schema: an object is described by the names of its members."""
    origin, inner = get_origin(type_), get_args(type_)
    if isinstance(type_, type) and issubclass(type_, Struct):
        members = _SELECTOR if type_ is NodeSelector else "{" + ", ".join(type_.__struct_fields__) + "}"
        return {"type": "object", "description": f"{description}: {members}" if description else members}
    own = {"description": description} if description else {}
    if origin in (list, tuple):
        return {"type": "array", "items": _schema_of(inner[0]), **own}
    choices = {"enum": list(inner)} if origin is Literal else {}
    return {"type": "object" if origin is dict else _TYPES.get(type_, "string"), **choices, **own}


def _signature(member: Tool) -> str:
    """Its parameters; those marked with ``?`` are optional. One name stands for all ways to name an element."""
    properties, required = _parameters(member)
    target = _target_of(member.name)
    shown = _LABEL if target == "labelMatcher" else _REF
    if any(field.name == target and field.required for field in fields_of(member.shape)):
        required |= {shown}
    hidden = {*_TARGET_PROPERTIES, _EXPECT} - {shown}
    return ", ".join(name if name in required else f"{name}?" for name in properties if name not in hidden)


def _target_of(name: str) -> str | None:
    """The parameter of an action that selects its element."""
    row = ACTIONS.get(name)
    names = () if row is None else row.params.__struct_fields__
    return next((target for target in _TARGETS if target in names), None)


def _with_target(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the selector in its place."""
    target = _target_of(name)
    if target is None or target in params or _TARGET_PROPERTIES.keys().isdisjoint(params):
        return params
    given = params.get(_SELECTOR)
    selector = dict(given) if isinstance(given, Mapping) else {}
    if isinstance(params.get(_REF), str):
        selector["ref"] = params[_REF]
    if isinstance(params.get(_LABEL), str):
        selector["textEquals"] = params[_LABEL]
    rest = {key: value for key, value in params.items() if key not in _TARGET_PROPERTIES}
    return {target: selector, **rest}


def describe_call(call: Next) -> str:
    """The call of a hint as one of a tool for models: ``call recording with {"do":"recording_pull"}``."""
    name, params = tool_name(call), dict(call.params)
    group = call.operation.tool if call.operation is not None else ACTIONS[name].model_tool if name else ""
    if not name or not group:
        return ask_user(call)
    if group == _PLAN_TOOL:
        return call_text(group, {"actions": [{"type": name, "params": params}]})
    target = _target_of(name)
    if target in params:
        selector = params.pop(target)
        params |= {_LABEL: selector["textEquals"]} if selector.keys() == {"textEquals"} else {_SELECTOR: selector}
    if is_snapshot(name) and params.get("view") == OUTLINE["view"]:
        del params["view"]
    return call_text(group, params if name == COMPACT_TOOLS[group] else {_ACTION: name, **params})


def _planned(action: Any) -> Any:
    """An action of a plan, whose element may be named as in a call. Snapshots are outlines."""
    kind = action.get("type") if isinstance(action, dict) else None
    params = action.get("params", {}) if isinstance(action, dict) else None
    if not isinstance(params, dict) or not isinstance(kind, str):
        return action
    name = ACTION_ALIASES.get(kind, kind)
    if is_snapshot(name):
        return {**action, "params": {**OUTLINE, **params}}
    return {**action, "params": _with_target(name, params)} if params else action


def tool_definitions(tools: Iterable[Tool], *, compact: bool) -> list[ToolDefinition]:
    """The definitions of tools of ours: as compact tools, or each by itself."""
    if not compact:
        return [define_tool(tool.name, tool) for tool in tools]
    return [ToolDefinition(tool.name, tool.description, tool.schema()) for tool in compact_tools(tools)]


def changes_since(snapshot_id: str) -> Mapping[str, Any]:
    """The parameters of a snapshot that shows what changed since an earlier one; without one, the outline."""
    return {**OUTLINE, "since": snapshot_id} if snapshot_id else OUTLINE


class FinishedTool(Struct, frozen=True):
    """A call of a compact tool: the agent's tool that ran, its result, and the result as models get it."""

    call: ToolCall
    result: ToolResult
    shown: CompactResult


class CompactSession:
    """The tools that the policy of a registry can allow. Not thread-safe: it remembers the last screen.

    A reference names the snapshot it was seen in: one without gets that of the last screen that was shown, so that
    it cannot mean an element that only another client has seen.
    """

    def __init__(self, registry: ToolRegistry, *, with_images: bool = False) -> None:
        self._registry = registry
        self._renderer = ResultRenderer(with_images=with_images)
        self.tools: tuple[CompactTool, ...] = compact_tools(registry.offered())

    def find(self, name: str) -> CompactTool:
        """The tool of that name; ``TOOL_NOT_FOUND`` when there is none, or when the policy denies all of it."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise unknown_tool(name[:128])
        return tool

    def run(self, name: str, params: Mapping[str, Any], context: ToolContext) -> FinishedTool:
        """Run a tool by name. Every failure is a result; ``TOOL_NOT_FOUND`` and a cancellation are raised."""
        tool = self.find(name)
        call = tool.call(params, since=self._renderer.last_screen or _snapshot_of(params.get("ref")))
        try:
            if call.problem is not None:
                raise call.problem
            call = replace(call, params=self._with_snapshot(call.params))
        except ClawError as e:
            result = failed_result(e)
        else:
            result = self._registry.call(call, context)
        return FinishedTool(call, result, self._renderer.render(call, result))

    def _with_snapshot(self, value: Any) -> Any:
        """The parameters with the snapshot of each reference."""
        if isinstance(value, list | tuple):
            return [self._with_snapshot(below) for below in value]
        if not isinstance(value, Mapping):
            return value
        return {
            name: self._qualified(below)
            if name == "ref" and isinstance(below, str)
            else self._with_snapshot(below)
            for name, below in value.items()
        }

    def _qualified(self, ref: str) -> str:
        found = REFERENCE.fullmatch(ref)
        if found is None or found[2] is not None:
            return ref
        if not self._renderer.last_screen:
            hint = f"Call snapshot first, or write {ref}@<snapshot id>."
            raise invalid_call(ref, f"the reference {ref} names no snapshot", hint)
        return f"{ref}@{self._renderer.last_screen}"


def _snapshot_of(ref: Any) -> str:
    """The snapshot that a reference names. A client without a session has seen at least that one."""
    found = REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
    return (found[2] or "") if found is not None else ""
