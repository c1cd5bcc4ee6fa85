"""Commands under a policy: every spelling of a line gets the same decision, and every path is marked in the registry."""

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawperator.agent.inventory.inventory import InventoryEntry, command_inventory
from clawperator.agent.ports import Tool
from clawperator.cli.claw.command_tools import CommandContext, prepare
from clawperator.contract.commands import Command, Flag, find_by_path, leaves
from clawperator.contract.fields import LEVELS
from clawperator.errors import ClawError
from clawperator.operations.claw import claw_commands
from clawperator.operations.model import find_operation
from clawperator.policy.rules import Policy, read_rule, subjects_of
from tests.support.running import claw_json

VALUES = ("x1", "com.example.app", "a b", "42", "Zürich", "it's", "--odd")
GLOBALS = (["--timeout", "30000"], ["--json"], ["--device=s1"], ["--log-level", "debug"])
ROWS = [(name, command) for name, command in leaves() if not command.is_action]
ENTRIES = {entry.name: entry for entry in command_inventory().entries}
SKILL = "com.android.settings.overview"


class Line(NamedTuple):
    """A parsed line: the values of its flags, and its words."""

    name: str
    flags: tuple[tuple[Flag, tuple[str, ...]], ...]
    words: tuple[str, ...]


@st.composite
def lines(draw: st.DrawFn) -> Line:
    name, command = draw(st.sampled_from(ROWS))
    chosen = draw(st.lists(st.sampled_from(command.flags), unique=True, max_size=4)) if command.flags else []
    value = st.sampled_from(VALUES)
    flags = tuple((flag, tuple(draw(value) for _ in range(flag.values))) for flag in chosen)
    wanted = len(command.usage.removesuffix(" [-- <argument>...]").split())
    words = draw(st.lists(st.sampled_from(VALUES[:-1]), max_size=wanted))
    return Line(name, flags, tuple(words))


@st.composite
def spellings(draw: st.DrawFn, line: Line) -> tuple[str, str]:
    """A name of the command, and a prompt with the same flags and words."""
    groups = [_spelled(draw, flag, values) for flag, values in line.flags]
    groups += draw(st.lists(st.sampled_from(GLOBALS), unique_by=tuple, max_size=2))
    ordered: list[list[str]] = draw(st.permutations(groups))
    tokens: list[str] = []
    words = list(line.words)
    for group in ordered:
        while bool(words) and draw(st.booleans()):
            tokens.append(words.pop(0))
        tokens += group
    if draw(st.booleans()):
        tokens.append("--")
    tokens += words
    entry = ENTRIES[line.name.replace(" ", "-")]
    name = draw(st.sampled_from((entry.name, *entry.aliases)))
    name = draw(st.sampled_from((name, name.upper(), f" {name} ")))
    return name, " ".join(_quoted(draw, token) for token in tokens)


def _spelled(draw: st.DrawFn, flag: Flag, values: tuple[str, ...]) -> list[str]:
    name = draw(st.sampled_from((flag.name, *flag.aliases)))
    if flag.values == 1:
        dashed = values[0].startswith("-")
        form = draw(st.sampled_from(("=", "--") if dashed else ("=", " ", "--")))
        return {"=": [f"{name}={values[0]}"], " ": [name, *values], "--": [name, "--", *values]}[form]
    return [name, *values]


def _quoted(draw: st.DrawFn, token: str) -> str:
    forms = [shlex.quote(token), "".join(f"\\{c}" if not c.isalnum() else c for c in token)]
    if not re.search(r'["\\$`]', token):
        forms.append(f'"{token}"')
    return draw(st.sampled_from(forms))


def canonical(line: Line) -> tuple[str, str]:
    flags = [token for flag, values in line.flags for token in _written(flag, values)]
    return line.name.replace(" ", "-"), shlex.join([*flags, "--", *line.words])


def _written(flag: Flag, values: tuple[str, ...]) -> list[str]:
    return [f"{flag.name}={values[0]}"] if flag.values == 1 else [flag.name, *values]


