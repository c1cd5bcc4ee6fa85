"""Walking the phone's folders, and find."""

import stat
from collections.abc import Callable, Iterator

from msgspec import Struct

from clawperator.phone.shell.language.patterns import Pattern
from clawperator.phone.shell.process import ShellProcess, command
from clawperator.phone.shell.toybox.options import OptionError
from clawperator.phone.storage.filesystem import FileStat


class Entry(Struct, frozen=True):
    """A file: the name to show, its path, and what it is."""

    name: str
    path: str
    status: FileStat


def join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def walk(process: ShellProcess, name: str) -> Iterator[tuple[Entry, int]]:
    """A file or folder and all below it with their depth, folders first. Trouble is told and passed over."""
    storage = process.phone.storage
    pending = [(name, 0)]
    while pending and not process.cancelled.is_set():
        shown, depth = pending.pop()
        try:
            path = process.path(shown)
            entry = Entry(shown, path, storage.stat(path))
            yield entry, depth
            if entry.status.is_dir:
                pending += [(join(shown, child), depth + 1) for child in reversed(storage.list(path))]
        except BrokenPipeError:
            raise
        except OSError as e:
            process.failed(shown, e)


class _Search(Struct):
    """What ``find`` was asked for."""

    deepest: int = 1_000_000
    shallowest: int = 0
    tests: list[Callable[[Entry], bool]] = []
    action: str = "-print"
    run: list[str] = []


def _read_search(words: list[str]) -> _Search:
    search = _Search()
    negated = False
    while words:
        word = words.pop(0)
        if word in {"!", "-not"}:
            negated = not negated
            continue
        if word in {"-print", "-print0", "-delete"}:
            search.action = word
            continue
        if not words or word not in {"-name", "-iname", "-type", "-maxdepth", "-mindepth", "-path", "-exec"}:
            raise OptionError(f"bad arg '{word}'")
        if word == "-exec":
            if ";" not in words:
                raise OptionError("-exec needs ;")
            end = words.index(";")
            search.action, search.run = word, words[:end]
            del words[: end + 1]
            continue
        value = words.pop(0)
        if word in {"-maxdepth", "-mindepth"}:
            if not value.isdigit():
                raise OptionError(f"not integer: {value}")
            setattr(search, "deepest" if word == "-maxdepth" else "shallowest", int(value[:9]))
            continue
        search.tests.append(_search_test(word, value, negated=negated))
        negated = False
    return search


def _search_test(word: str, value: str, *, negated: bool) -> Callable[[Entry], bool]:
    if word == "-type":
        is_kind = {"f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK, "c": stat.S_ISCHR}.get(value)
        if is_kind is None:
            raise OptionError(f"bad -type '{value}'")
        return lambda entry: is_kind(entry.status.mode) != negated
    fold = word == "-iname"
    pattern = Pattern([(value.lower() if fold else value, False)])

    def test(entry: Entry) -> bool:
        text = entry.name if word == "-path" else entry.name.rstrip("/").rpartition("/")[2]
        return pattern.matches(text.lower() if fold else text) != negated

    return test


@command("find")
def find(process: ShellProcess) -> int:
    words = process.argv[1:]
    start = next((n for n, word in enumerate(words) if word[:1] in {"-", "!"}), len(words))
    roots = words[:start] or ["."]
    search = _read_search(words[start:])
    status = 0
    for root in roots:
        if not process.phone.storage.exists(process.path(root)):
            status = process.error(f"'{root}': No such file or directory")
            continue
        found = [
            entry
            for entry, depth in walk(process, root)
            if search.shallowest <= depth <= search.deepest and all(test(entry) for test in search.tests)
        ]
        if search.action == "-delete":
            found.reverse()
        for entry in found:
            status = max(status, _act(process, search, entry))
    return status


def _act(process: ShellProcess, search: _Search, entry: Entry) -> int:
    storage = process.phone.storage
    if search.action == "-exec":
        return process.run([word.replace("{}", entry.name) for word in search.run])
    if search.action == "-delete":
        (storage.rmdir if entry.status.is_dir else storage.remove)(entry.path)
    else:
        process.write(entry.name + ("\0" if search.action == "-print0" else "\n"))
    return 0
