import io
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from clawperator._base.deadline import Deadline
from clawperator._base.notes import listening
from clawperator.device.adb import sync
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.adb.sync import (
    NoSuchFileError,
    TransferError,
    install_apk,
    pull_file,
    read_file,
)
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import OKAY, Pause, refusal, scripted
from tests.phone.core.apks import make_apk
from tests.support.adb_services import push_file
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import ordinary_phone
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
    with pytest.raises(TransferError) as error:
        pull_file(Device("x", Endpoint("127.0.0.1", 1)), "/x", str(tmp_path / "x"), seconds=2)
    assert str(error.value) == "Connection refused"


# What is sent and read


class ScriptedConnection:
    """A connection that keeps what is written, and reads from a script."""

    def __init__(self, answer: bytes = b"") -> None:
        self.written = b""
        self.answer = io.BytesIO(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()

    def write(self, data: bytes, /) -> None:
        self.written += data

    def read_exactly(self, size: int) -> bytes:
        data = self.answer.read(size)
        if len(data) < size:
            raise ConnectionError("closed")
        return data

    def read_some(self) -> bytes:
        return self.answer.readline()


class Service:
    """What is opened on a device: the names of the services, their time, and their connection."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.seconds: list[float | None] = []
        self.connection = ScriptedConnection()

    def open(self, _device: Device, name: str, deadline: Deadline) -> ScriptedConnection:
        self.names.append(name)
        self.seconds.append(deadline.remaining)
        return self.connection


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    """The next service of any device, on a clock that stands still."""
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    service = Service()
    monkeypatch.setattr(sync, "open_service", service.open)
    return service


DEVICE = Device("pixel", Endpoint("127.0.0.1", 1))
DONE = head(b"DONE", 0)


def test_a_small_file_is_read(service: Service) -> None:
    service.connection = ScriptedConnection(head(b"DATA", 2) + b"ab" + head(b"DATA", 1) + b"c" + DONE)
    assert read_file(DEVICE, "/sdcard/ä", 3) == b"abc"
    assert service.names == ["sync:"]
    assert service.connection.written == head(b"RECV", 10) + "/sdcard/ä".encode()


@pytest.mark.parametrize(("size", "accepted"), [(1_024, True), (1_025, False)])
def test_a_path_has_at_most_1024_bytes(size: int, service: Service, *, accepted: bool) -> None:
    service.connection = ScriptedConnection(DONE)
    path = "ä" * 512 + "x" * (size - 1_024)
    if accepted:
        assert read_file(DEVICE, path, 3) == b""
        return
    with pytest.raises(TransferError) as error:
        read_file(DEVICE, path, 3)
    assert str(error.value) == f"invalid device path {path[:80]!r}"


@pytest.mark.parametrize(("size", "accepted"), [(65_536, True), (65_537, False)])
def test_a_device_sends_pieces_of_at_most_64_kib(size: int, service: Service, *, accepted: bool) -> None:
    service.connection = ScriptedConnection(head(b"DATA", size) + b"x" * size + DONE)
    if accepted:
        assert len(read_file(DEVICE, "/x", size)) == size
        return
    with pytest.raises(TransferError, match="unexpected message b'DATA' from the device"):
        read_file(DEVICE, "/x", size)


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        (4, "died"),
        (600, "x" * 499 + "…"),
        (65_536, "x" * 499 + "…"),
        (65_537, "unexpected message b'FAIL' from the device"),
    ],
)
def test_a_refusal_is_one_line_of_limited_length(length: int, reason: str, service: Service) -> None:
    text = b"died" if length == 4 else b"x" * length
    service.connection = ScriptedConnection(head(b"FAIL", length) + text)
    with pytest.raises(TransferError) as error:
        read_file(DEVICE, "/x", 10)
    assert str(error.value) == reason


def test_a_pulled_file_has_at_most_four_gib(service: Service, tmp_path: Path) -> None:
    class Endless(ScriptedConnection):
        """Claims pieces of 64 KiB without end."""

        pieces = 0

        def read_exactly(self, size: int) -> bytes:
            self.pieces += size == 65_536
            return head(b"DATA", 65_536) if size == 8 else b""

    service.connection = endless = Endless()
    with pytest.raises(TransferError, match="larger than 4294967296 bytes"):
        pull_file(DEVICE, "/x", str(tmp_path / "x"), seconds=5)
    assert endless.pieces == 65_536


def test_a_pulled_file_is_private_and_follows_no_link(service: Service, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    service.connection = ScriptedConnection(head(b"DATA", 3) + b"new" + DONE)
    with pytest.raises(OSError, match="symbolic link"):
        pull_file(DEVICE, "/x", str(tmp_path / "link"), seconds=5)
    assert pull_file(DEVICE, "/x", str(tmp_path / "file"), seconds=5) == 3
    assert (tmp_path / "target").read_text() == "old"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


# Installing


@pytest.fixture
def apk(tmp_path: Path) -> str:
    (tmp_path / "a.apk").write_bytes(b"x" * 65_537)
    return str(tmp_path / "a.apk")


@pytest.mark.parametrize(("replace", "flag"), [(True, "-r"), (False, "-R")])
def test_an_apk_is_streamed_with_its_size(apk: str, flag: str, service: Service, *, replace: bool) -> None:
    service.connection = ScriptedConnection(b"Success\n")
    traces: list[str] = []
    with listening(pytest.fail, traces.append):
        assert install_apk(DEVICE, apk, replace=replace) == 65_537
    assert service.names == [f"exec:cmd package install {flag} -S 65537"]
    assert service.seconds == [120.0]
    assert service.connection.written == b"x" * 65_537
    assert traces == ["install: sending 65537 bytes to pixel"]


def test_an_apk_is_installed_for_one_user(apk: str, service: Service) -> None:
    service.connection = ScriptedConnection(b"Success\n")
    install_apk(DEVICE, apk, user=10)
    assert service.names == ["exec:cmd package install --user 10 -r -S 65537"]


@pytest.mark.parametrize(
    ("content", "sent"), [(b"x" * 70_000, 65_537), (b"x" * 65_536, None)], ids=["it grew", "it was truncated"]
)
def test_an_apk_that_changes_while_it_is_sent(
    content: bytes, sent: int | None, apk: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Changing(io.BytesIO):
        """The descriptor has the old size, the content is new."""

        def fileno(self) -> int:
            return descriptor

    descriptor = os.open(apk, os.O_RDONLY)
    monkeypatch.setattr(sync, "open_regular", lambda _: Changing(content))
    service.connection = ScriptedConnection(b"Success\n")
    try:
        if sent is not None:
            assert install_apk(DEVICE, apk) == sent == len(service.connection.written)
            return
        with pytest.raises(ClawError, match="the file was truncated while it was sent"):
            install_apk(DEVICE, apk)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (b"WARNING: linker\nFailure [A]\nSuccess\n", "Failure [A]"),
        (b"Failure [" + b"x" * 600 + b"]\n", "Failure [" + "x" * 490 + "…"),
        (b"y" * 600, "y" * 499 + "…"),
        (b"Failure [cut", "Failure [cut"),
        (b"pm: not\nfound\n", "pm: not found"),
    ],
)
def test_the_first_line_with_a_result_is_the_verdict(
    output: bytes, verdict: str, apk: str, service: Service
) -> None:
    service.connection = ScriptedConnection(output)
    with pytest.raises(ClawError) as error:
        install_apk(DEVICE, apk)
    assert error.value.details == {"path": apk, "reason": verdict}
    assert error.value.message == f"cannot install {apk} on pixel: {verdict}"


@pytest.mark.parametrize(
    ("pieces", "is_read"),
    [
        ([b"Succ", b"ess\n"], True),
        ([b" " * 65_534 + b"\n", b"Success\n"], True),
        ([b" " * 65_536, b"\nSuccess\n"], False),
    ],
    ids=["in pieces", "after other output", "after too much of it"],
)
def test_a_result_is_read_within_64_kib_of_output(
    pieces: list[bytes], apk: str, service: Service, monkeypatch: pytest.MonkeyPatch, *, is_read: bool
) -> None:
    monkeypatch.setattr(service.connection, "read_some", lambda: pieces.pop(0))
    if is_read:
        assert install_apk(DEVICE, apk) == 65_537
        return
    with pytest.raises(ClawError, match="no output"):
        install_apk(DEVICE, apk)


def test_output_that_arrives_byte_by_byte_is_read_once(
    apk: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = iter(b"\n" * 65_000 + b"warning: Success\nSuccess\n")
    monkeypatch.setattr(service.connection, "read_some", lambda: bytes([next(output)]))
    assert install_apk(DEVICE, apk) == 65_537


def test_a_device_that_stops_reading_still_has_a_verdict(apk: str, service: Service) -> None:
    class Full(ScriptedConnection):
        def write(self, _: bytes, /) -> None:
            raise BrokenPipeError

    service.connection = Full(b"Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\n")
    with pytest.raises(ClawError, match="INSUFFICIENT_STORAGE"):
        install_apk(DEVICE, apk)


@pytest.mark.parametrize(
    ("seconds_per_piece", "expected"),
    [
        (0.9, []),
        (
            1.0,
            [
                "installing on pixel: 0.1 of 0.3 MB sent",
                "installing on pixel: 0.3 of 0.3 MB sent",
                "sent 0.3 MB; pixel installs the app",
            ],
        ),
    ],
)
def test_notes_report_every_two_seconds_how_much_was_sent(
    seconds_per_piece: float,
    expected: list[str],
    tmp_path: Path,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apk = tmp_path / "large.apk"
    apk.write_bytes(b"x" * 5 * 65_536 if expected else b"x" * 2 * 65_536)
    service.connection = ScriptedConnection(b"Success\n")
    monkeypatch.setattr(
        time, "monotonic", lambda: 1_000.0 + seconds_per_piece * (len(service.connection.written) // 65_536)
    )
    notes: list[str] = []
    with listening(notes.append):
        install_apk(DEVICE, str(apk))
    assert notes == expected


@pytest.fixture
def doubles(tmp_path: Path) -> CommandDoubles:
    (tmp_path / "app.apk").write_bytes(b"PK")
    return ordinary_phone(tmp_path / "d")


def install_refusal(doubles: CommandDoubles, reason: str) -> ClawError:
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
    assert hint in install_refusal(doubles, reason).hint


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
    assert hint in install_refusal(doubles, "INSTALL_FAILED_USER_RESTRICTED: Install canceled by user").hint
    assert hint not in install_refusal(doubles, "INSTALL_FAILED_INSUFFICIENT_STORAGE").hint
