"""``clawperator.toml`` in the product home."""

import os
from pathlib import Path

import pytest

from clawperator._base.config import UserConfig, read_config
from clawperator._base.home import config_file
from clawperator.errors import ClawError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    return tmp_path


def test_without_a_file_there_are_defaults(home: Path) -> None:
    assert config_file() == str(home / "clawperator.toml")
    assert read_config() == UserConfig()


def test_the_keys_are_read(home: Path) -> None:
    (home / "clawperator.toml").write_text('allow_schemes = ["myapp"]\npass_env = ["A", "B"]\n')
    lines = {"allow_schemes": 1, "pass_env": 2}
    assert read_config() == UserConfig(("myapp",), ("A", "B"), lines=lines)


def test_an_unknown_key_is_a_warning_with_the_file_and_the_nearest_key(home: Path) -> None:
    path = home / "clawperator.toml"
    path.write_text('allow_scheme = ["x"]\nzzzzzzzz = 1\nwarnings = ["w"]\n"a\\u001b[31m" = 1\n')
    config = read_config()
    assert config.allow_schemes == ()
    assert config.warnings[0] == f"{path}: unknown key 'allow_scheme' ignored; did you mean 'allow_schemes'?"
    assert config.warnings[1] == f"{path}: unknown key 'zzzzzzzz' ignored"
    assert "unknown key 'warnings'" in config.warnings[2]
    assert "\x1b" not in config.warnings[3]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a = 1\nb = \n", "line 2"),
        (b"a = 1\n\nb = '\xff'\n", "line 3"),
        (b'pass_env = "KEY"\n', "pass_env"),
        (b"allow_schemes = [1]\n", "allow_schemes"),
        (b"#" * 300_000, "larger than"),
        (b"a = " + b"[" * 100_000, ""),
        (b"a = " + b"9" * 5_000, "digits"),
    ],
)
def test_an_invalid_file_is_a_typed_error_with_its_place(home: Path, text: bytes, reason: str) -> None:
    (home / "clawperator.toml").write_bytes(text)
    with pytest.raises(ClawError) as info:
        read_config()
    assert info.value.code == "CONFIG_INVALID"
    assert reason in info.value.message
    assert str(home / "clawperator.toml") in (info.value.hint or "")


def test_a_pipe_is_refused_at_once(home: Path) -> None:
    os.mkfifo(home / "clawperator.toml")
    with pytest.raises(ClawError) as info:
        read_config()
    assert info.value.code == "CONFIG_INVALID"


def test_a_file_in_the_working_folder_is_not_read(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home
    folder = tmp_path_factory.mktemp("work")
    (folder / "clawperator.toml").write_text('allow_schemes = ["intent"]\n')
    monkeypatch.chdir(folder)
    assert read_config() == UserConfig()
