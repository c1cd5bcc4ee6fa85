"""Which module answers a command. Doors import by it, and the inventory of ``claw`` points at it."""

from collections.abc import Mapping

_ROOM = "clawperator.cli."

# Commands with a module that is not their family's.
_OF_COMMAND: Mapping[str, str] = {
    "exec": "executions",
    "schema": "reference",
    "version": "reference",
    "help": "help",
    "devices": "phones",
    "packages list": "phones",
    "operator setup": "phones",
    "grant-device-permissions": "phones",
    "setup": "phones",
    "doctor": "checks",
    "logs": "logs",
    "recording replay": "replay",
    "recording parse": "recordings",
    "recording describe": "recordings",
    "recording export": "recordings",
    "recording compare": "recordings",
    "recording repair": "recordings",
    "recording pull": "recordings",
}
# Commands that one module answers with all their kin.
_OF_FAMILY: Mapping[str, str] = {
    "phone": "boxes",
    "skills": "skills",
    "emulator": "emulators",
    "provision": "emulators",
}
_OF_ALL_OTHERS = "flat"  # one action each

_OF_CLAW: Mapping[str, str] = {
    "list-sessions": "claw.sessions",
    "load-session": "claw.sessions",
    "delete-session": "claw.sessions",
    "flush-transcript": "claw.sessions",
    "exec-command": "claw.executing",
    "exec-tool": "claw.executing",
    "bootstrap": "claw.turning",
    "turn-loop": "claw.turning",
    "show-command": "claw.inventories",
    "show-tool": "claw.inventories",
    "route": "claw.inventories",
    "command-graph": "claw.inventories",
    "tool-pool": "claw.inventories",
    "bootstrap-graph": "claw.inventories",
}


def module_of(name: str) -> str:
    """The module that answers a command of ``clawperator``, by its canonical name: ``recording parse``."""
    found = _OF_COMMAND.get(name) or _OF_FAMILY.get(name.partition(" ")[0], _OF_ALL_OTHERS)
    return _ROOM + found


def claw_module_of(name: str) -> str:
    """The module that answers a command of ``claw``."""
    return _ROOM + _OF_CLAW[name]
