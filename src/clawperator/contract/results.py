"""Results of executions: one envelope per execution, one step per action, all values strings."""

from collections.abc import Iterable
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

# The effect of an action on the screen.
Effect = Literal["changed", "unchanged", "unknown"]


class StepResult(Struct, frozen=True):
    """The outcome of one action. ``data.error`` holds the code of a failed step."""

    id: str
    actionType: str
    success: bool
    data: dict[str, str]


class ResultEnvelope(Struct, frozen=True):
    """The outcome of one execution. A failure caused by an active recording names the recording."""

    commandId: str
    taskId: str
    status: Literal["success", "failed"]
    stepResults: list[StepResult]
    error: str | None
    errorCode: str | UnsetType | None = UNSET
    hint: str | UnsetType = UNSET
    sessionId: str | UnsetType = UNSET
    filePath: str | UnsetType = UNSET


class Outcome(Struct, frozen=True):
    """The overall outcome of an execution's steps."""

    status: Literal["success", "failed"]
    error: str | None = None
    errorCode: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET


def outcome_of(steps: Iterable[StepResult]) -> Outcome:
    """The outcome of the first failed step, or success."""
    failed = next((step for step in steps if not step.success), None)
    if failed is None:
        return Outcome("success")
    code = failed.data.get("error", "UNKNOWN")
    error = f"step {failed.id} ({failed.actionType}) failed: {code}"
    return Outcome("failed", error, code, failed.data.get("hint", UNSET))


class ExecutionResult(Struct, frozen=True):
    """The document that a command prints after an execution on a device."""

    envelope: ResultEnvelope
    deviceId: str
    terminalSource: Literal["clawperator_result"] = "clawperator_result"
    isCanonicalTerminal: bool = True
