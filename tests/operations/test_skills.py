"""Skills as operations: what belongs to the caller, what a rule covers, and how often the user is asked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolCall, ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.policy.rules import Policy, read_rule
from tests.skills.sample_skills import ID, write_skill
from tests.support.running import claw_json, clawperator

PRINT = (
    "import json, os, sys\n"
    "names = ('OWN_KEY', 'CLAWPERATOR_ALLOW_SCHEMES')\n"
    "print(json.dumps([sys.argv[1:], [os.environ.get(name) for name in names]]))"
)
OTHER = "com.android.settings.overview"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry with one skill, which prints its arguments and what it was given; it is the one in use."""
    path = write_skill(tmp_path, PRINT)
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(path))
    monkeypatch.setenv("OWN_KEY", "k")
    monkeypatch.chdir(tmp_path)
    return path


CALLS = [
    ("exec-tool", "run_skill", json.dumps({"skill": ID, "args": ["a"]})),
    ("exec-command", "skills run", f"{ID} -- a"),
    ("exec-command", ID, "a"),
]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("call", CALLS)
def test_a_skill_gets_the_variables_and_schemes_of_the_agent(call: tuple[str, ...]) -> None:
    plain = claw_json(*call).json["result"]["output"]
    given = claw_json(*call, "--pass-env", "OWN_KEY", "--allow-scheme", "myapp").json["result"]["output"]
    assert json.loads(plain) == [["a"], [None, None]]
    assert json.loads(given) == [["a"], ["k", "myapp"]]


@pytest.mark.usefixtures("registry")
def test_an_id_that_is_given_by_its_flag_leaves_all_words_to_the_skill() -> None:
    for argv in ((ID, "a", "b"), ("--skill-id", ID, "a", "b"), ("a", "--skill-id", ID, "--", "b")):
        assert json.loads(clawperator("skills", "run", *argv).json["output"])[0] == ["a", "b"]
    twice = clawperator("skills", "get", "--skill-id", ID, "other").json
    assert (twice["code"], twice["message"]) == ("USAGE", "give <id> once: as an argument or with --skill-id")


@pytest.mark.parametrize("widening", ["", "--pass-env OWN_KEY", "--allow-scheme myapp", "--registry {registry}"])
def test_a_rule_that_allows_a_skill_covers_no_flag_that_widens_what_it_may_do(
    registry: Path, widening: str
) -> None:
    allowed = ("--permission-mode", "read-only", "--allow-tool", f"run_skill({ID})")
    ran = claw_json("exec-command", *allowed, "skills run", f"{ID} {widening.format(registry=registry)}").json
    assert ran.get("error", {}).get("code") == ("PERMISSION_DENIED" if widening else None)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("rule", "denied"),
    [
        (f"{ID} a --skip-validate", True),
        (f"{ID} a", True),
        (ID, True),
        (f"{ID} b", False),
        (f"{ID} --skip-validate", False),
    ],
)
def test_a_rule_matches_the_line_its_words_and_the_skill(rule: str, denied: bool) -> None:  # noqa: FBT001 - a column
    for prompt in (f"--skip-validate {ID} -- a", f"--skip-validate --skill-id={ID} a"):
        ran = claw_json("exec-command", "--deny-tool", f"skills-run({rule})", "skills run", prompt).json
        assert (ran.get("error", {}).get("code") == "PERMISSION_DENIED") == denied


@pytest.mark.usefixtures("registry")
def test_the_user_is_asked_once_about_a_skill() -> None:
    asked: list[str] = []

    def confirm(tool: Any, _: Mapping[str, Any], __: str) -> bool:
        asked.append(tool.name)
        return True

    policy = Policy(ask=(read_rule("run_skill", "test"),))
    tools = ToolRegistry(builtin_tools(), policy, asker=confirm)
    assert tools.call(ToolCall("run_skill", {"skill": ID}), ToolContext(TurnDeadline(60))).handled
    assert asked == ["run_skill"]


@pytest.mark.parametrize(("rule", "denied"), [(f"run_skill({ID})", True), ("run_skill(com.other:*)", False)])
@pytest.mark.usefixtures("registry")
def test_a_rule_about_a_skill_holds_for_the_tool(rule: str, denied: bool) -> None:  # noqa: FBT001 - a column
    tools = ToolRegistry(builtin_tools(), Policy(deny=(read_rule(rule, "test"),)))
    result = tools.call(ToolCall("run_skill", {"skill": ID}), ToolContext(TurnDeadline(60)))
    assert (result.error is not None and result.error.code == "PERMISSION_DENIED") == denied


def test_a_list_has_filters_and_agents_get_what_they_need_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ("--app", "com.android.settings", "--keyword", "battery")
    (entry,) = clawperator("skills", "list", *line).json["skills"]
    assert (entry["id"], "scripts" in entry) == (OTHER, True)
    params = json.dumps({"app": "com.android.settings", "keyword": "battery"})
    (listed,) = claw_json("exec-tool", "list_skills", params).json["result"]["skills"]
    assert (listed["id"], "scripts" in listed, "inputs" in listed) == (OTHER, False, True)
    assert clawperator("skills", "list", "--app", "com.none").json == {"skills": [], "count": 0}


@pytest.mark.usefixtures("registry")
def test_the_shipped_registry_is_not_a_path(tmp_path: Path) -> None:
    ran = claw_json("exec-command", "skills get", f"{OTHER} --registry shipped").json
    assert ran["result"]["skill"]["id"] == OTHER
    assert not (tmp_path / "shipped").exists()


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("rule", ["list_skills", "skills-list", "skills_list"])
def test_a_rule_that_denies_the_list_denies_what_reads_a_part_of_it(rule: str) -> None:
    for name, prompt in (("skills get", ID), ("skills search", "greet"), ("skills for-app", "com.example.app")):
        ran = claw_json("exec-command", "--deny-tool", rule, name, prompt).json
        assert ran["error"]["code"] == "PERMISSION_DENIED"
        assert claw_json("exec-command", name, prompt).code == 0
