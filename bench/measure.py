"""Measure time and memory so that other load on the machine affects the result as little as possible.

Contenders run in turn, and the fastest round of each counts. Other load only makes a run slower, so the minimum is
the most stable number, and running in turn exposes all contenders to the same load. Work that waits for nothing is
measured in CPU time: a long round would seldom have the processor for itself, a short one often.
"""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

Work = Callable[[], object]

# The kernel counts the memory of the parent as the child's own until exec. This process is large by then, so a
# bare interpreter starts the command. The output of the command goes to stderr, that of the launcher to stdout.
_LAUNCHER = """
import os, sys
answers = [(os.POSIX_SPAWN_DUP2, 2, 1)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=answers)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class CommandFailedError(Exception):
    """A measured command failed."""


def fastest(
    contenders: Mapping[str, Work],
    rounds: int,
    tidy: Work = lambda: None,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:
    """The seconds of each contender's fastest round. ``tidy`` runs after every round and is not counted."""
    best = dict.fromkeys(contenders, float("inf"))
    for work in contenders.values():
        work()  # warm up: fills the page cache and other caches
        tidy()
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            gc.collect()
            start = clock()
            contenders[name]()
            best[name] = min(best[name], clock() - start)
            tidy()
        order.reverse()  # so that no contender always runs after the same one
    return best


def _environment() -> dict[str, str]:
    """The environment without PYTHONPATH and similar variables, which not all contenders would use."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run_command(command: Sequence[str]) -> None:
    """Run a command to its end as a shell would; its output is discarded."""
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


def peak_memory(command: Sequence[str], exit_codes: Sequence[int] = (0,)) -> int:
    """Peak memory of a command in bytes."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    ) as launcher:
        try:
            report, output = launcher.communicate()
        except BaseException:
            os.killpg(launcher.pid, signal.SIGKILL)  # the command too: it must not keep writing
            raise
    exit_code, _, peak = report.decode().partition(" ")
    if exit_code not in map(str, exit_codes):
        raise CommandFailedError(f"{' '.join(command)} exited with {exit_code}:\n{output.decode()}")
    return int(peak) * _MAXRSS_UNIT
