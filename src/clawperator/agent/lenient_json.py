"""Lenient reading of JSON written by other programs: every failure is a ``ValueError``, and memory is limited."""

import json
import re
from typing import Any

from clawperator._base.text import encodable

# Many empty objects take fifty times their length in memory.
_MOST_VALUES = 500_000
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def read_json(data: bytes | str) -> Any:
    """Decode JSON. A lone surrogate, which JavaScript writes when it cuts a text, becomes U+FFFD."""
    try:
        return encodable(read_raw_json(data))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_raw_json(data: bytes | str) -> Any:
    """Decode JSON and keep lone surrogates: the other half may be in the next piece of a stream."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _value_count(raw) > _MOST_VALUES and _value_count(_STRING.sub(b'""', raw)) > _MOST_VALUES:
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
