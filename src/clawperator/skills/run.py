"""Run a skill: start its script, read its result frame and check the result against the skill's contract."""

import os
import selectors
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator._base.deadline import Deadline
from clawperator._base.environment import child_environment
from clawperator._base.files import why
from clawperator._base.notes import show_status
from clawperator._base.secrets import known_secrets
from clawperator._base.text import is_encodable
from clawperator.contract.skill_result import FRAME_MARKER, SkillResult, check_version
from clawperator.device.discovery import known_device, require_awake
from clawperator.device.run.host_log import log_event
from clawperator.device.settings import enabled_operator, named_operator
from clawperator.device.uri_schemes import SCHEMES_VARIABLE, read_schemes
from clawperator.errors import ClawError
from clawperator.policy.gate import policy_environment
from clawperator.skills.registry import SkillEntry, SkillRegistry, parse_entry, skill_error
from clawperator.skills.validation import (
    SkillAgent,
    SkillContract,
    contains_text,
    expected_text,
    parse_agent,
    parse_contract,
    parse_inputs,
    read_skill_json,
    resolve_agent,
    validate_skill,
)
from clawperator.ui.privacy import mask

# Scripts: they run with limited time and output, and every process of their group is ended

Stream = Literal["stdout", "stderr"]
OutputListener = Callable[[Stream, bytes], None]
Reason = Literal["", "timeout", "output", "stopped"]

MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0
_DRAIN_SECONDS = 0.2
_POLL_SECONDS = 0.05
_BLOCK = 65_536


class ScriptExit(Struct, frozen=True):
    """The exit of a script. ``code`` is None when the script was killed, for the given ``reason``."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    reason: Reason = ""


class _OutputReader:
    """Collects the two output streams of a running script."""

    def __init__(self, child: subprocess.Popen[bytes], listener: OutputListener | None) -> None:
        self.collected: dict[Stream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        pipes: tuple[tuple[Stream, IO[bytes] | None], ...] = (("stdout", child.stdout), ("stderr", child.stderr))
        for name, pipe in pipes:
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def read(self, seconds: float) -> bool:
        """Read at most one block per stream within this time; False when both streams have ended."""
        for key, _ in self._selector.select(max(seconds, 0)):
            try:
                data = os.read(key.fd, _BLOCK)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            stream: Stream = key.data
            capacity = MAX_OUTPUT_BYTES - len(self.collected[stream])
            self.collected[stream] += data[:capacity]
            if self._listener is not None and capacity > 0:
                self._listener(stream, data[:capacity])
        return bool(self._selector.get_map())

    @property
    def is_full(self) -> bool:
        return any(len(collected) >= MAX_OUTPUT_BYTES for collected in self.collected.values())

    def text(self, stream: Stream) -> str:
        return self.collected[stream].decode("utf-8", "replace")

    def close(self) -> None:
        self._selector.close()


def run_script(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    listener: OutputListener | None = None,
    stop: Callable[[], bool] | None = None,
) -> ScriptExit:
    """Run a program to its end in its own process group. ``OSError`` when it cannot be started.

    On a timeout, an interrupt, or when ``stop`` returns True, the group gets SIGTERM and then SIGKILL. ``stop`` is
    called many times a second.
    """
    started = time.monotonic()
    deferred = DeferredSignals()
    with deferred:
        child = subprocess.Popen(  # noqa: S603 - the skill's own script
            list(argv),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        reader = _OutputReader(child, listener)
        with child:
            try:
                deferred.deliver()
                reason = _read_until_exit(child, reader, Deadline(seconds), stop)
                if reason:
                    _end_group(child, reader)
            except BaseException:
                _end_group(child, reader)
                raise
            finally:
                reader.close()
    taken = time.monotonic() - started
    code = None if reason else child.returncode
    return ScriptExit(code, reader.text("stdout"), reader.text("stderr"), taken, reason)


class DeferredSignals:
    """Holds SIGINT and SIGTERM back from the main thread until ``deliver``, at the latest to the end of the block.

    An interrupt while a child is being started would leave it without anyone to end it.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._received: list[int] = []

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._handlers[number] = signal.signal(number, lambda which, _: self._received.append(which))

    def __exit__(self, *_: object) -> None:
        self.deliver()

    def deliver(self) -> None:
        """Restore the handlers, and call them for the signals that came meanwhile."""
        while self._handlers:
            signal.signal(*self._handlers.popitem())
        while self._received:
            signal.raise_signal(self._received.pop())


