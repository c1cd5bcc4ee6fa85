"""Branches and loops."""

from typing import TYPE_CHECKING

from clawperator.phone.shell.language.expansion import expand_fields, expand_pattern, expand_text
from clawperator.phone.shell.language.pipelines import wait_for_jobs
from clawperator.phone.shell.language.script import Case, Compound, For, Group, If, Lines, While
from clawperator.phone.shell.language.state import Exit, LeaveLoop
from clawperator.phone.shell.process import INTERRUPTED

if TYPE_CHECKING:
    from clawperator.phone.shell.language.interpreter import Shell


def run_compound(shell: "Shell", command: Compound) -> int:
    match command:
        case Group():
            return _run_group(shell, command)
        case If():
            return _run_if(shell, command)
        case While():
            return _run_while(shell, command)
        case For():
            return _run_for(shell, command)
        case Case():
            return _run_case(shell, command)


def _run_group(shell: "Shell", command: Group) -> int:
    if not command.subshell:
        return shell.run_lines(command.body)
    inner = shell.copy()
    status = inner.contain(lambda: inner.run_lines(command.body))
    wait_for_jobs(inner)
    return status


def _run_if(shell: "Shell", command: If) -> int:
    for condition, body in command.branches:
        if shell.test(condition):
            return shell.run_lines(body)
    shell.status = 0
    return shell.run_lines(command.otherwise)


def _run_while(shell: "Shell", command: While) -> int:
    shell.status = status = 0
    while shell.test(command.condition) != command.until:
        if not _run_body(shell, command.body):
            return shell.status
        status = shell.status
    return status


def _run_for(shell: "Shell", command: For) -> int:
    words = list(shell.arguments) if command.words is None else expand_fields(shell, command.words)
    shell.status = 0
    for word in words:
        shell.assign(command.name, word)
        if not _run_body(shell, command.body):
            break
    return shell.status


def _run_case(shell: "Shell", command: Case) -> int:
    subject = expand_text(shell, command.word)
    shell.status = 0
    for patterns, body in command.branches:
        if any(expand_pattern(shell, pattern).matches(subject) for pattern in patterns):
            return shell.run_lines(body)
    return 0


def _run_body(shell: "Shell", body: Lines) -> bool:
    """One turn of a loop; False when it was the last."""
    shell.budget.spend()
    if shell.cancelled.is_set():
        raise Exit(INTERRUPTED)
    try:
        shell.run_lines(body)
    except LeaveLoop as e:
        shell.status = 0
        if e.levels > 1:
            raise LeaveLoop(e.levels - 1, again=e.again) from None
        return e.again
    return True
