"""The phone's file system: device paths and permissions over a sandboxed folder of the host.

Paths are normalised as text, so ``..`` cannot escape, and links are never followed. ``Storage`` has the
permissions of a shell user; ``storage.system`` is the same file system without permission checks. Every refusal is
the ``OSError`` that Linux raises.
"""

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from msgspec import Struct

from clawperator.phone.storage.sandbox import (
    MAX_DEPTH,
    MAX_PATH_BYTES,
    STAGING,
    DiskSpace,
    HostFolder,
    Parts,
    encode,
    failure,
)

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
    "apex",
    "data/app",
    "data/data",
    "data/local/tmp",
    "dev",
    "mnt",
    "proc",
    "product",
    "storage/emulated/0/Android/data",
    *(f"storage/emulated/0/{n}" for n in ("DCIM", "Documents", "Download", "Movies", "Music", "Pictures")),
    "storage/self",
    "sys",
    "system/bin",
    "system/etc",
    "vendor",
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
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{cwd}/{path}").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    whole = "/" + "/".join(parts)
    for alias, target in ALIASES.items():
        if whole == alias or whole.startswith(alias + "/"):
            whole = target + whole[len(alias) :]
            break
    if whole.count("/") > MAX_DEPTH or len(whole.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        raise failure(errno.ENAMETOOLONG)
    return whole


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

    def append(self, path: str, data: bytes) -> None:
        with self.open(path, "ab") as file:
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
        self._folder.rmdir(self._allow(resolve(path), write=True))

    def remove_tree(self, path: str) -> None:
        """Remove a file, or a folder with its content."""
        parts = self._allow(resolve(path), write=True)
        self._folder.stat(parts)
        for found, status in reversed(list(self._folder.walk(parts))):
            if stat.S_ISDIR(status.st_mode):
                self._folder.rmdir(found)
            else:
                self._folder.remove(found)

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
            new_at_top = len(parts) == 1 and not self._folder_exists(parts)
            raise failure(errno.EROFS if new_at_top or _within(name, _READ_ONLY) else errno.EACCES, name)
        hidden = _within(name, ("/data",)) and not _within(name, _READABLE)
        if not traverse if name in _TRAVERSABLE else hidden:
            raise failure(errno.EACCES, name)
        return parts

    def _folder_exists(self, parts: Parts) -> bool:
        try:
            self._folder.stat(parts)
        except OSError:
            return False
        return True
