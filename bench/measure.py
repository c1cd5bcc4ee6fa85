"""Time and memory, measured so that a busy machine disturbs the answer as little as possible.

Contenders run in turn, round after round, and the fastest round of each counts. What disturbs a run only ever
makes it slower, so the minimum is the steadiest number there is, and taking turns lets all meet the same noise.
"""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

Work = Callable[[], object]

# The kernel counts the memory of whoever starts a process as the process's own until it runs its program. This
# one is large by then, so a bare interpreter starts the command. Its answers go to stderr, ours to stdout.
_LAUNCHER = """
import os, sys
answers = [(os.POSIX_SPAWN_DUP2, 2, 1)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=answers)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class CommandFailedError(Exception):
    """A command that is being measured did not do its work, so there is nothing to measure."""


def fastest(contenders: Mapping[str, Work], rounds: int, tidy: Work = lambda: None) -> dict[str, float]:
    """The seconds each contender took at its best. ``tidy`` follows every run and is not counted."""
    best = dict.fromkeys(contenders, float("inf"))
    for work in contenders.values():
        work()  # fills the page cache and whatever else is done only once
        tidy()
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            gc.collect()
            start = perf_counter()
            contenders[name]()
            best[name] = min(best[name], perf_counter() - start)
            tidy()
        order.reverse()  # so that nobody always runs in the same one's wake
    return best


def _environment() -> dict[str, str]:
    """Ours, without PYTHONPATH and its kin: they would reach some contenders and not others."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run_command(command: Sequence[str]) -> None:
    """Run a command to its end as a shell would; its answer is thrown away."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_environment(),
        check=False,
    )
    if done.returncode != 0:
        raise CommandFailedError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout.decode()}")


def peak_memory(command: Sequence[str]) -> int:
    """The most memory in bytes that a command held at any one time."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    ) as launcher:
        try:
            told, answers = launcher.communicate()
        except BaseException:
            os.killpg(launcher.pid, signal.SIGKILL)  # the command too: it must not write any more
            raise
    exit_code, _, peak = told.decode().partition(" ")
    if exit_code != "0":
        raise CommandFailedError(f"{' '.join(command)} exited with {exit_code}:\n{answers.decode()}")
    return int(peak) * _MAXRSS_UNIT
