"""The command registry: one row per command, from which parsing, help, schemas and docs derive."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
    from clawperator.commands.model import (
        BACKENDS,
        LEVELS,
        POLICY_VARIABLE,
        BackendName,
        Command,
        Flag,
        Level,
        PathKind,
        resolve_handler,
    )
    from clawperator.commands.registry import (
        COMMANDS,
        GLOBALS,
        command_names,
        find_by_path,
        find_command,
        leaves,
        replacement,
        value_flags,
    )
    from clawperator.commands.selectors import (
        ELEMENT,
        RELATION_FLAGS,
        STATES,
        TEXT_FLAGS,
        render_flags,
    )
    from clawperator.commands.servers import OPEN_PAGE
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "claw": "CLAW_COMMANDS CLAW_GLOBALS",
            "model": "BACKENDS BackendName Command Flag LEVELS Level POLICY_VARIABLE PathKind resolve_handler",
            "registry": "COMMANDS GLOBALS command_names find_by_path find_command leaves replacement value_flags",
            "selectors": "ELEMENT RELATION_FLAGS STATES TEXT_FLAGS render_flags",
            "servers": "OPEN_PAGE",
        },
    )

__all__ = [
    "BACKENDS",
    "CLAW_COMMANDS",
    "CLAW_GLOBALS",
    "COMMANDS",
    "ELEMENT",
    "GLOBALS",
    "LEVELS",
    "OPEN_PAGE",
    "POLICY_VARIABLE",
    "RELATION_FLAGS",
    "STATES",
    "TEXT_FLAGS",
    "BackendName",
    "Command",
    "Flag",
    "Level",
    "PathKind",
    "command_names",
    "find_by_path",
    "find_command",
    "leaves",
    "render_flags",
    "replacement",
    "resolve_handler",
    "value_flags",
]
