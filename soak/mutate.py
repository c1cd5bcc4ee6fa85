"""Mutations of inputs: of bytes, and of JSON values."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

_BYTES = (
    *(b"", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\n\n", b"\t", b" "),
    *(b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"<", b">", b"&", b"'", b"/", b"..", b"*", b"(", b")"),
    *(b"null", b"true", b"-1", b"0", b"1e999", b"NaN", b"-0.0", b"18446744073709551616", b"9" * 400, b"9" * 5_000),
    *(b"\\ud800", b"\\u0000", b"&#0;", b"<![CDATA[", b"<!DOCTYPE x>", b"\xe2\x80\xae", b"A" * 300, b"[" * 2_000),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e308, 1e-9),
    *("", " ", "a", "\0", "\x1b[2J", "\u202e", "\ud83d", "é", "x" * 5_000, "../../etc", "{{NAME}}", "*", "(", "1"),
    *([], {}, [[]], [{}], [None], {"": None}, {"id": 1}),
)


def mutated(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A mutation of an input: of its JSON where it has some, otherwise of its bytes."""
    if random.random() < 0.5:
        changed = _mutated_json(random, data)
        if changed is not None:
            return changed
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = random.choice(_BYTE_MUTATIONS)(random, data, others)
    return data


def _spot(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.choice((0, 1, 1, 2, 4, 16, 64, 1_000)))


def _replace(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _spot(random, data)
    return data[:start] + random.choice(_BYTES) + data[end:]


def _flip(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _duplicate(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _spot(random, data)
    return data[:end] + data[start:end] * random.choice((1, 1, 2, 50)) + data[end:]


def _truncate(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: random.randint(0, len(data))]


def _splice(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = random.choice(others)
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def _swap_lines(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


_BYTE_MUTATIONS: tuple[Callable[[Random, bytes, Sequence[bytes]], bytes], ...] = (
    _replace,
    _replace,
    _flip,
    _duplicate,
    _truncate,
    _splice,
    _swap_lines,
)


def _mutated_json(random: Random, data: bytes) -> bytes | None:
    """The input with a changed JSON value: the whole of it, or one of its lines. None when there is no JSON."""
    start, end = 0, len(data)
    if data[:1] not in b"{[" or b"\n{" in data:  # lines of JSON, perhaps behind a prefix such as ``data: ``
        lines = data.split(b"\n")
        number = random.randrange(len(lines))
        start = sum(len(line) + 1 for line in lines[:number])
        end = start + len(lines[number])
        start += max(0, lines[number].find(b"{"))
    try:
        value = json.loads(data[start:end])
    except (ValueError, RecursionError):
        return None
    for _ in range(random.choice((1, 1, 2))):
        value = mutated_value(random, value)
    return data[:start] + json.dumps(value).encode() + data[end:]


def mutated_value(random: Random, value: Any) -> Any:
    """A JSON value with one change somewhere in it."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        match random.randrange(6):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return {**value, str(odd_value(random))[:40]: value[key]}
            case _:
                return {**value, key: mutated_value(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.85:
        i = random.randrange(len(value))
        match random.randrange(5):
            case 0:
                return value[:i] + value[i + 1 :]
            case 1:
                return [*value[:i], value[i], value[i], *value[i + 1 :]]
            case _:
                return [*value[:i], mutated_value(random, value[i]), *value[i + 1 :]]
    if isinstance(value, str) and value and random.random() < 0.5:
        i = random.randrange(len(value))
        return value[:i] + random.choice(("", "x", "\0", " ", "é", "/", "..", "{", "\n")) + value[i + 1 :]
    return odd_value(random)


def odd_value(random: Random) -> Any:
    return random.choice(_VALUES)
