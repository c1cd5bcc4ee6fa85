"""What a device reports about itself: Android version, model, vendor and display."""

from collections.abc import Mapping

from msgspec import Struct

from clawperator._base.text import one_line
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.android_versions import read_api
from clawperator.device.vendors import Vendor, parse_properties, recognise_vendor
from clawperator.errors import ClawError

# Three commands, which take seconds each on a slow device.
_SECONDS = 30.0
# The longest fact of a display.
_MAX_FACT = 100
_MARK = "properties listed"
_SCRIPT = f"getprop; echo '{_MARK}'; wm size; wm density"


class DeviceFacts(Struct, frozen=True):
    """The facts of one device. Texts are empty when it does not report them."""

    api: int
    model: str
    size: str
    density: str
    properties: Mapping[str, str]
    vendor: Vendor | None


def read_facts(device: Device) -> DeviceFacts:
    """Ask a device in one round trip. ``DEVICE_SHELL_UNAVAILABLE`` when it does not report its Android version."""
    answer = run_shell(device, _SCRIPT, seconds=_SECONDS)
    listed, _, display = answer.text.partition(_MARK)
    properties = parse_properties(listed)
    api = read_api(properties.get("ro.build.version.sdk", ""))
    if api is None:
        raise ClawError(
            "DEVICE_SHELL_UNAVAILABLE",
            f"device {device.serial} does not report its Android version: {answer.complaint}",
            hint="Retry when the device has booted.",
        )
    lines = display.splitlines()
    return DeviceFacts(
        api,
        properties.get("ro.product.model", ""),
        _value(lines, " size:"),
        _value(lines, " density:"),
        properties,
        recognise_vendor(properties),
    )


def _value(lines: list[str], name: str) -> str:
    """The value after a name. An override, where there is one, comes after the physical value."""
    found = next((line for line in reversed(lines) if name in line.lower()), "")
    return one_line(found.partition(":")[2].strip(), _MAX_FACT)
