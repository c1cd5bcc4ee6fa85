"""Commands over adb: ``shell`` with and without packets, ``exec``, ``abb_exec``, and the terminal of a pty."""

import shlex
from collections import deque
from struct import Struct

from clawperator.phone.adb.device import AdbDevice
from clawperator.phone.adb.streams import ServiceStream
from clawperator.phone.shell.pipes import InputStream, OutputStream

MAX_LINE = 4096  # bytes; a terminal discards what is typed beyond them

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_PACKET = Struct("<BI")
_PIECE = 64 * 1024
_LOGIN = b"sh"  # the script of an empty request: an interactive shell

_INTERRUPT, _END, _BACKSPACE, _KILL, _DELETE = 0x03, 0x04, 0x08, 0x15, 0x7F
_RETURNS = b"\r\n"
_READ = 4096


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
