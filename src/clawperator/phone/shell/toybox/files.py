"""Commands about files: find them, describe them, change them."""

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clawperator.phone.shell.language.patterns import Pattern
from clawperator.phone.shell.process import ShellProcess, command, reason
from clawperator.phone.shell.toybox.options import CommandOptions, OptionError, read_blocks, require_operands
from clawperator.phone.shell.toybox.system import read_date
from clawperator.phone.storage.filesystem import ALIASES, SHARED, FileStat

# Paths and folder trees: find, realpath, readlink, basename and dirname


class ListedFile(Struct, frozen=True):
    """A file: the name to print, its path and its status; ``depth`` is how far it is below where a walk began."""

    name: str
    path: str
    status: FileStat
    depth: int = 0


def join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def _base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def walk(process: ShellProcess, name: str) -> Iterator[ListedFile]:
    """A file or folder and all below it, folders first. Errors are printed and skipped."""
    storage = process.phone.storage
    pending = [(name, 0)]
    while pending and not process.cancelled.is_set():
        shown, depth = pending.pop()
        try:
            path = process.path(shown)
            file = ListedFile(shown, path, storage.stat(path), depth)
            yield file
            if file.status.is_dir:
                pending += [(join(shown, child), depth + 1) for child in reversed(storage.list(path))]
        except OSError as e:
            process.failed(shown, e)


# find


class _FindOptions(Struct):
    """The expression of a ``find`` command line. ``run`` is the command of ``-exec``."""

    tests: list[Callable[[ListedFile], bool]] = []
    action: str = "-print"
    run: list[str] = []


def _read_expression(words: list[str]) -> _FindOptions:
    options = _FindOptions()
    negated = False
    while words:
        word = words.pop(0)
        if word in {"!", "-not"}:
            negated = not negated
        elif word in {"-print", "-print0", "-delete"}:
            options.action = word
        elif word == "-exec":
            if ";" not in words:
                raise OptionError("-exec needs ;")
            end = words.index(";")
            options.action, options.run = word, words[:end]
            del words[: end + 1]
        elif words and word in {"-name", "-iname", "-type", "-path", "-maxdepth", "-mindepth"}:
            options.tests.append(_read_test(word, words.pop(0), negated=negated))
            negated = False
        else:
            raise OptionError(f"bad arg '{word}'")
    return options


