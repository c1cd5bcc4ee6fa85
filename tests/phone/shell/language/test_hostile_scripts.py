"""Hostile scripts: each ends soon, by itself, and does not affect others."""

import threading
import time
from pathlib import Path

import pytest

from clawperator.phone.core.phone import Phone
from tests.phone.shell.scripts import run
from tests.support.hanging import HANG_SECONDS


@pytest.fixture
def phone(tmp_path: Path) -> Phone:
    """A phone whose scripts have all threads: those of an earlier script may take a moment to end."""
    end = time.monotonic() + HANG_SECONDS
    while any(thread.name == "phone-shell" for thread in threading.enumerate()) and time.monotonic() < end:
        time.sleep(0.01)
    return Phone(folder=str(tmp_path))


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ("\\" * 60_000, 127, "inaccessible or not found"),
        ("echo '" + "x'\"y\"'" * 20_000 + "' | wc -c", 0, "40001"),
        ("a=$(head -c 60000 /dev/zero | tr '\\0' a); echo ${a//*b/x}", 1, "value too long"),
        ("(" * 100_000, 1, "nested too deeply"),
        ("echo " + "$(" * 100_000, 1, "nested too deeply"),
        ("f() { f; }; f", 1, "nested too deeply"),
        ("f() { f | f & }; f; wait", 0, ""),
        ("while :; do sleep 0 & done", 1, "can't fork"),
        ("a=x; while :; do a=$a$a; done", 1, "value too long"),
        ("printf %1000000000d 1 | wc -c", 0, "10000"),
        ("sort /dev/zero", 1, "out of memory"),
        ("cat /dev/zero | head -c 5 | wc -c", 0, "5"),
        ("echo $((9223372036854775807 * 9223372036854775807 << 99999))", 0, ""),
        ("set -- $(seq 1 200000); echo $#", 1, "argument list too long"),
        ("cd /; echo " + "*/" * 300 + "*", 0, "*/*"),
        ("mkdir -p /sdcard/" + "d/" * 2000, 1, "File name too long"),
        ("nosuch 2<<E\nab\nE", 127, ""),
        ("nosuch 3<<E 2>&3\nE", 127, ""),
        ("echo a 1<<E\nE", 0, ""),
        ("read a 0>&1", 1, ""),
        ("echo a | cat 0>&1 | cat", 0, ""),
    ],
)
def test_a_hostile_script_ends_with_an_error(phone: Phone, script: str, status: int, message: str) -> None:
    began = time.process_time()
    ran = run(phone, script)
    assert time.process_time() - began < 30  # a second or two; a limit that does not hold takes for ever
    assert ran.code == status
    assert message in ran.out + ran.err
    assert run(phone, "echo fine").out == "fine\n"
