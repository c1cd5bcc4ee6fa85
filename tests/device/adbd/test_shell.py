"""The shell of a real adbd: exit codes, streams, large output, and what happens when it goes away."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shlex import quote

import pytest

from clawperator._base.deadline import Deadline
from clawperator.device.adb.client import run_shell
from clawperator.device.adb.sync import TransferError, pull_file
from clawperator.errors import ClawError
from tests.support.adb_services import InputStream, exec_out
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS, wait_until
from tests.support.real_adbd import AdbdPhone

SECONDS = 30.0
LARGE = 10_000_000


@pytest.mark.parametrize(
    ("script", "code"),
    [("true", 0), ("exit 1", 1), ("exit 255", 255), ("no-such-program", 127), ("kill -9 $$", 137)],
)
def test_exit_codes(script: str, code: int, phone: AdbdPhone) -> None:
    assert run_shell(phone.device, script, seconds=SECONDS).code == code


def test_stdout_and_stderr_are_separate(phone: AdbdPhone) -> None:
    script = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done; exit 3"
    answer = run_shell(phone.device, script, seconds=SECONDS)
    assert answer.code == 3
    assert answer.stdout.decode().splitlines() == [f"out {i}" for i in range(200)]
    assert answer.stderr.decode().splitlines() == [f"err {i}" for i in range(200)]


def test_the_raw_service_merges_them(phone: AdbdPhone) -> None:
    assert exec_out(phone.device, "echo out; echo err >&2; exit 3", seconds=SECONDS) == b"out\nerr\n"


def test_large_output_is_complete(phone: AdbdPhone) -> None:
    data = os.urandom(LARGE)
    file = phone.doubles.folder / "large"
    file.write_bytes(data)
    answer = run_shell(phone.device, f"/usr/bin/cat {file}; echo end >&2; exit 7", seconds=SECONDS)
    assert (answer.code, answer.stderr) == (7, b"end\n")
    assert answer.stdout == data
    assert exec_out(phone.device, f"/usr/bin/cat {file}", seconds=SECONDS) == data


def test_output_without_an_end_is_cut_off(phone: AdbdPhone) -> None:
    with pytest.raises(ClawError, match="more than 100000 bytes of output") as error:
        run_shell(phone.device, "/usr/bin/yes", seconds=SECONDS, max_bytes=100_000)
    assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"


def test_every_byte_value_arrives(phone: AdbdPhone) -> None:
    data = bytes(range(256)) * 40
    file = phone.doubles.folder / "bytes"
    file.write_bytes(data)
    assert run_shell(phone.device, f"/usr/bin/cat {file}", seconds=SECONDS).stdout == data
    assert exec_out(phone.device, f"/usr/bin/cat {file}", seconds=SECONDS) == data


def test_a_command_reads_its_input_to_the_end(phone: AdbdPhone) -> None:
    data = bytes(range(256)) * 4_000
    with InputStream(phone.device, f"/usr/bin/head -c {len(data)}", Deadline(SECONDS)) as stream:
        sender = threading.Thread(target=stream.send, args=(data,))
        sender.start()
        assert b"".join(block for _, block in stream.packets()) == data
        sender.join()
    with InputStream(phone.device, "/usr/bin/cat", Deadline(SECONDS)) as stream:
        stream.send(b"all of it")
        stream.end_input()
        assert b"".join(block for _, block in stream.packets()) == b"all of it"
        assert stream.code == 0


def test_commands_run_at_the_same_time(phone: AdbdPhone) -> None:
    folder = phone.doubles.folder / "seen"
    folder.mkdir()
    phone.doubles.script("input", f': >{quote(str(folder))}/"$last"; exit "$last"')

    def answer(number: int) -> tuple[int, str]:
        answer = run_shell(phone.device, f"echo {number}; input text {number}", seconds=SECONDS)
        return answer.code, answer.text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, range(40))) == [(number, f"{number}\n") for number in range(40)]
    assert len(list(folder.iterdir())) == 40


def test_a_command_that_takes_too_long_is_reported(phone: AdbdPhone) -> None:
    with pytest.raises(ClawError, match="timeout") as error:
        run_shell(phone.device, f"sleep {NEVER_SECONDS}", seconds=0.3)
    assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"


# adbd goes away


def while_running(phone: AdbdPhone, call: Callable[[str], object], then: Callable[[], object]) -> ClawError:
    """The error of a call with a script, when something happens while the script runs."""
    started = phone.doubles.folder / "started"
    script = f"echo partial; : >{quote(str(started))}; /usr/bin/sleep {NEVER_SECONDS}"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call, script)
        wait_until(started.exists)
        then()
        error = running.exception(HANG_SECONDS)
    assert isinstance(error, ClawError)
    return error


def test_a_device_that_goes_away_and_comes_back(own: AdbdPhone) -> None:
    error = while_running(own, lambda script: run_shell(own.device, script, seconds=NEVER_SECONDS), own.adbd.stop)
    # The code depends on whether adb has noticed the loss of the device yet.
    assert error.code in ("DEVICE_SHELL_UNAVAILABLE", "DEVICE_OFFLINE", "DEVICE_NOT_FOUND")
    assert "closed" in error.message or error.code != "DEVICE_SHELL_UNAVAILABLE"
    with pytest.raises(ClawError) as gone:
        run_shell(own.device, "true", seconds=SECONDS)
    assert gone.value.code in ("DEVICE_NOT_FOUND", "DEVICE_OFFLINE")
    own.adbd.start()
    own.adb.run("disconnect", own.adbd.serial)
    own.adb.output("connect", own.adbd.serial)
    own.adb.wait_for_state(own.adbd.serial, "device", connects=True)
    assert run_shell(own.device, "echo back", seconds=SECONDS).text == "back\n"


def test_a_server_that_ends_during_a_command(own: AdbdPhone) -> None:
    error = while_running(
        own,
        lambda script: run_shell(own.device, script, seconds=NEVER_SECONDS),
        lambda: own.adb.run("kill-server"),
    )
    assert error.code == "DEVICE_SHELL_UNAVAILABLE"


def test_a_pull_that_is_cut_off_leaves_no_file(own: AdbdPhone, tmp_path: Path) -> None:
    (own.doubles.root / "sdcard/endless").symlink_to("/dev/zero")
    folder = tmp_path / "pulled"
    folder.mkdir()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(pull_file, own.device, "/sdcard/endless", f"{folder}/file", seconds=NEVER_SECONDS)
        wait_until(lambda: any(file.stat().st_size for file in folder.iterdir()))
        own.adbd.stop()
        error = running.exception(HANG_SECONDS)
    assert isinstance(error, TransferError)
    assert list(folder.iterdir()) == []
