"""A running command as the command sees it, and the table of all commands.

A command is a function from a ``ShellProcess`` to an exit code. It reads and writes bytes; text in arguments
that is not UTF-8 survives as surrogates. ``BrokenPipeError`` from a stream means that the reader is gone:
commands let it propagate.
"""

import errno
import os
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.storage.filesystem import resolve

NOT_FOUND = 127
NOT_EXECUTABLE = 126
INTERRUPTED = 130
BROKEN_PIPE = 141
SH = "/system/bin/sh"
# How deep scripts and commands may start one another.
MAX_DEPTH = 30
_POLL_SECONDS = 0.05


class ShellProcess(Struct, eq=False):
    """One command while it runs. ``argv[0]`` is its name. It may change its ``argv`` and ``env``."""

    argv: list[str]
    phone: Phone
    stdin: InputStream
    stdout: OutputStream
    stderr: OutputStream
    cancelled: threading.Event
    env: dict[str, str] = {}
    cwd: str = "/"
    depth: int = 0

    @property
    def name(self) -> str:
        return self.argv[0].rpartition("/")[2]

    def wait(self, seconds: float) -> bool:
        """Sleep on the phone's clock. True, at once, when the command is cancelled."""
        clock = self.phone.clock
        end = clock.monotonic() + seconds
        while not self.cancelled.is_set():
            left = end - clock.monotonic()
            if left <= 0:
                return False
            clock.sleep(min(left, _POLL_SECONDS))
        return True

    def write(self, text: str) -> int:
        """Write text to stdout, without a newline, and return the exit code 0."""
        self.stdout.write(encode(text))
        return 0

    def error(self, text: str, code: int = 1) -> int:
        """Write the line ``name: text`` to stderr and return the exit code."""
        self.stderr.write(encode(f"{self.name}: {text}\n"))
        return code

    def failed(self, path: str, error: OSError) -> int:
        """Report a file and the system's message about it; return the exit code."""
        return self.error(f"{path}: {reason(error)}")

    def for_each_operand(
        self, operands: Sequence[str], run: Callable[[str], object], message: str = "{name}: {reason}"
    ) -> int:
        """Run a function for each operand and report those that fail. 1 when one did."""
        status = 0
        for name in operands:
            try:
                run(name)
            except BrokenPipeError:
                raise
            except OSError as e:
                status = self.error(message.format(name=name, reason=reason(e)))
        return status

    def path(self, argument: str) -> str:
        """The absolute device path of an argument."""
        return resolve(argument, self.cwd)

    def open(self, argument: str, mode: str = "rb") -> BinaryIO:
        """Open a device file, or one of the process's streams by its name in ``/dev``. The caller closes it."""
        stream = {"/dev/stdin": self.stdin, "/dev/stdout": self.stdout, "/dev/stderr": self.stderr}.get(argument)
        if argument in {"-", "/dev/tty"}:
            stream = self.stdin if mode == "rb" else self.stdout
        if stream is None:
            return self.phone.storage.open(self.path(argument), mode)
        if not hasattr(stream, "read" if mode == "rb" else "write"):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), argument)
        return cast("BinaryIO", _StreamFile(stream))

    def run(self, argv: list[str]) -> int:
        """Run another command with this one's streams."""
        return self.child(argv).start()

    def child(self, argv: list[str]) -> "ShellProcess":
        return replace(self, argv=argv, env=dict(self.env), depth=self.depth + 1)

    def start(self) -> int:
        """Find the command and run it to its end."""
        found = find_command(self.argv[0])
        if found is None:
            self.stderr.write(encode(f"{SH}: {self.argv[0]}: inaccessible or not found\n"))
            return NOT_FOUND
        if self.depth > MAX_DEPTH:
            return self.error("nested too deeply")
        try:
            return found(self) & 0xFF
        except (BrokenPipeError, RecursionError):
            raise
        except OSError as e:
            return self.error(reason(e))
        except Exception as e:  # noqa: BLE001 - a failing command must not end the phone
            return self.error(str(e) or type(e).__name__)


class _StreamFile:
    """A stream of the process opened by name: closing the file leaves the stream open."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def read(self, n: int) -> bytes:
        return cast("InputStream", self._stream).read(n)

    def write(self, data: bytes) -> int:
        cast("OutputStream", self._stream).write(data)
        return len(data)

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


Command = Callable[[ShellProcess], int]
COMMANDS: dict[str, Command] = {}


def command(*names: str) -> Callable[[Command], Command]:
    """Register a function as the command of these names."""

    def register(function: Command) -> Command:
        COMMANDS.update(dict.fromkeys(names, function))
        return function

    return register


def find_command(name: str) -> Command | None:
    """The command of a name or of its path in ``/system/bin``."""
    for folder in ("/system/bin/", "/bin/", "/system/xbin/"):
        name = name.removeprefix(folder)
    return COMMANDS.get(name)


def encode(text: str) -> bytes:
    """Text as UTF-8; surrogates become the original bytes again."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def reason(error: OSError) -> str:
    """The system's message for an error, as Android's tools print it."""
    return os.strerror(error.errno) if error.errno else str(error)
