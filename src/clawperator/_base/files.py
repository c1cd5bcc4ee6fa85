"""Atomic files, locks, private folders, and lists that spill to disk."""

import errno
import os
import stat
import time
from _thread import allocate_lock  # threading is slow to import
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, BinaryIO, Self

from clawperator._base.deadline import Deadline
from clawperator.errors import ClawError

# The working folder of an agent while it acts: there no file is opened through a link.
confined_to: ContextVar[str | None] = ContextVar("confined_to", default=None)

_BUFFER = 256 * 1024
_READ_BUFFER = 1024 * 1024
_INPUT_SECONDS = 5.0
_POLL_SECONDS = 0.02
_LOCK_POLL_SECONDS = 0.01
_SPILL_BYTES = 1024 * 1024
# A file that is being written has the id of its process in its name.
_PART, _PART_END = ".clawperator-", ".part"
_cleaned: set[str] = set()  # folders
_umask_lock = allocate_lock()


class AtomicFile:
    """A file that appears under its name only when the ``with`` block succeeds.

    Until then, and after a failure or a crash, an older file of that name stays as it was. The data are written to
    a new file with a random name in the same folder, which only the owner can read, never through a link. There is
    no fsync: our files can be made again from their source.

    ``private``: only the owner can read the file, whatever the umask. Otherwise the mode of a replaced file is
    kept. ``follow_links``: replace the target of a symbolic link; False refuses a link.
    A character device such as /dev/null is written directly. Other kinds, such as a named pipe, are refused: they
    could block forever. All refusals are ``OSError``.
    """

    def __init__(self, path: str, *, private: bool = False, follow_links: bool = True) -> None:
        if not follow_links and os.path.islink(path):
            raise OSError(errno.ELOOP, "it is a symbolic link", path)
        self._target = os.path.realpath(path) if follow_links else _beside_links(path)
        check_links(path, self._target)
        before = _mode(self._target)
        self._part: str | None = None
        if before is not None and not stat.S_ISREG(before):
            if not stat.S_ISCHR(before):
                raise _not_a_file(path, before)
        else:
            self._part = new_part(os.path.dirname(self._target))
        self._replaced_mode = 0o600 if private else before  # None for a new file that is not private
        self._file: IO[bytes] | None = None

    @property
    def file(self) -> IO[bytes]:
        """The file to write to, inside the ``with`` block."""
        assert self._file is not None
        return self._file

    def restart(self) -> None:
        """Discard what was written so far."""
        self.file.flush()
        if self._part:
            self.file.seek(0)
            self.file.truncate()

    def __enter__(self) -> Self:
        try:
            if self._part:
                new = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._file = open(os.open(self._part, new, 0o600), "wb", buffering=_BUFFER)
                with suppress(OSError):  # some file systems have no locks
                    try_lock(self._file.fileno())
                _check_place(self._file.fileno(), self._part)
            else:
                self._file = open(_open_device(self._target), "wb")
        except BaseException:  # an interrupt may come after the file was created
            self._discard()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            self.file.flush()
            if self._part:
                mode = 0o666 & ~_umask() if self._replaced_mode is None else stat.S_IMODE(self._replaced_mode)
                os.fchmod(self.file.fileno(), mode)
            self.file.close()
            if self._part:
                os.replace(self._part, self._target)
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        with suppress(OSError):  # the disk may be full; buffered data are discarded anyway
            if self._file:
                self._file.close()
        if self._part:
            with suppress(FileNotFoundError):
                os.unlink(self._part)


def new_part(folder: str) -> str:
    """Return the path of a new hidden file in the folder. Those that killed processes left there are removed."""
    if folder not in _cleaned:
        _cleaned.add(folder)
        with suppress(OSError):
            for name in os.listdir(folder):
                pid = name.removeprefix(_PART).partition("-")[0]
                if is_part(name) and pid.isdecimal() and not is_running(int(pid)):
                    _remove_part(os.path.join(folder, name))
    return os.path.join(folder, f"{_PART}{os.getpid()}-{os.urandom(6).hex()}{_PART_END}")


