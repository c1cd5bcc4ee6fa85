"""Running skills: environment, result checks, timeouts and interruption."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.skill_result import FRAME_MARKER
from clawperator.errors import ClawError
from clawperator.skills import run as run_module
from clawperator.skills.registry import read_registry
from clawperator.skills.run import SkillRunRequest, is_newer_contract, read_frame, run_script, run_skill
from tests.skills.sample_skills import ID, frame, write_skill
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, clawperator

# Result frames

SCRIPT = {"kind": "script"}


def read(output: str) -> dict[str, Any] | None:
    return read_frame(output, ID, dict(SCRIPT))


def framed(document: Any, before: str = "hello\n", after: str = "\n") -> str:
    return f"{before}{FRAME_MARKER}\n{document if isinstance(document, str) else json.dumps(document)}{after}"


@pytest.mark.parametrize("output", ["", "hello\n", f" {FRAME_MARKER}\n{{}}\n", f"x{FRAME_MARKER}\n{{}}\n"])
def test_output_without_the_marker_has_no_result(output: str) -> None:
    assert read(output) is None


@pytest.mark.parametrize(
    "output",
    [
        framed(frame()),
        framed(frame(), after="\n\n  \n"),
        framed(frame(), after=""),
        framed(frame(), before=""),
        f"{FRAME_MARKER}\n\n\n{json.dumps(frame())}\n",
        f"{FRAME_MARKER}\r\n{json.dumps(frame())}\r\n",
        framed(frame(unknown=1, diagnostics={"more": [1]})),
    ],
)
def test_a_frame_at_the_end_is_the_result(output: str) -> None:
    result = read(output)
    assert result is not None
    assert (result["skillId"], result["source"]) == (ID, SCRIPT)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (f"{FRAME_MARKER}\n", "no JSON follows"),
        (framed(frame()) + "more\n", "not at the end"),
        (framed(frame()) * 2, "more than once"),
        (framed("[]"), "not an object"),
        (framed("{"), "not valid JSON"),
        (framed(frame(source=SCRIPT)), "'source'"),
        (framed(frame(status="good")), "status"),
        (framed(frame(checkpoints=[{"id": "", "status": "ok"}])), "checkpoints"),
        (framed(frame(contractVersion="2.0.0")), "unsupported"),
        (framed(frame(contractVersion="one")), "contractVersion"),
        (framed(frame(contractVersion=f"1.{'9' * 5_000}.0")), "contractVersion"),
        (framed(frame(checkpoints=[{"id": "a", "status": "ok", "note": None}])), "note"),
        (framed(frame(skillId="other")), "'other'"),
        (framed(json.dumps(frame(), indent=1)), "not at the end"),
    ],
)
def test_an_invalid_frame_is_rejected(output: str, expected: str) -> None:
    with pytest.raises(ClawError) as caught:
        read(output)
    assert caught.value.code == "SKILL_RESULT_PARSE_FAILED"
    assert expected in caught.value.message


def test_a_later_minor_version_is_understood() -> None:
    for version in ("1.7.0", " 1.7.0 "):
        result = read(framed(frame(contractVersion=version)))
        assert result is not None
        assert is_newer_contract(result)
    assert not is_newer_contract(frame())


@pytest.mark.random
@given(st.lists(st.sampled_from([FRAME_MARKER, json.dumps(frame()), "{}", "", " ", "text", "\r"]), max_size=6))
def test_any_output_is_a_result_or_none_or_refused(lines: list[str]) -> None:
    try:
        result = read("\n".join(lines))
    except ClawError as e:
        assert e.code == "SKILL_RESULT_PARSE_FAILED"  # noqa: PT017 - either way is allowed
    else:
        shown = [line for line in lines if line.strip()]
        assert (result is None) == (FRAME_MARKER not in lines)
        assert result is None or shown[-2:] == [FRAME_MARKER, json.dumps(frame())]


# Runs

CONTRACT = {"inputs": {"name": "string", "times": "integer[1,3]"}}


def run(registry: Path, *argv: str) -> Ran:
    return clawperator("skills", "run", ID, "--registry", str(registry), *argv)


def printing(document: Any, code: int = 0) -> str:
    """A script that prints a result frame."""
    return f"print('hello')\nprint({FRAME_MARKER!r})\nprint({json.dumps(document)!r})\nraise SystemExit({code})\n"


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def assert_killed(pids: str) -> None:
    """A killed process may stay visible for a moment."""
    deadline = time.monotonic() + 10
    while any(is_alive(int(pid)) for pid in pids.split()):
        assert time.monotonic() < deadline, "still running"
        time.sleep(0.02)


def test_a_script_without_a_frame_succeeds_by_its_exit_code(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "print('hello')"), "--timeout", "20000", "--expect-contains", "hell")
    assert ran.code == 0
    document = ran.json
    assert document.pop("durationMs") > 0
    assert document == {
        "status": "success",
        "skillId": ID,
        "output": "hello\n",
        "exitCode": 0,
        "skillResult": None,
        "timeoutMs": 20000,
        "expectedSubstring": "hell",
    }


def test_a_frame_becomes_the_result(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, printing(frame())))
    assert ran.json["skillResult"] == {**frame(), "source": {"kind": "script"}}


def test_a_failing_script_keeps_its_result_and_output(tmp_path: Path) -> None:
    points = [{"id": "one", "status": "ok"}, {"id": "two", "status": "failed", "note": "no door"}]
    failed = frame(status="failed", checkpoints=points)
    ran = run(write_skill(tmp_path, "import sys\nprint('oh', file=sys.stderr)\n" + printing(failed, 3)))
    assert (ran.code, ran.json["code"], ran.json["exitCode"]) == (1, "SKILL_EXECUTION_FAILED", 3)
    assert ran.json["message"] == f"skill {ID} failed at two: no door"
    assert ran.json["stderr"] == "oh\n"
    assert ran.json["skillResult"]["status"] == "failed"


def test_empty_output_is_omitted(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "raise SystemExit(4)"))
    assert (ran.json["exitCode"], ran.json["skillResult"]) == (4, None)
    assert not {"stdout", "stderr"} & set(ran.json)


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (frame(status="failed"), "SKILL_EXECUTION_FAILED"),
        (frame(status="indeterminate"), "SKILL_VERIFICATION_INDETERMINATE"),
        (frame(skillId="other"), "SKILL_RESULT_PARSE_FAILED"),
    ],
)
def test_exit_code_0_does_not_hide_a_failed_frame(tmp_path: Path, document: Any, code: str) -> None:
    ran = run(write_skill(tmp_path, printing(document)))
    assert (ran.code, ran.json["code"]) == (1, code)


def test_an_invalid_frame_is_reported_before_the_exit_code(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, printing([], 3)))
    assert (ran.json["code"], ran.json["exitCode"], ran.json["skillResult"]) == (
        "SKILL_RESULT_PARSE_FAILED",
        3,
        None,
    )


def test_output_without_the_expected_text_fails(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "print('hello')"), "--expect-contains", "bye")
    assert (ran.code, ran.json["code"], ran.json["output"]) == (1, "SKILL_OUTPUT_ASSERTION_FAILED", "hello\n")
    assert ran.json["expectedSubstring"] == "bye"
    assert "stdout" not in ran.json  # it is in output, once


@pytest.mark.parametrize(
    ("script", "argv", "code"),
    [
        ("print('hello')", ("--expect-contains", "bye"), "SKILL_OUTPUT_ASSERTION_FAILED"),
        ("raise SystemExit(4)", (), "SKILL_EXECUTION_FAILED"),
        (printing(frame(skillId="other")), (), "SKILL_RESULT_PARSE_FAILED"),
        (printing(frame(status="indeterminate")), (), "SKILL_VERIFICATION_INDETERMINATE"),
    ],
)
def test_a_failure_reports_the_timeout_that_was_given(
    tmp_path: Path, script: str, argv: tuple[str, ...], code: str
) -> None:
    registry = write_skill(tmp_path, script)
    given = run(registry, "--timeout", "30000", *argv)
    assert (given.json["code"], given.json["timeoutMs"]) == (code, 30_000)
    assert "timeoutMs" not in run(registry, *argv).json


def test_arguments_and_environment_of_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAWPERATOR_TEST_DATA", "CLAWPERATOR_TEST_CACHE"):
        monkeypatch.delenv(name, raising=False)
    script = "import json, os, sys\nprint(json.dumps([sys.argv[1:], dict(os.environ), sys.stdin.read()]))\n"
    registry = write_skill(tmp_path, script)
    argv = ("--device", "claw-7", "--operator-package", "com.op", "--", "--any", "thing", "--", "-x")
    given, env, stdin = json.loads(run(registry, *argv).json["output"])
    assert given == ["claw-7", "--any", "thing", "--", "-x"]
    assert stdin == ""
    variables = {
        name.removeprefix("CLAWPERATOR_"): value for name, value in env.items() if name.startswith("CLAWPERATOR_")
    }
    assert variables.pop("SKILL_PROGRAM") == str(tmp_path / "skills" / ID / "SKILL.md")
    assert json.loads(variables.pop("SKILL_INPUTS")) == ["--any", "thing", "--", "-x"]
    assert variables == {
        "BIN": f"{sys.executable} -P -m clawperator",
        "DEVICE_ID": "claw-7",
        "OPERATOR_PACKAGE": "com.op",
        "OUTPUT": "json",
        "PARENT": f"skill {ID}",
        "SKILL_ID": ID,
    }


def test_declared_inputs_reach_the_script_by_name(tmp_path: Path) -> None:
    registry = write_skill(tmp_path, "import os\nprint(os.environ['CLAWPERATOR_SKILL_INPUTS'])", contract=CONTRACT)
    for argv in (["Ann", "2"], ["--times", "2", "--name=Ann"], ["--times=2", "Ann"]):
        assert json.loads(run(registry, "--", *argv).json["output"]) == {"name": "Ann", "times": 2}


def test_flags_after_two_dashes_are_passed_to_the_skill(tmp_path: Path) -> None:
    registry = write_skill(tmp_path, "import os\nprint(os.environ['CLAWPERATOR_SKILL_INPUTS'])", contract=CONTRACT)
    ran = run(registry, "--expect-contains", "Ann", "--", "--name", "Ann", "--times=2")
    assert json.loads(ran.json["output"]) == {"name": "Ann", "times": 2}
    ran = run(registry, "--name", "Ann")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert "after '--'" in ran.json["hint"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], "name is missing"),
        (["Ann"], "times is missing"),
        (["Ann", "4"], "from 1 to 3"),
        (["Ann", "two"], "from 1 to 3"),
        (["Ann", "2", "more"], "'more' is not an input"),
        (["--name", "Ann", "--name", "Ben", "2"], "twice"),
        (["Ann", "--tims", "2"], "not an input"),
    ],
)
def test_invalid_inputs_are_rejected_before_the_script_runs(
    tmp_path: Path, argv: list[str], expected: str
) -> None:
    ran = run(write_skill(tmp_path, "open('ran', 'w')", contract=CONTRACT), "--", *argv)
    assert (ran.code, ran.json["code"]) == (1, "SKILL_INPUT_INVALID")
    assert expected in ran.json["message"]
    assert " -- --name <string> --times <integer" in ran.json["hint"]


def test_the_hint_of_a_skill_without_inputs_is_its_plain_command(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "", contract={**CONTRACT, "inputs": {}}), "--", "extra")
    assert ran.json["hint"].endswith(f"skills run {ID}'.")


@pytest.mark.parametrize(
    ("verification", "code"),
    [
        ({"status": "verified", "observed": {"kind": "text", "text": "Hello Ann!"}}, None),
        ({"status": "verified", "observed": {"kind": "json", "value": {"a": ["Hello  Ann"]}}}, None),
        (
            {"status": "verified", "observed": {"kind": "text", "text": "Hello Anna"}},
            "SKILL_VERIFICATION_INDETERMINATE",
        ),
        ({"status": "verified"}, "SKILL_VERIFICATION_INDETERMINATE"),
        ({"status": "not_run"}, "SKILL_VERIFICATION_INDETERMINATE"),
        (None, "SKILL_VERIFICATION_INDETERMINATE"),
    ],
)
def test_a_declared_verification_is_required(tmp_path: Path, verification: Any, code: str | None) -> None:
    contract = {
        "inputs": {"name": "string"},
        "verification": {"kind": "node_text_matches", "matcher": "Hello {name}"},
    }
    registry = write_skill(tmp_path, printing(frame(terminalVerification=verification)), contract=contract)
    assert run(registry, "--", "Ann").json.get("code") == code


@pytest.mark.parametrize("flags", [(), ("--expect-contains", "hello"), ("--timeout", "20000")])
def test_a_declared_verification_is_missing_without_a_frame(tmp_path: Path, flags: tuple[str, ...]) -> None:
    contract = {"verification": {"kind": "node_text_matches", "matcher": "Hello"}}
    ran = run(write_skill(tmp_path, "print('hello')", contract=contract), *flags)
    assert (ran.code, ran.json["code"]) == (1, "SKILL_VERIFICATION_INDETERMINATE")
    assert ran.json["message"] == f"skill {ID} did not verify its goal: it printed no result frame"
    assert (ran.json["exitCode"], ran.json["stdout"], ran.json["skillResult"]) == (0, "hello\n", None)


def test_a_skill_that_ran_is_never_retryable(tmp_path: Path) -> None:
    registry = read_registry(str(write_skill(tmp_path, "import time\ntime.sleep(60)")))
    with pytest.raises(ClawError) as error:
        run_skill(registry, SkillRunRequest(ID), stop=lambda: True)
    assert (error.value.code, error.value.after_effect, error.value.retryable) == ("INTERRUPTED", True, False)


def test_a_shell_script_is_executed_directly(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, '#!/bin/sh\necho "sh $1"\n', "run.sh"), "--", "me")
    assert ran.json["output"] == "sh me\n"


def test_a_shell_script_that_cannot_start_is_reported(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "#!/bin/nowhere\n", "run.sh"), "--timeout", "9000")
    assert (ran.json["code"], ran.json["skillResult"]) == ("SKILL_EXECUTION_FAILED", None)
    assert ran.json["timeoutMs"] == 9000
    assert "chmod" in ran.json["hint"]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node")
def test_a_javascript_skill_runs_under_node(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "console.log('js ' + process.argv[2])", "run.js", mode=0o644), "--", "me")
    assert ran.json["output"] == "js me\n"


def test_a_javascript_skill_needs_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(write_skill(tmp_path, "", "run.js")).json["code"] == "HOST_DEPENDENCY_MISSING"


def test_an_invalid_skill_does_not_run(tmp_path: Path) -> None:
    registry = write_skill(tmp_path, "print('ran')")
    (tmp_path / "skills" / ID / "SKILL.md").unlink()
    assert run(registry).json["code"] == "SKILL_VALIDATION_FAILED"
    assert run(registry, "--skip-validate").json["output"] == "ran\n"
    (tmp_path / "skills" / ID / "scripts" / "run.py").unlink()
    assert run(registry, "--skip-validate").json["code"] == "SKILL_SCRIPT_NOT_FOUND"


def test_a_timeout_kills_the_whole_process_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_TERM_SECONDS", 0.3)
    script = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep 60; sleep 60'])\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "print('partly', file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    started = time.monotonic()
    ran = run(write_skill(tmp_path, script), "--timeout", "3000")
    assert time.monotonic() - started < HANG_SECONDS
    assert (ran.code, ran.json["code"]) == (1, "SKILL_EXECUTION_TIMEOUT")
    assert (ran.json["stderr"], ran.json["skillResult"]) == ("partly\n", None)
    assert_killed(ran.json["stdout"])


def test_a_frame_is_ignored_after_a_timeout(tmp_path: Path) -> None:
    script = f"print({FRAME_MARKER!r}); print({json.dumps(frame())!r}, flush=True)\nimport time; time.sleep(600)"
    ran = run(write_skill(tmp_path, script), "--timeout", "3000")
    assert (ran.json["code"], ran.json["skillResult"]) == ("SKILL_EXECUTION_TIMEOUT", None)
    assert FRAME_MARKER in ran.json["stdout"]


def test_a_child_that_holds_the_streams_open_does_not_delay_the_run(tmp_path: Path) -> None:
    script = "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nprint(child.pid)"
    ran = run(write_skill(tmp_path, script))
    child = int(ran.json["output"])
    assert is_alive(child)
    os.kill(child, signal.SIGKILL)


def test_a_skill_with_too_much_output_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "MAX_OUTPUT_BYTES", 100_000)
    ran = run(write_skill(tmp_path, "while True: print('x' * 1000)"))
    assert ran.json["code"] == "SKILL_EXECUTION_FAILED"
    assert len(ran.json["stdout"]) == 100_000


def test_pretty_output_streams_the_script_then_the_document(tmp_path: Path) -> None:
    ran = run(write_skill(tmp_path, "print('hello')"), "--output", "pretty")
    first, *document = ran.out.decode().splitlines()
    assert first == "hello"
    assert json.loads("\n".join(document))["output"] == "hello\n"
    assert f"running {ID}" in ran.err


def test_sigterm_to_the_command_ends_the_skill(tmp_path: Path) -> None:
    script = "import os, time\nopen('pid.part', 'w').write(str(os.getpid()))\nos.rename('pid.part', 'pid')\ntime.sleep(60)"
    registry = write_skill(tmp_path, script)
    argv = [sys.executable, "-m", "clawperator", "skills", "run", ID, "--registry", str(registry)]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE) as ours:
        deadline = time.monotonic() + HANG_SECONDS
        while not (tmp_path / "pid").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(ours.pid, signal.SIGTERM)
        out, _ = ours.communicate(timeout=HANG_SECONDS)
    assert json.loads(out)["code"] == "INTERRUPTED"
    assert_killed((tmp_path / "pid").read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_skill_is_being_started_ends_it(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The process exists before the call that starts it returns."""
    started: list[int] = []

    class InterruptedStart(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self.pid)
            os.kill(os.getpid(), number)
            time.sleep(0)  # Python handles the signal here at the latest

    monkeypatch.setattr(subprocess, "Popen", InterruptedStart)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_script([sys.executable, "-c", "import time; time.sleep(60)"], dict(os.environ), seconds=60)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert_killed(" ".join(map(str, started)))


