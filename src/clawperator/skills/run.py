"""Run a skill: start its script, read its result frame and check the result against the skill's contract."""

import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator._files import why
from clawperator.contract.skill_result import FRAME_MARKER, SkillResult, check_version
from clawperator.device.host_log import note
from clawperator.device.run import operator_package
from clawperator.device.wakefulness import phone_at_hand, require_awake
from clawperator.errors import ClawError
from clawperator.skills.contract import (
    Agent,
    Promises,
    expected_text,
    find_agent,
    read_agent,
    read_inputs,
    read_promises,
    shows,
)
from clawperator.skills.process import MOST_BYTES, Ended, Listener, run_script
from clawperator.skills.registry import SkillEntry, SkillRegistry, typed_entry
from clawperator.skills.validation import read_skill_json, validate_skill

DEFAULT_TIMEOUT_MS = 120_000
_KINDS = (".js", ".py", ".sh")


class Order(Struct, frozen=True):
    """What to run and how. ``args`` are for the script."""

    skill_id: str
    args: tuple[str, ...] = ()
    device: str | None = None
    operator_package: str | None = None
    timeout_ms: int | float | None = None
    expect: str | None = None
    check: bool = True


class SkillRun(Struct, frozen=True, kw_only=True):
    """What ``skills run`` answers when the skill ended well."""

    status: str = "success"
    skillId: str
    output: str
    exitCode: int
    durationMs: int
    skillResult: dict[str, Any] | None
    timeoutMs: int | float | UnsetType = UNSET
    expectedSubstring: str | UnsetType = UNSET


class _Prepared(Struct, frozen=True):
    """A skill that is ready to be started."""

    entry: SkillEntry
    promises: Promises
    inputs: dict[str, str | int] | None
    agent: Agent | None
    agent_fault: str
    argv: list[str]
    environment: dict[str, str]


def run_skill(
    registry: SkillRegistry,
    order: Order,
    listener: Listener | None = None,
    *,
    stop: Callable[[], bool] | None = None,
) -> SkillRun:
    """Run a skill to its end. Whatever keeps it from a proved success is raised, with all it said.

    Without ``check`` its files are not validated first. ``listener`` hears its output while it runs. Once ``stop``
    says yes, the skill and all it started is ended, and ``INTERRUPTED`` is raised.
    """
    if order.check:
        validate_skill(registry, order.skill_id, dry_run=True)
    ready = _prepare(registry, order)
    _check_phone(order)
    seconds = _seconds(order, ready.agent)
    note("skills.run.start", skillId=order.skill_id, deviceId=order.device)
    try:
        ended = run_script(ready.argv, ready.environment, seconds=seconds, listener=listener, stop=stop)
    except OSError as e:
        note("skills.run.failed", level="error", skillId=order.skill_id)
        raise ClawError(
            "SKILL_EXECUTION_FAILED",
            f"the script {ready.argv[0]} cannot be started: {why(e)}",
            hint="A shell script needs its executable bit (chmod +x) and a first line that names its shell.",
            extra={"skillId": order.skill_id, "skillResult": None},
            target=order.skill_id,
        ) from e
    return _judge(order, ready, ended, seconds)


def _check_phone(order: Order) -> None:
    """A phone that sleeps makes any skill fail without a reason. What else is wrong the skill itself will tell."""
    try:
        device = phone_at_hand(order.device)
        if device is not None:
            require_awake(device)
    except ClawError as e:
        if e.code == "DEVICE_NOT_INTERACTIVE":
            raise


def _prepare(registry: SkillRegistry, order: Order) -> _Prepared:
    entry = typed_entry(registry.entry(order.skill_id))
    own = read_skill_json(registry.file(os.path.join(entry.path, "skill.json")))
    promises = read_promises(entry.id, own.get("contract"))
    inputs = None if promises.inputs is None else read_inputs(entry.id, promises.inputs, order.args)
    agent, fault = None, ""
    if own.get("agent") is not None:
        try:
            agent = read_agent(own["agent"])
        except ValueError as e:
            fault = str(e)
    script = _script(registry, entry)
    environment = _environment(registry, entry, order, inputs)
    if agent is not None:
        name, path = find_agent(agent, registry.file(entry.path))
        environment |= {"CLAWPERATOR_SKILL_AGENT_CLI": name, "CLAWPERATOR_SKILL_AGENT_CLI_PATH": path}
        environment["CLAWPERATOR_SKILL_AGENT_TIMEOUT_MS"] = str(round(_seconds(order, agent) * 1000))
    device = [order.device] if order.device else []
    argv = [*_command(script), *device, *order.args]
    return _Prepared(entry, promises, inputs, agent, fault, argv, environment)


