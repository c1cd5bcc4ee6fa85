"""Thread-safe decoding of JSON into typed values, and lenient reading of JSON of other programs.

msgspec analyses a Struct on its first use. Two threads that do this at the same time crash the interpreter, so the
first use of each type is serialised.
"""

import re
from _thread import allocate_lock
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec
from msgspec import UNSET, UnsetType

from clawperator._base.text import encodable

T = TypeVar("T")

_lock = allocate_lock()
_known: set[Any] = {Any}


def _first_alone(read: Callable[[], T], type_: Any) -> T:
    """The first use of a type while no other thread uses one for the first time."""
    if type_ in _known:
        return read()
    with _lock:
        try:
            return read()
        finally:
            _known.add(type_)


def convert(value: Any, type_: type[T]) -> T:
    """``msgspec.convert``."""
    return _first_alone(lambda: msgspec.convert(value, type_), type_)


@overload
def decode(data: bytes | str) -> Any: ...
@overload
def decode(data: bytes | str, type_: type[T]) -> T: ...
def decode(data: bytes | str, type_: Any = Any) -> Any:
    """Decode JSON from any source. ``ValueError`` with the reason is the only exception.

    A text may hold bytes of an argument that are not UTF-8.
    """
    try:
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        return _first_alone(lambda: msgspec.json.decode(data, type=type_), type_)
    except UnicodeError:
        raise ValueError("it is not valid UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def given(value: T | UnsetType) -> T | None:
    """The value of a field; None when it is not given."""
    return None if value is UNSET else value


def compact_json(value: Any) -> str:
    """Any value as JSON on one line; what JSON cannot hold as text. Never raises."""
    try:
        return msgspec.json.encode(encodable(value), enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        return str(encodable(repr(value)))


def encode_document(document: Any) -> bytes:
    """``msgspec.json.encode``, also with a file name or an argument that is not text."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(encodable(msgspec.to_builtins(document)))


# Lenient reading of JSON written by other programs: every failure is a ``ValueError``, and memory is limited

# Many empty objects take fifty times their length in memory.
_MOST_VALUES = 500_000
_STRING = rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"'  # compiled when it is first used


def read_json(data: bytes | str) -> Any:
    """Decode JSON. A lone surrogate, which JavaScript writes when it cuts a text, becomes U+FFFD."""
    try:
        return encodable(read_raw_json(data))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_raw_json(data: bytes | str) -> Any:
    """Decode JSON and keep lone surrogates: the other half may be in the next piece of a stream."""
    import json

    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _value_count(raw) > _MOST_VALUES and _value_count(re.sub(_STRING, b'""', raw)) > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES} values")
    try:
        return json.loads(data, parse_constant=_reject, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _value_count(data: bytes) -> int:
    """At least the number of values; commas and brackets in strings count, too."""
    return data.count(b",") + data.count(b"{") + data.count(b"[")


def _reject(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        _reject(text[:40])
    return number
