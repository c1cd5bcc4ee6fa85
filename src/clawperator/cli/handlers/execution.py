"""``exec``, and what every command that makes an execution does with it."""

import os
import sys
from typing import Any

import msgspec

from clawperator._files import why
from clawperator._text import trim
from clawperator.cli.handler import Call
from clawperator.cli.parsing import invalid, usage
from clawperator.contract.execution import Plan, validate, with_timeout
from clawperator.contract.limits import MAX_PAYLOAD_BYTES
from clawperator.errors import ClawError

# A document may hold white space; what is this large cannot become a payload any more.
_MAX_DOCUMENT_BYTES = 16 * MAX_PAYLOAD_BYTES


def answer(call: Call) -> Any:
    words = call.arguments.words
    if words[:1] == ["best-effort"]:
        return {
            "code": "NOT_IMPLEMENTED",
            "message": "best-effort execution is not implemented: say the actions explicitly",
            "goal": call.arguments.get("--goal"),
        }
    return carry_out(execution(call), call)


def execution(call: Call) -> Any:
    """The document that ``exec`` was given, which may be any JSON value."""
    words = call.arguments.words
    if call.arguments.has("--goal"):
        raise usage("--goal goes only with 'exec best-effort'", "Run 'clawperator exec --help' for its flags.")
    given = call.arguments.get("--payload")
    if given is not None and words:
        raise invalid("exec takes its payload once: as an argument or by --payload")
    text = given if given is not None else next(iter(words), "")
    if not text:
        raise ClawError(
            "MISSING_ARGUMENT",
            "exec needs an execution: JSON, a file, or - for stdin",
            hint="Run 'clawperator exec --help' for an example.",
            operation="argparse",
        )
    document = _document(text)
    return with_timeout(document, call.options.timeout_ms) if isinstance(document, dict) else document


def carry_out(document: Any, call: Call) -> Any:
    """Validate an execution, then show it or run it."""
    plan = validate(document)
    if call.arguments.has("--dry-run"):
        return {"ok": True, "dryRun": True, "plan": _outline(plan)}
    if call.arguments.has("--validate-only"):
        return {"ok": True, "validated": True, "execution": plan.document}
    return _run(plan, call)


def _run(plan: Plan, call: Call) -> Any:
    from clawperator.commands.model import BACKENDS
    from clawperator.device.discovery import resolve
    from clawperator.device.run import operator_package, run_plan

    wanted = call.arguments.get("--backend") or "auto"
    backend = next((name for name in BACKENDS if name == wanted), None)
    if backend is None:
        raise usage(f"--backend is one of {', '.join(BACKENDS)}, not {wanted!r}")
    package = operator_package(call.options.operator_package)
    return run_plan(plan, resolve(call.options.device), package=package, backend=backend)


def _outline(plan: Plan) -> dict[str, Any]:
    document = plan.document
    return {
        "commandId": document["commandId"],
        "timeoutMs": document["timeoutMs"],
        "actionCount": len(document["actions"]),
        "actions": document["actions"],
    }


def _document(text: str) -> Any:
    """JSON from the argument itself, from stdin, or from the file it names."""
    inline = trim(text)
    if inline.startswith("{") or (inline.startswith("[") and not os.path.isfile(text)):
        return _decode(inline.encode("utf-8", "surrogateescape"), "the payload")
    if text == "-":
        return _decode(_within_limit(sys.stdin.buffer.read(_MAX_DOCUMENT_BYTES + 1)), "stdin")
    try:
        with open(text, "rb") as file:
            data = file.read(_MAX_DOCUMENT_BYTES + 1)
    except (OSError, ValueError) as e:
        reason = why(e)
        raise invalid(
            f"cannot read {text}: {reason}",
            "Pass a file that exists, JSON that begins with {, or - for stdin.",
        ) from e
    return _decode(_within_limit(data), text)


def _within_limit(data: bytes) -> bytes:
    if len(data) > _MAX_DOCUMENT_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"the execution is longer than {_MAX_DOCUMENT_BYTES} bytes",
            details={"limit": MAX_PAYLOAD_BYTES},
            operation="read",
        )
    return data


def _decode(data: bytes, origin: str) -> Any:
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise invalid(f"{origin} is not valid JSON: {e}", "An execution is a JSON object.") from None