def is_part(name: str) -> bool:
    """Whether a file of this name is one that is being written, or was when its process was killed."""
    return name.startswith(_PART) and name.endswith(_PART_END)


def _remove_part(path: str) -> None:
    """Remove a file whose process is gone, unless one of another container, with ids of its own, has locked it."""
    with suppress(OSError), closing(_open_to_read(path)) as descriptor:
        if try_lock(descriptor):
            os.unlink(path)


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close an open file when the ``with`` block ends."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed, and do not wait: False when another lock excludes this one.

    A ``shared`` lock excludes only locks that are not. ``OSError`` where the file system has no locks.
    """
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(path: str, seconds: float) -> Iterator[int | None]:
    """Hold the lock of a file while the ``with`` block runs; the file is made if it is missing.

    Yields its descriptor, or None when another process holds the lock for this long.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with closing(os.open(path, flags, 0o600)) as descriptor:
        deadline = Deadline(seconds)
        while not (is_held := try_lock(descriptor)) and not deadline.is_over:
            time.sleep(_LOCK_POLL_SECONDS)
        yield descriptor if is_held else None


def is_running(pid: int) -> bool:
    """Whether there is a process with this id, of any user."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _umask() -> int:
    """The umask. It can be read only by setting it, so threads do it one by one."""
    with _umask_lock:
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def is_inside(path: str, folder: str) -> bool:
    """Whether an absolute path is the folder or is in it, by the names alone."""
    return path == folder or path.startswith(os.path.join(folder, ""))


SPELLINGS = 4


def path_spellings(path: str, folder: str | None = None) -> tuple[str, ...]:
    """A path as rules may name it: where it is, as it is given, without detours, and absolute.

    Where it is comes first: in the folder, by default that of the agent or the current one, with links resolved.
    """
    if not path:
        return (path,) * SPELLINGS
    root = os.path.realpath(folder or confined_to.get() or os.curdir)
    whole = os.path.join(root, path)
    try:
        real, plain = os.path.realpath(whole), os.path.normpath(whole)
    except ValueError:  # no path: it has a character that no file name can have
        return (path,) * SPELLINGS
    return (
        os.path.relpath(real, root) if is_inside(real, root) else real,
        path,
        os.path.relpath(plain, root),
        real,
    )


def check_links(path: str, target: str) -> None:
    """Refuse a path in the folder ``confined_to`` that leads through a link. Paths that agents name are resolved.

    A link inside the folder could lead to the files that control the agent.
    """
    root, whole = confined_to.get(), os.path.abspath(path)
    if root is not None and is_inside(whole, root) and target != whole:
        raise OSError(errno.ELOOP, "it leads through a link", path)


def _check_place(descriptor: int, path: str) -> None:
    """Refuse a new file in the folder ``confined_to`` when a parent has been replaced by a link meanwhile."""
    root = confined_to.get()
    if root is None or not is_inside(path, root):
        return
    try:  # the kernel's own name of the open file, where it has one
        actual = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        actual = os.path.realpath(path)
    if actual != path:
        raise OSError(errno.ELOOP, "its folder has become a link", path)


def _beside_links(path: str) -> str:
    """The absolute path with the links of its folder resolved, and its last component as given."""
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return os.path.join(os.path.realpath(folder or "."), name)


def _mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _open_device(path: str) -> int:
    # Non-blocking, because a pipe may have taken the place of the device.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check_kind(descriptor, path, stat.S_ISCHR)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading. Other kinds are refused with ``OSError``: a pipe could block forever."""
    check_links(path, os.path.realpath(path))
    return open(_open_to_read(path), "rb", buffering=_READ_BUFFER)


