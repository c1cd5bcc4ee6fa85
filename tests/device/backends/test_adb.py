"""Every action with plain adb commands, on the simulated phone through its server port."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from clawperator.contract.execution import new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, Endpoint, command_line, run_shell
from clawperator.device.backends import adb, adb_screen
from clawperator.device.backends.adb import AdbBackend, AdbDriver, WatchedClock
from clawperator.device.backends.backend import RunWatch
from clawperator.engine.clock import SystemClock
from clawperator.engine.run import RUNNERS
from clawperator.errors import ClawError
from clawperator.phone.toolkit.app import App, put
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, field, item
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.parse import parse_hierarchy
from tests.device.backends.scripted_shell import DEVICE, ScriptedShell, StillClock, reply, xml
from tests.support.fast_clock import SkippingClock
from tests.support.running import clawperator

SETTINGS = "com.android.settings"
NOTES = "com.clawperator.notes"
FORM = "com.example.form"
ONCE = {"maxAttempts": 1}
SAID = {"resourceId": f"{FORM}:id/said"}


class Bench(Struct, frozen=True):
    """A phone, and the way to it."""

    phone: SimulatedPhone
    device: Device

    def run(self, *actions: dict[str, Any], timeout_ms: int = 20_000) -> ResultEnvelope:
        document = {
            "commandId": "c/1",
            "taskId": "t",
            "source": "test",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": timeout_ms,
            "actions": [{"id": f"a{i}", **action} for i, action in enumerate(actions, 1)],
        }
        return AdbBackend(self.device).run(validate(document))

    def step(self, kind: str, **params: Any) -> StepResult:
        """The only step of an execution."""
        envelope = self.run({"type": kind, "params": params} if params else {"type": kind})
        (step,) = envelope.stepResults
        return step

    def data(self, kind: str, **params: Any) -> dict[str, str]:
        """The data of a step that must succeed."""
        step = self.step(kind, **params)
        assert step.success, step
        return step.data


def form() -> App:
    app = App(FORM, "Form", state={"said": "", "twin": "", "story": ""})

    @app.screen("home")
    def home(_: AppContext) -> View:
        return column(
            field("said", "Say it", id="said"),
            field("twin", "Say it again"),
            field("story", "Tell it", id="story", height=200, multiline=True),
            item("Hold me", on_long_click=put("said", "held")),
        )

    return app


@pytest.fixture
def bench() -> Iterator[Bench]:
    with simulated_phone(apps=[form()], clock=SkippingClock()) as phone, phone.serve() as doors:
        yield Bench(phone, Device("claw-1", Endpoint("127.0.0.1", doors.server_port, simulated=True)))


@pytest.fixture
def settings(bench: Bench) -> Bench:
    bench.phone.open_app(SETTINGS)
    return bench


@pytest.fixture
def written(bench: Bench) -> Bench:
    bench.phone.open_app(FORM)
    return bench


def held(bench: Bench, name: str = "said") -> Any:
    return bench.phone.phone.tasks.front.process.state[name]


def touch(bench: Bench, label: str) -> None:
    """A finger of the person, without the pace of one."""
    found = bench.phone.find(label)
    assert found is not None
    bench.phone.phone.tap(*found.bounds.centre)


# Every action


def test_these_tests_try_every_action() -> None:
    source = "".join(
        Path(__file__).with_name(name).read_text("utf-8")
        for name in (Path(__file__).name, "test_host_input.py", "test_host_device_actions.py")
    )
    assert [kind for kind in RUNNERS if f'("{kind}"' not in source and f'"type": "{kind}"' not in source] == []


def test_matches_are_listed(bench: Bench) -> None:
    bench.data("open_app", applicationId=SETTINGS)
    assert bench.data("query", matcher={"textEquals": "Display"})["count"] == "1"


def test_an_app_is_opened_and_closed(bench: Bench) -> None:
    opened = bench.data("open_app", applicationId=SETTINGS, settle=True)
    assert (opened["dispatch_method"], opened["effect"]) == ("launch_intent", "changed")
    assert bench.phone.foreground() == SETTINGS
    closed = bench.data("close_app", applicationId=SETTINGS, settle=True)
    assert (closed["effect"], "was_running" in closed) == ("changed", False)
    assert bench.data("close_app", applicationId=SETTINGS)["was_running"] == "false"
    assert bench.phone.foreground() != SETTINGS


def test_an_app_that_is_not_there_is_not_opened(bench: Bench) -> None:
    assert bench.step("open_app", applicationId="com.nope", retry=ONCE).data["error"] == "APP_NOT_FOUND"


def test_a_link_is_opened_whatever_signs_it_holds(bench: Bench) -> None:
    bench.data("open_uri", uri="https://example.com/?q=it's $(reboot); error")
    assert bench.phone.foreground() != "com.android.launcher"
    assert bench.phone.shows(text_contains="$(reboot)") or bench.phone.shows(text_contains="example.com")


def test_a_link_that_nothing_opens_fails(bench: Bench) -> None:
    assert AdbDriver(bench.device).view("nope:x") is False
    assert AdbDriver(bench.device).view("http://a\0b") is False
    assert bench.step("open_uri", uri="nope:x", retry=ONCE).data["error"] == "URI_NOT_HANDLED"


def test_a_click_is_a_touch_and_reports_its_effect(settings: Bench) -> None:
    data = settings.data("click", matcher={"textEquals": "Display"})
    assert (data["dispatch_method"], data["effect"]) == ("gesture_tap", "changed")
    assert settings.phone.shows("Dark theme")


def test_a_long_click_is_held(written: Bench) -> None:
    data = written.data("click", matcher={"textEquals": "Hold me"}, clickType="long_click")
    assert (data["dispatch_method"], held(written)) == ("gesture_long_press", "held")


def test_a_point_is_touched_only_within_the_display(settings: Bench) -> None:
    found = settings.phone.find("Display")
    assert found is not None
    x, y = found.bounds.centre
    assert settings.data("click", coordinate={"x": x, "y": y}, settle=True)["effect"] == "changed"
    assert settings.step("click", coordinate={"x": x, "y": 2_400}).data["error"] == "GESTURE_FAILED"


def test_a_list_is_scrolled_once_until_and_to_what_is_clicked(settings: Bench) -> None:
    swiped = settings.data("scroll", direction="down", settleDelayMs=0)
    assert (swiped["scroll_outcome"], swiped["dispatch_method"]) == ("moved", "gesture_swipe")
    until = settings.data("scroll_until", direction="up", matcher={"textEquals": "Wi-Fi"}, settleDelayMs=0)
    assert until["termination_reason"] == "TARGET_FOUND"
    settings.data("scroll_and_click", matcher={"textEquals": "About phone"}, settleDelayMs=0)
    assert settings.phone.shows("Build number")


def test_text_and_pairs_are_read_and_nodes_waited_for(settings: Bench) -> None:
    assert settings.data("read_text", matcher={"textContains": "dark theme"})["text"].startswith("Dark theme")
    pair = settings.data("read_key_value_pair", labelMatcher={"textEquals": "Battery"})
    assert pair == {"label": "Battery", "value": "100%"}
    assert settings.data("wait_for_node", matcher={"textEquals": "Battery"})["label"] == "Battery"
    (match,) = json.loads(settings.data("query", matcher={"textEquals": "Battery"})["matches"])
    assert match["label"] == "Battery"


def test_the_app_in_front_is_waited_for(settings: Bench) -> None:
    done = settings.data("wait_for_navigation", expectedPackage=SETTINGS, timeoutMs=2_000)
    assert done["resolved_package"] == SETTINGS
    late = settings.step("wait_for_navigation", expectedPackage=NOTES, timeoutMs=100)
    assert (late.data["error"], late.data["last_package"]) == ("NAVIGATION_TIMEOUT", SETTINGS)


@pytest.mark.parametrize("key", ["back", "home", "recents"])
def test_keys_are_pressed(settings: Bench, key: str) -> None:
    touch(settings, "Display")
    assert settings.data("press_key", key=key)["effect"] == "unknown"
    assert settings.phone.shows("Battery") is (key == "back")


def test_a_key_after_a_capture_reports_its_effect(settings: Bench) -> None:
    touch(settings, "Display")
    press = {"type": "press_key", "params": {"key": "back"}}
    envelope = settings.run({"type": "snapshot_ui"}, press)
    assert envelope.stepResults[1].data["effect"] == "changed"


def test_a_snapshot_also_reports_the_windows(written: Bench) -> None:
    data = written.data("snapshot_ui")
    assert (data["foreground_package"], data["has_overlay"], data["window_count"]) == (FORM, "false", "3")
    assert parse_hierarchy(data["text"]).roots[0].package == FORM
    touch(written, "Say it")
    data = written.data("snapshot_ui")
    assert (data["has_overlay"], data["window_count"]) == ("false", "4")


def test_a_screenshot_goes_to_its_file_in_its_turn(settings: Bench, tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{i}.png") for i in range(2)]
    shots = [{"type": "take_screenshot", "params": {"path": path}} for path in paths]
    home = {"type": "press_key", "params": {"key": "home"}}
    envelope = settings.run(shots[0], home, shots[1], {"type": "sleep", "params": {"durationMs": 1}})
    assert envelope.status == "success"
    first, second = (Path(path).read_bytes() for path in paths)
    assert first.startswith(b"\x89PNG")
    assert first != second


def test_a_screenshot_that_cannot_be_written_fails_its_step(settings: Bench, tmp_path: Path) -> None:
    step = settings.step("take_screenshot", path=str(tmp_path / "none" / "a.png"), retry=ONCE)
    assert step.data["error"] == "SCREENSHOT_NOT_SAVED"


def test_a_screenshot_without_a_path_goes_to_a_private_file_in_the_product_home(
    settings: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    before = os.umask(0)
    try:
        paths = [Path(settings.step("take_screenshot").data["path"]) for _ in range(2)]
    finally:
        os.umask(before)
    assert paths[0] != paths[1]
    for path in paths:
        assert path.parent == tmp_path / "home" / "screenshots"
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_screenshot_is_private_and_never_written_through_a_link(settings: Bench, tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "victim", tmp_path / "link.png", tmp_path / "pipe"
    target.write_bytes(b"keep")
    link.symlink_to(target)
    os.mkfifo(pipe)
    refused = settings.step("take_screenshot", path=str(link), retry=ONCE)
    assert refused.data["error"] == "SCREENSHOT_NOT_SAVED"
    assert "symbolic link" in refused.data["message"]
    assert str(target) in refused.data["hint"]
    assert target.read_bytes() == b"keep"
    assert "named pipe" in settings.step("take_screenshot", path=str(pipe), retry=ONCE).data["message"]
    assert settings.step("take_screenshot", path=str(target)).success
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("action", ["start_recording", "stop_recording"])
def test_a_plan_with_a_recording_is_refused_before_it_begins(bench: Bench, action: str) -> None:
    before = bench.phone.snapshot().xml
    with pytest.raises(ClawError) as refused:
        bench.run({"type": "press_key", "params": {"key": "home"}}, {"type": action})
    assert refused.value.code == "RECORDING_UNAVAILABLE"
    assert "use the backend operator" in refused.value.hint
    assert bench.phone.snapshot().xml == before


# Text


@pytest.mark.parametrize(
    "text",
    ["plain", "two words", "100%", "100%sure % s %%s", 'it\'s "$HOME" `id` $(id) ; & | < > \\ *', "-5", "äß漢😀"],
)
def test_text_is_typed_as_it_is(written: Bench, text: str) -> None:
    assert written.data("enter_text", matcher=SAID, text=text)["text"] == text
    assert held(written) == text


def test_typed_text_replaces_what_was_there(written: Bench) -> None:
    for clear in (False, True):
        written.data("enter_text", matcher=SAID, text=f"new {clear}", clear=clear)
        assert held(written) == f"new {clear}"


def test_all_lines_of_a_long_text_are_replaced_wherever_the_cursor_is(written: Bench) -> None:
    touch(written, "Tell it")
    written.phone.phone.type_text("one\ntwo\nthree")
    for _ in range(6):
        written.phone.shell_script("input keyevent DPAD_LEFT")
    written.data("enter_text", matcher={"resourceId": f"{FORM}:id/story"}, text="new")
    assert held(written, "story") == "new"


def test_a_line_break_is_refused_for_it_may_send_the_form(written: Bench) -> None:
    with pytest.raises(ClawError) as refused:
        written.step("enter_text", matcher=SAID, text="a\nb", retry=ONCE)
    assert (refused.value.code, held(written)) == ("TEXT_NOT_ACCEPTED", "")
    assert "Operator" in str(refused.value.hint)


def test_an_empty_password_field_shows_its_hint_and_a_filled_one_dots(bench: Bench) -> None:
    bench.phone.open_app(NOTES)
    touch(bench, "Account")
    field = {"resourceId": f"{NOTES}:id/password"}
    assert bench.data("read_text", matcher=field)["text"] == "Password"
    bench.data("enter_text", matcher=field, text="horse")
    assert bench.data("read_text", matcher=field)["text"] == "••••"
    assert 'text="••••"' in bench.data("snapshot_ui")["text"]


def test_a_password_is_typed_and_not_reported(bench: Bench) -> None:
    bench.phone.open_app(NOTES)
    touch(bench, "Account")
    data = bench.data("enter_text", matcher={"textEquals": "Password"}, text="s3cret!")
    assert held(bench, "password") == "s3cret!"
    assert "s3cret" not in json.dumps(data)


def test_enter_submits_the_field(bench: Bench) -> None:
    bench.phone.open_app("com.google.android.youtube")
    touch(bench, "Search")
    fields = bench.phone.find_all(role="textfield")
    data = bench.data("enter_text", matcher={"resourceId": fields[0].resource_id}, text="solar", submit=True)
    assert data["dispatch_method"] == "set_text+submit"
    assert bench.phone.phone.windows.keyboard() is None


def test_nothing_is_typed_into_another_field_when_the_touch_is_lost(written: Bench) -> None:
    touch(written, "Say it")
    written.phone.phone.type_text("keep me")
    written.phone.fault("dropped_tap", 1)
    step = written.step("enter_text", matcher={"textEquals": "Say it again"}, text="elsewhere", retry=ONCE)
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert (held(written), held(written, "twin")) == ("keep me", "")


def test_a_node_that_is_not_a_field_is_touched_once_and_accepts_no_text(settings: Bench) -> None:
    step = settings.step("enter_text", matcher={"textEquals": "Settings"}, text="x", retry=ONCE)
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "textfield" in step.data["hint"]


@pytest.mark.random
def test_any_arguments_reach_a_program_on_the_phone_unchanged(bench: Bench) -> None:
    odd = st.sampled_from(" '\"\\$`;|&<>(){}[]*?!#~%^=\n\t\r\x01\x7f-")
    words = st.lists(st.text(odd | st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12))

    @given(words)
    def reach(arguments: list[str]) -> None:
        answer = run_shell(bench.device, command_line("printf", r"%s\0", "first", *arguments), seconds=5)
        assert answer.text.split("\0") == ["first", *arguments, ""]

    reach()


# Trouble


def test_steps_before_a_failure_stay_and_the_failure_is_typed(settings: Bench) -> None:
    missing = {"type": "click", "params": {"matcher": {"textEquals": "Nowhere"}, "retry": ONCE}}
    envelope = settings.run({"type": "snapshot_ui"}, missing, {"type": "snapshot_ui"})
    assert [step.success for step in envelope.stepResults] == [True, False]
    assert envelope.errorCode == "NODE_NOT_FOUND"


def test_a_lost_touch_is_reported_as_unchanged_once_the_screen_has_settled(settings: Bench) -> None:
    settings.phone.fault("dropped_tap", 1)
    assert settings.data("click", matcher={"textEquals": "Display"})["effect"] == "unknown"
    assert settings.data("click", matcher={"textEquals": "Display"}, settle=True)["effect"] == "unchanged"


def test_a_slow_phone_does_the_same_later(settings: Bench) -> None:
    settings.phone.fault("latency", 40)
    assert settings.data("click", matcher={"textEquals": "Display"})["effect"] == "changed"


@pytest.mark.parametrize(
    ("fault", "code"), [("offline", "DEVICE_OFFLINE"), ("unauthorized", "DEVICE_UNAUTHORIZED")]
)
def test_a_phone_that_does_not_answer_fails_the_step_with_its_own_code(
    bench: Bench, fault: str, code: str
) -> None:
    bench.phone.fault(fault)
    step = bench.step("snapshot_ui")
    assert step.data["error"] == code
    assert step.data["hint"]


def test_a_phone_whose_storage_is_full_still_shows_its_screen(settings: Bench) -> None:
    settings.phone.fault("storage_full")
    assert "Display" in settings.data("snapshot_ui")["text"]


def test_an_operator_that_is_dead_is_not_missed(settings: Bench) -> None:
    settings.phone.fault("operator_killed")
    assert settings.data("click", matcher={"textEquals": "Display"})["effect"] == "changed"


def test_a_turned_display_is_touched_where_things_are(bench: Bench) -> None:
    bench.phone.fault("rotation", 1)
    bench.phone.open_app(SETTINGS)
    driver = AdbDriver(bench.device)
    before = driver.frame()
    assert (before.width, before.height) == (2_400, 1_080)
    driver.dump()
    assert driver.frame() == before
    assert bench.data("click", matcher={"textEquals": "Apps"})["effect"] == "changed"


def test_no_dump_stays_on_the_phone(settings: Bench) -> None:
    settings.run({"type": "snapshot_ui"}, {"type": "snapshot_ui"})
    assert "clawperator" not in settings.phone.shell_script("ls /data/local/tmp /sdcard").text


def test_nothing_outlasts_the_time_of_the_execution(settings: Bench) -> None:
    settings.phone.fault("slow_dump", 60_000)
    began = SystemClock().monotonic()
    driver = AdbDriver(settings.device, seconds=0.2)
    for call in (driver.dump, driver.dump, driver.foreground, driver.screenshot):
        with pytest.raises(ClawError) as e:
            call()
        assert e.value.code == "COMMAND_TIMEOUT"
    assert SystemClock().monotonic() - began < 30, "a slow dump takes a minute"


def test_a_stopped_execution_sends_nothing_more(settings: Bench) -> None:
    stops = iter([False] * 3)
    watch = RunWatch(stop=lambda: next(stops, True))
    actions = [{"id": "nap", "type": "sleep", "params": {"durationMs": 60_000}}]
    actions += [{"id": "home", "type": "press_key", "params": {"key": "home"}}]
    document = new_execution(actions, command_id="c", source="test", timeout_ms=90_000)
    envelope = AdbBackend(settings.device, watch).run(validate(document))
    assert [step.id for step in envelope.stepResults] == ["nap"]
    assert envelope.errorCode == "INTERRUPTED"
    assert settings.phone.foreground() == SETTINGS


def test_a_search_that_fails_names_what_is_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(uiautomator=reply("Physical size: 100x200\n" + xml('text="Save"', 'text="Other"')))
    monkeypatch.setattr(adb_screen, "run_shell", phone.shell)
    ask = {"id": "ask", "type": "query", "params": {"matcher": {"textEquals": "Other"}}}
    click = {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Safe"}, "retry": ONCE}}
    plan = validate(new_execution([ask, click], command_id="c", source="test", timeout_ms=20_000))
    first, last = AdbBackend(DEVICE).run(plan).stepResults
    assert "nearest" not in first.data
    assert json.loads(last.data["nearest"])[0]["value"] == "Save"


def test_a_driver_has_the_time_of_the_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    class Driver(AdbDriver):
        def __init__(self, device: Device, **options: Any) -> None:
            given.append(options["seconds"])
            super().__init__(device, **options)

    monkeypatch.setattr(adb, "AdbDriver", Driver)
    nap = {"id": "nap", "type": "sleep", "params": {"durationMs": 0}}
    AdbBackend(DEVICE).run(validate(new_execution([nap], command_id="c", source="test", timeout_ms=90_000)))
    assert given == [90.0]


# Sleeps that end with a request to stop


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the machine slept, on a clock that only sleeps move."""
    clock = StillClock(monkeypatch)
    monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: clock.sleep(seconds))
    return clock.slept


