"""The tools that models get: about fourteen, each of which stands for several of the agent's tools.

The definitions are part of every request of a turn, so they are short. Names of actions, summaries, parameters and
levels come from the rows of the tools; ``model_tool`` of a row names the tool here. A call is translated to a call
of the agent's tool, which the policy checks, the session records, and the registry runs.

Selectors are left out of the schemas: every element is named by ``ref``, by its ``label``, or by a ``selector``,
whose fields are listed once, in the description of ``query``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from clawperator.agent.compact.results import CompactResult, ResultRenderer
from clawperator.agent.models.tools import ToolDefinition, define_tool, object_schema
from clawperator.agent.ports import LEVELS, Level, Tool, ToolCall, ToolContext, ToolResult
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.contract.action_types import changes_device, is_snapshot
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS
from clawperator.contract.selectors import REFERENCE, NodeSelector
from clawperator.errors import ClawError

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
_TARGET_PROPERTIES = {_REF: {"type": "string"}, _LABEL: {"type": "string"}, _SELECTOR: {"type": "object"}}
_NODE = {"$ref": f"#/$defs/{NodeSelector.__name__}"}
# Parameters that a model hardly needs. The tools still accept them.
_RARE = frozenset(
    (
        *("distanceRatio", "maxSwipes", "maxScrolls", "clickAfter", "validator", "validatorPattern", "quietMs"),
        *("maxLines", "user"),
    )
)
_RARE_OF: Mapping[str, frozenset[str]] = {
    "snapshot": frozenset(("view", "since")),  # set here
    "scroll": frozenset(("clickType", "settle")),
    **dict.fromkeys(("tap", "type", "press", "app", "phone"), frozenset(("settle",))),
    "run_plan": frozenset(("timeoutMs",)),
}
# Parameters that every acting tool has. Only the first tool describes them, and no signature names them.
_COMMON = frozenset(("expect",))
_DESCRIBES_COMMON = "tap"
# What remains of a schema: the rest is for validators.
_KEPT = ("type", "enum", "items", "description")
# More choices than these are listed in words, which is shorter.
_MOST_CHOICES = 8


class Annotations(Struct, frozen=True):
    """Hints for clients about what a call may do, by the highest level of its actions.

    An app may do anything in the world when it is touched.
    """

    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


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
    def level(self) -> Level:
        return max((member.level for member in (*self.members, *self.in_plans)), key=LEVELS.index)

    @property
    def annotations(self) -> Annotations:
        only_reads = self.level == LEVELS[0]
        return Annotations(
            readOnlyHint=only_reads,
            destructiveHint=self.level == LEVELS[-1],
            idempotentHint=only_reads,
            openWorldHint=not only_reads,
        )

    @property
    def description(self) -> str:
        """The summary of the only member, or one line for each: its parameters and its summary."""
        lines = [member.responsibility for member in self.members]
        if len(self.members) > 1:
            lines = [f"{member.name}({_signature(member)}): {member.responsibility}" for member in self.members]
            lines[0] += " Default." if self.default is not None else ""
        lines += [f"{entry.name}({_signature(entry)}): {entry.responsibility}" for entry in self.in_plans]
        if self.name == "query":
            names = ", ".join(field.encode_name for field in fields(NodeSelector) if field.name != _REF)
            lines.append(f"Fields of a selector; all given ones must match: {names}.")
        return "\n".join(lines)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters: those of all members."""
        properties: dict[str, Any] = {}
        if len(self.members) > 1:
            properties[_ACTION] = {"type": "string"}  # the description lists the names
        every = [_parameters(member) for member in self.members]
        for own in every:
            properties |= {name: value for name, value in own.properties.items() if name not in properties}
        is_described = len(self.members) == 1
        properties = {
            name: value if is_described or name in _COMMON else _without_description(value)
            for name, value in properties.items()
        }
        if self.name != _DESCRIBES_COMMON:
            properties |= {name: {"type": "object"} for name in _COMMON & properties.keys()}
        required = frozenset.intersection(*(own.required for own in every))
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
        if name is None or not (name in ACTIONS or any(name == member.name for member in self.members)):
            choices = ", ".join(member.name for member in self.members)
            error = ClawError(
                "TOOL_PAYLOAD_INVALID", f"{_ACTION} must be one of {choices}", operation="call", target=self.name
            )
            return ToolCall(self.name, {}, call_id, error)
        if name == _PLAN:
            actions = own.get("actions")
            own |= {"actions": [_planned(action) for action in actions]} if isinstance(actions, list) else {}
            return ToolCall(name, own, call_id, observe=changes_since(since))
        if is_snapshot(name):
            return ToolCall(name, {**OUTLINE, **own}, call_id, observe=OUTLINE)
        acts = name in ACTIONS and changes_device(name)
        return ToolCall(name, _with_target(name, own), call_id, observe=changes_since(since) if acts else None)


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


