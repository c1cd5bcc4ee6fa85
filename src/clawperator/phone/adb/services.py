"""The services of the phone that clients open by name: commands, file transfer, and sockets on the phone."""

import errno
import logging
import shlex
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from struct import Struct

import msgspec

from clawperator._base.files import why
from clawperator.errors import ClawperatorException
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.streams import GRACE_SECONDS, ServiceStream
from clawperator.phone.core.kernel import SocketChannel
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.storage.filesystem import FileStat, Storage

# The sync service: the protocol of ``adb push``, ``pull`` and ``ls``

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
# The errors of the protocol are sent by their Linux numbers, which are also those of other systems up to 34.
_WIRE_ERRORS = {
    **{number: number for number in (1, 2, 5, 12, 13, 17, 20, 21, 22, 23, 24, 27, 28, 30)},
    errno.ENAMETOOLONG: 36,
    errno.ELOOP: 40,
    errno.EOVERFLOW: 75,
}
_BATCH = 64 * 1024  # bytes of a listing per write


class _Closed(ClawperatorException):
    """The session is over."""


def run_sync(_: bytes, stream: ServiceStream, device: PhoneDevice) -> None:
    """Answer requests until the peer quits or sends an invalid one."""
    session = _Session(stream, device.storage)
    with suppress(_Closed):
        while True:
            session.answer()


class _Session(msgspec.Struct, frozen=True):
    """One peer and the phone's files."""

    _stream: ServiceStream
    _storage: Storage

    def answer(self) -> None:  # noqa: C901 - one case per request
        """Read and answer one request."""
        kind, size = _HEAD.unpack(self._stream.read_exactly(_HEAD.size))
        if size > MAX_PATH_BYTES:
            self._fail("path too long")
            raise _Closed
        argument = self._stream.read_exactly(size)
        path = _text(argument)
        match kind:
            case b"STAT":
                found = self._stat_or_error(path)[1]
                self._stream.write(_STAT.pack(kind, found.mode, min(found.size, _ALL), found.mtime & _ALL))
            case b"STA2" | b"LST2":
                self._stream.write(_STAT2.pack(kind, *_facts(*self._stat_or_error(path))))
            case b"LIST":
                self._list(path, _entry, _DENT.pack(b"DONE", 0, 0, 0, 0))
            case b"LIS2":
                self._list(path, _entry_v2, _DENT2.pack(b"DONE", *[0] * 12))
            case b"RECV" | b"RCV2":
                flags = _HEAD.unpack(self._stream.read_exactly(_HEAD.size))[1] if kind == b"RCV2" else 0
                if flags:
                    self._fail(f"unsupported flags {flags:#x}")
                else:
                    self._receive(path)
            case b"SEND":
                name, _, number = argument.rpartition(b",")
                self._send(_text(name), int(number) if number.isdigit() and len(number) <= 10 else None)
            case b"SND2":
                _, mode, flags = _SEND2.unpack(self._stream.read_exactly(_SEND2.size))
                self._send(path, mode, f"unsupported flags {flags:#x}" if flags else "")
            case _:
                if kind != b"QUIT":
                    self._fail(f"unknown command {kind.decode('ascii', 'backslashreplace')}")
                raise _Closed

    def _receive(self, path: str) -> None:
        """Send the peer a file."""
        try:
            file = self._storage.open(path)
        except OSError as e:
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

    def _send(self, path: str, mode: int | None, refusal: str = "") -> None:
        """Receive a file. It appears complete under its name, or not at all."""
        incoming = _Incoming(self._stream)
        try:
            self._store(path, mode, incoming, refusal)
        except (_NotStored, OSError) as e:
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
        if folder:
            self._storage.mkdir(folder, parents=True)
        if stat.S_ISDIR(mode):
            raise _NotStored("couldn't create file: Is a directory")
        with self._storage.replacing(path, mode & 0o777) as file:
            for piece in incoming.pieces():
                file.write(piece)
            if incoming.damaged:
                raise _NotStored(incoming.damaged)
        self._storage.set_mtime(path, incoming.mtime)

    def _list(self, path: str, pack: Callable[[bytes, int, FileStat], bytes], end: bytes) -> None:
        """List a folder. One that cannot be listed counts as empty, as in adbd."""
        try:
            names = [".", "..", *self._storage.list(path)]
        except OSError:
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
            return _WIRE_ERRORS.get(e.errno or 0, errno.EIO), _NOTHING

    def _fail(self, reason: str) -> None:
        text = reason.encode("utf-8", "replace")
        self._stream.write(_HEAD.pack(b"FAIL", len(text)) + text)


class _NotStored(ClawperatorException):
    """The received file is not stored, for this reason."""


