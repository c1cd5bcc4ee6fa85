"""Paths and folder trees: find, realpath, readlink, basename and dirname."""

import stat
from collections.abc import Callable, Iterator

from msgspec import Struct

from clawperator.phone.shell.language.patterns import Pattern
from clawperator.phone.shell.process import ShellProcess, command
from clawperator.phone.shell.toybox.options import CommandOptions, OptionError, require_operands
from clawperator.phone.storage.filesystem import ALIASES, FileStat


class ListedFile(Struct, frozen=True):
    """A file: the name to print, its path and its status."""

    name: str
    path: str
    status: FileStat


def join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def walk(process: ShellProcess, name: str) -> Iterator[tuple[ListedFile, int]]:
    """A file or folder and all below it with their depth, folders first. Errors are printed and skipped."""
    storage = process.phone.storage
    pending = [(name, 0)]
    while pending and not process.cancelled.is_set():
        shown, depth = pending.pop()
        try:
            path = process.path(shown)
            file = ListedFile(shown, path, storage.stat(path))
            yield file, depth
            if file.status.is_dir:
                pending += [(join(shown, child), depth + 1) for child in reversed(storage.list(path))]
        except BrokenPipeError:
            raise
        except OSError as e:
            process.failed(shown, e)


# find


class _FindOptions(Struct):
    """The expression of a ``find`` command line."""

    deepest: int = 1_000_000
    shallowest: int = 0
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
            continue
        if word in {"-print", "-print0", "-delete"}:
            options.action = word
            continue
        if not words or word not in {"-name", "-iname", "-type", "-maxdepth", "-mindepth", "-path", "-exec"}:
            raise OptionError(f"bad arg '{word}'")
        if word == "-exec":
            if ";" not in words:
                raise OptionError("-exec needs ;")
            end = words.index(";")
            options.action, options.run = word, words[:end]
            del words[: end + 1]
            continue
        value = words.pop(0)
        if word in {"-maxdepth", "-mindepth"}:
            if not value.isdigit():
                raise OptionError(f"not integer: {value}")
            setattr(options, "deepest" if word == "-maxdepth" else "shallowest", int(value[:9]))
            continue
        options.tests.append(_read_test(word, value, negated=negated))
        negated = False
    return options


def _read_test(word: str, value: str, *, negated: bool) -> Callable[[ListedFile], bool]:
    if word == "-type":
        is_kind = {"f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK, "c": stat.S_ISCHR}.get(value)
        if is_kind is None:
            raise OptionError(f"bad -type '{value}'")
        return lambda file: is_kind(file.status.mode) != negated
    fold = word == "-iname"
    pattern = Pattern([(value.lower() if fold else value, False)])

    def test(file: ListedFile) -> bool:
        text = file.name if word == "-path" else base_name(file.name)
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
        found = [
            file
            for file, depth in walk(process, root)
            if options.shallowest <= depth <= options.deepest and all(test(file) for test in options.tests)
        ]
        if options.action == "-delete":
            found.reverse()
        for file in found:
            status = max(status, _run_action(process, options, file))
    return status


def _run_action(process: ShellProcess, options: _FindOptions, file: ListedFile) -> int:
    storage = process.phone.storage
    if options.action == "-exec":
        return process.run([word.replace("{}", file.name) for word in options.run])
    if options.action == "-delete":
        (storage.rmdir if file.status.is_dir else storage.remove)(file.path)
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
    names = options.operands
    suffix = options.value("s") or ""
    require_operands(process, names)
    if "a" not in options and not suffix:
        suffix = names[1] if len(names) > 1 else ""
        names = names[:1]
    for name in names:
        base = base_name(name) or "/" * name.startswith("/")
        process.write((base.removesuffix(suffix) if base != suffix else base) + "\n")
    return 0


@command("dirname")
def dirname(process: ShellProcess) -> int:
    require_operands(process, process.argv[1:])
    for name in process.argv[1:]:
        folder = name.rstrip("/").rpartition("/")[0]
        process.write((folder.rstrip("/") or ("/" if name.startswith("/") else ".")) + "\n")
    return 0