def test_a_sleep_that_nothing_can_stop_is_one_sleep(slept: list[float]) -> None:
    WatchedClock(RunWatch()).sleep(3.0)
    assert slept == [3.0]


def test_a_sleep_looks_for_a_stop_twenty_times_a_second(slept: list[float]) -> None:
    clock = WatchedClock(RunWatch(stop=lambda: len(slept) == 40))
    clock.sleep(1.0)
    clock.sleep(0.0)
    clock.sleep(-1.0)
    assert 20 <= len(slept) <= 21
    assert sum(slept) == pytest.approx(1.0)
    with pytest.raises(ClawError) as error:
        clock.sleep(60.0)
    assert (error.value.code, error.value.after_effect, len(slept)) == ("INTERRUPTED", False, 40)


def test_the_command_clicks_with_no_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    assert clawperator("phone", "start").code == 0
    try:
        assert clawperator("open", SETTINGS, "--backend", "adb").code == 0
        ran = clawperator("click", "--text", "Display", "--backend", "adb")
        assert ran.code == 0, ran.out
        (step,) = ran.json["envelope"]["stepResults"]
        assert (step["data"]["dispatch_method"], step["data"]["effect"]) == ("gesture_tap", "changed")
    finally:
        clawperator("phone", "stop", "--all")
