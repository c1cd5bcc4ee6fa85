"""Whether a phone is awake: one that sleeps shows nothing and takes no touch."""

import re

from clawperator.device.adb.client import Device, shell
from clawperator.device.discovery import resolve, simulated_endpoint, simulated_phones
from clawperator.errors import ClawError

_SECONDS = 5.0
_STATE = re.compile(r"mWakefulness=(\w+)")


def phone_at_hand(serial: str | None) -> Device | None:
    """The phone that was named, or the only one in the box. Nothing is started to find one."""
    if serial is not None:
        return resolve(serial)
    simulated = list(simulated_phones().values())
    return Device(simulated[0].serial, simulated_endpoint(simulated[0])) if len(simulated) == 1 else None


def require_awake(device: Device) -> None:
    """``DEVICE_NOT_INTERACTIVE`` when the phone says that it sleeps. One that says nothing counts as awake."""
    found = _STATE.search(shell(device, "dumpsys power", seconds=_SECONDS).text)
    if found is not None and found[1] in ("Asleep", "Dozing"):
        raise ClawError(
            "DEVICE_NOT_INTERACTIVE",
            f"the phone {device.serial} is asleep",
            hint="Wake it: press its power button, or run 'adb shell input keyevent WAKEUP'.",
            details={"deviceId": device.serial, "wakefulness": found[1]},
            operation="wake",
            target=device.serial,
        )
