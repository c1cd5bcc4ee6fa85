"""JSON that other programs wrote: read leniently, and never a cause for more than a ``ValueError``."""

import json
from typing import Any

from clawperator._text import encodable


def read_json(data: bytes | str) -> Any:
    """The value. Half a surrogate pair, which JavaScript writes when it cuts a text, becomes the mark for it."""
    try:
        return encodable(read_raw_json(data))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_raw_json(data: bytes | str) -> Any:
    """The value, halves of surrogate pairs as they are: the other half may be in the next piece."""
    try:
        return json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        _refuse(text[:40])
    return number


class Pieces:
    """A text that comes in pieces. A piece may end in the middle of a surrogate pair."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, piece: str) -> str:
        """What can be shown now: the piece, without the half of a character at its end."""
        piece = self._half + piece
        self._half = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        if not piece.isascii():
            piece = piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._parts.append(piece)
        return piece
