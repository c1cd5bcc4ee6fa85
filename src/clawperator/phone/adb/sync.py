"""The sync service: the protocol of ``adb push``, ``pull`` and ``ls``."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from struct import Struct

from clawperator._base.files import why
from clawperator.errors import ClawperatorException
from clawperator.phone.adb.device import AdbDevice
from clawperator.phone.adb.streams import ServiceStream
from clawperator.phone.storage.filesystem import FileStat, Storage

MAX_PATH_BYTES = 1024
MAX_DATA = 64 * 1024

_HEAD = Struct("<4sI")
_STAT = Struct("<4s3I")
_DENT = Struct("<4s4I")
_STAT2 = Struct("<4sI2Q4IQ3q")
_DENT2 = Struct("<4sI2Q4IQ3qI")
_SEND2 = Struct("<4s2I")
_ALL = 0xFFFFFFFF
_SHELL_USER = 2000
_NOTHING = FileStat(0, 0, 0)
# The errors of the protocol by their Linux numbers; any other is sent as EIO.
_WIRE_ERRORS = {
    errno.EPERM: 1,
    errno.ENOENT: 2,
    errno.EIO: 5,
    errno.ENOMEM: 12,
    errno.EACCES: 13,
    errno.EEXIST: 17,
    errno.ENOTDIR: 20,
    errno.EISDIR: 21,
    errno.EINVAL: 22,
    errno.ENFILE: 23,
    errno.EMFILE: 24,
    errno.EFBIG: 27,
    errno.ENOSPC: 28,
    errno.EROFS: 30,
    errno.ENAMETOOLONG: 36,
    errno.ELOOP: 40,
    errno.EOVERFLOW: 75,
}
_BATCH = 64 * 1024  # bytes of a listing per write


class _Closed(ClawperatorException):
    """The session is over."""


def run_sync(_: bytes, stream: ServiceStream, device: AdbDevice) -> None:
    """Answer requests until the peer quits or sends an invalid one."""
    session = _Session(stream, device.storage)
    with suppress(_Closed):
        while True:
            session.answer()


class _Session:
    """One peer and the phone's files."""

    def __init__(self, stream: ServiceStream, storage: Storage) -> None:
        self._stream = stream
        self._storage = storage

    def answer(self) -> None:
        """Read and answer one request."""
        kind, size = _HEAD.unpack(self._stream.read_exactly(_HEAD.size))
        if size > MAX_PATH_BYTES:
            self._fail("path too long")
            raise _Closed
        argument = self._stream.read_exactly(size)
        handle = _REQUESTS.get(kind)
        if handle is None:
            if kind != b"QUIT":
                self._fail(f"unknown command {kind.decode('ascii', 'backslashreplace')}")
            raise _Closed
        handle(self, argument)

    def stat(self, argument: bytes) -> None:
        found = self._stat_or_error(_text(argument))[1]
        self._stream.write(_STAT.pack(b"STAT", found.mode, min(found.size, _ALL), found.mtime & _ALL))

    def stat_v2(self, argument: bytes) -> None:
        self._stat_v2(b"STA2", argument)

    def lstat_v2(self, argument: bytes) -> None:
        self._stat_v2(b"LST2", argument)

    def list(self, argument: bytes) -> None:
        self._list(argument, _entry, _DENT.pack(b"DONE", 0, 0, 0, 0))

    def list_v2(self, argument: bytes) -> None:
        self._list(argument, _entry_v2, _DENT2.pack(b"DONE", *[0] * 12))

    def receive(self, argument: bytes) -> None:
        """Send the peer a file."""
        path = _text(argument)
        if self._storage.is_dir(path):
            self._fail(f"open failed: {os.strerror(errno.EISDIR)}")
            return
        try:
            file = self._storage.open(path)
        except (OSError, ValueError) as e:
            self._fail(f"open failed: {why(e)}")
            return
        with file:
            try:
                # Send the end with the last piece: an adb server would delay it by 40 ms if it came alone.
                data = file.read(MAX_DATA)
                while following := file.read(MAX_DATA):
                    self._stream.write(_HEAD.pack(b"DATA", len(data)) + data)
                    data = following
            except BrokenPipeError:
                raise
            except OSError as e:
                self._fail(f"read failed: {why(e)}")
                return
        last = _HEAD.pack(b"DATA", len(data)) + data if data else b""
        self._stream.write(last + _HEAD.pack(b"DONE", 0))

    def receive_v2(self, argument: bytes) -> None:
        _, flags = _HEAD.unpack(self._stream.read_exactly(_HEAD.size))
        if flags:
            self._fail(f"unsupported flags {flags:#x}")
        else:
            self.receive(argument)

    def send(self, argument: bytes) -> None:
        path, _, mode = argument.rpartition(b",")
        self._send(_text(path), int(mode) if mode.isdigit() and len(mode) <= 10 else None)

    def send_v2(self, argument: bytes) -> None:
        _, mode, flags = _SEND2.unpack(self._stream.read_exactly(_SEND2.size))
        self._send(_text(argument), mode, f"unsupported flags {flags:#x}" if flags else "")

    def _send(self, path: str, mode: int | None, refusal: str = "") -> None:
        """Receive a file. It appears complete under its name, or not at all."""
        incoming = _Incoming(self._stream)
        try:
            self._store(path, mode, incoming, refusal)
        except (_NotStored, OSError, ValueError) as e:
            if isinstance(e, BrokenPipeError):
                raise
            for _ in incoming.pieces():
                pass  # the peer reads only after it has sent everything
            self._fail(str(e) if isinstance(e, _NotStored) else why(e))
        else:
            self._stream.write(_HEAD.pack(b"OKAY", 0))
        if incoming.damaged:
            raise _Closed

    def _store(self, path: str, mode: int | None, incoming: "_Incoming", refusal: str) -> None:
        if refusal or mode is None:
            raise _NotStored(refusal or "bad mode")
        if stat.S_ISLNK(mode):
            raise _NotStored("symlink failed: Operation not permitted")
        folder = path.rpartition("/")[0]
        if folder and not self._storage.is_dir(folder):
            self._storage.mkdir(folder, parents=True)
        if stat.S_ISDIR(mode):
            raise _NotStored("couldn't create file: Is a directory")
        with self._storage.replacing(path, mode & 0o777) as file:
            for piece in incoming.pieces():
                file.write(piece)
            if incoming.damaged:
                raise _NotStored(incoming.damaged)
        self._storage.set_mtime(path, incoming.mtime)

    def _stat_v2(self, kind: bytes, argument: bytes) -> None:
        problem, found = self._stat_or_error(_text(argument))
        self._stream.write(_STAT2.pack(kind, *_facts(problem, found)))

    def _list(self, argument: bytes, pack: Callable[[bytes, int, FileStat], bytes], end: bytes) -> None:
        """List a folder. One that cannot be listed counts as empty, as in adbd."""
        path = _text(argument)
        try:
            names = [".", "..", *self._storage.list(path)]
        except (OSError, ValueError):
            names = []
        batch = bytearray()
        for name in names:
            problem, found = self._stat_or_error(f"{path}/{name}")
            batch += pack(name.encode("utf-8", "surrogateescape"), problem, found)
            if len(batch) >= _BATCH:
                self._stream.write(bytes(batch))
                batch.clear()
        self._stream.write(bytes(batch) + end)

    def _stat_or_error(self, path: str) -> tuple[int, FileStat]:
        try:
            return 0, self._storage.stat(path)
        except OSError as e:
            return _WIRE_ERRORS.get(e.errno or errno.EIO, 5), _NOTHING
        except ValueError:
            return _WIRE_ERRORS[errno.EINVAL], _NOTHING

    def _fail(self, reason: str) -> None:
        text = reason.encode("utf-8", "replace")
        self._stream.write(_HEAD.pack(b"FAIL", len(text)) + text)


