"""Builtins: the commands that read or change the shell itself."""

import re
from collections.abc import Callable
from typing import TypeAlias

from clawperator.phone.shell.language.state import Exit, LeaveLoop, Return, ShellState
from clawperator.phone.shell.pipes import InputStream
from clawperator.phone.shell.process import COMMANDS, NOT_FOUND, decode, reason
from clawperator.phone.storage.filesystem import resolve

Builtin: TypeAlias = Callable[[ShellState, list[str]], int]
BUILTINS: dict[str, Builtin] = {}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTIONS = "efux"
_MAX_LINE = 1024 * 1024


def builtin(*names: str) -> Callable[[Builtin], Builtin]:
    def register(function: Builtin) -> Builtin:
        BUILTINS.update(dict.fromkeys(names, function))
        return function

    return register


def _number(shell: ShellState, argv: list[str], default: int) -> int:
    if len(argv) < 2:
        return default
    try:
        return int(argv[1][:9])
    except ValueError:
        shell.report_error(f"{argv[0]}: {argv[1]}: bad number")
        raise Exit(1) from None


@builtin(":")
def _nothing(shell: ShellState, argv: list[str]) -> int:  # noqa: ARG001 - a builtin
    return 0


@builtin("cd", "chdir")
def _cd(shell: ShellState, argv: list[str]) -> int:
    words = [word for word in argv[1:] if word not in {"-P", "-L", "--"}]
    wanted = words[0] if words else shell.variables.get("HOME", "/")
    wanted = shell.variables.get("OLDPWD", "/") if wanted == "-" else wanted
    try:
        path = resolve(wanted, shell.cwd)
        if not shell.storage.stat(path).is_dir:
            shell.report_error(f"cd: {wanted}: Not a directory")
            return 2
    except OSError as e:
        shell.report_error(f"cd: {wanted}: {reason(e)}")
        return 2
    # $PWD keeps the name as given, not the folder that an alias resolves to.
    shell.variables["OLDPWD"] = shell.cwd
    shell.cwd = _logical_path(wanted, shell.cwd)
    shell.variables["PWD"] = shell.cwd
    return 0


def _logical_path(path: str, cwd: str) -> str:
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{cwd}/{path}").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


@builtin("pwd")
def _pwd(shell: ShellState, argv: list[str]) -> int:
    shell.write((resolve(shell.cwd) if "-P" in argv else shell.cwd) + "\n")
    return 0


@builtin("export")
def _export(shell: ShellState, argv: list[str]) -> int:
    words = [word for word in argv[1:] if word != "-p"]
    if not words:
        for name in sorted(shell.exported & shell.variables.keys()):
            shell.write(f"export {name}={shell.variables[name]}\n")
    for word in words:
        name, equals, value = word.partition("=")
        if not _NAME.fullmatch(name):
            shell.report_error(f"export: {name}: is not an identifier")
            return 1
        if equals:
            shell.assign(name, value)
        shell.exported.add(name)
    return 0


@builtin("local", "typeset")
def _local(shell: ShellState, argv: list[str]) -> int:
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if not _NAME.fullmatch(name):
            shell.report_error(f"{argv[0]}: {name}: is not an identifier")
            return 1
        if shell.scopes:
            shell.scopes[-1].setdefault(name, shell.variables.get(name))
        shell.assign(name, value if equals else "")
    return 0


@builtin("unset")
def _unset(shell: ShellState, argv: list[str]) -> int:
    for name in argv[1:]:
        if argv[1] == "-f":
            shell.functions.pop(name, None)
        else:
            shell.variables.pop(name, None)
            shell.exported.discard(name)
    return 0


@builtin("set")
def _set(shell: ShellState, argv: list[str]) -> int:
    words = argv[1:]
    if not words:
        for name in sorted(shell.variables):
            shell.write(f"{name}={shell.variables[name]}\n")
    while words and words[0][:1] in {"-", "+"} and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            shell.arguments = words
            return 0
        if not set(word[1:]) <= set(_OPTIONS):
            shell.report_error(f"set: {word}: unknown option")
            return 1
        (shell.options.update if word[0] == "-" else shell.options.difference_update)(word[1:])
    if words:
        shell.arguments = words
    return 0


@builtin("shift")
def _shift(shell: ShellState, argv: list[str]) -> int:
    count = _number(shell, argv, 1)
    if not 0 <= count <= len(shell.arguments):
        shell.report_error("shift: nothing to shift")
        return 1
    shell.arguments = shell.arguments[count:]
    return 0


