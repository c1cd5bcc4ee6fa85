"""``clawperator.connect`` drives a phone over the adb protocol with the phone's own Operator."""

import asyncio
import inspect
import re
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clawperator
from clawperator.api.async_phone import AsyncConnectedPhone
from clawperator.api.phone import AndroidPhone, ConnectedPhone
from clawperator.api.results import ActionResult, FoundNode, LabelValue, only_step
from clawperator.api.selectors import FIELDS, Selector, SelectorKwargs
from clawperator.api.snapshot import Snapshot
from clawperator.contract.action_params import Retry
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import LONGEST_WAIT_MS, look_retry, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.contract.selectors import NodeSelector
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run.lease import lease
from clawperator.engine.clock import SystemClock
from clawperator.engine.retry import retry_delays
from clawperator.errors import ClawError, TargetError
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.testing import ScriptedBackend, SimulatedPhone, simulated_phone
from tests.support.hanging import HANG_SECONDS

SETTINGS = "com.android.settings"
NOTES = "com.clawperator.notes"


class Door(NamedTuple):
    device: PhoneDevice
    port: int


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """One adb server for all tests; closing one takes longer than most of them."""
    with simulated_phone() as first:
        device = PhoneDevice(first.phone)
        server = AdbServer(lambda: [device])
        yield Door(device, server.start())
        server.stop()


@pytest.fixture
def simulator(door: Door) -> Iterator[SimulatedPhone]:
    """A fresh phone behind the door, by a clock that jumps."""
    with simulated_phone() as fresh:
        door.device.phone = fresh.phone
        yield fresh


@pytest.fixture
def hand(door: Door, simulator: SimulatedPhone) -> ConnectedPhone:
    assert door.device.phone is simulator.phone
    return ConnectedPhone(Device("claw-1", Endpoint("127.0.0.1", door.port, simulated=True)))


@pytest.fixture
def known(door: Door, simulator: SimulatedPhone, monkeypatch: pytest.MonkeyPatch) -> SimulatedPhone:
    """The phone where an adb server would be."""
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(door.port))
    return simulator


@pytest.fixture
def live_hand() -> Iterator[ConnectedPhone]:
    """A phone by the machine's clock, for what takes time."""
    with simulated_phone(clock=SystemClock()) as phone, phone.serve() as doors:
        yield ConnectedPhone(Device("claw-1", Endpoint("127.0.0.1", doors.server_port, simulated=True)))


def refusal(info: pytest.ExceptionInfo[ClawError]) -> tuple[str, str]:
    return info.value.code, info.value.message


def test_an_empty_password_field_is_found_by_its_hint_and_shows_dots_when_it_is_filled(
    hand: ConnectedPhone,
) -> None:
    hand.open_app(NOTES)
    hand.click("Account")
    found = hand.snapshot().find("Password")
    assert found is not None
    assert found.flag("password")
    assert hand.read("Password") == "Password"
    hand.enter_text("horse", text="Password")
    assert "Password" not in hand.snapshot().labels()
    assert "••••" in hand.snapshot().labels()


# Connecting


@pytest.mark.usefixtures("known")
def test_the_only_phone_is_found() -> None:
    assert clawperator.connect().serial == "claw-1"
    assert repr(clawperator.connect("claw-1")) == "<ConnectedPhone claw-1>"
    with pytest.raises(ClawError) as info:
        clawperator.connect("another")
    assert info.value.code == "DEVICE_NOT_FOUND"
    assert info.value.hint == "Use one of: claw-1."


def test_without_a_phone_the_hint_starts_one() -> None:
    with pytest.raises(ClawError) as info:
        clawperator.connect()
    assert info.value.code == "ADB_NOT_FOUND"
    assert info.value.hint.startswith("Call clawperator.start_phone() for a simulated phone")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ClawError) as info:
        clawperator.connect("claw-1", backend="magic")  # type: ignore[arg-type]
    assert refusal(info) == ("USAGE", "unknown backend 'magic'")


def test_the_named_operator_is_the_one_that_is_asked(hand: ConnectedPhone) -> None:
    stranger = ConnectedPhone(hand.device, operator_package="com.example.operator")
    with pytest.raises(ClawError) as info:
        stranger.snapshot()
    assert info.value.code == "OPERATOR_NOT_INSTALLED"
    assert info.value.extra["operatorPackage"] == "com.example.operator"


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        clawperator.conect  # type: ignore[attr-defined]  # noqa: B018 - the asking is the test
    assert clawperator.ClawError is ClawError


# Acting