class _NotStored(ClawperatorException):
    """The received file is not stored, for this reason."""


class _Incoming:
    """The content of a file that the peer sends. ``damaged`` is the reason when the data is invalid."""

    def __init__(self, stream: ServiceStream) -> None:
        self._stream = stream
        self._ended = False
        self.mtime = 0
        self.damaged = ""

    def pieces(self) -> Iterator[bytes]:
        while not self._ended:
            kind, size = _HEAD.unpack(self._stream.read_exactly(_HEAD.size))
            if kind == b"DATA" and size <= MAX_DATA:
                yield self._stream.read_exactly(size)
                continue
            self._ended = True
            if kind == b"DONE":
                self.mtime = size
            else:
                self.damaged = "oversize data message" if kind == b"DATA" else "invalid data message"


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _facts(problem: int, found: FileStat) -> tuple[int, ...]:
    owner = _SHELL_USER if found.mode else 0
    times = (found.mtime,) * 3
    return problem, 0, 0, found.mode, 1 if found.mode else 0, owner, owner, found.size, *times


def _entry(name: bytes, _: int, found: FileStat) -> bytes:
    return _DENT.pack(b"DENT", found.mode, min(found.size, _ALL), found.mtime & _ALL, len(name)) + name


def _entry_v2(name: bytes, problem: int, found: FileStat) -> bytes:
    return _DENT2.pack(b"DNT2", *_facts(problem, found), len(name)) + name


_REQUESTS: Mapping[bytes, Callable[[_Session, bytes], None]] = {
    b"STAT": _Session.stat,
    b"STA2": _Session.stat_v2,
    b"LST2": _Session.lstat_v2,
    b"LIST": _Session.list,
    b"LIS2": _Session.list_v2,
    b"RECV": _Session.receive,
    b"RCV2": _Session.receive_v2,
    b"SEND": _Session.send,
    b"SND2": _Session.send_v2,
}
