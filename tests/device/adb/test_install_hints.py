"""Hints for refused installations."""

from pathlib import Path

import pytest

from clawperator.device.adb.sync import install_apk
from clawperator.errors import ClawError
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import ordinary_phone


@pytest.fixture
def doubles(tmp_path: Path) -> CommandDoubles:
    (tmp_path / "app.apk").write_bytes(b"PK")
    return ordinary_phone(tmp_path / "d")


def refusal(doubles: CommandDoubles, reason: str) -> ClawError:
    doubles.answer("cmd", Reply(f"Failure [{reason}]\n", code=1), when="package install *")
    with double_server(doubles) as device, pytest.raises(ClawError) as caught:
        install_apk(device, str(doubles.folder.parent / "app.apk"))
    assert caught.value.code == "ANDROID_INSTALL_FAILED"
    assert reason in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("INSTALL_FAILED_USER_RESTRICTED: Install canceled by user", "accept the installation"),
        ("INSTALL_FAILED_ABORTED: User rejected permissions", "accept the installation"),
        ("INSTALL_FAILED_VERIFICATION_FAILURE", "Verify apps over USB"),
        ("INSTALL_FAILED_UPDATE_INCOMPATIBLE: Existing package a.b signatures do not match", "another key"),
        ("INSTALL_PARSE_FAILED_INCONSISTENT_CERTIFICATES", "another key"),
        ("INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected", "newer version"),
        ("INSTALL_FAILED_INSUFFICIENT_STORAGE", "Free storage"),
        ("INSTALL_FAILED_NO_MATCHING_ABIS: Failed to extract native libraries, res=-113", "abilist"),
        ("INSTALL_FAILED_OLDER_SDK: Requires newer sdk version #30 (current version is #24)", "newer Android"),
        ("INSTALL_FAILED_DEPRECATED_SDK_VERSION: App package must target at least SDK version 23", "newer APK"),
        ("INSTALL_FAILED_TEST_ONLY: Failed to install test-only apk. Did you forget to add -t?", "test-only"),
        ("INSTALL_FAILED_MISSING_SPLIT: Missing split for a.b", "splits"),
        ("INSTALL_PARSE_FAILED_NO_CERTIFICATES: Failed to collect certificates", "signed"),
        ("INSTALL_PARSE_FAILED_NOT_APK", "complete"),
        ("INSTALL_FAILED_SOMETHING_NEW", "ABI and Android version"),
        ("weird", "ABI and Android version"),
    ],
)
def test_each_reason_has_its_own_hint(doubles: CommandDoubles, reason: str, hint: str) -> None:
    assert hint in refusal(doubles, reason).hint


@pytest.mark.parametrize(
    ("property_", "hint"),
    [
        ("[ro.miui.ui.version.name]: [V14]", "Install via USB"),
        ("[ro.build.version.oneui]: [60101]", "Auto Blocker"),
    ],
)
def test_a_refusal_of_the_user_names_the_switch_of_the_vendor(
    doubles: CommandDoubles, property_: str, hint: str
) -> None:
    doubles.answer("getprop", f"{property_}\n", when="")
    assert hint in refusal(doubles, "INSTALL_FAILED_USER_RESTRICTED: Install canceled by user").hint
    assert hint not in refusal(doubles, "INSTALL_FAILED_INSUFFICIENT_STORAGE").hint
