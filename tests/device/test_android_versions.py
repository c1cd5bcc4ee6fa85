from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device.device_states import (
    NEWEST_API,
    OLDEST_API,
    SUPPORTED,
    android_name,
    read_api,
    require_supported,
    unsupported_version,
)
from clawperator.device.run.running import still_running
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import answering, text
from tests.device.adb.test_client import old_adbd
from tests.support.running import clawperator


@pytest.mark.parametrize(
    ("api", "name"),
    [
        (13, "Android with API level 13"),
        (14, "Android 4.0"),
        (19, "Android 4.4"),
        (23, "Android 6.0"),
        (24, "Android 7.0"),
        (25, "Android 7.1"),
        (28, "Android 9"),
        (32, "Android 12L"),
        (36, "Android 16"),
        (37, "Android with API level 37"),
        (99, "Android with API level 99"),
    ],
)
def test_an_api_level_has_a_name(api: int, name: str) -> None:
    assert android_name(api) == name


def test_the_range_is_stated_by_its_names() -> None:
    oldest, newest = (android_name(api).removeprefix("Android ") for api in (OLDEST_API, NEWEST_API))
    assert f"Android {oldest} to {newest}" == SUPPORTED


@pytest.mark.parametrize("api", range(14, OLDEST_API))
def test_an_older_version_is_refused_by_name(api: int) -> None:
    with pytest.raises(ClawError) as error:
        require_supported(api, "nexus")
    assert error.value.code == "ANDROID_VERSION_UNSUPPORTED"
    assert error.value.message == f"device nexus runs {android_name(api)}; Android 7.0 to 16 are supported"
    assert error.value.details == {
        "serial": "nexus",
        "api": api,
        "android": android_name(api),
        "oldestApi": 24,
        "newestApi": 36,
    }
    assert "Android 7.0 or newer" in error.value.hint


@pytest.mark.parametrize("api", [*range(OLDEST_API, NEWEST_API + 1), 40])
def test_supported_versions_and_newer_ones_are_accepted(api: int) -> None:
    require_supported(api, "pixel")


def test_a_device_that_does_not_report_its_version_is_refused_too() -> None:
    error = unsupported_version(None, "nexus")
    assert error.message == "device nexus runs Android before 7.0; Android 7.0 to 16 are supported"
    assert error.details is not None
    assert (error.details["api"], error.details["android"]) == (None, "Android before 7.0")


@pytest.mark.parametrize(("text", "api"), [("23\n", 23), (" 36\r\n", 36), ("24\nnext", 24), ("10000", 10_000)])
def test_the_level_is_read_from_getprop(text: str, api: int) -> None:
    assert read_api(text) == api


@given(st.text().filter(lambda text: not text.strip()[:1].isdecimal()))
def test_other_output_is_no_level(text: str) -> None:
    assert read_api(text) is None


@pytest.mark.parametrize("text", ["123456", "100000", "-1", "\u0661", "2 3"])
def test_other_numbers_are_no_level(text: str) -> None:
    assert read_api(text) is None


@pytest.mark.parametrize(
    "command",
    [
        ("snapshot",),
        ("snapshot", "--backend", "adb"),
        ("press", "home", "--backend", "adb"),
        ("packages", "list"),
        ("screenshot", "--path", "screen.png"),
    ],
)
def test_every_command_refuses_an_old_device_by_the_name_of_its_android(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: str) -> bytes:
        return text("nexus\tdevice\n") if request == "host:devices" else old_adbd(b"23\n")(request)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    with answering(answer) as listener:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(listener.getsockname()[1]))
        ran = clawperator(*command)
        assert still_running(0) == ()
    assert ran.code == 1
    found = ran.json.get("envelope", ran.json)
    assert found.get("errorCode", found.get("code")) == "ANDROID_VERSION_UNSUPPORTED"
    assert b"device nexus runs Android 6.0" in ran.out
