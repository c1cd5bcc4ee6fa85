"""Commands that change files: cp, mv, rm, mkdir, rmdir, touch, chmod, ln, sync and mktemp."""

import errno
import os
import re

from clawperator.phone.shell.process import ShellProcess, command, reason
from clawperator.phone.shell.toybox.find import base_name, join
from clawperator.phone.shell.toybox.options import CommandOptions, read_blocks, require_operands
from clawperator.phone.shell.toybox.system import read_date

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


def _targets(process: ShellProcess, operands: list[str]) -> list[tuple[str, str]] | None:
    """Each source with its target: inside the last operand if that is a folder, else the last operand itself."""
    require_operands(process, operands, 2)
    *sources, last = operands
    into = process.phone.storage.is_dir(process.path(last))
    if len(sources) > 1 and not into:
        process.error(f"'{last}' not directory")
        return None
    return [(source, join(last, base_name(source)) if into else last) for source in sources]


@command("cp")
def cp(process: ShellProcess) -> int:
    options = CommandOptions(process, "rRafpdnvPLH", long=("recursive",))
    pairs = _targets(process, options.operands)
    if pairs is None:
        return 1
    status = 0
    recursive = options.any_of("r", "R", "a", "recursive")
    for source, target in pairs:
        try:
            old, new = process.path(source), process.path(target)
            if old == new:
                status = process.error(f"'{source}' is '{target}'")
            elif not ("n" in options and process.phone.storage.exists(new)):
                _copy(process, old, new, recursive=recursive, keep=options.any_of("p", "a"))
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
    options = CommandOptions(process, "fn")
    pairs = _targets(process, options.operands)
    if pairs is None:
        return 1
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
            if base_name(name) in {".", "..", ""}:
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
    target = (options.operands[1:] or [base_name(options.operands[0])])[-1]
    return process.error(f"cannot create link from '{options.operands[0]}' to '{target}': Permission denied")


@command("mktemp")
def mktemp(process: ShellProcess) -> int:
    options = CommandOptions(process, "du", "p")
    folder = options.value("p") or process.env.get("TMPDIR", "/data/local/tmp")
    template = (options.operands or ["tmp.XXXXXXXXXX"])[0]
    name = re.sub(r"X{3,}$", lambda m: os.urandom(len(m[0])).hex()[: len(m[0])], template)
    path = name if "/" in name else join(folder, name)
    storage = process.phone.storage
    if "d" in options:
        storage.mkdir(process.path(path))
    elif "u" not in options:
        storage.open(process.path(path), "xb").close()
    process.write(path + "\n")
    return 0


@command("sync")
def sync(process: ShellProcess) -> int:  # noqa: ARG001 - writes are never buffered
    return 0


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
