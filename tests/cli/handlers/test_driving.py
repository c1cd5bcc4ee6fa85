"""Every command that drives a phone, typed as in the contract's pages, by two routes to the same kind of phone.

What is printed is compared with golden documents, field by field.
"""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device.adb import binary
from clawperator.device.backends import operator_link as operator
from clawperator.device.setup.device_checks import check_presence
from clawperator.phone.adb.server import AdbServer
from clawperator.ui.parse import parse_hierarchy
from tests.support.golden import differences
from tests.support.routes import ROUTES, Route, open_route
from tests.support.running import Ran, clawperator

SETTINGS = "monkey -p com.android.settings -c android.intent.category.LAUNCHER 1"
HOME = "input keyevent HOME"
RECORDINGS = "/sdcard/Android/data/com.clawperator.operator/files/recordings"
NAVIGATION = (
    "clawperator exec --execution '"
    '{"commandId":"settings-nav-1","taskId":"settings-nav-1","source":"docs","expectedFormat":"android-ui-automator",'
    '"timeoutMs":30000,"actions":[{"id":"open","type":"open_app","params":{"applicationId":"com.android.settings"}},'
    '{"id":"wait","type":"wait_for_navigation","params":{"expectedPackage":"com.android.settings","timeoutMs":5000}},'
    '{"id":"snap","type":"snapshot_ui"}]}'
    "' --device {serial} --json"
)


class Example(NamedTuple):
    golden: str
    line: str
    before: tuple[str, ...] = ()  # command lines of the phone's shell, or of ours
    code: int = 0


def plan(*actions: Mapping[str, object]) -> str:
    """An execution of these actions, as a command line."""
    document = {
        "commandId": "plan-1",
        "taskId": "plan",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": f"a{i}", **action} for i, action in enumerate(actions, 1)],
    }
    return f"clawperator exec {shlex.quote(json.dumps(document))}"


ONCE = {"maxAttempts": 1}
EXAMPLES = [
    Example("devices", "clawperator devices --json"),
    Example("snapshot", "clawperator snapshot --json --device {serial}", (SETTINGS,)),
    Example("snapshot", "clawperator snapshot_ui --json", (SETTINGS,)),
    Example("snapshot", "clawperator snapshot --view xml --settle", (SETTINGS,)),
    Example("snapshot.outline", "clawperator snapshot --view outline", (SETTINGS,)),
    Example("snapshot.outline", "clawperator snapshot --view outline --settle", (SETTINGS,)),
    Example("snapshot.outline-cut", "clawperator snapshot --max-tokens 60", (SETTINGS,)),
    Example("snapshot.view-json", "clawperator snapshot --view json", (SETTINGS,)),
    Example("snapshot.since-unknown", "clawperator snapshot --since s00000000", (SETTINGS,)),
    Example("screenshot", "clawperator screenshot --path screen.png"),
    Example("screenshot.marks", "clawperator screenshot --path screen.png --marks", (SETTINGS,)),
    Example("open-app", "clawperator open com.android.settings --json", (HOME,)),
    Example("open-app", "clawperator open-app com.android.settings", (HOME,)),
    Example("open-app", "clawperator open_app com.android.settings", (HOME,)),
    Example("open-app", "clawperator open --package com.android.settings", (HOME,)),
    Example("open-uri", "clawperator open https://clawperator.com --json", (SETTINGS,)),
    Example("open-uri", "clawperator open --url https://clawperator.com", (SETTINGS,)),
    Example("open-uri", "clawperator open --uri https://clawperator.com", (SETTINGS,)),
    Example("wait-for-nav", "clawperator wait-for-nav --app com.android.settings --timeout 5000", (SETTINGS,)),
    Example(
        "wait-for-nav",
        "clawperator wait_for_navigation --package-id com.android.settings --timeout 5000",
        (SETTINGS,),
    ),
    Example(
        "wait-for-nav.timeout",
        "clawperator wait-for-nav --app com.example.nowhere --timeout 250",
        (SETTINGS,),
        code=1,
    ),
    Example("exec.navigation", NAVIGATION),
    Example(
        "exec.failed-step",
        plan(
            {"type": "open_app", "params": {"applicationId": "com.android.settings"}},
            {"type": "open_app", "params": {"applicationId": "com.example.missing", "retry": ONCE}},
            {"type": "snapshot_ui"},
        ),
        code=1,
    ),
    Example("click", "clawperator click --text Display", (SETTINGS,)),
    Example("click.coordinate", "clawperator click --coordinate 540 1696", (SETTINGS,)),
    Example("click.not-found", plan({"type": "click", "params": {"matcher": {"textEquals": "Nowhere"}, "retry": ONCE}}), (SETTINGS,), code=1),
    Example("back", "clawperator back", (SETTINGS, "clawperator click --text Display")),
    Example("press", "clawperator press home", (SETTINGS,)),
    Example("type", "clawperator type hello --role textfield", (SETTINGS, 'clawperator click --desc "Search settings"')),
    Example("read", "clawperator read --text Display", (SETTINGS,)),
    Example("read.all", 'clawperator read --text-contains "rk & internet" --all --json', (SETTINGS,)),
    Example("wait", "clawperator wait --text Display --timeout 2000", (SETTINGS,)),
    Example("close", "clawperator close com.android.settings", (SETTINGS,)),
    Example("sleep", "clawperator sleep 10"),
    Example("scroll", "clawperator scroll down", (SETTINGS,)),
    Example("scroll-until", 'clawperator scroll-until --text "About phone"', (SETTINGS,)),
    Example("scroll-and-click", 'clawperator scroll-and-click --text "About phone"', (SETTINGS,)),
    Example("read-value", 'clawperator read-value --label "Android version"', (SETTINGS, 'clawperator scroll-and-click --text "About phone"')),
]  # fmt: skip


