"""What can go wrong with a phone, as switches. Every one is off at first.

Each switch draws from its own seeded source of chance: the same seed and the same steps fail the same way,
and turning one switch does not change what another does.
"""

from collections.abc import Mapping
from random import Random
from typing import Literal

from msgspec import Struct

from clawperator.errors import ClawError

ValueKind = Literal["flag", "chance", "milliseconds", "quarter_turns"]


class Fault(Struct, frozen=True):
    """One switch. ``on`` is the value that plain "on" stands for, ``most`` the largest."""

    name: str
    kind: ValueKind
    on: float
    most: float
    meaning: str


_ROWS = (
    Fault("latency", "milliseconds", 200, 60_000, "every request to the phone takes this much longer"),
    Fault("slow_dump", "milliseconds", 1_000, 60_000, "uiautomator dump takes this long, with services suspended"),
    Fault("stale_tree", "chance", 0.3, 1, "a capture shows the screen as it was before the last change"),
    Fault("dropped_tap", "chance", 0.3, 1, "a touch is lost"),
    Fault("log_noise", "chance", 0.5, 1, "other processes write lines between ours"),
    Fault("split_log", "chance", 0.3, 1, "a log record arrives in two pieces"),
    Fault("lost_log", "chance", 0.1, 1, "a log record never arrives"),
    Fault("operator_killed", "flag", 1, 1, "the Operator's process is dead"),
    Fault("accessibility_off", "flag", 1, 1, "the Operator's accessibility service is off"),
    Fault("storage_full", "flag", 1, 1, "nothing more can be written to the phone"),
    Fault("offline", "flag", 1, 1, "the phone is connected and does not answer"),
    Fault("unauthorized", "flag", 1, 1, "the phone has not allowed this computer"),
    Fault("dialog", "chance", 0.1, 1, "a system dialog comes up out of nowhere after a touch"),
    Fault("rotation", "quarter_turns", 1, 3, "the display is turned"),
)
FAULTS: Mapping[str, Fault] = {row.name: row for row in _ROWS}


class Faults:
    """The switches of one phone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._values: dict[str, float] = {}
        self._chances: dict[str, Random] = {}

    def values(self) -> dict[str, float]:
        """The switches that are on, by name."""
        return dict(self._values)

    def value(self, name: str) -> float:
        return self._values.get(name, 0)

    def happens(self, name: str) -> bool:
        """Whether a fault of chance strikes now. Off, it draws nothing."""
        chance = self._values.get(name)
        return chance is not None and self.chance(name).random() < chance

    def chance(self, name: str) -> Random:
        """The source of chance of one switch."""
        if name not in self._chances:
            self._chances[name] = Random(f"{self._seed}:{name}")  # noqa: S311 - it must repeat itself
        return self._chances[name]

    def set(self, name: str, setting: str | float | bool) -> float:  # noqa: FBT001 - a switch is on or off
        """Turn a switch: ``on``, ``off`` or a number in its range. Returns its value, 0 when off."""
        value = read_setting(name, setting)
        if value:
            self._values[name] = value
        else:
            self._values.pop(name, None)
        return value

    def clear(self) -> None:
        self._values.clear()


def read_setting(name: str, setting: str | float | bool) -> float:  # noqa: FBT001
    """The value of a switch as a person writes it; ``PHONE_FAULT_INVALID`` otherwise."""
    fault = FAULTS.get(name)
    if fault is None:
        raise ClawError(
            "PHONE_FAULT_INVALID",
            f"no fault is called {name!r}",
            hint=f"Use one of: {', '.join(FAULTS)}.",
        )
    words = {"on": fault.on, "true": fault.on, "off": 0, "false": 0}
    if isinstance(setting, bool):
        return fault.on if setting else 0
    try:
        value = float(words.get(setting.lower(), setting) if isinstance(setting, str) else setting)
    except ValueError:
        value = -1
    if not 0 <= value <= fault.most or (fault.kind in ("flag", "quarter_turns") and value != int(value)):
        raise ClawError(
            "PHONE_FAULT_INVALID",
            f"{setting!r} is not a setting of the fault {name}",
            hint=f"Use on, off, or a number from 0 to {fault.most:g}.",
            details={"fault": name, "kind": fault.kind, "most": fault.most},
        )
    return value
