"""The settings of devices: their defaults, and values that are refused."""

from pathlib import Path

import pytest

from clawperator.contract.commands import BACKENDS
from clawperator.device.settings import default_backend, default_timeout_ms, named_operator
from clawperator.errors import ClawError


def test_without_settings_there_are_defaults() -> None:
    assert (default_backend(), default_timeout_ms(), named_operator(None)) == ("auto", None, None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_is_set_by_its_name(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_BACKEND", backend)
    assert default_backend() == backend


def test_a_timeout_is_set_within_the_limits_of_executions(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, number in (("1000", 1_000), ("2500.5", 2_500.5), ("120000", 120_000)):
        monkeypatch.setenv("CLAWPERATOR_TIMEOUT_MS", given)
        assert default_timeout_ms() == number


def test_a_given_operator_is_used_before_a_set_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_OPERATOR_PACKAGE", "com.set")
    assert (named_operator(None), named_operator("com.given")) == ("com.set", "com.given")


def test_settings_of_the_configuration_have_their_own_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    config = tmp_path / "clawperator.toml"
    config.write_text('timeout_ms = 1000\nbackend = "adb"\noperator_package = "com.set"\n')
    assert (default_backend(), default_timeout_ms(), named_operator(None)) == ("adb", 1_000, "com.set")
    config.write_text("timeout_ms = 120000.5\n")
    with pytest.raises(ClawError, match="timeout_ms") as error:
        default_timeout_ms()
    assert "must be a number of milliseconds from 1000 to 120000" in error.value.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CLAWPERATOR_BACKEND", "usb"),
        ("CLAWPERATOR_TIMEOUT_MS", "999"),
        ("CLAWPERATOR_TIMEOUT_MS", "120001"),
        ("CLAWPERATOR_TIMEOUT_MS", "soon"),
        ("CLAWPERATOR_OPERATOR_PACKAGE", "com.set; reboot"),
    ],
)
def test_another_value_is_refused_by_its_name(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ClawError, match=name):
        (default_backend(), default_timeout_ms(), named_operator(None))


def test_an_invalid_package_that_was_given_is_a_usage_error() -> None:
    with pytest.raises(ClawError) as error:
        named_operator("a b")
    assert (error.value.code, error.value.target) == ("USAGE", "a b")
    assert error.value.message == "'a b' is not a valid package name"
    assert error.value.hint == "Choose for example com.clawperator.operator."
