"""The agent behind ``claw``: tools under a policy, turns of a brain, sessions, MCP and model services."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.agent.cancellation import (
        CallNotBegunError,
        TurnCancelledError,
        TurnDeadline,
        WorkAbandonedError,
        WorkAbandonedInterrupt,
        run_within,
        timeout_error,
    )
    from clawperator.agent.compact.results import CompactResult, named_matches
    from clawperator.agent.compact.session import CompactSession, FinishedTool
    from clawperator.agent.compact.tools import COMPACT_TOOLS, CompactTool, compact_tools
    from clawperator.agent.confinement import Use, WorkingFolder, confine, confining, is_control_file
    from clawperator.agent.envelope import (
        CLASSES,
        COMMON,
        KINDS,
        SCHEMA_VERSION,
        build_envelope,
        error_object,
        filesystem_error,
        is_not_found,
    )
    from clawperator.agent.folder_programs import programs_of_folder
    from clawperator.agent.instructions import (
        INSTRUCTION_FORMATS,
        MCP_INSTRUCTIONS,
        InstructionFormat,
        agent_instructions,
        merge_section,
    )
    from clawperator.agent.inventory.inventory import (
        InventoryEntry,
        command_inventory,
        group_by_origin,
        tool_inventory,
    )
    from clawperator.agent.inventory.plugins import Plugin, PluginContext, PluginScan, discover_plugins, run_plugin
    from clawperator.agent.inventory.routing import Router
    from clawperator.agent.models.toolset import tool_definitions
    from clawperator.agent.ports import LEVELS, Level, Tool, ToolCall, ToolContext, ToolResult, Usage
    from clawperator.agent.redaction import Redactor, environment_secrets, map_strings
    from clawperator.agent.sessions.files import is_session_path
    from clawperator.agent.sessions.reading import is_session_file
    from clawperator.agent.sessions.records import SessionMeta, TurnRecord
    from clawperator.agent.sessions.store import DEFAULT_DIRECTORY, LoadedSession, SessionStore, SessionSummary
    from clawperator.agent.settings import user_settings
    from clawperator.agent.tool_registry import ToolRegistry, filter_tools
    from clawperator.agent.tools import builtin_tools
    from clawperator.agent.tools.messages import describe_steps
    from clawperator.agent.tools.phones import screen_lines
    from clawperator.agent.tools.plans import confine_plan
    from clawperator.agent.tools.privacy import mask_steps, plan_secrets
    from clawperator.agent.tools.recordings import CompareParams, DescribeParams, ExportParams
    from clawperator.agent.tools.row import failed_result, payload_error, require_object
    from clawperator.agent.turns.assembly import AgentOptions, agent_policy, assemble, is_mcp_name, tool_pool
    from clawperator.agent.turns.conversation import BRAINS, RunRequest, RunResult, run_request
    from clawperator.agent.turns.events import NOTE, STAGES, EventStream
    from clawperator.agent.turns.results import StoppedWork, TurnResult, observe_stop
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "cancellation": (
                "CallNotBegunError TurnCancelledError TurnDeadline WorkAbandonedError WorkAbandonedInterrupt "
                "run_within timeout_error"
            ),
            "compact.results": "CompactResult named_matches",
            "compact.session": "CompactSession FinishedTool",
            "compact.tools": "COMPACT_TOOLS CompactTool compact_tools",
            "confinement": "Use WorkingFolder confine confining is_control_file",
            "envelope": (
                "CLASSES COMMON KINDS SCHEMA_VERSION build_envelope error_object filesystem_error is_not_found"
            ),
            "folder_programs": "programs_of_folder",
            "instructions": (
                "INSTRUCTION_FORMATS InstructionFormat MCP_INSTRUCTIONS agent_instructions merge_section"
            ),
            "inventory.inventory": "InventoryEntry command_inventory group_by_origin tool_inventory",
            "inventory.plugins": "Plugin PluginContext PluginScan discover_plugins run_plugin",
            "inventory.routing": "Router",
            "models.toolset": "tool_definitions",
            "ports": "LEVELS Level Tool ToolCall ToolContext ToolResult Usage",
            "redaction": "Redactor environment_secrets map_strings",
            "sessions.files": "is_session_path",
            "sessions.reading": "is_session_file",
            "sessions.records": "SessionMeta TurnRecord",
            "sessions.store": "DEFAULT_DIRECTORY LoadedSession SessionStore SessionSummary",
            "settings": "user_settings",
            "tool_registry": "ToolRegistry filter_tools",
            "tools": "builtin_tools",
            "tools.messages": "describe_steps",
            "tools.phones": "screen_lines",
            "tools.plans": "confine_plan",
            "tools.privacy": "mask_steps plan_secrets",
            "tools.recordings": "CompareParams DescribeParams ExportParams",
            "tools.row": "failed_result payload_error require_object",
            "turns.assembly": "AgentOptions assemble is_mcp_name tool_pool agent_policy",
            "turns.conversation": "BRAINS RunRequest RunResult run_request",
            "turns.events": "EventStream NOTE STAGES",
            "turns.results": "StoppedWork TurnResult observe_stop",
        },
    )

__all__ = [
    "BRAINS",
    "CLASSES",
    "COMMON",
    "COMPACT_TOOLS",
    "DEFAULT_DIRECTORY",
    "INSTRUCTION_FORMATS",
    "KINDS",
    "LEVELS",
    "MCP_INSTRUCTIONS",
    "NOTE",
    "SCHEMA_VERSION",
    "STAGES",
    "AgentOptions",
    "CallNotBegunError",
    "CompactResult",
    "CompactSession",
    "CompactTool",
    "CompareParams",
    "DescribeParams",
    "EventStream",
    "ExportParams",
    "FinishedTool",
    "InstructionFormat",
    "InventoryEntry",
    "Level",
    "LoadedSession",
    "Plugin",
    "PluginContext",
    "PluginScan",
    "Redactor",
    "Router",
    "RunRequest",
    "RunResult",
    "SessionMeta",
    "SessionStore",
    "SessionSummary",
    "StoppedWork",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolRegistry",
    "ToolResult",
    "TurnCancelledError",
    "TurnDeadline",
    "TurnRecord",
    "TurnResult",
    "Usage",
    "Use",
    "WorkAbandonedError",
    "WorkAbandonedInterrupt",
    "WorkingFolder",
    "agent_instructions",
    "agent_policy",
    "assemble",
    "build_envelope",
    "builtin_tools",
    "command_inventory",
    "compact_tools",
    "confine",
    "confine_plan",
    "confining",
    "describe_steps",
    "discover_plugins",
    "environment_secrets",
    "error_object",
    "failed_result",
    "filesystem_error",
    "filter_tools",
    "group_by_origin",
    "is_control_file",
    "is_mcp_name",
    "is_not_found",
    "is_session_file",
    "is_session_path",
    "map_strings",
    "mask_steps",
    "merge_section",
    "named_matches",
    "observe_stop",
    "payload_error",
    "plan_secrets",
    "programs_of_folder",
    "require_object",
    "run_plugin",
    "run_request",
    "run_within",
    "screen_lines",
    "timeout_error",
    "tool_definitions",
    "tool_inventory",
    "tool_pool",
    "user_settings",
]
