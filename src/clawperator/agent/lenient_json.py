"""Lenient reading of JSON written by other programs: every failure is a ``ValueError``."""

import json
from typing import Any

from clawperator._text import encodable


def read_json(data: bytes | str) -> Any:
    """Decode JSON. A lone surrogate, which JavaScript writes when it cuts a text, becomes U+FFFD."""
    try:
        return encodable(read_raw_json(data))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_raw_json(data: bytes | str) -> Any:
    """Decode JSON and keep lone surrogates: the other half may be in the next piece of a stream."""
    try:
        return json.loads(data, parse_constant=_reject, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _reject(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        _reject(text[:40])
    return number