class _Incoming(msgspec.Struct):
    """The content of a file that the peer sends. ``damaged`` is the reason when the data is invalid."""

    _stream: ServiceStream
    _ended: bool = False
    mtime: int = 0
    damaged: str = ""

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


# All services

# Only what is implemented: clients rely on every feature listed.
FEATURES = ("shell_v2", "cmd", "stat_v2", "ls_v2", "fixed_push_mkdir", "abb_exec", "sendrecv_v2")

Service = Callable[[bytes, ServiceStream, PhoneDevice], None]

_PIECE = 64 * 1024
MAX_LINE = 4096  # bytes; a terminal discards what is typed beyond them

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_PACKET = Struct("<BI")
_LOGIN = b"sh"  # the script of an empty request: an interactive shell

_INTERRUPT, _END, _BACKSPACE, _KILL, _DELETE = 0x03, 0x04, 0x08, 0x15, 0x7F
_RETURNS = b"\r\n"
_READ = 4096

_log = logging.getLogger(__name__)


def banner(device: PhoneDevice) -> str:
    """The device's identity and features, sent when a peer connects."""
    text = device.banner()
    return f"{text}{'' if text.endswith((':', ';')) else ';'}features={','.join(FEATURES)}"


def serve(name: bytes, stream: ServiceStream, device: PhoneDevice) -> None:
    """Open the service called ``name``, or refuse it, and run it to its end. Raises nothing."""
    try:
        device.delay()
        kind, rest = _split(name)
        if kind in _SOCKETS:
            _serve_socket(name, stream, device)
        elif kind in _SERVICES:
            stream.accept()
            _SERVICES[kind](rest, stream, device)
        else:
            stream.refuse("unknown or unsupported service")
    except (BrokenPipeError, EOFError):
        pass  # the peer closed the stream
    except Exception:  # noqa: BLE001 - a bug in one service must not end the phone
        _log.exception("A service failed: %s", name[:80].decode("utf-8", "replace"))
    finally:
        stream.finish()


def _split(name: bytes) -> tuple[bytes, bytes]:
    """The kind of service and its rest: options after a comma, arguments after a colon."""
    kind, colon, rest = name.partition(b":")
    if b"," in kind:
        kind, _, options = kind.partition(b",")
        return kind + b",", options + colon + rest
    return kind + colon, rest


# Commands: ``shell`` with and without packets, ``exec``, ``abb_exec``, and the terminal of a pty


def run_shell(request: bytes, stream: ServiceStream, device: PhoneDevice) -> None:
    """``[OPTION,..]:SCRIPT``. Closing the stream cancels the command."""
    named, _, script = request.partition(b":")
    options = named.split(b",")
    script = script or _LOGIN
    if b"v2" not in options:
        device.run_shell(script, stream, stream, stream, stream.disconnected)
        return
    stdin, stdout = _PacketInput(stream), _PacketOutput(stream, _STDOUT)
    if b"pty" in options:
        terminal = Terminal(stdin, stdout)
        code = device.run_shell(script, terminal, terminal, terminal, stream.disconnected)
    else:
        code = device.run_shell(script, stdin, stdout, _PacketOutput(stream, _STDERR), stream.disconnected)
    stream.write(_PACKET.pack(_EXIT, 1) + bytes([code & 0xFF]))


def run_exec(script: bytes, stream: ServiceStream, device: PhoneDevice) -> None:
    """Raw bytes both ways. Closing the stream ends the input; the command may still finish its work."""
    device.run_shell(script, stream, stream, stream, stream.abandoned)


def run_abb(request: bytes, stream: ServiceStream, device: PhoneDevice) -> None:
    """Arguments of ``cmd``, separated by NUL bytes."""
    words = request.removesuffix(b"\0").decode("utf-8", "surrogateescape").split("\0")
    run_exec(shlex.join(["cmd", *words]).encode("utf-8", "surrogateescape"), stream, device)


class _PacketInput(msgspec.Struct):
    """The content of a peer's stdin packets, read piece by piece: no packet is too large."""

    _stream: ServiceStream
    _left: int = 0  # unread bytes of the current packet
    _ended: bool = False

    def read(self, size: int, /) -> bytes:
        try:
            while not self._left and not self._ended:
                self._next_packet()
        except EOFError:
            self._ended = True
        if self._ended:
            return b""
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        self._ended = not data
        return data

    def _next_packet(self) -> None:
        kind, size = _PACKET.unpack(self._stream.read_exactly(_PACKET.size))
        if kind == _STDIN:
            self._left = size
            return
        while size:  # skip window sizes and unknown packets
            size -= len(self._stream.read_exactly(min(size, _PIECE)))
        self._ended = kind == _CLOSE_STDIN


