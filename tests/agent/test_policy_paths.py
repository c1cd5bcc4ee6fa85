"""The same rules hold on every path by which an action can reach a phone: an oracle decides, each path must agree."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clawperator
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope
from clawperator.device.run import run as device_run
from clawperator.errors import ClawError
from clawperator.policy.rules import Policy, encode_policy, read_rule
from tests.device.phone_servers import running_phone_server
from tests.replay.flows import FLOWS, record
from tests.skills.sample_skills import ID, write_skill
from tests.support.running import claw_json
from tests.support.running import clawperator as run_clawperator

REACHED = "NODE_NOT_CLICKABLE"
DENIED = "PERMISSION_DENIED"


class Case(NamedTuple):
    """An action, its parameters, and the words of the command that does the same."""

    action: str
    params: dict[str, Any]
    command: str
    subject: str
    performs: tuple[str, ...] = ()


CASES = (
    Case("press_key", {"key": "home"}, "press home", "home"),
    Case("open_app", {"applicationId": "com.example"}, "open com.example", "com.example"),
    Case("click", {"matcher": {"textEquals": "Delete"}}, "click --text Delete", "Delete"),
    Case(
        "scroll_and_click",
        {"matcher": {"textEquals": "Delete"}, "direction": "down", "clickAfter": True},
        "scroll-until --click --text=Delete",
        "Delete",
        ("click",),
    ),
    Case("snapshot_ui", {}, "snapshot", ""),
    Case("read_text", {"matcher": {"textEquals": "Delete"}}, "read --text Delete", "Delete"),
)


class Rules(NamedTuple):
    """Rules as the oracle sees them: a name, and a subject or None."""

    mode: str
    deny: list[tuple[str, str | None]]
    allow: list[str]

    @property
    def flags(self) -> list[str]:
        denied = [flag for rule in self.deny for flag in ("--deny-tool", written(*rule))]
        allowed = [flag for rule in self.allow for flag in ("--allow-tool", rule)]
        return ["--permission-mode", self.mode, *denied, *allowed]

    @property
    def variable(self) -> str:
        deny = tuple(read_rule(written(*rule), "test") for rule in self.deny)
        allow = tuple(read_rule(rule, "test") for rule in self.allow)
        return encode_policy(Policy("read-only" if self.mode == "read-only" else "act", allow=allow, deny=deny))


def written(name: str, subject: str | None) -> str:
    return name if subject is None else f"{name}({subject})"


def oracle(case: Case, rules: Rules, *wrappers: str) -> str:
    """The decision by the documented precedence. ``wrappers`` are calls of level act that contain the action."""
    for name, subject in rules.deny:
        names = {known for one in (case.action, *case.performs) for known in (one, *ACTIONS[one].aliases)}
        covers = any(other.startswith(name[:-1]) for other in (case.action, *case.performs))
        if (covers if name.endswith("*") else name in names) and subject in (None, case.subject):
            return DENIED
    for wrapper in wrappers:
        if any(subject is None and name in ("*", wrapper) for name, subject in rules.deny):
            return DENIED
    levels = {case.action: ACTIONS[case.action].read_only, **dict.fromkeys(wrappers, False)}
    acting = [name for name, read_only in levels.items() if not read_only]
    if rules.mode == "read-only" and any(name not in rules.allow and "*" not in rules.allow for name in acting):
        return DENIED
    return REACHED


NAMES = st.sampled_from(
    ["press_key", "open_app", "click", "tap", "scroll*", "read_text", "*", "close_app", "snapshot_ui"]
)
RULES = st.builds(
    Rules,
    st.sampled_from(["read-only", "act"]),
    st.lists(
        st.tuples(NAMES, st.sampled_from([None, None, "Delete", "home", "com.example", "other"])), max_size=2
    ),
    st.lists(st.sampled_from(["*", "click", "press_key", "run_execution", "sleep"]), max_size=2),
)


def plan(case: Case) -> dict[str, Any]:
    return {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": "a", "type": case.action, "params": case.params}],
    }


def claw_code(rules: Rules, *argv: str) -> str:
    return str(claw_json(*argv, *rules.flags).json["error"]["code"])


def by_tool(case: Case, rules: Rules) -> str:
    return claw_code(rules, "exec-tool", case.action, json.dumps(case.params))


def by_plan(case: Case, rules: Rules) -> str:
    actions = [{"type": "sleep", "params": {"durationMs": 0}}, {"type": case.action, "params": case.params}]
    return claw_code(rules, "exec-tool", "run_execution", json.dumps({"actions": actions}))


def by_command(case: Case, rules: Rules) -> str:
    name, *words = shlex.split(case.command)
    return claw_code(rules, "exec-command", name, shlex.join(words))


def by_exec(case: Case, rules: Rules) -> str:
    return claw_code(rules, "exec-command", "exec", f"--payload {shlex.quote(json.dumps(plan(case)))}")


def by_nested_tool(case: Case, rules: Rules) -> str:
    return claw_code(rules, "exec-command", "exec-tool", shlex.join([case.action, json.dumps(case.params)]))


def by_nested_command(case: Case, rules: Rules) -> str:
    name, *words = shlex.split(case.command)
    return claw_code(rules, "exec-command", "exec-command", shlex.join([name, shlex.join(words)]))


def by_child_command(case: Case, rules: Rules) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_POLICY", rules.variable)
        return str(run_clawperator(*shlex.split(case.command)).json["code"])


def by_child_exec(case: Case, rules: Rules) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_POLICY", rules.variable)
        return str(run_clawperator("exec", json.dumps(plan(case))).json["code"])


def by_child_claw(case: Case, rules: Rules) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_POLICY", rules.variable)
        return str(claw_json("exec-tool", case.action, json.dumps(case.params)).json["error"]["code"])


def by_python_api(case: Case, rules: Rules) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_POLICY", rules.variable)
        try:
            clawperator.connect().run([{"type": case.action, "params": case.params}])
        except ClawError as e:
            return e.code
    raise AssertionError("the test backend always fails")


# Each path with the calls of level act that wrap the action there.
PATHS: dict[str, tuple[Callable[[Case, Rules], str], tuple[str, ...]]] = {
    "tool": (by_tool, ()),
    "plan": (by_plan, ("run_execution",)),
    "command": (by_command, ()),
    "exec": (by_exec, ("run_execution",)),
    "nested tool": (by_nested_tool, ("exec-tool",)),
    "nested command": (by_nested_command, ("exec-command",)),
    "child command": (by_child_command, ()),
    "child exec": (by_child_exec, ("run_execution",)),
    "child claw": (by_child_claw, ("exec-tool",)),
    "Python API": (by_python_api, ()),
}


class _Recorder:
    """A backend that only counts what reaches it."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def run(self, plan: Plan) -> ResultEnvelope:
        self.plans.append(plan)
        raise ClawError(REACHED, "reached the phone")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def backend(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Recorder]:
    assert work.is_dir()
    recorder = _Recorder()
    monkeypatch.setattr(device_run, "choose_backend", lambda *_: recorder)
    with running_phone_server():
        yield recorder


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(case=st.sampled_from(CASES), rules=RULES)
def test_every_path_agrees_with_the_oracle(path: str, backend: _Recorder, case: Case, rules: Rules) -> None:
    act, wrappers = PATHS[path]
    backend.plans.clear()
    decision = act(case, rules)
    assert decision == oracle(case, rules, *wrappers)
    if decision == DENIED:
        assert all(planned.execution.actions[0].type != case.action for planned in backend.plans)
    else:
        assert backend.plans[-1].execution.actions[-1].type == case.action


