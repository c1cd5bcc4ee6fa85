"""Virtual devices as their files describe them."""

from pathlib import Path

import pytest

from clawperator.device.emulators import avd_names, host_abi, read_avd, require_avd
from clawperator.errors import ClawError

IMAGE = "system-images/android-35/google_apis_playstore/x86_64"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANDROID_AVD_HOME", str(tmp_path / "avd"))
    (tmp_path / "avd").mkdir()
    return tmp_path / "avd"


def write(folder: Path, ini: str, config: str, name: str = "a") -> None:
    (folder / f"{name}.ini").write_text(ini)
    (folder / f"{name}.avd").mkdir()
    (folder / f"{name}.avd" / "config.ini").write_text(config)


def test_only_files_with_a_valid_name_are_virtual_devices(home: Path) -> None:
    for name in ("b.ini", "a.ini", "c.avd", "d", "bad name.ini", ".ini", "-x.ini"):
        (home / name).write_text("")
    assert avd_names() == ["a", "b"]
    with pytest.raises(ClawError) as caught:
        require_avd("c")
    assert caught.value.code == "EMULATOR_NOT_FOUND"
    assert caught.value.details == {"avdName": "c", "known": ["a", "b"]}
    require_avd("a")


def test_the_files_may_be_in_another_folder(home: Path, tmp_path: Path) -> None:
    write(home, f"path={tmp_path / 'moved'}\n", "hw.device.name=not this\n")
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "config.ini").write_text("hw.device.name = pixel_7\nno value\n")
    assert read_avd("a", running=False).deviceProfile == "pixel_7"


@pytest.mark.parametrize(
    ("target", "image", "level"),
    [
        ("target=android-34\n", IMAGE, 34),
        ("", IMAGE, 35),
        ("target=android-35\n", "", 35),
        ("target=Google Inc.\n", "", None),
    ],
)
def test_the_level_is_that_of_the_target_or_else_of_the_image(
    home: Path, target: str, image: str, level: int | None
) -> None:
    write(home, target, f"image.sysdir.1={image}\n" if image else "")
    avd = read_avd("a", running=False)
    assert avd.apiLevel == level
    assert ("unsupported_api_level" in avd.unsupportedReasons) is (level != 35)
    assert avd.systemImage == (image.replace("/", ";") or None)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("PlayStore.enabled=TRUE\n", True),
        ("PlayStore.enabled=yes\n", True),
        ("PlayStore.enabled=no\n", False),
        ("tag.id=google_apis_playstore\n", True),
        ("tag.id=google_apis\n", False),
        (f"image.sysdir.1={IMAGE}\\\n".replace("/", "\\"), True),
        ("image.sysdir.1=system-images/android-35/my_google_apis_playstore_/x\n", False),
        ("", False),
    ],
)
def test_a_play_store_is_known_by_one_of_three_values(home: Path, config: str, *, expected: bool) -> None:
    write(home, "", config)
    avd = read_avd("a", running=True)
    assert (avd.playStore, avd.running, avd.exists) == (expected, True, True)
    assert ("missing_play_store" in avd.unsupportedReasons) is not expected


def test_a_supported_virtual_device_has_the_abi_of_this_computer(home: Path) -> None:
    write(home, "", f"image.sysdir.1={IMAGE}\nabi.type={host_abi()}\nhw.device.name=pixel_7\n")
    avd = read_avd("a", running=False)
    assert (avd.abi, avd.supported, avd.unsupportedReasons) == (host_abi(), True, [])


def test_a_virtual_device_without_files_has_a_record(home: Path) -> None:
    (home / "a.avd").mkdir()
    (home / "a.avd" / "config.ini").write_text("hw.device.name=pixel_7\n")
    avd = read_avd("a", running=False)
    assert (avd.exists, avd.abi, avd.deviceProfile, avd.supported) == (False, None, None, False)
