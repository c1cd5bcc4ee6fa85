"""``ifconfig`` and ``ip``: the phone's addresses, as clients look for them."""

from clawperator.phone.shell.process import ShellProcess, command

# From the range kept for documentation: nobody's, so what connects to it reaches no one.
ADDRESS = "192.0.2.16"
_HARDWARE = "02:00:00:00:00:01"


def _interfaces(process: ShellProcess) -> dict[str, tuple[str, int]]:
    """The interfaces that are up, each with its address and the bits of its network."""
    interfaces = {"lo": ("127.0.0.1", 8)}
    if process.phone.settings.get("global", "wifi_on") == "1":
        interfaces["wlan0"] = (ADDRESS, 24)
    return interfaces


def _mask(bits: int) -> str:
    return ".".join(str(part) for part in (0xFFFFFFFF << (32 - bits) & 0xFFFFFFFF).to_bytes(4))


@command("ifconfig")
def ifconfig(process: ShellProcess) -> int:
    names = [word for word in process.argv[1:] if not word.startswith("-")]
    found = _interfaces(process)
    for name in names or list(found):
        if name not in found:
            return process.error(f"{name}: No such device")
        address, bits = found[name]
        link = "Local Loopback" if name == "lo" else f"Ethernet  HWaddr {_HARDWARE}"
        process.write(
            f"{name:<10}Link encap:{link}\n"
            f"          inet addr:{address}  Mask:{_mask(bits)}\n"
            f"          UP RUNNING  MTU:{65536 if name == 'lo' else 1500}  Metric:1\n\n"
        )
    return 0


@command("ip")
def ip(process: ShellProcess) -> int:
    words = [word for word in process.argv[1:] if not word.startswith("-")]
    found = _interfaces(process)
    kind, rest = (words[0] if words else ""), words[1:]
    wanted = [word for word in rest if word not in {"show", "dev", "list"}]
    if kind in {"route", "r"}:
        process.write(
            "192.0.2.0/24 dev wlan0 proto kernel scope link src 192.0.2.16\n" if "wlan0" in found else ""
        )
        return 0
    if kind not in {"addr", "address", "a"}:
        return process.error(f"Object '{kind}' is unknown", 255)
    for number, (name, (address, bits)) in enumerate(found.items(), 1):
        if not wanted or name in wanted:
            scope = "host" if name == "lo" else "global"
            process.write(
                f"{number}: {name}: <UP,LOWER_UP> mtu {65536 if name == 'lo' else 1500} state UP\n"
                f"    inet {address}/{bits} scope {scope} {name}\n"
            )
    if wanted and not set(wanted) & set(found):
        return process.error(f'Device "{wanted[0]}" does not exist.')
    return 0
