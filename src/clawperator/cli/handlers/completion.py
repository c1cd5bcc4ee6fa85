"""``completion``: print the completion script of a shell."""

from clawperator.cli.command_line import Call, CommandResult, TextResult, incomplete
from clawperator.cli.parsing import usage

_SHELLS = ("bash", "zsh", "fish")


def print_script(call: Call) -> TextResult | CommandResult:
    hint = "Run 'clawperator completion --help' for an example."
    if not call.arguments.words:
        return incomplete(f"completion needs a shell: {', '.join(_SHELLS)}", hint=hint)
    shell = call.arguments.words[0]
    if shell not in _SHELLS:
        raise usage(f"completion knows the shells {', '.join(_SHELLS)}, not {shell!r}", hint)
    return TextResult(_script(shell))


def _script(shell: str) -> str:
    from clawperator.cli.completion import bash, fish, zsh
    from clawperator.cli.completion.rows import rows, value_rules

    every = list(rows())
    if shell == "bash":
        return bash.script(every, value_rules(every))
    return zsh.script(every) if shell == "zsh" else fish.script(every, value_rules(every))