def _read_until_exit(
    child: subprocess.Popen[bytes], reader: _OutputReader, deadline: Deadline, stop: Callable[[], bool] | None
) -> Reason:
    is_open = True
    while child.poll() is None:
        if deadline.is_over:
            return "timeout"
        if stop is not None and stop():
            return "stopped"
        # A script may close its streams, or leave them open in a child: poll the process as well.
        if is_open:
            is_open = reader.read(deadline.within(_POLL_SECONDS))
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(deadline.within(_POLL_SECONDS))
        if reader.is_full:
            return "output"
    _drain(reader, _DRAIN_SECONDS)
    return "output" if reader.is_full else ""


def _drain(reader: _OutputReader, seconds: float) -> None:
    """Read the remaining output. A child of the script may hold the streams open forever."""
    deadline = Deadline(seconds)
    while not deadline.is_over and not reader.is_full and reader.read(deadline.within(seconds)):
        pass


def _end_group(child: subprocess.Popen[bytes], reader: _OutputReader) -> None:
    """Send SIGTERM to the group, read its remaining output, then send SIGKILL."""
    _signal(child.pid, signal.SIGTERM)
    deadline = Deadline(_TERM_SECONDS)
    while not deadline.is_over and _group_lives(child):
        if not reader.read(0.02) or reader.is_full:
            time.sleep(0.02)
    _signal(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_KILL_SECONDS)
    _drain(reader, _DRAIN_SECONDS)


def _group_lives(child: subprocess.Popen[bytes]) -> bool:
    child.poll()
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


# Result frames: the marker line and the line of JSON with which a skill's output ends

_KNOWN_MINOR = 0


def read_frame(output: str, skill_id: str, source: dict[str, Any]) -> dict[str, Any] | None:
    """The result frame in a skill's output, with ``source`` added; None when there is no frame.

    The frame is the last two lines of the output: a marker and one JSON object. ``SKILL_RESULT_PARSE_FAILED``
    for a frame that is not at the end, occurs twice, belongs to another skill or violates the contract.
    """
    lines = [line for line in (part.removesuffix("\r") for part in output.split("\n")) if line.strip()]
    markers = [i for i, line in enumerate(lines) if line == FRAME_MARKER]
    if not markers:
        return None
    if len(markers) > 1:
        raise _invalid_frame(skill_id, "it occurs more than once")
    after = lines[markers[0] + 1 :]
    if len(after) != 1:
        problem = "it is not at the end of the output" if after else "no JSON follows the marker"
        raise _invalid_frame(skill_id, problem)
    try:
        frame = msgspec.json.decode(after[0])
    except (msgspec.DecodeError, RecursionError) as e:
        raise _invalid_frame(skill_id, f"not valid JSON: {e}") from None
    if not isinstance(frame, dict):
        raise _invalid_frame(skill_id, "the result is not an object")
    if "source" in frame:
        raise _invalid_frame(skill_id, "it must not contain 'source'")
    frame["source"] = source
    try:
        result = msgspec.convert(frame, SkillResult)
    except msgspec.ValidationError as e:
        raise _invalid_frame(skill_id, str(e)) from None
    check_version(result)
    if result.skillId != skill_id:
        raise _invalid_frame(skill_id, f"it belongs to skill {result.skillId!r}")
    return frame


def is_newer_contract(frame: dict[str, Any]) -> bool:
    """Whether a frame has a later minor version, with fields that are not known here."""
    return int(str(frame["contractVersion"]).split(".")[1]) > _KNOWN_MINOR


