"""Commands that change files: cp, mv, rm, mkdir, rmdir, touch, chmod, ln."""

import errno
import re

from clawperator.phone.shell.process import ShellProcess, command, reason
from clawperator.phone.shell.toybox.find import join
from clawperator.phone.shell.toybox.options import Options, blocks
from clawperator.phone.storage.filesystem import resolve

_SYMBOLIC = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)")


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _missing(process: ShellProcess, operands: list[str], count: int = 1) -> int | None:
    """Say so when there are too few operands."""
    if len(operands) >= count:
        return None
    return process.error(f'Needs {count} argument{"s" * (count > 1)} (see "{process.name} --help")')


def _copy_file(process: ShellProcess, source: str, target: str, *, keep: bool) -> None:
    storage = process.phone.storage
    status = storage.stat(source)
    with storage.open(source) as old, storage.open(target, "wb") as new:
        for block in blocks(process, old):
            new.write(block)
    storage.chmod(target, status.mode)
    if keep:
        storage.set_mtime(target, status.mtime)


def _copy(process: ShellProcess, source: str, target: str, *, recursive: bool, keep: bool) -> None:
    """A file, or a folder with all that is in it, to a name of its own."""
    storage = process.phone.storage
    if not storage.stat(source).is_dir:
        _copy_file(process, source, target, keep=keep)
        return
    if not recursive:
        raise OSError(errno.EISDIR, "")
    if target == source or target.startswith(source.rstrip("/") + "/"):
        raise OSError(errno.EINVAL, "")
    stack = [(source, target)]
    while stack:
        old, new = stack.pop()
        storage.mkdir(new, parents=True)
        for name in storage.list(old):
            pair = join(old, name), join(new, name)
            if storage.is_dir(pair[0]):
                stack.append(pair)
            else:
                _copy_file(process, *pair, keep=keep)


def _targets(process: ShellProcess, operands: list[str]) -> list[tuple[str, str]] | None:
    """Which source goes where: into the last operand if it is a folder, else under its name."""
    *sources, last = operands
    into = process.phone.storage.is_dir(process.path(last))
    if len(sources) > 1 and not into:
        process.error(f"'{last}' not directory")
        return None
    return [(source, join(last, _last(source)) if into else last) for source in sources]


@command("cp")
def cp(process: ShellProcess) -> int:
    options = Options(process, "rRafpdnvPLH", long=("recursive",))
    operands = options.operands
    if (failed := _missing(process, operands, 2)) is not None:
        return failed
    pairs = _targets(process, operands)
    if pairs is None:
        return 1
    status = 0
    recursive = any(flag in options for flag in ("r", "R", "a", "recursive"))
    for source, target in pairs:
        try:
            old, new = process.path(source), process.path(target)
            if old == new:
                status = process.error(f"'{source}' is '{target}'")
            elif not ("n" in options and process.phone.storage.exists(new)):
                _copy(process, old, new, recursive=recursive, keep="p" in options or "a" in options)
                if "v" in options:
                    process.write(f"cp '{source}'\n")
        except BrokenPipeError:
            raise
        except OSError as e:
            if e.errno == errno.EISDIR and not recursive:
                status = process.error(f"Skipped dir '{source}'")
            else:
                status = process.failed(source if e.errno == errno.ENOENT else target, e)
    return status


@command("mv")
def mv(process: ShellProcess) -> int:
    options = Options(process, "fn")
    operands = options.operands
    if (failed := _missing(process, operands, 2)) is not None:
        return failed
    pairs = _targets(process, operands)
    if pairs is None:
        return 1
    status = 0
    for source, target in pairs:
        try:
            if not ("n" in options and process.phone.storage.exists(process.path(target))):
                process.phone.storage.rename(process.path(source), process.path(target))
        except OSError as e:
            status = process.failed(source, e)
    return status


@command("rm")
def rm(process: ShellProcess) -> int:
    options = Options(process, "rRf", long=("recursive", "force"))
    force = "f" in options or "force" in options
    if not options.operands:
        return 0 if force else process.error('Needs 1 argument (see "rm --help")')
    storage = process.phone.storage
    status = 0
    for name in options.operands:
        try:
            path = process.path(name)
            if _last(name) in {".", "..", ""}:
                status = process.error(f"bad path '{name}'")
            elif not storage.stat(path).is_dir:
                storage.remove(path)
            elif "r" in options or "R" in options or "recursive" in options:
                storage.remove_tree(path)
            else:
                status = process.error(f"{name}: is directory")
        except OSError as e:
            if not (force and e.errno == errno.ENOENT):
                status = process.failed(name, e)
    return status


