"""Starting one simple command: a function, a builtin, a command of the phone, or a script on its disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawperator.phone.shell.language.builtins import BUILTINS
from clawperator.phone.shell.language.expansion import expand_fields, expand_text
from clawperator.phone.shell.language.redirections import (
    RedirectionError,
    process_of,
    redirect_for_good,
    run_redirected,
)
from clawperator.phone.shell.language.script import Literally, Simple, Word
from clawperator.phone.shell.language.state import Exit, Return
from clawperator.phone.shell.process import NOT_EXECUTABLE, NOT_FOUND, encode, find_command
from clawperator.phone.storage.filesystem import resolve

if TYPE_CHECKING:
    from clawperator.phone.shell.language.interpreter import Shell


def run_simple(shell: "Shell", command: Simple) -> int:
    shell.substituted = 0
    argv = _expand(shell, command.words)
    values = [(name, expand_text(shell, word)) for name, word in command.assignments]
    if not argv:
        for name, value in values:
            shell.assign(name, value)
        return run_redirected(shell, command.redirections, lambda: shell.substituted)
    if "x" in shell.options:
        shell.streams[2].write(encode(f"+ {' '.join(argv)}\n"))  # type: ignore[union-attr] # 2 is a sink
    if argv == ["exec"]:
        try:
            redirect_for_good(shell, command.redirections)
        except RedirectionError as e:
            shell.complain(str(e))
            raise Exit(1) from None
        return 0
    with _assigned(shell, values):
        return run_redirected(shell, command.redirections, lambda: run_argv(shell, argv))


def _expand(shell: "Shell", words: tuple[Word, ...]) -> list[str]:
    """The arguments. Between ``[[`` and ``]]`` a word is one argument, and a pattern stays one."""
    if words and words[0] == (Literally("[[", quoted=False),):
        return [expand_text(shell, word) for word in words]
    return expand_fields(shell, words)


def run_argv(shell: "Shell", argv: list[str], *, functions: bool = True) -> int:
    """Find what a name stands for and run it in this shell."""
    name = argv[0]
    if functions and name in shell.functions:
        return shell.run_nested(lambda: _call(shell, argv))
    if name in BUILTINS:
        return BUILTINS[name](shell, argv)
    if find_command(name) is None:
        return _run_file(shell, argv) if "/" in name else _not_found(shell, name)
    return process_of(shell, argv).start()


def _call(shell: "Shell", argv: list[str]) -> int:
    before = shell.arguments
    shell.arguments = argv[1:]
    shell.scopes.append({})
    try:
        return shell.run_command(shell.functions[argv[0]])
    except Return as e:
        return e.status
    finally:
        shell.arguments = before
        for name, value in shell.scopes.pop().items():
            _restore(shell, name, value)


def _run_file(shell: "Shell", argv: list[str]) -> int:
    """A script on the phone's disk. Anything else there was made for another machine."""
    from clawperator.phone.shell.language.interpreter import MAX_SCRIPT

    name = argv[0]
    try:
        path = resolve(name, shell.cwd)
        status = shell.storage.stat(path)
        if status.is_dir or not status.mode & 0o111:
            shell.complain(f"{name}: can't execute: {'Is a directory' if status.is_dir else 'Permission denied'}")
            return NOT_EXECUTABLE
        with shell.storage.open(path) as file:
            text = file.read(MAX_SCRIPT + 1)
    except OSError:
        return _not_found(shell, name)
    if b"\0" in text[:1024] or len(text) > MAX_SCRIPT:
        shell.complain(f"{name}: not executable: magic {text[:4].hex().upper()}")
        return NOT_EXECUTABLE
    return process_of(shell, ["sh", path, *argv[1:]]).start()


def _not_found(shell: "Shell", name: str) -> int:
    shell.complain(f"{name}: inaccessible or not found")
    return NOT_FOUND


@contextmanager
def _assigned(shell: "Shell", values: list[tuple[str, str]]) -> Iterator[None]:
    """Variables that only the command sees."""
    before = [(name, shell.variables.get(name), name in shell.exported) for name, _ in values]
    for name, value in values:
        shell.assign(name, value)
        shell.exported.add(name)
    try:
        yield
    finally:
        for name, old, exported in reversed(before):
            _restore(shell, name, old)
            if not exported:
                shell.exported.discard(name)


def _restore(shell: "Shell", name: str, value: str | None) -> None:
    if value is None:
        shell.variables.pop(name, None)
    else:
        shell.variables[name] = value