def _invalid_frame(skill_id: str, reason: str) -> ClawError:
    hint = f"A skill ends with one line {FRAME_MARKER} and one line of JSON; clawperator.skill_api prints them."
    message = f"the result frame of {skill_id} is invalid: {reason}"
    return skill_error("SKILL_RESULT_PARSE_FAILED", skill_id, message, hint)


# Runs

DEFAULT_TIMEOUT_MS = 120_000
_LONGEST_LINE = 4_096
_SCRIPT_SUFFIXES = (".js", ".py", ".sh")


class SkillRunRequest(Struct, frozen=True):
    """The skill to run and its options. ``args`` are passed to the script, ``pass_env`` are further variables.

    The commands that the script runs may open URIs of ``allow_schemes``.
    """

    skill_id: str
    args: tuple[str, ...] = ()
    device: str | None = None
    operator_package: str | None = None
    timeout_ms: int | float | None = None
    expect: str | None = None
    check: bool = True
    pass_env: tuple[str, ...] = ()
    allow_schemes: tuple[str, ...] = ()


class SkillRun(Struct, frozen=True, kw_only=True):
    """The document of a successful ``skills run``."""

    status: str = "success"
    skillId: str
    output: str
    exitCode: int
    durationMs: int
    skillResult: dict[str, Any] | None
    timeoutMs: int | float | UnsetType = UNSET
    expectedSubstring: str | UnsetType = UNSET


class _PreparedSkill(Struct, frozen=True):
    """A skill that is ready to start."""

    contract: SkillContract
    inputs: dict[str, str | int] | None
    agent: SkillAgent | None
    agent_problem: str
    argv: list[str]
    environment: dict[str, str]


def run_skill(
    registry: SkillRegistry,
    request: SkillRunRequest,
    listener: OutputListener | None = None,
    *,
    stop: Callable[[], bool] | None = None,
) -> SkillRun:
    """Run a skill to its end. Anything but a verified success is raised, with the skill's output.

    Declared secrets are masked in the result, the error and what ``listener`` gets.
    The skill's files are validated first, unless ``check`` is False. ``listener`` receives output while the skill
    runs. When ``stop`` returns True, the skill's process group is killed and ``INTERRUPTED`` is raised. The policy
    in force holds for everything that the skill does by our commands or the Python API.
    """
    registry = registry.holding(request.skill_id)
    if request.check:
        validate_skill(registry, request.skill_id, dry_run=True)
    prepared = _prepare(registry, request)
    _check_device(request)
    seconds = _seconds(request, prepared.agent)
    log_event("skills.run.start", skillId=request.skill_id, deviceId=request.device)
    watch = _RunStatus(request.skill_id, listener, stop)
    try:
        outcome = run_script(
            prepared.argv, prepared.environment, seconds=seconds, listener=watch.listen, stop=watch.check
        )
    except OSError as e:
        log_event("skills.run.failed", level="error", skillId=request.skill_id)
        message = f"script {prepared.argv[0]} cannot be started: {why(e)}"
        hint = "Make a shell script executable (chmod +x) and give it a '#!' line."
        extra = {"skillId": request.skill_id, "skillResult": None, **_given_timeout(request)}
        error = skill_error("SKILL_EXECUTION_FAILED", request.skill_id, message, hint)
        raise error.with_(extra=extra) from e
    return _build_result(request, prepared, outcome, seconds)


class _RunStatus:
    """Shows how long a skill has been running, and the last line it printed."""

    def __init__(self, skill_id: str, listener: OutputListener | None, stop: Callable[[], bool] | None) -> None:
        self._skill_id = skill_id
        self._listener = listener
        self._stop = stop
        self._began = time.monotonic()
        self._last_line = b""
        self._secrets = known_secrets()

    def listen(self, stream: Stream, data: bytes) -> None:
        if self._secrets:
            data = mask(data.decode("utf-8", "surrogateescape"), self._secrets).encode("utf-8", "surrogateescape")
        lines = data[-_LONGEST_LINE:].strip().splitlines()
        if lines and FRAME_MARKER.encode() not in data:  # the result follows when the run is over
            self._last_line = lines[-1]
        if self._listener is not None:
            self._listener(stream, data)

    def check(self) -> bool:
        """Show the status; whether the run is to be stopped."""
        last = self._last_line.decode("utf-8", "replace")
        show_status(f"{self._skill_id}: {last or 'running'}", self._began)
        return self._stop is not None and self._stop()


