"""Text rules of the contract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.text import (
    compile_pattern,
    distance,
    is_blank,
    nearest,
    printable,
    read_number,
    trim,
    utf16_length,
    whole,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        (" 5.0 ", 5),
        ("0.5", 0.5),
        ("1e3", 1000),
        ("0x10", 16),
        ("0b11", 3),
        ("0o17", 15),
        ("-7", -7),
        ("+7", 7),
        (".5", 0.5),
        ("", None),
        ("soon", None),
        ("1_000", None),
        ("nan", None),
        ("Infinity", None),
        ("1e999", None),
        ("0x", None),
        ("5 6", None),
    ],
)
def test_numbers_of_a_command_line(text: str, number: float | None) -> None:
    got = read_number(text)
    assert got == number
    assert type(got) is type(number)


def test_trimming_takes_what_is_white_anywhere_and_the_byte_order_mark() -> None:
    assert trim("\ufeff \u00a0\u2003\t x y \u2028\n") == "x y"
    assert is_blank("\u3000\ufeff")
    assert not is_blank("\u200b")


def test_lengths_are_those_a_phone_counts() -> None:
    assert [utf16_length(text) for text in ("", "abc", "é", "語", "😀", "a😀")] == [0, 3, 1, 1, 2, 3]


def test_an_empty_fraction_goes_and_all_else_stays() -> None:
    assert [repr(whole(n)) for n in (1.0, -0.0, 1.5, 7, 1e20, 1e21)] == [
        "1",
        "0",
        "1.5",
        "7",
        str(10**20),
        "1e+21",
    ]


def test_what_moves_a_cursor_is_escaped_and_letters_of_all_languages_stay() -> None:
    assert printable("naïve 語 😀") == "naïve 語 😀"
    assert printable("a\x1b[2J\u202e\n\x7f") == "a\\x1b[2J\\u202e\\n\\x7f"


@pytest.mark.parametrize(
    "pattern", [r"(?<year>\d{4})", r"(?P<year>\d{4})", r"(?<!a)b", r"(?<=a)b", "[[a]", r"a++"]
)
def test_patterns_are_taken_as_phones_and_python_write_them(pattern: str) -> None:
    assert compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "*", "\\", "(" * 5_000, "(?<a>"])
def test_an_invalid_pattern_is_a_value_error(pattern: str) -> None:
    with pytest.raises(ValueError):
        compile_pattern(pattern)


def test_the_nearest_name_is_the_first_of_the_closest() -> None:
    assert nearest("clik", ["close", "click", "slick"], 2) == "click"
    assert nearest("clik", ["abcdef"], 2) is None


@pytest.mark.random
@given(a=st.text(max_size=8), b=st.text(max_size=8))
def test_distance_is_a_distance(a: str, b: str) -> None:
    assert distance(a, b) == distance(b, a) <= max(len(a), len(b))
    assert (distance(a, b) == 0) == (a == b)


@pytest.mark.parametrize("text", ["0x" + "f" * 5_000, "0b" + "1" * 20_000, "9" * 5_000, "1e999"])
def test_a_number_beyond_the_range_of_json_is_none(text: str) -> None:
    assert read_number(text) is None


def test_a_large_hexadecimal_number_is_rounded_as_in_javascript() -> None:
    assert read_number("0xffffffffffffffffff") == float(0xFFFFFFFFFFFFFFFFFF)
