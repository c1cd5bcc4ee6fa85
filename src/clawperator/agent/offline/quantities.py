"""Numbers, times and ordinals as people say them."""

import re

_NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1
    )
}
_ORDINALS = {
    name: number
    for number, name in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 1
    )
}
_TIMES = {"once": 1, "again": 1, "a": 1, "twice": 2, "thrice": 3}
MOST_TIMES = 20


def read_ordinal(word: str) -> int:
    """The place an ordinal means, counted from 1; -1 for the last, 0 when the word is no ordinal."""
    word = word.casefold()
    if word == "last":
        return -1
    found = re.fullmatch(r"(\d{1,3})(?:st|nd|rd|th)", word)
    return int(found[1]) if found and found[1].isascii() else _ORDINALS.get(word, 0)


def read_times(words: str) -> int:
    """How often, from "twice" or "3 times"; 1 when nothing is said, 0 when it is not from 1 to 20."""
    said = words.casefold().split()
    if not said:
        return 1
    if said[0] in _TIMES:
        return _TIMES[said[0]]
    number = int(said[0]) if said[0].isdecimal() and len(said[0]) < 4 else _NUMBERS.get(said[0], 0)
    return number if number <= MOST_TIMES else 0


def read_seconds(number: str, unit: str) -> float:
    """So many seconds; "a moment" is one."""
    said = number.casefold()
    if said == "half a":
        amount = 0.5
    elif said in ("a", "an"):
        amount = 1.0
    else:
        amount = float(_NUMBERS.get(said) or said)
    unit = unit.casefold()
    if unit.startswith(("milli", "ms")):
        return amount / 1000
    return amount * 60 if unit.startswith("min") else amount
