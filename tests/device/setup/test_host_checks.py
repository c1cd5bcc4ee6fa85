"""Checks of the computer."""

import pytest

from clawperator.device.setup.host_checks import check_server
from tests.device.adb.scripted_server import scripted, text


def test_an_adb_server_that_answers_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(text("0029")) as device:
        port = device.endpoint.port
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(port))
        check = check_server(None)
    assert (check.status, check.summary) == ("pass", f"the adb server is running at localhost:{port}")


def test_a_simulated_phone_needs_no_adb_server() -> None:
    check = check_server("claw-1")
    assert (check.status, check.evidence) == ("pass", {"needed": False})
