"""The phone's kernel: processes, the files in ``/proc`` and ``/sys``, timers and sockets."""

import heapq
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from clawperator.engine.clock import VirtualClock
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

TimerJob = Callable[[], None]

ECHO = "localabstract:echo"
_MAX_SOCKETS = 64
_SOCKET_IDLE_SECONDS = 600.0


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
        RunningProcess(user_name(packages[name].uid), process.pid, _ZYGOTE, name, 14_300_000, 96_000)
        for process in tasks.processes()
        if (name := process.app.package) in packages
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
        **{
            f"/sys/devices/system/cpu/{name}": lambda: f"0-{CORES - 1}\n"
            for name in ("online", "possible", "present")
        },
    }
    for path, content in files.items():
        storage.provide(path, lambda content=content: content().encode())  # type: ignore[misc] # its default


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


class Timers:
    """Runs jobs when they are due: inside ``VirtualClock.sleep``, or in a thread with a real clock.

    ``close`` discards pending jobs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: list[tuple[float, int, TimerJob]] = []
        self._numbers = 0
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def later(self, seconds: float, job: TimerJob) -> None:
        at = self._clock.monotonic() + seconds
        if isinstance(self._clock, VirtualClock):
            self._clock.call_at(at, lambda: None if self._closed else job())
            return
        with self._wake:
            if self._closed:
                return
            self._numbers += 1
            heapq.heappush(self._jobs, (at, self._numbers, job))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timers", daemon=True)
                self._thread.start()
            self._wake.notify()

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._jobs.clear()
            self._wake.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                if not self._jobs:
                    self._wake.wait()
                    continue
                left = self._jobs[0][0] - self._clock.monotonic()
                if left > 0:
                    self._clock.wait(self._wake, left)  # in seconds of the phone's clock, not of this machine
                    continue
                job = heapq.heappop(self._jobs)[2]
            with suppress(Exception):  # a failing handler must not stop other timers
                job()


class SocketChannel:
    """A connection to a socket on the phone."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, as soon as there are any; empty at the end and after ``close``."""
        try:
            return self._end.recv(size)
        except OSError:
            return b""

    def write(self, data: bytes, /) -> None:
        """Write all of ``data``. ``OSError`` when the other side is gone."""
        self._end.sendall(data)

    def close(self) -> None:
        """May be called from any thread and more than once; it ends a waiting ``read``."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()


class Sockets:
    """The listening sockets of one phone, for ``adb forward``. ``localabstract:echo`` returns what it receives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0

    def connect(self, name: str) -> SocketChannel | None:
        """Connect to a socket by name. None when there is none or too many connections are open."""
        with self._lock:
            if name != ECHO or self._open >= _MAX_SOCKETS:
                return None
            self._open += 1
        near, far = socket.socketpair()
        far.settimeout(_SOCKET_IDLE_SECONDS)

        def run() -> None:
            with suppress(OSError), far:
                while data := far.recv(65_536):
                    far.sendall(data)
            with self._lock:
                self._open -= 1

        threading.Thread(target=run, name="device socket", daemon=True).start()
        return SocketChannel(near)
