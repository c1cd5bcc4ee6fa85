"""The solar app: from a cold start to a saved limit."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from clawperator.contract.execution import Execution, validate
from clawperator.engine.run import Engine
from clawperator.phone.apps.solar import PACKAGE
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.phone import Phone
from clawperator.phone.operator.driver import PhoneDriver
from clawperator.recording.compare.checkpoints import REQUIRED, find_solax_checkpoints
from clawperator.recording.export import export_recording, main_package, read_export
from tests.phone.screen import find, found, tap, texts

DELETE = 67


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    yield phone
    phone.close()


def open_app(phone: Phone) -> None:
    assert phone.launch(PACKAGE)
    phone.clock.sleep(2)


def open_limit(phone: Phone) -> None:
    """From the dashboard to the dialog that asks for the limit."""
    tap(phone, id="tab_intelligent")
    tap(phone, text="Peak Export")
    tap(phone, text="Device Discharging (By percentage)")
    phone.tap(*discharge_row(phone))


def discharge_row(phone: Phone) -> tuple[int, int]:
    return next(n for n in phone.windows.hierarchy().nodes if n.text.startswith("Discharge to ")).bounds.centre


def type_limit(phone: Phone, limit: str) -> None:
    tap(phone, id="van-field-1-input")
    for _ in range(len(find(phone, id="van-field-1-input").text)):
        phone.key(DELETE)
    phone.type_text(limit)


def save(phone: Phone) -> None:
    tap(phone, text="Save")
    tap(phone, text="Save")
    phone.clock.sleep(1)


def test_a_cold_start_loads_and_then_shows_the_dashboard(phone: Phone) -> None:
    windows: list[tuple[str | None, str | None]] = []

    def listen(event: AccessibilityEvent) -> None:
        if event.kind == "window_state_changed":
            windows.append((event.class_name, event.title))

    phone.listeners.append(listen)
    open_app(phone)
    assert windows == [
        ("com.solaxcloud.starter.FirstActivity", "SolaXCloud"),
        ("com.solax.commonui.toast.MMLoading", "Loading..."),
        ("com.solax.solaxhomestorage.ui.activity.main.HSMainActivity", "SolaXCloud"),
    ]
    assert "Battery" in texts(phone)


def test_a_running_app_returns_without_loading(phone: Phone) -> None:
    open_app(phone)
    phone.go_home()
    phone.launch(PACKAGE)
    assert "Battery" in texts(phone)


def test_back_while_it_loads_still_ends_on_the_dashboard(phone: Phone) -> None:
    phone.launch(PACKAGE)
    phone.go_back()
    assert phone.foreground() != PACKAGE
    phone.clock.sleep(2)
    phone.launch(PACKAGE)
    assert "Battery" in texts(phone)


def test_back_on_the_dashboard_leaves_the_app(phone: Phone) -> None:
    open_app(phone)
    phone.go_back()
    assert phone.foreground() != PACKAGE


def test_home_while_it_loads_does_not_stop_the_loading(phone: Phone) -> None:
    phone.launch(PACKAGE)
    phone.go_home()
    phone.clock.sleep(2)
    phone.launch(PACKAGE)
    assert "Battery" in texts(phone)


def test_values_of_the_dashboard_can_be_read_by_their_names(phone: Phone) -> None:
    open_app(phone)
    assert [read(phone, name) for name in ("Battery", "PV power", "House load")] == ["76%", "3.42 kW", "0.87 kW"]


def read(phone: Phone, label: str) -> str:
    params = {"labelMatcher": {"textEquals": label}}
    result = Engine(PhoneDriver(phone), phone.clock).run(plan("read_key_value_pair", params))
    step = result.stepResults[0]
    assert step.success, step.data
    return str(step.data["value"])


def plan(kind: str, params: Mapping[str, object]) -> Execution:
    return validate(
        {
            "commandId": "c",
            "taskId": "t",
            "source": "test",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 30_000,
            "actions": [{"id": "a", "type": kind, "params": params}],
        }
    ).execution


@pytest.mark.parametrize("tab_id", ["tab_home", "tab_device", "tab_intelligent", "tab_service", "tab_mine"])
def test_each_tab_is_selected_by_a_tap(phone: Phone, tab_id: str) -> None:
    open_app(phone)
    tap(phone, id=tab_id)
    assert [n.resource_id for n in found(phone, selected="true")] == [f"{PACKAGE}:id/{tab_id}"]


def test_a_limit_is_changed_and_stays_after_the_app_was_stopped(phone: Phone) -> None:
    open_app(phone)
    open_limit(phone)
    assert find(phone, id="van-field-1-input").text == "41"
    type_limit(phone, "35")
    tap(phone, text="Confirm")
    save(phone)
    assert "Discharge to 35%" in texts(phone)
    phone.stop_app(PACKAGE)
    open_app(phone)
    tap(phone, id="tab_intelligent")
    assert "Discharge to 35%" in texts(phone)


def test_cleared_data_brings_the_old_limit_back(phone: Phone) -> None:
    open_app(phone)
    open_limit(phone)
    type_limit(phone, "35")
    tap(phone, text="Confirm")
    save(phone)
    phone.clear_app(PACKAGE)
    open_app(phone)
    tap(phone, id="tab_intelligent")
    assert "Discharge to 41%" in texts(phone)


def test_saving_takes_a_moment_that_back_cannot_interrupt(phone: Phone) -> None:
    open_app(phone)
    open_limit(phone)
    tap(phone, text="Confirm")
    tap(phone, text="Save")
    tap(phone, text="Save")
    phone.go_back()
    assert texts(phone) == ["Loading..."]
    phone.clock.sleep(0.7)
    assert find(phone, id="tab_intelligent").flag("selected")


@pytest.mark.parametrize("typed", ["", "9", "101", "4 1", "-20", "12.5", "٤١", "1000"])
def test_an_invalid_limit_is_refused_with_a_reason(phone: Phone, typed: str) -> None:
    open_app(phone)
    open_limit(phone)
    type_limit(phone, typed)
    tap(phone, text="Confirm")
    assert "Enter a whole number from 10 to 100" in texts(phone)
    type_limit(phone, "100")
    assert "Enter a whole number from 10 to 100" not in texts(phone)
    tap(phone, text="Confirm")
    assert any(label.startswith("Discharge to 100%") for label in texts(phone))


@pytest.mark.parametrize("way", ["cancel", "back", "leave"])
def test_an_unsaved_limit_is_discarded(phone: Phone, way: str) -> None:
    open_app(phone)
    open_limit(phone)
    type_limit(phone, "55")
    if way == "cancel":
        tap(phone, text="Cancel")
        tap(phone, text="Back")
    elif way == "back":
        phone.go_back()  # the keyboard
        phone.go_back()  # the dialog
        phone.go_back()  # the page
    else:
        tap(phone, text="Confirm")
        tap(phone, text="Save")
        tap(phone, text="Not now")
        tap(phone, text="Back")
    assert "Discharge to 41%" in texts(phone)


def test_another_automation_has_a_limit_of_its_own(phone: Phone) -> None:
    open_app(phone)
    tap(phone, id="tab_intelligent")
    tap(phone, text="Night Charge")
    tap(phone, text="Device Charging (By percentage)")
    assert any(label.startswith("Charge to 90%") for label in texts(phone))
    tap(phone, text="Device Charging (By percentage)")
    assert not any(label.startswith("Charge to") for label in texts(phone))


def test_a_recording_of_the_flow_has_every_checkpoint(phone: Phone, tmp_path: Path) -> None:
    recorder = phone.operator.recorder
    recorded = recorder.start("solar")
    open_app(phone)
    open_limit(phone)
    type_limit(phone, "40")
    tap(phone, text="Confirm")
    save(phone)
    recorder.stop()
    copy = tmp_path / "solar.ndjson"
    copy.write_bytes(phone.storage.system.read(recorded.file_path))
    result = export_recording(str(copy))
    export = read_export(Path(result.outputFile).read_bytes())
    baseline = find_solax_checkpoints(export)
    assert main_package(export.events) == PACKAGE
    assert tuple(point.id for point in baseline.checkpoints) == REQUIRED
    summaries = {point.id: point.summary for point in baseline.checkpoints}
    assert "discharge to 41%" in summaries["discharge_to_row_focused"]
    assert summaries["save_completed"].endswith(":save")
