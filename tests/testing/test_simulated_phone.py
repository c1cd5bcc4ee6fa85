"""The simulated phone of a test has the methods and results of a connected one."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clawperator.api.phone import AndroidPhone, ConnectedPhone
from clawperator.api.selectors import Selector
from clawperator.device.adb.client import Device, Endpoint
from clawperator.errors import ClawError, TargetError
from clawperator.testing import ScriptedBackend, SimulatedPhone, simulated_phone
from tests.phone.core.apks import make_apk

SETTINGS = "com.android.settings"
NOTES = "com.clawperator.notes"
METHODS = [name for name, _ in inspect.getmembers(AndroidPhone, inspect.isfunction) if not name.startswith("_")]


@pytest.fixture(params=["simulated", "connected"])
def any_phone(request: pytest.FixtureRequest, phone: SimulatedPhone) -> Iterator[AndroidPhone]:
    """The same phone in this process, and over adb."""
    if request.param == "simulated":
        yield phone
        return
    with phone.serve() as ports:
        yield ConnectedPhone(Device("claw-1", Endpoint("127.0.0.1", ports.server_port, simulated=True)))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_same_parameters_on_every_phone(name: str) -> None:
    def parameters(phone: type[object]) -> list[inspect.Parameter]:
        return list(inspect.signature(getattr(phone, name)).parameters.values())

    assert parameters(SimulatedPhone) == parameters(ConnectedPhone) == parameters(AndroidPhone)


def test_apps_are_opened_and_nodes_clicked(any_phone: AndroidPhone) -> None:
    assert any_phone.open_app(SETTINGS).effect == "changed"
    clicked = any_phone.click("Display")
    assert (clicked.effect, clicked.matched_target["label"]) == ("changed", "Display")
    assert any_phone.foreground() == SETTINGS
    assert any_phone.shows("Dark theme")
    assert any_phone.shows(text_contains="DARK")
    assert "Dark theme" in any_phone.labels()
    assert any_phone.read(role="title") == "Display"
    assert any_phone.back().effect == "changed"
    assert any_phone.home().effect == "changed"
    assert any_phone.recents().matched_target == {"key": "recents"}


def test_the_live_screen_and_a_snapshot_are_searched_alike(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    snapshot = any_phone.snapshot()
    assert any_phone.labels() == snapshot.labels()
    for found in (any_phone.find_all(), snapshot.find_all()):
        assert len(found) > 20
        assert all(node.bounds.width > 0 for node in found)
    assert [n.label for n in any_phone.find_all(id="android:id/title")] == [
        n.label for n in snapshot.find_all(id="android:id/title")
    ]
    assert any_phone.find("Nothing like it") is None
    with pytest.raises(ClawError) as info:
        any_phone.find()
    assert info.value.code == "MISSING_SELECTOR"


def test_a_failed_search_names_near_matches(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    with pytest.raises(TargetError) as missed:
        any_phone.click("Displya")

    assert missed.value.hint.startswith("Did you mean ")
    assert "Display" in missed.value.hint


def test_hints_of_a_phone_in_this_process_name_elements_and_methods(phone: SimulatedPhone) -> None:
    phone.open_app(SETTINGS)
    ref = phone.snapshot().outline.partition('button "Display"')[0].split()[-1]
    failing: dict[str, Callable[[], object]] = {
        f'text "Display" ({ref})': lambda: phone.click("Displya"),
        'id "com.android.settings:id/recycler_view"': lambda: phone.read(id="recycler_vie"),
        'container text "Display"': lambda: phone.read("x", container={"text": "Displya"}),
        f'text "Display" ({ref})?': lambda: phone.enter_text("hello", text="Displya"),
    }
    for expected, call in failing.items():
        with pytest.raises(ClawError) as missed:
            call()
        assert f"Did you mean {expected}" in missed.value.hint
        assert "clawperator " not in missed.value.hint


def test_the_nearest_ancestor_with_a_label_is_the_row_of_that_label(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    any_phone.click("Display")
    dark: Selector = {"role": "switch", "ancestor": {"descendant": "Dark theme"}}
    dark_off: Selector = {"role": "switch", "ancestor": {"descendant": "Dark theme"}, "checked": False}
    adaptive: Selector = {"role": "switch", "ancestor": {"descendant": "Adaptive brightness"}}
    any_phone.click("Dark theme")

    assert [node.checked for node in any_phone.find_all(**dark)] == [True]
    assert [node.checked for node in any_phone.find_all(**adaptive)] == [False]
    assert any_phone.find(**dark_off) is None
    assert len(any_phone.snapshot().find_all(**dark)) == 1


@pytest.mark.parametrize(
    ("selector", "label"),
    [
        ({"text_matches": "Disp.*"}, "Display"),
        ({"id": "android:id/title", "index": 1}, "Connected devices"),
        ({"id": "android:id/title", "below": "Network & internet"}, "Connected devices"),
        ({"any_of": ["Nothing", "Apps"]}, "Apps"),
        ({"id": "android:id/title", "not_": "Network & internet"}, "Connected devices"),
        ({"class_name": "TextView", "text_contains": "displ", "enabled": True}, "Display"),
    ],
)
def test_selectors_that_the_host_resolves_find_the_same_node(
    any_phone: AndroidPhone, selector: Selector, label: str
) -> None:
    any_phone.open_app(SETTINGS)
    assert any_phone.read(**selector) == label
    for found in (any_phone.find(**selector), any_phone.snapshot().find(**selector)):
        assert found is not None
        assert found.label == label


def test_the_outline_numbers_elements_and_shows_what_changed(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    any_phone.click("Display")
    first = any_phone.read_outline()
    assert '"Dark theme"' in str(first)
    assert first.snapshot_id == any_phone.snapshot().snapshot_id
    assert any_phone.snapshot().outline == first.text
    switch = next(element for element in any_phone.read_elements() if element.label == "Dark theme")
    assert f"{switch.ref} " in first.text
    assert len(any_phone.read_outline(max_tokens=40).text.encode()) <= 160
    any_phone.click("Dark theme")
    changed = any_phone.read_outline(since=first.snapshot_id, settle=True)
    assert changed.is_change
    assert f"{switch.ref} " in changed.text
    assert len(changed.text) < len(first.text)
    assert any_phone.snapshot(settle=True).snapshot_id == changed.snapshot_id != first.snapshot_id


def test_an_element_is_found_and_clicked_by_its_reference(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    row = next(element for element in any_phone.read_elements() if element.label == "Display")
    found = any_phone.find(ref=row.ref)
    assert found is not None
    assert found.bounds.normalised() == row.bounds
    assert found.bounds.centre == row.bounds.centre
    assert tuple(row.bounds) == (row.bounds.left, row.bounds.top, row.bounds.right, row.bounds.bottom)
    assert any_phone.click(ref=row.ref).effect == "changed"
    assert any_phone.shows("Dark theme")
    for call in (any_phone.click, any_phone.find):
        with pytest.raises(ClawError) as info:
            call(ref="e999999")
        assert info.value.code == "REF_STALE"
    with pytest.raises(ClawError) as info:
        any_phone.snapshot().find(ref=row.ref)
    assert info.value.code == "EXECUTION_VALIDATION_FAILED"


@pytest.mark.usefixtures("quick_retries")
def test_a_node_that_must_be_unique_is_refused_with_its_candidates(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    snapshot = any_phone.snapshot()
    for call in (any_phone.read, any_phone.find, snapshot.find):
        for selector in ({"id": "title"}, {"id": "android:id/title", "unique": True}):
            with pytest.raises(ClawError) as info:
                call(**selector)
            assert info.value.code == "NODE_AMBIGUOUS", (call, selector)
    assert len(any_phone.find_all(id="title")) > 2


def test_a_simulated_phone_keeps_no_references_in_the_product_home(
    phone: SimulatedPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    first = phone.read_elements()[0]
    phone.clock.sleep(3_500)
    assert phone.read_elements()[0].ref == first.ref
    phone.clock.sleep(7_200)
    assert phone.read_outline(since=phone.snapshot().snapshot_id).text
    assert not (tmp_path / "home").exists()
    with simulated_phone() as other:
        assert other.read_elements()[0].ref == "e1"


def test_text_is_entered_and_read(any_phone: AndroidPhone) -> None:
    any_phone.open_app(NOTES)
    any_phone.click("Add note")
    any_phone.enter_text("Milk", text="Title")
    assert any_phone.wait("Milk").label == "Milk"
    assert any_phone.run([{"type": "snapshot_ui"}]).status == "success"


def test_gestures_and_keys_reach_the_screen(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS)
    first = any_phone.labels()
    assert any_phone.swipe("up", distance=0.6).effect == "changed"
    assert any_phone.labels() != first
    any_phone.open_app(NOTES)
    any_phone.click("Add note")
    any_phone.enter_text("Milk", text="Title")
    assert any_phone.press("delete").data["key"] == "delete"
    assert any_phone.double_tap("Work").dispatch_method


def test_a_field_is_filled_extended_and_emptied(any_phone: AndroidPhone) -> None:
    any_phone.open_app(NOTES)
    any_phone.click("Add note")
    any_phone.enter_text("Milk", text="Title")
    any_phone.enter_text(" and eggs", text="Milk", append=True)
    assert any_phone.shows("Milk and eggs")
    any_phone.enter_text("", text="Milk and eggs")
    assert any_phone.shows("Title")
    any_phone.enter_text("Bread")  # into the field with the focus
    assert any_phone.shows("Bread")


def test_a_secret_is_entered_and_never_into_a_recording(
    any_phone: AndroidPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTE", "hunter2")
    any_phone.open_app(NOTES)
    any_phone.click("Add note")
    with any_phone.recording("demo"), pytest.raises(ClawError) as info:
        any_phone.enter_secret(env="NOTE", text="Title")
    assert info.value.code == "SECRET_REFUSED_WHILE_RECORDING"
    entered = any_phone.enter_secret(env="NOTE", text="Title")
    assert "hunter2" not in str(dict(entered.data))
    assert any_phone.shows("hunter2")


def test_apps_and_the_device_are_changed(any_phone: AndroidPhone) -> None:
    assert any_phone.rotate("landscape").effect == "changed"
    any_phone.rotate("portrait")
    any_phone.start_activity(f"{SETTINGS}/.Settings", expect={"app": SETTINGS})
    camera = "android.permission.CAMERA"
    any_phone.grant_permission(NOTES, camera)
    any_phone.revoke_permission(NOTES, camera)
    any_phone.clear_app_data(NOTES)
    assert isinstance(any_phone.read_logcat(NOTES, since="5m"), list)


def test_an_apk_is_installed_and_uninstalled(any_phone: AndroidPhone, tmp_path: Path) -> None:
    apk = tmp_path / "app.apk"
    apk.write_bytes(make_apk("com.example.sent"))
    any_phone.install_app(apk)
    assert "package:com.example.sent" in any_phone.shell("pm", "list", "packages").text
    any_phone.uninstall_app("com.example.sent")
    assert "package:com.example.sent" not in any_phone.shell("pm", "list", "packages").text
    (tmp_path / "text.apk").write_text("no apk")
    for name, code in (("text.apk", "ANDROID_INSTALL_FAILED"), ("none.apk", "ANDROID_PACKAGE_FAILED")):
        with pytest.raises(ClawError) as info:
            any_phone.install_app(tmp_path / name)
        assert info.value.code == code


def test_waits_end_when_the_screen_is_as_expected(any_phone: AndroidPhone) -> None:
    any_phone.open_app(NOTES)
    assert any_phone.wait_for_any("Nothing", "Account")[0] == 1
    any_phone.wait_until_idle(quiet=0.2)
    any_phone.home()
    any_phone.wait_until_gone("Add note", timeout=5)
    with pytest.raises(ClawError) as info:
        any_phone.wait_until_gone("Settings", timeout=0.5)
    assert info.value.code == "WAIT_TIMEOUT"


def test_an_expectation_is_checked_after_the_action(any_phone: AndroidPhone) -> None:
    any_phone.open_app(SETTINGS, expect={"app": SETTINGS})
    any_phone.click("Display", expect="Dark theme")
    any_phone.back(expect={"gone": "Dark theme"})
    with pytest.raises(ClawError) as info:
        any_phone.home(expect={"text": "Nothing like it", "timeout": 0.5})
    assert info.value.code == "EXPECTATION_FAILED"
    assert info.value.after_effect


def test_a_missing_node_is_a_typed_error(any_phone: AndroidPhone) -> None:
    with pytest.raises(TargetError) as info:
        any_phone.click("Svae", timeout=0)
    assert (info.value.code, info.value.target) == ("NODE_NOT_FOUND", "claw-1")
    assert info.value.details is not None
    assert info.value.details["step"]["actionType"] == "click"


def test_the_launcher_cannot_be_opened_as_an_app(any_phone: AndroidPhone) -> None:
    with pytest.raises(ClawError) as info:
        any_phone.open_app("com.android.launcher3")
    assert info.value.code == "APP_NOT_FOUND"
    assert info.value.hint.startswith("Call phone.press(key='home') to show the launcher")


def test_other_schemes_must_be_allowed(any_phone: AndroidPhone) -> None:
    with pytest.raises(ClawError) as info:
        any_phone.open_uri("myapp://open")
    assert info.value.code == "URI_SCHEME_NOT_ALLOWED"
    with simulated_phone(allow_schemes=["myapp"]) as allowed, pytest.raises(ClawError) as info:
        allowed.open_uri("myapp://open")
    assert info.value.code == "URI_NOT_HANDLED"


def test_a_recording_is_made_and_pulled(any_phone: AndroidPhone, tmp_path: Path) -> None:
    with any_phone.recording("demo") as recording:
        any_phone.open_app(SETTINGS)
    path = recording.pull(tmp_path / "new")
    assert path == str(tmp_path / "new" / "demo.ndjson")
    assert len(Path(path).read_text().splitlines()) == (recording.result.events or 0) + 1
    assert any_phone.pull_recording(folder=tmp_path) == str(tmp_path / "demo.ndjson")
    (tmp_path / "file").write_text("")
    with pytest.raises(ClawError) as info:
        any_phone.pull_recording(folder=tmp_path / "file")
    assert info.value.code == "RECORDING_PULL_FAILED"
    for session, code in (("../up", "RECORDING_SESSION_NOT_FOUND"), ("none", "RECORDING_PULL_FAILED")):
        with pytest.raises(ClawError) as info:
            any_phone.pull_recording(session, tmp_path)
        assert info.value.code == code


def test_without_a_finished_recording_nothing_is_pulled(any_phone: AndroidPhone, tmp_path: Path) -> None:
    any_phone.start_recording("running")
    with pytest.raises(ClawError) as info:
        any_phone.pull_recording(folder=tmp_path)
    assert info.value.code == "RECORDING_SESSION_NOT_FOUND"


def test_a_screenshot_is_a_file(any_phone: AndroidPhone, tmp_path: Path) -> None:
    wanted = tmp_path / "screen.png"
    assert any_phone.screenshot(wanted) == str(wanted)
    assert wanted.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ClawError) as info:
        any_phone.screenshot(tmp_path / "no" / "folder.png")
    assert info.value.code == "SCREENSHOT_NOT_SAVED"
    assert Path(any_phone.screenshot()).read_bytes() == wanted.read_bytes()


def test_the_shell_takes_arguments_as_they_are(any_phone: AndroidPhone) -> None:
    answer = any_phone.shell("echo", "a  b", "$(id)", "'; exit 3", "")
    assert (answer.code, answer.text) == (0, "a  b $(id) '; exit 3 \n")
    assert any_phone.shell("sh", "-c", "exit 7").code == 7


def test_waits_take_no_real_time(phone: SimulatedPhone) -> None:
    before = phone.clock.monotonic()
    with pytest.raises(TargetError):
        phone.wait("Nothing like it", timeout=100)
    phone.sleep(60)
    assert phone.clock.monotonic() - before >= 160


def test_temporary_screenshots_end_with_the_phone() -> None:
    with simulated_phone() as phone:
        path = Path(phone.screenshot())
        assert path.read_bytes() == phone.screenshots[str(path)] == phone.png()
    assert not path.exists()


def test_faults_are_set_from_the_start() -> None:
    with simulated_phone(faults={"accessibility_off": True}) as phone, pytest.raises(ClawError) as info:
        phone.click("Settings")
    assert info.value.code == "SERVICE_UNAVAILABLE"


def test_a_scripted_backend_replaces_a_device() -> None:
    backend = ScriptedBackend({"text": "21 °C"}, {"error": "NODE_NOT_FOUND", "message": "no node"})
    phone = ConnectedPhone(Device("none", Endpoint("127.0.0.1", 1)), backend=backend)
    assert phone.read("Temperature") == "21 °C"
    with pytest.raises(TargetError):
        phone.read("Humidity")
    assert [plan.execution.actions[0].type for plan in backend.plans] == ["read_text", "read_text"]
