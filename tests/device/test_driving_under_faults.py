"""Driving under every fault: no hang, no wrong success, a typed error with a hint, and recovery afterwards."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from clawperator.device.backends import operator_link
from clawperator.device.discovery import resolve_device
from clawperator.errors import CODES
from clawperator.phone.core.faults import FAULTS
from tests.device.phone_servers import running_phone_server
from tests.support.adb_services import exec_out
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, clawperator

TIMEOUT_MS = 1_500
# What a command may take beyond its timeout: five seconds of grace for the result, and a slow machine.
SLACK_SECONDS = 5 + HANG_SECONDS

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("snapshot",),
    ("open", "com.android.settings"),
    ("click", "--text", "Display"),
    ("read", "--text", "Dark theme"),
    ("click", "--coordinate", "540", "1200"),
    ("press", "home"),
)
# What each fault, turned on, makes of a snapshot: success, or one of these codes.
OUTCOMES: dict[str, tuple[str, ...]] = {
    "operator_killed": ("OPERATOR_NOT_RUNNING",),
    "accessibility_off": ("SERVICE_UNAVAILABLE",),
    "offline": ("DEVICE_OFFLINE",),
    "unauthorized": ("DEVICE_UNAUTHORIZED",),
    "lost_log": ("success", "SNAPSHOT_EXTRACTION_FAILED", "RESULT_ENVELOPE_TIMEOUT"),
    "split_log": ("success", "SNAPSHOT_EXTRACTION_FAILED"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The home of one phone that all tests here share."""
    home = str(tmp_path_factory.mktemp("product"))
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("CLAWPERATOR_HOME", home)
        stack.enter_context(running_phone_server(seed=11))
        patch.undo()
        yield home


@pytest.fixture(autouse=True)
def phone(home: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The phone, well before the test and well after it."""
    monkeypatch.setenv("CLAWPERATOR_HOME", home)
    yield
    for name in FAULTS:
        clawperator("phone", "fault", name, "off", "--device", "claw-1")
    answer = clawperator("snapshot", "--device", "claw-1").json
    assert answer["envelope"]["status"] == "success", "the next command works"


def outcome(ran: Ran) -> str:
    """``success``, or the error code. Every failure has a code and a message."""
    document: dict[str, Any] = ran.json
    envelope = document.get("envelope")
    if envelope is None:
        assert ran.code == 1
        assert document["code"] in CODES
        assert document["message"]
        assert document.get("hint"), document
        return str(document["code"])
    if envelope["status"] == "success":
        assert ran.code == 0
        return "success"
    assert ran.code == 1
    assert envelope["errorCode"] in CODES, envelope
    return str(envelope["errorCode"])


def run(*words: str) -> Ran:
    begin = time.monotonic()
    ran = clawperator(*words, "--timeout", str(TIMEOUT_MS))
    assert time.monotonic() - begin < TIMEOUT_MS / 1000 + SLACK_SECONDS
    return ran


def in_front() -> str:
    (listed,) = clawperator("phone", "list").json["phones"]
    return str(listed["foreground"])


@pytest.mark.parametrize("fault", [name for name in FAULTS if name != "slow_dump"])
def test_a_fault_gives_a_typed_answer_in_time(fault: str) -> None:
    clawperator("phone", "fault", fault, "0.1" if fault == "lost_log" else "on")
    first = outcome(run("snapshot"))
    assert first in OUTCOMES.get(fault, ("success",))
    for words in COMMANDS if first == "success" else COMMANDS[1:2]:
        outcome(run(*words))


@pytest.mark.parametrize("fault", ["latency", "stale_tree", "dropped_tap", "log_noise", "dialog"])
def test_an_app_reported_as_open_is_open(fault: str) -> None:
    clawperator("press", "home")
    clawperator("phone", "fault", fault, "on")
    if outcome(run("open", "com.android.settings")) == "success":
        assert in_front() in ("com.android.settings", "android")


def test_a_lost_touch_is_not_reported_as_a_change() -> None:
    clawperator("open", "com.android.settings")
    clawperator("phone", "fault", "dropped_tap", "1")
    (step,) = run("click", "--coordinate", "540", "1200").json["envelope"]["stepResults"]
    assert step["data"]["effect"] == "unchanged"


def test_a_hierarchy_with_a_lost_line_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_link, "GRACE_SECONDS", 0.1)  # a result that is lost does not come late
    clawperator("phone", "fault", "lost_log", "0.2")
    for _ in range(20):
        ran = run("snapshot")
        if outcome(ran) != "success":
            return
        assert ran.json["envelope"]["stepResults"][0]["data"]["text"].endswith("</hierarchy>")
    raise AssertionError("a fifth of all lines was lost, and nobody noticed")


def test_records_that_were_split_are_put_together_again() -> None:
    whole = clawperator("snapshot").json["envelope"]["stepResults"][0]["data"]["text"]
    clawperator("phone", "fault", "split_log", "0.3")
    answers = [run("snapshot") for _ in range(5)]
    good = [a.json["envelope"]["stepResults"][0]["data"]["text"] for a in answers if outcome(a) == "success"]
    assert good
    assert all(text == whole for text in good)


def test_noise_in_the_log_never_gets_into_a_result() -> None:
    whole = clawperator("snapshot").json["envelope"]["stepResults"][0]["data"]["text"]
    clawperator("phone", "fault", "log_noise", "1")
    for _ in range(3):
        assert run("snapshot").json["envelope"]["stepResults"][0]["data"]["text"] == whole


def test_full_storage_fails_a_recording_with_its_code() -> None:
    clawperator("phone", "fault", "storage_full", "on")
    ran = clawperator("recording", "start", "--session-id", "full")
    assert outcome(ran) == "RECORDING_STORAGE_UNAVAILABLE"


def test_a_phone_that_is_stopped_in_the_middle_is_a_typed_error() -> None:
    pid = clawperator("phone", "start", "other").json["pid"]
    device = resolve_device("other")

    def kill_when_it_works() -> None:
        end = time.monotonic() + HANG_SECONDS
        while b"sleep" not in exec_out(device, "logcat -d", seconds=HANG_SECONDS) and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_when_it_works)
    killer.start()
    begin = time.monotonic()
    ran = clawperator("sleep", "110000", "--device", "other")
    killer.join()
    assert time.monotonic() - begin < HANG_SECONDS
    assert outcome(ran) == "LOGCAT_UNAVAILABLE"
    assert ran.json["broadcastDispatchStatus"] in {"unknown", "sent"}
