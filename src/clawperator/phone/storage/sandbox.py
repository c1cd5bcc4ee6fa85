"""A sandbox in one folder of the host.

Every path is walked one name at a time from the folder, and symbolic links are never followed. So neither a
client's path nor a link planted by another program leads outside. Size, number of files and depth are limited.
"""

import errno
import io
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
MAX_DEPTH = 100
# Unfinished files are here until they are complete. Device paths cannot reach this name.
STAGING = ".staging"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a planted named pipe must not block.
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OPEN_FLAGS = {
    "rb": os.O_RDONLY,
    "wb": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "r+b": os.O_RDWR,
}

Parts = Sequence[str]


class DiskSpace(Struct, frozen=True):
    """Space in bytes, as in ``df``."""

    total: int
    used: int

    @property
    def free(self) -> int:
        return max(self.total - self.used, 0)


def failure(number: int, path: str = "") -> OSError:
    """The operating system's error."""
    return OSError(number, os.strerror(number), path)


class HostFolder:
    """The files of one phone. A path is a list of names; the empty list is the folder itself."""

    def __init__(self, root: str | None, *, capacity: int, max_files: int) -> None:
        self._root = None if root is None else os.path.realpath(root)
        self._temporary = root is None
        self._lock = threading.Lock()
        self._ready = False
        self._closed = False
        self._capacity = capacity
        self._max_files = max_files
        # An upper bound: overwritten bytes count twice until the next recount.
        self._bytes = 0
        self._files = 0
        self._freed = True
        self.full = False

    def prepare(self, folders: Sequence[str]) -> None:
        """Create the root and the given folders in it, once."""
        if self._ready and not self._closed:
            return
        with self._lock:
            if self._closed:
                raise failure(errno.ENODEV)
            if self._ready:
                return
            if self._root is None:
                import tempfile

                self._root = os.path.realpath(tempfile.mkdtemp(prefix="clawperator-phone-"))
            os.makedirs(self._root, mode=0o700, exist_ok=True)
            for folder in (STAGING, *folders):
                self._make_folders(folder.split("/"))
            self._remove_unfinished()
            self._bytes, self._files = self._count()
            self._ready = True

    @property
    def is_unused(self) -> bool:
        """Whether this is a temporary folder that was not created yet, so that there is no file."""
        return self._temporary and self._root is None

    def _remove_unfinished(self) -> None:
        """Remove files that a killed phone was writing in this folder."""
        staging = self._enter([STAGING])
        try:
            for name in os.listdir(staging):
                with suppress(OSError):
                    os.unlink(name, dir_fd=staging)
        finally:
            os.close(staging)

    def close(self) -> None:
        """Remove the folder if it is temporary. Nothing can be opened afterwards."""
        with self._lock:
            self._closed = True
            if self._temporary and self._root is not None:
                import shutil

                shutil.rmtree(self._root, ignore_errors=True)

    def space(self) -> DiskSpace:
        with self._lock:
            self._bytes, self._files = self._count()
        return DiskSpace(self._capacity, self._capacity if self.full else min(self._bytes, self._capacity))

    def reserve(self, size: int, files: int = 0) -> None:
        """Account for a write in advance, or raise ``ENOSPC``."""
        if self.full:
            raise failure(errno.ENOSPC)
        with self._lock:
            if self._over(size, files) and self._freed:
                self._bytes, self._files = self._count()
                self._freed = False
            if self._over(size, files):
                raise failure(errno.ENOSPC)
            self._bytes += size
            self._files += files

    def open(self, parts: Parts, mode: str, create_mode: int) -> "HostFile":
        flags = _OPEN_FLAGS[mode]
        if mode != "rb":
            self.reserve(0)
        with self._parent(parts) as (parent, name):
            fd = self._open_in(parent, name, flags, create_mode)
        try:
            _check_regular(fd)
            if flags & os.O_TRUNC:
                os.ftruncate(fd, 0)
                self._freed = True
            return HostFile(fd, "rb" if mode == "rb" else "r+b" if mode == "r+b" else "wb", self)
        except BaseException:
            with suppress(OSError):
                os.close(fd)
            raise

    def _open_in(self, parent: int, name: bytes, flags: int, create_mode: int) -> int:
        """Open a file. A new file gets its mode regardless of the host's umask."""
        # Truncate only after checking what was opened.
        existing = (flags & ~(os.O_CREAT | os.O_TRUNC)) | _FILE
        if not flags & os.O_EXCL:
            try:
                return os.open(name, existing, dir_fd=parent)
            except FileNotFoundError:
                if not flags & os.O_CREAT:
                    raise
        self.reserve(0, 1)
        try:
            fd = os.open(name, existing | os.O_CREAT | os.O_EXCL, create_mode, dir_fd=parent)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return os.open(name, existing, dir_fd=parent)  # created concurrently
        os.fchmod(fd, create_mode)
        return fd

    @contextmanager
    def replacing(self, parts: Parts, mode: int) -> Iterator["HostFile"]:
        """A file that replaces its target when the block succeeds; until then the old one stays."""
        self.reserve(0, 1)
        staged = os.urandom(12).hex()
        with self._parent(parts) as (parent, name):
            staging = self._enter([STAGING])
            try:
                fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=staging)
                with HostFile(fd, "wb", self) as file:
                    yield file
                    os.fchmod(fd, mode)
                os.rename(staged, name, src_dir_fd=staging, dst_dir_fd=parent)
                self._freed = True
            except BaseException:
                with suppress(OSError):
                    os.unlink(staged, dir_fd=staging)
                raise
            finally:
                os.close(staging)

    def stat(self, parts: Parts) -> os.stat_result:
        """The status of a path; links are not followed."""
        if not parts:
            return os.stat(self._top)
        with self._parent(parts) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)

    def list(self, parts: Parts) -> list[str]:
        fd = self._enter(parts)
        try:
            names = os.listdir(fd)
        finally:
            os.close(fd)
        decoded = (os.fsencode(name).decode("utf-8", "surrogateescape") for name in names)
        return [name for name in decoded if parts or name != STAGING]

    def mkdir(self, parts: Parts, mode: int) -> None:
        self.reserve(0, 1)
        with self._parent(parts) as (parent, name):
            os.mkdir(name, mode, dir_fd=parent)
        self.chmod(parts, mode)

    def remove(self, parts: Parts) -> None:
        with self._parent(parts) as (parent, name):
            os.unlink(name, dir_fd=parent)
        self._freed = True

    def rmdir(self, parts: Parts) -> None:
        with self._parent(parts) as (parent, name):
            os.rmdir(name, dir_fd=parent)
        self._freed = True

    def rename(self, source: Parts, target: Parts) -> None:
        with self._parent(source) as (old, old_name), self._parent(target) as (new, new_name):
            if stat.S_ISDIR(os.stat(old_name, dir_fd=old, follow_symlinks=False).st_mode) and (
                len(target) + max(len(parts) - len(source) for parts, _ in self.walk(source)) > MAX_DEPTH
            ):
                raise failure(errno.ENAMETOOLONG)
            os.rename(old_name, new_name, src_dir_fd=old, dst_dir_fd=new)

    def chmod(self, parts: Parts, mode: int) -> None:
        fd = self._open_any(parts)
        try:
            # Keep the owner's access: the sandbox must be able to enter folders and reopen files.
            os.fchmod(fd, mode | (0o700 if stat.S_ISDIR(os.fstat(fd).st_mode) else 0o400))
        finally:
            os.close(fd)

    def set_times(self, parts: Parts, nanoseconds: int) -> None:
        with self._parent(parts) as (parent, name):
            os.utime(name, ns=(nanoseconds, nanoseconds), dir_fd=parent, follow_symlinks=False)

    def walk(self, parts: Parts) -> Iterator[tuple[Parts, os.stat_result]]:
        """A path and everything below it, folders before their content."""
        stack = [list(parts)]
        while stack:
            path = stack.pop()
            try:
                status = self.stat(path)
                yield path, status
                if stat.S_ISDIR(status.st_mode) and len(path) < MAX_DEPTH:
                    stack.extend([*path, name] for name in self.list(path))
            except OSError:
                continue  # removed concurrently, or an invalid device name

    @property
    def _top(self) -> str:
        if self._closed or self._root is None:
            raise failure(errno.ENODEV)
        return self._root

    def _over(self, size: int, files: int) -> bool:
        return self._bytes + size > self._capacity or self._files + files > self._max_files

    def _count(self) -> tuple[int, int]:
        size = files = 0
        for _, status in self.walk([]):
            files += 1
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return size, files

    def _make_folders(self, parts: Parts) -> None:
        for end in range(1, len(parts) + 1):
            with self._parent(parts[:end]) as (parent, name), suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=parent)

    def _enter(self, parts: Parts) -> int:
        """Open a folder. The caller closes it."""
        fd = os.open(self._top, _DIRECTORY)
        for part in parts:
            try:
                inner = os.open(encode(part), _DIRECTORY, dir_fd=fd)
            finally:
                os.close(fd)
            fd = inner
        return fd

    def _open_any(self, parts: Parts) -> int:
        if not parts:
            return self._enter(parts)
        with self._parent(parts) as (parent, name):
            return os.open(name, os.O_RDONLY | _FILE, dir_fd=parent)

    @contextmanager
    def _parent(self, parts: Parts) -> Iterator[tuple[int, bytes]]:
        if not parts:
            raise failure(errno.EBUSY)
        if len(parts) > MAX_DEPTH:
            raise failure(errno.ENAMETOOLONG)
        name = encode(parts[-1])
        fd = self._enter(parts[:-1])
        try:
            yield fd, name
        finally:
            os.close(fd)


