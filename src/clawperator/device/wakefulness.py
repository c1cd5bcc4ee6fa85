"""Whether a device is awake: a sleeping device shows nothing and ignores touches."""

import re

from clawperator._base.settings import setting
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.discovery import resolve_device, simulated_endpoint, simulated_phones
from clawperator.device.serials import adb_flag
from clawperator.errors import ClawError

_SECONDS = 5.0
_STATE = re.compile(r"mWakefulness=(\w{1,32})")


def known_device(serial: str | None) -> Device | None:
    """The named or set device, or the only simulated phone. The adb server is not started to find one."""
    if serial is not None or setting("device") is not None:
        return resolve_device(serial)
    simulated = list(simulated_phones().values())
    return Device(simulated[0].serial, simulated_endpoint(simulated[0])) if len(simulated) == 1 else None


def require_awake(device: Device) -> None:
    """``DEVICE_NOT_INTERACTIVE`` when the device reports that it is asleep."""
    found = _STATE.search(run_shell(device, "dumpsys power", seconds=_SECONDS).text)
    if found is not None and found[1] in ("Asleep", "Dozing"):
        raise ClawError(
            "DEVICE_NOT_INTERACTIVE",
            f"device {device.serial} is asleep",
            hint=f"Run 'adb {adb_flag(device.serial)} shell input keyevent WAKEUP', or press its power button.",
            details={"deviceId": device.serial, "wakefulness": found[1]},
            operation="wake",
            target=device.serial,
        )