@command("mkdir")
def mkdir(process: ShellProcess) -> int:
    options = Options(process, "p", "m", long=("parents",))
    if (failed := _missing(process, options.operands)) is not None:
        return failed
    given = options.value("m")
    status = 0
    for name in options.operands:
        try:
            mode = None if given is None else change_mode(0o777, given)
            parents = "p" in options or "parents" in options
            process.phone.storage.mkdir(process.path(name), parents=parents, mode=mode)
        except OSError as e:
            status = process.error(f"'{name}': {reason(e)}")
    return status


@command("rmdir")
def rmdir(process: ShellProcess) -> int:
    options = Options(process, "p")
    if (failed := _missing(process, options.operands)) is not None:
        return failed
    status = 0
    for name in options.operands:
        try:
            path = process.path(name)
            process.phone.storage.rmdir(path)
            while "p" in options and path.count("/") > 1:
                path = path.rpartition("/")[0]
                process.phone.storage.rmdir(path)
        except OSError as e:
            status = process.error(f"{name}: {reason(e)}")
    return status


@command("touch")
def touch(process: ShellProcess) -> int:
    options = Options(process, "acm", "dr")
    if (failed := _missing(process, options.operands)) is not None:
        return failed
    storage = process.phone.storage
    moment = process.phone.clock.now_ms() / 1000
    if given := options.value("d"):
        from clawperator.phone.shell.toybox.system import read_moment

        moment = read_moment(given)
    if reference := options.value("r"):
        moment = storage.stat(process.path(reference)).mtime
    status = 0
    for name in options.operands:
        try:
            path = process.path(name)
            if not storage.exists(path):
                if "c" in options:
                    continue
                storage.open(path, "ab").close()
            storage.set_mtime(path, moment)
        except OSError as e:
            status = process.error(f"'{name}': {reason(e)}")
    return status


def change_mode(mode: int, text: str) -> int:
    """A mode after ``755`` or ``u+x,go=r``. ``ValueError`` when the text is neither."""
    if re.fullmatch(r"[0-7]{1,4}", text):
        return int(text, 8) & 0o777
    for part in text.split(","):
        match = _SYMBOLIC.fullmatch(part)
        if match is None:
            raise ValueError(text)
        who, operator, letters = match[1].replace("a", "ugo") or "ugo", match[2], match[3]
        bits = sum({"r": 4, "w": 2, "x": 1, "X": 1}.get(letter, 0) for letter in set(letters))
        for person in set(who):
            shift = {"u": 6, "g": 3, "o": 0}[person]
            if operator == "=":
                mode &= ~(7 << shift)
            mode = mode & ~(bits << shift) if operator == "-" else mode | bits << shift
    return mode & 0o777


@command("chmod")
def chmod(process: ShellProcess) -> int:
    words = [word for word in process.argv[1:] if word not in {"-R", "-f", "-v"}]
    if (failed := _missing(process, words, 2)) is not None:
        return failed
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


@command("ln")
def ln(process: ShellProcess) -> int:
    """Links are refused: no path of this phone leads anywhere but where it says."""
    options = Options(process, "sfnvT")
    if (failed := _missing(process, options.operands)) is not None:
        return failed
    target = (options.operands[1:] or [_last(options.operands[0])])[-1]
    return process.error(f"cannot create link from '{options.operands[0]}' to '{target}': Permission denied")


@command("sync")
def sync(process: ShellProcess) -> int:  # noqa: ARG001 - what is written is written
    return 0


@command("mktemp")
def mktemp(process: ShellProcess) -> int:
    import os

    options = Options(process, "du", "p")
    folder = options.value("p") or process.env.get("TMPDIR", "/data/local/tmp")
    template = (options.operands or ["tmp.XXXXXXXXXX"])[0]
    name = re.sub(r"X{3,}$", lambda m: os.urandom(len(m[0])).hex()[: len(m[0])], template)
    path = name if "/" in name else join(folder, name)
    storage = process.phone.storage
    if "d" in options:
        storage.mkdir(resolve(path, process.cwd))
    elif "u" not in options:
        storage.open(resolve(path, process.cwd), "xb").close()
    process.write(path + "\n")
    return 0
