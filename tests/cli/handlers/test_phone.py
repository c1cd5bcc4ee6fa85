"""``clawperator phone``: phones in their own processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.home import PhoneFolder
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, clawperator, without_bytecode


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A product home of its own; whatever still runs in it at the end is stopped."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))
    yield tmp_path / "product"
    clawperator("phone", "stop", "--all")


def start(*arguments: str) -> dict[str, Any]:
    ran = clawperator("phone", "start", *arguments)
    assert ran.code == 0, ran.out
    answer: dict[str, Any] = ran.json
    return answer


def refused(ran: Ran, code: str) -> dict[str, Any]:
    assert ran.code == 1, ran.out
    assert ran.json["code"] == code
    assert ran.json["hint"]
    error: dict[str, Any] = ran.json
    return error


def ask_server(port: int, request: str) -> bytes:
    """The answer of the adb server port."""
    with socket.create_connection(("127.0.0.1", port), HANG_SECONDS) as connection:
        connection.sendall(f"{len(request):04x}{request}".encode())
        connection.settimeout(HANG_SECONDS)
        answer = b""
        while block := connection.recv(4_096):
            answer += block
        return answer


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with suppress(ChildProcessError):  # a child of these tests stays a zombie until it is waited for
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


def test_a_phone_starts_answers_and_stops_and_leaves_nothing_running() -> None:
    answer = start()
    assert answer["serial"] == "claw-1"
    assert answer["recovered"] is False
    assert answer["connect"] == f"adb connect 127.0.0.1:{answer['adbd']['port']}"
    assert b"claw-1\tdevice" in ask_server(answer["server"]["port"], "host:devices")
    (listed,) = clawperator("phone", "list").json["phones"]
    assert listed["state"] == "running"
    assert listed["answering"] is True
    assert listed["foreground"] == "com.android.launcher3"
    stopped = clawperator("phone", "stop")
    assert stopped.json == {"serial": "claw-1", "state": "stopped", "wasRunning": True, "crashed": False}
    wait_until_gone(answer["pid"])
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", answer["adbd"]["port"]), 1)


def test_a_phone_outlives_the_shell_that_started_it(home: Path) -> None:
    command = f"{Path(sys.executable).parent}/clawperator phone start --output json"
    ran = subprocess.run(
        ["bash", "-c", f"setsid -w bash -c '{command}'"],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "CLAWPERATOR_HOME": str(home)},
    )
    answer = json.loads(ran.stdout)
    assert b"claw-1\tdevice" in ask_server(answer["server"]["port"], "host:devices")
    assert os.getsid(answer["pid"]) == answer["pid"]


def test_several_phones_run_at_once_and_one_must_be_named() -> None:
    first, second = start("one"), start("two", "--seed", "9")
    assert first["pid"] != second["pid"]
    assert second["seed"] == 9
    error = refused(clawperator("phone", "stop"), "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED")
    assert error["details"]["devices"] == ["one", "two"]
    refused(clawperator("phone", "fault"), "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED")
    assert clawperator("phone", "fault", "latency", "5", "--device", "two").json["value"] == 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_DEVICE_ID", "two")
        assert clawperator("phone", "fault").json["serial"] == "two"
        assert clawperator("phone", "reset").json["serial"] == "two"
        assert clawperator("phone", "reset", "one").json["serial"] == "one"
        refused(clawperator("phone", "delete"), "USAGE")
    assert clawperator("phone", "stop", "one").code == 0
    assert clawperator("phone", "stop", "--all").json == {"stopped": ["two"]}


def test_a_second_start_of_the_same_phone_is_refused_with_its_address() -> None:
    answer = start()
    error = refused(clawperator("phone", "start"), "PHONE_ALREADY_RUNNING")
    assert error["details"]["adbd"] == answer["adbd"]


def test_a_crashed_phone_is_noticed_and_keeps_its_files() -> None:
    answer = start()
    files = Path(PhoneFolder("claw-1").files)
    (files / "storage/emulated/0/Download/kept.txt").write_text("kept")
    os.kill(answer["pid"], signal.SIGKILL)
    wait_until_gone(answer["pid"])
    (listed,) = clawperator("phone", "list").json["phones"]
    assert listed["state"] == "crashed"
    error = refused(clawperator("phone", "fault", "--device", "claw-1"), "PHONE_NOT_RUNNING")
    assert "crashed" in error["message"]
    again = start()
    assert again["recovered"] is True
    assert (files / "storage/emulated/0/Download/kept.txt").read_text() == "kept"


def test_a_phone_that_does_not_answer_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = start()
    os.kill(answer["pid"], signal.SIGSTOP)
    monkeypatch.setattr("clawperator.phone.process.launch._STOP_SECONDS", 0.3)
    assert clawperator("phone", "stop").json == {
        "serial": "claw-1",
        "state": "stopped",
        "wasRunning": True,
        "crashed": True,
    }
    wait_until_gone(answer["pid"])
    assert clawperator("phone", "list").json["phones"][0]["state"] == "stopped"


def test_a_phone_whose_address_is_lost_can_still_be_stopped() -> None:
    answer = start()
    (Path(PhoneFolder("claw-1").path) / "phone.json").unlink()
    assert clawperator("phone", "stop").json["wasRunning"] is True
    wait_until_gone(answer["pid"])


def test_a_phone_ended_by_a_signal_cleans_up() -> None:
    answer = start()
    os.kill(answer["pid"], signal.SIGTERM)
    wait_until_gone(answer["pid"])
    assert clawperator("phone", "list").json["phones"][0]["state"] == "stopped"


def test_reset_keeps_the_ports() -> None:
    answer = start("--fault", "latency=5")
    assert clawperator("phone", "fault").json["faults"]["latency"]["value"] == 5
    file = Path(PhoneFolder("claw-1").files) / "storage/emulated/0/Download/gone.txt"
    file.write_text("gone")
    assert clawperator("phone", "reset").json == {"serial": "claw-1", "state": "running", "reset": True}
    assert not file.exists()
    assert clawperator("phone", "fault").json["faults"]["latency"]["value"] == 0
    assert b"claw-1\tdevice" in ask_server(answer["server"]["port"], "host:devices")


def test_a_stopped_phone_is_deleted_with_its_files(home: Path) -> None:
    start("shop")
    clawperator("phone", "stop", "shop")
    assert clawperator("phone", "delete", "shop").json == {"serial": "shop", "deleted": True, "wasRunning": False}
    assert clawperator("phone", "list").json["phones"] == []
    assert os.listdir(home / "phones") == []


def test_a_running_phone_is_deleted_only_by_force() -> None:
    answer = start("shop")
    error = refused(clawperator("phone", "delete", "shop"), "PHONE_ALREADY_RUNNING")
    assert "--force" in error["hint"]
    assert PhoneFolder("shop").state() == "running"
    assert clawperator("phone", "delete", "shop", "--force").json["wasRunning"] is True
    wait_until_gone(answer["pid"])
    assert clawperator("phone", "list").json["phones"] == []


def test_deleting_removes_nothing_outside_the_folder_of_phones(tmp_path: Path, home: Path) -> None:
    start("shop")
    clawperator("phone", "stop", "shop")
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    (home / "phones" / "shop" / "files" / "link").symlink_to(kept)
    (home / "phones" / "linked").symlink_to(kept)
    for name in ("shop", "linked"):
        assert clawperator("phone", "delete", name).json["deleted"] is True
    assert clawperator("phone", "delete", "../../kept").json["code"] == "USAGE"
    assert (kept / "file").read_text() == "kept"
    assert os.listdir(home / "phones") == []


def test_of_two_starts_at_once_one_is_refused_with_a_hint() -> None:
    command = [f"{Path(sys.executable).parent}/clawperator", "phone", "start", "race", "--output", "json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    answers = [json.loads(process.communicate(timeout=HANG_SECONDS)[0]) for process in both]
    assert sorted(process.returncode for process in both) == [0, 1]
    (error,) = [answer for answer in answers if "code" in answer]
    assert error["code"] == "PHONE_ALREADY_RUNNING"
    assert "phone stop race" in error["hint"]
    assert clawperator("phone", "list").json["phones"][0]["state"] == "running"


def test_an_unknown_fault_is_refused_with_the_names_also_without_a_setting() -> None:
    for words in (("nope",), ("nope", "on")):
        error = refused(clawperator("phone", "fault", *words), "PHONE_FAULT_INVALID")
        assert "latency" in error["hint"]


def test_faults_are_set_while_it_runs_even_those_that_block_adb() -> None:
    answer = start()
    clawperator("phone", "fault", "offline", "on")
    assert b"claw-1\toffline" in ask_server(answer["server"]["port"], "host:devices")
    clawperator("phone", "fault", "offline", "off")
    clawperator("phone", "fault", "unauthorized", "on")
    assert b"claw-1\tunauthorized" in ask_server(answer["server"]["port"], "host:devices")
    clawperator("phone", "fault", "unauthorized", "off")
    assert b"claw-1\tdevice" in ask_server(answer["server"]["port"], "host:devices")


def test_a_screenshot_is_a_png_file(tmp_path: Path) -> None:
    start()
    path = tmp_path / "screen.png"
    answer = clawperator("phone", "screenshot", "--path", str(path)).json
    assert answer["path"] == str(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert clawperator("phone", "screenshot", "claw-1", "--path", str(path)).json["serial"] == "claw-1"
    assert clawperator("phone", "screenshot", "other").json["code"] == "PHONE_NOT_FOUND"
    error = clawperator("phone", "screenshot", "--path", str(tmp_path / "no" / "such" / "folder.png"))
    assert error.json["code"] == "SCREENSHOT_NOT_SAVED"


def test_an_app_of_ones_own_is_on_the_phone(tmp_path: Path) -> None:
    app = tmp_path / "door.toml"
    app.write_text('package = "com.example.door"\nlabel = "Door"\n[[screen]]\nname = "home"\n')
    answer = start("--app", str(app))
    assert answer["apps"] == [str(app)]
    request = "host:transport-any"
    with (
        socket.create_connection(("127.0.0.1", answer["server"]["port"]), 5) as connection,
        connection.makefile("rb") as stream,
    ):
        for request in ("host:transport-any", "shell:pm list packages com.example"):
            connection.sendall(f"{len(request):04x}{request}".encode())
            assert stream.read(4) == b"OKAY"
        assert stream.read() == b"package:com.example.door\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("start", "../escape"), "USAGE"),
        (("start", "x" * 65), "USAGE"),
        (("start", "--seed", "many"), "USAGE"),
        (("start", "--adbd-port", "70000"), "USAGE"),
        (("start", "--fault", "gravity=1"), "PHONE_FAULT_INVALID"),
        (("start", "--fault", "latency=-1"), "PHONE_FAULT_INVALID"),
        (("start", "--app", "/nonexistent.py"), "PHONE_APP_INVALID"),
        (("stop", "missing"), "PHONE_NOT_FOUND"),
        (("stop",), "PHONE_NOT_FOUND"),
        (("reset",), "PHONE_NOT_FOUND"),
        (("delete", "missing"), "PHONE_NOT_FOUND"),
        (("delete",), "USAGE"),
        (("fault",), "PHONE_NOT_RUNNING"),
        (("fault", "gravity", "on"), "PHONE_FAULT_INVALID"),
        (("screenshot",), "PHONE_NOT_RUNNING"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_typed_error(arguments: tuple[str, ...], code: str) -> None:
    ran = clawperator("phone", *arguments)
    assert ran.code == 1
    assert ran.json["code"] == code


def test_a_broken_app_file_keeps_the_phone_from_starting_with_the_reason(tmp_path: Path) -> None:
    app = tmp_path / "broken.toml"
    app.write_text("package = ")
    error = refused(clawperator("phone", "start", "--app", str(app)), "PHONE_APP_INVALID")
    assert "broken.toml" in error["message"]
    assert clawperator("phone", "list").json["phones"] == []


@pytest.mark.parametrize("content", ["kind = {}", "[" * 30_000, "tries = " + "9" * 5_000, "\0"])
def test_no_app_file_puts_a_traceback_into_the_message(tmp_path: Path, content: str) -> None:
    app = tmp_path / "broken.toml"
    app.write_text(content)
    error = refused(clawperator("phone", "start", "--app", str(app)), "PHONE_APP_INVALID")
    assert "Traceback" not in error["message"]


def test_a_phone_that_was_started_before_keeps_its_files_when_a_later_start_fails(tmp_path: Path) -> None:
    start()
    clawperator("phone", "stop")
    app = tmp_path / "broken.toml"
    app.write_text("package = ")
    refused(clawperator("phone", "start", "--app", str(app)), "PHONE_APP_INVALID")
    assert clawperator("phone", "list").json["phones"][0]["state"] == "stopped"


def test_a_full_disk_keeps_the_phone_from_starting_with_the_reason() -> None:
    """The limit on the size of files has the same effect in the process of the phone."""
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "from clawperator.cli.dispatch import run; sys.exit(run(['phone', 'start']))"
    )
    words = [sys.executable, "-c", script]
    ran = subprocess.run(words, capture_output=True, check=False, timeout=HANG_SECONDS, env=without_bytecode())
    error = json.loads(ran.stdout)
    assert (error["code"], ran.returncode) == ("PHONE_START_FAILED", 1)
    assert "File too large" in error["message"]
    assert clawperator("phone", "list").json["phones"] == []


def test_a_port_in_use_keeps_the_phone_from_starting_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = refused(clawperator("phone", "start", "--adbd-port", str(port)), "PHONE_START_FAILED")
    assert "in use" in error["message"]


def test_only_the_owner_may_read_the_control_token() -> None:
    start()
    record = Path(PhoneFolder("claw-1").path) / "phone.json"
    assert record.stat().st_mode & 0o077 == 0


def test_the_control_socket_refuses_requests_without_the_token() -> None:
    start()
    record = PhoneFolder("claw-1").read()
    assert record is not None
    for line in (b"{}\n", b'{"token":"","command":"stop"}\n', b"garbage\n", b"\xff" * 100_000 + b"\n", b""):
        with socket.create_connection((record.host, record.control_port), 5) as connection:
            connection.settimeout(HANG_SECONDS)
            try:
                connection.sendall(line)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(100) == b""
            except ConnectionError:
                pass  # it hung up before it had read it all
    assert PhoneFolder("claw-1").state() == "running"
    assert clawperator("phone", "stop").json["wasRunning"] is True