def _check_device(request: SkillRunRequest) -> None:
    """Fail early on a sleeping device, where a skill's own error would mislead. The skill reports all else."""
    try:
        device = known_device(request.device)
        if device is not None:
            require_awake(device)
    except ClawError as e:
        if e.code == "DEVICE_NOT_INTERACTIVE":
            raise


def _prepare(registry: SkillRegistry, request: SkillRunRequest) -> _PreparedSkill:
    _check_texts(request)
    entry = parse_entry(registry.entry(request.skill_id))
    description = read_skill_json(registry.file(os.path.join(entry.path, "skill.json")))
    contract = parse_contract(entry.id, description.get("contract"))
    inputs = None if contract.inputs is None else parse_inputs(entry.id, contract.inputs, request.args)
    agent, problem = None, ""
    if description.get("agent") is not None:
        try:
            agent = parse_agent(description["agent"])
        except ValueError as e:
            problem = str(e)
    script = _script(registry, entry)
    environment = _environment(registry, entry, request, inputs)
    if agent is not None:
        name, path = resolve_agent(agent, registry.file(entry.path))
        environment |= {"CLAWPERATOR_SKILL_AGENT_CLI": name, "CLAWPERATOR_SKILL_AGENT_CLI_PATH": path}
        environment["CLAWPERATOR_SKILL_AGENT_TIMEOUT_MS"] = str(round(_seconds(request, agent) * 1000))
    device = [request.device] if request.device else []
    argv = [*_command(script), *device, *request.args]
    return _PreparedSkill(contract, inputs, agent, problem, argv, environment)


def _check_texts(request: SkillRunRequest) -> None:
    """Refuse a device or an argument that no process can be given."""
    for text in (request.device or "", *request.args):
        if "\0" in text or not is_encodable(text):
            message, hint = f"the argument {text!r} is not valid text", "Pass UTF-8 text without NUL characters."
            raise skill_error("SKILL_INPUT_INVALID", request.skill_id, message, hint)


def _script(registry: SkillRegistry, entry: SkillEntry) -> str:
    found = (path for kind in _SCRIPT_SUFFIXES for path in entry.scripts if path.endswith(kind))
    chosen = next(found, next(iter(entry.scripts), None))
    path = registry.file(chosen) if chosen is not None else ""
    if not path or not os.path.isfile(path):
        message = f"skill {entry.id} has no script" if not path else f"script {path} not found"
        hint = f"Run 'clawperator skills validate {entry.id}'."
        raise skill_error("SKILL_SCRIPT_NOT_FOUND", entry.id, message, hint)
    return path


def _command(script: str) -> list[str]:
    """The command of a script: this Python for .py, Node for .js, the script itself otherwise."""
    if script.endswith(".py"):
        return [sys.executable, script]
    if not script.endswith(".js"):
        return [script]
    import shutil

    node = shutil.which("node")
    if node is None:
        message = "this skill needs Node.js, and 'node' is not on PATH"
        raise skill_error("HOST_DEPENDENCY_MISSING", script, message, "Install Node.js.")
    return [node, script]


