"""Commands as a policy sees them: by the parsed line, so that no other spelling of it changes the decision."""

import shlex
from collections.abc import Mapping

from clawperator.commands.model import Command
from clawperator.commands.registry import command_names
from clawperator.contract.actions import ACTIONS
from clawperator.policy.rules import PolicyEntry

Values = Mapping[str, tuple[str, ...]]


def command_entry(
    command: Command, path: str, words: tuple[str, ...], values: Values, aliases: tuple[str, ...] | None = None
) -> PolicyEntry:
    """The entry of a parsed command. ``path`` is its full name, ``values`` are by the flags' own names."""
    subjects = command_subjects(command, words, values)
    names = command_names(path) if aliases is None else aliases
    # The actions of an execution are checked one by one when they run: a rule about another one is not about it.
    others = tuple(tool for tool in command.tools if not command.execution or tool not in ACTIONS)
    return PolicyEntry(
        path.replace(" ", "-"),
        command.level_with(values),
        tuple(name for name in names if name not in ACTIONS),
        lambda _: subjects,
        lambda _: others,
        (*command.tools, *names),
    )


def command_subjects(command: Command, words: tuple[str, ...], values: Values) -> tuple[str, ...]:
    """The canonical line, its words alone, and the value that the command is about.

    The line has its words first, then the flags by name, each as ``--flag=value``. Flags that every command has,
    such as ``--device``, are not part of it.
    """
    own = {flag.name for flag in command.flags}
    flags = (
        [f"{name}={value}" for value in given] if given else [name]
        for name, given in sorted(values.items())
        if name in own
    )
    line = shlex.join([*words, *(text for texts in flags for text in texts)])
    about = values.get(command.subject) or words[:1]
    return tuple(dict.fromkeys((line, shlex.join(words), " ".join(words), *about)))
