"""Kills at random moments: nothing that was reported is lost, and no file is incomplete.

Each round starts a process of the product, kills it with SIGKILL after a random time, and checks what is left.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from random import Random
from unittest.mock import patch

from clawperator import start_phone
from clawperator.phone.process.launch import stop_phone
from clawperator.recording.export import export_recording, read_export
from soak.recordings import RECORDING
from soak.runner import Run, require
from tests.agent.sessions.test_crashes import check_after_kills
from tests.support.running import clawperator

_EVENTS = 4_000
_WAIT_SECONDS = 60.0
_CLI = "from clawperator.cli.main import main; main()"


def run_kills(run: Run) -> None:
    rounds = (_kill_writer, _kill_export, _kill_pull, _kill_phone, _kill_exec)
    number = 0
    while run.goes_on():
        for act in rounds:
            if not run.goes_on():
                return
            number += 1
            folder = run.folder / str(number)
            folder.mkdir()
            seed = run.random.random()
            run.check(
                act.__name__.removeprefix("_"),
                str(seed).encode(),
                lambda _, act=act, folder=folder, seed=seed: act(folder, Random(seed)),  # type: ignore[misc]
                may_refuse=False,
            )
            shutil.rmtree(folder, ignore_errors=True)


def _killed(random: Random, argv: list[str], seconds: float) -> int:
    """Start a program, kill it within ``seconds``, and return its exit code."""
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        with suppress(subprocess.TimeoutExpired):
            child.wait(random.random() * seconds)
        child.kill()
        return child.wait(_WAIT_SECONDS)


def _command(*argv: str) -> list[str]:
    return [sys.executable, "-c", _CLI, *argv]


def _kill_writer(folder: Path, random: Random) -> None:
    check_after_kills(folder, 2, random)


def _kill_export(folder: Path, random: Random) -> None:
    """The file of an export is absent, the one from before, or complete."""
    source, out = folder / "big.ndjson", folder / "out.json"
    header, *events = RECORDING.splitlines(keepends=True)
    lines = (json.loads(events[i % len(events)]) | {"seq": i, "ts": 1_700_000_000_000 + i} for i in range(_EVENTS))
    source.write_bytes(header + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    before = b""
    if random.random() < 0.5:
        (folder / "small.ndjson").write_bytes(RECORDING)
        export_recording(str(folder / "small.ndjson"), str(out))
        before = out.read_bytes()
    argv = _command("recording", "export", "--input", str(source), "--out", str(out), "--snapshots", "include")
    _killed(random, argv, 0.5)
    if out.exists() and out.read_bytes() != before:
        require(len(read_export(out.read_bytes()).events) == _EVENTS, "an export is complete or not there")


def _in_home(folder: Path) -> AbstractContextManager[object]:
    variables = {"HOME": str(folder), "CLAWPERATOR_HOME": str(folder / "home"), "ADB_PATH": str(folder / "no-adb")}
    return patch.dict(os.environ, {**variables, "ANDROID_ADB_SERVER_PORT": "1"})


def _ok(*argv: str) -> bytes:
    ran = clawperator(*argv)
    require(ran.code == 0, f"a command without a kill succeeds: {ran.out[:400]!r}")
    return ran.out


def _kill_pull(folder: Path, random: Random) -> None:
    """A pulled recording is absent or complete."""
    with _in_home(folder), start_phone("soak"):
        _record_some(random.randint(1, 3))
        _ok("recording", "stop", "--session-id", "demo")
        out = folder / "pulled"
        _killed(random, _command("recording", "pull", "--session-id", "demo", "--out", str(out)), 0.4)
        whole = json.loads(_ok("recording", "pull", "--session-id", "demo", "--out", str(folder / "again")))
        expected = Path(whole["localPath"]).read_bytes()
        for path in out.rglob("*.ndjson") if out.is_dir() else ():
            require(path.read_bytes() == expected, "a pulled recording is complete or not there")


def _record_some(count: int) -> None:
    _ok("recording", "start", "--session-id", "demo")
    for _ in range(count):
        _ok("open", "com.android.settings")
        _ok("click", "--text", "Display")
        _ok("back")


def _kill_phone(folder: Path, random: Random) -> None:
    """Events of acknowledged actions survive the phone's process, and each line is whole."""
    with _in_home(folder):
        process = start_phone("soak")
        try:
            clicks = random.randint(1, 3)
            _record_some(clicks)
            time.sleep(random.random() * 0.05)
            os.kill(process.pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(process.pid, 0)
            require(start_phone("soak").recovered, "a phone that was killed starts with its files")
            pulled = json.loads(_ok("recording", "pull", "--session-id", "demo", "--out", str(folder / "out")))
            lines = Path(pulled["localPath"]).read_bytes().split(b"\n")
            events = [json.loads(line) for line in lines[:-1]]
            found = sum(event["type"] == "click" for event in events)
            require(found >= clicks, f"acknowledged events are kept: {found} of {clicks}")
        finally:
            stop_phone("soak")


def _kill_exec(folder: Path, random: Random) -> None:
    """After a killed command the next one succeeds, or fails with a code and the name of what still runs."""
    with _in_home(folder), start_phone("soak"):
        _ok("open", "com.android.settings")
        _killed(random, _command("scroll-until", "--text", "Nowhere", "--timeout", "4000"), 0.8)
        ran = clawperator("snapshot", "--timeout", "8000")
        document = json.loads(ran.out)
        if ran.code:
            busy = ("EXECUTION_CONFLICT_IN_FLIGHT", "COMMAND_TIMEOUT", "RESULT_ENVELOPE_TIMEOUT")
            code = document.get("code") or document.get("envelope", {}).get("errorCode")
            require(code in busy, f"a command after a kill fails with a code of a busy device: {ran.out[:400]!r}")
        _ok("press", "home", "--timeout", "20000")