def prepared(name: str, prompt: str) -> Tool | str:
    """The command as a tool, or the code of the error."""
    entry: InventoryEntry = command_inventory().find(name)
    try:
        return prepare(entry, prompt, CommandContext())
    except ClawError as e:
        return e.code


RULE_NAMES = st.sampled_from(
    ["*", "run_skill", "skills-*", "recording_*", "recording-export", "phone-stop", "skills-run"]
)
RULES = st.lists(
    st.builds(
        lambda name, value: name if value is None else f"{name}({value})",
        RULE_NAMES,
        st.none() | st.sampled_from(VALUES),
    ),
    max_size=3,
)


POLICIES = st.builds(
    lambda mode, deny, ask: Policy(mode, deny=deny, ask=ask),
    st.sampled_from(LEVELS),
    RULES.map(lambda texts: tuple(read_rule(text, "test") for text in texts)),
    RULES.map(lambda texts: tuple(read_rule(text, "test") for text in texts)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
@given(data=st.data(), line=lines(), policy=POLICIES)
def test_every_spelling_of_a_line_gets_the_same_decision(
    tmp_path: Path, data: st.DataObject, line: Line, policy: Policy
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        one, other = prepared(*canonical(line)), prepared(*data.draw(spellings(line)))
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert subjects_of(one.entry, {}) == subjects_of(other.entry, {})
    assert policy.decide(one.entry, {}) == policy.decide(other.entry, {})


@pytest.mark.parametrize(
    "prompt",
    [
        SKILL,
        f"--timeout 30000 {SKILL}",
        f"--device s1 {SKILL}",
        f"--skill-id {SKILL}",
        f"--skill-id -- {SKILL}",
        f"--expect-contains x {SKILL} -- 5",
        f"-- {SKILL}",
        f"--skip-validate '{SKILL}' --expect-contains=com.other",
        f" {SKILL[:5]}\\{SKILL[5:]}",
    ],
)
def test_a_rule_about_a_skill_holds_in_any_order_of_the_line(
    prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("skills run", "SKILLS-RUN"):
        for flag in ("--deny-tool", "--ask-tool"):
            for rule in (f"run_skill({SKILL})", f"run_skill({SKILL.upper()})", "run_skill(com.android.*)"):
                ran = claw_json("exec-command", flag, rule, name, prompt + " ")
                assert ran.json["error"]["code"] == "PERMISSION_DENIED", (name, flag, rule)


def test_a_rule_about_one_skill_leaves_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tool = prepared("skills run", f"com.example.other -- {SKILL}")
    assert isinstance(tool, Tool)
    assert Policy(deny=(read_rule(f"run_skill({SKILL})", "test"),)).decide(tool.entry, {}).allowed


def test_a_rule_about_another_action_does_not_hold_for_a_command() -> None:
    for rule, code in (("open_uri", 0), ("open", 1)):
        ran = claw_json("exec-command", "--deny-tool", rule, "open", "com.example.app --validate-only")
        assert ran.code == code, ran


def test_an_allow_rule_about_a_tool_allows_the_command_that_does_the_same() -> None:
    allowed = Policy("read-only", allow=(read_rule("recording_pull", "test"),))
    for prompt in ("", "--session-id demo"):
        tool = prepared("recording pull", prompt)
        assert isinstance(tool, Tool)
        assert allowed.decide(tool.entry, {}).allowed
        assert not Policy("read-only").decide(tool.entry, {}).allowed


# Paths

LOOKS_LIKE_A_PATH = re.compile(r"file|folder|path|\.json")
NO_PATHS = {
    "--selector",
    "--device-profile",
    "--container-selector",
    "--vars",
    "--output",
    "--output-format",
    "--artifact",
    "--user",
}


def every_row() -> list[tuple[str, Command]]:
    return [*leaves(), *((command.name, command) for command in claw_commands())]


def test_every_flag_that_names_a_file_or_folder_is_marked() -> None:
    unmarked = [
        f"{name} {flag.name}"
        for name, command in every_row()
        for flag in command.flags
        if flag.values and not flag.path and flag.name not in NO_PATHS
        if LOOKS_LIKE_A_PATH.search(f"{flag.metavar} {flag.help}")
    ]
    assert unmarked == []


def test_every_argument_that_names_a_file_is_marked() -> None:
    assert [name for name, command in every_row() if "file" in command.usage and not command.word_path] == []


MARKED = [
    (name, flag) for name, command in leaves() for flag in command.flags if flag.path and flag.path != "sessions"
]


@pytest.mark.parametrize(("name", "flag"), MARKED, ids=[f"{name} {flag.name}" for name, flag in MARKED])
@pytest.mark.parametrize(
    "outside", ["../outside", "/etc/passwd", "link/x", ".claw/settings.json", "sub/../.CLAW/x"]
)
def test_a_command_refuses_paths_that_an_agent_may_not_name(
    name: str, flag: Flag, outside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    monkeypatch.chdir(folder)
    command = find_by_path(name.split())
    assert command is not None
    needed = [field for field in find_operation(name).fields if field.required] if command.is_operation else []
    others = " ".join("inside" if f.use.word else f"{f.flag} inside" for f in needed if f.flag != flag.name)
    for spelled in (flag.name, *flag.aliases):
        line = f"{spelled} {outside} {others}"
        refused = claw_json("exec-command", "--permission-mode", "full", name, line).json
        assert refused["error"]["code"] == "PERMISSION_DENIED", spelled
        assert refused["error"]["target"] == outside


def test_a_plan_in_a_command_may_not_name_other_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": "a", "type": "take_screenshot", "params": {"file": "../x.png"}}],
    }
    Path("plan.json").write_text(json.dumps(document))
    for prompt in (shlex.quote(json.dumps(document)), "plan.json ", "--payload plan.json", "../plan.json"):
        error = claw_json("exec-command", "exec", prompt).json["error"]
        assert error["code"] == "PERMISSION_DENIED", prompt
    assert claw_json("exec-command", "exec", "- ", stdin=b"").json["error"]["code"] != "PERMISSION_DENIED"


def test_a_nested_claw_may_not_name_other_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for prompt in (
        "hello --events ../events",
        "hello --events=.claw/settings.json",
        "hello --directory ../elsewhere",
        "hello --directory .claw",
    ):
        error = claw_json("exec-command", "bootstrap", prompt).json["error"]
        assert error["code"] == "PERMISSION_DENIED", prompt
    for prompt in ("hello --events here.ndjson", "hello --directory .claw/sessions", "hello --directory mine"):
        assert claw_json("exec-command", "bootstrap", prompt).code == 0, prompt


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("open", "myapp://x --allow-scheme myapp"),
        ("open", "--allow-scheme myapp -- myapp://x"),
        ("exec", "--allow-scheme myapp plan.json"),
        ("skills run", f"{SKILL} --allow-scheme myapp"),
        ("skills run", f"{SKILL} --pass-env SECRET"),
        ("exec-tool", "open_uri '{}' --allow-scheme myapp"),
        ("bootstrap", "hello --allow-scheme myapp"),
        ("bootstrap", "hello --pass-env SECRET"),
        ("bootstrap", "hello --permission-mode full"),
        ("bootstrap", "hello --allow-tool=click"),
    ],
)
def test_flags_that_widen_what_a_command_may_do_require_full(
    name: str, prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    actions = [{"id": "a", "type": "open_uri", "params": {"uri": "myapp://x"}}]
    Path("plan.json").write_text(json.dumps({**plan, "timeoutMs": 5000, "actions": actions}))
    refused = claw_json("exec-command", name, prompt).json["error"]
    assert refused["code"] == "PERMISSION_DENIED"
    assert "requires the permission mode full" in refused["message"]
    allowed = claw_json("exec-command", "--permission-mode", "full", name, prompt).json
    assert allowed.get("error", {}).get("code") != "PERMISSION_DENIED"
