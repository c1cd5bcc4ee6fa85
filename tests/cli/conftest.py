"""Fixtures for tests of the commands."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replay.flows import record, settings_dark


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh working folder without settings, format or model from the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("CLAW_OUTPUT_FORMAT", "CLAW_CONFIG_HOME", "CLAW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    monkeypatch.chdir(os.sep)


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recording, where no real phone is looked for."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ADB_PATH", str(tmp_path / "no-adb"))
    return record(settings_dark, tmp_path)
