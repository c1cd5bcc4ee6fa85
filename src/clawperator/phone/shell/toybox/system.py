"""Commands about the system: time, users, environment, processes and network addresses."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from clawperator.phone.core.kernel import BUILD, MEMORY_KB, RELEASE, RunningProcess
from clawperator.phone.shell.pipes import CancelEvent
from clawperator.phone.shell.process import COMMANDS, ShellProcess, command, find_command
from clawperator.phone.shell.toybox.options import CommandOptions, OptionError, require_operands

_TIMED_OUT = 124
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)([smhd]?)")
_GROUPS = (
    "2000(shell),1004(input),1007(log),1011(adb),1015(sdcard_rw),1028(sdcard_r),1078(ext_data_rw),"
    "1079(ext_obb_rw),3001(net_bt_admin),3002(net_bt),3003(inet),3006(net_bw_stats),3009(readproc),"
    "3011(uhid),3012(readtracefs)"
)
# An address reserved for documentation: connections to it reach nothing.
ADDRESS = "192.0.2.16"
_HARDWARE = "02:00:00:00:00:01"
_UNAME = {"s": "Linux", "n": "localhost", "r": RELEASE, "v": BUILD, "m": "aarch64", "o": "Toybox"}


COMMANDS.update(
    {
        "true": lambda _: 0,
        "false": lambda _: 1,
        "sync": lambda _: 0,  # writes are never buffered
        **dict.fromkeys(("whoami", "logname"), lambda process: process.write("shell\n")),
        "groups": lambda process: process.write(_groups(names=True)),
        "hostname": lambda process: process.write("localhost\n"),
    }
)


def _operands(process: ShellProcess) -> list[str]:
    """The words of a command that needs none of its options."""
    return [word for word in process.argv[1:] if not word.startswith("-")]


def read_duration(text: str) -> float:
    """Seconds, from ``1.5``, ``2m`` or ``1h``."""
    match = _DURATION.fullmatch(text[:20])
    if match is None:
        raise OptionError(f"bad duration '{text[:40]}'")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


@command("sleep")
def sleep(process: ShellProcess) -> int:
    require_operands(process, process.argv[1:])
    process.wait(sum(read_duration(word) for word in process.argv[1:]))
    return 0


@command("usleep")
def usleep(process: ShellProcess) -> int:
    require_operands(process, process.argv[1:])
    if not process.argv[1].isdigit():
        raise OptionError(f"bad number '{process.argv[1][:40]}'")
    process.wait(int(process.argv[1][:15]) / 1_000_000)
    return 0


@command("timeout")
def timeout(process: ShellProcess) -> int:
    words = CommandOptions(process, "iv", "ks", leading=True).operands
    require_operands(process, words, 2)
    clock = process.phone.clock
    end = clock.monotonic() + read_duration(words[0])
    child = process.child(words[1:])
    child.cancelled = CancelEvent(process.cancelled, expired=lambda: clock.monotonic() >= end)
    status = child.start()
    late = clock.monotonic() >= end and not process.cancelled.is_set()
    return _TIMED_OUT if late else status


@command("nohup", "setsid")
def nohup(process: ShellProcess) -> int:
    """Run a command. There are no hang-up signals to ignore."""
    require_operands(process, process.argv[1:])
    return process.run(process.argv[1:])


def read_date(text: str) -> float:
    """Epoch seconds, from ``@N`` or a date in UTC."""
    if re.fullmatch(r"@\d{1,12}(\.\d+)?", text):
        return float(text[1:])
    try:
        return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise OptionError(f"bad date '{text[:40]}'") from None


@command("date")
def date(process: ShellProcess) -> int:
    options = CommandOptions(process, "uR", "dsr")
    seconds = process.phone.clock.now_ms() / 1000
    if (given := options.value("d")) is not None:
        seconds = read_date(given)
    if (reference := options.value("r")) is not None:
        seconds = process.phone.storage.stat(process.path(reference)).mtime
    forms = [word for word in options.operands if word.startswith("+")]
    if "s" in options or len(forms) < len(options.operands):
        return process.error("cannot set date: Operation not permitted")
    form = forms[0][1:] if forms else "%a %b %e %H:%M:%S %Z %Y"
    form = "%a, %d %b %Y %H:%M:%S %z" if "R" in options else form
    return process.write(format_date(form, seconds) + "\n")


def format_date(form: str, seconds: float) -> str:
    """A time in UTC in a format of ``date``."""
    nanoseconds = f"{round(seconds * 1000) % 1000:03}000000"

    def insert(match: re.Match[str]) -> str:
        """What the standard library does not know, or would take from the time zone of this computer."""
        if match[1].endswith("N"):
            return nanoseconds[: int(match[1][:-1] or 9)]
        return str(int(seconds)) if match[1] == "s" else match[0]

    return datetime.fromtimestamp(seconds, UTC).strftime(re.sub(r"%(%|s|\d?N)", insert, form))


def _groups(*, names: bool) -> str:
    return " ".join(re.findall(r"\((\w+)\)" if names else r"(\d+)\(", _GROUPS)) + "\n"


@command("id")
def identity(process: ShellProcess) -> int:
    options = CommandOptions(process, "unGgZ")
    if "Z" in options:
        text = "u:r:shell:s0"
    elif "G" in options:
        return process.write(_groups(names="n" in options))
    elif "u" in options or "g" in options:
        text = "shell" if "n" in options else "2000"
    else:
        text = f"uid=2000(shell) gid=2000(shell) groups={_GROUPS} context=u:r:shell:s0"
    return process.write(text + "\n")


@command("uname")
def uname(process: ShellProcess) -> int:
    options = CommandOptions(process, "asnrvmo")
    wanted = [flag for flag in _UNAME if flag in options or "a" in options] or ["s"]
    return process.write(" ".join(_UNAME[flag] for flag in wanted) + "\n")


@command("which")
def which(process: ShellProcess) -> int:
    status = 0
    for name in _operands(process):
        if find_command(name):
            process.write((name if "/" in name else f"/system/bin/{name}") + "\n")
        else:
            status = 1
    return status


@command("toybox")
def toybox(process: ShellProcess) -> int:
    words = process.argv[1:]
    if not words:
        return process.write(" ".join(sorted(COMMANDS)) + "\n")
    if words[0] in {"--version", "--help"}:
        return process.write("toybox 0.8.6-android\n")
    if words[0] not in COMMANDS:
        return process.error(f"Unknown command {words[0]}", 127)
    return process.run(words)


@command("printenv")
def printenv(process: ShellProcess) -> int:
    if not (names := process.argv[1:]):
        return env(process)
    found = [process.env[name] for name in names if name in process.env]
    process.write("".join(f"{value}\n" for value in found))
    return int(len(found) < len(names))


@command("env")
def env(process: ShellProcess) -> int:
    words = process.argv[1:]
    while words and (words[0] in {"-i", "-u"} or re.match(r"[A-Za-z_]\w*=", words[0])):
        word = words.pop(0)
        if word == "-i":
            process.env.clear()
        elif word == "-u":
            process.env.pop(words.pop(0) if words else "", None)
        else:
            name, _, value = word.partition("=")
            process.env[name] = value
    if words:
        return process.run(words)
    return process.write("".join(f"{name}={value}\n" for name, value in process.env.items()))


@command("kill")
def kill(process: ShellProcess) -> int:
    """Refuse: the shell user may not signal processes."""
    words = _operands(process)
    require_operands(process, words)
    for word in words:
        problem = "Operation not permitted" if word.isdigit() else "arguments must be jobs or PIDs"
        process.error(f"{word}: {problem}")
    return 1


# Network


def _interfaces(process: ShellProcess) -> dict[str, tuple[str, int]]:
    """The interfaces that are up, with their address and prefix length."""
    interfaces = {"lo": ("127.0.0.1", 8)}
    if process.phone.settings.get("global", "wifi_on") == "1":
        interfaces["wlan0"] = (ADDRESS, 24)
    return interfaces


def _mask(bits: int) -> str:
    return ".".join(str(part) for part in (0xFFFFFFFF << (32 - bits) & 0xFFFFFFFF).to_bytes(4))


@command("ifconfig")
def ifconfig(process: ShellProcess) -> int:
    names = _operands(process)
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
    words = _operands(process)
    found = _interfaces(process)
    kind, rest = (words[0] if words else ""), words[1:]
    wanted = [word for word in rest if word not in {"show", "dev", "list"}]
    if kind in {"route", "r"}:
        route = f"192.0.2.0/24 dev wlan0 proto kernel scope link src {ADDRESS}\n"
        return process.write(route if "wlan0" in found else "")
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


# Processes and memory: ps, pidof, pgrep, top, uptime and free

_COLUMNS: Mapping[str, tuple[int, Callable[[RunningProcess], str]]] = {
    "USER": (-12, lambda p: p.user),
    **dict.fromkeys(("PID", "TID"), (6, lambda p: str(p.pid))),
    "PPID": (6, lambda p: str(p.parent)),
    "VSZ": (9, lambda p: str(p.size_kb)),
    "RSS": (6, lambda p: str(p.memory_kb)),
    "WCHAN": (-8, lambda _: "0"),
    "ADDR": (8, lambda _: "0"),
    "S": (1, lambda _: "S"),
    **dict.fromkeys(("NAME", "CMD", "COMM", "ARGS", "CMDLINE"), (-1, lambda p: p.name)),
}
_DEFAULT: tuple[str, ...] = ("USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME")


def _table(columns: tuple[str, ...], rows: list[RunningProcess]) -> str:
    def cell(name: str, text: str) -> str:
        width = _COLUMNS[name][0]
        return text.ljust(-width) if width < 0 else text.rjust(width)

    lines = [" ".join(cell(name, name) for name in columns)]
    lines += [" ".join(cell(name, _COLUMNS[name][1](row)) for name in columns) for row in rows]
    return "".join(f"{line.rstrip()}\n" for line in lines)


@command("ps")
def ps(process: ShellProcess) -> int:
    words = process.argv[1:]
    columns, wanted, everyone = _DEFAULT, set[str](), False
    while words:
        word = words.pop(0)
        if word in {"-o", "-p"}:
            given = (words.pop(0) if words else "").replace(" ", ",").split(",")
            if word == "-p":
                wanted.update(given)
            else:
                columns = tuple(name.partition("=")[0].partition(":")[0].upper() for name in given if name)
        elif word.startswith("-"):
            everyone = everyone or any(letter in "Ae" for letter in word[1:])
        else:
            wanted.add(word)
    unknown = next((name for name in columns if name not in _COLUMNS), None)
    if unknown is not None or not columns:
        return process.error(f"bad -o {unknown or ''}")
    rows = process.phone.processes()
    if wanted:
        rows = [row for row in rows if str(row.pid) in wanted]
    elif not everyone:
        rows = [row for row in rows if row.user == "shell"]  # the caller's own
    process.write(_table(columns, rows))
    return 0 if rows else 1


@command("pidof")
def pidof(process: ShellProcess) -> int:
    names = _operands(process)
    found = [str(row.pid) for row in process.phone.processes() if row.name in names]
    if not found:
        return 1
    return process.write(" ".join(found[:1] if "-s" in process.argv else found) + "\n")


@command("pgrep")
def pgrep(process: ShellProcess) -> int:
    names = _operands(process)
    if not names:
        return process.error("No PATTERN")
    found = [row for row in process.phone.processes() if names[-1].strip("^$") in row.name]
    shows_name = "-l" in process.argv
    process.write("".join(f"{row.pid} {row.name}\n" if shows_name else f"{row.pid}\n" for row in found))
    return 0 if found else 1


@command("top")
def top(process: ShellProcess) -> int:
    """Print one screen of the process table and exit."""
    rows = process.phone.processes()
    used = sum(row.memory_kb for row in rows)
    return process.write(
        f"Tasks: {len(rows)} total,   1 running, {len(rows) - 1} sleeping,   0 stopped,   0 zombie\n"
        f"  Mem:  {MEMORY_KB}K total,  {used}K used,  {MEMORY_KB - used}K free,        0K buffers\n"
        "400%cpu   0%user   0%nice   0%sys 400%idle   0%iow   0%irq   0%sirq   0%host\n"
        + _table(("PID", "USER", "RSS", "S", "ARGS"), rows)
    )


@command("uptime")
def uptime(process: ShellProcess) -> int:
    now = process.phone.clock.now_ms()
    minutes = max(0, now - process.phone.log.boot_ms) // 60_000
    up = f"{minutes // 60}:{minutes % 60:02}" if minutes >= 60 else f"{minutes} min"
    clock = format_date("%H:%M:%S", now / 1000)
    return process.write(f" {clock} up {up},  0 users,  load average: 0.00, 0.00, 0.00\n")


@command("free")
def free(process: ShellProcess) -> int:
    used = sum(row.memory_kb for row in process.phone.processes())
    cells = (MEMORY_KB * 1024, used * 1024, (MEMORY_KB - used) * 1024, 0, 0)
    head = "".join(name.rjust(16) for name in ("total", "used", "free", "shared", "buffers"))
    return process.write(f"    {head}\nMem:{''.join(str(cell).rjust(16) for cell in cells)}\n")
