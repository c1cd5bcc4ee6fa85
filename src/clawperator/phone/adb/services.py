"""The services of the phone that clients open by name: commands, file transfer, and sockets on the phone."""

import logging
import shlex
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from struct import Struct

from clawperator.phone.adb.device import AdbDevice, Channel
from clawperator.phone.adb.streams import GRACE_SECONDS, ServiceStream
from clawperator.phone.adb.sync import run_sync
from clawperator.phone.shell.pipes import InputStream, OutputStream

# Only what is implemented: clients rely on every feature listed.
FEATURES = (
    "shell_v2",
    "cmd",
    "stat_v2",
    "ls_v2",
    "fixed_push_mkdir",
    "abb_exec",
    "sendrecv_v2",
)

Service = Callable[[bytes, ServiceStream, AdbDevice], None]

_PIECE = 64 * 1024
MAX_LINE = 4096  # bytes; a terminal discards what is typed beyond them

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_PACKET = Struct("<BI")
_LOGIN = b"sh"  # the script of an empty request: an interactive shell

_INTERRUPT, _END, _BACKSPACE, _KILL, _DELETE = 0x03, 0x04, 0x08, 0x15, 0x7F
_RETURNS = b"\r\n"
_READ = 4096

_log = logging.getLogger(__name__)


def banner(device: AdbDevice) -> str:
    """The device's identity and features, sent when a peer connects."""
    text = device.banner()
    return f"{text}{'' if text.endswith((':', ';')) else ';'}features={','.join(FEATURES)}"


def serve(name: bytes, stream: ServiceStream, device: AdbDevice) -> None:
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


def run_shell(request: bytes, stream: ServiceStream, device: AdbDevice) -> None:
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


def run_exec(script: bytes, stream: ServiceStream, device: AdbDevice) -> None:
    """Raw bytes both ways. Closing the stream ends the input; the command may still finish its work."""
    device.run_shell(script, stream, stream, stream, stream.abandoned)


def run_abb(request: bytes, stream: ServiceStream, device: AdbDevice) -> None:
    """Arguments of ``cmd``, separated by NUL bytes."""
    words = request.removesuffix(b"\0").decode("utf-8", "surrogateescape").split("\0")
    run_exec(shlex.join(["cmd", *words]).encode("utf-8", "surrogateescape"), stream, device)


class _PacketInput:
    """The content of a peer's stdin packets, read piece by piece: no packet is too large."""

    def __init__(self, stream: ServiceStream) -> None:
        self._stream = stream
        self._left = 0  # unread bytes of the current packet
        self._ended = False

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


class _PacketOutput:
    """Packets of one kind. Each is one write, so threads do not interleave theirs."""

    def __init__(self, stream: ServiceStream, kind: int) -> None:
        self._stream = stream
        self._kind = kind

    def write(self, data: bytes, /) -> None:
        for i in range(0, len(data), _PIECE):
            piece = data[i : i + _PIECE]
            self._stream.write(_PACKET.pack(self._kind, len(piece)) + piece)


class Terminal:
    """A terminal in canonical mode: line editing, echo, and carriage returns in output."""

    def __init__(self, keys: InputStream, screen: OutputStream) -> None:
        self._keys = keys
        self._screen = screen
        self._line = bytearray()  # being typed
        self._ready: deque[bytes] = deque()  # complete lines; an empty one is the end of input

    def read(self, size: int, /) -> bytes:
        while not self._ready:
            keys = self._keys.read(_READ)
            if not keys:
                return b""
            echo = b"".join(self._press(key) for key in keys)
            if echo:
                self._screen.write(echo)
        line = self._ready.popleft()
        if len(line) > size:
            self._ready.appendleft(line[size:])
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


def _serve_socket(name: bytes, stream: ServiceStream, device: AdbDevice) -> None:
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
        _copy_both_ways(stream, channel)
    finally:
        channel.close()


def _copy_both_ways(stream: ServiceStream, channel: Channel) -> None:
    """Copy bytes until one side ends; then end the other."""
    inbound = threading.Thread(target=_copy_to_phone, args=(stream, channel), name="adb-relay", daemon=True)
    inbound.start()
    try:
        while data := channel.read(_PIECE):
            stream.write(data)
    except OSError:
        pass  # one side closed its connection
    finally:
        channel.close()
        stream.end_input()
        inbound.join(GRACE_SECONDS)


def _copy_to_phone(stream: ServiceStream, channel: Channel) -> None:
    with suppress(OSError):
        while data := stream.read(_PIECE):
            channel.write(data)
    channel.close()


# Others


def _print(text: str) -> Service:
    def service(_: bytes, stream: ServiceStream, __: AdbDevice) -> None:
        stream.write(text.encode())

    return service


def _run_reverse(request: bytes, stream: ServiceStream, _: AdbDevice) -> None:
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
