"""The compact tools: derived from the agent's tools, short, and translated to calls of them, also on a phone."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.model_tools import (
    COMPACT_TOOLS,
    CompactResult,
    CompactSession,
    CompactTool,
    compact_tools,
    tool_definitions,
)
from clawperator.agent.ports import ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.contract.actions import ACTIONS
from clawperator.contract.fields import LEVELS, Level
from clawperator.errors import ClawError
from clawperator.policy.rules import Asker, Policy, read_rule
from tests.agent.models.model_server import tool
from tests.device.phone_servers import running_phone_server

ALL = {made.name: made for made in compact_tools(builtin_tools())}
COVERED = {"describe_screen"}
ONLY_IN_PLANS = {"install_app", "uninstall_app", "clear_app_data", "grant_permission", "revoke_permission"}


def only(*names: str) -> dict[str, CompactTool]:
    return {made.name: made for made in compact_tools(entry for entry in builtin_tools() if entry.name in names)}


def test_there_are_about_fourteen_tools() -> None:
    assert len(COMPACT_TOOLS) == 14
    assert list(ALL) == [name for name in COMPACT_TOOLS if name in ALL]


def test_every_tool_of_ours_belongs_to_one() -> None:
    ours = {entry.name: entry.model_tool for entry in builtin_tools() if entry.model_tool is not None}
    assert {name for name, tool in ours.items() if tool not in COMPACT_TOOLS} == set()
    members = [member.name for made in ALL.values() for member in made.members]
    assert sorted(members) == sorted(ours.keys() - COVERED - ONLY_IN_PLANS)


def test_what_installs_deletes_or_grants_is_only_in_plans() -> None:
    full = {name for name, row in ACTIONS.items() if row.level == "full"}
    assert full - ONLY_IN_PLANS == {"read_logcat"}
    assert all(ACTIONS[name].model_tool == "run_plan" for name in ONLY_IN_PLANS)


def test_every_default_is_one_of_its_actions() -> None:
    for name, made in ALL.items():
        usual = COMPACT_TOOLS[name]
        assert usual is None or usual in [member.name for member in made.members]


def test_a_description_begins_with_the_default() -> None:
    for name, made in ALL.items():
        if len(made.members) > 1 and COMPACT_TOOLS[name] is not None:
            first = made.description.splitlines()[0]
            assert first.startswith(f"{COMPACT_TOOLS[name]}(")
            assert first.endswith(" Default.")


def test_summaries_come_from_the_rows_of_the_actions() -> None:
    for made in ALL.values():
        for member in made.members:
            assert member.responsibility in made.description


@pytest.mark.parametrize(
    ("tool", "signature"),
    [
        ("app", "open_uri(uri):"),
        ("query", "read_key_value_pair(label, all?):"),
        ("query", "read_text(ref, all?, container?):"),
        ("type", "submit_text(ref?):"),
        ("wait", "wait_for_navigation(expectedPackage?, ref?, timeoutMs):"),
    ],
)
def test_a_description_shows_which_parameters_are_required(tool: str, signature: str) -> None:
    assert signature in ALL[tool].description


def test_parameters_come_from_the_rows_of_the_actions() -> None:
    for made in ALL.values():
        known = {name for member in made.members for name in member.schema().get("properties", {})}
        own = set(made.schema()["properties"]) - {"do", "ref", "label", "selector"}
        assert own <= known


def test_every_parameter_is_described_and_every_action_listed() -> None:
    for made in ALL.values():
        properties = made.schema()["properties"]
        assert [name for name, value in properties.items() if not value.get("description")] == []
        if len(made.members) > 1:
            assert properties["do"]["enum"] == [member.name for member in made.members]


def test_schemas_are_valid_and_plain() -> None:
    for made in ALL.values():
        schema = made.schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        text = msgspec.json.encode(schema).decode()
        assert "$ref" not in text
        assert set(schema.get("required", ())) <= set(schema["properties"])


def test_a_tool_whose_actions_are_all_denied_is_not_offered() -> None:
    offered = only("snapshot_ui", "open_app", "close_app")
    assert list(offered) == ["snapshot", "app"]
    names = [line.partition("(")[0] for line in offered["app"].description.splitlines()]
    assert names == ["open_app", "close_app"]
    assert offered["app"].schema()["required"] == ["do", "applicationId"]


def test_a_tool_with_one_action_needs_no_action() -> None:
    app = only("list_packages")["app"]
    assert "do" not in app.schema()["properties"]
    assert app.call({"thirdParty": True}).name == "list_packages"


def test_tools_of_others_belong_to_none() -> None:
    assert compact_tools([tool("click"), tool("mcp__x__y")]) == ()


def test_annotations_follow_the_level() -> None:
    assert ALL["snapshot"].annotations["readOnlyHint"]
    assert not ALL["tap"].annotations["readOnlyHint"]
    assert not ALL["tap"].annotations["destructiveHint"]
    dangerous = msgspec.structs.replace(ALL["tap"].members[0], level="full")
    assert CompactTool("tap", (dangerous,)).annotations["destructiveHint"]


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("tap", {"ref": "e12"}, ("click", {"matcher": {"ref": "e12"}})),
        ("tap", {"label": "Display"}, ("click", {"matcher": {"textEquals": "Display"}})),
        ("tap", {"selector": {"shortId": "a"}, "clickType": "focus"}, None),
        ("tap", {"coordinate": {"x": 1, "y": 2}}, ("click", {"coordinate": {"x": 1, "y": 2}})),
        ("tap", {"matcher": {"textEquals": "a"}}, ("click", {"matcher": {"textEquals": "a"}})),
        ("type", {"ref": "e3", "text": "hi"}, ("enter_text", {"matcher": {"ref": "e3"}, "text": "hi"})),
        ("scroll", {"direction": "up"}, ("scroll", {"direction": "up"})),
        ("scroll", {"do": "scroll_until", "label": "x"}, ("scroll_until", {"matcher": {"textEquals": "x"}})),
        (
            "wait",
            {"do": "wait_for_navigation", "label": "x", "timeoutMs": 5},
            ("wait_for_navigation", {"expectedNode": {"textEquals": "x"}, "timeoutMs": 5}),
        ),
        (
            "query",
            {"do": "read_key_value_pair", "label": "Version"},
            ("read_key_value_pair", {"labelMatcher": {"textEquals": "Version"}}),
        ),
        ("app", {"do": "open_url", "uri": "https://a.b"}, ("open_uri", {"uri": "https://a.b"})),
        ("skills", {}, ("list_skills", {})),
        ("phone", {"do": "doctor"}, ("doctor", {})),
    ],
)
def test_a_call_is_translated(name: str, params: dict[str, Any], expected: tuple[str, Any] | None) -> None:
    call = ALL[name].call(params, "id1")
    if expected is None:
        expected = ("click", {"matcher": {"shortId": "a"}, "clickType": "focus"})
    assert (call.name, call.params, call.id, call.problem) == (*expected, "id1", None)


def test_elements_in_a_plan_may_be_named_as_in_a_call() -> None:
    call = ALL["run_plan"].call(
        {
            "actions": [
                {"type": "tap", "params": {"ref": "e1"}},
                {"type": "press_key", "params": {"key": "back"}},
                {"type": "sleep"},
                {"type": "snapshot"},
                "nonsense",
            ]
        }
    )
    assert call.name == "run_execution"
    assert call.params["actions"] == [
        {"type": "tap", "params": {"matcher": {"ref": "e1"}}},
        {"type": "press_key", "params": {"key": "back"}},
        {"type": "sleep"},
        {"type": "snapshot", "params": {"view": "outline", "maxTokens": 3000}},
        "nonsense",
    ]


def test_calls_that_act_observe_and_so_do_snapshots() -> None:
    assert ALL["tap"].call({"ref": "e1"}).observe
    assert ALL["snapshot"].call({}).observe
    assert ALL["run_plan"].call({"actions": []}).observe
    assert not ALL["wait"].call({"label": "x"}).observe
    assert not ALL["devices"].call({}).observe


@pytest.mark.parametrize("params", [{}, {"do": "fly"}, {"do": 5}, {"do": None}])
def test_a_call_without_a_known_action_has_a_problem(params: dict[str, Any]) -> None:
    call = ALL["recording"].call(params)
    assert call.problem is not None
    assert call.problem.code == "TOOL_PAYLOAD_INVALID"
    assert "recording_pull" in call.problem.message


def test_an_action_that_was_not_offered_is_left_to_the_policy() -> None:
    call = only("open_app", "list_packages")["app"].call({"do": "close_app", "applicationId": "a.b"})
    assert (call.name, call.problem) == ("close_app", None)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["do", "ref", "label", "selector", "actions", "text", "matcher"])


@given(st.sampled_from(sorted(ALL)), st.dictionaries(NAMES | st.text(max_size=6), VALUES, max_size=4))
def test_any_parameters_become_a_call(name: str, params: dict[str, Any]) -> None:
    call = ALL[name].call(params)
    known = {entry.name for entry in builtin_tools()}
    assert call.problem is not None or call.name in known


def test_every_action_type_is_offered() -> None:
    offered = {member.name for made in ALL.values() for member in (*made.members, *made.in_plans)}
    assert set(ACTIONS) <= offered


def test_actions_of_plans_only_are_described_where_they_are_allowed() -> None:
    assert "install_app(path)" in ALL["run_plan"].description
    assert ALL["run_plan"].annotations["destructiveHint"]
    assert "install_app" not in only("run_execution", "click")["run_plan"].description


@pytest.mark.parametrize("mode", LEVELS)
def test_the_tools_are_short_in_every_mode(mode: Level) -> None:
    offered = ToolRegistry(builtin_tools(), Policy(mode)).offered()
    definitions = tool_definitions(offered, compact=True)
    for form in ("openai_form", "anthropic_form"):
        assert len(msgspec.json.encode([getattr(definition, form) for definition in definitions])) <= 12_000


@pytest.mark.parametrize(
    ("tool", "params", "message", "hint"),
    [
        ("tap", {"text": "Display"}, "tap has no parameter text", "It takes ref, label, selector, "),
        ("tap", {"lable": "Display"}, "tap has no parameter lable", "Did you mean label?"),
        ("app", {"do": "close_app", "force": True}, "app with do close_app has no parameter force", "It takes "),
        ("devices", {"all": True}, "devices has no parameter all", "It takes no parameter."),
    ],
)
def test_an_unknown_parameter_is_refused_in_the_words_of_the_tool(
    tool: str, params: dict[str, Any], message: str, hint: str
) -> None:
    problem = ALL[tool].call(params).problem
    assert problem is not None
    assert (problem.code, problem.message) == ("TOOL_PAYLOAD_INVALID", message)
    assert problem.hint is not None
    assert problem.hint.startswith(hint)
    assert "matcher" not in problem.hint


def test_an_action_with_a_parameter_called_action_keeps_it() -> None:
    call = ALL["app"].call({"do": "start_activity", "action": "android.intent.action.VIEW", "uri": "https://a.b"})
    assert (call.name, call.params) == (
        "start_activity",
        {"action": "android.intent.action.VIEW", "uri": "https://a.b"},
    )


class Tools:
    """A session in a folder."""

    def __init__(self, made: CompactSession, folder: Path) -> None:
        self.tools = made.tools
        self._session = made
        self._context = ToolContext(TurnDeadline(30), folder=str(folder))

    def run(self, name: str, params: dict[str, Any]) -> CompactResult:
        return self._session.run(name, params, self._context).shown


def session(folder: Path, *deny: str, ask: tuple[str, ...] = (), asker: Asker | None = None) -> Tools:
    policy = Policy(
        deny=tuple(read_rule(rule, "test") for rule in deny), ask=tuple(read_rule(rule, "test") for rule in ask)
    )
    registry = ToolRegistry(builtin_tools(), policy, asker=asker)
    return Tools(CompactSession(registry), folder)


def test_tools_run_on_the_phone_and_return_short_results(tmp_path: Path) -> None:
    with running_phone_server():
        tools = session(tmp_path)
        opened = tools.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        tapped = tools.run("tap", {"label": "Display"})
        again = tools.run("tap", {"label": "Dark theme"})
        missing = tools.run("tap", {"label": "Nowhere", "retry": {}})
    assert opened.screen is not None
    assert opened.screen.is_whole
    assert '"Display"' in opened.screen.text
    assert tapped.text.startswith("clicked 'Display'")
    assert tapped.screen is not None
    assert '"Dark theme"' in tapped.screen.text
    assert again.screen is not None
    assert not again.screen.is_whole
    assert len(again.text) + len(again.screen.text) < 400
    assert missing.is_error
    assert "NODE_NOT_FOUND" in missing.text


@pytest.mark.usefixtures("quick_retries")
def test_an_element_is_named_by_its_reference(tmp_path: Path) -> None:
    with running_phone_server() as server:
        tools = session(tmp_path)
        opened = tools.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        assert opened.screen is not None
        found = re.search(r'(e\d+) \w+ "Display"', opened.screen.text)
        assert found is not None
        tapped = tools.run("tap", {"ref": found[1]})
        stale = tools.run("run_plan", {"actions": [{"type": "click", "params": {"ref": found[1]}}]})
        assert server.phone.foreground() == "com.android.settings"
    assert not tapped.is_error
    assert tapped.screen is not None
    assert '"Dark theme"' in tapped.screen.text
    assert stale.is_error
    assert "REF_STALE" in stale.text


def test_a_screen_that_may_not_be_read_is_not_shown(tmp_path: Path) -> None:
    with running_phone_server():
        tools = session(tmp_path, "snapshot_ui")
        assert "snapshot" not in [tool.name for tool in tools.tools]
        pressed = tools.run("press", {"key": "home"})
    assert not pressed.is_error
    assert pressed.screen is None


def test_the_user_is_not_asked_about_a_look_after_an_action(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(tool: Any, _params: Any, _reason: str) -> bool:
        asked.append(tool.name)
        return True

    with running_phone_server():
        tools = session(tmp_path, ask=("snapshot_ui",), asker=ask)
        pressed = tools.run("press", {"key": "home"})
        assert (pressed.screen, asked) == (None, [])
        looked = tools.run("snapshot", {})
    assert looked.screen is not None
    assert asked == ["snapshot_ui"]


def test_a_denied_action_is_refused_with_the_reason(tmp_path: Path) -> None:
    tools = session(tmp_path, "close_app")
    denied = tools.run("app", {"do": "close_app", "applicationId": "a.b"})
    assert denied.is_error
    assert "PERMISSION_DENIED" in denied.text


def test_an_unknown_tool_and_an_unknown_action_are_refused(tmp_path: Path) -> None:
    tools = session(tmp_path)
    with pytest.raises(ClawError, match="fly"):
        tools.run("fly", {})
    assert tools.run("recording", {"do": "fly"}).is_error


def test_a_reference_means_the_element_that_this_client_has_seen(tmp_path: Path) -> None:
    with running_phone_server():
        first, second = session(tmp_path), session(tmp_path)
        opened = first.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        assert opened.screen is not None
        found = re.search(r'(e\d+) \w+ "Display"', opened.screen.text)
        assert found is not None
        unseen = second.run("tap", {"ref": found[1]})
        first.run("tap", {"ref": found[1]})
        second.run("snapshot", {})
        stale = second.run("tap", {"ref": found[1]})
    assert unseen.is_error
    assert "names no snapshot" in unseen.text
    assert "Call snapshot first" in unseen.text
    assert stale.is_error
    assert "REF_STALE" in stale.text


def test_a_reference_of_a_query_can_be_tapped(tmp_path: Path) -> None:
    with running_phone_server():
        tools = session(tmp_path)
        tools.run("app", {"do": "open_app", "applicationId": "com.android.settings"})
        found = session(tmp_path).run("query", {"label": "Display"})
        named = re.search(r'"ref":"(e\d+@s[0-9a-f]{8})"', found.found)
        assert named is not None
        tapped = session(tmp_path).run("tap", {"ref": named[1]})
    assert not tapped.is_error
    assert tapped.screen is not None
    assert '"Dark theme"' in tapped.screen.text
