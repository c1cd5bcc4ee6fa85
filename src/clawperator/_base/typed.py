"""Thread-safe decoding of JSON into typed values.

msgspec analyses a Struct on its first use. Two threads that do this at the same time crash the interpreter, so the
first use of each type is serialised.
"""

from _thread import allocate_lock
from typing import Any, TypeVar, overload

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
        if type_ is Any or type_ in _known:
            return msgspec.json.decode(data, type=type_)
        with _lock:
            try:
                return msgspec.json.decode(data, type=type_)
            finally:
                _known.add(type_)
    except UnicodeError:
        raise ValueError("it is not valid UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
