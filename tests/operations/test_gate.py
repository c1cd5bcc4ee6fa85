"""The gate, at every entry point: what is denied by any of its names is not done, and nothing is sent.

The calls are generated from the rows of operations and actions. A new row is covered without a change here, except
for a new route of the page, which ``test_every_route_has_a_call`` asks for.
"""

import inspect
import json
import shlex
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from mcp.shared.exceptions import MCPError

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.model_tools import CompactSession
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.api.phone import AndroidPhone, connect
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS
from clawperator.contract.commands import POLICY_VARIABLE, command_names
from clawperator.contract.execution import new_execution
from clawperator.contract.fields import LEVELS, Level, ParamField
from clawperator.engine.clock import SystemClock
from clawperator.errors import ClawError
from clawperator.operations.actions import ACTION_COMMANDS
from clawperator.operations.call import operation_names
from clawperator.operations.claw import CLAW, FOR_USERS, find_claw_operation
from clawperator.operations.model import Operation, all_operations
from clawperator.policy.rules import Policy, encode_policy, read_rule
from clawperator.replay.planner import ReplayAction
from clawperator.serve.access import open_access
from clawperator.serve.http.calls import Services, Workers, perform
from clawperator.serve.http.errors import DeviceFailure
from clawperator.serve.http.routes import ROUTES
from clawperator.serve.http.sse import EventHub
from clawperator.serve.page.live_recordings import LiveRecordings
from clawperator.serve.page.watched_screens import WatchedScreens
from clawperator.skill_api import Skill
from tests.recording import samples
from tests.serve.mcp import mcp_clients
from tests.support.routes import SERIAL, Route
from tests.support.running import Ran, claw_json, clawperator

DENIED = "PERMISSION_DENIED"
Run = Callable[[Policy], str]


class Action(NamedTuple):
    """An action with parameters, and the command line of an example that makes it."""

    type: str
    params: dict[str, Any]
    command: str = ""
    line: str = ""

    @property
    def document(self) -> dict[str, Any]:
        return {"type": self.type, "params": self.params}

    @property
    def plan(self) -> str:
        made = new_execution([self.document], command_id="c", source="test", timeout_ms=5_000)
        return json.dumps(made)


class GatedCall(NamedTuple):
    """A call at an entry point. ``run`` returns the code of its error under a policy, or an empty text."""

    entry: str
    subject: str
    names: tuple[str, ...]
    level: Level
    run: Run
    is_harmless: bool = True

    @property
    def rules(self) -> list[str]:
        """The names in both spellings, and a prefix of each."""
        marks = (text.replace(*pair) for text in self.names for pair in (("_", "-"), ("-", "_")))
        names = [name for name in dict.fromkeys((*self.names, *marks)) if " " not in name]
        return [*names, *dict.fromkeys(f"{name[:-1]}*" for name in names)]


# The policy at an entry point


def policy(mode: Level = "full", *, deny: str = "", ask: str = "") -> Policy:
    def rules(text: str) -> Any:
        return (read_rule(text, "--deny-tool"),) if text else ()

    return Policy(mode, deny=rules(deny), ask=rules(ask))


def flags(given: Policy) -> list[str]:
    rules = [("--deny-tool", rule) for rule in given.deny] + [("--ask-tool", rule) for rule in given.ask]
    return ["--permission-mode", given.mode, *chain.from_iterable((flag, str(rule)) for flag, rule in rules)]


