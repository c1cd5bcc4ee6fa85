"""Files in /proc and /sys, and timers."""

import re
import threading
from collections.abc import Iterator

import pytest

from clawperator.engine.clock import SystemClock, VirtualClock
from clawperator.engine.driver import Clock
from clawperator.phone.core.kernel import CORES, Timers
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.fast_clock import FastClock
from tests.support.hanging import HANG_SECONDS


@pytest.fixture
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone() as phone:
        yield phone


def output(phone: SimulatedPhone, script: str) -> str:
    ran = phone.shell_script(script)
    assert (ran.code, ran.stderr) == (0, b"")
    return ran.text


def test_every_file_reports_the_same_number_of_processors(phone: SimulatedPhone) -> None:
    assert output(phone, "grep -c ^processor /proc/cpuinfo") == f"{CORES}\n"
    assert output(phone, "grep -c '^cpu[0-9]' /proc/stat") == f"{CORES}\n"
    assert output(phone, "cat /sys/devices/system/cpu/possible") == f"0-{CORES - 1}\n"


def test_meminfo_agrees_with_free(phone: SimulatedPhone) -> None:
    total = int(output(phone, "sed -n 's/^MemTotal: *\\([0-9]*\\) kB$/\\1/p' /proc/meminfo"))
    assert re.search(rf"\b{total * 1024}\b", output(phone, "free"))


def test_uptime_advances_with_the_clock(phone: SimulatedPhone) -> None:
    before = float(output(phone, "cat /proc/uptime").split()[0])
    after = float(output(phone, "sleep 5; cat /proc/uptime").split()[0])
    assert 5 <= after - before < 6


def test_the_version_agrees_with_uname(phone: SimulatedPhone) -> None:
    assert output(phone, "uname -r").strip() in output(phone, "cat /proc/version")


@pytest.mark.parametrize("script", ["echo x > /proc/stat", "rm /proc/stat", "mv /proc/stat /sdcard/x"])
def test_the_files_are_read_only(phone: SimulatedPhone, script: str) -> None:
    assert phone.shell_script(script).code == 1
    assert output(phone, "cat /proc/stat").startswith("cpu  ")
    assert "stat" in output(phone, "ls /proc").split()


@pytest.mark.parametrize("clock", [SystemClock(), FastClock()])
def test_a_job_never_runs_before_its_time(clock: Clock) -> None:
    timers = Timers(clock)
    ran: list[float] = []
    done = threading.Event()
    start = clock.monotonic()
    timers.later(0.05, lambda: ran.append(clock.monotonic()))
    timers.later(0.05, done.set)
    assert done.wait(HANG_SECONDS)
    timers.close()
    assert ran[0] - start >= 0.05


def test_jobs_wait_in_seconds_of_a_clock_that_runs_faster_than_real_time() -> None:
    timers = Timers(FastClock(speed=10_000))
    done = threading.Event()
    timers.later(10 * HANG_SECONDS, done.set)
    assert done.wait(HANG_SECONDS)
    timers.close()


def test_an_earlier_job_does_not_wait_for_a_later_one_that_was_added_first() -> None:
    timers = Timers(SystemClock())
    done = threading.Event()
    timers.later(3_600, lambda: None)
    timers.later(0, done.set)
    assert done.wait(HANG_SECONDS)
    timers.close()


def test_jobs_run_in_the_order_of_their_times_and_then_as_they_were_added() -> None:
    timers = Timers(FastClock(speed=100))
    ran: list[str] = []
    done = threading.Event()
    start = threading.Event()

    def hold() -> None:  # so that all jobs are added before the first runs
        start.wait(HANG_SECONDS)

    timers.later(0, hold)
    timers.later(2, done.set)
    timers.later(1, lambda: ran.append("second"))
    timers.later(0, lambda: ran.append("first"))
    timers.later(1, lambda: ran.append("third"))
    start.set()
    assert done.wait(HANG_SECONDS)
    timers.close()
    assert ran == ["first", "second", "third"]


def test_a_job_that_fails_does_not_stop_the_others() -> None:
    timers = Timers(SystemClock())
    done = threading.Event()
    timers.later(0, [].pop)
    timers.later(0, done.set)
    assert done.wait(HANG_SECONDS)
    timers.close()


@pytest.mark.parametrize("clock", [SystemClock(), VirtualClock()])
def test_no_job_runs_after_close(clock: Clock) -> None:
    timers = Timers(clock)
    ran: list[int] = []
    timers.later(3_600, lambda: ran.append(1))
    timers.close()
    timers.later(0, lambda: ran.append(2))
    clock.sleep(0.01)
    assert ran == []
    assert timers._thread is None or not timers._thread.is_alive()
