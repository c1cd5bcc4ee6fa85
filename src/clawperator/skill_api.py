"""API for skill authors: record checkpoints, verify the result, and print the result frame.

    from clawperator.skill_api import Skill, declared_inputs

    inputs = declared_inputs()
    with Skill("com.example.app.greet", goal={"kind": "greet"}, inputs=inputs, plan=("app_opened",)) as skill:
        skill.phone.open_app("com.example.app")
        skill.checkpoint("app_opened")
        skill.verify(expected="Hello", observed=skill.phone.read("Hello"))

The frame is printed once, when the ``with`` block ends in any way. A block that fails reports the next checkpoint
as failed. The exit code is 0 only when the result was verified.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from clawperator._base.text import utc_timestamp
from clawperator._base.typed import decode
from clawperator.contract.skill_result import CONTRACT_VERSION, FRAME_MARKER
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.api.phone import ConnectedPhone

__all__ = ["Skill", "declared_inputs"]

# The failed checkpoint of a skill without a plan.
UNPLANNED = "unplanned_step"
_MAX_NOTE_LENGTH = 2_000
_UNAVAILABLE = ("DEVICE_", "ADB_", "OPERATOR_", "PHONE_")
_UNAVAILABLE_CODES = ("NO_DEVICES", "SERVICE_UNAVAILABLE", "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED")


def declared_inputs() -> dict[str, Any]:
    """The inputs that ``skills run`` read from its arguments, by their names in ``skill.json``."""
    try:
        given = decode(os.environ.get("CLAWPERATOR_SKILL_INPUTS", "{}"))
    except ValueError:
        given = None
    if not isinstance(given, dict):
        hint = "Declare inputs in skill.json under contract.inputs, and run the skill by its id."
        message = "CLAWPERATOR_SKILL_INPUTS is not a JSON object of inputs"
        raise ClawError("SKILL_INPUT_INVALID", message, hint=hint)
    return given


class Skill:
    """One run of a skill. ``plan`` lists its checkpoints; with a plan, they must be reached in order."""

    def __init__(
        self,
        skill_id: str,
        *,
        goal: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        plan: Sequence[str] = (),
        device: str | None = None,
    ) -> None:
        self._id = skill_id
        self._goal = goal
        self._inputs = inputs
        self._plan = tuple(plan)
        self._expected: str | None = None
        self._device = device
        self._checkpoints: list[dict[str, Any]] = []
        self._verification: dict[str, Any] = {"status": "not_run"}
        self._result: dict[str, Any] | None = None
        self._diagnostics: dict[str, Any] = {"runtimeState": "unknown"}
        self._ended = False

    @cached_property
    def phone(self) -> "ConnectedPhone":
        """The device selected by ``skills run``, or the only one connected."""
        from clawperator.api.phone import connect

        # The result frame shows hints to users of the command line.
        phone: ConnectedPhone = connect.__wrapped__(self._device)  # type: ignore[attr-defined]
        phone.names_commands = True
        self._diagnostics["runtimeState"] = "healthy"
        return phone

    def hide_keyboard(self) -> None:
        """Press Back if a keyboard is shown: it may cover what is clicked next."""
        from clawperator.recording.heuristics import is_keyboard

        if is_keyboard(self.phone.snapshot().overlay_package or ""):
            self.phone.back()

    def checkpoint(self, name: str, evidence: Any = None, *, note: str | None = None) -> None:
        """Record a reached checkpoint. ``evidence`` is a text or a JSON value."""
        if self._plan and name != (expected := self._next_checkpoint()):
            raise ValueError(f"the next checkpoint of the plan is {expected!r}, not {name!r}")
        self._add(name, "ok", evidence, note)
        self._expected = None

    def expect(self, name: str) -> None:
        """Name the next checkpoint of a skill without a plan: a failure before it is reported there."""
        if self._plan:
            raise ValueError("a skill with a plan already expects its next checkpoint")
        self._expected = name

    def verify(self, *, expected: Any, observed: Any, note: str | None = None) -> bool:
        """Compare the expected and the observed result. Only equal values verify the skill's goal."""
        verified = bool(expected == observed)
        self._verification = {
            "status": "verified" if verified else "failed",
            "expected": _evidence(expected),
            "observed": _evidence(observed),
            **({"note": note} if note else {}),
        }
        return verified

    def answer(self, value: Any) -> None:
        """Set the value that the skill returns."""
        self._result = _evidence(value)

    def warn(self, text: str) -> None:
        """Add a warning to the diagnostics."""
        self._diagnostics.setdefault("warnings", []).append(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._fail(error)
        status = self._status(error)
        self._print(status)
        # The frame describes a ClawError completely. Any other exception keeps its traceback for the author.
        if isinstance(error, ClawError) or (error is None and status != "success"):
            raise SystemExit(1)

    def _next_checkpoint(self) -> str | None:
        return self._plan[len(self._checkpoints)] if len(self._checkpoints) < len(self._plan) else None

    def _add(self, name: str, status: str, evidence: Any, note: str | None) -> None:
        point: dict[str, Any] = {"id": name, "status": status, "observedAt": utc_timestamp(time.time())}
        if evidence is not None:
            point["evidence"] = _evidence(evidence)
        if note:
            point["note"] = note[:_MAX_NOTE_LENGTH]
        self._checkpoints.append(point)

    def _fail(self, error: BaseException) -> None:
        evidence = None
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, ClawError):
            message = f"{error.code}: {error.message}"
            evidence = error.document()
            if error.code.startswith(_UNAVAILABLE) or error.code in _UNAVAILABLE_CODES:
                self._diagnostics["runtimeState"] = "unavailable"
            self._diagnostics["hints"] = [error.hint]
        if self._plan and self._next_checkpoint() is None:  # every checkpoint was reached: the verification failed
            self._verification = {**self._verification, "note": message[:_MAX_NOTE_LENGTH]}
        else:
            self._add(self._next_checkpoint() or self._expected or UNPLANNED, "failed", evidence, message)

    def _status(self, error: BaseException | None) -> Literal["success", "failed", "indeterminate"]:
        if error is not None:
            return "failed"
        reached = len(self._checkpoints) >= len(self._plan)
        return "success" if reached and self._verification["status"] == "verified" else "indeterminate"

    def _print(self, status: str) -> None:
        if self._ended:
            raise RuntimeError("a Skill runs once; its frame was already printed")
        self._ended = True
        frame: dict[str, Any] = {
            "contractVersion": CONTRACT_VERSION,
            "skillId": self._id,
            "goal": self._goal,
            "inputs": self._inputs,
            "result": self._result,
            "status": status,
            "checkpoints": self._checkpoints,
            "terminalVerification": self._verification,
            "diagnostics": self._diagnostics,
        }
        line = msgspec.json.encode({name: value for name, value in frame.items() if value is not None}).decode()
        with suppress(OSError, ValueError):  # the reader has closed the pipe
            sys.stdout.write(f"\n{FRAME_MARKER}\n{line}\n")
            sys.stdout.flush()


def _evidence(value: Any) -> dict[str, Any]:
    return {"kind": "text", "text": value} if isinstance(value, str) else {"kind": "json", "value": value}