def _script(registry: SkillRegistry, entry: SkillEntry) -> str:
    found = (path for kind in _KINDS for path in entry.scripts if path.endswith(kind))
    chosen = next(found, next(iter(entry.scripts), None))
    path = registry.file(chosen) if chosen is not None else ""
    if not path or not os.path.isfile(path):
        raise ClawError(
            "SKILL_SCRIPT_NOT_FOUND",
            f"the skill {entry.id} has no script" if not path else f"there is no script {path}",
            hint=f"Run 'clawperator skills validate {entry.id}'.",
            target=entry.id,
        )
    return path


def _command(script: str) -> list[str]:
    """How a script is started: under this Python, under Node, or by itself."""
    if script.endswith(".py"):
        return [sys.executable, script]
    if not script.endswith(".js"):
        return [script]
    import shutil

    node = shutil.which("node")
    if node is None:
        raise ClawError(
            "HOST_DEPENDENCY_MISSING",
            "this skill is written in JavaScript, and there is no Node to run it",
            hint="Install Node, and see that 'node' is on PATH.",
            target=script,
        )
    return [node, script]


def _environment(
    registry: SkillRegistry, entry: SkillEntry, order: Order, inputs: dict[str, str | int] | None
) -> dict[str, str]:
    told = {
        "CLAWPERATOR_BIN": os.environ.get("CLAWPERATOR_BIN") or f"{shlex.quote(sys.executable)} -m clawperator",
        "CLAWPERATOR_OPERATOR_PACKAGE": operator_package(order.operator_package),
        "CLAWPERATOR_SKILL_ID": entry.id,
        "CLAWPERATOR_SKILL_PROGRAM": registry.file(entry.skillFile),
        "CLAWPERATOR_SKILL_INPUTS": msgspec.json.encode(list(order.args) if inputs is None else inputs).decode(),
    }
    if order.device:
        told["CLAWPERATOR_DEVICE_ID"] = order.device
    return {**os.environ, **told}


def _seconds(order: Order, agent: Agent | None) -> float:
    given = order.timeout_ms
    if given is None:
        given = agent.timeoutMs if agent is not None and agent.timeoutMs else DEFAULT_TIMEOUT_MS
    if given <= 0:
        raise ClawError("USAGE", "--timeout must be more than 0", operation="argparse")
    return given / 1000


def _judge(order: Order, ready: _Prepared, ended: Ended, seconds: float) -> SkillRun:
    facts = _facts(order, ended)
    if ended.reason == "stopped":
        note("skills.run.failed", level="error", skillId=order.skill_id, durationMs=facts["durationMs"])
        raise _failure("INTERRUPTED", f"the skill {order.skill_id} was stopped before its end", facts)
    if ended.reason:
        note("skills.run.timeout", level="error", skillId=order.skill_id, durationMs=facts["durationMs"])
        if ended.reason == "timeout":
            message = f"the skill {order.skill_id} was ended after {seconds:g} s"
            hint = "Give it more time with --timeout; what it had said is in stdout and stderr."
            raise _failure("SKILL_EXECUTION_TIMEOUT", message, facts, hint=hint)
        message = f"the skill {order.skill_id} wrote more than {MOST_BYTES} bytes and was ended"
        raise _failure("SKILL_EXECUTION_FAILED", message, facts)
    try:
        result = _result(order.skill_id, ready, ended.stdout)
    except ClawError as e:
        raise _failure(e.code, e.message, {**facts, "exitCode": ended.code}, hint=e.hint) from None
    facts |= {"exitCode": ended.code, "skillResult": result}
    if ended.code != 0:
        note("skills.run.failed", level="error", skillId=order.skill_id, durationMs=facts["durationMs"])
        raise _failure("SKILL_EXECUTION_FAILED", _why_failed(order.skill_id, ended, result), facts)
    if order.expect is not None and order.expect not in ended.stdout:
        message = f"the output of {order.skill_id} does not hold {order.expect!r}"
        raise _failure("SKILL_OUTPUT_ASSERTION_FAILED", message, {**facts, "output": ended.stdout})
    if result is not None:
        _check_result(order.skill_id, ready, result, facts)
    note("skills.run.complete", skillId=order.skill_id, durationMs=facts["durationMs"])
    return SkillRun(
        skillId=order.skill_id,
        output=ended.stdout,
        exitCode=0,
        durationMs=facts["durationMs"],
        skillResult=result,
        timeoutMs=UNSET if order.timeout_ms is None else order.timeout_ms,
        expectedSubstring=UNSET if order.expect is None else order.expect,
    )


def _result(skill_id: str, ready: _Prepared, output: str) -> dict[str, Any] | None:
    source: dict[str, Any] = {"kind": "script"}
    if ready.agent is not None:
        source = {"kind": "agent", "agentCli": ready.environment["CLAWPERATOR_SKILL_AGENT_CLI"]}
    result = read_frame(output, skill_id, source)
    if result is not None and ready.agent_fault:
        raise ClawError(
            "SKILL_RESULT_PARSE_FAILED",
            f"nobody can say who made the result: the agent in skill.json breaks its shape: {ready.agent_fault}",
            target=skill_id,
        )
    if result is not None and is_newer(result):
        version = result["contractVersion"]
        note("skills.run.output", f"result contract {version} is newer", level="warn", skillId=skill_id)
    return result


