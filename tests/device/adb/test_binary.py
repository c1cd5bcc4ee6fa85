"""Finding the adb program."""

from pathlib import Path

import pytest

from clawperator.device.adb.binary import find_adb, require_adb
from clawperator.errors import ClawError


def make_program(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for all places in which adb may be; it is in none of them."""
    for name in ("ADB_PATH", "ANDROID_HOME", "ANDROID_SDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.path", [str(tmp_path / "packages"), ""])
    return tmp_path


def test_without_adb_there_is_none(places: Path) -> None:
    make_program(places / "home/Android/Sdk/platform-tools/adb", 0o644)  # not executable
    (places / "home/Library/Android/sdk/platform-tools/adb").mkdir(parents=True)  # not a file
    assert find_adb() is None
    with pytest.raises(ClawError, match="adb is not installed") as error:
        require_adb()
    assert error.value.code == "ADB_NOT_FOUND"


@pytest.mark.parametrize(
    "place",
    [
        "path/adb",
        "home/Android/Sdk/platform-tools/adb",
        "home/Library/Android/sdk/platform-tools/adb",
        "packages/adbutils/binaries/adb",
    ],
)
def test_adb_is_found_in_the_usual_places(place: str, places: Path) -> None:
    program = make_program(places / place)
    assert find_adb() == require_adb() == program


@pytest.mark.parametrize("variable", ["ANDROID_HOME", "ANDROID_SDK_ROOT"])
def test_adb_is_found_in_the_sdk(variable: str, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make_program(places / "sdk/platform-tools/adb")
    monkeypatch.setenv(variable, str(places / "sdk"))
    assert find_adb() == program
    assert find_adb() != make_program(places / "path/adb")
    assert find_adb() == str(places / "path/adb")


def test_the_named_adb_is_the_only_one(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_program(places / "path/adb")
    monkeypatch.setenv("ADB_PATH", named := make_program(places / "mine/adb"))
    assert find_adb() == named
    for broken in (make_program(places / "plain", 0o644), str(places / "mine"), str(places / "nowhere")):
        monkeypatch.setenv("ADB_PATH", broken)
        assert find_adb() is None
        with pytest.raises(ClawError, match=f"ADB_PATH is not a program: {broken}"):
            require_adb()
