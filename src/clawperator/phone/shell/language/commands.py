"""Running commands: simple commands, then groups, branches and loops.

A simple command is a function, a builtin, a command of the phone or a script in its file system.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from clawperator.phone.shell.language.builtins import BUILTINS
from clawperator.phone.shell.language.expansion import expand_fields, expand_pattern, expand_text
from clawperator.phone.shell.language.pipelines import RedirectionError, redirect_permanently, run_redirected
from clawperator.phone.shell.language.script import (
    CaseCommand,
    CommandGroup,
    CommandList,
    CompoundCommand,
    ForLoop,
    IfCommand,
    LiteralText,
    SimpleCommand,
    WhileLoop,
    Word,
)
from clawperator.phone.shell.language.state import MAX_SCRIPT, Exit, LeaveLoop, Return, ShellState
from clawperator.phone.shell.process import INTERRUPTED, NOT_EXECUTABLE, NOT_FOUND, find_command
from clawperator.phone.storage.filesystem import resolve

# Simple commands


def run_simple(shell: ShellState, command: SimpleCommand) -> int:
    shell.substitution_status = 0
    argv = _expand(shell, command.words)
    values = [(name, expand_text(shell, word)) for name, word in command.assignments]
    if not argv:
        for name, value in values:
            shell.assign(name, value)
        return run_redirected(shell, command.redirections, lambda: shell.substitution_status)
    if "x" in shell.options:
        shell.write_error(f"+ {' '.join(argv)}")
    if argv == ["exec"]:
        try:
            redirect_permanently(shell, command.redirections)
        except RedirectionError as e:
            shell.report_error(str(e))
            raise Exit(1) from None
        return 0
    with _assigned(shell, values):
        return run_redirected(shell, command.redirections, lambda: shell.run_argv(argv))


def _expand(shell: ShellState, words: tuple[Word, ...]) -> list[str]:
    """The arguments. Between ``[[`` and ``]]`` words are not split, and patterns are not globbed."""
    if words and words[0] == (LiteralText("[[", quoted=False),):
        return [expand_text(shell, word) for word in words]
    return expand_fields(shell, words)


@contextmanager
def _assigned(shell: ShellState, values: list[tuple[str, str]]) -> Iterator[None]:
    """Variables that only the command sees."""
    before = [(name, shell.variables.get(name), name in shell.exported) for name, _ in values]
    for name, value in values:
        shell.assign(name, value)
        shell.exported.add(name)
    try:
        yield
    finally:
        for name, old, exported in reversed(before):
            shell.restore(name, old)
            if not exported:
                shell.exported.discard(name)


def run_argv(shell: ShellState, argv: list[str], *, functions: bool) -> int:
    """Resolve ``argv[0]`` and run it in this shell."""
    name = argv[0]
    if functions and name in shell.functions:
        return shell.run_nested(lambda: _call_function(shell, argv))
    if name in BUILTINS:
        return BUILTINS[name](shell, argv)
    if find_command(name) is None:
        return _run_file(shell, argv) if "/" in name else _not_found(shell, name)
    return shell.new_process(argv).start()


def _call_function(shell: ShellState, argv: list[str]) -> int:
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
            shell.restore(name, value)


def _run_file(shell: ShellState, argv: list[str]) -> int:
    """Run a script in the phone's file system. Binaries are for another machine and are refused."""
    name = argv[0]
    try:
        path = resolve(name, shell.cwd)
        status = shell.storage.stat(path)
        if status.is_dir or not status.mode & 0o111:
            problem = "Is a directory" if status.is_dir else "Permission denied"
            shell.report_error(f"{name}: can't execute: {problem}")
            return NOT_EXECUTABLE
        with shell.storage.open(path) as file:
            text = file.read(MAX_SCRIPT + 1)
    except OSError:
        return _not_found(shell, name)
    if b"\0" in text[:1024] or len(text) > MAX_SCRIPT:
        shell.report_error(f"{name}: not executable: magic {text[:4].hex().upper()}")
        return NOT_EXECUTABLE
    return shell.new_process(["sh", path, *argv[1:]]).start()


def _not_found(shell: ShellState, name: str) -> int:
    shell.report_error(f"{name}: inaccessible or not found")
    return NOT_FOUND


# Compound commands


def run_compound(shell: ShellState, command: CompoundCommand) -> int:
    match command:
        case CommandGroup():
            return _run_group(shell, command)
        case IfCommand():
            return _run_if(shell, command)
        case WhileLoop():
            return _run_while(shell, command)
        case ForLoop():
            return _run_for(shell, command)
        case CaseCommand():
            return _run_case(shell, command)


def _run_group(shell: ShellState, command: CommandGroup) -> int:
    if not command.subshell:
        return shell.run_list(command.body)
    inner = shell.copy()
    status = inner.run_contained(lambda: inner.run_list(command.body))
    inner.wait_for_jobs()
    return status


def _run_if(shell: ShellState, command: IfCommand) -> int:
    for condition, body in command.branches:
        if shell.test(condition):
            return shell.run_list(body)
    shell.status = 0
    return shell.run_list(command.otherwise)


def _run_while(shell: ShellState, command: WhileLoop) -> int:
    shell.status = status = 0
    while shell.test(command.condition) != command.until:
        if not _run_body(shell, command.body):
            return shell.status
        status = shell.status
    return status


def _run_for(shell: ShellState, command: ForLoop) -> int:
    words = list(shell.arguments) if command.words is None else expand_fields(shell, command.words)
    shell.status = 0
    for word in words:
        shell.assign(command.name, word)
        if not _run_body(shell, command.body):
            break
    return shell.status


def _run_case(shell: ShellState, command: CaseCommand) -> int:
    subject = expand_text(shell, command.word)
    shell.status = 0
    for patterns, body in command.branches:
        if any(expand_pattern(shell, pattern).matches(subject) for pattern in patterns):
            return shell.run_list(body)
    return 0


def _run_body(shell: ShellState, body: CommandList) -> bool:
    """Run one iteration of a loop; False when it was the last."""
    shell.budget.spend()
    if shell.cancelled.is_set():
        raise Exit(INTERRUPTED)
    try:
        shell.run_list(body)
    except LeaveLoop as e:
        shell.status = 0
        if e.levels > 1:
            raise LeaveLoop(e.levels - 1, again=e.again) from None
        return e.again
    return True