def _environment(
    registry: SkillRegistry, entry: SkillEntry, request: SkillRunRequest, inputs: dict[str, str | int] | None
) -> dict[str, str]:
    variables = {
        "CLAWPERATOR_BIN": os.environ.get("CLAWPERATOR_BIN") or f"{shlex.quote(sys.executable)} -P -m clawperator",
        # A script reads documents, whatever the user likes to see.
        "CLAWPERATOR_OUTPUT": "json",
        "CLAWPERATOR_SKILL_ID": entry.id,
        "CLAWPERATOR_SKILL_PROGRAM": registry.file(entry.skillFile),
        "CLAWPERATOR_SKILL_INPUTS": msgspec.json.encode(list(request.args) if inputs is None else inputs).decode(),
    }
    operator = _operator(request)
    if operator is not None:
        variables["CLAWPERATOR_OPERATOR_PACKAGE"] = operator
    if request.device:
        variables["CLAWPERATOR_DEVICE_ID"] = request.device
    if request.allow_schemes:
        listed = os.environ.get(SCHEMES_VARIABLE, "").split(",")
        allowed = read_schemes((*request.allow_schemes, *filter(None, map(str.strip, listed))))
        variables[SCHEMES_VARIABLE] = ",".join(sorted(allowed))
    inherited = child_environment(f"skill {entry.id}", variables, pass_env=request.pass_env)
    return {**inherited, **policy_environment()}


def _operator(request: SkillRunRequest) -> str | None:
    """The named Operator, or the one that is enabled on the skill's device.

    None when there is none: commands of the skill then use plain adb.
    """
    named = named_operator(request.operator_package)
    if named is not None:
        return named
    try:
        device = known_device(request.device)
        return None if device is None else enabled_operator(device)
    except ClawError:
        return None  # the skill's own commands report the error


def _seconds(request: SkillRunRequest, agent: SkillAgent | None) -> float:
    given = request.timeout_ms
    if given is None:
        given = agent.timeoutMs if agent is not None and agent.timeoutMs else DEFAULT_TIMEOUT_MS
    if given <= 0:
        raise ClawError("USAGE", "the timeout must be greater than 0", operation="argparse")
    return given / 1000


def _build_result(
    request: SkillRunRequest, prepared: _PreparedSkill, outcome: ScriptExit, seconds: float
) -> SkillRun:
    details = _run_details(request, outcome)
    if outcome.reason == "stopped":
        log_event("skills.run.failed", level="error", skillId=request.skill_id, durationMs=details["durationMs"])
        raise _failure("INTERRUPTED", f"skill {request.skill_id} was interrupted", details)
    if outcome.reason:
        log_event("skills.run.timeout", level="error", skillId=request.skill_id, durationMs=details["durationMs"])
        if outcome.reason == "timeout":
            message = f"skill {request.skill_id} timed out after {seconds:g} s"
            hint = "Retry with a longer timeout. The output so far is in stdout and stderr."
            raise _failure("SKILL_EXECUTION_TIMEOUT", message, details, hint=hint)
        message = f"skill {request.skill_id} wrote more than {MAX_OUTPUT_BYTES} bytes and was killed"
        raise _failure("SKILL_EXECUTION_FAILED", message, details)
    try:
        result = _result(request.skill_id, prepared, outcome.stdout)
    except ClawError as e:
        raise _failure(e.code, e.message, {**details, "exitCode": outcome.code}, hint=e.hint) from None
    details |= {"exitCode": outcome.code, "skillResult": result}
    if outcome.code != 0:
        log_event("skills.run.failed", level="error", skillId=request.skill_id, durationMs=details["durationMs"])
        raise _failure("SKILL_EXECUTION_FAILED", _failure_message(request.skill_id, outcome, result), details)
    if request.expect is not None and request.expect not in outcome.stdout:
        message = f"the output of {request.skill_id} does not contain {request.expect!r}"
        details.pop("stdout", None)
        details |= {"output": outcome.stdout, "expectedSubstring": request.expect}
        raise _failure("SKILL_OUTPUT_ASSERTION_FAILED", message, details)
    _check_result(request.skill_id, prepared, result, details)
    log_event("skills.run.complete", skillId=request.skill_id, durationMs=details["durationMs"])
    run = SkillRun(
        skillId=request.skill_id,
        output=outcome.stdout,
        exitCode=0,
        durationMs=details["durationMs"],
        skillResult=result,
        timeoutMs=UNSET if request.timeout_ms is None else request.timeout_ms,
        expectedSubstring=UNSET if request.expect is None else request.expect,
    )
    return mask(run, known_secrets())


