"""The phone's processes: what ``ps``, ``dumpsys meminfo`` and ``/proc/meminfo`` report."""

from msgspec import Struct

from clawperator.phone.core.packages import Packages
from clawperator.phone.core.tasks import Tasks

SYSTEM_SERVER_PID = 1_201
SHELL_PID = 4_242
MEMORY_KB = 3_906_252
_ZYGOTE = 601
_ADBD = 733


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