# Recordings


@pytest.fixture
def recording(work: Path) -> str:
    return Path(record(FLOWS["settings_walk"], work)).name


@pytest.mark.parametrize(
    "rule", ["click", "tap", "press_key", "click(internet)", "close_app", "scroll", "snapshot_ui", "sleep", "*"]
)
def test_a_replay_checks_every_step_before_the_first(recording: str, rule: str) -> None:
    with running_phone_server() as phone_server:
        before = phone_server.phone.foreground()
        by_tool = claw_json("exec-tool", "recording_replay", json.dumps({"input": recording}), "--deny-tool", rule)
        by_command = claw_json("exec-command", "recording replay", f"--input {recording}", "--deny-tool", rule)
        assert phone_server.phone.foreground() == before
    assert by_tool.json["error"]["code"] == by_command.json["error"]["code"] == DENIED


def test_a_replay_that_may_not_close_apps_runs_where_they_are_kept(recording: str) -> None:
    with running_phone_server():
        payload = json.dumps({"input": recording})
        denied = claw_json("exec-tool", "recording_replay", payload, "--deny-tool", "close_app").json["error"]
        payload = json.dumps({"input": recording, "keepApps": True})
        kept = claw_json("exec-tool", "recording_replay", payload, "--deny-tool", "close_app").json
    assert "the replay closes com.android.settings first" in denied["message"]
    assert "replay without closing them" in denied["hint"]
    assert kept["result"]["ok"] is True


# Skills

SCRIPT = """
import os, shlex, subprocess, sys
import clawperator
done = []
for words in (["press", "home"], ["snapshot"], ["phone", "reset"], ["exec-tool", "press_key", '{"key":"home"}']):
    program = shlex.split(os.environ["CLAWPERATOR_BIN"])
    if words[0] == "exec-tool":
        program = [sys.executable, "-P", "-c", "import sys; from clawperator.cli.main import claw; sys.exit(claw())"]
        words = [*words, "--output-format", "json"]
    out = subprocess.run([*program, *words], capture_output=True, text=True).stdout
    done.append("PERMISSION_DENIED" if "PERMISSION_DENIED" in out else "ran")
for call in (lambda phone: phone.press("home"), lambda phone: phone.shell("id")):
    try:
        call(clawperator.connect())
        done.append("ran")
    except clawperator.ClawError as e:
        done.append(e.code)
print(" ".join(done))
"""
CALLS = ("press", "snapshot", "phone reset", "claw", "api press", "api shell")


@pytest.mark.parametrize(
    ("flags", "denied"),
    [
        (("--permission-mode", "full"), ()),
        ((), ("phone reset", "api shell")),
        (("--deny-tool", "press_key", "--permission-mode", "full"), ("press", "claw", "api press")),
        (("--ask-tool", "press_key(HOME)", "--permission-mode", "full"), ("press", "claw", "api press")),
    ],
)
def test_a_skill_may_do_no_more_than_its_caller(
    work: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], denied: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(write_skill(work, SCRIPT)))
    with running_phone_server():
        ran = claw_json("exec-tool", "run_skill", json.dumps({"skill": ID}), *flags).json
    outcomes = dict(zip(CALLS, ran["result"]["output"].split(), strict=True))
    assert [name for name, outcome in outcomes.items() if outcome == DENIED] == list(denied)
