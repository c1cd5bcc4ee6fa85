"""Thread-safe decoding of JSON into typed values.

msgspec analyses a Struct on its first use. Two threads that do this at the same time crash the interpreter, so the
first use of each type is serialised.
"""

from _thread import allocate_lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = allocate_lock()
_known = set[Any]()


def convert(value: Any, type_: type[T]) -> T:
    """``msgspec.convert``."""
    if type_ in _known:
        return msgspec.convert(value, type_)
    with _lock:
        try:
            return msgspec.convert(value, type_)
        finally:
            _known.add(type_)


def decode(data: bytes, type_: type[T]) -> T:
    """``msgspec.json.decode``."""
    if type_ in _known:
        return msgspec.json.decode(data, type=type_)
    with _lock:
        try:
            return msgspec.json.decode(data, type=type_)
        finally:
            _known.add(type_)
