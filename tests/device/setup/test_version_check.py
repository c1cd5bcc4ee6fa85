"""The version of the Operator must be in the table of supported ones; otherwise the error has the fix."""

import pytest
from msgspec import UNSET

from clawperator import __version__
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device import packages
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.packages import list_packages
from clawperator.device.setup import version_check
from clawperator.device.setup.version_check import (
    Version,
    is_supported,
    probe_compatibility,
    read_version,
    require_operator,
    supported_text,
)
from clawperator.errors import ClawError
from tests.support.routes import Route


def set_version(route: Route, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route.phone_server.phone.packages.app(OPERATOR_PACKAGE), "version", version)


def test_the_operator_of_the_simulated_phone_is_supported(route: Route) -> None:
    found = probe_compatibility(route.device, OPERATOR_PACKAGE)
    assert found.compatible
    assert (found.cliVersion, found.apkVersion) == (__version__, __version__)
    assert found.apkVersionCode == 300_900
    assert not found.error
    assert not found.remediation


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (f"{__version__}-d", ""),
        ("0.5.3", ""),
        ("0.5.3-d", ""),
        ("0.7.99", ""),
        ("0.5.2", "VERSION_INCOMPATIBLE"),
        ("0.8.0", "VERSION_INCOMPATIBLE"),
        ("9.9.9", "VERSION_INCOMPATIBLE"),
        (f"{__version__}-rc1", "APK_VERSION_INVALID"),
        ("garbage", "APK_VERSION_INVALID"),
        ("1.2", "APK_VERSION_INVALID"),
        ("", "APK_VERSION_INVALID"),  # the device prints null
    ],
)
def test_versions_of_the_table_are_compatible(
    route: Route, version: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_version(route, version, monkeypatch)
    found = probe_compatibility(route.device, OPERATOR_PACKAGE)
    assert found.compatible is (code == "")
    if code:
        assert found.error
        assert found.error.code == code
        assert found.error.hint
        assert isinstance(found.remediation, list)
        assert any("operator setup" in step for step in found.remediation)


def test_a_missing_operator_is_reported_with_the_command_that_installs_it(route: Route) -> None:
    with pytest.raises(ClawError) as caught:
        require_operator(route.device, "com.example.none")
    # The released Operator is there, so another one is meant.
    assert caught.value.code == "OPERATOR_VARIANT_MISMATCH"
    assert caught.value.details is not None
    assert caught.value.details["installed"] == [OPERATOR_PACKAGE]


def test_a_device_without_any_operator_is_reported(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.device.setup.version_check.list_packages", lambda _: ["com.android.settings"])
    found = probe_compatibility(route.device, OPERATOR_PACKAGES[1])
    assert found.error
    assert found.error.code == "OPERATOR_NOT_INSTALLED"
    assert found.error.details == {
        "installCommand": "clawperator operator setup --apk <operator.apk> --device claw-1"
    }


def test_the_other_variant_is_named(route: Route) -> None:
    found = probe_compatibility(route.device, OPERATOR_PACKAGES[1])
    assert found.error
    assert found.error.code == "OPERATOR_VARIANT_MISMATCH"
    assert f"Operator package {OPERATOR_PACKAGE}" in str(found.error.hint)


def test_a_phone_that_cannot_be_reached_is_an_error_of_the_answer(route: Route) -> None:
    route.phone_server.phone.set_fault("offline", "on")
    found = probe_compatibility(route.device, OPERATOR_PACKAGE)
    assert found.error
    assert found.error.code == "DEVICE_OFFLINE"


AGAIN = "clawperator version --check-compat --device claw-1 --operator-package"
SETUP = "clawperator operator setup --apk <operator.apk> --device claw-1"


@pytest.mark.parametrize(
    ("answer", "name", "number"),
    [
        (ShellAnswer(0, b"  versionCode=7 minSdk=24\n  versionName=0.5.3\n", b""), "0.5.3", 7),
        (ShellAnswer(0, b"  versionName=0.5.3\n", b""), "0.5.3", UNSET),
        (ShellAnswer(1, b"  versionName=0.5.3\n", b""), UNSET, UNSET),
        (ShellAnswer(0, b"Unable to find package\n", b""), UNSET, UNSET),
    ],
)
def test_the_versions_are_read_from_the_packages_record(
    route: Route, monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer, name: object, number: object
) -> None:
    monkeypatch.setattr(version_check, "run_shell", lambda *_, **__: answer)
    found = probe_compatibility(route.device, OPERATOR_PACKAGE)
    assert (found.apkVersion, found.apkVersionCode, found.compatible) == (name, number, name is not UNSET)
    if name is UNSET:
        assert found.error
        assert (found.error.code, found.error.details) == ("APK_VERSION_UNREADABLE", None)
        get = f"Get the APK of an Operator of version {supported_text()}."
        assert found.remediation == [get, SETUP, f"{AGAIN} {OPERATOR_PACKAGE}"]


def test_the_remedy_for_another_variant_is_to_choose_it(route: Route) -> None:
    other = OPERATOR_PACKAGES[1]
    found = probe_compatibility(route.device, other)
    assert found.error
    assert found.error.message == f"Operator {other} is not installed on claw-1, but {OPERATOR_PACKAGE} is"
    assert found.error.details == {"wanted": other, "installed": [OPERATOR_PACKAGE]}
    choose = "Pass the installed Operator with --operator-package."
    assert found.remediation == [choose, SETUP, f"{AGAIN} {other}"]
    assert found.operatorPackage == other


def test_there_is_no_remedy_for_a_device_that_is_gone() -> None:
    found = probe_compatibility(Device("gone", Endpoint("127.0.0.1", 1)), OPERATOR_PACKAGE)
    assert found.error
    assert found.remediation is UNSET
    assert not found.compatible


def test_packages_are_listed_all_or_those_of_third_parties(route: Route) -> None:
    every, third = list_packages(route.device), list_packages(route.device, third_party=True)
    assert "com.android.settings" in every
    assert OPERATOR_PACKAGE in third
    assert set(third) < set(every)
    assert "com.android.settings" not in third


def test_an_invalid_package_name_is_rejected(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        code = 0
        text = "WARNING: linker\npackage:com.a.b\npackage:com.a;rm -rf /\npackage:\n\npackage:a\r\n"
        complaint = ""

    monkeypatch.setattr(packages, "run_shell", lambda *_, **__: Odd)
    assert list_packages(route.device) == ["com.a.b", "a"]


def test_a_device_that_does_not_list_its_packages_is_reported(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failed:
        code = 1
        text = ""
        complaint = "cmd: Can't find service: package"

    monkeypatch.setattr(packages, "run_shell", lambda *_, **__: Failed)
    with pytest.raises(ClawError) as caught:
        list_packages(route.device)
    assert caught.value.code == "DEVICE_SHELL_UNAVAILABLE"
    assert "service: package" in caught.value.message


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((0, 0, 9), False),
        ((0, 1, 0), True),
        ((0, 3, 99), True),
        ((0, 4, 0), False),
        ((0, 5, 2), False),
        ((0, 5, 3), True),
        ((0, 7, 99), True),
        ((0, 8, 0), False),
        ((1, 1, 0), False),
    ],
)
def test_a_version_is_supported_from_the_first_to_the_last_of_a_row(version: Version, *, expected: bool) -> None:
    assert is_supported(version) is expected


@pytest.mark.parametrize(
    ("name", "version"),
    [("1.2.3", (1, 2, 3)), ("1.2.3-d", (1, 2, 3)), ("1.2", None), ("1.2.3-rc1", None), ("v1.2.3", None)],
)
def test_a_version_has_three_numbers(name: str, version: Version | None) -> None:
    assert read_version(name) == version


def test_the_supported_versions_are_named() -> None:
    assert supported_text() == "0.1.0 to 0.3.x and 0.5.3 to 0.7.x"
