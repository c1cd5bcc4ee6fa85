"""Commands that need a phone."""

from typing import Any

from clawperator.cli.call import Call, soft_usage
from clawperator.contract.errors import ClawError


def answer(call: Call) -> Any:
    if call.name == "operator setup" and not call.arguments.get("--apk"):
        return soft_usage("operator setup needs --apk <file>")
    raise no_devices()


def no_devices(hint: str | None = None) -> ClawError:
    return ClawError(
        "NO_DEVICES",
        "No phone is connected: this version does not drive phones yet",
        hint=hint
        or "Work on recordings with 'clawperator recording', check plans with 'clawperator exec --dry-run'.",
        operation="connect",
    )
