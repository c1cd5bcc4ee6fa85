"""A replay on a live phone: what it proves, and where it stops."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from clawperator.api.phone import ConnectedPhone
from clawperator.contract.commands import BackendName
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.errors import ClawError
from clawperator.phone.apps import stress
from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, button, checkbox, column, field, item, listing, text, toolbar
from clawperator.recording.compare.compare import compare
from clawperator.recording.export import Export, export_recording, read_export
from clawperator.replay import run as run_module
from clawperator.replay.demonstration import open_demonstration, plan_replay, replay
from clawperator.replay.planner import RecordedSteps, ReplayStep
from clawperator.replay.report import ReplayReport
from clawperator.replay.run import StepOutcome, run_steps
from clawperator.replay.target import RecordedTarget
from clawperator.testing import SimulatedPhone
from tests.replay.flows import Flow, ReplayTarget, record, replay_target, settings_dark
from tests.support.demonstrations import show_solar_limit

SHOP = "com.example.shop"


@pytest.fixture(scope="module")
def target() -> Iterator[ReplayTarget]:
    with replay_target() as opened:
        yield opened


def exported(path: str, folder: Path) -> Export:
    out = folder / "shown.export.json"
    export_recording(path, str(out))
    return read_export(out.read_bytes())


def failure(report: ReplayReport) -> tuple[str, str]:
    """The step a replay stopped at, and the code."""
    step = next(step for step in report.steps if step.status == "failed")
    assert isinstance(step.error, dict)
    assert report.error == step.error
    return step.description, step.error["code"]


# What works


def test_the_phone_ends_in_the_recorded_state(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(show_solar_limit, tmp_path))
    with target.fresh() as (phone, connected):
        report = replay(demonstration, connected)
        assert report.ok
        assert phone.shows("Discharge to 40%")
    assert any("with 100 % of the recorded ids and labels" in str(step.evidence) for step in report.steps)


def test_every_checkpoint_points_to_the_execution_that_reached_it(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(show_solar_limit, tmp_path))
    with target.fresh() as (_, connected):
        result = replay(demonstration, connected).skillResult
    assert [c.id for c in result.checkpoints] == [c.id for c in demonstration.checkpoints]
    assert result.execEnvelopes is not UNSET
    saved = result.checkpoints[-1].evidence
    assert saved
    envelope = result.execEnvelopes[getattr(saved, "execEnvelopeIndex")]  # noqa: B009 - the union has other kinds
    assert "Save" in envelope.stepResults[0].data["matched_target"]
    assert result.terminalVerification
    assert result.terminalVerification.status == "verified"


def test_an_export_with_snapshots_is_replayed_like_the_recording(target: ReplayTarget, tmp_path: Path) -> None:
    path = record(settings_dark, tmp_path)
    out = str(tmp_path / "with.json")
    export_recording(path, out, snapshots="include")
    assert open_demonstration(out).recorded == open_demonstration(path).recorded
    with target.fresh() as (_, connected):
        assert replay(open_demonstration(out), connected).ok


def test_an_export_without_snapshots_has_fewer_locators_and_a_warning(
    target: ReplayTarget, tmp_path: Path
) -> None:
    path = record(settings_dark, tmp_path)
    out = str(tmp_path / "without.json")
    export_recording(path, out)
    demonstration = open_demonstration(out)
    assert any("no snapshot" in warning for warning in demonstration.recorded.warnings)
    with target.fresh() as (_, connected):
        assert replay(demonstration, connected).ok


def test_a_phone_without_an_operator_is_replayed_on_over_plain_adb(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(settings_dark, tmp_path))
    with target.fresh(backend="adb") as (phone, connected):
        report = replay(demonstration, connected)
        assert report.error is UNSET
        assert phone.foreground() == "com.android.launcher3"


def test_the_replay_ends_at_the_requested_event(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(settings_dark, tmp_path))
    last = next(step for step in demonstration.recorded.steps if step.description == "click Display")
    with target.fresh() as (phone, connected):
        report = replay(demonstration, connected, last=last.seq)
        assert phone.shows("Dark theme")
    assert report.ok
    assert [step.description for step in report.steps] == ["press home", "click Settings", "click Display"]
    assert report.skillResult.status == "indeterminate"
    assert report.skillResult.terminalVerification
    assert report.skillResult.terminalVerification.status == "not_run"


# Apps are closed first

SETTINGS = "com.android.settings"


def open_display(connected: ConnectedPhone) -> None:
    connected.open_app(SETTINGS)
    connected.click("Display")
    connected.click("Dark theme")


@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_what_the_operator_recorded_is_replayed_on_the_same_phone(
    backend: BackendName, target: ReplayTarget, tmp_path: Path
) -> None:
    with target.fresh(backend="operator") as (_, recorder):
        recorder.press("home")
        with recorder.recording("dark") as recording:
            open_display(recorder)
        demonstration = open_demonstration(str(recording.pull(str(tmp_path))))
        recorder.press("home")
        report = replay(demonstration, ConnectedPhone(recorder.device, backend=backend))
    assert report.error is UNSET
    assert (report.provedCount, report.stepCount) == (3, 3)
    assert report.closedApps == [SETTINGS]


@pytest.mark.parametrize("ends_at_home", [True, False])
def test_a_switch_that_no_later_screen_shows_gets_the_state_that_the_click_gave_it(
    ends_at_home: bool,  # noqa: FBT001 - pytest names it
    target: ReplayTarget,
    tmp_path: Path,
) -> None:
    """A second click would turn it off again."""

    def is_dark(phone: ConnectedPhone) -> bool:
        open_display_page(phone)
        switch = phone.find(role="switch", right_of="Dark theme")
        return switch is not None and switch.checked

    def open_display_page(phone: ConnectedPhone) -> None:
        phone.close_app(SETTINGS)
        phone.open_app(SETTINGS)
        phone.click("Display")

    with target.fresh(backend="operator") as (_, recorder):
        with recorder.recording("dark") as recording:
            open_display(recorder)
            if ends_at_home:
                recorder.press("home")
        demonstration = open_demonstration(str(recording.pull(str(tmp_path))))
        report = replay(demonstration, recorder)
        assert report.ok
        assert is_dark(recorder)
        assert "it is on already, and was not touched" in [step.evidence for step in report.steps]
        open_display_page(recorder)
        recorder.click("Dark theme")
        assert not is_dark(recorder)
        assert replay(demonstration, recorder).ok
        assert is_dark(recorder)


def test_apps_that_were_not_open_are_not_reported_as_closed(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(settings_dark, tmp_path))
    with target.fresh() as (_, connected):
        assert replay(demonstration, connected).closedApps == []


def test_apps_can_be_kept_open(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(lambda phone: open_app(phone, "Display"), tmp_path))
    with target.fresh() as (phone, connected):
        open_app(phone, "Battery")
        report = replay(demonstration, connected, keep_apps=True)
        assert report.closedApps == []
        assert failure(report) == (f"open {SETTINGS}", "REPLAY_SCREEN_UNEXPECTED")
        assert replay(demonstration, connected).ok


def open_app(phone: SimulatedPhone, page: str) -> None:
    phone.open_app(SETTINGS)
    phone.person.tap(page)


def test_an_app_that_was_open_before_the_recording_is_left_open(target: ReplayTarget, tmp_path: Path) -> None:
    with target.fresh() as (phone, connected):
        phone.open_app(SETTINGS)
        phone.start_recording("shown")
        phone.person.tap("Display")
        path = tmp_path / "shown.ndjson"
        phone.stop_recording()
        path.write_bytes(phone.read_recording())
        phone.person.home()
        report = replay(open_demonstration(str(path)), connected)
        assert report.closedApps == []
        assert isinstance(report.error, dict)
        assert report.error["hint"] == (
            f"Go to the page on which the recording begins. If it is the first page of {SETTINGS}, run "
            f"'clawperator close {SETTINGS}'. Then replay again."
        )
        connected.close_app(SETTINGS)
        assert replay(open_demonstration(str(path)), connected).ok


# The screens that a replay keeps


def test_a_replay_keeps_its_last_screen_and_of_a_failed_step_the_recorded_one(
    target: ReplayTarget, tmp_path: Path
) -> None:
    demonstration = open_demonstration(record(lambda phone: open_app(phone, "Display"), tmp_path))
    with target.fresh() as (phone, connected):
        done = replay(demonstration, connected)
        assert "Dark theme" in str(done.observedScreen)
        assert done.recordedScreen is UNSET
        phone.person.home()
        failed = replay(demonstration, connected, keep_apps=True)
        assert "Dark theme" in str(failed.observedScreen)
        assert "Network &amp; internet" in str(failed.recordedScreen)
        (tmp_path / "shown.ndjson").unlink()  # the report is still written
        phone.person.home()
        assert replay(demonstration, connected, keep_apps=True).recordedScreen is UNSET


def test_declared_secrets_are_masked_in_the_kept_screens(
    target: ReplayTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clawperator.toml").write_text('secrets = ["PLACE"]\n')
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("PLACE", "Dark theme")
    demonstration = open_demonstration(record(lambda phone: open_app(phone, "Display"), tmp_path))
    with target.fresh() as (_, connected):
        kept = str(replay(demonstration, connected).observedScreen)
    assert "Brightness level" in kept
    assert "Dark theme" not in kept


def test_a_typed_text_that_is_a_declared_secret_is_proved_and_masked(
    target: ReplayTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clawperator.toml").write_text('secrets = ["TITLE"]\n')
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("TITLE", "Tr0ub4dor")

    def write(phone: SimulatedPhone) -> None:
        phone.person.tap("Notes")
        phone.person.tap("Add note")
        phone.person.tap("Title")
        phone.person.type("Tr0ub4dor")
        phone.person.back()
        phone.person.tap("Save")

    demonstration = open_demonstration(record(write, tmp_path))
    shown: list[StepOutcome] = []
    with target.fresh() as (_, connected):
        report = replay(demonstration, connected, on_step=shown.append)
    assert report.ok, report
    plan = plan_replay(demonstration)
    assert b"Tr0ub4dor" not in msgspec.json.encode((report, plan))
    assert not any("Tr0ub4dor" in outcome.step.description for outcome in shown)


# Why the screen is another one


def test_another_page_of_the_app_is_named_with_what_differs(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(lambda phone: open_app(phone, "Display"), tmp_path))
    with target.fresh() as (phone, connected):
        open_app(phone, "Battery")
        error = replay(demonstration, connected, keep_apps=True).error
    assert isinstance(error, dict)
    assert error["details"]["cause"] == "other_page"
    assert "Network & internet" in error["details"]["missing"]
    assert "shows another page: expected '" in error["message"]
    assert f"clawperator close {SETTINGS}" in error["hint"]


def test_another_app_in_front_is_named(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(settings_dark, tmp_path))
    with target.fresh() as (phone, connected):

        def surprise(done: StepOutcome) -> None:
            if done.step.description == "click Settings":
                phone.open_app("com.android.chrome")

        error = replay(demonstration, connected, on_step=surprise).error
    assert isinstance(error, dict)
    assert error["details"]["cause"] == "other_app"
    assert error["hint"] == "Run 'clawperator close com.android.chrome' to close it, then replay again."


def test_an_app_that_left_the_front_is_named_with_the_home_screen(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(settings_dark, tmp_path))
    with target.fresh() as (phone, connected):

        def surprise(done: StepOutcome) -> None:
            if done.step.description == "click Settings":
                phone.person.home()

        error = replay(demonstration, connected, on_step=surprise).error
    assert isinstance(error, dict)
    assert error["details"]["cause"] == "home_screen"
    assert f"'clawperator open {SETTINGS}'" in error["hint"]


# An app whose words and behaviour a test chooses


def shop(*, buy: str = "Buy", rows: tuple[str, ...] = ("Bread", "Milk"), does: bool = True) -> list[App]:
    app = App(SHOP, "Shop", state={"bag": "empty", "gift": False, "pin": "", "name": ""})

    @app.screen("home", title="Shop")
    def home(_: AppContext) -> View:
        return column(
            toolbar("Shop"),
            listing(*(item(name, "fresh", go("ware", name=name), id="ware") for name in rows)),
            weight=1,
        )

    @app.screen("ware", title="Ware")
    def ware(context: AppContext) -> View:
        return column(
            toolbar(context.args["name"]),
            text(f"The bag is {context.state['bag']}", id="bag"),
            checkbox("As a gift", "gift", id="gift"),
            field("name", "Your name", id="name"),
            field("pin", "PIN", id="pin", edits="password"),
            button(buy, put("bag", "full") if does else None),
            weight=1,
        )

    return [app]


def buy_milk(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Shop")
    person.tap("Milk")
    person.tap("As a gift")
    person.tap("Buy")
    person.home()


def replay_shop(target: ReplayTarget, folder: Path, show: Flow, apps: Callable[[], list[App]]) -> ReplayReport:
    demonstration = open_demonstration(record(show, folder, shop))
    with target.fresh(apps) as (_, connected):
        return replay(demonstration, connected)


def test_a_renamed_label_stops_the_replay_at_its_step(target: ReplayTarget, tmp_path: Path) -> None:
    report = replay_shop(target, tmp_path, buy_milk, lambda: shop(buy="Purchase"))
    assert failure(report) == ("click Buy", "REPLAY_TARGET_NOT_FOUND")
    assert [step.status for step in report.steps] == [*["proved"] * 4, "failed", "not_run"]
    assert isinstance(report.error, dict)
    assert any("Purchase" in candidate for candidate in report.error["details"]["candidates"])
    assert [c.status for c in report.skillResult.checkpoints][-1] == "failed"
    verdict = compare(exported(str(tmp_path / "shown.ndjson"), tmp_path), report.skillResult, strategy="derived")
    assert not verdict.is_match


def test_a_missing_row_stops_the_replay_and_no_other_row_is_taken_for_it(
    target: ReplayTarget, tmp_path: Path
) -> None:
    report = replay_shop(target, tmp_path, buy_milk, lambda: shop(rows=("Bread",)))
    assert failure(report) == ("click Milk", "REPLAY_TARGET_NOT_FOUND")


def test_a_click_without_effect_is_not_proved(target: ReplayTarget, tmp_path: Path) -> None:
    report = replay_shop(target, tmp_path, buy_milk, lambda: shop(does=False))
    assert failure(report) == ("click Buy", "REPLAY_EFFECT_MISSING")
    assert isinstance(report.error, dict)
    details = report.error["details"]
    assert (details["expected"], details["observed"]) == (SHOP, SHOP)
    assert "The bag is empty" in details["labels"]


def test_rows_in_another_order_are_found_by_their_labels(target: ReplayTarget, tmp_path: Path) -> None:
    assert replay_shop(target, tmp_path, buy_milk, lambda: shop(rows=("Milk", "Salt", "Bread"))).ok


def test_a_checkbox_in_the_recorded_state_is_not_touched(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(buy_milk, tmp_path, shop))
    with target.fresh(shop) as (phone, connected):
        phone.open_app(SHOP)
        phone.person.tap("Bread")
        phone.person.tap("As a gift")
        phone.person.back()
        report = replay(demonstration, connected, last=demonstration.recorded.steps[-2].seq, keep_apps=True)
        gift = next(step for step in report.steps if step.description == "click As a gift")
        assert "on already" in str(gift.evidence)
        assert phone.phone.tasks.front.process.state["gift"] is True


def test_a_field_that_has_the_focus_already_may_be_touched_again(target: ReplayTarget, tmp_path: Path) -> None:
    def sign(phone: SimulatedPhone) -> None:
        phone.person.tap("Shop")
        phone.person.tap("Milk")
        phone.person.tap("Your name")
        phone.person.type("Ann")
        phone.person.tap("Ann")
        phone.person.type("a")
        phone.person.tap("Buy")

    report = replay_shop(target, tmp_path, sign, shop)
    assert report.error is UNSET
    assert [step.description for step in report.steps][3:6] == [
        "click name",
        "enter 'Ann' into name",
        "click name",
    ]


@pytest.mark.parametrize("at", ["click Milk", "click As a gift"])
def test_an_unexpected_dialog_stops_the_replay_at_its_step(at: str, target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(buy_milk, tmp_path, shop))
    before = [step.description for step in demonstration.recorded.steps]
    with target.fresh(shop) as (phone, connected):

        def surprise(done: StepOutcome) -> None:
            if done.step.description == before[before.index(at) - 1]:
                phone.fault("dialog", 1)

        report = replay(demonstration, connected, on_step=surprise)
    assert failure(report) == (at, "REPLAY_SCREEN_UNEXPECTED")
    assert isinstance(report.error, dict)
    assert report.error["details"]["observed"] == "android"
    assert report.error["details"]["cause"] == "dialog"
    assert "clawperator press back" in report.error["hint"]


def test_a_password_is_refused_before_anything_is_touched(target: ReplayTarget, tmp_path: Path) -> None:
    def pay(phone: SimulatedPhone) -> None:
        phone.person.tap("Shop")
        phone.person.tap("Milk")
        phone.person.tap(id=f"{SHOP}:id/pin")
        phone.person.type("1234")
        phone.person.tap("Buy")

    demonstration = open_demonstration(record(pay, tmp_path, shop))
    with target.fresh(shop) as (phone, connected):
        with pytest.raises(ClawError) as refused:
            replay(demonstration, connected)
        assert phone.events == []
        assert refused.value.code == "REPLAY_TEXT_HIDDEN"
        assert refused.value.hint
        last = demonstration.recorded.steps[3].seq
        assert f"until {last}." in refused.value.hint
        assert replay(demonstration, connected, last=last).ok


def test_a_click_that_leaves_the_app_is_proved_by_the_home_screen(target: ReplayTarget, tmp_path: Path) -> None:
    def leaving() -> list[App]:
        app = App(SHOP, "Shop")

        @app.screen("home", title="Shop")
        def home(_: AppContext) -> View:
            return column(
                toolbar("Shop"), text("Open all day", id="hours"), button("Exit", back, id="exit"), weight=1
            )

        return [app]

    def leave(phone: SimulatedPhone) -> None:
        phone.person.tap("Shop")
        phone.person.tap("Exit")

    demonstration = open_demonstration(record(leave, tmp_path, leaving))
    with target.fresh(leaving) as (phone, connected):
        report = replay(demonstration, connected)
        assert phone.foreground() == "com.android.launcher3"
    assert [(step.description, step.status) for step in report.steps][2:] == [
        ("click Exit", "proved"),
        ("press home", "proved"),
    ]


# Hard Mode


def delete_one(phone: SimulatedPhone) -> None:
    phone.person.tap("Hard Mode")
    phone.person.scroll_down()
    phone.person.tap("Many deletes")
    buttons = phone.find_all("Delete")
    phone.phone.tap(*buttons[2].bounds.centre)
    phone.sleep(1)
    phone.person.home()


def test_equal_buttons_are_refused_and_none_is_touched(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(delete_one, tmp_path))
    with target.fresh() as (phone, connected):
        report = replay(demonstration, connected)
        assert phone.shows("Charlie")
    assert failure(report) == ("click Delete", "REPLAY_TARGET_AMBIGUOUS")
    assert isinstance(report.error, dict)
    assert report.error["details"]["candidateCount"] == 6


def test_the_position_among_equal_nodes_decides_if_allowed(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(delete_one, tmp_path))
    last = demonstration.recorded.steps[-2].seq
    with target.fresh() as (phone, connected):
        report = replay(demonstration, connected, last=last, allow_coordinates=True)
        assert phone.shows("Charlie deleted")
    assert report.ok
    assert report.steps[-1].foundBy == "position"


def test_another_number_of_equal_nodes_is_refused_even_then(
    target: ReplayTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demonstration = open_demonstration(record(delete_one, tmp_path))
    monkeypatch.setattr(stress, "_NAMES", ("Alpha", "Bravo", "Charlie"))
    with target.fresh() as (_, connected):
        report = replay(demonstration, connected, allow_coordinates=True)
    assert failure(report) == ("click Delete", "REPLAY_TARGET_AMBIGUOUS")


def test_an_icon_without_a_label_is_touched_only_if_coordinates_are_allowed(
    target: ReplayTarget, tmp_path: Path
) -> None:
    def touch_sixth(phone: SimulatedPhone) -> None:
        phone.person.tap("Hard Mode")
        phone.person.tap("Icons without names")
        icons = [n for n in phone.hierarchy().nodes if n.class_name.endswith("ImageButton") and not n.label]
        phone.phone.tap(*icons[5].bounds.centre)
        phone.sleep(1)
        phone.person.back()

    demonstration = open_demonstration(record(touch_sixth, tmp_path))
    with target.fresh() as (_, connected):
        description, code = failure(replay(demonstration, connected))
    assert description.startswith("click the node at [")
    assert code == "REPLAY_TARGET_NOT_FOUND"
    with target.fresh() as (phone, connected):
        report = replay(
            demonstration, connected, last=demonstration.recorded.steps[-2].seq, allow_coordinates=True
        )
        assert report.steps[-1].foundBy == "coordinate"
        assert phone.shows("Icon 6")


WARES = tuple(f"Ware {n}" for n in range(30))


@pytest.mark.parametrize("there", [WARES[::-1], WARES[20:] + WARES[:20], WARES[:16]])
def test_a_row_is_searched_for_to_both_ends_of_its_list(
    there: tuple[str, ...], target: ReplayTarget, tmp_path: Path
) -> None:
    def far(phone: SimulatedPhone) -> None:
        phone.person.tap("Shop")
        phone.person.scroll_down()
        phone.person.scroll_down()
        phone.person.tap("Ware 16")

    demonstration = open_demonstration(record(far, tmp_path, lambda: shop(rows=WARES)))
    with target.fresh(lambda: shop(rows=there)) as (_, connected):
        report = replay(demonstration, connected)
    assert report.ok is ("Ware 16" in there)
    if not report.ok:
        assert failure(report) == ("click Ware 16", "REPLAY_TARGET_NOT_FOUND")


def test_a_lost_phone_ends_the_replay_with_the_code_of_the_device(target: ReplayTarget, tmp_path: Path) -> None:
    demonstration = open_demonstration(record(buy_milk, tmp_path, shop))
    with target.fresh(shop) as (phone, connected):

        def unplug(done: StepOutcome) -> None:
            if done.step.description == "click Shop":
                phone.fault("accessibility_off")

        report = replay(demonstration, connected, on_step=unplug)
    assert failure(report)[1] == "SERVICE_UNAVAILABLE"
    verdict = compare(exported(str(tmp_path / "shown.ndjson"), tmp_path), report.skillResult, strategy="derived")
    assert verdict.outcome == "runtime_unavailable"


# Files


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "RECORDING_PARSE_FAILED"),
        (b'{"exportVersion": 2}', "RECORDING_PARSE_FAILED"),
        (b"not json", "RECORDING_PARSE_FAILED"),
        (
            json.dumps(
                {
                    "type": "recording_header",
                    "schemaVersion": 1,
                    "sessionId": "a",
                    "startedAt": 1,
                    "operatorPackage": "p",
                }
            ).encode(),
            "RECORDING_REPLAY_FAILED",
        ),
    ],
)
def test_a_file_without_user_actions_is_refused(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_bytes(content)
    with pytest.raises(ClawError) as refused:
        open_demonstration(str(path))
    assert refused.value.code == code


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClawError) as refused:
        open_demonstration(str(tmp_path / "none.ndjson"))
    assert refused.value.code == "RECORDING_PARSE_FAILED"


# A field that is cleared


class FieldPhone:
    """A phone with one field. It shows ``before``, and ``after`` once something was typed."""

    serial = "field"

    def __init__(self, before: str, after: str) -> None:
        self._text, self._after = before, after

    def run(self, actions: list[dict[str, Any]], *, timeout: float) -> ResultEnvelope:
        assert timeout
        steps = []
        for number, action in enumerate(actions):
            if action["type"] == "enter_text":
                self._text = self._after
            shown = (
                f'<hierarchy rotation="0"><node class="a" package="{SHOP}" bounds="[0,0][200,200]"><node text='
                f'"{self._text}" resource-id="{SHOP}:id/name" class="android.widget.EditText" package="{SHOP}" '
                'clickable="true" enabled="true" bounds="[0,0][100,100]" /></node></hierarchy>'
            )
            data = {"text": shown, "foreground_package": SHOP} if action["type"] == "snapshot_ui" else {}
            steps.append(StepResult(f"a{number}", action["type"], True, data))
        return ResultEnvelope("c", "t", "success", steps, None)


@pytest.mark.parametrize(
    ("before", "after", "cleared"),
    [
        ("Bob", "Your name", True),  # it shows its hint now
        ("Your name", "Your name", True),  # it was empty, as recorded
        ("Bob", "Bob", False),
    ],
)
def test_a_cleared_field_is_proved_by_another_text_or_by_the_recorded_one(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch, *, cleared: bool
) -> None:
    monkeypatch.setattr(run_module, "MAX_POLLS", 2)
    field_ = RecordedTarget(package=SHOP, resource_id=f"{SHOP}:id/name", text="Your name", is_field=True)
    step = ReplayStep(seq=1, last_seq=1, kind="enter_text", package=SHOP, target=field_)
    ran = run_steps(FieldPhone(before, after), RecordedSteps((step,), ()))  # type: ignore[arg-type]
    (outcome,) = ran.steps
    if cleared:
        assert (outcome.status, outcome.evidence) == ("proved", "the field was cleared")
    else:
        assert ran.error is not None
        assert (outcome.status, ran.error.code) == ("failed", "REPLAY_EFFECT_MISSING")
