"""Text output of every command: one table from commands to renderers, and the text of errors.

What a command did goes to stdout, errors and hints go to stderr. A command without a renderer of its own is shown
by ``document_blocks``. A document whose very content is JSON stays JSON, indented: a schema, a compiled artifact.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any

import msgspec

from clawperator._base.text import encodable
from clawperator.cli.command_line import Call, CommandResult, ReadableResult
from clawperator.cli.text import reports
from clawperator.cli.text.layout import Block, Line, Painted, Terminal
from clawperator.cli.text.outcomes import execution_blocks, match_blocks, plan_blocks
from clawperator.cli.text.values import document_blocks
from clawperator.contract.commands import resolve_handler
from clawperator.contract.results import ExecutionResult
from clawperator.errors import ClawError

Renderer = Callable[[Mapping[str, Any]], Iterator[Block]]

# Their documents are JSON to be used elsewhere, so they are printed as they are, indented.
JSON_CONTENT = frozenset({"schema", "skills compile-artifact"})


def readable_result(result: CommandResult, call: Call | None) -> ReadableResult:
    """The text of a result on stdout, and of its error on stderr."""
    document = result.document
    members = msgspec.to_builtins(document)
    if _is_error(members) and not isinstance(document, ExecutionResult):
        return ReadableResult(None, _stderr(_problem_lines(members)), result.exit_code)
    problem = _problem_of(document, members)
    text = _stdout(_blocks(result, members, call))
    return ReadableResult(text, _stderr(_problem_lines(problem)) if problem else None, result.exit_code)


def readable_error(error: ClawError, code: int) -> ReadableResult:
    """An error on stderr; what was done before it, on stdout."""
    document = error.document()
    is_skill_run = "skillResult" in document and "durationMs" in document
    done = _stdout(reports.skill_run_blocks(document) if is_skill_run else ())
    return ReadableResult(done, _stderr(_problem_lines(document)), code)


def _blocks(result: CommandResult, members: Any, call: Call | None) -> Iterator[Block]:
    """The blocks of a document that is not an error."""
    name = call.name if call is not None else ""
    document = result.document
    if isinstance(document, ExecutionResult):
        yield from execution_blocks(document, result.plan)
    elif name in JSON_CONTENT and "schemas" not in members:
        text = msgspec.json.format(msgspec.json.encode(encodable(members)), indent=2)
        yield from text.decode().splitlines()
    elif "plan" in members or members.get("validated") is True:
        yield from plan_blocks(members)
    elif name == "query":
        yield from match_blocks(members["count"], members["matches"])
    else:
        render = _operation_renderer(call)
        yield from render(members) if render is not None else document_blocks(members)


def _operation_renderer(call: Call | None) -> Renderer | None:
    """The renderer that the row of an operation names."""
    if call is None or call.arguments.command is None or not call.arguments.command.is_operation:
        return None
    from clawperator.operations.model import find_operation

    text = find_operation(call.name).text
    render: Renderer | None = resolve_handler(text) if text else None
    return render


# Errors


def _is_error(members: Any) -> bool:
    """Whether a document is an error object, or the answer to an incomplete command."""
    return isinstance(members, Mapping) and isinstance(members.get("code"), str) and "message" in members


def _problem_of(document: Any, members: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error inside a document: that of a failed execution, or its member ``error``."""
    if isinstance(document, ExecutionResult):
        envelope = document.envelope
        failed = next((step for step in envelope.stepResults if not step.success), None)
        if envelope.status == "success" and failed is None:
            return None
        data = failed.data if failed is not None else {}
        code = envelope.errorCode or data.get("error") or "UNKNOWN"
        message = data.get("message") or envelope.error or "the execution failed"
        return {"code": code, "message": message, "hint": envelope.hint or data.get("hint") or _hint(code)}
    error = members.get("error")
    return error if _is_error(error) else None


def _hint(code: Any) -> str:
    from clawperator.errors import CODES, default_hint

    return default_hint(code) if code in CODES else ""


def _problem_lines(problem: Mapping[str, Any]) -> Iterator[Line]:
    """``code: message``, the other issues of an invalid document, and what to do next."""
    yield (Painted(str(problem["code"]), "red"), f": {problem['message']}")
    details = problem.get("details")
    if isinstance(details, Mapping):
        yield from _detail_lines(details)
    for name, label in (("canonical", "run"), ("example", "example"), ("hint", "hint")):
        if isinstance(problem.get(name), str) and problem[name]:
            yield (Painted(f"{label}: ", "dim"), problem[name])


def _detail_lines(details: Mapping[str, Any]) -> Iterator[Line]:
    issues = _issues(details.get("reason"))
    yield from (f"  {issue['path']}: {issue['message']}" for issue in issues[1:])
    failures = details.get("failures")
    for failure in failures if isinstance(failures, list) else ():
        if _is_error(failure):
            yield f"  {failure.get('skillId', '')}: {failure['message']}"


def _issues(reason: Any) -> list[Mapping[str, str]]:
    """The issues of an invalid execution, which are a text of JSON."""
    if not isinstance(reason, str) or not reason.startswith("["):
        return []
    try:
        found = msgspec.json.decode(reason, type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return []
    return [issue for issue in found if "path" in issue and "message" in issue]


# Writing


def _stdout(blocks: Iterable[Block]) -> str | None:
    text = Terminal.of(sys.stdout).render(blocks)
    return text or None


def _stderr(lines: Iterable[Line]) -> str:
    return Terminal.of(sys.stderr).render(lines)


def write_lines(out: IO[bytes], lines: Iterable[Line]) -> None:
    """Write lines one by one, separated, for a text that may be larger than memory should be."""
    terminal = Terminal.of(sys.stdout)
    separator = ""
    for line in lines:
        out.write((separator + terminal.render([line])).encode())
        separator = "\n"
