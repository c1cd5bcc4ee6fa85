"""Results of executions: one envelope per execution, one step per action, all values strings."""

from collections.abc import Iterable, Sequence
from typing import Literal
from zlib import crc32

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.text import one_line
from clawperator.contract.action_params import changes_device

# The effect of an action on the screen.
Effect = Literal["changed", "unchanged", "unknown"]

# In the data of a failed step: the device accepted a touch, a key, a text or an intent before the step failed.
DISPATCHED = "dispatched"
# With these codes a step has done nothing, unless it reports otherwise.
_NOT_PERFORMED = frozenset(
    (
        *("NODE_NOT_FOUND", "NODE_NOT_CLICKABLE", "NODE_COVERED"),
        *("CONTAINER_NOT_FOUND", "CONTAINER_NOT_SCROLLABLE"),
        *("GESTURE_FAILED", "GLOBAL_ACTION_FAILED", "SNAPSHOT_HIERARCHY_UNAVAILABLE", "UI_AUTOMATION_BUSY"),
        *("APP_NOT_FOUND", "APP_NOT_STARTED", "URI_NOT_HANDLED", "URI_SCHEME_NOT_ALLOWED"),
        *("UNSUPPORTED_RUNTIME_CLOSE", "EXECUTION_ACTION_UNSUPPORTED", "SECURITY_BLOCK_DETECTED"),
        *("SERVICE_UNAVAILABLE", "RECORDING_ALREADY_IN_PROGRESS", "RECORDING_NOT_IN_PROGRESS"),
        *("RECORDING_UNAVAILABLE", "SECRET_UNAVAILABLE", "SECRET_REFUSED_WHILE_RECORDING"),
    )
)
# Failures that are also at the top of the document, by the code of their step. An execution that runs past its
# timeout has the code of a result that did not arrive in time, beside the steps that finished.
_CODES_AT_TOP = {
    "RECORDING_ALREADY_IN_PROGRESS": "RECORDING_ALREADY_IN_PROGRESS",
    "RECORDING_NOT_IN_PROGRESS": "RECORDING_NOT_IN_PROGRESS",
    "COMMAND_TIMEOUT": "RESULT_ENVELOPE_TIMEOUT",
}


def sum_of(text: str) -> tuple[int, int]:
    """The length of a text in UTF-8 and its CRC-32, which detects loss, not tampering."""
    data = text.encode("utf-8", "replace")
    return len(data), crc32(data)


def snapshot_id(text: str) -> str:
    """The id of a snapshot: the same text has the same id."""
    return f"s{sum_of(text)[1]:08x}"


class StepResult(Struct, frozen=True):
    """The outcome of one action. ``data.error`` holds the code of a failed step."""

    id: str
    actionType: str
    success: bool
    data: dict[str, str]

    def __repr__(self) -> str:
        """The outcome, without the data: those may be a whole screen."""
        outcome = "success" if self.success else one_line(self.data.get("error", "failed"), 40)
        return f"<StepResult {one_line(self.id, 40)} {one_line(self.actionType, 40)}: {outcome}>"


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

    def __repr__(self) -> str:
        """The outcome, without the steps."""
        reason = f", {one_line(self.error, 80)}" if self.error else ""
        return f"<ResultEnvelope {self.status}, {len(self.stepResults)} steps{reason}>"


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


def may_have_changed(steps: Iterable[StepResult]) -> bool:
    """Whether these steps may have changed something on the device. In doubt they have."""
    return any(
        step.success or DISPATCHED in step.data or step.data.get("error") not in _NOT_PERFORMED
        for step in steps
        if changes_device(step.actionType)
    )


def step_mismatch(steps: Sequence[StepResult], actions: Sequence[tuple[str, str]]) -> str | None:
    """Why these are not the steps of a complete run: one per action, with its id and type, in order."""
    if len(steps) != len(actions):
        return f"it has {len(steps)} steps for {len(actions)} actions"
    for step, (action_id, action_type) in zip(steps, actions, strict=True):
        if step.id != action_id:
            return f"it has step {step.id!r} in place of {action_id!r}"
        if step.actionType != action_type:
            return f"step {step.id!r} is a {step.actionType!r}, not a {action_type!r}"
    return None


class ExecutionResult(Struct, frozen=True):
    """The document that a command prints after an execution on a device.

    ``backend`` is the one that ran it: operator or adb. ``operatorPackage`` is there when the device chose an
    Operator other than the released one. ``code`` and ``message`` are those of a failure that is reported at the
    top.
    """

    envelope: ResultEnvelope
    deviceId: str
    backend: str
    operatorPackage: str | UnsetType = UNSET
    terminalSource: Literal["clawperator_result"] = "clawperator_result"
    isCanonicalTerminal: bool = True
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET

    def with_code(self) -> "ExecutionResult":
        """The same with the code of its failure at the top, where the failure has one there."""
        envelope = self.envelope
        data = next((step.data for step in envelope.stepResults if not step.success), {})
        code = _CODES_AT_TOP.get(data.get("error") or envelope.errorCode or "")
        if code is None:
            return self
        return replace(self, code=code, message=data.get("message") or envelope.error or code)
