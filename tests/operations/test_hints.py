"""Every call in a hint is the same call at every entry point; no other text of a hint names a flag."""

import ast
import asyncio
import inspect
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import compile_path

import clawperator
from clawperator._base.codes import HINTS
from clawperator._base.home import PhoneFolder
from clawperator._base.typed import convert
from clawperator.agent.model_tools import OUTLINE, compact_tools, describe_call
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.api.phone import AndroidPhone
from clawperator.cli.actions import build_execution, valid_plan
from clawperator.cli.command_line import Call, find_named, read_arguments, split_globals
from clawperator.cli.console import Console
from clawperator.cli.dispatch import run
from clawperator.cli.operation import read_params as read_line
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import MODULES
from clawperator.contract.execution import new_execution, validate
from clawperator.errors import CODES, ClawError
from clawperator.operations.call import HTTP, Caller, approve
from clawperator.operations.hints import Next, find_calls, python_hint, read_call, translate
from clawperator.operations.model import find_operation, shape_of
from clawperator.phone.process.launch import existing_folder
from clawperator.serve.http.errors import describe_request
from clawperator.serve.http.requests import read_request
from clawperator.serve.http.routes import ROUTES
from clawperator.testing import simulated_phone
from tests.support.sources import PACKAGE, parsed_sources

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_LINE = re.compile(r"'(?:clawperator|claw|adb|pip|git) [^']*'")
# Values in the literals of hints; any other one is a name.
_VALUES = {"user": "10", "flag": "--device claw-1", "session": "demo", "name": "demo"}
# Only the command lines of claw and of the servers show these hints: they name their own flags.
_OWN_FLAGS = {
    "agent/envelope.py": "hints of claw's command line",
    "agent/mcp/tools.py": "claw starts without MCP servers",
    "agent/models/config.py": "the model of a claw command",
    "agent/models/http.py": "the model of a claw command",
    "agent/turns/assembly.py": "the policy of a claw command or a server",
    "agent/sessions/records.py": "the session of a claw command",
    "agent/sessions/store.py": "the session of a claw command",
    "agent/sessions/writer.py": "the session of a claw command",
    "serve/http/server.py": "the start of a server",
}
_OWN_CODES = ("SESSION_TURNS_REACHED", "TURN_STEPS_REACHED", "TURN_BUDGET_REACHED")  # limits of a claw turn


# The hints of the product


def text_of(node: ast.AST) -> str:
    """The text of a literal, with a value for each part of an f-string."""
    if isinstance(node, ast.Constant):
        return node.value.replace("{device}", "--device claw-1") if isinstance(node.value, str) else ""
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(
        text_of(part) if isinstance(part, ast.Constant) else example(ast.unparse(part)) for part in parts
    )


def example(source: str) -> str:
    return next((value for word, value in _VALUES.items() if word in source), "com.example.app")


def literals(*folders: str) -> Iterator[str]:
    """The texts of the package, except for docstrings and parts of f-strings."""
    for path, nodes in parsed_sources().items():
        if path.relative_to(PACKAGE).parts[0] in folders:
            continue
        skipped = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        skipped |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        yield from (text for node in nodes if id(node) not in skipped and (text := text_of(node)))


