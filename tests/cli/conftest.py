"""Fixtures for tests of the commands."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh working folder without settings, format or model from the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("CLAW_OUTPUT_FORMAT", "CLAW_CONFIG_HOME", "CLAW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    monkeypatch.chdir(os.sep)