def under(given: Policy, run: Callable[[], str]) -> str:
    """The result of a function in an environment with the policy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(POLICY_VARIABLE, encode_policy(given))
        return run()


def raised(run: Callable[[], object]) -> str:
    try:
        run()
    except ClawError as e:
        return e.code
    return ""


def code_of(ran: Ran) -> str:
    """The code of a command of clawperator."""
    if ran.code == 0:
        return ""
    document: dict[str, Any] = json.loads(ran.out.splitlines()[-1])
    return str(document.get("code") or document.get("envelope", {}).get("errorCode") or "FAILED")


def by_command(words: list[str], given: Policy) -> str:
    return under(given, lambda: code_of(clawperator(*words)))


def by_claw(words: list[str], given: Policy) -> str:
    return under(given, lambda: str(claw_json(*words).json.get("error", {}).get("code", "")))


def by_exec_command(name: str, prompt: str, given: Policy) -> str:
    ran = claw_json("exec-command", *flags(given), name, prompt)
    return str(ran.json.get("error", {}).get("code", ""))


def by_exec_tool(name: str, params: dict[str, Any], given: Policy) -> str:
    ran = claw_json("exec-tool", *flags(given), name, json.dumps(params))
    return str(ran.json.get("error", {}).get("code", ""))


def by_python(action: Action, given: Policy) -> str:
    phone = connect(SERIAL)
    return under(given, lambda: raised(lambda: phone.run([action.document])))


def by_method(name: str, argument: str, given: Policy) -> str:
    phone = connect(SERIAL)
    return under(given, lambda: raised(lambda: getattr(phone, name)(argument)))


def by_skill(action: Action, given: Policy) -> str:
    def run() -> None:
        Skill("com.example.app.greet", device=SERIAL).phone.run([action.document])

    return under(given, lambda: raised(run))


def by_mcp(tool: str, params: dict[str, Any], given: Policy) -> str:
    access = open_access(_options(given))
    try:
        finished = CompactSession(access.registry).run(tool, params, access.context(TurnDeadline(20)))
    except ClawError as e:
        # The server says that the tool is denied when its policy allows none of its actions.
        return DENIED if e.code == "TOOL_NOT_FOUND" else e.code
    return finished.result.error.code if finished.result.error else ""


def by_route(name: str, body: dict[str, Any], given: Policy) -> str:
    route = next(route for route in ROUTES if f"{route.method} {route.path}" == name)
    access = open_access(_options(given))
    services = Services(access, EventHub(), Workers(), WatchedScreens(access.policy), LiveRecordings())
    assert route.work is not None
    request, work = msgspec.convert(body, route.request), route.work
    try:
        return raised(lambda: perform(services, request, work, 20))
    except DeviceFailure as e:
        return e.error.code
    finally:
        services.screens.close()


def _options(given: Policy) -> AgentOptions:
    return AgentOptions(
        mode=given.mode,
        deny_tools=tuple(map(str, given.deny)),
        ask_tools=tuple(map(str, given.ask)),
        include_mcp=False,
    )


# Operations


def example(field: ParamField) -> Any:
    if field.choices:
        return field.choices[0]
    return "missing.json" if field.type is str else 1


def needed(row: Operation) -> dict[str, Any]:
    return {field.name: example(field) for field in row.fields if field.required}


def line(row: Operation) -> list[str]:
    words = sorted((field for field in row.fields if field.required), key=lambda field: field.use.word)
    return [text for f in words for text in ([] if f.use.word else [f.flag]) + [str(example(f))]]


# They need no more than a name, and would write a skill or fetch skills.
_WRITING = ("skills new", "skills sync")
# They end with a signal.
_ENDLESS = ("watch", "logs", "serve", "mcp")


def is_harmless(row: Operation) -> bool:
    """Whether it only reads, or fails without the file, the phone or the name that it needs."""
    fails = any(f.required and not f.choices for f in row.fields) and row.name not in _WRITING
    return row.name not in _ENDLESS and (row.level == "read-only" or fails)


def calls_of_operations() -> Iterator[GatedCall]:
    for row in all_operations():
        make = partial(GatedCall, subject=row.name, level=row.level, is_harmless=is_harmless(row))
        group = (row.name.split()[0], *([row.tool] if row.tool else []))
        make = partial(make, names=(*operation_names(row), row.name.replace(" ", "-"), *row.aliases, *group))
        yield make("command", run=partial(by_command, [*row.name.split(), *line(row)]))
        yield make("exec-command", run=partial(by_exec_command, row.name, shlex.join(line(row))))
        if row.is_cli_only:
            continue
        yield make("exec-tool", run=partial(by_exec_tool, row.tool_name, needed(row)))
        if row.tool:
            named = {"do": row.tool_name, **needed(row)}
            yield make("mcp", run=partial(by_mcp, row.tool, named))
        if row.route:
            yield make("http", run=partial(by_route, row.route, needed(row)))
    for row in map(find_claw_operation, CLAW):
        make = partial(GatedCall, subject=f"claw {row.name}", level=row.level, names=operation_names(row))
        make = partial(make, is_harmless=is_harmless(row))
        yield make("claw", run=partial(by_claw, [row.name, *line(row)]))
        if row.name not in FOR_USERS:
            yield make("exec-command", run=partial(by_exec_command, row.name, shlex.join(line(row))))


# Actions

# Actions that no example makes.
_MORE_LINES = (
    "scroll-until --text Battery",
    "wait --text Battery --changed",
    "press back",
    "press enter",
    "start-activity --action android.intent.action.VIEW --uri https://clawperator.com",
    "type 'dogs\n'",
)
_WAIT_MS = 200


@cache
def actions() -> tuple[Action, ...]:
    """The actions of the examples of all commands."""
    return tuple(_actions())


def _actions() -> Iterator[Action]:
    commands = [(row.name, e.partition(" ")[2]) for row in ACTION_COMMANDS.values() for e in row.examples]
    commands += [(text.partition(" ")[0], text) for text in _MORE_LINES]
    for name, text in commands:
        words = [word for word in shlex.split(text) if word != "--dry-run"]
        if name == "exec" or {"--evidence", "--file"} & set(words):
            continue
        if name.startswith("wait"):
            words += ["--timeout", f"{_WAIT_MS}"]
        ran = clawperator(*words, "--validate-only")
        assert ran.code == 0, (text, ran.out)
        (made,) = ran.json["execution"]["actions"]
        if "ref" in made.get("params", {}).get("matcher", {}):  # no client has seen it
            continue
        arguments = words[len(name.split()) :]
        yield Action(made["type"], made.get("params", {}), name, shlex.join(arguments))


def action_of(name: str) -> Action:
    """An example of an action type."""
    return next(action for action in actions() if action.type == name)


def names_of(action: Action) -> tuple[str, ...]:
    """Every name that a rule about the action may have: its own, and those of the actions that it performs."""
    row, params = ACTIONS[action.type], action.params
    performed = [row.name, *row.performs]
    if row.name == "submit_text" or params.get("submit") or "\n" in params.get("text", ""):
        performed += ["submit_text", "press_key", "click"]
    if params.get("key") == "enter":
        performed.append("submit_text")
    if params.get("clickAfter") or params.get("key") == "enter":
        performed.append("click")
    if "uri" in params:
        performed.append("open_uri")
    group = [row.model_tool] if row.model_tool not in ("", "run_plan") else []
    return tuple(dict.fromkeys([*group, *(word for name in performed for word in _words_of(name, params))]))


def _words_of(name: str, params: dict[str, Any]) -> Iterator[str]:
    """The names of an action, its aliases, and those of its commands.

    A synonym of a command may be the name of another action.
    """
    yield name
    yield from ACTIONS[name].aliases
    for command in ACTION_COMMANDS.values():
        if name in command.actions and command.fixed.items() <= params.items():
            yield command.name.replace(" ", "-")
            yield from (word for word in command_names(command.name) if _type_of(word) in (name, None))


def _type_of(word: str) -> str | None:
    type_ = word.replace("-", "_")
    type_ = ACTION_ALIASES.get(type_, type_)
    return type_ if type_ in ACTIONS else None


def level_of(action: Action) -> Level:
    row = ACTIONS[action.type]
    return "read-only" if row.read_only else row.level


def _by_mcp(action: Action) -> Run | None:
    tool = ACTIONS[action.type].model_tool
    return None if tool == "run_plan" else partial(by_mcp, tool, {"do": action.type, **action.params})


def _by_action_route(action: Action) -> Run | None:
    name = {"snapshot_ui": "/snapshot", "take_screenshot": "/screenshot"}.get(action.type)
    name = {"start_recording": "/recordings/start", "stop_recording": "/recordings/stop"}.get(action.type, name)
    return partial(by_route, f"POST {name}", action.params) if name else None


# Entry points of actions. None where an action does not exist at one.
ENTRY_POINTS: dict[str, Callable[[Action], Run | None]] = {
    "command": lambda action: partial(by_command, [*action.command.split(), *shlex.split(action.line)]),
    "exec-command": lambda action: partial(by_exec_command, action.command, action.line),
    "exec-tool": lambda action: partial(by_exec_tool, action.type, action.params),
    "exec": lambda action: partial(by_command, ["exec", action.plan]),
    "exec-command exec": lambda action: partial(by_exec_command, "exec", shlex.quote(action.plan)),
    "run_execution": lambda action: partial(by_exec_tool, "run_execution", {"actions": [action.document]}),
    "python": lambda action: partial(by_python, action),
    "skill": lambda action: partial(by_skill, action),
    "mcp": _by_mcp,
    "mcp run_plan": lambda action: partial(by_mcp, "run_plan", {"actions": [action.document]}),
    "http": _by_action_route,
    "http execute": lambda action: partial(by_route, "POST /execute", {"execution": json.loads(action.plan)}),
}


# These also pass the gate as whole executions.
_PLANS = ("exec", "exec-command exec", "run_execution", "mcp run_plan", "http execute")
_EXECUTION_NAMES = ("exec", "execute", "run_execution", "run_plan")


def calls_of_action(entry: str, name: str) -> Iterator[GatedCall]:
    """The calls of an action: one for each command, and for each set of names."""
    seen: set[tuple[str, ...]] = set()
    for action in actions():
        if action.type != name or (run := ENTRY_POINTS[entry](action)) is None:
            continue
        names, level = names_of(action), level_of(action)
        kind = (*names, *action.params, action.command if entry in ("command", "exec-command") else "")
        if kind in seen:
            continue
        seen.add(kind)
        if entry in _PLANS:
            names, level = (*names, *_EXECUTION_NAMES), max("act", level, key=LEVELS.index)
        yield GatedCall(entry, name, names, level, run)


# Other calls: routes of the page, resources of MCP, and tools that are neither an operation nor an action

_NODE = {"screenId": "a", "node": 0}
_LINE = {"kind": "swipe", "x": 540, "y": 900, "toX": 540, "toY": 950}
# The names of what a route does, its level, and its body.
PAGE: dict[str, tuple[tuple[tuple[str, ...], Level, dict[str, Any]], ...]] = {
    "POST /touch": (
        (("click",), "act", {"kind": "tap", "x": 540, "y": 900}),
        (("click",), "act", {"kind": "long_press", "x": 540, "y": 900}),
        (("swipe", "click"), "act", _LINE),
        (("drag", "click"), "act", {**_LINE, "kind": "drag"}),
    ),
    "POST /press": (
        (("press_key",), "act", {"key": "home"}),
        (("press_key", "submit_text", "click"), "act", {"key": "enter"}),
    ),
    "POST /type": (
        (("enter_text",), "act", {"text": "a"}),
        (("enter_text", "submit_text", "press_key", "click"), "act", {"text": "dogs\n"}),
    ),
    "POST /close": ((("close_app",), "act", {"applicationId": "com.android.settings"}),),
    "GET /screen": ((("snapshot_ui",), "read-only", {}),),
    "GET /screen/element": ((("snapshot_ui", "query"), "read-only", _NODE),),
    "GET /screen/picture": ((("take_screenshot",), "read-only", {}),),
    "POST /recordings/replay": ((("recording replay",), "act", {"input": "missing.ndjson"}),),
    "GET /recordings/events": ((("recording pull",), "read-only", {"sessionId": "demo"}),),
    "GET /recordings/report": ((("report",), "read-only", {"path": "missing.report.html"}),),
    "GET /schemas": ((("schema",), "read-only", {}),),
    "GET /schemas/{name}": ((("schema",), "read-only", {"name": "missing"}),),
}
_ACTION_ROUTES = ("POST /execute", "POST /snapshot", "POST /screenshot", "POST /recordings/start")
# The actions that such a tool performs.
_OTHER_TOOLS = {"describe_screen": ("snapshot_ui",)}


def _all_words(name: str) -> Iterator[str]:
    if name in ACTIONS:
        yield from _words_of(name, {})
    else:
        yield from operation_names(next(row for row in all_operations() if row.name == name))


def by_resource(uri: str, given: Policy) -> str:
    """Read a resource of an MCP server."""

    async def read() -> str:
        options = _options(given)
        more: Any = {"mode": options.mode, "deny_tools": options.deny_tools, "ask_tools": options.ask_tools}
        async with mcp_clients.connect(Path(), **more) as client:
            try:
                await client.read_resource(uri)
            except MCPError as e:
                return e.error.message.partition(":")[0]
        return ""

    found: str = mcp_clients.run(read)
    return found


def other_calls() -> Iterator[GatedCall]:
    for route, bodies in PAGE.items():
        for i, (names, level, body) in enumerate(bodies):
            words = tuple(word for name in names for word in _all_words(name))
            yield GatedCall("page", f"{route} {i}", words, level, partial(by_route, route, body))
    pulled = tuple(_all_words("recording pull"))
    yield GatedCall("python", "pull_recording", pulled, "act", partial(by_method, "pull_recording", "demo"))
    yield GatedCall("python", "shell", ("shell",), "full", partial(by_method, "shell", "id"))
    files, screen = tuple(_all_words("recording describe")), tuple(_all_words("snapshot_ui"))
    uri = "clawperator://files/recordings/demo.ndjson"
    yield GatedCall("mcp", "resource file", files, "read-only", partial(by_resource, uri))
    yield GatedCall("mcp", "resource screen", screen, "read-only", partial(by_resource, "clawperator://screen"))
    rows = {row.tool_name for row in all_operations()}
    for tool in builtin_tools():
        if tool.name not in (*rows, *ACTIONS, "run_execution"):
            words = tuple(word for name in _OTHER_TOOLS[tool.name] for word in _all_words(name))
            run = partial(by_exec_tool, tool.name, {})
            yield GatedCall("exec-tool", tool.name, (tool.name, *words), tool.level, run)


# Replays

# Recordings of each kind of step: what the last of their steps performs, and their events.
_SETTINGS = "com.android.settings"
_OPENED = samples.window(0, snapshot=None)
REPLAYS: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = {
    "open_app": (("open_app", "close_app", "snapshot_ui"), [_OPENED]),
    "click": (("click",), [_OPENED, samples.click(1, snapshot=None)]),
    "enter_text": (("enter_text",), [_OPENED, samples.typed(1, "dogs", _SETTINGS)]),
    "submit": (
        ("enter_text", "submit_text", "press_key", "click"),
        [_OPENED, samples.typed(1, "dogs", _SETTINGS), samples.window(5_000, title="Found", snapshot=None)],
    ),
    "press": (("press_key",), [_OPENED, samples.back(1)]),
}


def calls_of_replay(kind: str) -> Iterator[GatedCall]:
    """A replay at each entry point. Its last step has the kind."""
    names, _ = REPLAYS[kind]
    words = tuple(word for name in names for word in _words_of(name, {"key": "back"} if kind == "press" else {}))
    make = partial(GatedCall, subject=f"replay of {kind}", names=words, level="act")
    params = {"input": "demo.ndjson"}
    yield make("command", run=partial(by_command, ["recording", "replay", "--input", "demo.ndjson"]))
    yield make("exec-command", run=partial(by_exec_command, "recording replay", "--input demo.ndjson"))
    yield make("exec-tool", run=partial(by_exec_tool, "recording_replay", params))
    yield make("mcp", run=partial(by_mcp, "recording", {"do": "recording_replay", **params}))
    yield make("page", run=partial(by_route, "POST /recordings/replay", params))


# Tests


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is sent to a phone, an adb server or a program."""
    sent: list[str] = []

    def recorded(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any, **kwargs: Any) -> Any:
            sent.append(f"{name} {args[1:]}")
            return own(*args, **kwargs)

        return record

    for kind, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (subprocess.Popen, "__init__")):
        monkeypatch.setattr(kind, name, recorded(name, getattr(kind, name)))
    return sent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: Route) -> Path:
    """The empty working folder, on a computer with a running phone."""
    assert route.serial == SERIAL
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def _short_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits for a twentieth of the time."""
    own = SystemClock.sleep
    monkeypatch.setattr(SystemClock, "sleep", lambda self, seconds: own(self, seconds / 20))


def denying(call: GatedCall) -> dict[str, Policy]:
    """The policies that deny a call: by a rule with one of its names, by a question, and by a lower mode."""
    policies = {f"deny {rule}": policy(deny=rule) for rule in call.rules}
    policies |= {f"ask {rule}": policy(ask=rule) for rule in (call.rules[0], call.rules[-1])}
    return policies | {mode: policy(mode) for mode in LEVELS if LEVELS.index(mode) < LEVELS.index(call.level)}


def bypasses(call: GatedCall, journal: list[str]) -> dict[str, str]:
    """The policies that deny a call, under which it was not denied, or sent something."""
    found = {}
    for name, given in denying(call).items():
        journal.clear()
        code = call.run(given)
        if code != DENIED or journal:
            found[name] = f"{code} {journal}"
    return found


ROW_CALLS = {f"{call.entry}-{call.subject}": call for call in (*calls_of_operations(), *other_calls())}


@pytest.mark.parametrize("call", ROW_CALLS.values(), ids=ROW_CALLS)
def test_what_is_denied_by_any_name_is_not_done(call: GatedCall, folder: Path, journal: list[str]) -> None:
    assert bypasses(call, journal) == {}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "call", [call for call in ROW_CALLS.values() if call.is_harmless], ids=lambda call: call[:2]
)
@pytest.mark.usefixtures("folder", "quick_retries")
def test_what_is_not_denied_is_done(call: GatedCall) -> None:
    assert call.run(policy(call.level, deny="no_such_operation")) != DENIED


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_an_action_that_is_denied_by_any_name_is_not_done(
    entry: str, name: str, folder: Path, journal: list[str]
) -> None:
    for call in calls_of_action(entry, name):
        assert bypasses(call, journal) == {}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.usefixtures("folder", "quick_retries", "_short_sleeps")
def test_an_action_that_is_not_denied_is_done(entry: str, name: str, journal: list[str]) -> None:
    for call in list(calls_of_action(entry, name))[:1]:
        assert call.run(policy(call.level, deny="no_such_action")) != DENIED
        assert journal


def test_a_tool_that_is_denied_by_any_name_is_not_offered() -> None:
    rows = {row.tool_name: row.name for row in all_operations() if not row.is_alias}
    for tool in builtin_tools():
        performed = (rows.get(tool.name, tool.name),) if tool.name not in _OTHER_TOOLS else _OTHER_TOOLS[tool.name]
        words = (
            _EXECUTION_NAMES if tool.name == "run_execution" else chain.from_iterable(map(_all_words, performed))
        )
        rules = GatedCall("", "", tuple(words), "full", lambda _: "").rules
        offered = [rule for rule in rules if policy(deny=rule).may_allow(tool.entry, can_ask=False)]
        assert (tool.name, offered) == (tool.name, [])


@pytest.mark.parametrize("kind", REPLAYS)
def test_a_replay_of_a_denied_action_is_not_begun(kind: str, folder: Path, journal: list[str]) -> None:
    samples.write(folder / "demo.ndjson", REPLAYS[kind][1])
    for call in calls_of_replay(kind):
        assert bypasses(call, journal) == {}
    assert [path.name for path in folder.iterdir()] == ["demo.ndjson"]


def test_every_kind_of_replayed_step_has_a_recording() -> None:
    assert set(get_args(ReplayAction)) <= set(REPLAYS)


def test_every_route_has_a_call() -> None:
    own = {row.route for row in all_operations()}
    routes = {f"{route.method} {route.path}" for route in ROUTES if route.work is not None}
    assert routes - own == {*PAGE, *_ACTION_ROUTES, "POST /recordings/stop"}


# Values of parameters by their names. The others take any text.
_VALUES: dict[str, Any] = {
    "plan": {"type": "press_key", "params": {"key": "home"}},
    "component": "a.b/.C",
    "orientation": "auto",
}
_VALUES |= {"key": "home", "direction": "down", "session_id": "demo", "seconds": 1}
_MORE_VALUES: dict[str, dict[str, Any]] = {"drag": {"end": (1, 1)}, "enter_secret": {"env": "HOME"}}


@pytest.mark.usefixtures("folder")
def test_every_method_of_a_phone_passes_the_gate(journal: list[str]) -> None:
    phone = connect(SERIAL)
    methods = [name for name, method in vars(AndroidPhone).items() if callable(method) and name[0] != "_"]
    found: dict[str, str] = {}
    for name in {*methods} - {"recording"}:  # it returns a context manager
        parameters = list(inspect.signature(getattr(phone, name)).parameters.values())
        ordered = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)]
        words = [_VALUES.get(one.name, "a.b") for one in ordered]
        run = partial(getattr(phone, name), *words, **_MORE_VALUES.get(name, {}))
        found[name] = under(policy(deny="*"), partial(raised, run))
    assert {name: code for name, code in found.items() if code != DENIED} == {}
    assert journal == []


@pytest.mark.parametrize("line", ["serve", "serve --port 0", "mcp", "watch", "logs"])
@pytest.mark.usefixtures("folder")
def test_an_agent_starts_nothing_that_runs_until_it_is_stopped(line: str, journal: list[str]) -> None:
    name, _, arguments = line.partition(" ")
    assert by_exec_command(name, arguments, policy()) == "USAGE"
    nested = shlex.join([name, arguments, *flags(policy())])
    assert by_exec_command("exec-command", nested, policy()) == "USAGE"
    assert journal == []


@pytest.mark.usefixtures("folder")
def test_an_agent_may_print_the_configuration_of_an_mcp_client() -> None:
    assert by_exec_command("mcp", "config cursor", policy()) == ""


LEAST_TESTED = 8_000


@pytest.mark.usefixtures("folder")
def test_count() -> None:
    """Print how many calls are denied, by entry point."""
    every = [*ROW_CALLS.values(), *chain.from_iterable(map(calls_of_replay, REPLAYS))]
    every += [call for entry in ENTRY_POINTS for name in ACTIONS for call in calls_of_action(entry, name)]
    counts: Counter[str] = Counter()
    for call in every:
        counts[call.entry] += len(denying(call))
    print(f"\n{len(every)} calls, {sum(counts.values())} denials: {dict(counts)}")  # noqa: T201 - for people
    assert sum(counts.values()) >= LEAST_TESTED
