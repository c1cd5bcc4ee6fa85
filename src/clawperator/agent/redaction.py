"""Redaction: replace known secrets, and texts that look like secrets, before anything is stored.

Every pattern takes linear time for any text: none backtracks far.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.secret_text import SHORTEST, literal_pattern, replace_surrogates, spellings
from clawperator.agent.spoken_secrets import secret_places

REDACTED = "[redacted]"
TOO_DEEP = "[nested too deep]"

# Held back at most; and kept of what was released, for patterns that begin there.
_MOST_HELD = 4_096
_CONTEXT = 8_192
_SHORTEST_IN_ENVIRONMENT = 8
_MAX_DEPTH = 100
_MOST_BITS = 10_000
_VARIABLE_SUFFIXES = ("_API_KEY", "_AUTH_TOKEN", "_TOKEN", "_SECRET", "_PASSWORD")

# Names of secrets, with any prefix; and how each begins, which is fast to search for.
_KEYS = "|".join(
    rf"(?<={kind}{between})key"
    for kind in ("api", "access", "secret", "private", "auth", "signing", "encryption")
    for between in ("", r"[_\- ]")
)
_NAME = rf"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|{_KEYS})"
_NAME_STARTS = ("pass", "pwd", "secret", "token", "key")
_SECRET_NAME = re.compile(_NAME + r"\Z", re.IGNORECASE)
# A name, = or :, and a value: bare, quoted, or in the escaped quotes of a nested text. After an unquoted name,
# the quote that ends an XML attribute (text="Password:" index="1") does not start a value.
_ASSIGNMENT = re.compile(
    _NAME
    + r"""
    (?P<named>\\{0,4}["'])?  [ \t]{0,4}  (?:=>?|:)  [ \t]{0,4}
    (?:
        \\{1,4}["']  (?(named)|(?!\s|/?>))  (?P<inner>[^"'\\\n]*)
      | "  (?(named)|(?!\s|/?>))  (?P<double>[^"\\\n]*(?:\\.[^"\\\n]*)*)
      | '  (?(named)|(?!\s|/?>))  (?P<single>[^'\\\n]*(?:\\.[^'\\\n]*)*)
      | (?P<bare>[^\s"'\\,;&<>{}]+)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_VALUES = ("inner", "double", "single", "bare")
# Values that describe a field and are not secret.
_NOT_SECRET = ("", "true", "false", "null", "none")

# Each with a text that every match contains, which is much faster to search for.
_SHAPES = (
    (
        "PRIVATE KEY-----",
        (
            r"(?s:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z))"
        ),
    ),
    ("eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"),
    ("sk-", r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{16,}+"),
    ("k_", r"(?<![A-Za-z0-9_-])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+"),
    ("gh", r"(?<![A-Za-z0-9_])gh[pousr]_[A-Za-z0-9]{20,}+"),
    ("github_pat_", r"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{20,}+"),
    ("IA", r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AIza", r"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}"),
    ("xox", r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}+"),
    ("://", r"(?<=://)[^\s/:@\"'<>]{1,64}+:[^\s/@\"'<>]{1,256}+(?=@)"),
    ("earer", r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}+"),
    ("EARER", r"(?<=BEARER )[A-Za-z0-9._~+/=-]{8,}+"),
    ("asic ", r"(?i:(?<=authorization: basic ))[A-Za-z0-9+/=]{4,}+"),
)
_PATTERNS = tuple((sign, re.compile(pattern)) for sign, pattern in _SHAPES)


class Redactor:
    """Replaces secrets by ``[redacted]``: the known ones, and what looks like one.

    A known secret of fewer than 4 characters is replaced where it is a word of its own, so that a one-letter
    secret does not blank a whole text. Numbers, and attributes of a hierarchy other than texts, keep short values.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = frozenset(secret for secret in secrets if secret.strip())
        self._literals = literal_pattern(self.secrets)

    def text(self, text: str) -> str:
        """Redact a text. A lone surrogate, which cannot be encoded, becomes U+FFFD."""
        text = replace_surrogates(text)
        pieces, done = [], 0
        for start, end in self.places(text):
            pieces += [text[done:start], REDACTED]
            done = end
        return "".join([*pieces, text[done:]]) if pieces else text

    def places(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each secret in a text, in order. They do not overlap."""
        found: list[tuple[int, int]] = []
        if self._literals is not None:
            found += [match.span() for match in self._literals.finditer(text)]
        for sign, pattern in _PATTERNS:
            if sign in text:
                found += [match.span() for match in pattern.finditer(text)]
        found += _assignments(text)
        found += secret_places(text)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            elif text[start:end] != REDACTED:
                merged.append((start, end))
        return merged

    def value(self, value: Any) -> Any:
        """Redact a document into plain JSON values; levels deeper than 100 are omitted."""
        return map_strings(value, self._member, self._number)

    def _member(self, text: str, name: str) -> str:
        if name and text.lower() not in _NOT_SECRET and _SECRET_NAME.search(name):
            return REDACTED
        return self.text(text)

    def _number(self, text: str, name: str) -> str:
        # A short secret is no reason to hide every small number.
        if name and _SECRET_NAME.search(name):
            return REDACTED
        return self.text(text) if len(text) >= SHORTEST else text


class StreamRedactor:
    """Redacts a text that comes in pieces, such as the answer of a model.

    A secret may be split between pieces. So text is held back while it may be the beginning of one: the last word,
    the beginning of a known secret, and a value that is not complete.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._text = ""  # the last part that was released, and what is held back
        self._released = 0

    def add(self, piece: str) -> str:
        """The text that can be shown after this piece."""
        self._text = replace_surrogates(self._text + piece)
        places = self.redactor.places(self._text)
        return self._release(self._safe_end(places), places)

    def end(self) -> str:
        """The rest of the text. The next piece begins another one."""
        rest = self._release(len(self._text), self.redactor.places(self._text))
        self._text, self._released = "", 0
        return rest

    def _safe_end(self, places: list[tuple[int, int]]) -> int:
        text = self._text
        end = len(text)
        is_long = end - self._released > _MOST_HELD
        while not is_long and end > self._released and not text[end - 1].isspace():
            end -= 1
        for secret in self.redactor.secrets:
            # The longest end of the text that is the beginning of a secret.
            for spelling in spellings(secret):
                first = max(len(text) - len(spelling) + 1, self._released)
                at = text.find(spelling[0], first)
                while 0 <= at < end:
                    if spelling.startswith(text[at:]):
                        end = at
                        break
                    at = text.find(spelling[0], at + 1)
        if places and places[-1][1] >= end and not is_long:
            end = min(end, places[-1][0])
        return max(end, self._released)

    def _release(self, end: int, places: list[tuple[int, int]]) -> str:
        pieces, at = [], self._released
        for start, stop in places:
            if stop <= at or start >= end:
                continue
            pieces += [self._text[at : max(start, at)], REDACTED]
            at = stop
        pieces.append(self._text[at : max(end, at)])
        self._released = max(end, at)
        surplus = max(self._released - _CONTEXT, 0)
        self._text, self._released = self._text[surplus:], self._released - surplus
        return "".join(pieces)


def environment_secrets(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of variables whose names mark them as keys or passwords."""
    members = (os.environ if environment is None else environment).items()
    return tuple(
        value
        for name, value in members
        if len(value) >= _SHORTEST_IN_ENVIRONMENT and name.upper().endswith(_VARIABLE_SUFFIXES)
    )


Change = Callable[[str, str], str]


def map_strings(
    value: Any, change: Change, change_number: Change | None = None, name: str = "", depth: int = 0
) -> Any:
    """Copy a value as plain JSON, replacing each string by ``change(text, name)``.

    ``name`` is the key of the string, also for strings in a list. For keys themselves it is empty. A whole number
    that ``change_number`` (default: ``change``) alters as text becomes ``[redacted]``.
    """
    if isinstance(value, str):
        return change(value, name)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        # Numbers of several thousand digits can be neither encoded nor decoded.
        if value.bit_length() > _MOST_BITS:
            return "[number too long]"
        return value if (change_number or change)(text := str(value), name) == text else REDACTED
    if depth >= _MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            change(key := str(k), ""): map_strings(member, change, change_number, key, depth + 1)
            for k, member in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [map_strings(member, change, change_number, name, depth + 1) for member in value]
    if isinstance(value, Struct):
        members = {field: getattr(value, field) for field in value.__struct_fields__}
        members = {k: v for k, v in members.items() if v is not msgspec.UNSET}
        return map_strings(members, change, change_number, name, depth)
    return change(str(value), name)


def _assignments(text: str) -> Iterator[tuple[int, int]]:
    """Where values are assigned to the name of a secret."""
    lower = text.replace("\u0130", "I").lower()  # the only letter whose lower case is longer
    places: list[int] = []
    for start in _NAME_STARTS:
        at = lower.find(start)
        while at >= 0:
            places.append(at)
            at = lower.find(start, at + 1)
    done = 0
    for place in sorted(places):
        found = _ASSIGNMENT.match(text, place) if place >= done else None
        if found is None:
            continue
        group = next(name for name in _VALUES if found[name] is not None)
        value = found[group].lower()
        # In a sentence such as "into 'password': the screen changed" no value is assigned.
        if value not in _NOT_SECRET and not (group == "bare" and value == "the"):
            yield found.start(group), found.end()
            done = found.end()
