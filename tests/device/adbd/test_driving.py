"""The commands of ``--backend adb`` over a real adbd: what Android's commands get as arguments."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from tests.support.command_doubles import CommandDoubles, Reply
from tests.support.hanging import NEVER_SECONDS, wait_until
from tests.support.ordinary_phone import LAUNCHER, SETTINGS, dumped, node, png, screen
from tests.support.real_adbd import AdbdPhone

FIELD = f"{SETTINGS}:id/search"
LINK = "https://example.com/a?b=c&d='$(id)'`id`\"x y%20;|<>*#\\n"
LIST = screen(
    node("", bounds="[0,200][1080,2200]", name="android.widget.ListView", more='scrollable="true" enabled="true"'),
    node("Display", bounds="[0,500][1080,700]", more='clickable="true" enabled="true"'),
)


def drive(phone: AdbdPhone, *argv: str) -> dict[str, Any]:
    """The data of the step of a command that must succeed."""
    ran = phone.run(*argv, "--backend", "adb")
    assert ran.code == 0, ran
    (step,) = ran.json["envelope"]["stepResults"]
    assert step["success"], step
    data: dict[str, Any] = step["data"]
    return data


def field(text: str, *, focused: bool) -> str:
    """A screen with one text field."""
    flags = (
        f'resource-id="{FIELD}" focusable="true" clickable="true" enabled="true" focused="{str(focused).lower()}"'
    )
    name = "android.widget.EditText"
    return screen(node(escape(text), bounds="[40,100][1040,220]", more=flags, name=name))


def show_after(doubles: CommandDoubles, word: str, before: str, after: str) -> None:
    """The screen is ``before`` until ``input`` is called with this word first, then ``after``."""
    for name, content in (("before", before), ("after", after)):
        (doubles.folder / name).write_text(content)
    marker = quote(str(doubles.folder / "changed"))
    doubles.script("input", f'if [ "$1" = {word} ]; then : >{marker}; fi')
    files = [quote(str(doubles.folder / name)) for name in ("after", "before")]
    target = quote(str(doubles.root)) + '"$last"'
    doubles.script(
        "uiautomator",
        f"if [ -f {marker} ]; then file={files[0]}; else file={files[1]}; fi\n"
        f'case "$last" in /proc/self/fd/1) cat "$file" ;; *) cat "$file" >{target} ;; esac\n'
        'echo "UI hierchary dumped to: $last"',
    )


# The screen


def test_a_snapshot_is_the_screen(phone: AdbdPhone) -> None:
    text = drive(phone, "snapshot")["text"]
    assert "Network &amp; internet" in text
    assert text.count("<node") == 4
    assert phone.calls("uiautomator")
    assert not list((phone.doubles.root / "data/local/tmp").iterdir())


def test_an_outline_names_the_elements(phone: AdbdPhone) -> None:
    assert '"Display"' in drive(phone, "snapshot", "--view", "outline")["text"]


def test_a_snapshot_has_every_character_of_the_screen(phone: AdbdPhone) -> None:
    label = "漢字 🙂 ünï &<>\"' $HOME `id` %s\\n"
    phone.doubles.answer("uiautomator", dumped(screen(node(escape(label), bounds="[0,0][9,9]"))), when="dump *")
    assert drive(phone, "read", "--text-contains", "漢字")["text"] == label


def test_an_element_is_read_and_awaited(phone: AdbdPhone) -> None:
    assert drive(phone, "read", "--text", "Display")["text"] == "Display"
    drive(phone, "wait", "--text", "Display")
    assert phone.calls("input") == []


def test_a_wait_ends_when_the_element_appears(phone: AdbdPhone) -> None:
    phone.doubles.answer(
        "uiautomator", dumped(screen(node("Other", bounds="[0,0][9,9]"))), dumped(LIST), when="dump *"
    )
    drive(phone, "wait", "--text", "Display", "--timeout", "10000")


def test_a_screenshot_is_the_picture(phone: AdbdPhone, tmp_path: Path) -> None:
    phone.doubles.answer("screencap", Reply(png(300, 500)))
    drive(phone, "screenshot", "--path", str(tmp_path / "screen.png"))
    assert (tmp_path / "screen.png").read_bytes() == png(300, 500)
    assert "-p" in phone.calls("screencap")[0]


def test_a_warning_is_no_part_of_a_screenshot(phone: AdbdPhone, tmp_path: Path) -> None:
    phone.doubles.answer("screencap", Reply(png(300, 500), "[Warning] Multiple displays were found\n"))
    drive(phone, "screenshot", "--path", str(tmp_path / "screen.png"))
    assert (tmp_path / "screen.png").read_bytes() == png(300, 500)


def test_half_a_picture_is_not_a_screenshot(own: AdbdPhone, tmp_path: Path) -> None:
    half, started = own.doubles.folder / "half", own.doubles.folder / "started"
    half.write_bytes(png(300, 500)[:-100])
    own.doubles.script("screencap", f"/usr/bin/cat {half}; : >{started}; /usr/bin/sleep {NEVER_SECONDS}")
    path = tmp_path / "screen.png"

    def stop() -> None:
        wait_until(started.exists)
        own.adbd.stop()

    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(stop)
        ran = own.run("screenshot", "--path", str(path), "--backend", "adb")
        stopped.result()
    assert ran.code == 1
    # The code depends on whether adb has noticed the loss of the device yet.
    assert ran.json["envelope"]["errorCode"] in ("DEVICE_SHELL_UNAVAILABLE", "DEVICE_OFFLINE", "DEVICE_NOT_FOUND")
    assert not path.exists()


# Touch and keys


@pytest.mark.parametrize(
    ("argv", "sent"),
    [
        (["click", "--text", "Display"], [["tap", "540", "600"]]),
        (["click", "--coordinate", "10", "20"], [["tap", "10", "20"]]),
        (
            ["click", "--text", "Display", "--long", "--duration", "900"],
            [["swipe", "540", "600", "540", "600", "900"]],
        ),
        (["double-tap", "--text", "Display"], [["tap", "540", "600"]] * 2),
        (["swipe", "up"], [["swipe", "540", "1920", "540", "480", "300"]]),
        (["swipe", "--from", "1", "2", "--to", "30", "40"], [["swipe", "1", "2", "30", "40", "300"]]),
        (["press", "back"], [["keyevent", "4"]]),
        (["press", "home"], [["keyevent", "3"]]),
        (["press", "enter"], [["keyevent", "66"]]),
    ],
)
def test_input_gets(argv: Sequence[str], sent: list[list[str]], phone: AdbdPhone) -> None:
    drive(phone, *argv)
    assert phone.calls("input") == sent


def test_a_scroll_is_a_swipe_inside_its_container(phone: AdbdPhone) -> None:
    show_after(phone.doubles, "swipe", LIST, LIST.replace("Display", "Sound"))
    drive(phone, "scroll", "down")
    ((verb, *numbers),) = phone.calls("input")
    start_x, start_y, end_x, end_y, _ = map(int, numbers)
    assert verb == "swipe"
    assert start_x == end_x
    assert 2200 > start_y > end_y > 200


# Text


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("hello", ["hello"]),
        ("two  words", ["two%s%swords"]),
        ('it\'s "so"', ['it\'s%s"so"']),
        ("100%s of %d", ["100%", "s%sof%s%d"]),
        ("$HOME ${IFS} $(id) `id`", ["$HOME%s${IFS}%s$(id)%s`id`"]),
        ("a\\n;b & c | d > e < f", ["a\\n;b%s&%sc%s|%sd%s>%se%s<%sf"]),
        ("*?[a-z]{1,2}~!#^", ["*?[a-z]{1,2}~!#^"]),
        ("-d 1 --help", ["-d%s1%s--help"]),
    ],
)
def test_a_text_is_typed_as_given(text: str, sent: list[str], phone: AdbdPhone) -> None:
    show_after(phone.doubles, "text", field("", focused=True), field(text, focused=True))
    drive(phone, "type", f"--text={text}", "--id", FIELD)
    assert [call for call in phone.calls("input") if call[0] == "text"] == [["text", piece] for piece in sent]


def test_a_field_without_the_focus_is_tapped_before_it_is_typed_into(phone: AdbdPhone) -> None:
    show_after(phone.doubles, "tap", field("", focused=False), field("hello", focused=True))
    drive(phone, "type", "hello", "--id", FIELD)
    calls = phone.calls("input")
    assert calls[0] == ["tap", "540", "160"]
    assert calls[-1] == ["text", "hello"]


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("text", ["a\nb", "a\tb", "\x1b[2J"])
def test_control_characters_are_not_typed(text: str, phone: AdbdPhone) -> None:
    phone.doubles.answer("uiautomator", dumped(field("", focused=True)), when="dump *")
    ran = phone.run("type", "--text", text, "--id", FIELD, "--backend", "adb")
    assert ran.code == 1
    assert "TEXT_NOT_ACCEPTED" in ran.out.decode()
    assert [call for call in phone.calls("input") if call[0] == "text"] == []


# Apps


def test_an_app_is_opened_by_its_launcher_activity(phone: AdbdPhone) -> None:
    drive(phone, "open", SETTINGS)
    (start,) = [call for call in phone.calls("am") if call[0] == "start"]
    assert start[-2:] == ["-n", f"{SETTINGS}/.Settings"]
    assert [call[-1] for call in phone.calls("cmd")] == [SETTINGS]


def test_a_link_arrives_as_it_is(phone: AdbdPhone) -> None:
    drive(phone, "open", LINK)
    assert [call for call in phone.calls("am") if call[0] == "start"] == [
        ["start", "-a", "android.intent.action.VIEW", "-d", LINK]
    ]


def test_extras_of_an_activity_arrive_as_they_are(phone: AdbdPhone) -> None:
    extra = "it's $HOME\n`id`"
    drive(phone, "start-activity", f"{SETTINGS}/.Settings", "--extra-string", f"note={extra}", "--extra", "n=7")
    (start,) = [call for call in phone.calls("am") if call[0] == "start"]
    assert sorted([start[i : i + 3] for i in (3, 6)]) == [["--ei", "n", "7"], ["--es", "note", extra]]


def test_an_app_is_closed(phone: AdbdPhone) -> None:
    drive(phone, "close", SETTINGS)
    assert [call for call in phone.calls("am") if call[0] == "force-stop"] == [["force-stop", SETTINGS]]


def test_a_permission_is_granted(phone: AdbdPhone) -> None:
    phone.doubles.answer("pm", "", when="grant *")
    drive(phone, "grant", SETTINGS, "android.permission.CAMERA")
    assert ["grant", SETTINGS, "android.permission.CAMERA"] in phone.calls("pm")


def test_packages_are_listed(phone: AdbdPhone) -> None:
    assert phone.run("packages", "list").json == {"packages": [SETTINGS, LAUNCHER]}


# The device


def test_the_device_is_listed(phone: AdbdPhone) -> None:
    assert phone.run("devices").json == {"devices": [{"serial": phone.adbd.serial, "state": "device"}]}


def test_doctor_checks_the_device(phone: AdbdPhone) -> None:
    report = phone.run("doctor").json
    checks = {check["id"]: check for check in report["checks"]}
    for name in ("host.adb.presence", "host.adb.server", "device.discovery", "device.capability"):
        assert checks[name]["status"] == "pass", checks[name]
    assert checks["readiness.apk.presence"]["status"] == "warn"
    assert (report["ok"], report["backend"]) == (True, "adb")


def test_several_actions_run_in_their_order(own: AdbdPhone) -> None:
    actions = [
        {"id": "a", "type": "press_key", "params": {"key": "home"}},
        {"id": "b", "type": "open_app", "params": {"applicationId": SETTINGS}},
        {"id": "c", "type": "click", "params": {"matcher": {"textEquals": "Display"}}},
    ]
    execution = {
        "commandId": "c1",
        "taskId": "t1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 20_000,
        "actions": actions,
    }
    ran = own.run("exec", json.dumps(execution), "--backend", "adb")
    assert ran.code == 0, ran
    kept = [
        call[:2] for call in own.doubles.calls() if call[0] in ("input", "am") and call[1] != "get-current-user"
    ]
    assert kept == [["input", "keyevent"], ["am", "start"], ["input", "tap"]]