# Agents

PRINT_AGENT = "import json, os\nprint(json.dumps({k: v for k, v in os.environ.items() if 'AGENT' in k}))\n"


def test_an_agent_is_found_beside_the_skill_or_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = {"cli": "helper", "cliPath": "scripts/run.py", "timeoutMs": 5000}
    registry = write_skill(tmp_path, PRINT_AGENT + printing(frame()), agent=agent)
    document = run(registry).json
    assert document["skillResult"]["source"] == {"kind": "agent", "agentCli": "helper"}
    variables = json.loads(document["output"].splitlines()[0])
    assert variables["CLAWPERATOR_SKILL_AGENT_CLI_PATH"] == str(tmp_path / "skills" / ID / "scripts" / "run.py")
    assert variables["CLAWPERATOR_SKILL_AGENT_TIMEOUT_MS"] == "5000"
    monkeypatch.setenv("CLAWPERATOR_SKILL_AGENT_CLI", "sh")
    variables = json.loads(run(registry).json["output"].splitlines()[0])
    assert variables["CLAWPERATOR_SKILL_AGENT_CLI_PATH"] == shutil.which("sh")


@pytest.mark.parametrize(
    ("agent", "variable"),
    [({"cli": "no-such-agent"}, None), ({"cli": "a", "cliPath": "none.sh"}, None), ({"cli": "sh"}, "../sh")],
)
def test_an_unavailable_agent_is_reported_before_the_script_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Any, variable: str | None
) -> None:
    if variable:
        monkeypatch.setenv("CLAWPERATOR_SKILL_AGENT_CLI", variable)
    assert run(write_skill(tmp_path, "print(1)", agent=agent)).json["code"] == "SKILL_AGENT_CLI_UNAVAILABLE"


