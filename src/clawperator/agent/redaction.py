"""Redaction: replace known secrets, and texts that look like secrets, before anything is stored.

Every pattern takes linear time for any text: none backtracks far.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

REDACTED = "[redacted]"
TOO_DEEP = "[nested too deep]"

_SHORTEST = 4
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
    """Replaces secrets by ``[redacted]``. Known secrets shorter than 4 characters are ignored."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {
            spelling for secret in secrets if len(secret.strip()) >= _SHORTEST for spelling in _spellings(secret)
        }
        # Longest first: a secret that starts with another one is replaced completely.
        ordered = sorted(known, key=lambda secret: (-len(secret), secret))
        self._literals = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """Redact a text. A lone surrogate, which cannot be encoded, becomes U+FFFD."""
        text = _replace_surrogates(text)
        if self._literals is not None:
            text = self._literals.sub(REDACTED, text)
        for sign, pattern in _PATTERNS:
            if sign in text:
                text = pattern.sub(REDACTED, text)
        return _redact_assignments(text)

    def value(self, value: Any) -> Any:
        """Redact a document into plain JSON values; levels deeper than 100 are omitted."""
        return map_strings(value, self._member)

    def _member(self, text: str, name: str) -> str:
        if name and text.lower() not in _NOT_SECRET and _SECRET_NAME.search(name):
            return REDACTED
        return self.text(text)


def environment_secrets(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of variables whose names mark them as keys or passwords."""
    members = (os.environ if environment is None else environment).items()
    return tuple(
        value
        for name, value in members
        if len(value) >= _SHORTEST_IN_ENVIRONMENT and name.upper().endswith(_VARIABLE_SUFFIXES)
    )


def map_strings(value: Any, change: Callable[[str, str], str], name: str = "", depth: int = 0) -> Any:
    """Copy a value as plain JSON, replacing each string by ``change(text, name)``.

    ``name`` is the key of the string, also for strings in a list. For keys themselves it is empty.
    """
    if isinstance(value, str):
        return change(value, name)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        # Numbers of several thousand digits can be neither encoded nor decoded.
        if value.bit_length() > _MOST_BITS:
            return "[number too long]"
        return value if change(text := str(value), name) == text else REDACTED
    if depth >= _MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            change(key := str(k), ""): map_strings(member, change, key, depth + 1) for k, member in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [map_strings(member, change, name, depth + 1) for member in value]
    if isinstance(value, Struct):
        members = {field: getattr(value, field) for field in value.__struct_fields__}
        return map_strings({k: v for k, v in members.items() if v is not msgspec.UNSET}, change, name, depth)
    return change(str(value), name)


def _spellings(secret: str) -> tuple[str, ...]:
    """A secret as plain text, in JSON and in XML."""
    secret = _replace_surrogates(secret)
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    in_xml = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    in_attribute = in_xml.replace('"', "&quot;")
    return secret, in_json, in_xml, in_attribute, in_attribute.replace("'", "&apos;")


def _redact_assignments(text: str) -> str:
    """Redact values that are assigned to the name of a secret."""
    lower = text.replace("\u0130", "I").lower()  # the only letter whose lower case is longer
    places: list[int] = []
    for start in _NAME_STARTS:
        at = lower.find(start)
        while at >= 0:
            places.append(at)
            at = lower.find(start, at + 1)
    pieces, done = [], 0
    for place in sorted(places):
        found = _ASSIGNMENT.match(text, place) if place >= done else None
        if found is None:
            continue
        group = next(name for name in _VALUES if found[name] is not None)
        if found[group].lower() not in _NOT_SECRET:
            pieces += [text[done : found.start(group)], REDACTED]
            done = found.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def _replace_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
