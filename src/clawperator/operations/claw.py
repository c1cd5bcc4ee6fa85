"""The commands of ``claw``: parsing, suggestions, ``--help``, the inventory and the reference derive from them."""

from functools import cache
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from clawperator.contract.commands import Command, Flag, switch
from clawperator.contract.fields import Level, about
from clawperator.operations.commands import command_of
from clawperator.operations.model import EvidenceFolder, NoParams, Operation, Params, cli_operation
from clawperator.operations.servers import AgentPermissions, DenyPrefix, DenyTool, PassEnv

_FORMAT = Flag(
    "--output-format", "text, or json: one document on one line", "<text|json>", choices=("text", "json")
)
CLAW_GLOBALS = (
    _FORMAT,
    switch("--help", "print help", "-h"),
    switch("--version", "print the version", "-V"),
)
CLAW: dict[str, Operation] = {}
# Agents cannot run these, so they are in no inventory.
FOR_USERS = ("trust",)

Count = Annotated[int, Meta(ge=0)]
Prompt = Annotated[str, about("the prompt", word=1)]
Name = Annotated[str, about("name in the inventory, or a synonym", word=1)]
Limit = Annotated[Count, about("maximum number of matches", metavar="<n>")]
Directory = Annotated[
    str | UnsetType, about("session folder (default: .claw/sessions)", metavar="<folder>", path="sessions")
]
NewSession = Annotated[str | UnsetType, about("id of the new session (default: generated)")]
Resumed = Annotated[str | UnsetType, about("continue the session with this id", metavar="<id>")]
NoMcp = Annotated[bool, about("exclude MCP tools; no server is started")]


class NameParams(Params, frozen=True, kw_only=True):
    name: Name


class RouteParams(Params, frozen=True, kw_only=True):
    prompt: Prompt
    limit: Limit = 5


class ToolPoolParams(Params, frozen=True, kw_only=True):
    simple_mode: Annotated[bool, about("only the basic tools to observe and act")] = False
    no_mcp: NoMcp = False
    deny_tool: DenyTool = []
    deny_prefix: DenyPrefix = []
    pass_env: PassEnv = []


class SessionFolderParams(Params, frozen=True, kw_only=True):
    directory: Directory = UNSET


class SessionParams(SessionFolderParams, frozen=True, kw_only=True):
    session_id: Annotated[str, about("id of the session", word=1, metavar="<session_id>")]


class FlushParams(SessionFolderParams, frozen=True, kw_only=True):
    prompt: Prompt
    session_id: NewSession = UNSET
    resume: Resumed = UNSET


class TrustParams(Params, frozen=True, kw_only=True):
    folder: Annotated[str | UnsetType, about("folder to trust", word=1, metavar="<folder>")] = UNSET
    list: Annotated[bool, about("list the trusted folders")] = False
    remove: Annotated[bool, about("end the trust in the folder")] = False
    dry_run: Annotated[bool, about("print what would be trusted; change nothing")] = False


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


def _add(name: str, purpose: str, params: type[Params], handler: str, *, level: Level, **columns: Any) -> None:
    """Add the row of a command. ``handler`` is its function in a module of ``cli.claw``."""
    around, runs_plans = f"clawperator.cli.claw.{handler}", issubclass(params, AgentParams)
    CLAW[name] = cli_operation(
        name, params, around, level=level, purpose=purpose, runs_plans=runs_plans, **columns
    )


_STDIN = "A prompt of - is read from stdin."
_ASKED = 'Denied calls do not end the turn. Without a terminal, "ask" means deny.'
_OFFLINE = "The offline brain needs no key and no network. It understands plain sentences such as 'open settings'."
_SYNONYMS = "Accepts synonyms, in any case."