def test_the_result_of_a_skill_with_an_invalid_agent_is_rejected(tmp_path: Path) -> None:
    registry = write_skill(tmp_path, printing(frame()), agent={"cli": ""})
    assert run(registry).json["code"] == "SKILL_VALIDATION_FAILED"
    assert run(registry, "--skip-validate").json["code"] == "SKILL_RESULT_PARSE_FAILED"


# Stopping

SLEEPERS = (
    "import os, signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep 60; sleep 60'])\n"
    "print(os.getpid(), child.pid, flush=True)\n"
)


def test_a_stopped_skill_is_killed_with_its_process_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_TERM_SECONDS", 0.3)
    chunks: list[bytes] = []
    registry = read_registry(str(write_skill(tmp_path, SLEEPERS + "time.sleep(600)")))
    started = time.monotonic()
    with pytest.raises(ClawError) as caught:
        run_skill(registry, SkillRunRequest(ID), lambda _, data: chunks.append(data), stop=lambda: bool(chunks))
    assert time.monotonic() - started < HANG_SECONDS
    assert (caught.value.code, caught.value.extra["skillResult"]) == ("INTERRUPTED", None)
    assert_killed(caught.value.extra["stdout"])


def test_a_skill_that_closed_its_streams_can_be_stopped(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    script = f"import os, time\nos.close(1); os.close(2)\nopen({str(begun)!r}, 'w').write('x')\ntime.sleep(60)"
    registry = read_registry(str(write_skill(tmp_path, script)))
    with pytest.raises(ClawError) as caught:
        run_skill(registry, SkillRunRequest(ID), stop=begun.exists)
    assert caught.value.code == "INTERRUPTED"


def test_a_skill_without_a_signal_runs_to_its_end(tmp_path: Path) -> None:
    registry = read_registry(str(write_skill(tmp_path, "print('hello')")))
    assert run_skill(registry, SkillRunRequest(ID), stop=lambda: False).output == "hello\n"


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "x\udcff"])
def test_an_argument_or_device_that_is_not_text_is_refused(tmp_path: Path, odd: str) -> None:
    registry = write_skill(tmp_path, "print('hello')")
    for argv in (["--", odd], ["--device", odd]):
        ran = run(registry, *argv)
        assert (ran.code, ran.json["code"]) == (1, "SKILL_INPUT_INVALID")


@pytest.mark.parametrize("code", [0, 3])
def test_declared_secrets_are_masked_in_what_a_skill_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    (tmp_path / "clawperator.toml").write_text('secrets = ["SHOP_PASSWORD"]\n')
    result = frame(checkpoints=[{"id": "in", "status": "ok", "note": "typed hunter2"}], inputs={"x": ["hunter2"]})
    script = f"import sys\nprint('is hunter2', file=sys.stderr)\nprint({framed(result)!r})\nsys.exit({code})\n"
    registry = read_registry(str(write_skill(tmp_path, script)))
    heard: list[bytes] = []
    try:
        ran = msgspec.json.encode(run_skill(registry, SkillRunRequest(ID), lambda _, data: heard.append(data)))
    except ClawError as e:
        assert code
        ran = msgspec.json.encode(e.document())
    assert "typed ••••" in ran.decode()
    assert b"hunter2" not in ran + b"".join(heard)
