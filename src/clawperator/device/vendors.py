"""Switches of vendors that automation needs besides USB debugging, and where a user finds them.

Android itself has one switch, USB debugging. Some vendors have more, and without them the device refuses input,
installations, permissions or the log. Where a property or a setting shows a switch, doctor checks it; otherwise
its place is named when the device refuses something.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.text import one_line
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.users import user_line
from clawperator.errors import ClawError

Purpose = Literal["input", "install", "grant", "connection", "log"]
Properties = Mapping[str, str]

_SECONDS = 15.0
_MAX_VALUE = 100
_MAX_PROPERTIES = 5_000
_PROPERTY = re.compile(r"\[([A-Za-z0-9_.@:-]{1,200})\]: \[([^\n]*?)\]?")
_DEVELOPER = "Settings, Developer options"


class Switch(Struct, frozen=True):
    """A switch of a vendor: what is refused without it, and its state where the device shows it.

    ``source`` is a property, or with the prefix ``secure:`` a secure setting; ``good`` is its value when
    automation is allowed, ``bad`` when it is not. Any other value is unknown.
    """

    name: str
    purposes: tuple[Purpose, ...]
    step: str
    screen: str = _DEVELOPER
    source: str = ""
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()

    def state(self, value: str) -> Literal["on", "off", "unknown"]:
        """Whether automation is allowed: ``on`` or ``off``."""
        if value in self.good:
            return "on"
        return "off" if value in self.bad else "unknown"


class Vendor(Struct, frozen=True):
    """A vendor's Android: the name of its system, and its switches."""

    system: str
    switches: tuple[Switch, ...]
    version: str = ""

    def steps_for(self, *purposes: Purpose) -> list[str]:
        """What to turn on so that the device allows these."""
        return [one.step for one in self.switches if not set(purposes).isdisjoint(one.purposes)]


class _Rule(Struct, frozen=True):
    """A vendor is recognised by a property of its system, which is also its version, or by the manufacturer."""

    vendor: Vendor
    versions: tuple[str, ...]
    manufacturers: tuple[str, ...] = ()


_XIAOMI = (
    Switch(
        "USB debugging (Security settings)",
        ("input", "grant"),
        "Turn on 'USB debugging (Security settings)' in the developer options; it needs a SIM and a Mi account.",
        source="persist.security.adbinput",
        good=("1", "true"),
        bad=("", "0", "false"),
    ),
    Switch(
        "Install via USB",
        ("install",),
        "Turn on 'Install via USB' in the developer options, and confirm each installation on the device.",
        source="persist.security.adbinstall",
        good=("1", "true"),
        bad=("", "0", "false"),
    ),
)
_OPPO = (
    Switch(
        "Disable permission monitoring",
        ("input", "grant"),
        "Turn on 'Disable permission monitoring' in the developer options; new versions call it 'Disable system "
        "optimization'.",
        source="persist.sys.permission.enable",
        good=("false", "0"),
        bad=("true", "1"),
    ),
)
_VIVO = (
    Switch(
        "USB simulated input",
        ("input", "grant"),
        "Turn on 'USB simulated input' and 'USB security permissions' in the developer options.",
        source="secure:vivo_adb_simulate_input",
        good=("1",),
        bad=("0",),
    ),
)
_HUAWEI = (
    Switch(
        "Allow ADB debugging in charge only mode",
        ("connection",),
        "Turn on 'Allow ADB debugging in charge only mode' in the developer options, or choose 'Transfer files'.",
    ),
    Switch(
        "logging",
        ("log",),
        "Dial *#*#2846579#*#*, choose Background settings, Log settings, turn on 'AP log'; again after a restart.",
        "Phone app",
    ),
)
_MEIZU = (
    Switch(
        "Flyme payment protection",
        ("input", "grant"),
        "Turn off 'Flyme payment protection' in Settings, Fingerprint and security.",
        "Settings, Fingerprint and security",
    ),
    Switch("logging", ("log",), "Choose 'All' in 'Advanced log output' in the developer options."),
)
_SAMSUNG = (
    Switch(
        "Auto Blocker",
        ("install", "connection"),
        "Turn off 'Auto Blocker' in Settings, Security and privacy.",
        "Settings, Security and privacy",
        source="secure:rampart_main_switch_enabled",
        good=("0", "null"),
        bad=("1",),
    ),
)
# From the particular to the general: a system may also have the properties of the one it derives from.
_RULES = (
    _Rule(
        Vendor("HyperOS or MIUI", _XIAOMI),
        ("ro.mi.os.version.name", "ro.miui.ui.version.name"),
        ("xiaomi", "redmi", "poco"),
    ),
    _Rule(
        Vendor("ColorOS, realme UI or OxygenOS", _OPPO),
        (
            *("ro.build.version.oplusrom", "ro.build.version.realmeui", "ro.build.version.opporom"),
            "ro.oxygen.version",
        ),
        ("oppo", "realme", "oneplus"),
    ),
    _Rule(
        Vendor("OriginOS or Funtouch OS", _VIVO),
        ("ro.vivo.os.version", "ro.vivo.os.build.display.id"),
        ("vivo", "iqoo"),
    ),
    _Rule(Vendor("MagicOS", _HUAWEI), ("ro.build.version.magic",), ("honor",)),
    _Rule(Vendor("EMUI or HarmonyOS", _HUAWEI), ("ro.build.version.emui",), ("huawei",)),
    _Rule(Vendor("Flyme", _MEIZU), ("ro.flyme.version.id", "ro.flyme.published"), ("meizu",)),
    _Rule(Vendor("One UI", _SAMSUNG), ("ro.build.version.oneui",), ("samsung",)),
)