def _read_test(word: str, value: str, *, negated: bool) -> Callable[[ListedFile], bool]:
    if word == "-type":
        is_kind = {"f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK, "c": stat.S_ISCHR}.get(value)
        if is_kind is None:
            raise OptionError(f"bad -type '{value}'")
        return lambda file: is_kind(file.status.mode) != negated
    if word in {"-maxdepth", "-mindepth"}:
        if not value.isdigit():
            raise OptionError(f"not integer: {value}")
        limit = int(value[:9])
        return lambda file: file.depth <= limit if word == "-maxdepth" else file.depth >= limit
    fold = word == "-iname"
    pattern = Pattern([(value.lower() if fold else value, False)])

    def test(file: ListedFile) -> bool:
        text = file.name if word == "-path" else _base_name(file.name)
        return pattern.matches(text.lower() if fold else text) != negated

    return test


@command("find")
def find(process: ShellProcess) -> int:
    words = process.argv[1:]
    start = next((n for n, word in enumerate(words) if word[:1] in {"-", "!"}), len(words))
    roots = words[:start] or ["."]
    options = _read_expression(words[start:])
    status = 0
    for root in roots:
        if not process.phone.storage.exists(process.path(root)):
            status = process.error(f"'{root}': No such file or directory")
            continue
        found = [file for file in walk(process, root) if all(test(file) for test in options.tests)]
        if options.action == "-delete":
            found.reverse()
        for file in found:
            status = max(status, _run_action(process, options, file))
    return status


def _run_action(process: ShellProcess, options: _FindOptions, file: ListedFile) -> int:
    if options.action == "-exec":
        return process.run([word.replace("{}", file.name) for word in options.run])
    if options.action == "-delete":
        (process.phone.storage.rmdir if file.status.is_dir else process.phone.storage.remove)(file.path)
    else:
        process.write(file.name + ("\0" if options.action == "-print0" else "\n"))
    return 0


# Paths


@command("realpath")
def realpath(process: ShellProcess) -> int:
    def show(name: str) -> None:
        path = process.path(name)
        process.phone.storage.stat(path)
        process.write(path + "\n")

    return process.for_each_operand(CommandOptions(process, "e").operands, show)


@command("readlink")
def readlink(process: ShellProcess) -> int:
    """With ``-f`` the real path; without it, the target of ``/sdcard`` and the other built-in links."""
    options = CommandOptions(process, "fem")
    status = 0
    for name in options.operands:
        if options.any_of("f", "e", "m"):
            process.write(process.path(name) + "\n")
        elif target := ALIASES.get(name.rstrip("/")):
            process.write(target + "\n")
        else:
            status = 1
    return status


@command("basename")
def basename(process: ShellProcess) -> int:
    options = CommandOptions(process, "a", "s")
    names, suffix = options.operands, options.value("s") or ""
    require_operands(process, names)
    if not options.any_of("a", "s"):
        names, suffix = names[:1], "".join(names[1:2])
    for name in names:
        base = _base_name(name) or "/" * name.startswith("/")
        process.write((base.removesuffix(suffix) if base != suffix else base) + "\n")
    return 0


@command("dirname")
def dirname(process: ShellProcess) -> int:
    require_operands(process, process.argv[1:])
    for name in process.argv[1:]:
        folder = name.rstrip("/").rpartition("/")[0]
        process.write((folder.rstrip("/") or ("/" if name.startswith("/") else ".")) + "\n")
    return 0


# Descriptions: ls, stat and df


def owner(path: str) -> tuple[str, str]:
    """The user and group of a file, by its location."""
    if path.startswith(SHARED):
        return "u0_a1", "media_rw"
    if path.startswith("/data/local"):
        return "shell", "shell"
    return ("system", "system") if path.startswith("/data") else ("root", "root")


def format_time(seconds: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return time.strftime(form, time.gmtime(seconds))


def _human_size(size: int) -> str:
    value = float(size)
    for unit in ("", "K", "M", "G"):
        if value < 1024 or unit == "G":
            return f"{value:.0f}{unit}" if value >= 10 or not unit else f"{value:.1f}{unit}"
        value /= 1024
    return str(size)


def _write_columns(process: ShellProcess, rows: Sequence[tuple[str, ...]], sides: str) -> None:
    """Write a line for each row, with its cells aligned to the sides, ``<`` or ``>``; the last cell as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *cells, last in rows:
        padded = [f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=False)]
        process.write(f"{' '.join(padded)} {last}\n")


class _Listing:
    """One run of ls."""

    def __init__(self, process: ShellProcess) -> None:
        self.process = process
        self.options = CommandOptions(process, "lLaA1dRtrShFpn", long=("color", "show-control-chars"))
        self.status = 0
        self.headed = False

    def run(self) -> int:
        names = self.options.operands or ["."]
        found = self._sorted([file for name in names if (file := self._stat(name, name))])
        pending = [file for file in reversed(found) if file.status.is_dir and "d" not in self.options]
        plain = [file for file in found if file not in pending]
        self._print(plain)
        several = len(names) > 1 or "R" in self.options
        self.headed = bool(plain)
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
            status = file.status
            size = _human_size(status.size) if "h" in self.options else str(status.size)
            users = ("2000", "2000") if "n" in self.options else owner(file.path)
            links = "2" if status.is_dir else "1"
            when = format_time(status.mtime)
            rows.append((stat.filemode(status.mode), links, *users, size, when, self._shown(file)))
        _write_columns(self.process, rows, "<><<><")

    def _shown(self, file: ListedFile) -> str:
        if file.status.is_dir and ("F" in self.options or "p" in self.options):
            return file.name + "/"
        executable = "F" in self.options and file.status.mode & 0o111 and stat.S_ISREG(file.status.mode)
        return file.name + "*" * bool(executable)


@command("ls", "ll")
def ls(process: ShellProcess) -> int:
    process.argv[1:1] = ["-l"] * (process.name == "ll")
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
        "F": kind,
        "u": "2000",
        "g": "2000",
        "U": user,
        "G": group,
        "b": str((status.size + 511) // 512),
        "B": "512",
        "o": "4096",
        "%": "%",
        **dict.fromkeys("XYZ", str(status.mtime)),
        **dict.fromkeys("xyz", seconds),
    }
    return re.sub(r"%(.?)", lambda match: values.get(match[1], "?"), form, flags=re.DOTALL)


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
        shown: list[str] = []
        for file in walk(process, name):
            if file.status.is_dir or not file.depth:
                shown.append(file.name)
            folder = file.name
            for _ in range(file.depth + 1):
                sizes[folder] = sizes.get(folder, 0) + (4 if file.status.is_dir else -(-file.status.size // 1024))
                folder = folder.rpartition("/")[0]
        for folder in shown[:1] if "s" in options else reversed(shown):
            size = _human_size(sizes[folder] * 1024) if "h" in options else str(sizes[folder])
            process.write(f"{size}\t{folder}\n")
    return 0


@command("df")
def df(process: ShellProcess) -> int:
    options = CommandOptions(process, "hk")
    space = process.phone.storage.space()
    unit = _human_size if "h" in options else lambda size: str(size // 1024)
    rows = [("Filesystem", "Size" if "h" in options else "1K-blocks", "Used", "Available", "Use%", "Mounted on")]
    mounts = [("/dev/block/dm-0", "/"), ("/dev/block/dm-8", "/data"), ("/dev/fuse", "/storage/emulated")]
    wanted = {_mount(process.path(name)) for name in options.operands}
    for device, mount in mounts:
        if wanted and mount not in wanted:
            continue
        total, used = (space.total, space.used) if mount != "/" else (1 << 30, 1 << 30)
        percent = f"{-(-used * 100 // total)}%"
        rows.append((device, unit(total), unit(used), unit(total - used), percent, mount))
    _write_columns(process, rows, "<>>>>")
    return 0


def _mount(path: str) -> str:
    if path.startswith("/storage/emulated"):
        return "/storage/emulated"
    return "/data" if path == "/data" or path.startswith("/data/") else "/"


# Changes: cp, mv, rm, mkdir, rmdir, touch, ln, mktemp and chmod

_SYMBOLIC_MODE = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)")


# Copying and moving


def _copy_file(process: ShellProcess, source: str, target: str, *, keep: bool) -> None:
    storage = process.phone.storage
    status = storage.stat(source)
    with storage.open(source) as old, storage.open(target, "wb") as new:
        for block in read_blocks(process, old):
            new.write(block)
    storage.chmod(target, status.mode)
    if keep:
        storage.set_mtime(target, status.mtime)


def _copy(process: ShellProcess, source: str, target: str, *, recursive: bool, keep: bool) -> None:
    """Copy a file, or a folder with its content."""
    storage = process.phone.storage
    if not storage.stat(source).is_dir:
        _copy_file(process, source, target, keep=keep)
        return
    if not recursive:
        raise OSError(errno.EISDIR, "")
    if target == source or target.startswith(source.rstrip("/") + "/"):
        raise OSError(errno.EINVAL, "")
    pending = [(source, target)]
    while pending:
        old, new = pending.pop()
        storage.mkdir(new, parents=True)
        for name in storage.list(old):
            pair = join(old, name), join(new, name)
            if storage.is_dir(pair[0]):
                pending.append(pair)
            else:
                _copy_file(process, *pair, keep=keep)


def _targets(process: ShellProcess, operands: list[str]) -> list[tuple[str, str]]:
    """Each source with its target: inside the last operand if that is a folder, else the last operand itself."""
    require_operands(process, operands, 2)
    *sources, last = operands
    into = process.phone.storage.is_dir(process.path(last))
    if len(sources) > 1 and not into:
        raise OptionError(f"'{last}' not directory")
    return [(source, join(last, _base_name(source)) if into else last) for source in sources]


@command("cp")
def cp(process: ShellProcess) -> int:
    options = CommandOptions(process, "rRafpdnvPLH", long=("recursive",))
    pairs = _targets(process, options.operands)
    status = 0
    recursive = options.any_of("r", "R", "a", "recursive")
    for source, target in pairs:
        try:
            old, new = process.path(source), process.path(target)
            if old == new:
                status = process.error(f"'{source}' is '{target}'")
            elif not ("n" in options and process.phone.storage.exists(new)):
                _copy(process, old, new, recursive=recursive, keep=options.any_of("p", "a"))
                process.write(f"cp '{source}'\n" * ("v" in options))
        except OSError as e:
            if e.errno == errno.EISDIR and not recursive:
                status = process.error(f"Skipped dir '{source}'")
            else:
                status = process.failed(source if e.errno == errno.ENOENT else target, e)
    return status


@command("mv")
def mv(process: ShellProcess) -> int:
    options = CommandOptions(process, "fn")
    pairs = _targets(process, options.operands)
    targets = dict(pairs)

    def move(source: str) -> None:
        target = process.path(targets[source])
        if not ("n" in options and process.phone.storage.exists(target)):
            process.phone.storage.rename(process.path(source), target)

    return process.for_each_operand([source for source, _ in pairs], move)


# Creating and removing


@command("rm")
def rm(process: ShellProcess) -> int:
    options = CommandOptions(process, "rRf", long=("recursive", "force"))
    force = options.any_of("f", "force")
    if not force:
        require_operands(process, options.operands)
    storage = process.phone.storage
    status = 0
    for name in options.operands:
        try:
            path = process.path(name)
            if _base_name(name) in {".", "..", ""}:
                status = process.error(f"bad path '{name}'")
            elif not storage.stat(path).is_dir:
                storage.remove(path)
            elif options.any_of("r", "R", "recursive"):
                storage.remove_tree(path)
            else:
                status = process.error(f"{name}: is directory")
        except OSError as e:
            if not (force and e.errno == errno.ENOENT):
                status = process.failed(name, e)
    return status


@command("mkdir")
def mkdir(process: ShellProcess) -> int:
    options = CommandOptions(process, "p", "m", long=("parents",))
    require_operands(process, options.operands)
    given = options.value("m")
    mode = None if given is None else change_mode(0o777, given)
    parents = options.any_of("p", "parents")
    return process.for_each_operand(
        options.operands,
        lambda name: process.phone.storage.mkdir(process.path(name), parents=parents, mode=mode),
        "'{name}': {reason}",
    )


@command("rmdir")
def rmdir(process: ShellProcess) -> int:
    options = CommandOptions(process, "p")
    require_operands(process, options.operands)

    def remove(name: str) -> None:
        path = process.path(name)
        process.phone.storage.rmdir(path)
        while "p" in options and path.count("/") > 1:
            path = path.rpartition("/")[0]
            process.phone.storage.rmdir(path)

    return process.for_each_operand(options.operands, remove)


@command("touch")
def touch(process: ShellProcess) -> int:
    options = CommandOptions(process, "acm", "dr")
    require_operands(process, options.operands)
    storage = process.phone.storage
    time = process.phone.clock.now_ms() / 1000
    if given := options.value("d"):
        time = read_date(given)
    if reference := options.value("r"):
        time = storage.stat(process.path(reference)).mtime

    def set_time(name: str) -> None:
        path = process.path(name)
        if not storage.exists(path):
            if "c" in options:
                return
            storage.open(path, "ab").close()
        storage.set_mtime(path, time)

    return process.for_each_operand(options.operands, set_time, "'{name}': {reason}")


@command("ln")
def ln(process: ShellProcess) -> int:
    """Links are refused: a link could lead out of the phone's folder."""
    options = CommandOptions(process, "sfnvT")
    require_operands(process, options.operands)
    target = (options.operands[1:] or [_base_name(options.operands[0])])[-1]
    return process.error(f"cannot create link from '{options.operands[0]}' to '{target}': Permission denied")


@command("mktemp")
def mktemp(process: ShellProcess) -> int:
    options = CommandOptions(process, "du", "p")
    name = (options.operands or ["tmp.XXXXXXXXXX"])[0]
    name = re.sub(r"X{3,}$", lambda match: os.urandom(len(match[0])).hex()[: len(match[0])], name)
    if "/" not in name:
        name = join(options.value("p") or process.env.get("TMPDIR", "/data/local/tmp"), name)
    path = process.path(name)
    if "d" in options:
        process.phone.storage.mkdir(path)
    elif "u" not in options:
        process.phone.storage.open(path, "xb").close()
    return process.write(name + "\n")


# Modes


def change_mode(mode: int, text: str) -> int:
    """A mode after ``755`` or ``u+x,go=r``. ``ValueError`` when the text is neither."""
    if re.fullmatch(r"[0-7]{1,4}", text):
        return int(text, 8) & 0o777
    for part in text.split(","):
        match = _SYMBOLIC_MODE.fullmatch(part)
        if match is None:
            raise ValueError(text)
        classes, operator, letters = match[1].replace("a", "ugo") or "ugo", match[2], match[3]
        bits = sum({"r": 4, "w": 2, "x": 1, "X": 1}.get(letter, 0) for letter in set(letters))
        for user_class in set(classes):
            shift = {"u": 6, "g": 3, "o": 0}[user_class]
            if operator == "=":
                mode &= ~(7 << shift)
            mode = mode & ~(bits << shift) if operator == "-" else mode | bits << shift
    return mode & 0o777


@command("chmod")
def chmod(process: ShellProcess) -> int:
    words = [word for word in process.argv[1:] if word not in {"-R", "-f", "-v"}]
    require_operands(process, words, 2)
    storage = process.phone.storage
    status = 0
    pending = words[:0:-1]
    while pending:
        name = pending.pop()
        try:
            path = process.path(name)
            storage.chmod(path, change_mode(storage.stat(path).mode & 0o777, words[0]))
            if "-R" in process.argv and storage.is_dir(path):
                pending += [join(name, child) for child in storage.list(path)]
        except ValueError:
            return process.error(f"bad mode '{words[0]}'")
        except OSError as e:
            status = process.error(f"chmod '{name}' to {words[0]}: {reason(e)}")
    return status
