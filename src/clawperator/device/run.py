"""Carrying out a plan on a phone: by the Operator on it, or by the engine over plain adb commands."""

import os
import time
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from clawperator.commands.model import Backend
from clawperator.contract.actions import SESSION_ID
from clawperator.contract.execution import Plan
from clawperator.contract.limits import MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.contract.wire import OPERATOR_PACKAGE, TEXT_BYTES, TEXT_SUM
from clawperator.device.adb.client import Device, exec_out, shell
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends.operator_link import Delivered, deliver
from clawperator.device.backends.operator_log import plausible_text, proved_text
from clawperator.device.host_log import Level, note
from clawperator.device.lease import lease
from clawperator.errors import ClawError

_HOST_ACTIONS = ("close_app", "take_screenshot")
_CLOSE_SECONDS = 10.0
_SCREENSHOT_SECONDS = 30.0
_PNG = b"\x89PNG\r\n\x1a\n"
# Failures for the sake of a recording that runs, and what stopping it is good for.
_STOP_FIRST = {
    "RECORDING_ALREADY_IN_PROGRESS": "before starting a new recording",
    "RECORDING_NOT_IN_PROGRESS": "to stop that one",
}
_TOLD_ABOVE = ("sessionId", "filePath")
_WARNING = (
    "snapshot captured without a preceding sleep step; UI may not have settled - "
    "consider adding a sleep step between click and snapshot_ui"
)


def operator_package(given: str | None) -> str:
    """The Operator that is meant: the one named, the environment's, or the released one."""
    return given or os.environ.get("CLAWPERATOR_OPERATOR_PACKAGE") or OPERATOR_PACKAGE


def run_plan(plan: Plan, device: Device, *, package: str, backend: Backend = "auto") -> ExecutionResult:
    """Carry out a plan while holding the phone's lease. The host's log tells that it was done, not what."""
    ids = {"commandId": plan.document["commandId"], "taskId": plan.document["taskId"], "deviceId": device.serial}
    note("execution.started", **ids)
    started = time.monotonic()
    try:
        result = _run_leased(plan, device, package, backend)
    except ClawError as e:
        note("execution.failed", level="error", code=e.code, durationMs=_since(started), **ids)
        raise
    status, code = result.envelope.status, result.envelope.errorCode or None
    level: Level = "info" if status == "success" else "warn"
    note("execution.finished", level=level, status=status, code=code, durationMs=_since(started), **ids)
    return result


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _run_leased(plan: Plan, device: Device, package: str, backend: Backend) -> ExecutionResult:
    document = plan.document
    with lease(device.serial, document["commandId"], document["timeoutMs"] / 1000):
        if backend == "adb":
            from clawperator.device.backends.adb import run_over_adb

            envelope = run_over_adb(plan, device)
        else:
            envelope = _OperatorRun(device, package, document).run()
    return ExecutionResult(reconciled(envelope, device.serial, package), device.serial)


