"""Phones that play a recording back: the recorded screens, and the recorded actions that lead through them."""

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.api.selectors import SelectorKwargs
from clawperator.errors import ClawError
from clawperator.phone.cassette.cassette import MAX_FILE_BYTES, load_cassette
from clawperator.phone.cassette.player import KeyStep, TapStep, TextStep, WaitStep, steps_of
from clawperator.phone.process.server import PhoneServer, PhoneServerConfig
from clawperator.recording.export import export_recording
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy
from tests.support.demonstrations import show_solar_limit, show_video_search

SOLAR = "com.solaxcloud.starter"
SETTINGS = "com.android.settings"
Script = Callable[[SimulatedPhone], None]


def settings(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Settings")
    person.scroll_down()
    person.scroll_up()
    person.tap("Network & internet")
    person.tap("Internet")
    for _ in range(3):
        person.back()


def account(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Notes")
    person.tap(desc="Account")
    person.tap("E-mail", role="textfield")
    person.type("ann")
    person.tap("Password", role="textfield")
    person.type("secret1")
    person.back()
    person.tap("Sign in", role="button")
    person.home()


def browser(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Chrome")
    person.tap(role="textfield")
    person.type("example.com")
    person.enter()
    phone.sleep(2)
    person.back()
    person.home()


def hard(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Hard Mode")
    person.tap("Endless list")
    for row in (3, 9, 15):
        person.tap(f"Row {row}")
        person.scroll_down()
    person.recents()
    person.tap("Hard Mode")
    person.home()


SCRIPTS: dict[str, Script] = {
    "solar": show_solar_limit,
    "settings": settings,
    "video": show_video_search,
    "account": account,
    "browser": browser,
    "hard": hard,
}


def record(phone: SimulatedPhone, script: Script, path: Path) -> list[dict[str, Any]]:
    phone.start_recording("demo")
    script(phone)
    phone.stop_recording()
    path.write_bytes(phone.read_recording())
    return events_of(path)


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()[1:]]


def without_times(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events without their times."""
    return [{k: v for k, v in event.items() if k not in ("ts", "seq")} for event in events]


def seen(phone: SimulatedPhone, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> Node:
    found = phone.find(text, **selector)
    assert found is not None
    return found


def clicks(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "click"]


def status(phone: SimulatedPhone) -> dict[str, Any]:
    assert phone.phone.player is not None
    return phone.phone.player.status()


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A recording of each person, made once."""
    folder = tmp_path_factory.mktemp("tapes")
    made = {}
    for name, script in SCRIPTS.items():
        with simulated_phone() as phone:
            made[name] = folder / f"{name}.ndjson"
            record(phone, script, made[name])
    return made


@pytest.fixture
def solar_phone(tapes: dict[str, Path]) -> Iterator[SimulatedPhone]:
    with simulated_phone(cassette=str(tapes["solar"])) as phone:
        yield phone


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_person_is_led_through_to_the_end_and_makes_the_same_recording(
    name: str, tapes: dict[str, Path], tmp_path: Path
) -> None:
    before = events_of(tapes[name])
    with simulated_phone(cassette=str(tapes[name])) as phone:
        after = record(phone, SCRIPTS[name], tmp_path / "again.ndjson")
        assert status(phone)["done"], status(phone)
        assert status(phone)["misses"] == 0
    # Also the snapshots, byte for byte. Only lists do not move: the screen is as it was when they had moved.
    assert without_times(after) == [event for event in without_times(before) if event["type"] != "scroll"]
    assert len(clicks(after)) > 2


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_recording_of_a_cassette_is_as_good_a_cassette(
    name: str, tapes: dict[str, Path], tmp_path: Path
) -> None:
    with simulated_phone(cassette=str(tapes[name])) as phone:
        record(phone, SCRIPTS[name], tmp_path / "copy.ndjson")
    with simulated_phone(cassette=str(tmp_path / "copy.ndjson")) as phone:
        SCRIPTS[name](phone)
        assert status(phone)["done"]


def test_an_export_with_snapshots_is_the_same_cassette(tapes: dict[str, Path], tmp_path: Path) -> None:
    out = str(tmp_path / "solar.export.json")
    export_recording(str(tapes["solar"]), out, snapshots="include")
    ours, theirs = load_cassette(out), load_cassette(str(tapes["solar"]))
    assert (ours.events, ours.snapshots, ours.display) == (theirs.events, theirs.snapshots, theirs.display)


def test_every_recorded_screen_is_shown_node_by_node(tapes: dict[str, Path]) -> None:
    """The engine sees it, ``uiautomator dump`` writes it, and a picture shows something of it."""
    first, opened, *_ = [e["snapshot"] for e in events_of(tapes["settings"]) if e["snapshot"]]
    with simulated_phone(cassette=str(tapes["settings"])) as phone:
        assert phone.foreground() == "com.android.launcher3"
        assert phone.xml() == first
        blank = phone.png()
        x, y = seen(phone, "Settings").bounds.centre
        assert phone.shell_script(f"input tap {x} {y}").code == 0
        assert phone.foreground() == SETTINGS
        assert phone.hierarchy().has_same_content(parse_hierarchy(opened))
        dump = phone.shell_script("uiautomator dump /dev/tty").text
        assert "Network &amp; internet" in dump
        assert "com.android.settings/.Settings" in phone.shell_script("dumpsys activity activities").text
        assert phone.png() != blank


def test_an_agent_runs_its_actions_on_a_cassette(solar_phone: SimulatedPhone) -> None:
    done = solar_phone.run(
        [
            {"type": "open_app", "params": {"applicationId": SOLAR}},
            {"type": "wait_for_node", "params": {"matcher": {"textEquals": "Intelligence"}}},
            {"type": "click", "params": {"matcher": {"textEquals": "Intelligence"}}},
            {"type": "click", "params": {"matcher": {"textEquals": "ON"}}},
            {"type": "click", "params": {"matcher": {"textContains": "Device Discharging"}}},
            {"type": "click", "params": {"matcher": {"textContains": "Discharge to 41%"}}},
            {"type": "enter_text", "params": {"matcher": {"role": "textfield"}, "text": "40", "clear": True}},
            {"type": "click", "params": {"matcher": {"textEquals": "Confirm"}}},
            {"type": "click", "params": {"matcher": {"textEquals": "Save"}}},
            {"type": "click", "params": {"matcher": {"textEquals": "Save", "role": "button"}}},
            {"type": "read_text", "params": {"matcher": {"textContains": "Discharge to"}}},
        ]
    )
    assert done.status == "success", done
    assert done.stepResults[-1].data["text"] == "Discharge to 40%"
    assert status(solar_phone)["done"]
    assert status(solar_phone)["misses"] == 0


def test_a_wrong_tap_stays_and_is_reported(solar_phone: SimulatedPhone) -> None:
    phone = solar_phone
    phone.person.tap("SolaXCloud")
    before, at = phone.xml(), status(phone)["step"]
    phone.person.tap("Service")
    phone.person.scroll_down()
    phone.person.home()
    phone.person.back()
    assert phone.xml() == before
    now = status(phone)
    assert (now["step"], now["misses"], now["done"]) == (at, 4, False)
    assert now["lastMiss"] == {"step": at, "kind": "key", "description": "back"}
    assert now["waitsFor"] == {"seq": 4, "description": "a tap on Intelligence"}
    log = phone.shell_script("logcat -d -s Cassette").text
    assert "missed: tap" in log
    assert "on Service, while step 1 waits for: a tap on Intelligence" in log
    phone.person.tap("Intelligence")
    assert status(phone)["step"] == at + 1


def test_a_text_is_done_when_it_is_the_recorded_one_and_not_before(solar_phone: SimulatedPhone) -> None:
    phone, person = solar_phone, solar_phone.person
    person.tap("SolaXCloud")
    for name in ("Intelligence", "ON"):
        person.tap(name)
    person.tap(text_contains="Device Discharging")
    person.tap(text_contains="Discharge to 41%")
    person.tap(role="textfield")
    person.delete(2)
    person.type("4")
    assert status(phone)["waitsFor"]["description"] == 'the text "40"'
    assert seen(phone, role="textfield").text == "4"
    person.type("0")
    done = status(phone)["step"]
    person.type("1")  # who goes on typing has not finished
    assert status(phone)["step"] == done - 1
    assert seen(phone, role="textfield").text == "401"
    person.tap("Confirm")
    assert status(phone)["misses"] == 1
    person.tap(role="textfield")
    person.delete()
    assert status(phone)["step"] == done
    person.tap("Confirm")
    assert status(phone)["step"] == done + 1


def test_opening_the_app_goes_to_its_first_screen_whatever_was_before(solar_phone: SimulatedPhone) -> None:
    phone = solar_phone
    first = phone.xml()
    phone.open_app(SOLAR)
    opened = status(phone)["step"]
    phone.person.tap("Intelligence")
    phone.shell_script(f"am start -n {SOLAR}/.FirstActivity")
    assert status(phone)["step"] == opened
    phone.person.tap("Intelligence")
    phone.shell_script(f"am force-stop {SOLAR}")
    assert phone.xml() == first
    assert status(phone)["step"] == 0
    phone.shell_script(f"monkey -p {SOLAR} -c android.intent.category.LAUNCHER 1")
    assert phone.foreground() == SOLAR
    assert status(phone)["misses"] == 0


def test_home_at_the_end_begins_anew(tapes: dict[str, Path]) -> None:
    with simulated_phone(cassette=str(tapes["video"])) as phone:
        for _ in range(2):
            phone.person.home()  # at home already, or at the end
            assert status(phone)["step"] == 0
            show_video_search(phone)
            assert status(phone)["done"]
        assert status(phone)["misses"] == 0


def test_a_system_dialog_covers_a_cassette_and_can_be_closed(solar_phone: SimulatedPhone) -> None:
    phone = solar_phone
    phone.fault("dialog", 1)
    phone.fault("dialog", "off")
    phone.person.tap("Wait")
    assert status(phone)["misses"] == 0
    phone.person.tap("SolaXCloud")
    assert status(phone)["step"] == 1


# Recordings made up here, as real phones make them


def node(text: str = "", area: str = "[0,0][1080,2400]", inside: str = "", **more: str) -> str:
    named = {"text": text, "class": "android.widget.TextView", "package": "com.example.door", **more}
    words = " ".join(f'{key.replace("_", "-")}="{value}"' for key, value in named.items())
    return f'<node {words} bounds="{area}">{inside}</node>'


def screen(*inside: str, package: str = "com.example.door", area: str = "[0,0][1080,2400]") -> str:
    return f'<hierarchy rotation="0">{node(area=area, inside="".join(inside), package=package)}</hierarchy>'


def window(name: str, xml: str | None, package: str = "com.example.door", ts: int = 0) -> dict[str, Any]:
    return {
        "type": "window_change",
        "packageName": package,
        "className": f"{package}.{name}",
        "title": name,
        "snapshot": xml,
        "ts": ts,
    }


def click(text: str | None, xml: str | None, package: str = "com.example.door", ts: int = 0) -> dict[str, Any]:
    nowhere = dict.fromkeys(("left", "top", "right", "bottom"), 0)
    words = {"resourceId": None, "text": text, "contentDesc": None, "bounds": nowhere}
    return {"type": "click", "packageName": package, **words, "snapshot": xml, "ts": ts}


def typed(text: str) -> dict[str, Any]:
    package = "com.example.door"
    return {"type": "text_change", "packageName": package, "resourceId": None, "text": text, "ts": 0}


def save(folder: Path, *events: dict[str, Any]) -> str:
    header = {"type": "recording_header", "schemaVersion": 1, "sessionId": "s", "startedAt": 0}
    lines = [{**header, "operatorPackage": "com.clawperator.operator"}]
    lines += [{"seq": i, **event} for i, event in enumerate(events)]
    path = folder / "made.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


OPEN = node("Open", "[0,300][1080,500]", clickable="true")
FIELD = {"class": "android.widget.EditText", "clickable": "true", "resource_id": "com.example.door:id/code"}


def test_a_click_without_bounds_is_found_by_its_words(tmp_path: Path) -> None:
    row = node(inside=node("Garage"), area="[0,600][1080,800]", clickable="true")
    path = save(
        tmp_path, window("Main", screen(OPEN, row)), click("Garage", screen(OPEN, row)), window("Two", screen())
    )
    with simulated_phone(cassette=path) as phone:
        assert phone.shows("Main")  # its icon, on the launcher
        phone.open_app("com.example.door")
        phone.phone.tap(540, 700)
        assert status(phone)["done"]


def test_a_click_that_came_too_late_for_its_snapshot_is_found_on_the_screen_before(tmp_path: Path) -> None:
    path = save(
        tmp_path, window("Main", screen(OPEN)), click("Open", screen(node("Hall"))), window("Hall", screen())
    )
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        phone.person.tap("Open")
        assert status(phone)["done"]


def test_a_click_without_a_target_is_ignored(tmp_path: Path) -> None:
    nameless = [click(None, screen(node("Hall"))) for _ in range(3_000)]
    path = save(tmp_path, window("Main", screen(OPEN)), *nameless, click("Open", screen(OPEN)))
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        phone.person.tap("Open")
        assert status(phone)["done"]


def test_a_window_that_came_late_comes_late_and_a_key_brings_it_sooner(tmp_path: Path) -> None:
    loading = screen(node("Loading"), area="[200,900][880,1500]")
    late = [window("Main", screen(OPEN)), click("Open", screen(OPEN)), window("Load", loading, ts=100)]
    path = save(tmp_path, *late, window("Main", screen(node("Ready")), ts=2_600))
    for by_key in (False, True):
        with simulated_phone(cassette=path) as phone:
            phone.open_app("com.example.door")
            phone.person.tap("Open")
            assert phone.shows("Loading")
            if by_key:
                phone.phone.key(4)
            else:
                phone.sleep(3)
            assert phone.shows("Ready")
            assert status(phone)["done"]
            assert status(phone)["misses"] == 0


def test_a_screen_that_a_person_must_have_left_waits_for_that(tmp_path: Path) -> None:
    home = "com.sec.android.app.launcher"
    shown = screen(node("Door", "[0,0][300,300]", clickable="true", package=home), package=home)
    path = save(
        tmp_path,
        click("Door", shown, home),
        window("Main", screen(node("21 degrees")), ts=100),
        window("Launcher", shown, home, ts=9_000),
        click("Door", shown, home, ts=12_000),
        window("Main", screen(node("22 degrees")), ts=12_100),
    )
    steps = [type(step) for step in steps_of(load_cassette(path))]
    assert steps[:3] == [TapStep, WaitStep, TapStep]
    with simulated_phone(cassette=path) as phone:
        assert phone.foreground() == home
        phone.person.tap("Door")
        phone.sleep(60)
        assert phone.shows("21 degrees")
        phone.phone.key(3)
        assert phone.foreground() == home
        phone.open_app("com.example.door")
        assert phone.shows("22 degrees")
        assert status(phone)["done"]


def test_a_slow_answer_to_a_step_needs_no_key(tmp_path: Path) -> None:
    """The save takes two seconds, and so does the way back: both come by themselves."""
    back = {"type": "press_key", "key": "back", "snapshot": screen(OPEN), "ts": 10_000}
    path = save(
        tmp_path,
        window("Main", screen(node("First"))),
        window("Edit", screen(OPEN), ts=100),
        click("Open", screen(OPEN), ts=5_000),
        window("Main", screen(node("Second")), ts=7_000),
        back,
        window("Edit", screen(node("Third")), ts=12_000),
    )
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        phone.person.tap("Open")
        phone.sleep(2)
        phone.person.back()
        phone.sleep(2)
        assert phone.shows("Third")
        assert status(phone)["done"]
        assert status(phone)["misses"] == 0


def test_a_target_where_this_phone_has_its_bars_can_be_touched(tmp_path: Path) -> None:
    low = node("Low", "[0,2300][1080,2390]", clickable="true")
    high = node("High", "[0,10][1080,90]", clickable="true")
    path = save(tmp_path, window("Main", screen(low)), click("Low", screen(low)), click("High", screen(low, high)))
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        phone.person.tap("Low")
        phone.person.back()  # the bar is there again when nothing of the recording is
        assert status(phone)["lastMiss"]["kind"] == "key"
        phone.person.tap("High")
        assert status(phone)["done"]


def test_an_app_that_was_not_drawn_yet_keeps_its_window(tmp_path: Path) -> None:
    home = "com.sec.android.app.launcher"
    icons = screen(node("Door", "[0,300][300,600]", clickable="true", package=home), package=home)
    path = save(tmp_path, click("Door", icons, home), window("Main", icons), click("Open", screen(OPEN)))
    with simulated_phone(cassette=path) as phone:
        phone.person.tap("Door")
        assert phone.events[-1].package == "com.example.door"
        assert phone.events[-1].class_name == "com.example.door.Main"
        phone.person.tap("Open")
        assert status(phone)["done"]


def test_a_back_key_moves_on_and_takes_the_keyboard_with_it(tmp_path: Path) -> None:
    field = node("Code", "[0,300][1080,500]", focused="true", **FIELD)
    back = {"type": "press_key", "key": "back", "snapshot": screen(field), "ts": 0}
    typing = [window("Main", screen(field)), typed("1"), typed("12")]
    path = save(tmp_path, *typing, back, window("Two", screen(node("Hall"))))
    assert [type(step) for step in steps_of(load_cassette(path))][:2] == [TextStep, KeyStep]
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        assert seen(phone, role="textfield").text == "Code"  # a hint
        phone.person.type("12")
        phone.person.back()
        assert phone.shows("Hall")
        assert status(phone)["misses"] == 0


def test_a_long_press_is_not_a_click(tmp_path: Path) -> None:
    path = save(tmp_path, window("Main", screen(OPEN)), click("Open", screen(OPEN)))
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        phone.person.press_long("Open")
        assert status(phone)["lastMiss"]["kind"] == "long tap"
        phone.person.tap("Open")
        assert status(phone)["done"]


def test_a_launcher_at_the_end_of_the_recording_is_shown_until_the_app_is_opened(tmp_path: Path) -> None:
    home = "com.android.launcher3"
    icons = screen(node("Door", "[0,300][300,600]", clickable="true", package=home), package=home)
    path = save(
        tmp_path,
        window("Main", screen(OPEN)),
        click("Open", screen(OPEN)),
        {**click("Home", screen(node("Hall"))), "packageName": "com.android.systemui"},
        window("Launcher", icons, home),
    )
    with simulated_phone(cassette=path) as phone:
        assert phone.shows("Door")
        phone.person.tap("Door")
        phone.person.back()
        assert (status(phone)["step"], status(phone)["misses"]) == (0, 2)
        phone.shell_script("am start -n com.example.door/.Main")
        phone.person.tap("Open")
        phone.person.home()
        assert status(phone)["done"]
        assert phone.shows("Door")


def test_a_window_without_a_class_works_in_the_shell(tmp_path: Path) -> None:
    path = save(tmp_path, {**window("Main", screen(OPEN)), "className": None, "title": None}, click("Open", None))
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        for command in ("dumpsys activity activities", "dumpsys window", "am stack list", "pm list packages"):
            assert phone.shell_script(command).code == 0
        assert phone.shell_script("monkey -p com.example.door 1").code == 0
        assert status(phone)["step"] == 0


def test_a_password_is_done_at_its_length_and_never_shown(tmp_path: Path) -> None:
    field = node("", "[0,300][1080,500]", password="true", **FIELD)
    dots = [typed("•" * n) for n in range(1, 5)]
    shown = screen(node("••••", "[0,300][1080,500]", password="true", **FIELD), OPEN)
    path = save(tmp_path, window("Main", screen(field)), click(None, screen(field)), *dots, click("Open", shown))
    with simulated_phone(cassette=path) as phone:
        phone.open_app("com.example.door")
        phone.person.tap(role="textfield")
        phone.person.type("mo")
        assert seen(phone, role="textfield").text == "••"
        phone.person.type("on")
        phone.person.tap("Open")
        assert status(phone)["done"]
        assert "moon" not in phone.shell_script("logcat -d").text


def test_a_phone_of_another_size_is_as_large_as_its_snapshots(tmp_path: Path) -> None:
    area = "[0,0][720,1600]"
    tile = node("Open", "[0,300][720,500]", clickable="true")
    dialog = screen(node("Sure?"), area="[60,600][660,1000]")
    path = save(tmp_path, window("Main", screen(tile, area=area)), click("Open", None), window("Ask", dialog))
    with simulated_phone(cassette=path) as phone:
        assert phone.phone.windows.display.bounds.right == 720
        assert "720x1600" in phone.shell_script("wm size").text
        phone.open_app("com.example.door")
        phone.person.tap("Open")
        assert phone.shows("Sure?")


# What is no cassette


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (screen(OPEN)[:-14], "truncated"),
        ('<!DOCTYPE x [<!ENTITY a "b">]>' + screen(), "dtd"),
        (f"<hierarchy>{'<node>' * 400}{'</node>' * 400}</hierarchy>", "depth"),
        ("<html></html>", "root"),
        (screen(package="a b;reboot"), None),
        (screen(area="[0,0][100000,100000]"), None),
    ],
)
def test_a_damaged_or_hostile_snapshot_is_refused_by_its_event(
    xml: str, reason: str | None, tmp_path: Path
) -> None:
    path = save(tmp_path, window("Main", screen(OPEN)), click("Open", xml))
    with pytest.raises(ClawError) as refused:
        load_cassette(path)
    assert refused.value.code == "PHONE_CASSETTE_INVALID"
    assert "event 1" in refused.value.message
    details = dict(refused.value.details or {})
    assert (details["seq"], details["type"], details.get("reason")) == (1, "click", reason)


def test_what_holds_no_snapshots_is_refused_with_what_to_do(tmp_path: Path, tapes: dict[str, Path]) -> None:
    out = str(tmp_path / "omitted.export.json")
    export_recording(str(tapes["solar"]), out)
    bare = save(tmp_path, window("Main", None), click("Open", None))
    (tmp_path / "words.json").write_text("hello", "utf-8")
    cut = tmp_path / "cut.ndjson"
    cut.write_bytes(tapes["solar"].read_bytes()[:-40])
    for path in (out, bare, str(tmp_path / "words.json"), str(tmp_path / "nothing"), str(tmp_path), str(cut)):
        with pytest.raises(ClawError) as refused:
            load_cassette(path)
        assert refused.value.code == "PHONE_CASSETTE_INVALID"
        wanted = "recording repair" if path == str(cut) else "--snapshots include"
        assert wanted in (refused.value.hint or "")


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.ndjson"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ClawError, match="at most"):
        load_cassette(str(path))


def test_a_large_recording_takes_little_memory(tmp_path: Path) -> None:
    rows = [node(f"Row {i}", f"[0,{i}][1080,{i + 1}]", clickable="true") for i in range(400)]
    path = save(tmp_path, *(click("Row 7", screen(*rows, node(f"Page {i}"))) for i in range(100)))
    cassette = load_cassette(path)
    packed = sum(len(shot.packed) for shot in cassette.snapshots)
    assert len(cassette.snapshots) == 100
    assert packed * 5 < Path(path).stat().st_size
    assert zlib.decompress(cassette.snapshots[99].packed).decode() == screen(*rows, node("Page 99"))


@pytest.mark.random
@given(places=st.lists(st.tuples(st.integers(0, 1_079), st.integers(0, 2_399)), max_size=25))
def test_random_fingers_only_move_on_where_the_recording_did(
    places: list[tuple[int, int]], tapes: dict[str, Path]
) -> None:
    with simulated_phone(cassette=str(tapes["settings"])) as phone:
        for x, y in places:
            before = status(phone)
            phone.phone.tap(x, y)
            after = status(phone)
            moved, missed = after["step"] - before["step"], after["misses"] - before["misses"]
            assert (moved, missed) in {(1, 0), (0, 1), (0, 0)}
            assert parse_hierarchy(phone.xml()).nodes


def test_a_phone_process_reports_its_cassette_position_and_rewinds_on_reset(tapes: dict[str, Path]) -> None:
    phone_server = PhoneServer(PhoneServerConfig(serial="tape", cassette=str(tapes["settings"])))
    try:
        phone_server.phone.launch(SETTINGS)
        told_of = phone_server.command("status", {})
        assert told_of["foreground"] == SETTINGS
        assert (told_of["cassette"]["step"], told_of["cassette"]["steps"]) == (1, 6)
        assert told_of["cassette"]["file"] == str(tapes["settings"])
        phone_server.command("reset", {})
        assert phone_server.command("status", {})["cassette"]["step"] == 0
    finally:
        phone_server.close()