def hint_texts(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    """The texts of arguments, variables and members that are hints."""
    for node in nodes:
        found: list[ast.AST | None] = []
        if isinstance(node, ast.keyword) and node.arg == "hint":
            found = [node.value]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [node.value] if any("hint" in ast.unparse(target).lower() for target in targets) else []
        elif isinstance(node, ast.Dict):
            members = zip(node.keys, node.values, strict=True)
            found = [value for key, value in members if isinstance(key, ast.Constant) and key.value == "hint"]
        for value in filter(None, found):
            every = [one for one in ast.walk(value) if isinstance(one, ast.Constant | ast.JoinedStr)]
            parts = {id(part) for one in every if isinstance(one, ast.JoinedStr) for part in one.values}
            yield from (text_of(one) for one in every if id(one) not in parts)


DEFAULTS = {code: row.hint or HINTS[code] for code, row in CODES.items()}
LINES = sorted({call.line for text in (*DEFAULTS.values(), *literals("cli")) for call in find_calls(text)})
CALLS = [call for call in map(read_call, LINES) if call.operation or call.action]


def test_most_hints_with_a_command_name_a_call() -> None:
    assert len(LINES) > 50
    assert len(CALLS) > 30
    typed = {line for line in LINES if line not in {call.line for call in CALLS}}
    assert [line for line in typed if not line.startswith("claw ") and "--" not in line] == ["clawperator pair"]


def test_default_hints_name_no_flag_outside_a_command_line() -> None:
    assert {code for code, hint in DEFAULTS.items() if _FLAG.search(_LINE.sub("", hint))} == set(_OWN_CODES)


def test_hints_below_the_entry_points_name_no_flag_outside_a_command_line() -> None:
    found: dict[str, list[str]] = {}
    for path, nodes in parsed_sources().items():
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/") or name in _OWN_FLAGS:
            continue
        flags = [text for text in hint_texts(nodes) if _FLAG.search(_LINE.sub("", text))]
        found |= {name: flags} if flags else {}
    assert found == {}


def test_a_hint_says_to_run_each_command_that_it_names() -> None:
    """Another verb before the line would remain before the call: "take it with call screenshot"."""
    texts = [
        text for path, nodes in parsed_sources().items() if "cli" not in path.parts for text in hint_texts(nodes)
    ]
    other = [text for text in (*DEFAULTS.values(), *texts) if _LINE.search(translate(text, lambda _: ""))]
    assert [text for text in other if "'clawperator " in text or "'claw " in text] == []


# The same call at every entry point


def typed(call: Next, params: Mapping[str, Any]) -> Any:
    shape = shape_of(call.operation) if call.operation is not None else ACTIONS[call.action].params
    return convert(dict(params), shape)


def of_line(line: str) -> Any:
    """The parameters that a command line gives."""
    options, words = split_globals(shlex.split(line)[1:])
    command, sub = find_named(words)
    name = f"{command.name} {sub.name}" if sub else command.name
    is_action = (sub or command).is_action
    rest = [*words[len(name.split()) :], *(["--dry-run"] if is_action else [])]
    own = Call(name, read_arguments(sub or command, rest, name), options, Console("error"))
    if is_action:
        action = build_execution(own)["actions"][0]
        return convert(action.get("params", {}), ACTIONS[action["type"]].params)
    operation = find_operation(name)
    given = read_line(operation, own)
    shape = shape_of(operation)
    return shape(**{field: getattr(given, field) for field in shape.__struct_fields__})


def of_text(text: str, verb: str) -> tuple[str, dict[str, Any]]:
    name, _, params = text.removeprefix(f"{verb} ").partition(" with ")
    return name, json.loads(params or "{}")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.line)
def test_the_line_itself_gives_the_parameters(call: Next) -> None:
    assert of_line(call.line) == typed(call, call.params)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.line)
def test_a_tool_for_models_takes_the_call(call: Next) -> None:
    text = describe_call(call)
    if text.startswith("ask the user to run"):
        assert call.operation is not None
        assert not call.operation.tool
        return
    name, params = of_text(text, "call")
    (tool,) = (tool for tool in compact_tools(builtin_tools()) if tool.name == name)
    made = tool.call(params)
    assert made.problem is None
    own = dict(made.params)
    if made.name == "run_execution":
        assert own["actions"] == [{"type": call.action, "params": dict(call.params)}]
        return
    if made.name == "snapshot_ui":
        own = {key: value for key, value in own.items() if OUTLINE.get(key) != value or key in call.params}
    assert typed(call, own) == of_line(call.line)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.line)