def _open_to_read(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check_kind(descriptor, path, stat.S_ISREG)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_input(path: str, max_bytes: int, *, seconds: float = _INPUT_SECONDS) -> bytes:
    """The first bytes of a file, or of a pipe, as a shell passes it for ``<(command)``.

    A pipe without a writer, or one whose writer pauses for this long, is a ``TimeoutError``.
    """
    import select

    with closing(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)) as descriptor:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        data = bytearray()
        deadline = Deadline(seconds)
        while len(data) < max_bytes:
            try:
                block = os.read(descriptor, min(_BUFFER, max_bytes - len(data)))
            except BlockingIOError:
                block = None
            if block:
                data += block
                deadline = Deadline(seconds)
            elif block is not None and (data or not is_pipe):
                break  # its end
            elif deadline.is_over:
                raise TimeoutError(errno.ETIMEDOUT, f"no data within {seconds:g} s", path)
            else:
                select.select([descriptor], [], [], _POLL_SECONDS)
                if block is not None:
                    time.sleep(_POLL_SECONDS)  # no writer yet: a pipe without one is always readable
        return bytes(data)


def _check_kind(descriptor: int, path: str, is_kind: Callable[[int], bool]) -> None:
    mode = os.fstat(descriptor).st_mode
    if not is_kind(mode):
        raise _not_a_file(path, mode)


def _not_a_file(path: str, mode: int) -> OSError:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if stat.S_ISLNK(mode):
        return OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    return OSError(errno.EINVAL, f"it is {kind}, not a regular file", path)


def make_private_folder(path: str) -> None:
    """Create a folder and its missing parents, accessible by the owner only, whatever the umask."""
    make_folder(path, 0o700)


def make_folder(path: str, mode: int = 0o777) -> None:
    """Create a folder and its missing parents, if it does not exist. ``os.makedirs`` fails for very long paths."""
    missing, at = [], path
    while True:
        try:
            os.mkdir(at, mode)
            break
        except FileNotFoundError:
            above = os.path.dirname(at.rstrip("/"))
            if above in ("", at):
                raise
            missing.append(at)
            at = above
        except FileExistsError:
            if not os.path.isdir(at):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), at) from None
            break
    for at in reversed(missing):
        with suppress(FileExistsError):  # another process may create it, too
            os.mkdir(at, mode)


class Spill:
    """A list of byte strings that moves to a temporary file when it grows past a megabyte."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self.count = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, piece: bytes) -> None:
        self._parts.append(piece)
        self._size += len(piece)
        self.count += 1
        if self._size > _SPILL_BYTES:
            if self._file is None:
                import tempfile

                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the list
            self._file.write(b"".join(self._parts))
            self._parts.clear()
            self._size = 0

    def pieces(self) -> Iterator[bytes]:
        """Every piece, in order, if each ends with the only line end in it."""
        if self._file is not None:
            self._file.seek(0)
            yield from self._file
            self._file.seek(0, os.SEEK_END)
        yield from self._parts

    def copy_to(self, out: IO[bytes], skip: int = 0) -> None:
        """Write every piece, in order, without the first ``skip`` bytes. The list can still grow afterwards."""
        if self._file is not None:
            self._file.seek(skip)
            skip = 0
            while block := self._file.read(_BUFFER):
                out.write(block)
            self._file.seek(0, os.SEEK_END)
        out.write(b"".join(self._parts)[skip:])


def read_limited(path: str, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes. ``OSError`` otherwise; a pipe does not block."""
    with open(_open_to_read(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes", path)
    return data


def why(error: OSError | ValueError) -> str:
    """The system's message without errno and path. A path with a NUL is a ValueError."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def file_error(
    code: str, operation: str, path: str, error: OSError | ValueError, *, hint: str | None = None
) -> ClawError:
    """The error of an operation on a file, such as "cannot read a.json: Permission denied"."""
    message = f"cannot {operation} {path}: {why(error)}"
    return ClawError(code, message, hint=hint, operation=operation, target=path)


def unusable_file(  # noqa: PLR0913 - the parts of one error
    code: str, verb: str, path: str, reason: str, *, hint: str, operation: str = "read", **details: str
) -> ClawError:
    """The error of a file that a command cannot use. Its path and the reason are among the details."""
    message = f"Cannot {verb} {path}: {reason}"
    details = {"path": path, **details, "reason": reason}
    return ClawError(code, message, hint=hint, details=details, operation=operation, target=path)


def is_same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return False
