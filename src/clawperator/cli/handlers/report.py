"""``clawperator report``: write an HTML report."""

from clawperator.cli.command_line import Call, CommandResult, incomplete


def report(call: Call) -> CommandResult:
    if not call.arguments.words:
        hint = "Run 'clawperator report --help'."
        return incomplete("report needs a path: clawperator report <path>", hint=hint)
    from clawperator.report.write import write_report

    run, out = call.arguments.get("--compare"), call.arguments.get("--out")
    return CommandResult(write_report(call.arguments.words[0], run=run, out=out))