def test_a_route_takes_the_call(call: Next) -> None:
    text = describe_request(call)
    if text.startswith("ask the user to run"):
        assert call.operation is not None
        assert not call.operation.route
        return
    method, target, *body = text.removeprefix("send ").split(" ", 2)
    path, _, query = target.partition("?")
    found = [
        (route, match)
        for route in ROUTES
        if route.method == method and (match := compile_path(route.path)[0].match(path))
    ]
    route, match = min(found, key=lambda one: "{" in one[0].path)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": "".join(body).encode(), "more_body": False}

    scope = {"query_string": query.encode(), "headers": [], "path_params": match.groupdict()}
    sent = msgspec.to_builtins(asyncio.run(read_request(route, scope, receive)))
    assert {name: sent.pop(name) for name in call.caller} == call.caller
    if path == "/execute":
        (action,) = sent["execution"]["actions"]
        assert action["type"] == call.action
        sent = action["params"]
    placeholders = {name for name, value in match.groupdict().items() if value == f"<{name}>"}
    sent = {name: value for name, value in sent.items() if name not in placeholders}
    assert typed(call, sent) == of_line(call.line) if not is_schema(call) else sent == call.params


def is_schema(call: Next) -> bool:
    """Whether it has a route of its own, without the fields of the command."""
    return call.operation is not None and call.operation.name == "schema"


_PYTHON_NAMES = {"package": "applicationId", "session_id": "sessionId", "max_tokens": "maxTokens"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.line)
def test_a_phone_in_python_takes_the_call(call: Next) -> None:
    text = python_hint(f"Run '{call.line}'")
    if text == f"Run '{call.line}' in a shell":
        return
    parsed = ast.parse(text.removeprefix("Call "), mode="eval").body
    assert isinstance(parsed, ast.Call)
    assert isinstance(parsed.func, ast.Attribute)
    given = {one.arg or "": ast.literal_eval(one.value) for one in parsed.keywords}
    is_method = ast.unparse(parsed.func.value) == "phone"
    function = getattr(AndroidPhone if is_method else clawperator, parsed.func.attr)
    inspect.signature(function).bind(*[None] * is_method, **given)
    sent = {_PYTHON_NAMES.get(name, name): value for name, value in given.items()}
    assert sent == {name: value for name, value in call.params.items() if name != "view"}


