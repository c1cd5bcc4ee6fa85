"""Commands that look at files: ls, stat, du, df, realpath and kin."""

import stat
import time
import zlib

from clawperator.phone.shell.process import ShellProcess, command, encode, reason
from clawperator.phone.shell.toybox.find import Entry, join, walk
from clawperator.phone.shell.toybox.options import Options
from clawperator.phone.storage.filesystem import ALIASES, SHARED


def owner(path: str) -> tuple[str, str]:
    """Who a file belongs to, by where it is."""
    if path.startswith(SHARED):
        return "u0_a1", "media_rw"
    if path.startswith("/data/local"):
        return "shell", "shell"
    return ("system", "system") if path.startswith("/data") else ("root", "root")


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return time.strftime(form, time.gmtime(seconds))


def human(size: int) -> str:
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
        self.options = Options(process, "lLaA1dRtrShFpn", long=("color", "show-control-chars"))
        self.status = 0
        self.headed = False

    def run(self) -> int:
        names = self.options.operands or ["."]
        found = [entry for name in names if (entry := self._look(name, name))]
        folders = [] if "d" in self.options else [e for e in found if e.status.is_dir]
        plain = [entry for entry in found if entry not in folders]
        self._print(self._sorted(plain))
        several = len(names) > 1 or "R" in self.options
        self.headed = bool(plain)
        pending = self._sorted(folders)[::-1]
        while pending and not self.process.cancelled.is_set():
            pending += self._print_folder(pending.pop(), several=several)[::-1]
        return self.status

    def _look(self, name: str, shown: str) -> Entry | None:
        try:
            path = self.process.path(name)
            return Entry(shown, path, self.process.phone.storage.stat(path))
        except OSError as e:
            self.status = self.process.failed(name, e)
            return None

    def _sorted(self, entries: list[Entry]) -> list[Entry]:
        def rank(entry: Entry) -> tuple[int, str]:
            by_time = -entry.status.mtime if "t" in self.options else 0
            return -entry.status.size if "S" in self.options else by_time, entry.name

        return sorted(entries, key=rank, reverse="r" in self.options)

    def _print_folder(self, folder: Entry, *, several: bool) -> list[Entry]:
        """Its content; and the folders in it when they are to be listed too."""
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
        found = [entry for name in names if (entry := self._look(join(folder.path, name), name))]
        inner = [Entry(join(folder.name, e.name), e.path, e.status) for e in found if e.status.is_dir]
        if "a" in self.options:
            found += [Entry(name, folder.path, folder.status) for name in (".", "..")]
        if "l" in self.options:
            self.process.write(f"total {sum((e.status.size + 511) // 512 for e in found)}\n")
        self._print(self._sorted(found))
        return self._sorted(inner) if "R" in self.options else []

    def _print(self, entries: list[Entry]) -> None:
        if "l" not in self.options and "n" not in self.options:
            self.process.write("".join(f"{self._shown(e)}\n" for e in entries))
            return
        rows = []
        for entry in entries:
            size = human(entry.status.size) if "h" in self.options else str(entry.status.size)
            user, group = ("2000", "2000") if "n" in self.options else owner(entry.path)
            links = "2" if entry.status.is_dir else "1"
            rows.append((stat.filemode(entry.status.mode), links, user, group, size, entry))
        widths = [max((len(str(row[column])) for row in rows), default=0) for column in range(5)]
        for mode, links, user, group, size, entry in rows:
            self.process.write(
                f"{mode} {links:>{widths[1]}} {user:<{widths[2]}} {group:<{widths[3]}} {size:>{widths[4]}} "
                f"{moment(entry.status.mtime)} {self._shown(entry)}\n"
            )

    def _shown(self, entry: Entry) -> str:
        if entry.status.is_dir and ("F" in self.options or "p" in self.options):
            return entry.name + "/"
        executable = "F" in self.options and entry.status.mode & 0o111 and stat.S_ISREG(entry.status.mode)
        return entry.name + "*" * bool(executable)


@command("ls", "ll")
def ls(process: ShellProcess) -> int:
    if process.name == "ll":
        process.argv[1:1] = ["-l"]
    return _Listing(process).run()


