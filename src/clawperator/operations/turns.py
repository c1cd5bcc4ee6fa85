"""The commands of ``claw`` that run tools, with the permissions of an agent."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from clawperator.contract.fields import about
from clawperator.operations.claw import (
    READS_STDIN,
    Count,
    Directory,
    Limit,
    Name,
    NewSession,
    Prompt,
    Resumed,
    claw_operation,
)
from clawperator.operations.model import EvidenceFolder, Params
from clawperator.operations.servers import AgentPermissions, DenyPrefix, DenyTool, PassEnv

NoMcp = Annotated[bool, about("exclude MCP tools; no server is started")]


class ToolPoolParams(Params, frozen=True, kw_only=True):
    simple_mode: Annotated[bool, about("only the basic tools to observe and act")] = False
    no_mcp: NoMcp = False
    deny_tool: DenyTool = []
    deny_prefix: DenyPrefix = []
    pass_env: PassEnv = []


class AgentParams(AgentPermissions, frozen=True, kw_only=True):
    device: Annotated[
        str | UnsetType, about("device serial (default: the only connected device)", metavar="<serial>")
    ] = UNSET
    operator_package: Annotated[str | UnsetType, about("package of the Operator app")] = UNSET
    timeout_seconds: Annotated[
        float | UnsetType, about("time limit for the whole command (default: none)", metavar="<s>")
    ] = UNSET


class ExecToolParams(AgentParams, frozen=True, kw_only=True):
    name: Name
    payload: Annotated[str, about("the tool's parameters, a JSON object", word=2)]


class ExecCommandParams(AgentParams, frozen=True, kw_only=True):
    name: Name
    prompt: Annotated[str, about("the command's arguments", word=2)]


class TurnParams(AgentParams, frozen=True, kw_only=True):
    prompt: Prompt
    limit: Limit = 5
    brain: Annotated[
        Literal["offline", "openai", "anthropic"], about("brain that turns the prompt into tool calls")
    ] = "offline"
    model: Annotated[str | UnsetType, about("model name; not for the offline brain", metavar="<name>")] = UNSET
    events: Annotated[
        str | UnsetType,
        about(
            "write events as JSON lines to this file; - is stdout, before the answer",
            metavar="<file|->",
            path="out",
            not_paths=("-",),
        ),
    ] = UNSET
    evidence: EvidenceFolder = UNSET
    heartbeat_seconds: Annotated[
        float | UnsetType, about("interval of heartbeat events (default: 5)", metavar="<s>")
    ] = UNSET
    max_budget_tokens: Annotated[
        Count | UnsetType,
        about("token limit of the session (default: 2000 offline, 200000 with a model)", metavar="<n>"),
    ] = UNSET
    max_session_turns: Annotated[
        Count | UnsetType,
        about("turn limit of the session (default: 8, or --max-turns if that is more)", metavar="<n>"),
    ] = UNSET
    max_steps: Annotated[Count | UnsetType, about("tool-call limit of a turn (default: 120)", metavar="<n>")] = (
        UNSET
    )
    no_mcp: NoMcp = False
    strict: Annotated[bool, about("exit 1 when a limit refused or cancelled a turn")] = False
    directory: Directory = UNSET
    session_id: NewSession = UNSET
    resume: Resumed = UNSET


class BootstrapParams(TurnParams, frozen=True, kw_only=True):
    quiet: Annotated[bool, about("in text mode print the answer only; errors go to stderr", aliases=("-q",))] = (
        False
    )


class TurnLoopParams(TurnParams, frozen=True, kw_only=True):
    max_turns: Annotated[int, about("turn limit; 0 or less means no turn", metavar="<n>")] = 3
    continuation_prompt: Annotated[
        str | UnsetType,
        about("prompt of every turn after the first; without it there is one turn", metavar="<text>"),
    ] = UNSET
    structured_output: Annotated[bool, about("format each turn's output as a JSON object")] = False


_ASKED = 'Denied calls do not end the turn. Without a terminal, "ask" means deny.'
_OFFLINE = "The offline brain needs no key and no network. It understands plain sentences such as 'open settings'."

claw_operation(
    "bootstrap",
    "Run one turn and save it in a session.",
    BootstrapParams,
    "turns:run_turns",
    level="act",
    runs_plans=True,
    examples=(
        'claw bootstrap "open settings and tell me the Android version"',
        'claw bootstrap "what is on the screen" --quiet',
        'claw bootstrap "open settings" --evidence evidence',
        "echo help | claw bootstrap - --session-id help --output-format json",
    ),
    notes=f"{_OFFLINE}\n{_ASKED} {READS_STDIN}",
)
claw_operation(
    "turn-loop",
    "Run turns until the task is done or a limit is reached.",
    TurnLoopParams,
    "turns:run_turns",
    level="act",
    runs_plans=True,
    examples=(
        'claw turn-loop "open settings" --continuation-prompt "scroll down" --max-turns 3',
        "claw turn-loop help --timeout-seconds 30 --output-format json",
    ),
    notes=f"Exit 2 when --timeout-seconds is exceeded. {_OFFLINE}\n{_ASKED} {READS_STDIN}",
)
claw_operation(
    "exec-tool",
    "Run a tool of the inventory.",
    ExecToolParams,
    "execute:exec_tool",
    level="act",
    runs_plans=True,
    examples=(
        'claw exec-tool press_key \'{"key": "home"}\'',
        'echo \'{"applicationId": "com.android.settings"}\' | claw exec-tool open_app - --output-format json',
    ),
    notes="The payload is a JSON object with the tool's parameters. A payload of - is read from stdin.",
)
claw_operation(
    "exec-command",
    "Run a command of the inventory.",
    ExecCommandParams,
    "execute:exec_command",
    level="act",
    runs_plans=True,
    examples=(
        "claw exec-command open com.android.settings",
        "claw exec-command skills-search battery --output-format json",
    ),
    notes=f"The prompt holds the command's arguments and may be empty. {READS_STDIN}",
)
claw_operation(
    "tool-pool",
    "List the available tools.",
    ToolPoolParams,
    "inventory:list_tool_pool",
    level="read-only",
    examples=("claw tool-pool", "claw tool-pool --no-mcp --deny-prefix recording --output-format json"),
)