# Errors about parameters


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("type x --clear --append", "--append: cannot be combined with --clear", "Leave --append or --clear out."),
        (
            "snapshot --view xml --max-tokens 50",
            "--max-tokens: needs the view outline or json",
            "Set --view to outline, or leave it out.",
        ),
        ("snapshot --max-tokens 0", "--max-tokens: ", "Set --max-tokens to a whole number from 1 to 1000000."),
        ("snapshot --since 'a b'", "--since: must be", "Set --since to s1a2b3c4d, for example."),
        (
            "swipe --from 1 2",
            "--to: swipe needs both --from and --to",
            "Give --from and --to, or --direction alone.",
        ),
        ("open a.b --user bob", "--user: ", "Set --user to a whole number from 0 to 21474, or to current."),
        ("logcat --app a.b --since today", "--since: is not a duration", "Set --since to 30s, for example."),
        (
            "click --text A --coordinate 1 2",
            "click needs exactly one of a selector and --coordinate",
            "Give one of a selector and --coordinate.",
        ),
        ("drag e1 --to-text A --to 1 2", "drag needs exactly one of --to-text and --to", "Give one of --to-text"),
        ("click --unique", "--index and --unique need another field", "Give a selector with at least one field, "),
        ("type x --unique", "--index and --unique need another", "Give a selector with at least one field, such "),
        (
            """click --selector '{"textEqual":"x"}'""",
            "--selector: unknown key: textEqual",
            'Did you mean "textEquals"?',
        ),
        (
            "scroll down --container-selector '{}'",
            "--container-selector: a selector needs at least one non-empty field: resourceId, ",
            'Give a selector with at least one field, such as --container-selector \'{"textEquals"',
        ),
        ("click --coordinate 1 2 --focus", "--focus: ", "Select a node to focus it, or leave --focus out."),
        ("click --text A --duration 800", "--duration: ", "Leave --duration out, or make it a long click."),
        ("press homee", "--key: unknown value 'homee'", "Did you mean home?"),
        ("press xyzzy", "--key: unknown value 'xyzzy'", "Set --key to one of: back, home, "),
        ("drag e1", "drag needs --to-text or --to", "Run 'clawperator drag"),
    ],
)
def test_an_error_about_a_line_names_its_flags(line: str, message: str, hint: str) -> None:
    options, words = split_globals(shlex.split(line))
    command, _ = find_named(words)
    call = Call(command.name, read_arguments(command, words[1:], command.name), options, Console("error"))

    def check() -> None:
        valid_plan(build_execution(call), call)

    with pytest.raises(ClawError) as error:
        check()
    assert error.value.message.startswith(message)
    assert error.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("click Display", "click --text Display"),
        ("click 'Dark theme' --long --timeout 1000", "click --text 'Dark theme' --long --timeout=1000"),
        ("click 540 700", "click --coordinate 540 700"),
        ("swipe 540 1600 540 600", "swipe --from 540 1600 --to 540 600"),
        ("drag 1 2 3 4 --duration 500", "drag --from 1 2 --to 3 4 --duration 500"),
        ("wait-for-nav a.b --timeout 900", "wait-for-nav --app a.b --timeout=900"),
        ("query a.xml", "query --file a.xml"),
        ("recording parse demo.ndjson", "recording parse --input demo.ndjson"),
        *((line, "") for line in ("click ''", "click e12 e13", "read ''", "drag Settings", "type two words")),
        *((line, "") for line in ("wait-for-nav a.b", "close a b")),
    ],
)
def test_surplus_words_suggest_a_line_only_if_it_is_valid(line: str, meant: str) -> None:
    options, words = split_globals(shlex.split(line))
    command, sub = find_named(words)
    name = f"{command.name} {sub.name}" if sub else command.name
    with pytest.raises(ClawError) as error:
        read_arguments(sub or command, words[len(name.split()) :], name, options)
    assert error.value.hint == f"Run 'clawperator {meant or f'{name} --help'}'."
    if meant:
        of_line(f"clawperator {meant}")


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("doctor --fxi", "doctor has no option --fxi. Did you mean --fix?", None),
        ("watch --fro 5", "watch has no option --fro. Did you mean --for?", None),
        ("snapshot --DEVICE x", "snapshot has no option --DEVICE. Did you mean --device?", None),
        ("snapshot --output-format json", "snapshot has no option --output-format. Did you mean --output?", None),
        (
            "--backend adb snapshot",
            "--backend belongs after the command",
            "Run 'clawperator snapshot --backend adb'.",
        ),
        (
            "--text Display click",
            "--text belongs after the command",
            "Run 'clawperator click --text Display'.",
        ),
        ("-", "clawperator has no option -.", "Run 'clawperator help'."),
        ("mcp config cusor", "unknown MCP client 'cusor'", "Did you mean cursor?"),
        ("phone fault latecy", "unknown fault 'latecy'", "Did you mean latency?"),
        ("help a b c", "unknown command 'a'", None),
        ("snapshot --view", "--view needs a value: --view <view>", "Write --view xml, for example."),
        ("click --text", "--text needs a value: --text <text>", "Run 'clawperator click --help'."),
        ("click --text --long", "--text needs a value: ", "Write --text=... for a value that begins with a dash."),
        ("snapshot --view outlin", "--view must be ", "Did you mean outline?"),
        (
            "phone start ''",
            "<serial>: expected a text that is not empty",
            "Give <serial> as text of 1 to 64 characters, such as claw-1.",
        ),
        (
            "packages list --user x",
            "--user: expected a number or current",
            "Set --user to a whole number from 0 to 21474, or to current.",
        ),
    ],
)
def test_a_mistyped_line_has_the_nearest_name_or_an_example(
    capsys: pytest.CaptureFixture[str], line: str, message: str, hint: str | None
) -> None:
    assert run(shlex.split(line)) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["message"].startswith(message)
    assert hint is None or found["hint"] == hint


def test_the_name_of_a_phone_is_nearly_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    PhoneFolder("claw-1").make()
    with pytest.raises(ClawError) as error:
        existing_folder("calw-1")
    assert error.value.hint == "Did you mean claw-1?"