@builtin("exit")
def _exit(shell: ShellState, argv: list[str]) -> int:
    raise Exit(_number(shell, argv, shell.status))


@builtin("return")
def _return(shell: ShellState, argv: list[str]) -> int:
    raise Return(_number(shell, argv, shell.status))


@builtin("break", "continue")
def _leave_loop(shell: ShellState, argv: list[str]) -> int:
    raise LeaveLoop(max(_number(shell, argv, 1), 1), again=argv[0] == "continue")


@builtin("eval")
def _eval(shell: ShellState, argv: list[str]) -> int:
    shell.status = 0
    return shell.run_nested(lambda: shell.run_text(" ".join(argv[1:])))


@builtin(".", "source")
def _source(shell: ShellState, argv: list[str]) -> int:
    if len(argv) < 2:
        shell.report_error(f"{argv[0]}: missing argument")
        return 1
    try:
        with shell.storage.open(resolve(argv[1], shell.cwd)) as file:
            text = decode(file.read(_MAX_LINE))
    except OSError as e:
        shell.report_error(f"{argv[0]}: {argv[1]}: {reason(e)}")
        return 1
    shell.status = 0
    try:
        return shell.run_nested(lambda: shell.run_text(text))
    except Return as e:
        return e.status


@builtin("exec")
def _exec(shell: ShellState, argv: list[str]) -> int:
    raise Exit(shell.run_argv(argv[1:], functions=False))


@builtin("command")
def _command(shell: ShellState, argv: list[str]) -> int:
    words = argv[1:]
    if words[:1] in (["-v"], ["-V"]):
        return max((_describe(shell, word, full=words[0] == "-V") for word in words[1:]), default=0)
    words = words[1:] if words[:1] in (["-p"], ["--"]) else words
    return shell.run_argv(words, functions=False) if words else 0


@builtin("type")
def _type(shell: ShellState, argv: list[str]) -> int:
    return max((_describe(shell, word, full=True) for word in argv[1:]), default=0)


def _describe(shell: ShellState, word: str, *, full: bool) -> int:
    """Print what a name resolves to."""
    if word in shell.functions:
        shell.write(f"{word} is a function\n" if full else f"{word}\n")
    elif word in BUILTINS:
        shell.write(f"{word} is a shell builtin\n" if full else f"{word}\n")
    elif word.rpartition("/")[2] in COMMANDS:
        path = word if "/" in word else f"/system/bin/{word}"
        shell.write(f"{word} is {path}\n" if full else f"{path}\n")
    else:
        if full:
            shell.write(f"{word} not found\n")
        return NOT_FOUND if full else 1
    return 0


@builtin("wait")
def _wait(shell: ShellState, argv: list[str]) -> int:  # noqa: ARG001 - a builtin
    for job in shell.jobs:
        job.attached = True
    shell.wait_for_jobs()
    return shell.jobs[-1].status if shell.jobs else 0


@builtin("umask")
def _umask(shell: ShellState, argv: list[str]) -> int:
    if len(argv) > 1:
        shell.report_error("umask: not permitted")
        return 1
    shell.write("0022\n")
    return 0


@builtin("read")
def _read(shell: ShellState, argv: list[str]) -> int:
    raw = "-r" in argv
    names = [word for word in argv[1:] if not word.startswith("-")] or ["REPLY"]
    line, ended = read_line(shell.stdin)
    while not raw and line.endswith("\\") and ended:
        more, ended = read_line(shell.stdin)
        line = line[:-1] + more
    if not raw:
        line = re.sub(r"\\(.)", r"\1", line)
    separators = shell.variables.get("IFS", " \t\n")
    rest = line.strip("".join(c for c in separators if c in " \t\n"))
    for name in names[:-1]:
        match = re.search(f"[{re.escape(separators)}]+", rest) if separators else None
        shell.assign(name, rest[: match.start()] if match else rest)
        rest = rest[match.end() :] if match else ""
    shell.assign(names[-1], rest)
    return 0 if ended else 1


def read_line(source: InputStream) -> tuple[str, bool]:
    """A line without its newline, and whether there was one. Reads no byte beyond it."""
    line = bytearray()
    while len(line) < _MAX_LINE and (c := source.read(1)):
        if c == b"\n":
            return decode(bytes(line)), True
        line += c
    return decode(bytes(line)), False