class _PacketOutput(msgspec.Struct):
    """Packets of one kind. Each is one write, so threads do not interleave theirs."""

    _stream: ServiceStream
    _kind: int

    def write(self, data: bytes, /) -> None:
        for i in range(0, len(data), _PIECE):
            piece = data[i : i + _PIECE]
            self._stream.write(_PACKET.pack(self._kind, len(piece)) + piece)


class Terminal(msgspec.Struct):
    """A terminal in canonical mode: line editing, echo, and carriage returns in output."""

    _keys: InputStream
    _screen: OutputStream
    _line: bytearray = bytearray()  # being typed
    _ready: list[bytes] = []  # complete lines; an empty one is the end of input

    def read(self, size: int, /) -> bytes:
        while not self._ready:
            keys = self._keys.read(_READ)
            if not keys:
                return b""
            echo = b"".join(self._press(key) for key in keys)
            if echo:
                self._screen.write(echo)
        line = self._ready.pop(0)
        if len(line) > size:
            self._ready.insert(0, line[size:])
        return line[:size]

    def write(self, data: bytes, /) -> None:
        self._screen.write(data.replace(b"\n", b"\r\n"))

    def _press(self, key: int) -> bytes:
        """Apply a key to the line and return its echo."""
        if key in _RETURNS:
            self._finish(b"\n")
            return b"\r\n"
        if key in {_BACKSPACE, _DELETE}:
            return self._erase()
        if key == _KILL:
            return b"".join(iter(self._erase, b""))
        if key == _INTERRUPT:
            self._line.clear()
            return b"^C\r\n"
        if key == _END:
            self._finish(b"")
            return b""
        if len(self._line) >= MAX_LINE:
            return b"\a"
        self._line.append(key)
        return bytes([key])

    def _finish(self, ending: bytes) -> None:
        self._ready.append(bytes(self._line) + ending)
        self._line.clear()

    def _erase(self) -> bytes:
        """Delete the last character with all its UTF-8 bytes."""
        if not self._line:
            return b""
        while self._line and self._line[-1] & 0xC0 == 0x80:
            self._line.pop()
        del self._line[-1:]
        return b"\b \b"


# Sockets on the phone


def _serve_socket(name: bytes, stream: ServiceStream, device: PhoneDevice) -> None:
    text = name.decode("utf-8", "surrogateescape")
    kind, _, address = text.partition(":")
    is_port = address.isascii() and address.isdigit() and 0 < int(address[:6]) < 65536
    if not address or (kind == "tcp" and not is_port):
        stream.refuse(f"cannot open {kind}")
        return
    try:
        channel = device.open_socket(text)
    except OSError:
        channel = None
    if channel is None:
        stream.refuse("Connection refused")
        return
    try:
        stream.accept()
        relay(channel, stream.read, stream.write, stream.end_input)
    finally:
        channel.close()


def relay(
    channel: SocketChannel, read: Callable[[int], bytes], write: Callable[[bytes], object], end: Callable[[], None]
) -> None:
    """Copy bytes between a socket on the phone and a peer until one side ends; ``end`` makes ``read`` return."""

    def copy_to_phone() -> None:
        with suppress(OSError):
            while data := read(_PIECE):
                channel.write(data)
        channel.close()

    inbound = threading.Thread(target=copy_to_phone, name="adb-relay", daemon=True)
    inbound.start()
    try:
        while data := channel.read(_PIECE):
            write(data)
    except OSError:
        pass  # one side closed its connection
    finally:
        channel.close()
        end()
        inbound.join(GRACE_SECONDS)


# Others


def _print(text: str) -> Service:
    def service(_: bytes, stream: ServiceStream, __: PhoneDevice) -> None:
        stream.write(text.encode())

    return service


def _run_reverse(request: bytes, stream: ServiceStream, _: PhoneDevice) -> None:
    """``adb reverse``: connections from the phone to the host. There are none, and none can be made."""
    if request == b"list-forward":
        stream.write(b"0000")  # unlike an adb server, adbd sends no OKAY before a list
    elif request == b"killforward-all":
        stream.write(b"OKAY")
    else:
        reason = b"this phone makes no reverse connections"
        stream.write(b"FAIL%04x%s" % (len(reason), reason))


_SERVICES: Mapping[bytes, Service] = {
    b"shell:": lambda script, stream, device: run_shell(b":" + script, stream, device),
    b"shell,": run_shell,
    b"exec:": run_exec,
    b"abb_exec:": run_abb,
    b"sync:": run_sync,
    b"reverse:": _run_reverse,
    b"root:": _print("adbd cannot run as root in production builds\n"),
    b"unroot:": _print("adbd not running as root\n"),
    b"remount:": _print('Not running as root. Try "adb root" first.\n'),
}
_SOCKETS = frozenset({b"tcp:", b"localabstract:", b"localreserved:", b"localfilesystem:", b"local:"})
