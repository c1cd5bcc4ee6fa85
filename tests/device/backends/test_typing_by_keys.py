"""Typing over plain adb: what the field makes of it, long texts, and characters without a key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.device.backends import adb_touch
from clawperator.device.backends.backend import RunWatch
from clawperator.device.run.secrets import SecretReader
from clawperator.errors import ClawError
from tests.device.backends.doubles_bench import FIELD, DoublesBench, doubles_bench, field_screen
from tests.support.command_doubles import Reply
from tests.support.ordinary_phone import node

NO_KEY = (
    "Exception occurred while executing 'text':\njava.lang.NullPointerException: Attempt to get length of null "
    "array\n\tat com.android.server.input.InputShellCommand.sendText\n"
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DoublesBench]:
    with doubles_bench(tmp_path) as made:
        yield made


@pytest.mark.parametrize("shown", ["Hello", "hell", "hello!x"])
def test_a_field_that_changes_the_text_gets_it_once(bench: DoublesBench, shown: str) -> None:
    bench.shows(field_screen("", focused=True), field_screen(shown, focused=True))
    step = bench.step("enter_text", matcher=FIELD, text="hello")
    assert (step.data["error"], step.data["field_text"]) == ("TEXT_NOT_ACCEPTED", shown)
    assert bench.lines("input") == ["input text hello"]


def test_a_field_that_formats_the_text_has_it(bench: DoublesBench) -> None:
    bench.shows(field_screen("", focused=True), field_screen("(555) 12", focused=True))
    assert bench.data("enter_text", matcher=FIELD, text="55512")["text"] == "55512"


def test_a_secret_in_another_form_is_not_shown(bench: DoublesBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    bench.watch = RunWatch(secrets=SecretReader(bench.device.serial))
    bench.shows(field_screen("", focused=True), field_screen("Hunter2", focused=True))
    step = bench.step("enter_text", matcher=FIELD, textFrom={"env": "SHOP_PASSWORD"})
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "unter2" not in str(step.data)


def test_a_text_with_a_character_that_has_no_key_is_typed_once(bench: DoublesBench) -> None:
    bench.shows(field_screen("", focused=True))
    bench.doubles.answer("input", Reply(stderr=NO_KEY, code=255), when="text *")
    step = bench.step("enter_text", matcher=FIELD, text="héllo")
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "ASCII" in step.data["message"]
    assert "operator" in step.data["hint"]
    assert len(bench.lines("input")) == 1


@pytest.mark.parametrize("append", [True, False])
def test_a_text_without_keys_leaves_what_the_field_has(bench: DoublesBench, append: bool) -> None:  # noqa: FBT001
    """As phones do that have keys for ASCII only."""
    bench.shows(field_screen("my draft", focused=True))
    bench.doubles.answer("input", Reply(stderr=NO_KEY, code=255), when="text *é*")
    step = bench.step("enter_text", matcher=FIELD, text="héllo", append=append)
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "nothing was typed" in step.data["message"]
    assert step.data["message"].endswith("the field has the same text as before")
    assert not [line for line in bench.lines("input") if " 67" in line]


def test_a_text_is_added_with_its_own_keys_only(bench: DoublesBench) -> None:
    """What the field has may be a text that this device could not type."""
    bench.shows(field_screen("my draft é", focused=True), field_screen("my draft é!", focused=True))
    bench.doubles.answer("input", Reply(stderr=NO_KEY, code=255), when="text *é*")
    assert bench.data("enter_text", matcher=FIELD, text="!", append=True)["append"] == "true"
    assert bench.lines("input") == ["input keyevent 123", "input text !"]


def test_a_hint_that_looks_like_a_text_is_gone_after_adding(bench: DoublesBench) -> None:
    bench.shows(field_screen("Search settings", focused=True), field_screen("wifi", focused=True))
    assert bench.data("enter_text", matcher=FIELD, text="wifi", append=True)["text"] == "wifi"


@pytest.mark.parametrize(
    ("now", "stated"),
    [
        ("my draft", "the field has the same text as before"),
        ("", "the field is empty now"),
        ("my dr", "the field has 'my dr' now"),
    ],
)
def test_a_device_that_stops_typing_is_asked_what_the_field_has(
    bench: DoublesBench, now: str, stated: str
) -> None:
    bench.shows(field_screen("my draft", focused=True), field_screen(now, focused=True))
    bench.doubles.answer("input", Reply(stderr="Error: broken", code=1), when="text *")
    step = bench.step("enter_text", matcher=FIELD, text="new")
    assert step.data["message"] == f"the device did not type the text; {stated}"


def test_what_a_password_field_has_after_a_failure_is_not_stated(bench: DoublesBench) -> None:
    bench.shows(
        field_screen("••••", focused=True, password=True), field_screen("hunt", focused=True, password=True)
    )
    bench.doubles.answer("input", Reply(stderr="Error: broken", code=1), when="text *")
    step = bench.step("enter_text", matcher=FIELD, text="hunter2")
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "hunt" not in str(step.data)


def test_a_device_that_has_such_keys_types_the_text(bench: DoublesBench) -> None:
    bench.shows(field_screen("", focused=True), field_screen("héllo", focused=True))
    assert bench.data("enter_text", matcher=FIELD, text="héllo")["text"] == "héllo"


def test_a_control_character_is_refused_before_anything_is_typed(bench: DoublesBench) -> None:
    bench.shows(field_screen("", focused=True))
    with pytest.raises(ClawError) as refused:
        bench.step("enter_text", matcher=FIELD, text="a\nb")
    assert (refused.value.code, bench.doubles.calls()) == ("TEXT_NOT_ACCEPTED", [])


def test_nothing_is_typed_while_another_field_has_the_focus(bench: DoublesBench) -> None:
    other = node("keep", bounds="[0,900][1080,990]", more='focused="true"', name="android.widget.EditText")
    bench.shows(field_screen("", more=other))
    step = bench.step("enter_text", matcher=FIELD, text="hello")
    assert (step.data["error"], bench.lines("input")) == ("TEXT_NOT_ACCEPTED", ["input tap 540 160"])
    bench.shows(field_screen("", more=other), field_screen("", focused=True), field_screen("hello", focused=True))
    assert bench.data("enter_text", matcher=FIELD, text="hello")["effect"] == "changed"


def keys(line: str) -> int:
    return len(line.split()) - 2


def test_a_long_text_is_deleted_in_batches_that_the_first_one_sizes(
    bench: DoublesBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adb_touch, "_MAX_KEYS", 300)
    bench.shows(field_screen("x" * 500, focused=True), field_screen("new", focused=True))
    bench.data("enter_text", matcher=FIELD, text="new")
    *deleted, typed = bench.lines("input")
    assert typed == "input text new"
    assert keys(deleted[0]) == 100
    assert all(keys(line) <= 300 for line in deleted)
    assert sum(map(keys, deleted)) == 1 + 2 * 500
    assert bench.requests <= 2 + len(deleted)


def test_deleting_stops_when_the_rest_would_be_cut_off(
    bench: DoublesBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adb_touch, "_BATCH_SECONDS", 1_000.0)
    bench.shows(field_screen("x" * 4_000, focused=True))
    bench.doubles.answer("input", Reply(seconds=1.0), when="keyevent *")
    step = bench.step("enter_text", timeout_ms=8_000, matcher=FIELD, text="new")
    assert step.data["error"] == "TEXT_NOT_ACCEPTED"
    assert "100 of 8001 keys were sent, and nothing was typed" in step.data["message"]
    assert "with a timeout of" in step.data["hint"]
    assert len(bench.lines("input")) == 1


def test_an_even_longer_text_is_not_touched(bench: DoublesBench) -> None:
    bench.shows(field_screen("x" * 5_001, focused=True))
    step = bench.step("enter_text", matcher=FIELD, text="new")
    assert "5001 characters; adb can delete at most 5000" in step.data["message"]
    assert bench.lines("input") == []
