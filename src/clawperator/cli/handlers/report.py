"""``clawperator report``: write an HTML report."""

from clawperator.cli.command_line import Call, CommandResult


def report(call: Call) -> CommandResult:
    path = call.require(call.word, "a path: report <path>")
    from clawperator.report.write import write_report

    run, out = call.arguments.get("--compare"), call.arguments.get("--out")
    return CommandResult(write_report(path, run=run, out=out))
