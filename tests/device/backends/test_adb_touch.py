"""Touch, keys and text over plain adb: the commands sent, and when nothing is sent."""

from collections.abc import Callable

import pytest

from clawperator.device.adb.client import ShellAnswer
from clawperator.device.backends.adb import AdbDriver
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy
from tests.device.backends.scripted_shell import ScriptedShell, SlowShell, StillClock, connect, reply, xml

SIZE = reply("Physical size: 100x200\n")
REFUSED = reply("Error: Invalid arguments\n")


def refusal(call: Callable[[], object]) -> ClawError:
    with pytest.raises(ClawError) as error:
        call()
    return error.value


def field(text: str = "", more: str = 'focused="true"') -> Node:
    return parse_hierarchy(xml(f'text="{text}" {more}')).nodes[0]


# Touch


@pytest.mark.parametrize(
    ("touch", "line"),
    [
        (lambda driver: driver.tap(99, 199, 200), "input tap 99 199"),
        (lambda driver: driver.tap(3, 4, 201), "input swipe 3 4 3 4 201"),
        (lambda driver: driver.swipe((1, 2), (3, 4), 5), "input swipe 1 2 3 4 5"),
        (lambda driver: driver.drag((1, 2), (3, 4), 5), "input draganddrop 1 2 3 4 5"),
        (lambda driver: driver.double_tap(3, 4), "{ input tap 3 4 & sleep 0.1; input tap 3 4; wait; }"),
        (lambda driver: driver.key("back"), "input keyevent 4"),
        (lambda driver: driver.submit(field()), "input keyevent 66"),
    ],
)
def test_a_touch_or_key_is_one_command(
    monkeypatch: pytest.MonkeyPatch, touch: Callable[[AdbDriver], bool], line: str
) -> None:
    phone = ScriptedShell(wm=SIZE)
    assert touch(connect(monkeypatch, phone)) is True
    assert phone.named("input") == [line]
    for answer in (REFUSED, reply(code=1), reply("Error\n", code=1)):
        assert touch(connect(monkeypatch, ScriptedShell(wm=SIZE, input=answer))) is False


@pytest.mark.parametrize(
    "touch",
    [
        lambda driver: driver.tap(100, 0, 0),
        lambda driver: driver.tap(0, 200, 900),
        lambda driver: driver.swipe((1, 2), (100, 4), 5),
        lambda driver: driver.swipe((1, 200), (3, 4), 5),
        lambda driver: driver.drag((1, 2), (3, 200), 5),
        lambda driver: driver.double_tap(100, 4),
    ],
)
def test_nothing_beyond_the_display_is_touched(
    monkeypatch: pytest.MonkeyPatch, touch: Callable[[AdbDriver], bool]
) -> None:
    phone = ScriptedShell(wm=SIZE)
    assert touch(connect(monkeypatch, phone)) is False
    assert phone.named("input") == []


# Typing


def batches(phone: ScriptedShell) -> list[int]:
    """How many keys each command presses."""
    return [len(script.split(" && ")[0].split()) - 2 for script in phone.named("keyevent")]


@pytest.mark.parametrize(
    ("length", "each", "sizes"),
    [
        (49, 0.0, [99]),
        (50, 0.0, [100, 1]),
        (1_000, 0.0, [100, 1_000, 901]),
        (250, 2.5, [100, 200, 201]),
        (150, 500 / 201.5, [100, 201]),
        (60, 30.0, [100, 16, 2, 1, 1, 1]),
    ],
    ids=["one command", "one key more", "a fast device", "a slow device", "exactly two", "a very slow device"],
)
def test_keys_are_sent_in_batches_of_five_seconds(
    monkeypatch: pytest.MonkeyPatch, length: int, each: float, sizes: list[int]
) -> None:
    phone = SlowShell(StillClock(monkeypatch), each)
    assert connect(monkeypatch, phone, seconds=10_000.0).type_keys(field("x" * length), "new") is True
    assert batches(phone) == sizes
    assert phone.asked[-1].endswith(" && input text new")
    assert sum(script.count("input text") for script in phone.asked) == 1


@pytest.mark.parametrize(
    ("length", "seconds", "sent"), [(250, 7.4, "100 of 501"), (50, 2.5, "100 of 101"), (250, 7.5, "300 of 501")]
)
def test_without_the_time_to_delete_the_old_text_nothing_is_typed(
    monkeypatch: pytest.MonkeyPatch, length: int, seconds: float, sent: str
) -> None:
    phone = SlowShell(StillClock(monkeypatch), 2.5)
    driver = connect(monkeypatch, phone, seconds=seconds)
    error = refusal(lambda: driver.type_keys(field("x" * length), "new"))
    assert (error.code, sent in error.message) == ("TEXT_NOT_ACCEPTED", True)
    assert phone.named("input text") == []


