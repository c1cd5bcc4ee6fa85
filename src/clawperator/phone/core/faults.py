"""Injectable faults. All are off by default.

Each fault has its own seeded random generator: the same seed and the same steps reproduce the same failures, and
setting one fault does not affect another.
"""

from collections.abc import Mapping
from random import Random
from typing import Literal

from msgspec import Struct

from clawperator._base.text import nearest
from clawperator.errors import ClawError

ValueKind = Literal["flag", "chance", "milliseconds", "quarter_turns"]


class Fault(Struct, frozen=True):
    """One fault: its value for "on", its maximum, and its effect."""

    name: str
    kind: ValueKind
    on: float
    maximum: float
    description: str


_ROWS = (
    Fault("latency", "milliseconds", 200, 60_000, "delay every request to the phone"),
    Fault("slow_dump", "milliseconds", 1_000, 60_000, "uiautomator dump takes this long, with services suspended"),
    Fault("stale_tree", "chance", 0.3, 1, "a capture returns the screen before the last change"),
    Fault("dropped_tap", "chance", 0.3, 1, "a touch has no effect"),
    Fault("log_noise", "chance", 0.5, 1, "other processes log lines between the Operator's"),
    Fault("split_log", "chance", 0.3, 1, "a log record is split in two"),
    Fault("lost_log", "chance", 0.1, 1, "a log record is lost"),
    Fault("operator_killed", "flag", 1, 1, "the Operator's process is not running"),
    Fault("accessibility_off", "flag", 1, 1, "the Operator's accessibility service is off"),
    Fault("storage_full", "flag", 1, 1, "the phone's storage is full"),
    Fault("offline", "flag", 1, 1, "the phone is connected but offline"),
    Fault("unauthorized", "flag", 1, 1, "the phone has not authorized this computer"),
    Fault("dialog", "chance", 0.1, 1, "a system dialog appears after a touch"),
    Fault("shift", "chance", 0.3, 1, "the content moves by a row just before a touch"),
    Fault("rotation", "quarter_turns", 1, 3, "the display is rotated"),
)
FAULTS: Mapping[str, Fault] = {row.name: row for row in _ROWS}


class Faults:
    """The faults of one phone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._values: dict[str, float] = {}
        self._generators: dict[str, Random] = {}

    def values(self) -> dict[str, float]:
        """The values of the active faults, by name."""
        return dict(self._values)

    def value(self, name: str) -> float:
        return self._values.get(name, 0)

    def happens(self, name: str) -> bool:
        """Whether a random fault strikes now. A fault that is off draws no random number."""
        chance = self._values.get(name)
        return chance is not None and self.generator(name).random() < chance

    def generator(self, name: str) -> Random:
        """The random generator of one fault."""
        if name not in self._generators:
            self._generators[name] = Random(f"{self._seed}:{name}")  # noqa: S311 - reproducible on purpose
        return self._generators[name]

    def set(self, name: str, setting: str | float | bool) -> float:  # noqa: FBT001 - on or off
        """Set a fault to ``on``, ``off`` or a number in its range. Returns its value, 0 when off."""
        value = read_setting(name, setting)
        if value:
            self._values[name] = value
        else:
            self._values.pop(name, None)
        return value

    def clear(self) -> None:
        self._values.clear()


def read_setting(name: str, setting: str | float | bool) -> float:  # noqa: FBT001
    """The value of a setting as users write it; ``PHONE_FAULT_INVALID`` when it is not valid."""
    fault = FAULTS.get(name)
    if fault is None:
        near = nearest(name, FAULTS, max(2, len(name) // 3))
        raise ClawError(
            "PHONE_FAULT_INVALID",
            f"unknown fault {name!r}",
            hint=f"Did you mean {near}?" if near else f"Use one of: {', '.join(FAULTS)}.",
        )
    words = {"on": fault.on, "true": fault.on, "off": 0, "false": 0}
    try:
        value = float(words.get(str(setting).lower(), setting))
    except ValueError:
        value = -1
    if not 0 <= value <= fault.maximum or (fault.kind in ("flag", "quarter_turns") and value != int(value)):
        message = f"invalid setting {setting!r} for fault {name}"
        hint = f"Use on, off, or a number from 0 to {fault.maximum:g}."
        details = {"fault": name, "kind": fault.kind, "max": fault.maximum}
        raise ClawError("PHONE_FAULT_INVALID", message, hint=hint, details=details)
    return value
