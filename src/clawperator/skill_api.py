"""For authors of skills: say what was reached, prove the end, and the result frame is printed for you.

    from clawperator.skill_api import Skill, declared_inputs

    inputs = declared_inputs()
    with Skill("com.example.app.greet", goal={"kind": "greet"}, inputs=inputs, plan=("app_opened",)) as skill:
        skill.phone.open_app("com.example.app")
        skill.checkpoint("app_opened")
        skill.verify(expected="Hello", observed=skill.phone.read("Hello"))

The frame is printed once, when the ``with`` block ends, however it ends. A block that fails names the checkpoint
it was on the way to. The process ends with 0 only when the end was proved.
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

from clawperator.contract.skill_result import CONTRACT_VERSION, FRAME_MARKER
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.connection import ConnectedPhone

__all__ = ["Skill", "declared_inputs"]

# Where the skill is when it fails and has no plan.
UNPLANNED = "unplanned_step"
_LONGEST_NOTE = 2_000
_UNAVAILABLE = ("DEVICE_", "ADB_", "OPERATOR_", "PHONE_")
_UNAVAILABLE_CODES = ("NO_DEVICES", "SERVICE_UNAVAILABLE", "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED")


def declared_inputs() -> dict[str, Any]:
    """The inputs that ``skills run`` read from its arguments, by the names ``skill.json`` declares."""
    try:
        given = msgspec.json.decode(os.environ.get("CLAWPERATOR_SKILL_INPUTS", "{}"))
    except msgspec.DecodeError:
        given = None
    if not isinstance(given, dict):
        raise ClawError(
            "SKILL_INPUT_INVALID",
            "CLAWPERATOR_SKILL_INPUTS holds no declared inputs",
            hint="Declare them in skill.json under contract.inputs, and run the skill with 'skills run'.",
        )
    return given


class Skill:
    """One run of a skill. ``plan`` names its checkpoints in their order; then none can be passed out of turn."""

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
        self._device = device
        self._checkpoints: list[dict[str, Any]] = []
        self._verification: dict[str, Any] = {"status": "not_run"}
        self._result: dict[str, Any] | None = None
        self._diagnostics: dict[str, Any] = {"runtimeState": "unknown"}
        self._ended = False

    @cached_property
    def phone(self) -> "ConnectedPhone":
        """The phone that ``skills run`` was told to use, or the only one there is."""
        from clawperator.connection import connect

        phone = connect(
            self._device or os.environ.get("CLAWPERATOR_DEVICE_ID"),
            operator_package=os.environ.get("CLAWPERATOR_OPERATOR_PACKAGE"),
        )
        self._diagnostics["runtimeState"] = "healthy"
        return phone

    def checkpoint(self, name: str, evidence: Any = None, *, note: str | None = None) -> None:
        """Say that a checkpoint was reached. Evidence is a text, or anything that JSON can hold."""
        if self._plan and name != (due := self._due()):
            raise ValueError(f"the next checkpoint of the plan is {due!r}, not {name!r}")
        self._add(name, "ok", evidence, note)

    def verify(self, *, expected: Any, observed: Any, note: str | None = None) -> bool:
        """Say what the end should be and what it is. Only equal values prove the skill's goal."""
        proved = bool(expected == observed)
        self._verification = {
            "status": "verified" if proved else "failed",
            "expected": _evidence(expected),
            "observed": _evidence(observed),
            **({"note": note} if note else {}),
        }
        return proved

    def answer(self, value: Any) -> None:
        """Say what the skill found out, for whoever asked."""
        self._result = _evidence(value)

    def warn(self, text: str) -> None:
        """Say something that did not keep the skill from its goal."""
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
        # A typed error has said all in the frame. Of anything else the author wants to see where it was.
        if isinstance(error, ClawError) or (error is None and status != "success"):
            raise SystemExit(1)

    def _due(self) -> str | None:
        return self._plan[len(self._checkpoints)] if len(self._checkpoints) < len(self._plan) else None

    def _add(self, name: str, status: str, evidence: Any, note: str | None) -> None:
        point: dict[str, Any] = {"id": name, "status": status, "observedAt": _now()}
        if evidence is not None:
            point["evidence"] = _evidence(evidence)
        if note:
            point["note"] = note[:_LONGEST_NOTE]
        self._checkpoints.append(point)

    def _fail(self, error: BaseException) -> None:
        evidence = None
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, ClawError):
            said = f"{error.code}: {error.message}"
            evidence = error.document()
            if error.code.startswith(_UNAVAILABLE) or error.code in _UNAVAILABLE_CODES:
                self._diagnostics["runtimeState"] = "unavailable"
            if error.hint:
                self._diagnostics["hints"] = [error.hint]
        if self._plan and self._due() is None:  # every checkpoint was reached: it is the end that was not proved
            self._verification = {**self._verification, "note": said[:_LONGEST_NOTE]}
        else:
            self._add(self._due() or UNPLANNED, "failed", evidence, said)

    def _status(self, error: BaseException | None) -> Literal["success", "failed", "indeterminate"]:
        if error is not None:
            return "failed"
        reached = len(self._checkpoints) >= len(self._plan)
        return "success" if reached and self._verification["status"] == "verified" else "indeterminate"

    def _print(self, status: str) -> None:
        if self._ended:
            raise RuntimeError("a skill runs once; its frame is printed already")
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
        with suppress(OSError, ValueError):  # nobody listens any more
            sys.stdout.write(f"\n{FRAME_MARKER}\n{line}\n")
            sys.stdout.flush()


def _evidence(value: Any) -> dict[str, Any]:
    return {"kind": "text", "text": value} if isinstance(value, str) else {"kind": "json", "value": value}


def _now() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
