"""Commands over adb: ``shell`` with its packets or without, ``exec`` and ``abb_exec``."""

import shlex
from struct import Struct

from clawperator.phone.adb.device import Device
from clawperator.phone.adb.streams import Stream
from clawperator.phone.adb.terminal import Terminal

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_PACKET = Struct("<BI")
_PIECE = 64 * 1024
_LOGIN = b"sh"  # what runs when nothing is asked for: it reads its commands from the peer


def run_shell(request: bytes, stream: Stream, device: Device) -> None:
    """``[OPTION,..]:SCRIPT``. Hanging up ends the command."""
    named, _, script = request.partition(b":")
    options = named.split(b",")
    script = script or _LOGIN
    if b"v2" not in options:
        device.run_shell(script, stream, stream, stream, stream.gone)
        return
    stdin, stdout = _PacketInput(stream), _PacketOutput(stream, _STDOUT)
    if b"pty" in options:
        terminal = Terminal(stdin, stdout)
        code = device.run_shell(script, terminal, terminal, terminal, stream.gone)
    else:
        code = device.run_shell(script, stdin, stdout, _PacketOutput(stream, _STDERR), stream.gone)
    stream.write(_PACKET.pack(_EXIT, 1) + bytes([code & 0xFF]))


def run_exec(script: bytes, stream: Stream, device: Device) -> None:
    """Raw bytes both ways. Hanging up is the end of the input; the command may still finish its work."""
    device.run_shell(script, stream, stream, stream, stream.given_up)


def run_abb(request: bytes, stream: Stream, device: Device) -> None:
    """Arguments of ``cmd``, separated by NUL bytes."""
    words = request.removesuffix(b"\0").decode("utf-8", "surrogateescape").split("\0")
    run_exec(shlex.join(["cmd", *words]).encode("utf-8", "surrogateescape"), stream, device)


class _PacketInput:
    """The bytes in the stdin packets of a peer, taken apart as they are read: no packet is too large."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._left = 0  # bytes of the current packet that are still to come
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
        while size:  # the size of a window, and whatever else may be invented
            size -= len(self._stream.read_exactly(min(size, _PIECE)))
        self._ended = kind == _CLOSE_STDIN


class _PacketOutput:
    """Packets of one kind. Each is written at once, so several threads do not mix theirs."""

    def __init__(self, stream: Stream, kind: int) -> None:
        self._stream = stream
        self._kind = kind

    def write(self, data: bytes, /) -> None:
        for i in range(0, len(data), _PIECE):
            piece = data[i : i + _PIECE]
            self._stream.write(_PACKET.pack(self._kind, len(piece)) + piece)
