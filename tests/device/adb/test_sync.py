import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.adb.sync import (
    NoSuchFileError,
    TransferError,
    install_apk,
    pull_file,
    push_file,
    read_file,
)
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import OKAY, Pause, refusal, scripted
from tests.phone.core.apks import make_apk
from tests.support.routes import ROUTES, Route, open_route

SIZES = (0, 1, 65_535, 65_536, 65_537, 300_000)


@pytest.fixture(scope="module", params=ROUTES)
def route(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Route]:
    with open_route(request.param, tmp_path_factory.mktemp("route")) as route:
        yield route


@pytest.mark.parametrize("size", SIZES)
def test_a_file_comes_back_as_it_was_sent(size: int, route: Route, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "there").write_bytes(data)
    assert push_file(route.device, str(tmp_path / "there"), "/sdcard/a file", seconds=10) == size
    assert route.shell("stat -c '%s %a' '/sdcard/a file'") == f"{size} 644\n"
    assert pull_file(route.device, "/sdcard/a file", str(tmp_path / "back"), seconds=10) == size
    assert (tmp_path / "back").read_bytes() == data
    assert read_file(route.device, "/sdcard/a file", size) == data


def test_a_pulled_file_replaces_an_older_one(route: Route, tmp_path: Path) -> None:
    route.shell("echo new > /sdcard/new")
    (tmp_path / "file").write_text("a much longer old text")
    pull_file(route.device, "/sdcard/new", str(tmp_path / "file"), seconds=10)
    assert (tmp_path / "file").read_text() == "new\n"


def test_a_file_that_is_not_there(route: Route, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(NoSuchFileError, match="No such file"):
        pull_file(route.device, "/sdcard/nowhere", str(tmp_path / "file"), seconds=10)
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_pulling_a_folder_fails(route: Route, tmp_path: Path) -> None:
    with pytest.raises(TransferError):
        pull_file(route.device, "/sdcard", str(tmp_path / "file"), seconds=10)
    assert os.listdir(tmp_path) == []


def test_a_file_larger_than_wanted_is_refused(route: Route, tmp_path: Path) -> None:
    route.shell("head -c 200000 /dev/zero > /sdcard/large")
    with pytest.raises(TransferError, match="larger than 100000 bytes"):
        pull_file(route.device, "/sdcard/large", str(tmp_path / "large"), seconds=10, max_bytes=100_000)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("remote", ["/sdcard/" + "x" * 2000, "/sdcard/a\0b"])
def test_a_name_no_file_can_have_is_refused(remote: str, route: Route) -> None:
    with pytest.raises(TransferError, match="invalid device path"):
        read_file(route.device, remote, 10)


def test_a_rejected_push_reports_the_reason(route: Route, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 300_000)
    with pytest.raises(TransferError) as error:
        push_file(route.device, str(tmp_path / "file"), "/proc/x", seconds=10)
    assert str(error.value)


def test_host_file_errors_have_their_own_code(route: Route, tmp_path: Path) -> None:
    route.shell("echo new > /sdcard/new")
    with pytest.raises(FileNotFoundError):
        pull_file(route.device, "/sdcard/new", str(tmp_path / "none" / "file"), seconds=10)
    with pytest.raises(FileNotFoundError):
        push_file(route.device, str(tmp_path / "none"), "/sdcard/x", seconds=10)


def test_an_apk_is_installed_and_replaced(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "it's an app.apk"
    for version in (1, 2):
        apk.write_bytes(make_apk("com.example.sent", version_code=version, filler=200_000))
        install_apk(route.device, str(apk), seconds=20)
    assert "versionCode=2 " in route.shell("dumpsys package com.example.sent")


def test_an_apk_that_is_there_is_kept_unless_replaced(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "a.apk"
    apk.write_bytes(make_apk("com.example.kept"))
    install_apk(route.device, str(apk), seconds=20)
    with pytest.raises(ClawError, match="INSTALL_FAILED_ALREADY_EXISTS"):
        install_apk(route.device, str(apk), seconds=20, replace=False)


@pytest.mark.parametrize("content", [b"", b"no apk", b"PK\x03\x04" + bytes(200_000)])
def test_an_invalid_apk_is_rejected_with_the_devices_reason(content: bytes, route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "a.apk"
    apk.write_bytes(content)
    with pytest.raises(ClawError) as error:
        install_apk(route.device, str(apk), seconds=20)
    assert error.value.code == "ANDROID_INSTALL_FAILED"
    assert (error.value.details or {})["reason"]


def test_an_apk_that_is_not_there_is_refused(route: Route, tmp_path: Path) -> None:
    with pytest.raises(ClawError, match="No such file") as error:
        install_apk(route.device, str(tmp_path / "none.apk"))
    assert error.value.code == "ANDROID_INSTALL_FAILED"


# Peers that break the protocol


def head(kind: bytes, size: int) -> bytes:
    return struct.pack("<4sI", kind, size)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        head(b"DATA", 3) + b"ab",
        head(b"DATA", 3) + b"abc",
        head(b"DATA", 1 << 31) + b"abc",
        head(b"STAT", 0),
        head(b"FAIL", 1 << 31),
        head(b"DATA", 3) + b"abc" + head(b"FAIL", 4) + b"died",
    ],
    ids=["nothing", "cut piece", "no end", "huge piece", "other word", "huge reason", "late failure"],
)
def test_a_broken_transfer_leaves_nothing_behind(answer: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with scripted(OKAY, OKAY, after=answer) as device, pytest.raises(TransferError):
        pull_file(device, "/sdcard/x", str(tmp_path / "file"), seconds=5)
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_device_without_a_file_service_is_reported() -> None:
    with scripted(OKAY, refusal("closed")) as device, pytest.raises(TransferError, match="closed"):
        read_file(device, "/sdcard/x", 10)


def test_a_missing_device_is_reported() -> None:
    with scripted(refusal("device 'scripted' not found")) as device, pytest.raises(ClawError) as error:
        read_file(device, "/sdcard/x", 10)
    assert error.value.code == "DEVICE_NOT_FOUND"


@pytest.mark.parametrize("verdict", [b"Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\n", b"cmd: not found\n", b""])
def test_an_installation_that_fails_gives_the_phones_words(verdict: bytes, tmp_path: Path) -> None:
    apk = tmp_path / "a.apk"
    apk.write_bytes(b"x")
    with scripted(OKAY, OKAY, after=verdict) as device, pytest.raises(ClawError) as error:
        install_apk(device, str(apk), seconds=5)
    assert (verdict.decode().strip() or "no output") in error.value.message


def test_an_installation_without_an_end_ends_at_its_deadline(tmp_path: Path) -> None:
    apk = tmp_path / "a.apk"
    apk.write_bytes(b"x")
    with scripted(OKAY, OKAY, Pause()) as device, pytest.raises(ClawError, match="timeout"):
        install_apk(device, str(apk), seconds=0.3)


def test_a_port_without_a_listener_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="refused"):
        pull_file(Device("x", Endpoint("127.0.0.1", 1)), "/x", str(tmp_path / "x"), seconds=2)