def test_the_hint_of_a_fault_names_the_phone_of_the_call() -> None:
    row = find_operation("phone fault")
    with pytest.raises(ClawError) as error:
        approve(row, row.params(serial="h1", name="latency"), Caller(entry=HTTP))
    request = 'send POST /phones/h1/faults {"name":"latency","setting":"on"}'
    assert translate(error.value.hint, describe_request) == f"S{request[1:]}."


@pytest.mark.parametrize(
    ("act", "message", "hint"),
    [
        (
            lambda phone: phone.click(""),
            "a selector needs at least one non-empty field: id, role, text, ",
            "Give a ",
        ),
        (lambda phone: phone.swipe("sideways"), "direction: expected one of down, ", "Set direction to one of: "),
        (
            lambda phone: phone.grant_permission("a.b", "x"),
            "permission: ",
            "Set permission to android.permission.",
        ),
        (
            lambda phone: phone.open_app("a b"),
            "package: ",
            "Give a package name. Run 'clawperator packages list' in ",
        ),
        (
            lambda phone: phone.read_outline(max_tokens=0),
            "max_tokens: ",
            "Set max_tokens to a whole number from 1",
        ),
        (lambda phone: phone.enter_text(" "), "value: must not be blank", "Give value as text of "),
        (lambda phone: phone.scroll(container={"text": ""}), "container: ", "Give a selector with at least one "),
        (lambda phone: phone.drag("A"), "drag needs exactly one of to and end", "Give one of to and end."),
        (lambda phone: phone.find(unique=True), "invalid selector: index and unique need", "Use a text, "),
    ],
)
def test_an_error_about_a_method_names_its_keywords(act: Any, message: str, hint: str) -> None:
    with simulated_phone() as phone, pytest.raises(ClawError) as error:
        act(phone)
    assert error.value.message.startswith(message)
    assert error.value.hint.startswith(hint)


def test_json_keeps_its_own_names() -> None:
    params = {"clickType": "triple", "matcher": {"textEquals": "A"}}
    document = new_execution([{"type": "click", "params": params}], command_id="c", source="t", timeout_ms=5_000)
    with pytest.raises(ClawError) as error:
        validate(document)
    assert error.value.message.startswith("actions.0.params.clickType: expected one of default, click, ")
    assert error.value.hint == "Set clickType to one of: default, click, long_click, longclick, focus."


# Renderings


def execute(action: str) -> str:
    return f'send POST /execute {{"execution":{{"actions":[{action}]}}}}'


