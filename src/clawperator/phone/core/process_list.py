"""The process table, and the files in ``/proc`` and ``/sys`` that tools read."""

from collections.abc import Callable

from msgspec import Struct

from clawperator.engine.driver import Clock
from clawperator.phone.core.packages import Packages
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.storage.filesystem import Storage

SYSTEM_SERVER_PID = 1_201
SHELL_PID = 4_242
MEMORY_KB = 3_906_252
_ZYGOTE = 601
_ADBD = 733
CORES = 8
RELEASE = "5.15.104-android13"
BUILD = "#1 SMP PREEMPT Thu Jan 1 00:00:00 UTC 2024"
_TICKS_PER_SECOND = 100
_BUSY_PERCENT = 20  # a phone is never entirely idle


class RunningProcess(Struct, frozen=True):
    """One row of the process table."""

    user: str
    pid: int
    parent: int
    name: str
    size_kb: int
    memory_kb: int


def user_name(uid: int) -> str:
    """The name of an app's user."""
    return f"u0_a{uid - 10_000}"


def running_processes(tasks: Tasks, packages: Packages) -> list[RunningProcess]:
    """The system's processes, the apps' and the calling shell, by pid. The caller holds the phone's lock."""
    system = [
        RunningProcess("root", 1, 0, "init", 10_880_000, 9_800),
        RunningProcess("root", _ZYGOTE, 1, "zygote64", 14_100_000, 142_000),
        RunningProcess("shell", _ADBD, 1, "adbd", 10_960_000, 8_200),
        RunningProcess("system", SYSTEM_SERVER_PID, _ZYGOTE, "system_server", 15_900_000, 310_000),
        RunningProcess("shell", SHELL_PID, _ADBD, "sh", 10_700_000, 3_100),
    ]
    apps = [
        RunningProcess(
            user_name(packages[process.app.package].uid),
            process.pid,
            _ZYGOTE,
            process.app.package,
            14_300_000,
            96_000,
        )
        for process in tasks.processes()
        if process.app.package in packages
    ]
    return sorted((*system, *apps), key=lambda process: process.pid)


def provide_proc_files(
    storage: Storage, processes: Callable[[], list[RunningProcess]], clock: Clock, boot_ms: int
) -> None:
    """Add the files of ``/proc`` and ``/sys`` to a phone's storage. Their content is computed at each read."""

    def uptime() -> float:
        return max(clock.now_ms() - boot_ms, 0) / 1000

    files = {
        "/proc/cpuinfo": _cpu_info,
        "/proc/loadavg": lambda: "0.00 0.00 0.00 1/512 4242\n",
        "/proc/meminfo": lambda: _memory(processes()),
        "/proc/stat": lambda: _cpu_times(uptime(), boot_ms),
        "/proc/uptime": lambda: f"{uptime():.2f} {uptime() * CORES * (100 - _BUSY_PERCENT) / 100:.2f}\n",
        "/proc/version": lambda: f"Linux version {RELEASE} (build-user@build-host) {BUILD}\n",
        **{f"/sys/devices/system/cpu/{name}": _cores for name in ("online", "possible", "present")},
    }
    for path, content in files.items():
        storage.provide(path, lambda content=content: content().encode())  # type: ignore[misc] # its default


def _cores() -> str:
    return f"0-{CORES - 1}\n"


def _cpu_info() -> str:
    lines = "BogoMIPS\t: 38.40\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
    return "".join(f"processor\t: {number}\n{lines}\n" for number in range(CORES))


def _memory(processes: list[RunningProcess]) -> str:
    free = MEMORY_KB - sum(process.memory_kb for process in processes)
    amounts = {"MemTotal": MEMORY_KB, "MemFree": free, "MemAvailable": free, "Buffers": 0, "Cached": 0}
    amounts |= {"SwapTotal": 0, "SwapFree": 0}
    return "".join(f"{name + ':':<16}{amount:>8} kB\n" for name, amount in amounts.items())


def _cpu_times(uptime: float, boot_ms: int) -> str:
    ticks = int(uptime * _TICKS_PER_SECOND)
    busy = ticks * _BUSY_PERCENT // 100
    row = f"{busy // 2} 0 {busy - busy // 2} {ticks - busy} 0 0 0 0 0 0"
    total = " ".join(str(int(cell) * CORES) for cell in row.split())
    rows = [f"cpu  {total}", *(f"cpu{number} {row}" for number in range(CORES))]
    return "\n".join([*rows, f"btime {boot_ms // 1000}", "processes 4242", "procs_running 1", ""])
