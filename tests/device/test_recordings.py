import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from clawperator._base.deadline import Deadline
from clawperator.device import recordings
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.recordings import PulledRecording, check_session_id, pull_recording
from clawperator.errors import ClawError
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.fast_clock import SkippingClock

PACKAGE = "com.clawperator.operator"
FOLDER = f"/sdcard/Android/data/{PACKAGE}/files/recordings"


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[SimulatedPhone, Device]]:
    with simulated_phone(clock=SkippingClock()) as simulated, simulated.serve() as doors:
        yield simulated, Device("claw-1", Endpoint("127.0.0.1", doors.server_port, simulated=True))


@pytest.fixture
def phone(served: tuple[SimulatedPhone, Device]) -> SimulatedPhone:
    """The phone with two recordings: ``first``, and ``second``, which was finished last."""
    simulated = served[0]
    assert (
        simulated.shell_script(
            f"rm -rf {FOLDER} && mkdir -p {FOLDER} && cd {FOLDER} && echo 1 > first.ndjson"
        ).code
        == 0
    )
    assert simulated.shell_script(f"cd {FOLDER} && echo 2 > second.ndjson && echo second > latest").code == 0
    return simulated


@pytest.fixture
def device(served: tuple[SimulatedPhone, Device], phone: SimulatedPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:  # fmt: skip
    assert phone
    monkeypatch.chdir(tmp_path)
    return served[1]


def refused(device: Device, session: str | None, folder: str = "out", package: str = PACKAGE) -> ClawError:
    with pytest.raises(ClawError) as error:
        pull_recording(device, package, session, folder)
    assert error.value.hint
    return error.value


def test_the_recording_with_this_id_is_pulled(device: Device) -> None:
    assert pull_recording(device, PACKAGE, "first", "out") == PulledRecording(True, "out/first.ndjson", "first")
    assert Path("out/first.ndjson").read_text() == "1\n"


def test_without_an_id_the_one_finished_last_is_pulled(device: Device) -> None:
    assert pull_recording(device, PACKAGE, None, "out").sessionId == "second"
    assert Path("out/second.ndjson").read_text() == "2\n"


@pytest.mark.parametrize(
    ("folder", "local"),
    [
        ("./recordings/", "recordings/first.ndjson"),
        ("a/./b//", "a/b/first.ndjson"),
        (".", "first.ndjson"),
        ("", "first.ndjson"),
    ],
)
def test_the_path_is_reported_in_its_shortest_form(folder: str, local: str, device: Device) -> None:
    assert pull_recording(device, PACKAGE, "first", folder).localPath == local
    assert Path(local).exists()


def test_an_older_copy_is_replaced(device: Device) -> None:
    Path("out").mkdir()
    Path("out/first.ndjson").write_text("old and longer")
    pull_recording(device, PACKAGE, "first", "out")
    assert Path("out/first.ndjson").read_text() == "1\n"
    assert os.listdir("out") == ["first.ndjson"]


@pytest.mark.parametrize("session", ["../first", "a/b", "", "a b", "a.b", "ü", "x" * 129, "first\n"])
def test_an_id_no_recording_can_have_is_not_found(session: str, device: Device) -> None:
    error = refused(device, session)
    assert error.code == "RECORDING_SESSION_NOT_FOUND"
    assert os.listdir() == []


@pytest.mark.parametrize("pointer", ["../../../../etc/passwd", "a/b", "$(reboot)", "x" * 129])
def test_an_id_the_phone_gives_is_checked_like_any_other(
    pointer: str, phone: SimulatedPhone, device: Device
) -> None:
    phone.shell_script(f"printf '%s' '{pointer}' > {FOLDER}/latest")
    assert refused(device, None).code == "RECORDING_SESSION_NOT_FOUND"
    assert os.listdir() == []


def test_a_pointer_of_any_length_is_not_read_whole(phone: SimulatedPhone, device: Device) -> None:
    phone.shell_script(f"head -c 100000 /dev/zero > {FOLDER}/latest")
    assert refused(device, None).code == "RECORDING_PULL_FAILED"


@pytest.mark.parametrize("script", [f"rm {FOLDER}/latest", f"printf ' \\n' > {FOLDER}/latest", f"rm -rf {FOLDER}"])
def test_with_nothing_recorded_there_is_nothing_to_pull(
    script: str, phone: SimulatedPhone, device: Device
) -> None:
    phone.shell_script(script)
    error = refused(device, None)
    assert error.code == "RECORDING_SESSION_NOT_FOUND"
    assert error.message == "No recording session found on device. Start a recording first."


def test_a_recording_that_is_not_there_fails_and_leaves_the_old_copy(device: Device) -> None:
    Path("out").mkdir()
    Path("out/gone.ndjson").write_text("old")
    error = refused(device, "gone")
    assert error.code == "RECORDING_PULL_FAILED"
    assert error.message.startswith("Failed to pull recording from device: ")
    assert "No such file or directory" in error.message
    assert Path("out/gone.ndjson").read_text() == "old"


def test_a_link_that_leads_out_of_the_folder_is_not_followed(device: Device) -> None:
    Path("out").mkdir()
    Path("precious").write_text("mine")
    Path("out/first.ndjson").symlink_to("../precious")
    assert refused(device, "first").code == "RECORDING_PULL_FAILED"
    assert Path("precious").read_text() == "mine"


@pytest.mark.parametrize("folder", ["file", "file/below", "a\0b"])
def test_a_folder_that_cannot_be_created_is_reported(folder: str, device: Device) -> None:
    Path("file").write_text("")
    error = refused(device, "first", folder)
    assert error.code == "RECORDING_PULL_FAILED"
    assert "writable folder" in error.hint


def test_a_folder_in_place_of_the_file_is_reported(device: Device) -> None:
    Path("out/first.ndjson").mkdir(parents=True)
    assert refused(device, "first").code == "RECORDING_PULL_FAILED"


@pytest.mark.parametrize("package", ["../../x", "a b", "com..x", ""])
def test_an_invalid_package_is_rejected(package: str, device: Device) -> None:
    assert refused(device, "first", package=package).code == "USAGE"


def test_another_operators_recordings_are_its_own(device: Device) -> None:
    assert refused(device, None, package=f"{PACKAGE}.dev").code == "RECORDING_SESSION_NOT_FOUND"


def test_an_offline_device_is_reported(phone: SimulatedPhone, device: Device) -> None:
    phone.fault("offline", 1)
    try:
        assert refused(device, "first").code == "DEVICE_OFFLINE"
    finally:
        phone.fault("offline", 0)


@pytest.mark.parametrize("session_id", ["a", "demo-1_x", "x" * 128])
def test_a_session_id_is_returned(session_id: str) -> None:
    assert check_session_id(session_id) == session_id


@pytest.mark.parametrize("session_id", ["", "a b", "../x", "x" * 129, "é"])
def test_what_is_no_session_id_is_not_found(session_id: str) -> None:
    with pytest.raises(ClawError) as error:
        check_session_id(session_id)
    assert error.value.code == "RECORDING_SESSION_NOT_FOUND"


@pytest.mark.parametrize(("size", "code"), [(1_024, None), (1_025, "RECORDING_PULL_FAILED")])
def test_a_pointer_has_up_to_a_kilobyte(
    phone: SimulatedPhone, device: Device, size: int, code: str | None
) -> None:
    phone.shell_script(f"printf '%-{size}s' first > {FOLDER}/latest")
    if code is None:
        assert pull_recording(device, PACKAGE, None, "out").sessionId == "first"
        return
    error = refused(device, None)
    assert error.code == code
    assert error.details == {"deviceId": "claw-1"}
    assert error.message.startswith(f"Failed to pull recording from device: {FOLDER}/latest: ")
    assert error.hint == "Run 'clawperator devices' to check the connection, then pull again."


def test_a_missing_recording_may_be_active(device: Device) -> None:
    error = refused(device, "gone")
    assert error.details == {"deviceId": "claw-1", "sessionId": "gone"}
    assert error.hint.startswith(
        "If it is still active, run 'clawperator recording stop --session-id gone'. Without a session id"
    )
    assert (error.operation, error.target) == ("pull", "claw-1")


def test_a_file_that_cannot_be_written_can_be_pulled_to_another_folder(device: Device) -> None:
    Path("out/first.ndjson").mkdir(parents=True)
    error = refused(device, "first")
    assert error.message.startswith("Failed to pull recording from device: cannot write out/first.ndjson: ")
    assert error.hint == "Choose a writable folder."
    assert (error.operation, error.target, error.retryable) == ("write", "out/first.ndjson", True)


def test_the_beginning_of_a_long_id_is_shown() -> None:
    with pytest.raises(ClawError) as error:
        check_session_id("x" * 200)
    assert error.value.message.startswith("Invalid session id: 'xxx")
    assert len(error.value.message) < 200


class Pull:
    """A pull that takes some seconds, and a check of the recording that keeps the time that it has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes: float, warnings: list[str]) -> None:
        self.now = 10.0
        self.takes = takes
        self.warnings = warnings
        self.seconds: float | None = None
        self.left: float | None = None
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(recordings, "pull_file", self.pull_file)
        monkeypatch.setattr(recordings, "recording_warnings", self.recording_warnings)

    def pull_file(self, *_: Any, seconds: float) -> None:
        self.seconds = seconds
        self.now += self.takes

    def recording_warnings(self, path: str, deadline: Deadline) -> list[str]:
        assert path == "out/first.ndjson"
        self.left = deadline.remaining
        return self.warnings


@pytest.mark.parametrize("takes", [0.0, 100.0, 1_000.0])
def test_a_pull_leaves_time_for_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: float) -> None:
    monkeypatch.chdir(tmp_path)
    pull = Pull(monkeypatch, takes, [])
    pulled = pull_recording(Device("pixel", Endpoint("127.0.0.1", 1)), PACKAGE, "first", "out")
    assert pull.seconds is not None
    assert pull.left is not None
    assert 0 < pull.left <= pull.seconds
    assert takes != 100.0 or pull.left == pull.seconds - takes
    assert pulled.warnings is UNSET


def test_warnings_about_a_recording_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pull = Pull(monkeypatch, 0, ["3 events are missing"])
    pulled = pull_recording(Device("pixel", Endpoint("127.0.0.1", 1)), PACKAGE, "first", "out", seconds=7)
    assert pulled == PulledRecording(True, "out/first.ndjson", "first", ["3 events are missing"])
    assert (pull.seconds, pull.left) == (7, 7)