@pytest.mark.parametrize(
    ("line", "grouped", "request_", "python"),
    [
        (
            "clawperator recording export --input demo.ndjson",
            'call recording with {"do":"recording_export","input":"demo.ndjson"}',
            'send POST /recordings/export {"input":"demo.ndjson"}',
            "run 'clawperator recording export --input demo.ndjson' in a shell",
        ),
        (
            "clawperator snapshot --view outline --device claw-1",
            "call snapshot",
            'send POST /snapshot {"view":"outline","deviceId":"claw-1"}',
            "call phone.read_outline()",
        ),
        (
            "clawperator wait --text 'Wi-Fi & more'",
            'call wait with {"label":"Wi-Fi & more"}',
            execute('{"type":"wait_for_node","params":{"matcher":{"textEquals":"Wi-Fi & more"}}}'),
            "run 'clawperator wait --text 'Wi-Fi & more'' in a shell",
        ),
        (
            "clawperator clear-data <package>",
            'call run_plan with {"actions":[{"type":"clear_app_data","params":{"applicationId":"<package>"}}]}',
            execute('{"type":"clear_app_data","params":{"applicationId":"<package>"}}'),
            "run 'clawperator clear-data <package>' in a shell",
        ),
        (
            "clawperator recording stop --session-id demo",
            'call recording with {"do":"stop_recording","sessionId":"demo"}',
            'send POST /recordings/stop {"sessionId":"demo"}',
            "call phone.stop_recording(session_id='demo')",
        ),
        (
            "clawperator recording stop --session-id r1 --device m1 --json",  # as a step reports it
            'call recording with {"do":"stop_recording","sessionId":"r1"}',
            'send POST /recordings/stop {"sessionId":"r1","deviceId":"m1"}',
            "call phone.stop_recording(session_id='r1')",
        ),
        (
            "clawperator recording list",
            'call recording with {"do":"recording_list"}',
            "send GET /recordings",
            "run 'clawperator recording list' in a shell",
        ),
        (
            "clawperator phone list",
            'call phone with {"do":"phone_list"}',
            "send GET /phones",
            "run 'clawperator phone list' in a shell",
        ),
        (
            "clawperator skills run com.example.app.set -- --percent 5",
            'call skills with {"do":"run_skill","skill":"com.example.app.set","args":["--percent","5"]}',
            'send POST /skills/com.example.app.set/run {"args":["--percent","5"]}',
            "run 'clawperator skills run com.example.app.set -- --percent 5' in a shell",
        ),
        (
            "clawperator doctor --device 'a b'",
            'call phone with {"do":"doctor"}',
            "send GET /doctor?deviceId=a+b",
            "run 'clawperator doctor --device 'a b'' in a shell",
        ),
        (
            "clawperator phone start",
            'call phone with {"do":"start_phone"}',
            "send POST /phones/<serial>/start",
            "call clawperator.start_phone()",
        ),
        (
            "clawperator schema execution",
            "ask the user to run 'clawperator schema execution'",
            "send GET /schemas/execution",
            "run 'clawperator schema execution' in a shell",
        ),
        *(
            (line, *[f"ask the user to run '{line}'"] * 2, f"run '{line}' in a shell")
            for line in (
                "claw list-sessions",
                "clawperator doctor --fix",  # only command lines have the flag
                "clawperator recording --help",
                "clawperator click --below Wi-Fi",
                "clawperator click --coordinate 540 700",
                "clawperator click --text Save --expect-text Saved",
                "clawperator type ''",
                "clawperator wait",
            )
        ),
    ],
)
def test_a_call_in_the_language_of_each_entry_point(line: str, grouped: str, request_: str, python: str) -> None:
    hint = f"Retry, or run '{line}' to see why."
    for render, text in ((describe_call, grouped), (describe_request, request_)):
        assert translate(hint, render) == f"Retry, or {text} to see why."
    assert python_hint(hint) == f"Retry, or {python} to see why."


def test_a_hint_may_name_several_calls_and_other_commands() -> None:
    hint = "Run 'clawperator doctor', then run 'clawperator snapshot'. Run 'adb kill-server' first."
    assert translate(hint, describe_call) == (
        'Call phone with {"do":"doctor"}, then call snapshot. Run \'adb kill-server\' first.'
    )


@pytest.mark.parametrize(
    "hint", ["", "Run it.", "Run 'clawperator", "Run 'clawperator x 'y'", "Don't run 'claw' "]
)
def test_any_other_text_is_kept(hint: str) -> None:
    assert translate(hint, lambda call: f"run '{call.line}'") == hint


_WORDS = (
    "Run '",
    "run '",
    "'",
    '"',
    "clawperator",
    "claw",
    "--text",
    "--device",
    "--app=x",
    "=",
    "--",
    "stop",
    "a b",
    "{}",
)


@given(st.lists(st.sampled_from((*_WORDS, *MODULES)), max_size=8))
def test_a_hint_of_any_words_is_rendered(words: list[str]) -> None:
    """Devices and skills write hints, too."""
    for hint in (" ".join(words), f"Run 'clawperator {' '.join(words)}'"):
        for render in (describe_call, describe_request):
            assert isinstance(translate(hint, render), str)
        assert isinstance(python_hint(hint), str)


@pytest.mark.parametrize("hint", ["Run 'clawperator \"" + "'x" * 100_000, "Run 'claw' " * 100_000])
def test_a_long_hint_is_kept(hint: str) -> None:
    assert translate(hint, describe_call) == hint
