"""Which module answers a command. Doors import by it, and the inventory of ``claw`` points at it."""

from collections.abc import Mapping

_ROOM = "clawperator.cli."

# Commands with a module that is not their family's.
_OF_COMMAND: Mapping[str, str] = {
    "exec": "handlers.execution",
    "schema": "handlers.schema",
    "version": "handlers.schema",
    "help": "help",
    "devices": "handlers.devices",
    "packages list": "handlers.devices",
    "operator setup": "handlers.devices",
    "grant-device-permissions": "handlers.devices",
    "setup": "handlers.devices",
    "doctor": "handlers.doctor",
    "logs": "handlers.logs",
    "recording replay": "handlers.replay",
    "recording parse": "handlers.recording",
    "recording describe": "handlers.recording",
    "recording export": "handlers.recording",
    "recording compare": "handlers.recording",
    "recording repair": "handlers.recording",
    "recording pull": "handlers.recording",
}
# Commands that one module answers with all their kin.
_OF_FAMILY: Mapping[str, str] = {
    "phone": "handlers.phone",
    "skills": "handlers.skills",
    "emulator": "handlers.emulators",
    "provision": "handlers.emulators",
}
_OF_ALL_OTHERS = "handlers.actions"  # one action each

_OF_CLAW: Mapping[str, str] = {
    "list-sessions": "claw.sessions",
    "load-session": "claw.sessions",
    "delete-session": "claw.sessions",
    "flush-transcript": "claw.sessions",
    "exec-command": "claw.execute",
    "exec-tool": "claw.execute",
    "bootstrap": "claw.turns",
    "turn-loop": "claw.turns",
    "show-command": "claw.inventory",
    "show-tool": "claw.inventory",
    "route": "claw.inventory",
    "command-graph": "claw.inventory",
    "tool-pool": "claw.inventory",
    "bootstrap-graph": "claw.inventory",
}


def module_of(name: str) -> str:
    """The module that answers a command of ``clawperator``, by its canonical name: ``recording parse``."""
    found = _OF_COMMAND.get(name) or _OF_FAMILY.get(name.partition(" ")[0], _OF_ALL_OTHERS)
    return _ROOM + found


def claw_module_of(name: str) -> str:
    """The module that answers a command of ``claw``."""
    return _ROOM + _OF_CLAW[name]