def _check_result(skill_id: str, ready: _Prepared, result: dict[str, Any], facts: dict[str, Any]) -> None:
    """A script that ended well and says it failed has failed; one that promised a proof must have it."""
    status = result["status"]
    if status == "failed":
        message = f"the skill {skill_id} says it failed{_at(result)}"
        raise _failure("SKILL_EXECUTION_FAILED", message, facts)
    verification = result.get("terminalVerification") or {}
    proof = ready.promises.verification
    problem = ""
    if status == "indeterminate":
        problem = "it says itself that it cannot tell"
    elif proof is not None and verification.get("status") != "verified":
        problem = f"its terminal verification is {verification.get('status', 'missing')}"
    elif proof is not None:
        expected = expected_text(proof, ready.inputs or result.get("inputs") or {})
        if not shows(verification.get("observed"), expected):
            problem = f"what it observed does not show {expected!r}"
    if problem:
        message = f"the skill {skill_id} ended without proof of its goal: {problem}"
        raise _failure("SKILL_VERIFICATION_INDETERMINATE", message, facts)


def _facts(order: Order, ended: Ended) -> dict[str, Any]:
    said = {"stdout": ended.stdout, "stderr": ended.stderr}
    return {
        "skillId": order.skill_id,
        "durationMs": round(ended.seconds * 1000),
        **{name: text for name, text in said.items() if text},
        "skillResult": None,
    }


def _failure(code: str, message: str, facts: dict[str, Any], *, hint: str | None = None) -> ClawError:
    return ClawError(code, message, hint=hint, extra=facts, operation="skills run", target=facts["skillId"])


def _why_failed(skill_id: str, ended: Ended, result: dict[str, Any] | None) -> str:
    if result is not None:
        return f"the skill {skill_id} failed{_at(result)}"
    ending = f"signal {-ended.code}" if ended.code is not None and ended.code < 0 else f"exit code {ended.code}"
    return f"the skill {skill_id} ended with {ending}"


def _at(result: dict[str, Any]) -> str:
    """Where a result says it went wrong."""
    for point in result["checkpoints"]:
        if point["status"] == "failed":
            said = point.get("note")
            return f" at {point['id']}" + (f": {said}" if said else "")
    verification = result.get("terminalVerification") or {}
    if verification.get("status") == "failed":
        return " its terminal verification"
    said = verification.get("note")
    return f" before its end was proved: {said}" if said else ""


_KNOWN_MINOR = 0


def read_frame(output: str, skill_id: str, source: dict[str, Any]) -> dict[str, Any] | None:
    """The result in a skill's output with its ``source`` put in; None when the skill printed no frame.

    A frame that is not the end of the output, is there twice, is of another skill or breaks the contract gives
    ``SKILL_RESULT_PARSE_FAILED``.
    """
    lines = [line for line in (part.removesuffix("\r") for part in output.split("\n")) if line.strip()]
    places = [i for i, line in enumerate(lines) if line == FRAME_MARKER]
    if not places:
        return None
    if len(places) > 1:
        raise _broken(skill_id, "the frame is there more than once")
    after = lines[places[0] + 1 :]
    if len(after) != 1:
        raise _broken(skill_id, "no JSON follows the marker" if not after else "the frame is not the end of it")
    try:
        frame = msgspec.json.decode(after[0])
    except (msgspec.DecodeError, RecursionError) as e:
        raise _broken(skill_id, f"not valid JSON: {e}") from None
    if not isinstance(frame, dict):
        raise _broken(skill_id, "the result is not an object")
    if "source" in frame:
        raise _broken(skill_id, "the skill must not say its own source")
    frame["source"] = source
    try:
        result = msgspec.convert(frame, SkillResult)
    except msgspec.ValidationError as e:
        raise _broken(skill_id, str(e)) from None
    check_version(result)
    if result.skillId != skill_id:
        raise _broken(skill_id, f"it is the result of {result.skillId!r}")
    return frame


def is_newer(frame: dict[str, Any]) -> bool:
    """Whether a frame is of a later minor version, which may say things that are not understood here."""
    return int(str(frame["contractVersion"]).split(".")[1]) > _KNOWN_MINOR


def _broken(skill_id: str, reason: str) -> ClawError:
    return ClawError(
        "SKILL_RESULT_PARSE_FAILED",
        f"the result frame of {skill_id} breaks its contract: {reason}",
        hint=f"A skill ends with one line {FRAME_MARKER} and one line of JSON; clawperator.skill_api prints them.",
        target=skill_id,
    )
