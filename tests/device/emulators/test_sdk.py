"""The tools of the SDK: where they are found, and what is kept of their output."""

from pathlib import Path

import pytest

from clawperator.device.adb.binary import ToolRun, run_tool, sdk_folders
from clawperator.device.emulators import find_tool


def program(path: Path, script: str = "", mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(mode)
    return str(path)


@pytest.fixture(autouse=True)
def _no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT", "EMULATOR_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))


def test_a_tool_of_its_variable_must_be_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "path" / "emulator")
    for path in (str(tmp_path), program(tmp_path / "text", mode=0o644), str(tmp_path / "none")):
        monkeypatch.setenv("EMULATOR_PATH", path)
        assert find_tool("emulator") is None
    monkeypatch.setenv("EMULATOR_PATH", program(tmp_path / "mine"))
    assert find_tool("emulator") == str(tmp_path / "mine")


def test_the_first_sdk_with_the_tool_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_tool("emulator") is None
    on_path = program(tmp_path / "path" / "emulator")
    assert find_tool("emulator") == on_path
    (tmp_path / "one" / "emulator" / "emulator").mkdir(parents=True)
    monkeypatch.setenv("ANDROID_HOME", str(tmp_path / "one"))
    assert find_tool("emulator") == on_path
    monkeypatch.setenv("ANDROID_SDK_ROOT", str(tmp_path / "two"))
    second = program(tmp_path / "two" / "emulator" / "emulator")
    assert find_tool("emulator") == second


def test_the_folders_of_the_variables_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    usual = ["/home/user/Android/Sdk", "/home/user/Library/Android/sdk"]
    assert sdk_folders() == usual
    monkeypatch.setenv("ANDROID_SDK_ROOT", "/sdk")
    assert sdk_folders() == ["/sdk", *usual]


def test_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    tool = program(tmp_path / "tool", "printf '%070000d' 0; printf END >&2; exit 3")
    run = run_tool(tool, seconds=60)
    assert (run.code, run.output) == (3, "0" * 65_533 + "END")
    assert run.complaint == "0" * 497 + "END"
    assert ToolRun(0, " one\n  two \n").complaint == "one two"


def test_a_tool_that_did_not_run_has_a_code_and_a_reason(tmp_path: Path) -> None:
    assert run_tool(program(tmp_path / "tool", "exec /bin/sleep 60"), seconds=0.1) == ToolRun(
        -1, "timeout after 0.1 seconds"
    )
    missing = run_tool("/nowhere/tool", seconds=1)
    assert missing.code == -1
    assert "/nowhere/tool" in missing.output


def test_a_tool_reads_its_answer(tmp_path: Path) -> None:
    tool = program(tmp_path / "tool", 'read answer; echo "got $answer $1"')
    assert run_tool(tool, "x", seconds=60, answer="y\n") == ToolRun(0, "got y x\n")
