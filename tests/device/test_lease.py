import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from clawperator.device.lease import lease
from clawperator.errors import ClawError
from tests.support.hanging import HANG_SECONDS


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))


def test_a_held_lease_names_its_holder() -> None:
    with lease("a", "click-1", 0), pytest.raises(ClawError) as error, lease("a", "click-2", 0.01):
        pass
    assert error.value.code == "EXECUTION_CONFLICT_IN_FLIGHT"
    assert error.value.details == {"deviceId": "a", "commandId": "click-1", "pid": os.getpid()}
    assert error.value.retryable


def test_other_phones_are_free() -> None:
    with lease("a", "click-1", 0), lease("b", "click-2", 0):
        pass


def test_a_lease_can_be_taken_again_once_it_is_let_go() -> None:
    for number in range(3):
        with lease("a", f"click-{number}", 0):
            pass


def test_a_waiting_process_gets_the_lease_on_release() -> None:
    held, got = threading.Event(), threading.Event()

    def wait() -> None:
        held.wait(HANG_SECONDS)
        with lease("a", "second", HANG_SECONDS):
            got.set()

    thread = threading.Thread(target=wait)
    thread.start()
    with lease("a", "first", 0):
        held.set()
        time.sleep(0.05)
        assert not got.is_set()
    thread.join(HANG_SECONDS)
    assert got.is_set()


def test_a_failure_inside_lets_go() -> None:
    with pytest.raises(ZeroDivisionError), lease("a", "bad", 0):
        raise ZeroDivisionError
    with lease("a", "good", 0):
        pass


def test_a_holder_that_is_killed_lets_go() -> None:
    script = (
        "from clawperator.device.lease import lease\nwith lease('a', 'dead', 0):\n print(flush=True)\n input()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ClawError) as error, lease("a", "living", 0):
            pass
        assert (error.value.details or {})["commandId"] == "dead"
        os.kill(holder.pid, signal.SIGKILL)
    with lease("a", "living", 1):
        pass


def test_no_serial_leads_out_of_the_folder(tmp_path: Path) -> None:
    with lease("../../[fe80::1%eth0]:5555", "a", 0):
        pass
    assert len(os.listdir(tmp_path / "leases")) == 1
    assert os.listdir(tmp_path) == ["leases"]
