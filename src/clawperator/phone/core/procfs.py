"""The files in ``/proc`` and ``/sys`` that tools read to learn what they run on."""

from typing import TYPE_CHECKING

from clawperator.phone.core.process_list import MEMORY_KB, running_processes

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone

CORES = 8
RELEASE = "5.15.104-android13"
BUILD = "#1 SMP PREEMPT Thu Jan 1 00:00:00 UTC 2024"
_TICKS = 100  # in a second
_BUSY = 20  # in a hundred: the phone is never quite idle


def provide(phone: "Phone") -> None:
    """Show them on a phone."""
    texts = {
        "/proc/cpuinfo": _processors,
        "/proc/loadavg": lambda: "0.00 0.00 0.00 1/512 4242\n",
        "/proc/meminfo": lambda: _memory(phone),
        "/proc/stat": lambda: _times(phone),
        "/proc/uptime": lambda: _uptime(phone),
        "/proc/version": lambda: f"Linux version {RELEASE} (build-user@build-host) {BUILD}\n",
        **{f"/sys/devices/system/cpu/{name}": _cores for name in ("online", "possible", "present")},
    }
    for path, text in texts.items():
        phone.storage.provide(path, lambda text=text: text().encode())  # type: ignore[misc] # its default


def _cores() -> str:
    return f"0-{CORES - 1}\n"


def _processors() -> str:
    lines = "BogoMIPS\t: 38.40\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
    return "".join(f"processor\t: {number}\n{lines}\n" for number in range(CORES))


def _memory(phone: "Phone") -> str:
    with phone.lock:
        free = MEMORY_KB - sum(row.memory_kb for row in running_processes(phone.tasks, phone.packages))
    amounts = {"MemTotal": MEMORY_KB, "MemFree": free, "MemAvailable": free, "Buffers": 0, "Cached": 0}
    amounts |= {"SwapTotal": 0, "SwapFree": 0}
    return "".join(f"{name + ':':<16}{amount:>8} kB\n" for name, amount in amounts.items())


def _seconds(phone: "Phone") -> float:
    return max(phone.clock.now_ms() - phone.log.boot_ms, 0) / 1000


def _uptime(phone: "Phone") -> str:
    up = _seconds(phone)
    return f"{up:.2f} {up * CORES * (100 - _BUSY) / 100:.2f}\n"


def _times(phone: "Phone") -> str:
    ticks = int(_seconds(phone) * _TICKS)
    busy = ticks * _BUSY // 100
    row = f"{busy // 2} 0 {busy - busy // 2} {ticks - busy} 0 0 0 0 0 0"
    whole = " ".join(str(int(cell) * CORES) for cell in row.split())
    rows = [f"cpu  {whole}", *(f"cpu{number} {row}" for number in range(CORES))]
    return "\n".join([*rows, f"btime {phone.log.boot_ms // 1000}", "processes 4242", "procs_running 1", ""])
