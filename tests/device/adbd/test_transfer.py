"""Files and APKs through a real adbd."""

import os
from pathlib import Path
from shlex import quote

import pytest

from clawperator.device.adb.sync import (
    NoSuchFileError,
    TransferError,
    install_apk,
    pull_file,
    read_file,
)
from clawperator.errors import ClawError
from tests.support.adb_services import push_file
from tests.support.hanging import wait_until
from tests.support.real_adbd import AdbdPhone

SECONDS = 30.0
# Around the block size of the protocol.
SIZES = (0, 1, 65_535, 65_536, 65_537, 3_000_000)
NAMES = ("plain", "a file", "it's $HOME `id`", "漢字-🙂", "-rf", "new\nline", "a" * 200)


def on_device(phone: AdbdPhone, path: str) -> Path:
    return phone.doubles.root / path.lstrip("/")


@pytest.mark.parametrize("size", SIZES)
def test_a_file_comes_back_as_it_was_sent(size: int, phone: AdbdPhone, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "there").write_bytes(data)
    assert push_file(phone.device, str(tmp_path / "there"), "/sdcard/file", seconds=SECONDS) == size
    assert on_device(phone, "/sdcard/file").read_bytes() == data
    assert pull_file(phone.device, "/sdcard/file", str(tmp_path / "back"), seconds=SECONDS) == size
    assert (tmp_path / "back").read_bytes() == data
    assert read_file(phone.device, "/sdcard/file", size) == data


@pytest.mark.parametrize("name", NAMES)
def test_names_arrive_as_they_are(name: str, phone: AdbdPhone, tmp_path: Path) -> None:
    (tmp_path / "there").write_text(name)
    push_file(phone.device, str(tmp_path / "there"), f"/sdcard/{name}", seconds=SECONDS)
    assert os.listdir(on_device(phone, "/sdcard")) == [name]
    assert read_file(phone.device, f"/sdcard/{name}", 1_000).decode() == name


def test_a_pushed_file_has_its_mode_and_time(phone: AdbdPhone, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    os.utime(tmp_path / "there", (1, 1_600_000_000))
    push_file(phone.device, str(tmp_path / "there"), "/sdcard/file", seconds=SECONDS, mode=0o744)
    file = on_device(phone, "/sdcard/file")
    # adbd gives the group and all others what the owner has. It sets the time after it has answered.
    assert file.stat().st_mode & 0o777 == 0o777
    wait_until(lambda: int(file.stat().st_mtime) == 1_600_000_000)


def test_adb_reads_what_we_push_and_we_read_what_adb_pushes(phone: AdbdPhone, tmp_path: Path) -> None:
    data = os.urandom(100_000)
    (tmp_path / "there").write_bytes(data)
    push_file(phone.device, str(tmp_path / "there"), "/sdcard/ours", seconds=SECONDS)
    phone.adb.output("-s", phone.adbd.serial, "pull", "/sdcard/ours", str(tmp_path / "pulled"))
    assert (tmp_path / "pulled").read_bytes() == data
    phone.adb.output("-s", phone.adbd.serial, "push", str(tmp_path / "there"), "/sdcard/theirs")
    assert read_file(phone.device, "/sdcard/theirs", 100_000) == data


def test_missing_files_are_reported(phone: AdbdPhone, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(NoSuchFileError, match="No such file"):
        pull_file(phone.device, "/sdcard/nowhere", str(tmp_path / "file"), seconds=SECONDS)
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_is_not_pulled(phone: AdbdPhone, tmp_path: Path) -> None:
    with pytest.raises(TransferError):
        pull_file(phone.device, "/sdcard", str(tmp_path / "file"), seconds=SECONDS)
    assert os.listdir(tmp_path) == []


def test_a_file_larger_than_wanted_is_refused(phone: AdbdPhone, tmp_path: Path) -> None:
    on_device(phone, "/sdcard/large").write_bytes(bytes(3_000_000))
    with pytest.raises(TransferError, match="larger than 100000 bytes"):
        pull_file(phone.device, "/sdcard/large", str(tmp_path / "large"), seconds=SECONDS, max_bytes=100_000)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_a_refused_push_reports_the_reason(size: int, phone: AdbdPhone, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(size))
    with pytest.raises(TransferError, match="Read-only file system"):
        push_file(phone.device, str(tmp_path / "file"), "/usr/file", seconds=SECONDS)


# Installing


def installer(phone: AdbdPhone, verdict: str, *, reads: bool = True) -> Path:
    """A ``cmd`` that reads the APK from its stdin, whose size is its last word, and answers."""
    installed = phone.doubles.folder / "installed"
    read = f'/usr/bin/head -c "$last" >{quote(str(installed))}; ' if reads else ""
    phone.doubles.script("cmd", f"{read}echo {quote(verdict)}")
    return installed


@pytest.mark.parametrize("size", [1, 65_536, 3_000_000])
def test_an_apk_is_streamed(size: int, phone: AdbdPhone, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "app.apk").write_bytes(data)
    installed = installer(phone, "Success")
    assert install_apk(phone.device, str(tmp_path / "app.apk"), seconds=SECONDS) == size
    assert installed.read_bytes() == data
    (call,) = phone.calls("cmd")
    assert (call[:2], call[-2:]) == (["package", "install"], ["-S", str(size)])


@pytest.mark.parametrize("reads", [True, False])
def test_a_refused_apk_reports_the_reason(reads: bool, phone: AdbdPhone, tmp_path: Path) -> None:  # noqa: FBT001
    (tmp_path / "app.apk").write_bytes(bytes(3_000_000))
    installer(phone, "Failure [INSTALL_FAILED_OLDER_SDK: needs 99]", reads=reads)
    with pytest.raises(ClawError, match="INSTALL_FAILED_OLDER_SDK") as error:
        install_apk(phone.device, str(tmp_path / "app.apk"), seconds=SECONDS)
    assert error.value.code == "ANDROID_INSTALL_FAILED"