class _OperatorRun:
    """A plan in stretches: the Operator's actions are sent to it, the host's are done in their place."""

    def __init__(self, device: Device, package: str, document: dict[str, Any]) -> None:
        self._device = device
        self._package = package
        self._document = document
        self._end = time.monotonic() + document["timeoutMs"] / 1000
        self._steps: list[StepResult] = []
        self._sent = 0
        self._mark = "goes-on"
        while any(action["id"] == self._mark for action in document["actions"]):
            self._mark += "-"

    def run(self) -> ResultEnvelope:
        actions: list[dict[str, Any]] = self._document["actions"]
        at = 0
        last: ResultEnvelope | None = None
        while at < len(actions):
            if actions[at]["type"] in _HOST_ACTIONS:
                self._steps.append(self._by_host(actions[at]))
                at += 1
                continue
            stop = next((i for i in range(at, len(actions)) if actions[i]["type"] in _HOST_ACTIONS), len(actions))
            last, goes_on = self._send(actions[at:stop], first=at == 0, more=stop < len(actions))
            if not goes_on:
                break
            at = stop
        self._warn_of_haste(actions)
        error = last.error if last is not None else None
        code = last.errorCode if last is not None else UNSET
        status = last.status if last is not None else "success"
        return ResultEnvelope(
            self._document["commandId"], self._document["taskId"], status, self._steps, error, code
        )

    def _send(self, actions: list[dict[str, Any]], *, first: bool, more: bool) -> tuple[ResultEnvelope, bool]:
        """Let the Operator do these. Tells also whether the actions after them may be done."""
        document = {**self._document, "actions": actions}
        if more:
            # Some failures end a plan and some do not. The Operator knows: what it does after them tells us.
            document["actions"] = [*actions, {"id": self._mark, "type": "sleep", "params": {"durationMs": 0}}]
        if more or not first:
            self._sent += 1
            document["commandId"] = f"{self._document['commandId'][:120]}.{self._sent}"
            left = round((self._end - time.monotonic()) * 1000)
            document["timeoutMs"] = max(MIN_EXECUTION_TIMEOUT_MS, left)
        try:
            delivered = deliver(self._device, self._package, document)
        except ClawError as e:
            if self._steps:  # what was done before is done, and must be told
                e.extra = {**e.extra, "stepResults": self._steps}
            raise
        steps = attach_hierarchies(delivered)
        self._steps += [step for step in steps if not more or step.id != self._mark]
        return delivered.envelope, not more or any(step.id == self._mark and step.success for step in steps)

    def _by_host(self, action: dict[str, Any]) -> StepResult:
        params = action.get("params", {})
        try:
            if action["type"] == "close_app":
                data = close_app(self._device, params["applicationId"])
            else:
                data = {"path": save_screenshot(self._device, params.get("path"), self._document["commandId"])}
        except ClawError as e:
            told = {"error": e.code, "message": e.message, **({"hint": e.hint} if e.hint else {})}
            return StepResult(action["id"], action["type"], False, told)
        return StepResult(action["id"], action["type"], True, data)

    def _warn_of_haste(self, actions: list[dict[str, Any]]) -> None:
        """A snapshot right after a click may show what was before it."""
        before = dict(zip([a["id"] for a in actions[1:]], [a["type"] for a in actions], strict=False))
        for i, step in enumerate(self._steps):
            hasty = before.get(step.id) in ("click", "scroll_and_click")
            if step.actionType == "snapshot_ui" and step.success and hasty and "warn" not in step.data:
                self._steps[i] = replace(step, data={**step.data, "warn": _WARNING})


def attach_hierarchies(delivered: Delivered) -> list[StepResult]:
    """The steps, each successful snapshot with its hierarchy, or failed for the lack of it."""
    steps = list(delivered.envelope.stepResults)
    wanting = [
        i for i, s in enumerate(steps) if s.actionType == "snapshot_ui" and s.success and "text" not in s.data
    ]
    # Where nothing is told of it, the last hierarchy belongs to the last snapshot, and so on backwards.
    by_place = dict(zip(reversed(wanting), reversed(delivered.hierarchies), strict=False))
    for i in wanting:
        data = dict(steps[i].data)
        size, check = data.pop(TEXT_BYTES, ""), data.pop(TEXT_SUM, "")
        if size.isdecimal() and check.isdecimal():
            proofs = (proved_text(tree, (int(size), int(check))) for tree in delivered.hierarchies)
            text = next((found for found in proofs if found is not None), None)
        else:
            text = plausible_text(by_place[i]) if i in by_place else None
        if text is None:
            message = "UI hierarchy extraction produced no output for this step. "
            message += "Check clawperator version compatibility and logcat extraction health."
            data |= {"error": "SNAPSHOT_EXTRACTION_FAILED", "message": message}
            steps[i] = replace(steps[i], success=False, data=data)
        else:
            steps[i] = replace(steps[i], data={**data, "text": text})
    return steps