def read_properties(device: Device, *, seconds: float = _SECONDS) -> dict[str, str]:
    """The system properties of a device, each on one line."""
    return parse_properties(run_shell(device, "getprop", seconds=seconds).text)


def parse_properties(output: str) -> dict[str, str]:
    """The properties in the output of ``getprop``; of a value with several lines only the first one."""
    found = (_PROPERTY.fullmatch(line.strip()) for line in output.splitlines()[:_MAX_PROPERTIES])
    return {one[1]: one_line(one[2], _MAX_VALUE) for one in found if one is not None}


def recognise_vendor(properties: Properties) -> Vendor | None:
    """The vendor's system with its version; None for a plain Android and for vendors without such switches."""
    for rule in _RULES:
        for name in rule.versions:
            if properties.get(name):
                return replace(rule.vendor, version=properties[name])
    maker = properties.get("ro.product.manufacturer", "").lower()
    return next((rule.vendor for rule in _RULES if maker in rule.manufacturers), None)


def switch_states(
    device: Device, vendor: Vendor, properties: Properties, *, seconds: float = _SECONDS
) -> Iterator[tuple[Switch, Literal["on", "off", "unknown"]]]:
    """Each switch with its state. A secure setting is read in a round trip of its own."""
    for switch in vendor.switches:
        table, mark, name = switch.source.partition(":")
        if not switch.source:
            yield switch, "unknown"
        elif mark:
            script = user_line("settings", "get", rest=(table, name), or_plain=True)
            answer = run_shell(device, script, seconds=seconds)
            yield switch, switch.state(answer.text.strip()) if answer.code == 0 else "unknown"
        else:
            yield switch, switch.state(properties.get(switch.source, ""))


def vendor_hint(device: Device, *purposes: Purpose, otherwise: str) -> str:
    """What to do when a device refused one of these: the steps of its vendor, or else ``otherwise``.

    Asks the device; its failure is no failure of the caller.
    """
    try:
        vendor = recognise_vendor(read_properties(device))
    except ClawError:
        return otherwise
    return " ".join(vendor.steps_for(*purposes) if vendor is not None else ()) or otherwise
