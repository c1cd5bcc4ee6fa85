"""Processes and memory: ps, pidof, pgrep, top, uptime and free."""

from collections.abc import Callable, Mapping

from clawperator.phone.core.kernel import MEMORY_KB, RunningProcess, running_processes
from clawperator.phone.shell.process import ShellProcess, command

_COLUMNS: Mapping[str, tuple[int, Callable[[RunningProcess], str]]] = {
    "USER": (-12, lambda p: p.user),
    "PID": (6, lambda p: str(p.pid)),
    "TID": (6, lambda p: str(p.pid)),
    "PPID": (6, lambda p: str(p.parent)),
    "VSZ": (9, lambda p: str(p.size_kb)),
    "RSS": (6, lambda p: str(p.memory_kb)),
    "WCHAN": (-8, lambda _: "0"),
    "ADDR": (8, lambda _: "0"),
    "S": (1, lambda _: "S"),
    "NAME": (-1, lambda p: p.name),
    "CMD": (-1, lambda p: p.name),
    "COMM": (-1, lambda p: p.name),
    "ARGS": (-1, lambda p: p.name),
    "CMDLINE": (-1, lambda p: p.name),
}
_DEFAULT: tuple[str, ...] = ("USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME")


def _running(process: ShellProcess) -> list[RunningProcess]:
    phone = process.phone
    with phone.lock:
        return running_processes(phone.tasks, phone.packages)


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
    rows = _running(process)
    if wanted:
        rows = [row for row in rows if str(row.pid) in wanted]
    elif not everyone:
        rows = [row for row in rows if row.user == "shell"]  # the caller's own
    process.write(_table(columns, rows))
    return 0 if rows else 1


@command("pidof")
def pidof(process: ShellProcess) -> int:
    names = [word for word in process.argv[1:] if not word.startswith("-")]
    found = [str(row.pid) for row in _running(process) if row.name in names]
    if not found:
        return 1
    process.write(" ".join(found[:1] if "-s" in process.argv else found) + "\n")
    return 0


@command("pgrep")
def pgrep(process: ShellProcess) -> int:
    names = [word for word in process.argv[1:] if not word.startswith("-")]
    if not names:
        return process.error("No PATTERN")
    found = [row for row in _running(process) if names[-1].strip("^$") in row.name]
    shows_name = "-l" in process.argv
    process.write("".join(f"{row.pid} {row.name}\n" if shows_name else f"{row.pid}\n" for row in found))
    return 0 if found else 1


@command("top")
def top(process: ShellProcess) -> int:
    """Print one screen of the process table and exit."""
    rows = _running(process)
    used = sum(row.memory_kb for row in rows)
    process.write(
        f"Tasks: {len(rows)} total,   1 running, {len(rows) - 1} sleeping,   0 stopped,   0 zombie\n"
        f"  Mem:  {MEMORY_KB}K total,  {used}K used,  {MEMORY_KB - used}K free,        0K buffers\n"
        "400%cpu   0%user   0%nice   0%sys 400%idle   0%iow   0%irq   0%sirq   0%host\n"
        + _table(("PID", "USER", "RSS", "S", "ARGS"), rows)
    )
    return 0


@command("uptime")
def uptime(process: ShellProcess) -> int:
    phone = process.phone
    now = phone.clock.now_ms()
    minutes = max(0, now - phone.log.boot_ms) // 60_000
    clock = now // 1000 % 86_400
    up = f"{minutes // 60}:{minutes % 60:02}" if minutes >= 60 else f"{minutes} min"
    process.write(
        f" {clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02} up {up},  0 users,"
        "  load average: 0.00, 0.00, 0.00\n"
    )
    return 0


@command("free")
def free(process: ShellProcess) -> int:
    used = sum(row.memory_kb for row in _running(process))
    cells = (MEMORY_KB * 1024, used * 1024, (MEMORY_KB - used) * 1024, 0, 0)
    head = "".join(name.rjust(16) for name in ("total", "used", "free", "shared", "buffers"))
    process.write(f"    {head}\nMem:{''.join(str(cell).rjust(16) for cell in cells)}\n")
    return 0