class HostFile(io.FileIO):
    """An open file of a phone. Unbuffered: each call writes all of its data or none."""

    def __init__(self, fd: int, mode: str, folder: HostFolder) -> None:
        super().__init__(fd, mode)
        self._folder = folder

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override] # bytes only
        self._folder.reserve(len(data))
        view = memoryview(data)
        done = 0
        while done < len(view):
            done += super().write(view[done:])
        return done

    def truncate(self, size: int | None = None, /) -> int:
        end = self.tell() if size is None else size
        self._folder.reserve(max(end - os.fstat(self.fileno()).st_size, 0))
        self._folder._freed = True  # noqa: SLF001 - part of the folder's accounting
        return super().truncate(end)


def _check_regular(fd: int) -> None:
    kind = os.fstat(fd).st_mode
    if not stat.S_ISREG(kind):
        raise failure(errno.EISDIR if stat.S_ISDIR(kind) else errno.EACCES)


def encode(name: str) -> bytes:
    """A name as the host stores it. An invalid name raises the system's ``OSError``."""
    try:
        raw = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise failure(errno.EILSEQ, name) from None
    if b"\0" in raw or b"/" in raw or raw in {b"", b".", b".."}:
        raise failure(errno.EINVAL, name)
    if len(raw) > MAX_NAME_BYTES:
        raise failure(errno.ENAMETOOLONG, name)
    return raw