def _result(skill_id: str, prepared: _PreparedSkill, output: str) -> dict[str, Any] | None:
    source: dict[str, Any] = {"kind": "script"}
    if prepared.agent is not None:
        source = {"kind": "agent", "agentCli": prepared.environment["CLAWPERATOR_SKILL_AGENT_CLI"]}
    result = read_frame(output, skill_id, source)
    if result is not None and prepared.agent_problem:
        message = f"the result has no valid source: the agent in skill.json is invalid: {prepared.agent_problem}"
        raise skill_error("SKILL_RESULT_PARSE_FAILED", skill_id, message)
    if result is not None and is_newer_contract(result):
        version = result["contractVersion"]
        log_event("skills.run.output", f"result contract {version} is newer", level="warn", skillId=skill_id)
    return result


def _check_result(
    skill_id: str, prepared: _PreparedSkill, result: dict[str, Any] | None, details: dict[str, Any]
) -> None:
    """Check the result of a script with exit code 0: its status, and the verification its contract requires.

    A skill whose contract requires no verification may end without a result.
    """
    rule = prepared.contract.verification
    if result is None and rule is None:
        return
    if result is not None and result["status"] == "failed":
        message = f"skill {skill_id} reported failure{_failure_point(result)}"
        raise _failure("SKILL_EXECUTION_FAILED", message, details)
    verification = (result or {}).get("terminalVerification") or {}
    problem = ""
    if result is None:
        problem = "it printed no result frame"
    elif result["status"] == "indeterminate":
        problem = "its result is indeterminate"
    elif rule is not None and verification.get("status") != "verified":
        problem = f"its terminal verification is {verification.get('status', 'missing')}"
    elif rule is not None:
        expected = expected_text(rule, prepared.inputs or result.get("inputs") or {})
        if not contains_text(verification.get("observed"), expected):
            problem = f"the observed value does not contain {expected!r}"
    if problem:
        message = f"skill {skill_id} did not verify its goal: {problem}"
        hint = "Run 'clawperator snapshot' to see the screen; the output of the skill is in stdout."
        raise _failure("SKILL_VERIFICATION_INDETERMINATE", message, details, hint=hint)


def _run_details(request: SkillRunRequest, outcome: ScriptExit) -> dict[str, Any]:
    output = {"stdout": outcome.stdout, "stderr": outcome.stderr}
    return {
        "skillId": request.skill_id,
        "durationMs": round(outcome.seconds * 1000),
        **{name: text for name, text in output.items() if text},
        "skillResult": None,
        **_given_timeout(request),
    }


def _given_timeout(request: SkillRunRequest) -> dict[str, int | float]:
    return {} if request.timeout_ms is None else {"timeoutMs": request.timeout_ms}


def _failure(code: str, message: str, details: dict[str, Any], *, hint: str | None = None) -> ClawError:
    # The script has run, and what it did on the device is not known.
    message, hint, extra = mask((message, hint, details), known_secrets())
    error = skill_error(code, details["skillId"], message, hint, operation="skills run")
    return error.with_(extra=extra, after_effect=True)


def _failure_message(skill_id: str, outcome: ScriptExit, result: dict[str, Any] | None) -> str:
    if result is not None:
        return f"skill {skill_id} failed{_failure_point(result)}"
    if outcome.code is not None and outcome.code < 0:
        return f"skill {skill_id} ended with signal {-outcome.code}"
    return f"skill {skill_id} ended with exit code {outcome.code}"


def _failure_point(result: dict[str, Any]) -> str:
    """The failed checkpoint or verification of a result, as the end of a sentence."""
    for point in result["checkpoints"]:
        if point["status"] == "failed":
            remark = point.get("note")
            return f" at {point['id']}" + (f": {remark}" if remark else "")
    verification = result.get("terminalVerification") or {}
    if verification.get("status") == "failed":
        return " at its terminal verification"
    remark = verification.get("note")
    return f" before its terminal verification: {remark}" if remark else ""
