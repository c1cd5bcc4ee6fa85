"""The files in /proc and /sys."""

import re
from collections.abc import Iterator

import pytest

from clawperator.phone.core.process_list import CORES
from clawperator.testing import SimulatedPhone, simulated_phone


@pytest.fixture
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone() as phone:
        yield phone


def output(phone: SimulatedPhone, script: str) -> str:
    ran = phone.shell(script)
    assert (ran.code, ran.stderr) == (0, "")
    return ran.stdout


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
    assert phone.shell(script).code == 1
    assert output(phone, "cat /proc/stat").startswith("cpu  ")
    assert "stat" in output(phone, "ls /proc").split()
