"""Settings as commands use them: which device, which backend, which output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import clawperator as package
from clawperator.device.setup import device_checks
from tests.skills.sample_skills import ID, write_skill
from tests.support.routes import Route
from tests.support.running import claw_json, clawperator


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    return tmp_path


def values(document: dict[str, list[dict[str, object]]]) -> dict[str, tuple[object, object]]:
    return {str(row["name"]): (row["value"], row["origin"]) for row in document["settings"]}


def test_config_prints_each_setting_with_its_origin(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "clawperator.toml"
    file.write_text('device = "one"\nbackend = "adb"\ntimeout_ms = 5000\nallow_schemes = ["geo"]\nunknown = 1\n')
    monkeypatch.setenv("ANDROID_SERIAL", "two")
    document = clawperator("config", "--operator-package", "com.example.operator").json
    assert values(document) == {
        "device": ("two", "ANDROID_SERIAL"),
        "backend": ("adb", f"{file}:2"),
        "timeout_ms": (5000, f"{file}:3"),
        "operator_package": ("com.example.operator", "--operator-package"),
        "output": ("json", "default"),
    }
    assert (document["file"], document["exists"]) == (str(file), True)
    assert document["allow_schemes"] == ["geo"]
    assert "unknown key 'unknown'" in document["warnings"][0]


@pytest.mark.usefixtures("home")
def test_config_without_a_file_prints_the_defaults() -> None:
    document = clawperator("config").json
    assert values(document)["backend"] == ("auto", "default")
    assert values(document)["device"] == (None, "default")
    assert document["exists"] is False
    assert values(clawperator("config", "--device", "x").json)["device"] == ("x", "--device")


@pytest.mark.parametrize("variable", ["CLAWPERATOR_DEVICE_ID", "ANDROID_SERIAL"])
def test_a_device_that_is_not_connected_is_reported_with_its_origin(
    route: Route, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "nowhere")
    error = clawperator("snapshot").json
    assert error["code"] == "DEVICE_NOT_FOUND"
    assert variable in error["message"]
    assert clawperator("snapshot", "--device", route.serial).code == 0
    assert variable in device_checks.discover("nowhere")[0].summary
    assert claw_json("exec-tool", "snapshot_ui", "{}").json["error"]["message"] == error["message"]
    with pytest.raises(package.ClawError) as info:
        package.connect()
    assert info.value.message == error["message"]


def test_the_set_device_is_used(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_SERIAL", "nowhere")
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", route.serial)
    assert clawperator("press", "home").json["deviceId"] == route.serial
    assert package.connect().serial == route.serial


@pytest.mark.usefixtures("route")
def test_the_backend_comes_from_the_setting_and_a_flag_overrides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_BACKEND", "adb")
    line = ("recording", "start", "--session-id", "s1")
    assert clawperator(*line).json["code"] == "RECORDING_UNAVAILABLE"
    assert clawperator("press", "home", "--backend", "auto").code == 0
    with pytest.raises(package.ClawError) as info:
        package.connect().start_recording("s1")
    assert info.value.code == "RECORDING_UNAVAILABLE"
    monkeypatch.setenv("CLAWPERATOR_BACKEND", "magic")
    for error in (clawperator("press", "home").json, claw_json("exec-tool", "press_key", "{}").json["error"]):
        assert "CLAWPERATOR_BACKEND must be one of" in error["message"]


@pytest.mark.usefixtures("home")
def test_the_timeout_of_an_action_comes_from_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_TIMEOUT_MS", "12345")
    line = ("click", "--text", "Display", "--validate-only")
    assert clawperator(*line).json["execution"]["timeoutMs"] == 12_345
    assert clawperator(*line, "--timeout", "2000").json["execution"]["timeoutMs"] == 2_000
    document = clawperator(*line).json["execution"] | {"timeoutMs": 4_000}
    ran = clawperator("exec", json.dumps(document), "--validate-only")
    assert ran.json["execution"]["timeoutMs"] == 4_000, "the timeout of a document is its own"


@pytest.mark.usefixtures("home")
def test_the_output_comes_from_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_OUTPUT", "pretty")
    assert clawperator("schema").out.startswith(b"{\n")
    assert clawperator("schema", "--json").json
    assert clawperator("schema", "--output", "json").json
    monkeypatch.setenv("CLAWPERATOR_OUTPUT", "xml")
    ran = clawperator("schema")
    assert (ran.code, ran.json["code"]) == (1, "CONFIG_INVALID")
    assert clawperator("help").code == 0


@pytest.mark.usefixtures("route")
def test_an_unknown_key_is_a_warning_of_every_command_that_uses_a_device() -> None:
    file = Path(os.environ["CLAWPERATOR_HOME"]) / "clawperator.toml"
    file.write_text('devise = "x"\n')
    try:
        ran = clawperator("press", "home")
    finally:
        file.unlink()
    assert ran.code == 0
    assert "unknown key 'devise' ignored; did you mean 'device'?" in ran.err


@pytest.mark.usefixtures("home")
def test_no_command_parses_toml_without_a_file() -> None:
    code = (
        "import sys\nfrom clawperator.cli.dispatch import run\n"
        "run(['click', '--text', 'Display', '--validate-only'])\n"
        "assert 'tomllib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_commands_of_a_skill_use_the_device_it_was_started_for(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANDROID_SERIAL", "nowhere")
    registry = write_skill(tmp_path, "#!/bin/sh\nexec $CLAWPERATOR_BIN press home\n", "run.sh")
    ran = clawperator("skills", "run", ID, "--registry", str(registry), "--device", route.serial)
    assert route.serial in ran.json["output"], ran.out
