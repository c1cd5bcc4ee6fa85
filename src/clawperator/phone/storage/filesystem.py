"""The phone's file system: device paths and permissions over a sandboxed folder of the host.

Paths are normalised as text, so ``..`` cannot escape, and links are never followed. ``Storage`` has the
permissions of a shell user; ``storage.system`` is the same file system without permission checks. Every refusal is
the ``OSError`` that Linux raises.
"""

import errno
import io
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

from msgspec import Struct

# The sandbox in a folder of the host
#
# Every path is walked one name at a time from the folder, and symbolic links are never followed. So neither a
# client's path nor a link planted by another program leads outside. Size, number of files and depth are limited.

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
            with self._entered([STAGING]) as staging:  # files that a killed phone was writing
                for name in os.listdir(staging):
                    with suppress(OSError):
                        os.unlink(name, dir_fd=staging)
            self._bytes, self._files = self._count()
            self._ready = True

    @property
    def is_unused(self) -> bool:
        """Whether this is a temporary folder that was not created yet, so that there is no file."""
        return self._temporary and self._root is None

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
        with self._parent(parts) as (parent, name), self._entered([STAGING]) as staging:
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

    def stat(self, parts: Parts) -> os.stat_result:
        """The status of a path; links are not followed."""
        if not parts:
            return os.stat(self._top)
        with self._parent(parts) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)

    def list(self, parts: Parts) -> list[str]:
        with self._entered(parts) as fd:
            names = os.listdir(fd)
        decoded = (os.fsencode(name).decode("utf-8", "surrogateescape") for name in names)
        return [name for name in decoded if parts or name != STAGING]

    def mkdir(self, parts: Parts, mode: int) -> None:
        self.reserve(0, 1)
        with self._parent(parts) as (parent, name):
            os.mkdir(name, mode, dir_fd=parent)
        self.chmod(parts, mode)

    def remove(self, parts: Parts, *, folder: bool = False) -> None:
        with self._parent(parts) as (parent, name):
            (os.rmdir if folder else os.unlink)(name, dir_fd=parent)
        self._freed = True

    def rename(self, source: Parts, target: Parts) -> None:
        with self._parent(source) as (old, old_name), self._parent(target) as (new, new_name):
            if stat.S_ISDIR(os.stat(old_name, dir_fd=old, follow_symlinks=False).st_mode) and (
                len(target) + max(len(parts) - len(source) for parts, _ in self.walk(source)) > MAX_DEPTH
            ):
                raise failure(errno.ENAMETOOLONG)
            os.rename(old_name, new_name, src_dir_fd=old, dst_dir_fd=new)

    def chmod(self, parts: Parts, mode: int) -> None:
        with self._parent(parts) as (parent, name):
            fd = os.open(name, os.O_RDONLY | _FILE, dir_fd=parent)
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

    @contextmanager
    def _entered(self, parts: Parts) -> Iterator[int]:
        """An open folder, while the block runs."""
        fd = os.open(self._top, _DIRECTORY)
        try:
            for part in parts:
                inner = os.open(encode(part), _DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = inner
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _parent(self, parts: Parts) -> Iterator[tuple[int, bytes]]:
        if not parts:
            raise failure(errno.EBUSY)
        if len(parts) > MAX_DEPTH:
            raise failure(errno.ENAMETOOLONG)
        name = encode(parts[-1])
        with self._entered(parts[:-1]) as fd:
            yield fd, name


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


# Device paths and permissions

SHARED = "/storage/emulated/0"
ALIASES = {
    "/sdcard": SHARED,
    "/mnt/sdcard": SHARED,
    "/storage/self/primary": SHARED,
    "/data/user/0": "/data/data",
    "/bin": "/system/bin",
    "/etc": "/system/etc",
}
# Where a shell user may write, and where a shell user may read inside a closed folder.
_WRITABLE = ("/data/local/tmp", SHARED)
_READABLE = ("/data/local/tmp", "/data/app")
# Folders that a shell user may traverse and stat, but not list.
_TRAVERSABLE = ("/data", "/data/local", "/data/app", "/data/data")
_READ_ONLY = ("/system", "/vendor", "/product", "/apex", "/proc", "/sys")
_FOLDERS = (
    *("apex", "data/app", "data/data", "data/local/tmp", "dev", "mnt", "proc", "product"),
    "storage/emulated/0/Android/data",
    *(f"storage/emulated/0/{n}" for n in ("DCIM", "Documents", "Download", "Movies", "Music", "Pictures")),
    *("storage/self", "sys", "system/bin", "system/etc", "vendor"),
)
_CAPACITY = 4 * 1024**3
_MAX_FILES = 100_000


class FileStat(Struct, frozen=True):
    """``mode`` includes the file type bits; ``mtime`` is in whole seconds since the epoch."""

    mode: int
    size: int
    mtime: int

    @property
    def is_dir(self) -> bool:
        return stat.S_ISDIR(self.mode)


class _DeviceFile(io.RawIOBase):
    """``/dev/null``, ``/dev/zero`` and ``/dev/urandom``: ``fill`` returns the bytes of a read."""

    def __init__(self, fill: Callable[[int], bytes]) -> None:
        self._fill = fill

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override] # always a memoryview
        data = self._fill(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """A megabyte: endless devices have no end."""
        return self._fill(1 << 20)

    def write(self, data: bytes, /) -> int:  # type: ignore[override] # bytes only
        return len(data)


_DEVICES: dict[str, Callable[[int], bytes]] = {
    "/dev/null": lambda _: b"",
    "/dev/random": os.urandom,
    "/dev/urandom": os.urandom,
    "/dev/zero": bytes,
}


def resolve(path: str, cwd: str = "/") -> str:
    """The canonical absolute path: without ``.``, ``..``, ``//`` or alias. It need not exist."""
    if not path:
        raise failure(errno.ENOENT)
    if "\0" in path:
        raise failure(errno.EINVAL, path)
    if len(path) > MAX_PATH_BYTES:
        raise failure(errno.ENAMETOOLONG)
    whole = normalise(path, cwd)
    for alias, target in ALIASES.items():
        if whole == alias or whole.startswith(alias + "/"):
            whole = target + whole[len(alias) :]
            break
    if whole.count("/") > MAX_DEPTH or len(whole.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        raise failure(errno.ENAMETOOLONG)
    return whole


def normalise(path: str, cwd: str) -> str:
    """The absolute path without ``.``, ``..`` and ``//``. Aliases are kept."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{cwd}/{path}").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


def _split(name: str) -> Parts:
    return [part for part in name.split("/") if part]


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def may_write(path: str) -> bool:
    """Whether a shell user may write to a path, whether or not it exists."""
    return _within(resolve(path), _WRITABLE)


class Storage:
    """All files of one phone. Safe to use from many threads.

    Without ``root`` the files are in a private temporary folder, created on first use and removed by ``close``.
    While ``full`` is set, nothing can be written.
    """

    def __init__(self, root: str | None = None, *, capacity: int = _CAPACITY, max_files: int = _MAX_FILES) -> None:
        self._folder = HostFolder(root, capacity=capacity, max_files=max_files)
        self._provided: dict[str, Callable[[], bytes]] = {}
        self._privileged = False
        self.system = self._as_system()

    def _as_system(self) -> "Storage":
        view = object.__new__(Storage)
        view._folder, view._provided, view._privileged = self._folder, self._provided, True
        view.system = view
        return view

    @property
    def full(self) -> bool:
        return self._folder.full

    @full.setter
    def full(self, value: bool) -> None:
        self._folder.full = value

    @property
    def is_unused(self) -> bool:
        """Whether nothing was read or written in a private temporary folder, which is not created before."""
        return self._folder.is_unused

    def close(self) -> None:
        self._folder.close()

    def space(self) -> DiskSpace:
        """The total and used space in bytes."""
        self._folder.prepare(_FOLDERS)
        return self._folder.space()

    def provide(self, path: str, content: Callable[[], bytes]) -> None:
        """Add a read-only file whose content is computed each time it is opened, as in ``/proc``."""
        self._provided[resolve(path)] = content

    def open(self, path: str, mode: str = "rb") -> BinaryIO:
        """Open a file; modes ``rb wb ab xb r+b``. Writes are unbuffered and never partial."""
        name = resolve(path)
        if name in _DEVICES:
            return cast("BinaryIO", _DeviceFile(_DEVICES[name]))
        if name in self._provided:
            if mode != "rb":
                raise failure(errno.EROFS, path)
            return io.BytesIO(self._provided[name]())
        parts = self._allow(name, write=mode != "rb")
        file = self._folder.open(parts, mode, self._new_mode(name))
        return cast("BinaryIO", io.BufferedReader(file) if mode == "rb" else file)

    @contextmanager
    def replacing(self, path: str, mode: int | None = None) -> Iterator[BinaryIO]:
        """Replace a file atomically: it appears when the block succeeds; otherwise nothing changes."""
        name = resolve(path)
        parts = self._allow(name, write=True)
        try:
            old = self._folder.stat(parts).st_mode
        except FileNotFoundError:
            old = self._new_mode(name)
        if stat.S_ISDIR(old):
            raise failure(errno.EISDIR, path)
        kept = old & 0o777 if stat.S_ISREG(old) or not stat.S_IFMT(old) else self._new_mode(name)
        with self._folder.replacing(parts, (kept if mode is None else mode & 0o777) | 0o400) as file:
            yield cast("BinaryIO", file)

    def read(self, path: str) -> bytes:
        with self.open(path) as file:
            return file.read()

    def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace the content of a file atomically."""
        if resolve(path) in _DEVICES:
            return
        with self.replacing(path, mode) as file:
            file.write(data)

    def stat(self, path: str) -> FileStat:
        name = resolve(path)
        if name in _DEVICES:
            return FileStat(stat.S_IFCHR | 0o666, 0, 0)
        if name in self._provided:
            executable = name.startswith("/system/bin/")
            return FileStat(stat.S_IFREG | (0o755 if executable else 0o444), len(self._provided[name]()), 0)
        if self._provided_in(name):
            return FileStat(stat.S_IFDIR | 0o755, 4096, 0)
        found = self._folder.stat(self._allow(name, traverse=True))
        return FileStat(found.st_mode, found.st_size, int(found.st_mtime))

    def list(self, path: str) -> list[str]:
        """The sorted names in a folder, without ``.`` and ``..``."""
        name = resolve(path)
        parts = self._allow(name)
        names = self._provided_in(name)
        try:
            names.update(self._folder.list(parts))
        except FileNotFoundError:
            if not names:
                raise
        base = "" if name == "/" else name
        names.update(a[len(base) + 1 :] for a in (*ALIASES, *_DEVICES) if a.rpartition("/")[0] == base)
        return sorted(names)

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def is_dir(self, path: str) -> bool:
        try:
            return self.stat(path).is_dir
        except OSError:
            return False

    def mkdir(self, path: str, *, parents: bool = False, mode: int | None = None) -> None:
        """Create a folder. With ``parents``, also those above it, and an existing folder is not an error."""
        name = resolve(path)
        if parents:
            missing = []
            while not self.exists(name):
                missing.append(name)
                name = name.rpartition("/")[0] or "/"
            if not self.is_dir(name):
                raise failure(errno.ENOTDIR if missing else errno.EEXIST, path)
        else:
            if self.exists(name):
                raise failure(errno.EEXIST, path)
            missing = [name]
        for folder in reversed(missing):
            try:
                self._folder.mkdir(self._allow(folder, write=True), self._new_mode(folder) | 0o111)
            except FileExistsError:
                if not parents:  # created concurrently
                    raise
            if mode is not None and folder == missing[0]:
                self._folder.chmod(_split(folder), mode & 0o777)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._folder.remove(self._allow(resolve(path), write=True))

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        self._folder.remove(self._allow(resolve(path), write=True), folder=True)

    def remove_tree(self, path: str) -> None:
        """Remove a file, or a folder with its content."""
        parts = self._allow(resolve(path), write=True)
        self._folder.stat(parts)
        for found, status in reversed(list(self._folder.walk(parts))):
            self._folder.remove(found, folder=stat.S_ISDIR(status.st_mode))

    def rename(self, source: str, target: str) -> None:
        """Move a file or folder; an existing file at the target is replaced."""
        old, new = resolve(source), resolve(target)
        self.stat(old)
        self._folder.rename(self._allow(old, write=True), self._allow(new, write=True))

    def chmod(self, path: str, mode: int) -> None:
        self._folder.chmod(self._allow(resolve(path), write=True), mode & 0o777)

    def set_mtime(self, path: str, seconds: float) -> None:
        self._folder.set_times(self._allow(resolve(path), write=True), int(seconds * 1_000_000_000))

    def _provided_in(self, folder: str) -> set[str]:
        """The names of provided files in a folder."""
        if not self._provided:
            return set()
        base = folder.rstrip("/") + "/"
        return {name[len(base) :].partition("/")[0] for name in list(self._provided) if name.startswith(base)}

    def _new_mode(self, name: str) -> int:
        # Android mounts shared storage with group permissions.
        return 0o660 if _within(name, (SHARED,)) else 0o644

    def _allow(self, name: str, *, write: bool = False, traverse: bool = False) -> Parts:
        """The parts of a path, if this view may access it this way; otherwise Android's ``OSError``."""
        parts = _split(name)
        for part in parts:
            encode(part)
        if parts and parts[0] == STAGING:
            raise failure(errno.ENOENT, name)
        self._folder.prepare(_FOLDERS)
        if self._privileged:
            return parts
        if write and not _within(name, _WRITABLE):
            new_at_top = len(parts) == 1 and not self.system.exists(name)
            raise failure(errno.EROFS if new_at_top or _within(name, _READ_ONLY) else errno.EACCES, name)
        hidden = _within(name, ("/data",)) and not _within(name, _READABLE)
        if not traverse if name in _TRAVERSABLE else hidden:
            raise failure(errno.EACCES, name)
        return parts