def close_app(device: Device, package: str, *, seconds: float = _CLOSE_SECONDS) -> dict[str, str]:
    """Force-stop an app."""
    answer = shell(device, command_line("am", "force-stop", package), seconds=seconds)
    if answer.code != 0:
        raise ClawError(
            "DEVICE_SHELL_UNAVAILABLE",
            f"the phone did not stop {package}: {answer.complaint}",
            details={"applicationId": package, "adbExitCode": answer.code},
        )
    return {"application_id": package}


def save_screenshot(device: Device, path: str | None, command_id: str) -> str:
    """Take a picture of the screen and write it to a file. Gives the file's name."""
    return write_screenshot(take_screenshot(device), path, command_id)


def take_screenshot(device: Device, *, seconds: float = _SCREENSHOT_SECONDS) -> bytes:
    """A picture of the screen as PNG."""
    png = exec_out(device, "screencap -p", seconds=seconds)
    if not png.startswith(_PNG):
        raise ClawError(
            "DEVICE_SHELL_UNAVAILABLE",
            "the phone gave no picture of its screen",
            hint="Unlock the phone; some screens forbid pictures.",
        )
    return png


def write_screenshot(png: bytes, path: str | None, command_id: str) -> str:
    """Write a picture to the file that was asked for, or to a new one. Gives the file's name."""
    import tempfile

    from clawperator._files import AtomicFile, why

    if path is None:
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in command_id)
        path = os.path.join(
            tempfile.gettempdir(), f"clawperator-screenshot-{safe}-{time.time_ns() // 1_000_000}.png"
        )
    try:
        with AtomicFile(path) as out:
            out.file.write(png)
    except OSError as e:
        import shlex

        folder = shlex.quote(os.path.dirname(path) or ".")
        missing = f"Run 'mkdir -p {folder}' first." if isinstance(e, FileNotFoundError) else None
        hint = missing or f"Run 'ls -ld {folder}' to see who may write there, or choose another path."
        raise ClawError("SCREENSHOT_NOT_SAVED", f"cannot write {path}: {why(e)}", hint=hint, target=path) from e
    return path


def reconciled(envelope: ResultEnvelope, serial: str, package: str) -> ResultEnvelope:
    """The envelope with the status its steps stand for."""
    steps = [_with_stop_command(step, serial, package) for step in envelope.stepResults]
    failed = next((step for step in steps if not step.success), None)
    if failed is not None:
        data = failed.data
        code = data.get("error", "UNKNOWN")
        error = f"step {failed.id} ({failed.actionType}) failed: {code}"
        told = {name: data[name] for name in _TOLD_ABOVE if name in data} if code in _STOP_FIRST else {}
        hint = data.get("hint", UNSET)
        return replace(
            envelope, status="failed", stepResults=steps, error=error, errorCode=code, hint=hint, **told
        )
    if envelope.status == "success":
        return replace(envelope, error=None, errorCode=UNSET, hint=UNSET)
    if envelope.errorCode == "SERVICE_UNAVAILABLE":
        hint = f"Run 'clawperator doctor --fix --device {serial}' to turn the Operator's accessibility service on."
        return replace(envelope, hint=hint)
    return envelope


def _with_stop_command(step: StepResult, serial: str, package: str) -> StepResult:
    """A step that failed because of a running recording names the command that stops it on this very phone."""
    purpose = _STOP_FIRST.get(step.data.get("error", "")) if not step.success else None
    session = step.data.get("sessionId", "")
    if purpose is None or not SESSION_ID.fullmatch(session):
        return step
    where = ("--device", serial, "--operator-package", package)
    command = command_line("clawperator", "recording", "stop", "--session-id", session, *where, "--json")
    return replace(step, data={**step.data, "hint": f"Run '{command}' {purpose}."})