def test_an_action_reports_its_target_and_its_effect(hand: ConnectedPhone) -> None:
    opened = hand.open_app(SETTINGS)
    assert (opened.effect, opened.matched_target, opened.dispatch_method) == (
        "changed",
        {"package": SETTINGS},
        "launch_intent",
    )
    clicked = hand.click("Display")
    assert clicked.effect == "changed"
    assert clicked.candidate_count == 1
    assert clicked.matched_target["label"] == "Display"
    assert clicked.data["click_types"] == "click"
    assert hand.back().effect == "changed"
    assert hand.home().matched_target == {"key": "home"}
    assert hand.press("recents").data["key"] == "recents"
    assert hand.open_uri("https://example.com").matched_target == {"uri": "https://example.com"}


def test_every_field_of_a_selector_counts(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    assert hand.read(text_contains="DISP") == "Display"
    assert hand.read(id="android:id/title") == "Network & internet"
    assert hand.read(id="android:id/title", text_contains="disp") == "Display"
    hand.click("Display")
    assert hand.read(desc="Navigate up") == "Navigate up"
    assert hand.read(desc_contains="navigate") == "Navigate up"
    assert hand.read_all(role="title") == ["Display"]


def test_a_point_can_be_clicked(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    shown = hand.snapshot().find("Display")
    assert shown is not None
    clicked = hand.click(coordinate=shown.bounds.centre)
    assert (clicked.effect, clicked.dispatch_method) == ("changed", "gesture_tap")
    assert hand.click(coordinate=(540, 60), long=True).dispatch_method == "gesture_long_press"


def test_a_node_can_be_focused_and_pressed_long(hand: ConnectedPhone) -> None:
    hand.open_app(NOTES)
    hand.click("Add note")
    assert hand.click("Write something", focus=True).dispatch_method == "accessibility_focus"
    field = hand.snapshot().find("Write something")
    assert field is not None
    assert field.flag("focused")
    assert hand.click("Work", long=True).data["click_types"] == "long_click"


def test_text_goes_into_a_field(hand: ConnectedPhone, simulator: SimulatedPhone) -> None:
    hand.open_app(NOTES)
    hand.click("Add note")
    assert hand.enter_text("Milk & eggs", text="Title").effect == "changed"
    assert simulator.shows("Milk & eggs")
    typed = hand.type("Bread", text="Milk & eggs", clear=True)
    assert (typed.data["text"], typed.data["submit"]) == ("Bread", "false")
    assert not simulator.shows("Milk & eggs")


def test_scrolling_reports_when_the_end_is_reached(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    assert hand.scroll("up").at_edge
    swipes = 0
    while not (last := hand.scroll("down", distance=0.5)).at_edge:
        assert last.outcome == "moved"
        swipes += 1
        assert swipes < 20
    back = hand.scroll_until("Network & internet", direction="up")
    assert (back.outcome, back.effect) == ("TARGET_FOUND", "changed")
    assert back.scrolls >= 1
    whole = hand.scroll_until()
    assert whole.at_edge
    clicked = hand.scroll_and_click("Network & internet", direction="up", max_swipes=8)
    assert clicked.effect == "changed"
    assert clicked.dispatch_method.endswith("accessibility_click")


def test_a_container_limits_the_search(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    hand.click("Display")
    rows = f"{SETTINGS}:id/recycler_view"
    assert hand.read("Dark theme", container={"id": rows}) == "Dark theme"
    assert hand.read_all("Display", container={"id": rows}) == []
    assert hand.scroll(container={"id": rows}).matched_target["resourceId"] == rows
    with pytest.raises(ClawError) as info:
        hand.scroll(container={"text": "nowhere"})
    assert info.value.code == "CONTAINER_NOT_FOUND"


def test_values_beside_labels_are_read(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    hand.scroll_and_click("About phone")
    assert hand.read_value("Android version") == "15"
    assert hand.read("15", validator="version") == "15"
    assert LabelValue("Model", "simulated") in hand.read_values(id="android:id/title")
    with pytest.raises(ClawError) as info:
        hand.read("Model", validator="regex", pattern="[0-9]+")
    assert info.value.code == "VALIDATOR_MISMATCH"


def test_waits_end_when_what_was_waited_for_is_there(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    assert hand.wait("Display", timeout=2) == FoundNode("android:id/title", "Display")
    assert hand.wait_for_nav(SETTINGS, timeout=2).package == SETTINGS
    assert hand.wait_for_nav(text="Display").elapsed_ms >= 0
    hand.sleep(0.5)
    with pytest.raises(ClawError) as info:
        hand.wait("Nothing like it", timeout=1.5)
    assert info.value.code == "NODE_NOT_FOUND"
    assert info.value.details is not None
    assert info.value.details["step"]["data"]["timeout_ms"] == "1500"
    with pytest.raises(ClawError) as info:
        hand.wait_for_nav("com.example.never", timeout=1)
    assert info.value.code == "NAVIGATION_TIMEOUT"


def test_closing_an_app_promises_no_effect_it_has_not_seen(
    hand: ConnectedPhone, simulator: SimulatedPhone
) -> None:
    hand.open_app(SETTINGS)
    closed = hand.close_app(SETTINGS)
    assert closed == ActionResult(
        effect="unknown",
        matched_target={},
        candidate_count=0,
        dispatch_method="",
        settled_ms=0,
        data={"application_id": SETTINGS},
    )
    assert simulator.foreground() != SETTINGS


# Seeing


def test_a_snapshot_is_searched_like_the_screen(hand: ConnectedPhone, simulator: SimulatedPhone) -> None:
    hand.open_app(SETTINGS)
    snapshot = hand.snapshot()
    assert str(snapshot) == snapshot.xml
    assert snapshot.xml.startswith("<?xml")
    assert snapshot.package == SETTINGS
    assert snapshot.overlay_package is None
    assert snapshot.window_count >= 1
    assert snapshot.hierarchy is snapshot.hierarchy
    assert snapshot.labels() == simulator.labels()
    assert snapshot.shows("Display")
    assert not snapshot.shows("About phone")
    titles = snapshot.find_all(id="android:id/title")
    assert [node.label for node in titles[:2]] == ["Network & internet", "Connected devices"]
    with pytest.raises(ClawError) as info:
        snapshot.find()
    assert info.value.code == "MISSING_SELECTOR"


def test_nodes_outside_the_window_are_not_found() -> None:
    xml = (
        '<hierarchy rotation="0"><node text="" bounds="[0,100][100,200]"><node text="in" bounds="[0,110][50,120]"/>'
        '<node text="out" bounds="[0,300][50,320]"/></node></hierarchy>'
    )
    assert Snapshot(xml, None, None, 1).labels() == ["in"]
    assert Snapshot('<hierarchy rotation="0"></hierarchy>', None, None, 0).labels() == []


def test_a_snapshot_with_invalid_xml_fails_when_its_tree_is_read() -> None:
    broken = Snapshot("<hierarchy>", None, None, 0)
    with pytest.raises(ClawError) as info:
        broken.labels()
    assert info.value.code == "HIERARCHY_INVALID"


def test_a_screenshot_is_a_file(hand: ConnectedPhone, tmp_path: Path) -> None:
    wanted = tmp_path / "screen.png"
    assert hand.screenshot(wanted) == str(wanted)
    assert wanted.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ClawError) as info:
        hand.screenshot(tmp_path / "no" / "folder.png")
    assert info.value.code == "SCREENSHOT_NOT_SAVED"


# Failing


def test_a_failed_step_is_raised_with_all_its_data(hand: ConnectedPhone) -> None:
    with pytest.raises(ClawError) as info:
        hand.open_app("com.nope")
    error = info.value
    assert error.code == "APP_NOT_FOUND"
    assert error.message == "no launchable app com.nope on the device"
    assert error.hint == "Run 'clawperator packages list' in a shell to list installed apps."
    assert (error.operation, error.target) == ("open_app", "claw-1")
    assert error.details is not None
    assert error.details["step"]["actionType"] == "open_app"
    assert error.details["step"]["data"]["application_id"] == "com.nope"


def test_hints_name_methods_unless_the_program_shows_commands(hand: ConnectedPhone) -> None:
    with pytest.raises(TargetError) as missed:
        hand.click("nothing like it", timeout=0)
    assert missed.value.hint == "Call phone.read_outline() to see what is on the screen."
    hand.names_commands = True
    with pytest.raises(TargetError) as missed:
        hand.click("nothing like it", timeout=0)
    assert missed.value.hint == "Run 'clawperator snapshot' to see what is on the screen."


def test_hints_of_connect_name_functions_or_a_shell() -> None:
    with pytest.raises(ClawError) as error:
        clawperator.connect("")
    assert error.value.hint == "Run 'clawperator devices' in a shell to list serials."


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda phone: phone.sleep(-1), "seconds"),
        (lambda phone: phone.wait_until_idle(quiet=-1), "quiet"),
        (lambda phone: phone.click("A", long=True, duration=-1), "duration"),
        (lambda phone: phone.click("A", timeout=-1), "timeout"),
    ],
)
def test_a_time_out_of_range_is_named_as_the_method_has_it(
    hand: ConnectedPhone, call: Callable[[ConnectedPhone], Any], name: str
) -> None:
    with pytest.raises(ClawError) as error:
        call(hand)
    assert error.value.message.startswith(f"{name} must be a number of seconds from 0 to ")
    assert error.value.hint.startswith(f"Pass {name}= with a number of seconds from 0 to ")


def test_a_failure_after_an_effect_is_not_retryable(hand: ConnectedPhone) -> None:
    hand.open_app(SETTINGS)
    missing = {"type": "click", "params": {"matcher": {"textEquals": "Nowhere"}, "retry": {"maxAttempts": 1}}}
    look = {"type": "read_text", "params": {"matcher": {"textEquals": "Settings"}}}
    press = {"type": "press_key", "params": {"key": "home"}}
    for earlier, retryable in ((look, True), (press, False)):
        with pytest.raises(ClawError) as error:
            only_step(hand.run([earlier, missing]), "claw-1")
        assert (error.value.code, error.value.retryable) == ("NODE_NOT_FOUND", retryable)
        assert error.value.after_effect is not retryable


def test_an_operator_without_its_service_is_reported(hand: ConnectedPhone, simulator: SimulatedPhone) -> None:
    simulator.fault("accessibility_off")
    with pytest.raises(ClawError) as info:
        hand.click("Settings")
    assert info.value.code == "SERVICE_UNAVAILABLE"
    assert "doctor --fix" in str(info.value.hint)


def test_an_unknown_code_is_kept_in_the_step() -> None:
    step = StepResult("a1", "click", False, {"error": "BRAND_NEW", "message": "well"})
    with pytest.raises(ClawError) as info:
        only_step(ResultEnvelope("c", "t", "failed", [step], None), "claw-1")
    assert refusal(info) == ("UNKNOWN", "well")
    assert info.value.details is not None
    assert info.value.details["step"]["data"]["error"] == "BRAND_NEW"


def test_an_envelope_without_steps_is_an_error() -> None:
    with pytest.raises(ClawError) as info:
        only_step(ResultEnvelope("c", "t", "success", [], None), "claw-1")
    assert refusal(info) == ("UNKNOWN", "the result has no step")


@pytest.mark.parametrize("data", [{}, {"text": "not json"}, {"text": '{"a":1}'}])
def test_a_result_without_what_it_must_hold_is_malformed(
    data: dict[str, str], hand: ConnectedPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    envelope = ResultEnvelope("c", "t", "success", [StepResult("read", "read_text", True, data)], None)
    monkeypatch.setattr(hand, "_run", lambda _: envelope)
    with pytest.raises(ClawError) as info:
        hand.read_all("Display")
    assert info.value.code == "RESULT_ENVELOPE_MALFORMED"


def test_invalid_result_data_is_replaced_by_defaults(
    hand: ConnectedPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"effect": "wonderful", "matched_target": "[", "candidate_count": "-1", "settled_ms": "9" * 5_000}
    envelope = ResultEnvelope("c", "t", "success", [StepResult("click", "click", True, data)], None)
    monkeypatch.setattr(hand, "_run", lambda _: envelope)
    clicked = hand.click("Display")
    assert (clicked.effect, clicked.matched_target, clicked.candidate_count, clicked.settled_ms) == (
        "unknown",
        {},
        0,
        0,
    )


# Refusing before anything is sent


INVALID, MISSING = "EXECUTION_VALIDATION_FAILED", "MISSING_SELECTOR"


@pytest.mark.parametrize(
    ("code", "call"),
    [
        (MISSING, lambda hand: hand.click()),
        (MISSING, lambda hand: hand.scroll_and_click()),
        (MISSING, lambda hand: hand.read("x", container={})),
        (MISSING, lambda hand: hand.wait()),
        (INVALID, lambda hand: hand.click("")),
        (INVALID, lambda hand: hand.click("x", coordinate=(1, 2))),
        (INVALID, lambda hand: hand.click("x", long=True, focus=True)),
        (INVALID, lambda hand: hand.click(coordinate=(-1, 2))),
        (INVALID, lambda hand: hand.click(coordinate=(1, 2), focus=True)),
        (INVALID, lambda hand: hand.open_app("no package; rm -rf /")),
        (INVALID, lambda hand: hand.press("self_destruct")),
        (INVALID, lambda hand: hand.scroll("sideways")),
        (INVALID, lambda hand: hand.scroll(distance=2)),
        (INVALID, lambda hand: hand.wait("x", timeout=0)),
        (INVALID, lambda hand: hand.wait("x", timeout=500)),
        (INVALID, lambda hand: hand.wait("x", timeout=float("nan"))),
        (INVALID, lambda hand: hand.wait_for_nav(timeout=1)),
        (INVALID, lambda hand: hand.wait_for_nav(SETTINGS, timeout=31)),
        (INVALID, lambda hand: hand.sleep(-1)),
        (INVALID, lambda hand: hand.sleep(float("inf"))),
        (INVALID, lambda hand: hand.start_recording("../up")),
        (INVALID, lambda hand: hand.run([])),
        (INVALID, lambda hand: hand.run([{"type": "fly"}])),
        (INVALID, lambda hand: hand.run([{"type": "snapshot_ui"}], timeout=0.5)),
        (INVALID, lambda hand: hand.run({"actions": []})),
    ],
)
def test_bad_arguments_never_reach_the_phone(code: str, call: Callable[[ConnectedPhone], object]) -> None:
    with pytest.raises(ClawError) as info:
        call(ConnectedPhone(Device("claw-1", Endpoint("127.0.0.1", 1))))
    assert info.value.code == code, info.value.message


def test_a_misspelt_selector_is_a_type_error(hand: ConnectedPhone) -> None:
    with pytest.raises(TypeError, match="unknown selector keyword 'label'; use text, text_contains, "):
        hand.click(label="Display")  # type: ignore[call-arg]


# Several actions, and the shell


def test_a_list_of_actions_is_one_execution(hand: ConnectedPhone) -> None:
    envelope = hand.run(
        [
            {"type": "open_app", "params": {"applicationId": SETTINGS}},
            {"type": "read", "params": {"matcher": {"text": "Nothing"}, "retry": {"maxAttempts": 1}}},
            {"type": "snapshot_ui"},
        ],
        timeout=20,
    )
    assert envelope.status == "failed"
    assert [(step.id, step.success) for step in envelope.stepResults] == [("a1", True), ("a2", False)]
    assert envelope.errorCode == "NODE_NOT_FOUND"


def test_a_whole_execution_keeps_its_own_ids(hand: ConnectedPhone) -> None:
    document = {
        "commandId": "mine",
        "taskId": "task",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
        "actions": [{"id": "look", "type": "snapshot_ui"}],
    }
    envelope = hand.run(document, timeout=9)
    assert (envelope.commandId, envelope.stepResults[0].id) == ("mine", "look")
    assert document["timeoutMs"] == 5_000


def test_the_shell_takes_arguments_as_they_are(hand: ConnectedPhone) -> None:
    answer = hand.shell("echo", "a  b", "$(id)", "'; exit 3", "")
    assert (answer.code, answer.text) == (0, "a  b $(id) '; exit 3 \n")
    assert hand.shell("sh", "-c", "exit 7").code == 7
    with pytest.raises(ValueError, match="NUL"):
        hand.shell("echo", "\0")


def test_a_shell_command_that_does_not_end_is_left(live_hand: ConnectedPhone) -> None:
    with pytest.raises(ClawError) as info:
        live_hand.shell("sleep", "30", timeout=0.2)
    assert info.value.code == "DEVICE_SHELL_UNAVAILABLE"


# Recording


def test_a_recording_is_made_and_pulled(hand: ConnectedPhone, simulator: SimulatedPhone, tmp_path: Path) -> None:
    with hand.recording("demo") as recording:
        simulator.person.tap("Settings")
        simulator.person.tap("Display")
    assert recording.session_id == "demo"
    assert recording.result.events
    path = recording.pull(tmp_path)
    assert path == str(tmp_path / "demo.ndjson")
    lines = Path(path).read_text().splitlines()
    assert len(lines) == recording.result.events + 1
    assert hand.pull_recording(folder=tmp_path / "last") == str(tmp_path / "last" / "demo.ndjson")


def test_a_recording_ends_with_its_block_even_when_that_fails(hand: ConnectedPhone) -> None:
    with pytest.raises(RuntimeError, match="oh"), hand.recording("one"):
        raise RuntimeError("oh")
    with hand.recording("two"), pytest.raises(ClawError) as info:
        hand.start_recording("three")
    assert info.value.code == "RECORDING_ALREADY_IN_PROGRESS"


def test_an_error_in_the_block_is_not_hidden_by_one_of_the_end(
    hand: ConnectedPhone, simulator: SimulatedPhone
) -> None:
    def fail() -> None:
        simulator.fault("accessibility_off")
        raise RuntimeError("oh")

    with pytest.raises(RuntimeError, match="oh"), hand.recording("one"):
        fail()


def test_a_recording_that_has_not_begun_has_no_id(hand: ConnectedPhone) -> None:
    with pytest.raises(ClawError) as info:
        hand.recording("later").pull()
    assert info.value.code == "RECORDING_NOT_IN_PROGRESS"


# Awaiting


def test_every_method_can_be_awaited() -> None:
    for name, method in inspect.getmembers(ConnectedPhone, inspect.isfunction):
        if name.startswith("_") or name == "recording":
            continue
        twin = vars(AsyncConnectedPhone)[name]
        assert inspect.iscoroutinefunction(twin), name
        assert inspect.signature(twin) == inspect.signature(method), name
        assert twin.__doc__ == method.__doc__


@pytest.mark.usefixtures("known")
def test_a_phone_is_driven_by_awaiting(tmp_path: Path) -> None:
    async def drive() -> tuple[str, list[str], str]:
        async with await clawperator.connect_async() as phone:
            assert repr(phone) == "<AsyncConnectedPhone claw-1>"
            async with phone.recording("awaited") as recording:
                await phone.open_app(SETTINGS)
                clicked = await phone.click("Display")
        assert recording.result.session_id == recording.session_id == "awaited"
        return clicked.effect, (await phone.snapshot()).labels(), await recording.pull(tmp_path)

    effect, labels, path = asyncio.run(drive())
    assert effect == "changed"
    assert "Dark theme" in labels
    assert Path(path).name == "awaited.ndjson"


def test_an_awaited_call_raises_the_error_of_the_device(hand: ConnectedPhone) -> None:
    with pytest.raises(ClawError) as info:
        asyncio.run(AsyncConnectedPhone(hand).open_uri("intent://x"))
    assert info.value.code == "URI_SCHEME_NOT_ALLOWED"


def is_held(serial: str) -> bool:
    try:
        with lease(serial, "probe", 0):
            return False
    except ClawError:
        return True


def test_a_cancelled_call_keeps_the_phone_until_it_is_done(live_hand: ConnectedPhone) -> None:
    nap = 3

    async def drive() -> tuple[float, float]:
        phone = AsyncConnectedPhone(live_hand)
        start = time.monotonic()
        sleeping = asyncio.create_task(phone.sleep(nap))
        while not is_held(phone.serial):
            assert time.monotonic() - start < HANG_SECONDS
            await asyncio.sleep(0.01)
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        left = time.monotonic() - start
        await phone.snapshot()
        return left, time.monotonic() - start

    left, answered = asyncio.run(drive())
    assert left < nap <= answered


def test_a_recording_whose_start_is_cancelled_does_not_go_on(live_hand: ConnectedPhone) -> None:
    async def drive() -> None:
        phone = AsyncConnectedPhone(live_hand)

        async def record() -> None:
            async with phone.recording("cancelled"):
                raise AssertionError("it must not come this far")

        recording = asyncio.create_task(record())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        recording.cancel()
        with pytest.raises(asyncio.CancelledError):
            await recording
        with pytest.raises(ClawError) as info:
            await phone.stop_recording("cancelled")
        assert info.value.code == "RECORDING_NOT_IN_PROGRESS"

    asyncio.run(drive())


def test_threads_take_turns(live_hand: ConnectedPhone) -> None:
    live_hand.open_app(SETTINGS)
    read: list[str] = []
    threads = [threading.Thread(target=lambda: read.append(live_hand.read("Display"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert read == ["Display"] * 4


def test_a_snapshot_finds_an_empty_password_field_by_its_hint(hand: ConnectedPhone) -> None:
    hand.open_app(NOTES)
    hand.click("Account")
    field = hand.snapshot().find("Password")
    assert field is not None
    assert (field.password, hand.wait("Password").label) == (True, "Password")
    hand.enter_text("secret", text="Password")
    filled = hand.snapshot().find(id=field.resource_id)
    assert filled is not None
    assert set(filled.text) == {"•"}


def test_a_snapshot_has_an_id_and_an_outline_with_references(
    hand: ConnectedPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    hand.open_app(SETTINGS)
    screen = hand.snapshot(settle=True)

    assert screen.snapshot_id == hand.snapshot().snapshot_id
    assert screen.outline.splitlines()[:2] == [
        "e1 container #settings_homepage_container scrollable",
        ' e2 "Settings"',
    ]


def test_a_screenshot_can_have_marks(
    hand: ConnectedPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    hand.open_app(SETTINGS)
    plain = hand.screenshot(tmp_path / "plain.png")
    marked = hand.screenshot(tmp_path / "marked.png", marks=True)

    assert Path(plain).read_bytes() != Path(marked).read_bytes()


METHODS = {
    name: method
    for name, method in inspect.getmembers(AndroidPhone, inspect.isfunction)
    if not name.startswith("_")
}


def scripted(*results: dict[str, str]) -> tuple[ConnectedPhone, ScriptedBackend]:
    backend = ScriptedBackend(*results)
    return ConnectedPhone(Device("none", Endpoint("127.0.0.1", 1)), backend=backend), backend


def sent(call: Callable[[ConnectedPhone], object]) -> dict[str, Any]:
    """The only execution document that a call runs."""
    phone, backend = scripted({"text": "[]", "value": "", "pairs": "[]", "path": "", "sessionId": "s"})
    call(phone)
    (plan,) = backend.plans
    return plan.document


def test_every_method_takes_a_timeout() -> None:
    # The time of a sleep is its argument; a recording ends with its block.
    def takes_timeout(method: Callable[..., object]) -> bool:
        parameters = inspect.signature(method).parameters
        options = parameters.get("options")
        return "timeout" in parameters or (options is not None and "timeout" in _keywords(options))

    assert {name for name, method in METHODS.items() if not takes_timeout(method)} == {"recording", "sleep"}


def _keywords(options: inspect.Parameter) -> set[str]:
    """The keywords of a parameter ``**options: Unpack[...]``."""
    (keywords,) = get_args(options.annotation)
    return set(keywords.__annotations__)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "options" in method.__annotations__])
def test_an_unknown_keyword_is_refused(name: str) -> None:
    phone, backend = scripted()
    parameters = inspect.signature(getattr(phone, name)).parameters.values()
    needed = [one for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    with pytest.raises(TypeError, match="tiemout"):
        getattr(phone, name)(*("1" for _ in needed), tiemout=2)
    assert not backend.plans


@pytest.mark.parametrize(
    "call",
    [
        lambda phone: phone.click("x", timeout=2),
        lambda phone: phone.enter_text("v", text="x", timeout=2),
        lambda phone: phone.read_all("x", timeout=2),
        lambda phone: phone.read_value("x", timeout=2),
        lambda phone: phone.read_values("x", timeout=2),
    ],
)
def test_a_timeout_limits_how_long_a_node_is_looked_for(call: Callable[[ConnectedPhone], object]) -> None:
    document = sent(call)
    assert document["actions"][0]["params"]["retry"] == look_retry(2_000)
    assert document["timeoutMs"] == 30_000


@pytest.mark.parametrize(
    "call",
    [
        lambda phone: phone.open_app("com.example", timeout=3),
        lambda phone: phone.close_app("com.example", timeout=3),
        lambda phone: phone.recents(timeout=3),
        lambda phone: phone.scroll(timeout=3),
        lambda phone: phone.snapshot(timeout=3),
        lambda phone: phone.start_recording(timeout=3),
        lambda phone: phone.run({"type": "snapshot_ui"}, timeout=3),
    ],
)
def test_a_timeout_limits_a_method_that_looks_for_nothing(call: Callable[[ConnectedPhone], object]) -> None:
    document = sent(call)
    assert "retry" not in document["actions"][0].get("params", {})
    # The plan is sent with the time that is left.
    assert 1_000 <= document["timeoutMs"] <= 3_000


def test_without_a_timeout_the_document_has_no_retry_of_its_own() -> None:
    assert "retry" not in sent(lambda phone: phone.click("x"))["actions"][0]["params"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 500])
def test_an_impossible_timeout_is_refused_with_the_limits(seconds: float) -> None:
    phone, backend = scripted()
    for call in (phone.click, phone.open_app):
        with pytest.raises(ClawError) as info:
            call("com.example", timeout=seconds)
        assert info.value.code == "EXECUTION_VALIDATION_FAILED"
        assert "Pass timeout= with a number of seconds from" in str(info.value.hint)
    assert backend.plans == []


@given(st.integers(0, LONGEST_WAIT_MS))
def test_a_retry_policy_looks_for_as_long_as_the_timeout(look_ms: int) -> None:
    action = {"type": "click", "params": {"matcher": {"text": "x"}, "retry": look_retry(look_ms)}}
    document = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    plan = validate({**document, "timeoutMs": 1_000, "actions": [{"id": "a", **action}]})
    retry = plan.execution.actions[0].params.retry  # type: ignore[attr-defined]
    assert isinstance(retry, Retry)
    delays = list(retry_delays(retry, None))  # type: ignore[arg-type] # no jitter is drawn
    assert sum(delays) == pytest.approx(look_ms, abs=1)
    assert delays == sorted(delays)
    assert max(delays, default=0) <= max(500, look_ms / 4)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ('[{"type": "snapshot_ui"}]', "run takes actions, not str"),
        (None, "run takes actions, not NoneType"),
        (["snapshot_ui"], "run got str as an action"),
        ([{"type": "snapshot_ui"}, {"text": "x"}], "run got an action without a type: ['text']"),
        ({"commandId": "c"}, "run got an action without a type: ['commandId']"),
    ],
)
def test_run_explains_what_it_takes(plan: Any, message: str) -> None:
    phone, backend = scripted()
    with pytest.raises(ClawError) as info:
        phone.run(plan)
    assert (info.value.code, info.value.message) == ("EXECUTION_VALIDATION_FAILED", message)
    assert str(info.value.hint).startswith("Pass a list of actions")
    assert backend.plans == []


def test_run_takes_one_action() -> None:
    document = sent(lambda phone: phone.run({"type": "press_key", "params": {"key": "home"}}))
    assert [action["type"] for action in document["actions"]] == ["press_key"]


def test_a_connection_can_be_used_in_a_with_block() -> None:
    phone, _ = scripted()
    with phone as same:
        assert same is phone


def test_every_selector_field_has_a_keyword() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(NodeSelector)}
    assert {*FIELDS.values(), "shortId"} == fields
    assert {*SelectorKwargs.__annotations__, "text"} == set(FIELDS)
    assert set(Selector.__annotations__) == set(FIELDS)


def test_keywords_are_the_fields_of_a_selector() -> None:
    def matcher(**keywords: Any) -> dict[str, Any]:
        found: dict[str, Any] = sent(lambda phone: phone.click(**keywords))["actions"][0]["params"]["matcher"]
        return found

    assert matcher(text="a", below="b", checked=True) == {
        "textEquals": "a",
        "below": {"textEquals": "b"},
        "checked": True,
    }
    assert matcher(role="switch", ancestor={"descendant": "Wi-Fi", "class_name": "LinearLayout"}) == {
        "role": "switch",
        "ancestor": {"descendant": {"textEquals": "Wi-Fi"}, "className": "LinearLayout"},
    }
    assert matcher(any_of=["OK", {"text_matches": "Y.s"}], not_={"enabled": False}) == {
        "anyOf": [{"textEquals": "OK"}, {"textMatches": "Y.s"}],
        "not": {"enabled": False},
    }
    assert matcher(id="search") == {"resourceId": "search"}
    assert matcher(id="android:id/title", index=1) == {"resourceId": "android:id/title", "index": 1}
    assert matcher(ref="e12") == {"ref": "e12"}


@pytest.mark.parametrize(
    "keywords",
    [
        {"text_matches": "("},
        {"index": 0},
        {"index": -1, "text": "a"},
        {"checked": "yes"},
        {"any_of": []},
        {"ref": "x"},
    ],
)
def test_an_invalid_selector_is_refused_by_every_search(keywords: dict[str, Any]) -> None:
    phone, backend = scripted()
    snapshot = Snapshot('<hierarchy rotation="0"></hierarchy>', None, None, 0)
    for call in (phone.click, snapshot.find, snapshot.find_all):
        with pytest.raises(ClawError) as info:
            call(**keywords)
        assert info.value.code == "EXECUTION_VALIDATION_FAILED", call
    assert backend.plans == []


def test_an_invalid_argument_shows_one_traceback() -> None:
    phone, _ = scripted()
    calls: list[Callable[[], object]] = [lambda: phone.press("nothing"), lambda: phone.click(text=5)]  # type: ignore[arg-type]
    for call in calls:
        with pytest.raises(ClawError) as info:
            call()
        assert "".join(traceback.format_exception(info.value)).count("Traceback") == 1


def test_a_nested_selector_without_fields_is_refused() -> None:
    phone, _ = scripted()
    with pytest.raises(ClawError) as info:
        phone.click("a", below={})
    assert (info.value.code, info.value.message) == ("MISSING_SELECTOR", "below needs a selector")


def sources(action: str) -> str:
    """The source of every method that runs an action."""
    return "".join(
        source
        for method in METHODS.values()
        if re.search(rf'_(act|step|wait)\("{action}"', source := inspect.getsource(method))
    )


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_a_method_with_the_params_that_the_host_resolves(action: str) -> None:
    written = sources(action)
    assert written
    params = (
        ACTIONS[action].params.__struct_fields__ if ACTIONS[action].runs_on_host else ACTIONS[action].host_params
    )
    # What the methods of one kind share: retries and waits are what timeout= is for.
    shared = {"_act(": {"expect", "settle"}, "_expectation(": {"expect", "settle"}, "_wait(": {"timeoutMs"}}
    elsewhere = {"retry"}.union(*(names for call, names in shared.items() if call in written))
    assert [name for name in params if name not in elsewhere and name not in written] == []
