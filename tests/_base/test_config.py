"""``clawperator.toml`` in the product home."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.config import VARIABLES, Setting, UserConfig, default_output, read_config, setting
from clawperator._base.home import config_file
from clawperator.device.settings import default_backend, default_timeout_ms, named_operator
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


# Settings: a flag, then variables, then the file

FILE_VALUES: dict[str, tuple[str, object]] = {
    "device": ('"from-file"', "from-file"),
    "backend": ('"adb"', "adb"),
    "timeout_ms": ("2000", 2000),
    "operator_package": ('"com.example.file"', "com.example.file"),
    "output": ('"pretty"', "pretty"),
}


def write(home: Path, text: str) -> Path:
    path = home / "clawperator.toml"
    path.write_text(text)
    return path


@pytest.mark.usefixtures("home")
def test_nothing_is_set_by_default() -> None:
    assert [setting(name) for name in VARIABLES] == [None] * len(VARIABLES)
    assert (default_backend(), default_timeout_ms(), default_output()) == ("auto", None, "json")
    assert named_operator(None) is None


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_overrides_the_file(home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    written, value = FILE_VALUES[name]
    path = write(home, f"# defaults\n\n{name} = {written}\n")
    assert setting(name) == Setting(name, value, f"{path}:3", is_file=True)  # type: ignore[arg-type]
    for variable in reversed(VARIABLES[name]):
        monkeypatch.setenv(variable, f"by-{variable}")
        assert setting(name) == Setting(name, f"by-{variable}", variable)


@pytest.mark.usefixtures("home")
def test_the_product_variable_overrides_the_variable_of_adb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_SERIAL", "a")
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "c")
    found = setting("device")
    assert found is not None
    assert found.value == "c"


@given(st.text(alphabet=" \t\n", max_size=3))
def test_a_blank_variable_is_unset(blank: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_HOME", os.devnull)
        patch.setenv("CLAWPERATOR_DEVICE_ID", blank)
        assert setting("device") is None


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("CLAWPERATOR_BACKEND", "magic", "auto, operator, adb"),
        ("CLAWPERATOR_TIMEOUT_MS", "soon", "from 1000 to 120000"),
        ("CLAWPERATOR_TIMEOUT_MS", "10", "from 1000 to 120000"),
        ("CLAWPERATOR_OUTPUT", "xml", "json, pretty"),
        ("CLAWPERATOR_OPERATOR_PACKAGE", "no package", "package name"),
    ],
)
def test_an_invalid_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(variable, value)
    error = invalid_value()
    assert error.code == "CONFIG_INVALID"
    assert error.message.startswith(variable)
    assert expected in error.message
    assert repr(value) in error.message
    assert f"unset {variable}" in (error.hint or "")


@pytest.mark.parametrize(
    "line",
    ['backend = "magic"', "timeout_ms = 10", 'output = "xml"', 'operator_package = "no package"', "device = 5"],
)
def test_an_invalid_value_in_the_file_is_named_with_its_line(home: Path, line: str) -> None:
    path = write(home, f"\n{line}\n")
    error = invalid_value()
    assert error.code == "CONFIG_INVALID"
    assert str(path) in error.message
    assert f"{path}:2" in error.message or "line 2" in error.message
    assert error.hint


def invalid_value() -> ClawError:
    with pytest.raises(ClawError) as info:
        read_all()
    return info.value


def read_all() -> tuple[object, ...]:
    return default_backend(), default_timeout_ms(), default_output(), named_operator(None)


def test_a_changed_file_is_read_again(home: Path) -> None:
    path = write(home, 'backend = "adb"\n')
    assert default_backend() == "adb"
    path.write_text('backend = "operator"\n')
    assert default_backend() == "operator"


@pytest.mark.usefixtures("home")
def test_settings_of_a_file_in_the_working_folder_are_not_read(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("work")
    (folder / "clawperator.toml").write_text('device = "other"\n')
    monkeypatch.chdir(folder)
    assert setting("device") is None
