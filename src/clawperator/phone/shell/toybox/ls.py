"""Commands that describe files: ls, stat, du and df."""

import stat
import time
import zlib

from clawperator.phone.shell.process import ShellProcess, command, encode
from clawperator.phone.shell.toybox.find import ListedFile, join, walk
from clawperator.phone.shell.toybox.options import CommandOptions, require_operands
from clawperator.phone.storage.filesystem import SHARED


def owner(path: str) -> tuple[str, str]:
    """The user and group of a file, by its location."""
    if path.startswith(SHARED):
        return "u0_a1", "media_rw"
    if path.startswith("/data/local"):
        return "shell", "shell"
    return ("system", "system") if path.startswith("/data") else ("root", "root")


def format_time(seconds: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return time.strftime(form, time.gmtime(seconds))


def human_size(size: int) -> str:
    value = float(size)
    for unit in ("", "K", "M", "G"):
        if value < 1024 or unit == "G":
            return f"{value:.0f}{unit}" if value >= 10 or not unit else f"{value:.1f}{unit}"
        value /= 1024
    return str(size)


class _Listing:
    """One run of ls."""

    def __init__(self, process: ShellProcess) -> None:
        self.process = process
        self.options = CommandOptions(process, "lLaA1dRtrShFpn", long=("color", "show-control-chars"))
        self.status = 0
        self.headed = False

    def run(self) -> int:
        names = self.options.operands or ["."]
        found = [file for name in names if (file := self._stat(name, name))]
        folders = [] if "d" in self.options else [e for e in found if e.status.is_dir]
        plain = [file for file in found if file not in folders]
        self._print(self._sorted(plain))
        several = len(names) > 1 or "R" in self.options
        self.headed = bool(plain)
        pending = self._sorted(folders)[::-1]
        while pending and not self.process.cancelled.is_set():
            pending += self._print_folder(pending.pop(), several=several)[::-1]
        return self.status

    def _stat(self, name: str, shown: str) -> ListedFile | None:
        try:
            path = self.process.path(name)
            return ListedFile(shown, path, self.process.phone.storage.stat(path))
        except OSError as e:
            self.status = self.process.failed(name, e)
            return None

    def _sorted(self, files: list[ListedFile]) -> list[ListedFile]:
        def rank(file: ListedFile) -> tuple[int, str]:
            by_time = -file.status.mtime if "t" in self.options else 0
            return -file.status.size if "S" in self.options else by_time, file.name

        return sorted(files, key=rank, reverse="r" in self.options)

    def _print_folder(self, folder: ListedFile, *, several: bool) -> list[ListedFile]:
        """Print a folder's content; return the folders in it when ``-R`` asks for them."""
        try:
            names = self.process.phone.storage.list(folder.path)
        except OSError as e:
            self.status = self.process.failed(folder.name, e)
            return []
        if several:
            self.process.write(f"{chr(10) * self.headed}{folder.name}:\n")
        self.headed = True
        if "a" not in self.options and "A" not in self.options:
            names = [name for name in names if not name.startswith(".")]
        found = [file for name in names if (file := self._stat(join(folder.path, name), name))]
        inner = [ListedFile(join(folder.name, e.name), e.path, e.status) for e in found if e.status.is_dir]
        if "a" in self.options:
            found += [ListedFile(name, folder.path, folder.status) for name in (".", "..")]
        if "l" in self.options:
            self.process.write(f"total {sum((e.status.size + 511) // 512 for e in found)}\n")
        self._print(self._sorted(found))
        return self._sorted(inner) if "R" in self.options else []

    def _print(self, files: list[ListedFile]) -> None:
        if "l" not in self.options and "n" not in self.options:
            self.process.write("".join(f"{self._shown(e)}\n" for e in files))
            return
        rows = []
        for file in files:
            size = human_size(file.status.size) if "h" in self.options else str(file.status.size)
            user, group = ("2000", "2000") if "n" in self.options else owner(file.path)
            links = "2" if file.status.is_dir else "1"
            rows.append((stat.filemode(file.status.mode), links, user, group, size, file))
        widths = [max((len(str(row[column])) for row in rows), default=0) for column in range(5)]
        for mode, links, user, group, size, file in rows:
            self.process.write(
                f"{mode} {links:>{widths[1]}} {user:<{widths[2]}} {group:<{widths[3]}} {size:>{widths[4]}} "
                f"{format_time(file.status.mtime)} {self._shown(file)}\n"
            )

    def _shown(self, file: ListedFile) -> str:
        if file.status.is_dir and ("F" in self.options or "p" in self.options):
            return file.name + "/"
        executable = "F" in self.options and file.status.mode & 0o111 and stat.S_ISREG(file.status.mode)
        return file.name + "*" * bool(executable)


@command("ls", "ll")
def ls(process: ShellProcess) -> int:
    if process.name == "ll":
        process.argv[1:1] = ["-l"]
    return _Listing(process).run()


_KINDS = {stat.S_IFDIR: "directory", stat.S_IFREG: "regular file", stat.S_IFCHR: "character device"}


def _format_stat(form: str, file: ListedFile) -> str:
    status = file.status
    user, group = owner(file.path)
    kind = _KINDS.get(stat.S_IFMT(status.mode), "symbolic link")
    if kind == "regular file" and not status.size:
        kind = "regular empty file"
    seconds = format_time(status.mtime, "%Y-%m-%d %H:%M:%S.000000000 +0000")
    values = {
        "n": file.name,
        "N": f"'{file.name}'",
        "s": str(status.size),
        "a": f"{stat.S_IMODE(status.mode):o}",
        "A": stat.filemode(status.mode),
        "f": f"{status.mode:x}",
        "F": kind,
        "u": "2000",
        "g": "2000",
        "U": user,
        "G": group,
        "h": "1",
        "i": str(zlib.crc32(encode(file.path))),
        "b": str((status.size + 511) // 512),
        "B": "512",
        "o": "4096",
        "%": "%",
        **dict.fromkeys("XYZ", str(status.mtime)),
        **dict.fromkeys("xyz", seconds),
    }
    out, rest = "", form
    while rest:
        plain, percent, rest = rest.partition("%")
        out += plain
        if percent:
            out += values.get(rest[:1], "?")
            rest = rest[1:]
    return out


_STAT_DEFAULT = (
    "  File: %N\n  Size: %s\t Blocks: %b\t IO Blocks: %B\t%F\n"
    "Access: (0%a/%A)\tUid: ( %u/ %U)\tGid: ( %g/ %G)\nAccess: %x\nModify: %y\nChange: %z"
)


@command("stat")
def stat_(process: ShellProcess) -> int:
    options = CommandOptions(process, "L", "c")
    form = options.value("c") or _STAT_DEFAULT
    require_operands(process, options.operands)

    def show(name: str) -> None:
        path = process.path(name)
        file = ListedFile(name, path, process.phone.storage.stat(path))
        process.write(_format_stat(form, file) + "\n")

    return process.for_each_operand(options.operands, show, "'{name}': {reason}")


@command("du")
def du(process: ShellProcess) -> int:
    options = CommandOptions(process, "shk")
    for name in options.operands or ["."]:
        sizes: dict[str, int] = {}
        folders: list[tuple[str, int]] = []
        for file, depth in walk(process, name):
            size = 4 if file.status.is_dir else (file.status.size + 1023) // 1024
            if file.status.is_dir or not depth:
                folders.append((file.name, depth))
            parent = file.name
            sizes[parent] = sizes.get(parent, 0) + size
            for _ in range(depth):
                parent = parent.rpartition("/")[0]
                sizes[parent] = sizes.get(parent, 0) + size
        for shown, depth in reversed(folders):
            if not depth or "s" not in options:
                size = sizes[shown]
                process.write(f"{human_size(size * 1024) if 'h' in options else size}\t{shown}\n")
    return 0


@command("df")
def df(process: ShellProcess) -> int:
    options = CommandOptions(process, "hk")
    space = process.phone.storage.space()
    unit = human_size if "h" in options else lambda size: str(size // 1024)
    rows = [("Filesystem", "Size" if "h" in options else "1K-blocks", "Used", "Available", "Use%", "Mounted on")]
    mounts = [("/dev/block/dm-0", "/"), ("/dev/block/dm-8", "/data"), ("/dev/fuse", "/storage/emulated")]
    wanted = {_mount(process.path(name)) for name in options.operands}
    for device, mount in mounts:
        if wanted and mount not in wanted:
            continue
        total, used = (space.total, space.used) if mount != "/" else (1 << 30, 1 << 30)
        percent = f"{-(-used * 100 // total)}%"
        rows.append((device, unit(total), unit(used), unit(total - used), percent, mount))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        numbers = " ".join(f"{row[column]:>{widths[column]}}" for column in range(1, 5))
        process.write(f"{row[0]:<{widths[0]}} {numbers} {row[5]}\n")
    return 0


def _mount(path: str) -> str:
    if path.startswith("/storage/emulated"):
        return "/storage/emulated"
    return "/data" if path == "/data" or path.startswith("/data/") else "/"
