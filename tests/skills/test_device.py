"""Device checks before a skill runs: a sleeping device fails, and pretty output names the Operator."""

from pathlib import Path

import pytest

from tests.device.phone_servers import running_phone_server
from tests.support.running import clawperator

OVERVIEW = "com.android.settings.overview"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "product"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("device", [(), ("--device", "claw-1")])
def test_a_sleeping_device_fails_before_the_script_runs(device: tuple[str, ...]) -> None:
    with running_phone_server() as phone_server:
        phone_server.phone.key(223)
        error = clawperator("skills", "run", OVERVIEW, *device).json
        assert error["code"] == "DEVICE_NOT_INTERACTIVE"
        assert "WAKEUP" in error["hint"]
        phone_server.phone.key(224)
        assert clawperator("skills", "run", OVERVIEW, *device).json["status"] == "success"


def test_pretty_output_names_the_operator() -> None:
    with running_phone_server():
        ran = clawperator("skills", "run", OVERVIEW, "--output", "pretty", "--skip-validate")
        assert "Operator com.clawperator.operator on claw-1: version" in ran.err
    ran = clawperator(
        "skills", "run", OVERVIEW, "--output", "pretty", "--device", "no-such-device", "--timeout", "1000"
    )
    assert "Operator com.clawperator.operator: " in ran.err
    assert ran.code == 1
