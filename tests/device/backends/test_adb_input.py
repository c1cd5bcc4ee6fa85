"""Typing with ``input``: the commands, and the check afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device.backends.adb_touch import (
    clearing_keys,
    find_again,
    has_text,
    input_line,
    not_accepted,
    not_deleted,
    not_typed,
    typing_lines,
)
from clawperator.device.backends.backend import check_typable
from clawperator.errors import ClawError
from clawperator.ui.node import Node, is_field

EDIT = "android.widget.EditText"


def field(text: str = "", **attributes: str) -> Node:
    return Node({"class": EDIT, "text": text, **attributes})


def typed(argument: str) -> str:
    """What a phone makes of an argument: each ``%`` that an ``s`` follows is gone, and the ``s`` is a space."""
    out: list[str] = []
    for character in argument:
        if character == "s" and out and out[-1] == "%":
            out[-1] = " "
        else:
            out.append(character)
    return "".join(out)


@pytest.mark.random
@given(st.text(st.sampled_from("%s aS5-"), min_size=1, max_size=12))
def test_what_a_phone_types_is_the_text(text: str) -> None:
    import shlex

    lines = [shlex.split(line) for line in typing_lines(text)]
    assert all(words[:2] == ["input", "text"] and len(words) == 3 for words in lines)
    assert not any(" " in words[2] for words in lines)
    assert "".join(typed(words[2]) for words in lines) == text


@pytest.mark.parametrize("text", ["a\nb", "\t", "a\0", "\x7f", "\x1b[A"])
def test_keys_that_do_something_else_are_no_text(text: str) -> None:
    with pytest.raises(ClawError) as e:
        check_typable(text)
    assert (e.value.code, e.value.hint is not None) == ("TEXT_NOT_ACCEPTED", True)


def test_a_field_is_emptied_from_its_end() -> None:
    assert input_line("keyevent", *clearing_keys(field("ab"))) == "input keyevent 123 67 67"
    assert clearing_keys(field("😀")) == ["123", "67", "67"]
    assert clearing_keys(field("x" * 20)) == ["123", *["67"] * 20]


def test_behind_the_cursor_is_deleted_too_where_there_may_be_more_lines() -> None:
    assert clearing_keys(field("a\nb")) == ["123", "67", "67", "67", "112", "112", "112"]
    assert clearing_keys(field("x" * 21)) == ["123", *["67"] * 21, *["112"] * 21]


def test_an_empty_field_and_one_that_shows_its_hint_need_no_emptying() -> None:
    assert clearing_keys(field()) == []
    assert clearing_keys(field("Say it", hint="Say it")) == []


def test_a_text_too_long_to_be_deleted_by_keys_is_refused() -> None:
    assert clearing_keys(field("x" * 5_000)).count("67") == 5_000
    with pytest.raises(ClawError) as e:
        clearing_keys(field("x" * 5_001))
    assert e.value.code == "TEXT_NOT_ACCEPTED"
    assert e.value.message == "the field has 5001 characters; adb can delete at most 5000"


@pytest.mark.parametrize(
    ("shown", "text"), [("abc", "abc"), ("555-1234", "5551234"), ("(555) 12", "55512"), ("1,000.00 ", "1000.00")]
)
def test_an_app_may_put_signs_between_what_is_typed(shown: str, text: str) -> None:
    assert has_text(field(shown), text)


@pytest.mark.parametrize(
    ("shown", "text"), [("", "a"), ("ab", "abc"), ("abcd", "abc"), ("helloworld", "hello world"), ("A", "a")]
)
def test_a_text_that_lost_or_won_something_is_not_held(shown: str, text: str) -> None:
    assert not has_text(field(shown), text)


def test_of_a_password_only_the_length_is_seen() -> None:
    assert has_text(field("•••", password="true"), "abc")
    assert has_text(field("••c", password="true"), "abc")
    assert has_text(field("", password="true"), "abc")
    assert not has_text(field("••", password="true"), "abc")
    assert not has_text(field("•bc", password="true"), "abc")
    assert not has_text(field("Password", password="true"), "12345678")


def screen(*bounds: str) -> list[Node]:
    root = Node({"class": "android.widget.FrameLayout"})
    root.children = [Node({"class": EDIT, "bounds": b}, root) for b in bounds]
    return list(root.walk())


def test_a_field_is_found_again_by_its_place_or_else_by_its_turn() -> None:
    before = screen("[0,0][9,9]", "[0,10][9,19]")
    moved = screen("[0,1][9,10]", "[0,11][9,20]")
    assert find_again(moved, before[2]) is moved[2]
    shifted = screen("[0,10][9,19]", "[0,20][9,29]")
    assert find_again(shifted, before[2]) is shifted[1]
    assert find_again(screen("[0,50][9,59]"), before[2]) is None
    assert find_again([], before[1]) is None


def test_a_view_of_another_class_or_with_another_id_is_not_the_same() -> None:
    top = Node({"class": "x"})
    name = Node({"class": EDIT, "resource-id": "name", "bounds": "[0,0][9,9]"}, top)
    top.children = [name]
    mail = Node({"class": EDIT, "resource-id": "mail", "bounds": "[0,0][9,9]"})
    label = Node({"class": "android.widget.TextView", "resource-id": "name", "bounds": "[0,0][9,9]"})
    assert find_again([mail, label], name) is None
    assert find_again([mail, label, name], name) is name


def test_fields_are_known_by_their_class_or_their_secret() -> None:
    assert is_field(field())
    assert is_field(Node({"class": "x", "password": "true"}))
    assert not is_field(Node({"class": "android.widget.TextView"}))


def test_text_beyond_ascii_is_named_as_the_likely_reason() -> None:
    assert "ASCII" in not_typed("é").message
    assert "ASCII" not in not_typed("e").message
    assert "é" not in str(not_typed("é"))


def test_a_field_that_changed_the_text_is_reported_after_the_effect() -> None:
    error = not_accepted()
    assert (error.code, error.after_effect) == ("TEXT_NOT_ACCEPTED", True)
    assert error.message == "the field does not have the typed text"


def test_a_text_that_there_is_no_time_to_delete_names_the_time_it_takes() -> None:
    error = not_deleted(300, 1_000, 0.01)
    assert "300 of 1000 keys" in error.message
    assert "about 10 s" in error.message
    assert "a timeout of 40000 ms" in error.hint
    assert error.after_effect
