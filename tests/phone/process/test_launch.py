"""Starting and stopping phone processes from Python."""

import os
from pathlib import Path

import pytest

import clawperator
from clawperator.errors import SimulatedPhoneError
from clawperator.phone.process.launch import list_phones, reset_phone, start_phone, stop_phone


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    return tmp_path


def test_a_phone_runs_while_the_block_does_and_can_be_connected_to() -> None:
    with clawperator.start_phone("api", seed=3) as phone:
        assert (phone.serial, phone.record.seed, phone.recovered) == ("api", 3, False)
        assert phone.adbd_port
        assert phone.server_port
        connected = clawperator.connect(phone.serial)
        connected.open_app("com.android.settings")
        assert "Display" in connected.snapshot().labels()
        (listed,) = list_phones()
        assert (listed["state"], listed["pid"], listed["foreground"]) == (
            "running",
            phone.pid,
            "com.android.settings",
        )
    assert list_phones()[0]["state"] == "stopped"
    with pytest.raises(ProcessLookupError):
        os.kill(phone.pid, 0)


def test_a_second_phone_of_the_same_name_is_refused_with_the_address_of_the_first() -> None:
    with start_phone("api") as phone:
        with pytest.raises(SimulatedPhoneError) as refused:
            start_phone("api")
        assert refused.value.code == "PHONE_ALREADY_RUNNING"
        assert refused.value.details is not None
        assert refused.value.details["pid"] == phone.pid


def test_stopping_a_stopped_phone_changes_nothing() -> None:
    start_phone("api").stop()
    stopped = stop_phone("api")
    assert (stopped.was_running, stopped.crashed) == (False, False)


def test_an_unknown_phone_cannot_be_stopped_or_reset() -> None:
    for call in (stop_phone, reset_phone):
        with pytest.raises(SimulatedPhoneError, match="PHONE_NOT_FOUND"):
            call("nobody")


def test_a_missing_app_or_an_unknown_fault_is_refused_before_anything_starts(home: Path) -> None:
    with pytest.raises(SimulatedPhoneError, match="PHONE_APP_INVALID"):
        start_phone("api", apps=["missing.toml"])
    with pytest.raises(SimulatedPhoneError, match="PHONE_FAULT_INVALID"):
        start_phone("api", faults={"gravity": "on"})
    assert not (home / "phones").exists()
