"""What each command may do to the world: look, act, or anything.

``read-only`` looks. ``act`` acts on a phone, starts and stops what can be started again, and writes files where it
is told to. ``full`` deletes, resets, installs, provisions, grants, or runs a program that a flag names.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

Level = Literal["read-only", "act", "full"]
Program = Literal["clawperator", "claw"]

# From the least to the most.
LEVELS: tuple[Level, ...] = ("read-only", "act", "full")

_CLAWPERATOR: Mapping[Level, tuple[str, ...]] = {
    "read-only": (
        *("snapshot", "read", "read-value", "wait", "wait-for-nav", "sleep"),
        *("recording describe", "recording compare"),
        *("skills list", "skills get", "skills search", "skills for-app", "skills validate"),
        "skills compile-artifact",
        *("phone list", "emulator list", "emulator inspect", "emulator status"),
        *("devices", "packages list", "setup", "doctor", "logs", "schema", "version", "help"),
    ),
    "act": (
        *("click", "open", "type", "press", "back", "close", "scroll", "scroll-until", "scroll-and-click"),
        *("screenshot", "exec"),
        *("recording start", "recording stop", "recording pull", "recording parse", "recording export"),
        *("recording replay", "recording repair", "skills new", "skills run"),
        *("phone start", "phone stop", "phone fault", "phone screenshot", "emulator start", "emulator stop"),
    ),
    "full": (
        *("skills install", "skills update", "skills sync", "phone reset"),
        *("emulator create", "emulator delete", "emulator provision", "provision emulator"),
        *("operator setup", "grant-device-permissions"),
    ),
}
_CLAW: Mapping[Level, tuple[str, ...]] = {
    "read-only": (
        *("list-sessions", "load-session", "show-command", "show-tool", "command-graph", "tool-pool"),
        *("bootstrap-graph", "route"),
    ),
    "act": ("flush-transcript", "exec-command", "exec-tool", "bootstrap", "turn-loop"),
    "full": ("delete-session",),
}
# Flags that make a command need more. A nested claw must not be able to allow itself what its caller was denied.
_ALLOWING: Mapping[str, Level] = {"--permission-mode": "full", "--allow-tool": "full"}
RAISING: Mapping[Program, Mapping[str, Mapping[str, Level]]] = {
    "clawperator": {
        "recording describe": {"--out": "act"},
        "doctor": {"--fix": "full", "--full": "full"},
        "phone start": {"--app": "full"},
        "skills run": {"--registry": "full"},
    },
    "claw": dict.fromkeys(("exec-command", "exec-tool", "bootstrap", "turn-loop"), _ALLOWING),
}
LEVEL_OF: Mapping[Program, Mapping[str, Level]] = {
    "clawperator": {name: level for level, names in _CLAWPERATOR.items() for name in names},
    "claw": {name: level for level, names in _CLAW.items() for name in names},
}


def command_level(program: Program, name: str, flags: Iterable[str] | None = None) -> Level:
    """What a command needs, by its canonical name, when it is given these flags, by theirs.

    Without ``flags`` it is the most the command can ever need: right for whoever does not look at them.
    A command that nobody has sorted needs everything.
    """
    raising = RAISING[program].get(name, {})
    given = raising if flags is None else flags
    needed = [LEVEL_OF[program].get(name, "full"), *(raising[flag] for flag in given if flag in raising)]
    return max(needed, key=LEVELS.index)