class _Parameters(Struct, frozen=True):
    properties: dict[str, Any]
    required: frozenset[str]


def _parameters(member: Tool) -> _Parameters:
    """The parameters of a member: an element by reference, label or selector; no limits, no definitions."""
    schema = define_tool(member.name, member).parameters
    target = _target_of(member.name)
    properties: dict[str, Any] = {}
    for name, value in schema["properties"].items():
        if name == target:
            properties |= _TARGET_PROPERTIES
        elif name not in (_RARE | member.rare | _RARE_OF.get(member.model_tool or "", frozenset())):
            properties[name] = _plain(value, schema.get("$defs", {}))
    return _Parameters(properties, frozenset(name for name in schema.get("required", ()) if name in properties))


def _signature(member: Tool) -> str:
    own = _parameters(member)
    names = [name for name in own.properties if name not in (_LABEL, _SELECTOR) and name not in _COMMON]
    return ", ".join(name if name in own.required or name == _REF else f"{name}?" for name in names)


def _plain(value: Any, definitions: Mapping[str, Any]) -> Any:
    """A short schema: an object below the top is described by the names of its members."""
    if isinstance(value, list):
        return [_plain(below, definitions) for below in value]
    if not isinstance(value, dict):
        return value
    if value.items() >= _NODE.items():
        return {"type": "object", "description": value.get("description", _SELECTOR)}
    if "$ref" in value:
        value = {**definitions[value["$ref"].rpartition("/")[2]], **value}
    kept = {word: _plain(below, definitions) for word, below in value.items() if word in _KEPT}
    if "description" in kept:
        kept["description"] = kept["description"].partition(". ")[0]
    if len(kept.get("enum", ())) > _MOST_CHOICES:
        kept["description"] = f"one of {' '.join(kept.pop('enum'))}"
    if "anyOf" in value:  # one form is enough; an object has names
        kept["type"] = next((one["type"] for one in value["anyOf"] if one.get("type") == "object"), "string")
    if value.get("properties"):
        kept["description"] = f"{{{', '.join(value['properties'])}}}"
    return kept


def _without_description(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its description, unless that names the members of an object."""
    described = str(schema.get("description", ""))
    return schema if described.startswith("{") else {k: v for k, v in schema.items() if k != "description"}


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
    return [
        ToolDefinition(tool.name, tool.description, object_schema(tool.schema())) for tool in compact_tools(tools)
    ]


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
        self._renderer = ResultRenderer(with_images=with_images, with_commands=True)
        self.tools: tuple[CompactTool, ...] = compact_tools(registry.offered())

    def find(self, name: str) -> CompactTool:
        """The tool of that name; ``TOOL_NOT_FOUND`` when there is none, or when the policy denies all of it."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise ClawError("TOOL_NOT_FOUND", f"unknown tool {name[:128]!r}", operation="call", target=name[:128])
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
            result = ToolResult(handled=False, message=e.message, error=e)
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
            raise ClawError(
                "TOOL_PAYLOAD_INVALID",
                f"the reference {ref} names no snapshot",
                hint=f"Call snapshot first, or write {ref}@<snapshot id>.",
                operation="call",
                target=ref,
            )
        return f"{ref}@{self._renderer.last_screen}"


def _snapshot_of(ref: Any) -> str:
    """The snapshot that a reference names. A client without a session has seen at least that one."""
    found = REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
    return (found[2] or "") if found is not None else ""