@pytest.fixture(scope="module", params=ROUTES)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Route]:
    with open_route(request.param, tmp_path_factory.mktemp("route")) as route:
        yield route


@pytest.fixture
def route(shared: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Route:
    """The phone with Settings freshly opened. Without adb none is found or searched for."""
    monkeypatch.chdir(tmp_path)
    shared.take(monkeypatch)
    if shared.endpoint.simulated:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("ADB_PATH")
        monkeypatch.setattr(binary, "find_adb", lambda: pytest.fail("there is no adb to look for"))
    shared.shell("am force-stop com.android.settings")
    return shared


def typed_in(route: Route, line: str) -> Ran:
    name, *argv = shlex.split(line.replace("{serial}", route.serial))
    assert name == "clawperator"
    return clawperator(*argv)


def check(golden: str, ran: Ran, route: Route) -> None:
    assert differences(golden, ran.json, serial=route.serial) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{e.golden} {i}" for i, e in enumerate(EXAMPLES)])
def test_a_command_prints_the_documented_shape(example: Example, route: Route) -> None:
    for line in example.before:
        if line.startswith("clawperator "):
            assert typed_in(route, line).code == 0, line
        else:
            route.shell(line)
    ran = typed_in(route, example.line)
    check(example.golden, ran, route)
    assert ran.code == example.code
    assert ran.err == ""


def test_a_recording_is_started_stopped_pulled_and_read_as_the_page_shows(route: Route) -> None:
    route.shell(f"rm -rf {RECORDINGS}")
    steps = [
        ("recording-start", "clawperator record start --session-id demo-session --device {serial} --json", 0),
        ("recording-start.already", "clawperator record start --session-id other --device {serial} --json", 1),
        ("click", "clawperator click --text Display", 0),
        ("recording-stop.other", "clawperator record stop --session-id other --device {serial} --json", 1),
        ("recording-stop", "clawperator record stop --session-id demo-session --device {serial} --json", 0),
        ("recording-stop.not-running", "clawperator record stop --device {serial} --json", 1),
        ("recording-pull", "clawperator record pull --session-id demo-session --device {serial} --json", 0),
        ("recording-pull", "clawperator record pull --device {serial} --json", 0),
        ("recording-parse", "clawperator record parse --input ./recordings/demo-session.ndjson --json", 0),
        ("recording-export", "clawperator recording export --input ./recordings/demo-session.ndjson --json", 0),
    ]
    route.shell(SETTINGS)
    for golden, line, code in steps:
        ran = typed_in(route, line)
        check(golden, ran, route)
        assert ran.code == code, line
    lines = Path("recordings/demo-session.ndjson").read_bytes().splitlines()
    assert json.loads(lines[0])["operatorPackage"] == "com.clawperator.operator"
    assert json.loads(lines[1])["text"] == "Display"


@pytest.mark.parametrize(
    ("golden", "line"),
    [
        ("recording-pull.none", "clawperator record pull --json"),
        ("recording-pull.missing", "clawperator record pull --session-id demo-session --json"),
        ("recording-pull.invalid", "clawperator record pull --session-id ../latest --json"),
    ],
)
def test_a_recording_that_cannot_be_pulled_reports_the_reason(golden: str, line: str, route: Route) -> None:
    route.shell(f"rm -rf {RECORDINGS}")
    ran = typed_in(route, line)
    check(golden, ran, route)
    assert ran.code == 1
    assert not Path("recordings").exists() or os.listdir("recordings") == []


def test_the_screen_in_a_snapshot_is_whole(route: Route) -> None:
    route.shell(SETTINGS)
    step = typed_in(route, "clawperator snapshot").json["envelope"]["stepResults"][0]
    labels = [node.label for node in parse_hierarchy(step["data"]["text"]).nodes]
    assert {"Network & internet", "Display"} <= set(labels)
    assert labels[:1] == [""]


def test_a_snapshot_right_after_a_click_has_a_warning(route: Route) -> None:
    route.shell(SETTINGS)
    click = {"type": "click", "params": {"matcher": {"textEquals": "Display"}}}
    hasty = typed_in(route, plan(click, {"type": "snapshot_ui"}))
    calm = typed_in(route, plan({"type": "sleep", "params": {"durationMs": 1}}, {"type": "snapshot_ui"}))
    assert hasty.json["envelope"]["stepResults"][1]["data"]["warn"].startswith("snapshot captured without")
    assert "warn" not in calm.json["envelope"]["stepResults"][1]["data"]


def test_each_screenshot_and_each_close_happens_at_its_own_step(route: Route) -> None:
    ran = typed_in(
        route,
        plan(
            {"type": "open_app", "params": {"applicationId": "com.android.settings"}},
            {"type": "take_screenshot", "params": {"path": "before.png"}},
            {"type": "close_app", "params": {"applicationId": "com.android.settings"}},
            {"type": "take_screenshot", "params": {"path": "after.png"}},
        ),
    )
    assert [step["success"] for step in ran.json["envelope"]["stepResults"]] == [True] * 4
    assert Path("before.png").read_bytes() != Path("after.png").read_bytes()


@pytest.mark.parametrize("mark", ["shot", "goes-on"])
def test_a_failure_that_ends_the_plan_ends_it_also_for_what_the_host_does(mark: str, route: Route) -> None:
    lost = {"type": "click", "params": {"matcher": {"textEquals": "Nowhere"}, "retry": ONCE}}
    shot = {"id": mark, "type": "take_screenshot", "params": {"path": "shot.png"}}
    ran = typed_in(route, plan(lost, shot, {"type": "snapshot_ui"}))
    assert [step["id"] for step in ran.json["envelope"]["stepResults"]] == ["a1"]
    assert not Path("shot.png").exists()


@pytest.mark.parametrize("mark", ["shot", "goes-on"])
def test_a_failure_that_does_not_end_the_plan_is_followed_by_the_rest(mark: str, route: Route) -> None:
    params = {"expectedPackage": "com.example.nowhere", "timeoutMs": 1}
    shot = {"id": mark, "type": "take_screenshot", "params": {"path": "shot.png"}}
    ran = typed_in(route, plan({"type": "wait_for_navigation", "params": params}, shot, {"type": "snapshot_ui"}))
    steps = ran.json["envelope"]["stepResults"]
    assert [(step["id"], step["success"]) for step in steps] == [("a1", False), (mark, True), ("a3", True)]
    assert ran.json["envelope"]["errorCode"] == "NAVIGATION_TIMEOUT"


@pytest.fixture
def faulty(route: Route) -> Iterator[Route]:
    """The phone, for tests that set faults: they are put right again."""
    yield route
    for name in route.phone_server.phone.faults.values():
        route.phone_server.phone.set_fault(name, "off")


def test_a_hierarchy_with_a_lost_line_is_rejected(faulty: Route) -> None:
    faulty.shell(SETTINGS)
    ran = typed_in(faulty, "clawperator snapshot")
    for _ in range(10):  # of a hundred and more lines some are lost, and hardly ever the one with the result
        faulty.phone_server.phone.set_fault("lost_log", "0.02")
        ran = typed_in(faulty, "clawperator snapshot --json --device {serial} --timeout 1000")
        if ran.code and "envelope" in ran.json:
            break
    check("snapshot.lost", ran, faulty)


def test_a_phone_without_its_accessibility_service_is_an_error(faulty: Route) -> None:
    faulty.phone_server.phone.set_fault("accessibility_off", "on")
    ran = typed_in(faulty, "clawperator snapshot")
    check("snapshot.no-service", ran, faulty)
    assert ran.code == 1


def test_a_missing_operator_is_reported_without_waiting(route: Route) -> None:
    ran = typed_in(route, "clawperator snapshot --operator-package com.example.operator")
    check("snapshot.no-operator", ran, route)
    assert ran.code == 1


def test_snapshot_and_doctor_name_the_installed_variant_of_the_operator(route: Route) -> None:
    wanted, installed = OPERATOR_PACKAGES[1], OPERATOR_PACKAGES[0]
    error = typed_in(route, f"clawperator snapshot --operator-package {wanted}").json
    assert error["code"] == "OPERATOR_NOT_INSTALLED"
    assert installed in error["message"]
    assert f"Operator package {installed}" in error["hint"]
    check = check_presence(route.device, wanted)
    assert check.summary == error["message"]
    assert check.fix is not None
    assert [step.value for step in check.fix.steps] == [error["hint"]]
    assert typed_in(route, f"clawperator snapshot --operator-package {installed}").code == 0


def test_a_result_that_does_not_come_ends_at_its_deadline(faulty: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "GRACE_SECONDS", 0.1)
    faulty.phone_server.phone.set_fault("lost_log", "1")
    ran = typed_in(faulty, "clawperator snapshot --timeout 1000")
    check("snapshot.no-result", ran, faulty)
    assert ran.code == 1


def test_a_label_that_is_not_there_fails_within_the_timeout(route: Route) -> None:
    route.shell(SETTINGS)
    envelope = typed_in(route, "clawperator click --text Displya --timeout 1000").json["envelope"]
    data = envelope["stepResults"][0]["data"]
    assert "NODE_NOT_FOUND" in (data["error"], data.get("last_error"))
    assert 'text "Display"' in envelope["hint"], "near matches are named even when the plan's time is over"
    assert "snapshot" in envelope["hint"]


@pytest.mark.parametrize("timeout", ["0", "-1", "soon"])
def test_a_pull_wants_a_time_that_makes_sense(timeout: str, route: Route) -> None:
    ran = typed_in(route, f"clawperator recording pull --timeout {timeout}")
    assert (ran.code, ran.json["code"]) == (1, "EXECUTION_VALIDATION_FAILED")


def test_a_pull_goes_into_the_folder_that_is_named(route: Route) -> None:
    route.shell(f"mkdir -p {RECORDINGS} && echo x > {RECORDINGS}/named.ndjson")
    ran = typed_in(route, "clawperator recording pull --session-id named --out a/b --timeout 5000")
    assert ran.json == {"ok": True, "localPath": "a/b/named.ndjson", "sessionId": "named"}
    assert Path("a/b/named.ndjson").read_text() == "x\n"


# Without a phone


@pytest.mark.parametrize("line", ["snapshot", "open com.android.settings", "recording pull", "recording start"])
def test_with_no_adb_and_no_phone_the_simulated_phone_is_offered(line: str) -> None:
    ran = clawperator(*line.split())
    assert ran.code == 1
    assert ran.json["code"] == "ADB_NOT_FOUND"
    assert "'clawperator phone start'" in ran.json["hint"]


@pytest.mark.parametrize("line", ["snapshot", "recording pull", "recording stop"])
def test_with_adb_and_no_phone_the_simulated_phone_is_offered(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = AdbServer(list)
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.start()))
    try:
        ran = clawperator(*line.split())
    finally:
        server.stop()
    assert ran.code == 1
    assert ran.json["code"] == "NO_DEVICES"
    assert "'clawperator phone start'" in ran.json["hint"]


def test_an_unknown_backend_is_a_usage_error() -> None:
    ran = clawperator("snapshot", "--backend", "magic")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