_KINDS = {stat.S_IFDIR: "directory", stat.S_IFREG: "regular file", stat.S_IFCHR: "character device"}


def _format_stat(form: str, entry: Entry) -> str:
    status = entry.status
    user, group = owner(entry.path)
    kind = _KINDS.get(stat.S_IFMT(status.mode), "symbolic link")
    if kind == "regular file" and not status.size:
        kind = "regular empty file"
    seconds = moment(status.mtime, "%Y-%m-%d %H:%M:%S.000000000 +0000")
    values = {
        "n": entry.name,
        "N": f"'{entry.name}'",
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
        "i": str(zlib.crc32(encode(entry.path))),
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
    options = Options(process, "L", "c")
    form = options.value("c") or _STAT_DEFAULT
    if not options.operands:
        return process.error('Needs 1 argument (see "stat --help")')
    status = 0
    for name in options.operands:
        try:
            path = process.path(name)
            entry = Entry(name, path, process.phone.storage.stat(path))
            process.write(_format_stat(form, entry) + "\n")
        except BrokenPipeError:
            raise
        except OSError as e:
            status = process.error(f"'{name}': {reason(e)}")
    return status


@command("du")
def du(process: ShellProcess) -> int:
    options = Options(process, "shka", "d")
    deepest = 0 if "s" in options else options.number("d", 1_000_000)
    for name in options.operands or ["."]:
        sizes: dict[str, int] = {}
        order: list[tuple[str, int, bool]] = []
        for entry, depth in walk(process, name):
            size = 4 if entry.status.is_dir else (entry.status.size + 1023) // 1024
            order.append((entry.name, depth, entry.status.is_dir))
            parent = entry.name
            sizes[parent] = sizes.get(parent, 0) + size
            for _ in range(depth):
                parent = parent.rpartition("/")[0]
                sizes[parent] = sizes.get(parent, 0) + size
        for shown, depth, is_dir in reversed(order):
            if depth <= deepest and (is_dir or "a" in options or not depth):
                size = sizes[shown]
                process.write(f"{human(size * 1024) if 'h' in options else size}\t{shown}\n")
    return 0


@command("df")
def df(process: ShellProcess) -> int:
    options = Options(process, "hk")
    space = process.phone.storage.space()
    unit = human if "h" in options else lambda size: str(size // 1024)
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


@command("realpath")
def realpath(process: ShellProcess) -> int:
    status = 0
    for name in Options(process, "e").operands:
        try:
            path = process.path(name)
            process.phone.storage.stat(path)
            process.write(path + "\n")
        except BrokenPipeError:
            raise
        except OSError as e:
            status = process.failed(name, e)
    return status


@command("readlink")
def readlink(process: ShellProcess) -> int:
    """With ``-f`` the true path; without it nothing is a link but ``/sdcard`` and its like."""
    options = Options(process, "fem")
    status = 0
    for name in options.operands:
        if "f" in options or "e" in options or "m" in options:
            process.write(process.path(name) + "\n")
        elif target := ALIASES.get(name.rstrip("/")):
            process.write(target + "\n")
        else:
            status = 1
    return status


@command("basename")
def basename(process: ShellProcess) -> int:
    options = Options(process, "a", "s")
    names = options.operands
    suffix = options.value("s") or ""
    if not names:
        return process.error('Needs 1 argument (see "basename --help")')
    if "a" not in options and not suffix:
        suffix = names[1] if len(names) > 1 else ""
        names = names[:1]
    for name in names:
        base = name.rstrip("/").rpartition("/")[2] or "/" * name.startswith("/")
        process.write((base.removesuffix(suffix) if base != suffix else base) + "\n")
    return 0


@command("dirname")
def dirname(process: ShellProcess) -> int:
    if len(process.argv) < 2:
        return process.error('Needs 1 argument (see "dirname --help")')
    for name in process.argv[1:]:
        folder = name.rstrip("/").rpartition("/")[0]
        process.write((folder.rstrip("/") or ("/" if name.startswith("/") else ".")) + "\n")
    return 0
