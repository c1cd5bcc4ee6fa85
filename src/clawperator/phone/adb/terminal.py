"""What stands between a person's keys and a command: lines, their correction, and their echo."""

from collections import deque

from clawperator.phone.shell.pipes import InputStream, OutputStream

MAX_LINE = 4096  # bytes; what is typed beyond them is lost, as on any terminal

_INTERRUPT, _END, _BACKSPACE, _KILL, _DELETE = 0x03, 0x04, 0x08, 0x15, 0x7F
_RETURNS = b"\r\n"
_READ = 4096


class Terminal:
    """The terminal of one shell. InputStream comes a line at a time; output begins each line at the left."""

    def __init__(self, keys: InputStream, screen: OutputStream) -> None:
        self._keys = keys
        self._screen = screen
        self._line = bytearray()  # being typed
        self._ready: deque[bytes] = deque()  # finished lines; an empty one says that this is the end

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
        """Do what a key does, and give what the screen shows of it."""
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
        """Take back the last character, however many bytes it has."""
        if not self._line:
            return b""
        while self._line and self._line[-1] & 0xC0 == 0x80:
            self._line.pop()
        del self._line[-1:]
        return b"\b \b"
