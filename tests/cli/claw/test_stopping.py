"""Deadlines and interrupts of the commands that act: exit codes, whole documents, and what the phone still runs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.home import product_home
from clawperator.engine.clock import SystemClock
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, claw, claw_json, cut_off

pytestmark = pytest.mark.usefixtures("folder")

PROCESS = "import sys; from clawperator.cli.main import claw; sys.exit(claw())"
LATE = "100000"  # milliseconds; far longer than any test
SLEEP = f'{{"durationMs": {LATE}}}'
WAIT = '{"matcher": {"textEquals": "Atlantis"}, "retry": {}, "timeoutMs": 60000}'

# A call of each command that runs until it is stopped.
RUNNING: dict[str, tuple[str, ...]] = {
    "exec-tool": ("exec-tool", "sleep", SLEEP),
    "exec-command": ("exec-command", "sleep", LATE),
    "bootstrap": ("bootstrap", "wait 100 seconds", "--session-id", "s"),
    "turn-loop": ("turn-loop", "wait 100 seconds", "--session-id", "s"),
}


@pytest.fixture
def _phone() -> Iterator[None]:
    with running_phone_server(clock=SystemClock):
        yield


def _works(path: Path) -> bool:
    record = path.read_bytes().partition(b"\n")[0]
    return bool(record) and bool(json.loads(record)["operatorPid"])


def _interrupt(*argv: str, number: signal.Signals = signal.SIGINT) -> tuple[int, bytes, str]:
    """Run a command in a process of its own, and send it a signal once the phone works on it."""
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as child:
        end = time.monotonic() + HANG_SECONDS
        while not any(_works(path) for path in Path(product_home(), "leases").glob("*")):
            assert time.monotonic() < end
            assert child.poll() is None, child.communicate()
            time.sleep(0.01)
        child.send_signal(number)
        out, err = child.communicate(timeout=HANG_SECONDS)
    return child.returncode, out, err.decode()


# --- the deadline


def _during(ran: Ran) -> bool:
    """Whether the time limit ended a step that had begun."""
    return bool(ran.json["error"]["details"]["phase"] == "during")


@pytest.mark.usefixtures("_phone")
@pytest.mark.parametrize(
    ("argv", "operation"),
    [
        (("exec-tool", "sleep", SLEEP), "sleep"),
        (("exec-tool", "wait_for_node", WAIT), "wait_for_node"),
        (("exec-command", "sleep", LATE), "sleep"),
        (("exec-command", "wait", "--text Atlantis --timeout 60000"), "wait_for_node"),
        (("exec-tool", "sleep", SLEEP, "--backend", "adb"), "sleep"),
    ],
)
def test_a_deadline_within_a_step_is_a_timeout_of_the_command(argv: tuple[str, ...], operation: str) -> None:
    ran = cut_off(lambda seconds: claw_json(*argv, "--timeout-seconds", seconds), _during)
    document, error = ran.json, ran.json["error"]
    assert (ran.code, error["kind"], error["code"]) == (2, "timeout", "TURN_TIMEOUT")
    assert (document["name"], document["handled"], document["cancel_observed"]) == (argv[1], False, True)
    assert (error["operation"], error["target"]) == (operation, "claw-1")
    assert (error["details"]["phase"], error["retryable"]) == ("during", True)
    assert error["message"] == f"the time limit was reached during {argv[1]}"
    assert error["hint"] == "Run it again with a larger --timeout-seconds."


@pytest.mark.usefixtures("_phone")
@pytest.mark.parametrize("seconds", ["0", "0.001", "0.5"])
@pytest.mark.parametrize("argv", [("exec-tool", "press_key", '{"key": "home"}'), ("exec-command", "sleep", LATE)])
def test_a_deadline_before_the_step_says_that_nothing_began(argv: tuple[str, ...], seconds: str) -> None:
    ran = claw_json(*argv, "--timeout-seconds", seconds)
    error = ran.json["error"]
    assert (ran.code, error["code"], ran.json["cancel_observed"]) == (2, "TURN_TIMEOUT", True)
    assert (error["details"]["phase"], error["retryable"]) == ("before", True)


@pytest.mark.usefixtures("_phone")
def test_a_deadline_within_a_step_that_acts_is_not_retryable() -> None:
    plan = [{"type": "press_key", "params": {"key": "home"}}, {"type": "sleep", "params": {"durationMs": 100_000}}]
    argv = ("exec-tool", "run_execution", json.dumps({"actions": plan}))
    error = cut_off(lambda seconds: claw_json(*argv, "--timeout-seconds", seconds), _during).json["error"]
    assert (error["code"], error["retryable"]) == ("TURN_TIMEOUT", False)
    assert "what is on the screen" in error["hint"]


@pytest.mark.usefixtures("_phone")
def test_the_error_of_a_step_that_ended_before_the_deadline_stays_its_own() -> None:
    read = '{"matcher": {"textEquals": "Nowhere"}, "retry": {}}'
    ran = claw_json("exec-tool", "read_text", read, "--timeout-seconds", "60")
    assert (ran.code, ran.json["error"]["code"]) == (1, "NODE_NOT_FOUND")
    assert "cancel_observed" not in ran.json


@pytest.mark.usefixtures("_phone")
def test_in_text_mode_a_deadline_exits_2_too() -> None:
    ran = cut_off(
        lambda seconds: claw("exec-tool", "sleep", SLEEP, "--timeout-seconds", seconds),
        lambda ran: ran.err.startswith("claw: error: the time limit was reached during sleep\n"),
    )
    assert (ran.code, ran.out) == (2, b"")


# --- interrupts


def _facts(document: dict[str, Any]) -> dict[str, Any]:
    """The parts of a document that depend on its command."""
    turn = document.get("turn") or (document.get("turns") or [document])[-1]
    return {
        "name": document.get("name"),
        "input": document.get("payload", document.get("prompt")),
        "handled": document.get("handled"),
        "cancel_observed": turn["cancel_observed"],
        "operation": document["error"]["operation"],
        "target": document["error"]["target"],
    }


@pytest.mark.usefixtures("_phone")
@pytest.mark.parametrize("limit", [(), ("--timeout-seconds", "300")], ids=["no limit", "limit"])
@pytest.mark.parametrize("name", RUNNING)
def test_an_interrupt_names_what_the_phone_still_runs(name: str, limit: tuple[str, ...]) -> None:
    code, out, err = _interrupt(*RUNNING[name], *limit, "--output-format", "json")
    document = json.loads(out)
    assert (code, document["exit_code"], err) == (1, 1, "")
    error = document["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("interrupted", "INTERRUPTED", False)
    (running,) = error["details"]["running"]
    assert (running["deviceId"], running["action"]) == ("claw-1", "sleep")
    assert running["since"] < running["until"]
    assert "claw-1 may still run sleep" in error["message"]
    assert "waits until it has finished" in error["hint"]
    is_turn = name in ("bootstrap", "turn-loop")
    if is_turn:
        (turn,) = document.get("turns") or [document["turn"]]
        calls = [(call["name"], call["handled"], call["code"]) for call in turn["tool_calls"]]
        assert calls == [("sleep", False, "INTERRUPTED")]
    assert _facts(document) == {
        "name": None if is_turn else "sleep",
        "input": RUNNING[name][1 if is_turn else 2],
        "handled": None if is_turn else False,
        "cancel_observed": False,
        "operation": "turn" if is_turn else name,
        "target": "wait 100 seconds" if is_turn else "sleep",
    }


@pytest.mark.usefixtures("_phone")
@pytest.mark.parametrize("name", RUNNING)
def test_an_interrupt_exits_130_in_text_mode(name: str) -> None:
    code, out, err = _interrupt(*RUNNING[name], number=signal.SIGTERM)
    assert code == 130
    assert (
        "claw-1 may still run sleep" in err + out.decode() or "waits until it has finished" in err + out.decode()
    )


def test_a_phone_that_the_host_drives_stops_with_the_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adb backend sends its actions one by one, so nothing runs on."""
    script = (
        "import os, signal, sys, threading\n"
        "from clawperator.cli.main import claw\n"
        "from clawperator.device.backends import adb\n"
        "sleep = adb.WatchedClock.sleep\n"
        "def interrupted(clock, seconds):\n"
        "    if seconds > 1:\n"
        "        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "    sleep(clock, seconds)\n"
        "adb.WatchedClock.sleep = interrupted\n"
        "sys.exit(claw())\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    with running_phone_server():
        for argv in (RUNNING["exec-tool"], RUNNING["bootstrap"]):
            ran = subprocess.run(
                [sys.executable, "-c", script, *argv, "--backend", "adb", "--output-format", "json"],
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                timeout=HANG_SECONDS,
                check=False,
            )
            document = json.loads(ran.stdout)
            assert document["error"]["code"] == "INTERRUPTED"
            assert "details" not in document["error"]
            assert _facts(document)["cancel_observed"] is True


def test_an_interrupt_while_stdin_is_read_gives_a_whole_document() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS, "exec-tool", "sleep", "-", "--output-format", "json"],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as child:
        end = time.monotonic() + HANG_SECONDS
        while b"sigint" not in _caught(child.pid) and time.monotonic() < end:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=HANG_SECONDS)
    document = json.loads(out)
    assert (document["error"]["code"], document["exit_code"]) == ("INTERRUPTED", 1)
    assert (document["name"], document["payload"], document["handled"]) == ("sleep", None, False)
    assert (document["cancel_observed"], document["error"]["retryable"]) == (True, True)


def _caught(pid: int) -> bytes:
    """``sigint`` once the process waits for stdin: it reads from the pipe and has its handlers."""
    wait = Path(f"/proc/{pid}/wchan").read_bytes()
    return b"sigint" if b"pipe" in wait else b""


# --- what was done before


def test_a_failure_after_an_effect_is_not_retryable() -> None:
    prompt = "open notes, tap Add note, type X into Title, tap Save, tap Frobnicate"
    with running_phone_server():
        error = claw_json("bootstrap", prompt).json["error"]
    assert (error["code"], error["retryable"]) == ("NODE_NOT_FOUND", False)
    assert "again" not in error["hint"]