@pytest.mark.parametrize("length", [3, 50])
def test_keys_that_are_refused_type_nothing(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    phone = ScriptedShell(input=REFUSED)
    driver = connect(monkeypatch, phone)
    error = refusal(lambda: driver.type_keys(field("x" * length), "new"))
    assert (error.code, error.message) == ("TEXT_NOT_ACCEPTED", "the device did not type the text")
    assert len(phone.asked) == 1


@pytest.mark.parametrize(
    ("old", "new", "options", "lines"),
    [
        ("", "new", {}, ["input text new"]),
        ("ab", "", {}, ["input keyevent 123 67 67"]),
        ("ab", "new", {"append": True}, ["input keyevent 123 && input text new"]),
        ("ab", "c", {}, ["input keyevent 123 67 67 && input text c"]),
        ("", "c", {"append": True}, ["input text c"]),
        ("x" * 450, "c", {"append": True}, ["input keyevent 93 93 93 123 && input text c"]),
        ("a\nb", "c", {"append": True}, ["input keyevent 93 123 && input text c"]),
        ("", "é", {}, ["input text 'é'"]),
        ("ab", "né", {"append": True}, ["input keyevent 123 && input text 'né'"]),
        ("ab", "née", {}, ["input text 'é'", "input keyevent 123 67 67 67 && input text 'née'"]),
        ("", "", {}, []),
    ],
)
def test_a_text_replaces_the_one_of_the_field(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, options: dict[str, bool], lines: list[str]
) -> None:
    phone = ScriptedShell()
    assert connect(monkeypatch, phone).type_keys(field(old), new, **options) is True
    assert phone.asked == lines


@pytest.mark.parametrize("method", ["type_keys", "set_text"])
def test_a_line_break_is_refused_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    phone = ScriptedShell()
    typing = getattr(connect(monkeypatch, phone), method)
    assert refusal(lambda: typing(field(more=""), "a\nb")).code == "TEXT_NOT_ACCEPTED"
    assert phone.asked == []


# Fields

BUTTON = '<node class="android.widget.Button" bounds="[0,0][10,10]" focused="true"/>'


def dump(*fields: str, more: str = "") -> ShellAnswer:
    return reply("Physical size: 100x200\n" + xml(*fields).replace("</hierarchy>", f"{more}</hierarchy>"))


def typed(
    monkeypatch: pytest.MonkeyPatch, node: Node, *dumps: ShellAnswer, **rules: ShellAnswer
) -> tuple[bool, list[str]]:
    """Whether a field takes a text, and the commands of input."""
    phone = ScriptedShell(uiautomator=list(dumps), **rules)
    return connect(monkeypatch, phone).set_text(node, "new"), phone.named("input")


def test_a_field_that_has_the_focus_by_now_is_not_tapped(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = dump('focused="true"'), dump('focused="true" text="new"')
    assert typed(monkeypatch, field(more=""), *shown) == (True, ["input text new"])


def test_a_field_without_the_focus_is_tapped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = dump('text="ab"'), dump('text="ab" focused="true"'), dump('focused="true" text="new"')
    lines = ["input tap 5 5", "input keyevent 123 67 67 && input text new"]
    assert typed(monkeypatch, field("ab", more=""), *shown) == (True, lines)


@pytest.mark.parametrize(
    ("node", "shown", "rules", "lines"),
    [
        (field(more=""), dump(""), {}, ["input tap 5 5"]),
        (field(more=""), dump(""), {"input": REFUSED}, ["input tap 5 5"]),
        (field(more=""), dump(more=BUTTON), {}, []),
        (
            parse_hierarchy(f"<hierarchy>{BUTTON.replace('true', 'false')}</hierarchy>").nodes[0],
            dump(more=BUTTON.replace("true", "false")),
            {},
            [],
        ),
    ],
    ids=["no focus", "tap refused", "gone", "no field"],
)
def test_nothing_is_typed_without_the_focus(
    monkeypatch: pytest.MonkeyPatch,
    node: Node,
    shown: ShellAnswer,
    rules: dict[str, ShellAnswer],
    lines: list[str],
) -> None:
    assert typed(monkeypatch, node, shown, **rules) == (False, lines)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (dump('text="ab" resource-id="a"'), True),
        (dump('resource-id="other" focused="true"'), True),
        (dump('resource-id="other"'), False),
        (dump('resource-id="other"', more=BUTTON), False),
    ],
    ids=["the field", "another field with the focus", "another field", "a focused button"],
)
def test_a_field_is_found_again_or_the_one_that_has_the_focus(
    monkeypatch: pytest.MonkeyPatch, shown: ShellAnswer, *, found: bool
) -> None:
    driver = connect(monkeypatch, ScriptedShell(uiautomator=shown))
    seen = driver.field_after(field(more='resource-id="a"'), driver.dump())
    assert (seen is not None and seen.class_name == "android.widget.EditText") is found


def test_a_field_that_is_gone_did_not_take_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = dump(more=BUTTON)
    error = refusal(lambda: typed(monkeypatch, field(), shown))
    assert (error.code, error.after_effect) == ("TEXT_NOT_ACCEPTED", True)


def test_a_field_is_emptied_again_after_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    node, other = field("old"), field("one")
    phone = ScriptedShell(uiautomator=dump('focused="true" text="new"'))
    driver = connect(monkeypatch, phone)
    assert driver.set_text(node, "")
    assert driver.set_text(other, "new")
    assert driver.set_text(node, "new")
    assert phone.named("input") == [
        "input keyevent 123 67 67 67",
        "input keyevent 123 67 67 67 && input text new",
        "input keyevent 123 67 67 67 && input text new",
    ]
