"""The sync service, which push, pull and ls use."""

import errno
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.phone.adb.peer import FakeDevice, Peer, open_adbd


class Sync:
    """The bytes of a sync stream, both ways."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.stream = peer.open(b"sync:")
        self._said = b""
        self.closed = False

    def send(self, data: bytes) -> None:
        self.peer.send(b"WRTE", *self.stream, data)
        self._until(lambda kind: kind == b"OKAY")

    def ask(self, kind: bytes, argument: bytes) -> None:
        self.send(kind + struct.pack("<I", len(argument)) + argument)

    def read(self, size: int) -> bytes:
        while len(self._said) < size:
            self._until(lambda kind: kind == b"WRTE")
        data, self._said = self._said[:size], self._said[size:]
        return data

    def word(self) -> tuple[bytes, int]:
        kind, number = struct.unpack("<4sI", self.read(8))
        return kind, number

    def failure(self) -> str:
        kind, size = self.word()
        assert kind == b"FAIL"
        return self.read(size).decode()

    def push(self, path: bytes, content: bytes, mode: int = 0o100644, mtime: int = 1_600_000_000) -> None:
        self.ask(b"SEND", path + b",%d" % mode)
        for i in range(0, len(content), 65536):
            self.ask(b"DATA", content[i : i + 65536])
        self.send(b"DONE" + struct.pack("<I", mtime))

    def pull(self) -> bytes:
        content = b""
        while True:
            kind, size = self.word()
            if kind == b"DONE":
                return content
            assert kind == b"DATA", kind
            assert size <= 65536
            content += self.read(size)

    def entries(self) -> dict[bytes, tuple[int, int, int]]:
        found: dict[bytes, tuple[int, int, int]] = {}
        while True:
            kind, mode, size, mtime, length = struct.unpack("<4s4I", self.read(20))
            if kind == b"DONE":
                return found
            found[self.read(length)] = (mode, size, mtime)

    def _until(self, wanted: object) -> None:
        assert callable(wanted)
        while True:
            kind, _, _, payload = self.peer.read()
            if kind == b"WRTE":
                self._said += payload
                self.peer.send(b"OKAY", *self.stream)
            elif kind == b"CLSE":
                self.closed = True
                raise EOFError
            if wanted(kind):
                return


@pytest.fixture
def device(tmp_path: Path) -> FakeDevice:
    return FakeDevice(str(tmp_path / "phone"))


@pytest.fixture
def sync(device: FakeDevice) -> Iterator[Sync]:
    with open_adbd(device) as (_, port), Peer(port) as peer:
        yield Sync(peer)


def test_a_pushed_file_is_there_with_mode_and_time(sync: Sync, device: FakeDevice) -> None:
    sync.push(b"/sdcard/new/folder/a.txt", b"hello" * 50_000, 0o100640, 1_500_000_000)
    assert sync.word() == (b"OKAY", 0)
    found = device.storage.stat("/sdcard/new/folder/a.txt")
    assert (found.mode, found.size, found.mtime) == (stat.S_IFREG | 0o640, 250_000, 1_500_000_000)
    sync.ask(b"STAT", b"/storage/emulated/0/new/folder/a.txt")
    assert sync.read(16) == struct.pack("<4s3I", b"STAT", stat.S_IFREG | 0o640, 250_000, 1_500_000_000)


def test_a_pushed_file_can_be_pulled(sync: Sync) -> None:
    content = os.urandom(200_001)
    sync.push(b"/data/local/tmp/x", content)
    assert sync.word() == (b"OKAY", 0)
    sync.ask(b"RECV", b"/data/local/tmp/x")
    assert sync.pull() == content


def test_version_2_requests_do_the_same(sync: Sync) -> None:
    sync.ask(b"SND2", b"/sdcard/v2")
    sync.send(b"SND2" + struct.pack("<2I", 0o100600, 0))
    sync.ask(b"DATA", b"content")
    sync.send(b"DONE" + struct.pack("<I", 1_700_000_000))
    assert sync.word() == (b"OKAY", 0)
    sync.ask(b"RCV2", b"/sdcard/v2")
    sync.send(b"RCV2" + struct.pack("<I", 0))
    assert sync.pull() == b"content"
    for kind in (b"STA2", b"LST2"):
        sync.ask(kind, b"/sdcard/v2")
        fields = struct.unpack("<4sI2Q4IQ3q", sync.read(72))
        assert (fields[0], fields[1], fields[4], fields[8], fields[10]) == (kind, 0, 0o100600, 7, 1_700_000_000)
    sync.ask(b"LIS2", b"/sdcard")
    names = set()
    while (fields := struct.unpack("<4sI2Q4IQ3qI", sync.read(76)))[0] == b"DNT2":
        names.add(sync.read(fields[12]))
    assert fields == (b"DONE", *[0] * 12)
    assert {b".", b"..", b"v2", b"Download"} <= names


def test_compression_that_was_never_offered_is_refused(sync: Sync, device: FakeDevice) -> None:
    sync.ask(b"SND2", b"/sdcard/v2")
    sync.send(b"SND2" + struct.pack("<2I", 0o100600, 1))
    sync.ask(b"DATA", b"squeezed")
    sync.send(b"DONE" + bytes(4))
    assert "flags" in sync.failure()
    sync.ask(b"RCV2", b"/sdcard/v2")
    sync.send(b"RCV2" + struct.pack("<I", 2))
    assert "flags" in sync.failure()
    assert not device.storage.exists("/sdcard/v2")


def test_a_folder_is_listed_with_kinds(sync: Sync, device: FakeDevice) -> None:
    device.storage.write("/sdcard/Download/ö.txt", b"12")
    sync.ask(b"LIST", b"/sdcard")
    assert stat.S_ISDIR(sync.entries()[b"Download"][0])
    sync.ask(b"LIST", b"/sdcard/Download")
    assert sync.entries()["ö.txt".encode()][1] == 2


@pytest.mark.parametrize("path", [b"/nope", b"", b"/data", b"/sdcard/Download/file", b"/\0"])
def test_a_folder_that_cannot_be_listed_is_empty(sync: Sync, device: FakeDevice, path: bytes) -> None:
    device.storage.write("/sdcard/Download/file", b"")
    sync.ask(b"LIST", path)
    assert sync.entries() == {}


def test_a_missing_file_has_no_mode(sync: Sync) -> None:
    sync.ask(b"STAT", b"/nope")
    assert sync.read(16) == b"STAT" + bytes(12)
    sync.ask(b"STA2", b"/nope")
    assert struct.unpack("<4sI2Q4IQ3q", sync.read(72)) == (b"STA2", errno.ENOENT, *[0] * 10)


def test_an_error_outside_the_protocol_is_sent_as_eio(sync: Sync, device: FakeDevice) -> None:
    device.storage.close()  # every answer is ENODEV now
    sync.ask(b"STA2", b"/sdcard")
    assert struct.unpack("<4sI2Q4IQ3q", sync.read(72))[1] == errno.EIO


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (b"/nope", "No such file or directory"),
        (b"/sdcard", "Is a directory"),
        (b"/data/secret", "Permission denied"),
        (b"/a\0b", "Invalid argument"),
        (b"/" + b"n" * 300, "File name too long"),
        (b"", "No such file or directory"),
    ],
)
def test_an_unreadable_file_reports_the_reason(sync: Sync, path: bytes, reason: str) -> None:
    sync.ask(b"RECV", path)
    assert sync.failure() == f"open failed: {reason}"


@pytest.mark.parametrize(
    ("path", "mode", "reason"),
    [
        (b"/system/app", 0o100644, "Read-only file system"),
        (b"/sdcard/Download", 0o100644, "Is a directory"),
        (b"/sdcard/" + b"n" * 300, 0o100644, "File name too long"),
        (b"/sdcard/link", 0o120777, "Operation not permitted"),
        (b"/sdcard/folder", 0o040755, "Is a directory"),
        (b"", 0o100644, "No such file or directory"),
    ],
)
def test_a_failed_push_is_read_to_its_end_and_reports_the_reason(
    sync: Sync, path: bytes, mode: int, reason: str
) -> None:
    sync.push(path, bytes(150_000), mode)
    assert reason in sync.failure()
    sync.push(b"/sdcard/next", b"fine")
    assert sync.word() == (b"OKAY", 0)


def test_a_push_to_a_full_phone_fails_and_keeps_the_old_file(sync: Sync, device: FakeDevice) -> None:
    device.storage.write("/sdcard/a", b"old")
    device.storage.full = True
    sync.push(b"/sdcard/a", bytes(100_000))
    assert "No space left on device" in sync.failure()
    assert device.storage.read("/sdcard/a") == b"old"


def test_a_push_that_breaks_off_changes_nothing(sync: Sync, device: FakeDevice) -> None:
    device.storage.write("/sdcard/a", b"old")
    before = device.storage.list("/sdcard")
    sync.ask(b"SEND", b"/sdcard/a,33188")
    sync.ask(b"DATA", b"new")
    sync.peer.send(b"CLSE", *sync.stream)
    assert sync.peer.read()[0] == b"CLSE"
    assert sync.peer.run(b"shell:echo next") == b"next\n"
    assert device.storage.read("/sdcard/a") == b"old"
    assert device.storage.list("/sdcard") == before


@pytest.mark.parametrize("mode", [b"", b"-1", b"0x1ff", b"9" * 200, b"\xff", "¹".encode()])
def test_a_mode_that_is_not_a_number_is_refused(sync: Sync, mode: bytes) -> None:
    sync.ask(b"SEND", b"/sdcard/a," + mode)
    sync.send(b"DONE" + bytes(4))
    assert sync.failure() == "bad mode"


def test_quit_closes_the_stream(sync: Sync) -> None:
    sync.peer.send(b"WRTE", *sync.stream, b"QUIT" + bytes(4))
    with pytest.raises(EOFError):
        sync.read(1)


def test_a_path_that_is_too_long_is_refused_and_the_stream_closed(sync: Sync) -> None:
    sync.send(b"STAT" + struct.pack("<I", 0xFFFFFFFF))
    assert sync.failure() == "path too long"
    with pytest.raises(EOFError):
        sync.read(1)


def test_an_unknown_request_is_refused_and_the_stream_closed(sync: Sync) -> None:
    sync.ask(b"\xffAT!", b"")
    assert "unknown command" in sync.failure()
    with pytest.raises(EOFError):
        sync.read(1)


@pytest.mark.parametrize("chunk", [b"DATA" + struct.pack("<I", 65537), b"JUNK" + bytes(4)])
def test_an_invalid_chunk_fails_and_closes_the_stream(sync: Sync, device: FakeDevice, chunk: bytes) -> None:
    sync.ask(b"SEND", b"/sdcard/a,33188")
    sync.send(chunk)
    assert "data message" in sync.failure()
    with pytest.raises(EOFError):
        sync.read(1)
    assert not device.storage.exists("/sdcard/a")


@pytest.mark.parametrize(
    "path", ["{out}", "/../../../../../..{out}", "/sdcard/../../../../../../../..{out}", "../{out}"]
)
def test_no_path_leads_out_of_the_phone(sync: Sync, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    target = path.format(out=outside).encode()
    sync.ask(b"RECV", target)
    assert "failed" in sync.failure()
    sync.push(target, b"broken in")
    sync.word()
    assert outside.read_bytes() == b"secret"
    assert {entry.name for entry in tmp_path.iterdir()} == {"outside", "phone"}


@pytest.mark.random
def test_any_bytes_in_a_sync_stream_leave_the_phone_up(tmp_path: Path) -> None:
    device = FakeDevice(str(tmp_path / "phone"))
    with open_adbd(device) as (_, port):
        words = st.sampled_from(
            [b"STAT", b"LIST", b"SEND", b"RECV", b"DATA", b"DONE", b"SND2", b"/sdcard/x,1", bytes(4)]
        )

        @given(st.lists(words | st.binary(max_size=40), max_size=12))
        def feed(parts: list[bytes]) -> None:
            with Peer(port) as peer:
                stream = peer.open(b"sync:")
                peer.send(b"WRTE", *stream, b"".join(parts))
                peer.send(b"CLSE", *stream)
                assert peer.read()[0] in {b"OKAY", b"WRTE", b"CLSE"}

        feed()
        with Peer(port) as peer:
            assert peer.run(b"shell:echo up") == b"up\n"
    assert {entry.name for entry in tmp_path.iterdir()} <= {"phone"}
