"""Actions that the host runs for every backend: closing apps, and files of screenshots."""

import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.device.adb import screencap
from clawperator.device.adb.client import ShellAnswer
from clawperator.device.backends import host_actions
from clawperator.device.backends.host_actions import force_stop, is_running, run_host_action, save_screenshot
from clawperator.errors import ClawError
from tests.device.backends.scripted_shell import DEVICE, ScriptedShell, reply

CLOSE = {"id": "a1", "type": "close_app", "params": {"applicationId": "com.a"}}
SHOT = {"id": "s1", "type": "take_screenshot"}
OLD = "USER PID PPID VSIZE RSS WCHAN PC NAME\nroot 1 0 1 2 x 0 S /init\nu10_a12 71 200 1 2 s 0 S com.a\n"


def device(monkeypatch: pytest.MonkeyPatch, **rules: Any) -> ScriptedShell:
    phone = ScriptedShell(**rules)
    monkeypatch.setattr(host_actions, "run_shell", phone.shell)
    return phone


# Processes


@pytest.mark.parametrize(
    ("listed", "user", "running"),
    [
        ("NAME\nsystem_server\ncom.a\n", None, True),
        ("NAME\ncom.a:remote\n", None, True),
        ("NAME\ncom.ab\nxcom.a\n", None, False),
        ("NAME\n\ncom.b\n", None, False),
        ("NAME\ncom.a\n", "current", True),
        ("USER NAME\nu0_a1 com.a\n", 0, True),
        ("USER NAME\nu0_a1 com.a\n", 10, False),
        ("USER NAME\nu10_a1 com.a\nu0_a1 com.b\n", 10, True),
        ("USER NAME\nu10_a1 com.a\n", 0, False),
        ("USER NAME\nsystem com.a\n", 0, True),
        ("USER NAME\nsystem com.a\n", 1, False),
        ("", None, True),
    ],
)
def test_an_app_runs_when_a_process_of_its_user_has_its_name(
    monkeypatch: pytest.MonkeyPatch, listed: str, user: Any, *, running: bool
) -> None:
    phone = device(monkeypatch, ps=reply(listed))
    assert is_running(DEVICE, "com.a", user=user) is running
    columns = "USER,NAME" if isinstance(user, int) else "NAME"
    assert phone.asked[0] == f"ps -A -o {columns}"
    assert len(phone.asked) == (1 if listed else 2)


@pytest.mark.parametrize(("user", "running"), [(None, True), (10, True), (0, False)])
def test_processes_of_android_7_are_listed_without_options(
    monkeypatch: pytest.MonkeyPatch, user: int | None, *, running: bool
) -> None:
    phone = device(monkeypatch, **{"ps -A": reply("bad pid '-A'\n"), "ps": reply(OLD)})
    assert is_running(DEVICE, "com.a", user=user) is running
    assert phone.asked[1] == "ps"


def test_an_app_may_run_on_a_device_that_does_not_list_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    device(monkeypatch, ps=reply("NAME\ncom.b\n", code=1))
    assert is_running(DEVICE, "com.a") is True

    def fail(*_: object, **__: object) -> ShellAnswer:
        raise ClawError("DEVICE_OFFLINE", "gone")

    monkeypatch.setattr(host_actions, "run_shell", fail)
    assert is_running(DEVICE, "com.a") is True


# Closing apps


@pytest.mark.parametrize(
    ("user", "script"),
    [
        (None, "am force-stop com.a"),
        (10, "am force-stop --user 10 com.a"),
        ("current", "am force-stop --user current com.a"),
    ],
)
def test_an_app_is_closed_for_every_user_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch, user: Any, script: str
) -> None:
    phone = device(monkeypatch)
    force_stop(DEVICE, "com.a", user=user)
    assert phone.asked == [script]


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("Shell does not have permission to access user 150\n", "DEVICE_USER_FORBIDDEN"),
        ("am: not found\n", "DEVICE_SHELL_UNAVAILABLE"),
    ],
)
def test_an_app_that_cannot_be_closed_is_reported(monkeypatch: pytest.MonkeyPatch, stderr: str, code: str) -> None:
    device(monkeypatch, am=reply(err=stderr, code=1))
    with pytest.raises(ClawError) as error:
        force_stop(DEVICE, "com.a")
    assert error.value.code == code
    step = run_host_action(DEVICE, CLOSE, "c")
    assert (step.success, step.data["error"], "path" in step.data) == (False, code, False)


@pytest.mark.parametrize(
    ("listed", "data"),
    [
        ("NAME\ncom.a\n", {"application_id": "com.a"}),
        ("NAME\ncom.b\n", {"application_id": "com.a", "was_running": "false"}),
    ],
)
def test_closing_an_app_reports_whether_it_ran(
    monkeypatch: pytest.MonkeyPatch, listed: str, data: dict[str, str]
) -> None:
    phone = device(monkeypatch, ps=reply(listed))
    step = run_host_action(DEVICE, CLOSE, "c")
    assert (step.id, step.actionType, step.success, step.data) == ("a1", "close_app", True, data)
    assert phone.asked == ["ps -A -o NAME", "am force-stop com.a"]
    assert phone.seconds == [10.0, 10.0]


# Screenshots


def test_a_screenshot_is_written_and_its_path_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screencap, "capture_png", lambda _: b"png")
    path = tmp_path / "a.png"
    step = run_host_action(DEVICE, SHOT | {"params": {"path": str(path)}}, "c")
    assert (step.success, step.data, path.read_bytes()) == (True, {"path": str(path)}, b"png")
    lost = run_host_action(DEVICE, SHOT | {"params": {"path": str(tmp_path / "none" / "a.png")}}, "c")
    assert (lost.success, lost.data["path"]) == (False, str(tmp_path / "none" / "a.png"))


def test_a_screenshot_that_cannot_be_taken_is_a_failed_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> bytes:
        raise ClawError("DEVICE_OFFLINE", "gone", hint="Connect it.")

    monkeypatch.setattr(screencap, "capture_png", fail)
    step = run_host_action(DEVICE, SHOT, "c")
    assert step.data == {"error": "DEVICE_OFFLINE", "message": "gone", "hint": "Connect it."}


def test_a_screenshot_without_a_path_has_the_id_and_the_time_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setattr(host_actions, "time", SimpleNamespace(time_ns=lambda: 1_700_000_000_123_456_789))
    path = Path(save_screenshot(b"png", None, f"a-_.b/c ä{'x' * 60}"))
    assert path.parent == tmp_path / "screenshots"
    assert re.fullmatch(f"clawperator-screenshot-a-_.b_c_ä{'x' * 31}-1700000000123-[0-9a-f]+.png", path.name)
    assert path.read_bytes() == b"png"


def test_a_file_that_cannot_be_written_has_the_next_step_as_its_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(b"")
    Path("link.png").symlink_to("file")
    Path("folder").mkdir()

    def hint(path: str | None) -> str:
        with pytest.raises(ClawError) as error:
            save_screenshot(b"png", path, "c")
        assert error.value.code == "SCREENSHOT_NOT_SAVED"
        return error.value.hint

    assert hint("no folder/a.png") == "Create the folder no folder first, or choose another path."
    assert hint("link.png") == f"Choose the file itself: {os.path.realpath('file')}."
    assert hint("folder") == "Choose another path: the name of a new file or of a regular file."
    assert hint("file/a.png") == "Check the permissions of the folder file, or choose another path."
    assert hint(f"{'x' * 300}.png") == "Check the permissions of the folder ., or choose another path."
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "file"))
    assert hint(None) == "Set CLAWPERATOR_HOME to a writable folder, or choose another file."
