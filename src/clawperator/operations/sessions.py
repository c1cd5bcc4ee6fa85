"""The commands of ``claw`` that run nothing on a device: inventory, sessions and trust."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from clawperator.contract.fields import about
from clawperator.operations.claw import (
    READS_STDIN,
    Directory,
    Limit,
    Name,
    NewSession,
    Prompt,
    Resumed,
    claw_operation,
)
from clawperator.operations.model import NoParams, Params


class NameParams(Params, frozen=True, kw_only=True):
    name: Name


class RouteParams(Params, frozen=True, kw_only=True):
    prompt: Prompt
    limit: Limit = 5


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


_SYNONYMS = "Accepts synonyms, in any case."

claw_operation(
    "route",
    "List the commands and tools that match a prompt, best match first.",
    RouteParams,
    "inventory:route",
    level="read-only",
    examples=('claw route "take a screenshot"', 'claw route "set the solar discharge limit" --limit 3'),
    notes=f"Nothing is run. Without a match the list is empty: exit 0. {READS_STDIN}",
)
claw_operation(
    "show-tool",
    "Print the source, purpose and parameters of a tool.",
    NameParams,
    "inventory:show_tool",
    level="read-only",
    examples=("claw show-tool click", "claw show-tool snapshot --output-format json"),
    notes=_SYNONYMS,
)
claw_operation(
    "show-command",
    "Print the source and purpose of a command.",
    NameParams,
    "inventory:show_command",
    level="read-only",
    examples=("claw show-command recording-parse", "claw show-command tap --output-format json"),
    notes=f"{_SYNONYMS} Subcommands are written with a dash: recording-parse.",
)
claw_operation(
    "command-graph",
    "List every command by origin: built-in, plugin or skill.",
    NoParams,
    "inventory:command_graph",
    level="read-only",
    examples=("claw command-graph", "claw command-graph --output-format json"),
)
claw_operation(
    "bootstrap-graph",
    "List the stages of bootstrap in order.",
    NoParams,
    "inventory:bootstrap_graph",
    level="read-only",
    examples=("claw bootstrap-graph", "claw bootstrap-graph --output-format json"),
)
claw_operation(
    "flush-transcript",
    "Write a prompt to a session and flush it to disk.",
    FlushParams,
    "sessions:flush_transcript",
    level="act",
    examples=(
        'claw flush-transcript "open settings" --session-id demo',
        'echo "read the battery level" | claw flush-transcript - --output-format json',
    ),
    notes=f"Nothing is routed or run. {READS_STDIN}",
)
claw_operation(
    "list-sessions",
    "List the sessions in a folder.",
    SessionFolderParams,
    "sessions:list_sessions",
    level="read-only",
    examples=("claw list-sessions", "claw list-sessions --directory .claw/sessions --output-format json"),
    notes="A missing folder has no sessions: exit 0.",
)
claw_operation(
    "load-session",
    "Print the messages, token counts and path of a session.",
    SessionParams,
    "sessions:load_session",
    level="read-only",
    examples=("claw load-session demo", "claw load-session demo --output-format json"),
)
claw_operation(
    "delete-session",
    "Delete a session and its evidence.",
    SessionParams,
    "sessions:delete_session",
    level="full",
    examples=("claw delete-session demo", "claw delete-session demo --output-format json"),
    notes="Deleting a missing session succeeds: exit 0.",
)
claw_operation(
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
