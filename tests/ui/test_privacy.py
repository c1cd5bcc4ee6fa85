"""Masking of secrets in texts and documents."""

from typing import Any

import pytest
from msgspec import Struct

from clawperator.ui.privacy import mask


@pytest.mark.parametrize(
    ("secret", "text", "left"),
    [
        ("hunter2", "is hunter2.", "is ••••."),
        ("hunter2", "xhunter2x", "x••••x"),
        ('a"b<c', r'"a\"b<c" a&quot;b&lt;c', '"••••" ••••'),
        ("12", "12", "••••"),
        ("12", 'text="12" content-desc="12" index="12"', 'text="••••" content-desc="••••" index="12"'),
        ("12", 'e4 textfield "12"', 'e4 textfield "••••"'),
        ("12", r'{"label":"12","n":12} {\"label\":\"12\"}', r'{"label":"••••","n":12} {\"label\":\"••••\"}'),
        ("12", "after 12 s, 12.5 and 2012", "after 12 s, 12.5 and 2012"),
        ("x" * 100, "label " + "x" * 79 + "… end", "label •••• end"),
        ("   ", "a   b", "a   b"),
        ("hunter2&b/e !", "?q=hunter2%26b%2Fe%20!&r=1", "?q=••••&r=1"),
        ("hunter2&b/e !", "?q=hunter2%26b%2Fe+%21 /hunter2%26b/e%20%21", "?q=•••• /••••"),
        ("a&b", "a%26b and a%26bc", "a%26b and a%26bc"),
        ("a&b", "a%26b", "••••"),
    ],
)
def test_a_secret_is_masked_anywhere_and_a_short_one_where_it_is_a_whole_value(
    secret: str, text: str, left: str
) -> None:
    assert mask(text, [secret]) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("hunter2&blu", "••••"),
        ("unter2&blue", "••••"),
        ("Hunter2&blue", "••••"),
        ("hunter2&BLUE", "••••"),
        ("hunter2&", "••••"),
        ("hunter2", "hunter2"),
        ("er2&blue", "••••"),
        ("r2&blue", "r2&blue"),
        ("hunter2&b and more", "hunter2&b and more"),
        ('<node text="hunter2&amp;bl" content-desc="" />', '<node text="••••" content-desc="" />'),
        ('e4 textfield "unter2&blue" focused', 'e4 textfield "••••" focused'),
        (r'{"text":"hunter2&blu","n":1} {\"text\":\"ter2&blue\"}', r'{"text":"••••","n":1} {\"text\":\"••••\"}'),
    ],
)
def test_a_value_that_is_most_of_a_secret_is_masked(text: str, left: str) -> None:
    assert mask(text, ["hunter2&blue"]) == left


def test_blanks_are_no_part_of_a_secret() -> None:
    assert mask(["      ", "x      "], ["        ", "a       "]) == ["      ", "x      "]


def test_what_is_left_of_a_very_short_secret_is_shown() -> None:
    assert mask(["1234", "12345", "x1234", "123", "2345"], ["12345"]) == ["••••", "••••", "x1234", "123", "••••"]
    assert mask(["123", "1234", "234"], ["1234"]) == ["123", "••••", "234"]


class Pair(Struct, frozen=True):
    name: str
    values: list[Any]


def test_a_document_keeps_its_types_names_and_numbers() -> None:
    given = {"hunter2": Pair("hunter2", ["a hunter2", 7, None, True]), "effect": "hunter2", "at": ("hunter2", 1)}
    masked = mask(given, ["hunter2"])
    assert masked == {"hunter2": Pair("••••", ["a ••••", 7, None, True]), "effect": "hunter2", "at": ["••••", 1]}
    assert given["effect"] == "hunter2"
    assert given["hunter2"] == Pair("hunter2", ["a hunter2", 7, None, True]), "the original is untouched"
    assert mask(given, []) is given


def test_a_document_may_be_nested_to_any_depth() -> None:
    deep: Any = "hunter2"
    for _ in range(100_000):
        deep = [deep]
    masked = mask(deep, ["hunter2"])
    while isinstance(masked, list):
        (masked,) = masked
    assert masked == "••••"
    while isinstance(deep, list):  # freeing it at once would recurse
        (deep,) = deep