_add(
    "bootstrap",
    "Run one turn and save it in a session.",
    BootstrapParams,
    "turns:run_turns",
    level="act",
    examples=(
        'claw bootstrap "open settings and tell me the Android version"',
        'claw bootstrap "what is on the screen" --quiet',
        'claw bootstrap "open settings" --evidence evidence',
        "echo help | claw bootstrap - --session-id help --output-format json",
    ),
    notes=f"{_OFFLINE}\n{_ASKED} {_STDIN}",
)
_add(
    "turn-loop",
    "Run turns until the task is done or a limit is reached.",
    TurnLoopParams,
    "turns:run_turns",
    level="act",
    examples=(
        'claw turn-loop "open settings" --continuation-prompt "scroll down" --max-turns 3',
        "claw turn-loop help --timeout-seconds 30 --output-format json",
    ),
    notes=f"Exit 2 when --timeout-seconds is exceeded. {_OFFLINE}\n{_ASKED} {_STDIN}",
)
_add(
    "exec-tool",
    "Run a tool of the inventory.",
    ExecToolParams,
    "execute:exec_tool",
    level="act",
    examples=(
        'claw exec-tool press_key \'{"key": "home"}\'',
        'echo \'{"applicationId": "com.android.settings"}\' | claw exec-tool open_app - --output-format json',
    ),
    notes="The payload is a JSON object with the tool's parameters. A payload of - is read from stdin.",
)
_add(
    "exec-command",
    "Run a command of the inventory.",
    ExecCommandParams,
    "execute:exec_command",
    level="act",
    examples=(
        "claw exec-command open com.android.settings",
        "claw exec-command skills-search battery --output-format json",
    ),
    notes=f"The prompt holds the command's arguments and may be empty. {_STDIN}",
)
_add(
    "route",
    "List the commands and tools that match a prompt, best match first.",
    RouteParams,
    "inventory:route",
    level="read-only",
    examples=('claw route "take a screenshot"', 'claw route "set the solar discharge limit" --limit 3'),
    notes=f"Nothing is run. Without a match the list is empty: exit 0. {_STDIN}",
)
_add(
    "show-tool",
    "Print the source, purpose and parameters of a tool.",
    NameParams,
    "inventory:show_tool",
    level="read-only",
    examples=("claw show-tool click", "claw show-tool snapshot --output-format json"),
    notes=_SYNONYMS,
)
_add(
    "show-command",
    "Print the source and purpose of a command.",
    NameParams,
    "inventory:show_command",
    level="read-only",
    examples=("claw show-command recording-parse", "claw show-command tap --output-format json"),
    notes=f"{_SYNONYMS} Subcommands are written with a dash: recording-parse.",
)
_add(
    "tool-pool",
    "List the available tools.",
    ToolPoolParams,
    "inventory:list_tool_pool",
    level="read-only",
    examples=("claw tool-pool", "claw tool-pool --no-mcp --deny-prefix recording --output-format json"),
)
_add(
    "command-graph",
    "List every command by origin: built-in, plugin or skill.",
    NoParams,
    "inventory:command_graph",
    level="read-only",
    examples=("claw command-graph", "claw command-graph --output-format json"),
)
_add(
    "bootstrap-graph",
    "List the stages of bootstrap in order.",
    NoParams,
    "inventory:bootstrap_graph",
    level="read-only",
    examples=("claw bootstrap-graph", "claw bootstrap-graph --output-format json"),
)
_add(
    "flush-transcript",
    "Write a prompt to a session and flush it to disk.",
    FlushParams,
    "sessions:flush_transcript",
    level="act",
    examples=(
        'claw flush-transcript "open settings" --session-id demo',
        'echo "read the battery level" | claw flush-transcript - --output-format json',
    ),
    notes=f"Nothing is routed or run. {_STDIN}",
)
_add(
    "list-sessions",
    "List the sessions in a folder.",
    SessionFolderParams,
    "sessions:list_sessions",
    level="read-only",
    examples=("claw list-sessions", "claw list-sessions --directory .claw/sessions --output-format json"),
    notes="A missing folder has no sessions: exit 0.",
)
_add(
    "load-session",
    "Print the messages, token counts and path of a session.",
    SessionParams,
    "sessions:load_session",
    level="read-only",
    examples=("claw load-session demo", "claw load-session demo --output-format json"),
)
_add(
    "delete-session",
    "Delete a session and its evidence.",
    SessionParams,
    "sessions:delete_session",
    level="full",
    examples=("claw delete-session demo", "claw delete-session demo --output-format json"),
    notes="Deleting a missing session succeeds: exit 0.",
)
_add(
    "trust",
    "Trust the settings, MCP servers, skills and plugins of a folder.",
    TrustParams,
    "trust:trust",
    level="full",
    examples=("claw trust", "claw trust --dry-run", "claw trust --list", "claw trust --remove"),
    notes=(
        "The default is the working folder. Without trust, its settings can only restrict, and its\n"
        "MCP servers, skills and plugins are ignored. A change to one of the files ends the trust.\n"
        "Agents cannot run this command."
    ),
)


@cache
def claw_command(name: str) -> Command | None:
    """The command with this name. Derives no other one."""
    row = CLAW.get(name)
    if row is None:
        return None
    made = command_of(row)
    return replace(made, derive_flags=cache(lambda: (*made.flags, _FORMAT)), handler=row.around)


def claw_commands() -> tuple[Command, ...]:
    """Every command."""
    return tuple(command for name in CLAW if (command := claw_command(name)) is not None)
