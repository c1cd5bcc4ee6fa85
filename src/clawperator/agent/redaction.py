"""Redaction: replace known secrets, and texts that look like secrets, before anything is stored.

Every pattern takes linear time for any text: none backtracks far.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.text import SHORTEST, literal_pattern, replace_surrogates, spellings

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

_PRIVATE = r"[A-Z0-9 ]{0,40}PRIVATE KEY-----"
# Each with a text that every match contains, which is much faster to search for.
_SHAPES = (
    ("PRIVATE KEY-----", rf"(?s:-----BEGIN {_PRIVATE}.*?(?:-----END {_PRIVATE}|\Z))"),
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


def host_secrets() -> tuple[str, ...]:
    """The secrets of this computer: those of the environment, and those that the user declares."""
    from clawperator._base.secrets import known_secrets

    return (*environment_secrets(), *known_secrets())


Change = Callable[[str, str], str]


def map_strings(value: Any, change: Change, change_number: Change | None = None) -> Any:
    """Copy a value as plain JSON, replacing each string by ``change(text, name)``.

    ``name`` is the key of the string, also for strings in a list. For keys themselves it is empty. A whole number
    that ``change_number`` (default: ``change``) alters as text becomes ``[redacted]``. Deeper levels than 100 are
    omitted.
    """
    root = [value]
    todo: list[tuple[Any, Any, str, int]] = [(root, 0, "", 0)]  # a place in a copy, its name, its depth
    while todo:
        holder, at, name, depth = todo.pop()
        value = holder[at]
        if isinstance(value, Struct):
            fields = {field: getattr(value, field) for field in value.__struct_fields__}
            value = {k: v for k, v in fields.items() if v is not msgspec.UNSET}
        if not isinstance(value, Mapping | list | tuple | set | frozenset):
            holder[at] = _changed(value, name, change, change_number or change)
        elif depth >= _MAX_DEPTH:
            holder[at] = TOO_DEEP
        elif isinstance(value, Mapping):
            names = {change(str(k), ""): k for k in value}
            holder[at] = members = {shown: value[k] for shown, k in names.items()}
            todo += [(members, shown, str(k), depth + 1) for shown, k in names.items()]
        else:
            holder[at] = values = list(value)
            todo += [(values, place, name, depth + 1) for place in range(len(values))]
    return root[0]


def _changed(value: Any, name: str, change: Change, change_number: Change) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if not isinstance(value, int):
        return change(str(value), name)
    # Numbers of several thousand digits can be neither encoded nor decoded.
    if value.bit_length() > _MOST_BITS:
        return "[number too long]"
    return value if change_number(text := str(value), name) == text else REDACTED


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


# Secrets in sentences: "my password is X", "type X into the PIN field", "use X as the passcode".
# In a prompt every value in such a place counts as secret, before anything is typed: a turn that fails keeps its
# prompt. In other texts, such as a screen, only a value that looks like a secret counts. All patterns are bounded,
# so the time is linear.

_SPOKEN_NAME = (
    r"(?:pass[ -]?(?:word|wort|wd|phrase|code)s?|kennwort|mot de passe|contrase(?:ñ|n)a|pwd|pw"
    r"|pin(?:[ -]?(?:code|number))?|secret|token|cvv|cvc|otp"
    r"|(?:api|access|secret|private|wi-?fi|network|security|recovery|activation|licen[cs]e)[ -]?key"
    r"|(?:one-?time|security|verification|confirmation|unlock|access|recovery|backup|login|sms)[ -]?code)"
)
# How each name begins or goes on, which is fast to search for.
_SIGNS = ("pass", "kennwort", "contrase", "pw", "pin", "secret", "token", "cvv", "cvc", "otp", "key", "code")
_QUOTED = (
    r'"(?P<q1>[^"\n]{1,200})"|“(?P<q2>[^”\n]{1,200})”|«(?P<q3>[^»\n]{1,200})»|`(?P<q4>[^`\n]{1,200})`'
    r"|(?<![^\W_])'(?P<q5>[^'\n]{1,200})'(?![^\W_])|\u2018(?P<q6>[^\u2019\n]{1,200})\u2019"
)
_BARE = r"(?P<bare>[^\s\"“”«»`]{1,200})"
_VALUE = rf"(?:{_QUOTED}|{_BARE})"
_ARTICLE = r"(?:the|my|a|an|our|your|his|her|their|this|that|as)"
_OF = r"(?:\s{1,3}(?:for|of|on|to|at|in)\s{1,3}\S{1,40}(?:\s{1,3}\S{1,40}){0,3}?)?"
_FIELD = r"(?:\s{1,3}(?:field|box|input|text|value))?"
_IS = (
    r"(?:['\u2019]s\b|\s{1,3}(?:is|ist|lautet|est|es|was|are|be|will\s{1,3}be|should\s{1,3}be|must\s{1,3}be)\b\s{0,3}:?"
    r"|\s{0,3}(?:=>?|:))"
)
# Between a name and its value in notes and lists: "password - X". A hyphen has spaces, or it is part of a word.
_SEPARATOR = r"(?:[-=~]{1,2}>|[\u2010-\u2015\u2212\u2192\u21d2\u2022\u2026|~>]|\.{2,5}|(?<=\s)[-/]{1,3}(?=\s))"

_NAME_PLACE = re.compile(rf"\b(?={_SPOKEN_NAME})", re.IGNORECASE)
# After the name of a secret: "password is X", "password for gmail is X", "password to X", "password X".
_ASSIGNED = re.compile(rf"\b{_SPOKEN_NAME}{_FIELD}{_OF}{_IS}\s{{0,3}}{_VALUE}", re.IGNORECASE)
_CHANGED = re.compile(rf"\b{_SPOKEN_NAME}{_FIELD}\s{{1,3}}(?:to|with|as)\s{{1,3}}{_VALUE}", re.IGNORECASE)
_SEPARATED = re.compile(rf"\b{_SPOKEN_NAME}{_FIELD}{_OF}\s{{0,3}}{_SEPARATOR}\s{{0,3}}{_VALUE}", re.IGNORECASE)
# A name after a separator is a place in a menu, as in "Settings > Password > Change it".
_AFTER_SEPARATOR = re.compile(rf"{_SEPARATOR}\s{{0,3}}\Z")
_FOLLOWING = re.compile(rf"\b{_SPOKEN_NAME}{_FIELD}\s{{1,3}}{_VALUE}", re.IGNORECASE)
# Words before the name that make the next word a value: "with password X", "enter the pin X", "user a, pin X".
_KINDS = r"(?:\s{1,3}(?!(?:and|then|or|open|tap|click|press|go|find|read)\b)[\w-]{1,20}){0,2}"
_LEADING = re.compile(
    r"(?:\b(?:with|using|use|enter|type|input|write|paste|fill\s{1,3}in|provide|try|is|send)"
    r"|\b(?:user|username|login|account|e-?mail|name|log\s{1,3}in|sign\s{1,3}in|as)\b.{0,60}?(?:\band|[,;/(]))"
    rf"(?:\s{{1,3}}{_ARTICLE})?{_KINDS}\s{{0,3}}\Z",
    re.IGNORECASE | re.DOTALL,
)
_LEAD_LENGTH = 100
# Before the name: "type X into the password field", "use X as the pin", "X is my password".
_TYPED = re.compile(
    rf"\b(?:(?:type|typing|enter|entering|write|input|paste|insert|put|fill\s{{1,3}}in)|(?P<use>use|using|set|try))"
    rf"\s{{1,3}}(?:{_QUOTED}|(?P<words>[^\n\"“”«»`]{{1,200}}?))\s{{1,3}}(?(use)(?:as|for)|(?:in|into|to|as|on))\b"
    rf"(?:\s{{1,3}}{_ARTICLE})?{_KINDS}\s{{1,3}}{_SPOKEN_NAME}\b",
    re.IGNORECASE,
)
_IS_NAME = rf"\s{{1,3}}is\s{{1,3}}{_ARTICLE}{_KINDS}\s{{1,3}}{_SPOKEN_NAME}\b"
_NAMING = re.compile(_IS_NAME, re.IGNORECASE)
_NAMED = re.compile(rf"{_VALUE}{_IS_NAME}", re.IGNORECASE)
_LONGEST_VALUE = 202  # with its quotes
# The words of a passphrase, up to the end of the clause.
_PHRASE = re.compile(
    r"[^\s.,;]{1,40}(?:[ \t]{1,3}(?!(?:and|then|or|into?|as)\b)[^\s.,;]{1,40}){0,20}", re.IGNORECASE
)

# "the code is 123456".
_DIGITS_OF_CODE = re.compile(r"\bcode\s{0,3}(?:is|was|:|=)?\s{0,3}(?P<bare>\d{4,12})\b", re.IGNORECASE)

# What a prompt types, wherever it goes.
_INTENDED = re.compile(
    r"\b(?:type|enter|write|input|paste|insert|fill\s{1,3}in)\s{1,3}"
    rf"(?:{_QUOTED}|(?P<words>[^\n\"“”«»`]{{1,200}}?)(?=\s{{1,3}}(?:in|into|to)\b))",
    re.IGNORECASE,
)

_GROUPS = ("q1", "q2", "q3", "q4", "q5", "q6", "bare", "words")
_TRAILING = ".,;:!?)]}>'\u2019"
# Words that follow "password is" and are no values; and others that follow "password".
_STATES = """
    a about above after again all allowed also always an and another any are as asked at available back be
    been before being below blank bottom but by can cannot changed correct could current did different do does
    done down each empty entered expired false first for forgot forgotten from has have her here hidden his
    how i if in incorrect into invalid is it its just last later like locked long longer may me might missing
    must my needed needs never new next no none not now null of off ok okay old on once one only optional or
    our out over protected required right same saved second secure see short shorter should shown so some
    sooner strong stronger than that the their them then there these they third this those to too top true
    twice typed undefined under unknown until up us use used using valid very visible was we weak were what
    when where whether which who why will with without wrong yes yet you your
"""
_THINGS = """
    app box button change char character characters click code codes confirm confirmation criteria dialog
    digits enter entry error errors field fields form generator go hello help hint input key keyboard label
    length letters line list lock login manager menu name number numbers open page panel please policies
    policy popup press prompt protection read requirement requirements reset row screen secret section select
    send set setting settings show storage store strength submit tap text toggle type value vault view way
    word words
"""
_NOT_AFTER_IS = frozenset(_STATES.split())
_NO_VALUES = frozenset(_THINGS.split()) | _NOT_AFTER_IS
_SHORTEST_LOOK = 4
_DIGITS = re.compile(r"\d{4,}")


def prompt_secrets(prompt: str) -> tuple[str, ...]:
    """The secrets that a prompt names, in the order of the text, each once."""
    found: list[str] = []
    for start, end in _prompt_places(prompt):
        value = prompt[start:end]
        found += [value, value.rstrip(_TRAILING)]
    return tuple(dict.fromkeys(value for value in found if value.strip()))


def intended_texts(prompt: str) -> tuple[str, ...]:
    """The texts that a prompt asks to type, as far as its form shows them."""
    places = (_place(found) for found in _INTENDED.finditer(prompt))
    texts = dict.fromkeys(prompt[start:end] for start, end in places)
    return tuple(text for text in texts if not _NAME_PLACE.search(text))


def secret_places(text: str) -> Iterator[tuple[int, int]]:
    """Where a text of any kind names a value that looks like a secret."""
    for values in _values_after_names(text):
        found = next(filter(_looks_secret, values), None)
        if found is not None:
            yield _place(found)


def _values_after_names(text: str) -> Iterator[Iterator[re.Match[str]]]:
    """For each name of a secret, what may be its value, the likeliest first."""
    for at in _name_places(text):
        matches = (pattern.match(text, at) for pattern in (_ASSIGNED, _CHANGED, _SEPARATED, _FOLLOWING))
        yield filter(None, matches)


def _prompt_places(prompt: str) -> Iterator[tuple[int, int]]:
    for values in _values_after_names(prompt):
        for found in values:
            if found["bare"] and "phrase" in found[0].lower():
                phrase = _PHRASE.match(prompt, found.start("bare"))
                if phrase is not None and " " in phrase[0]:
                    yield phrase.span()
            if not _is_value(found) or (found.re is _FOLLOWING and not _is_announced(found)):
                continue
            if found.re is _SEPARATED and _is_in_menu(found):
                continue
            yield _place(found)
            break
    for found in (*_DIGITS_OF_CODE.finditer(prompt), *_before_names(prompt)):
        if _is_value(found):
            yield _place(found)


def _before_names(prompt: str) -> Iterator[re.Match[str]]:
    """The values that come before the name of a secret. A prompt without such a name is not searched."""
    if next(_name_places(prompt), None) is None:
        return
    yield from _TYPED.finditer(prompt)
    # A search for a value would start at every character; what follows the value is rare.
    for naming in _NAMING.finditer(prompt):
        found = _NAMED.search(prompt, max(0, naming.start() - _LONGEST_VALUE), naming.end())
        if found is not None:
            yield found


def _name_places(text: str) -> Iterator[int]:
    """Where a name of a secret starts."""
    lower = text.replace("\u0130", "I").lower()  # the only letter whose lower case is longer
    if not any(sign in lower for sign in _SIGNS):
        return
    yield from (found.start() for found in _NAME_PLACE.finditer(text))


def _place(found: re.Match[str]) -> tuple[int, int]:
    return found.span(next(group for group in _GROUPS if found.groupdict().get(group) is not None))


def _is_value(found: re.Match[str]) -> bool:
    groups = found.groupdict()
    bare = groups.get("bare") or groups.get("words")
    if bare is None:
        return True  # quoted
    word = bare.strip(_TRAILING + "([{<").lower()
    no_values = _NOT_AFTER_IS if found.re in (_ASSIGNED, _CHANGED) else _NO_VALUES
    return bool(word) and word not in no_values and not word.startswith("[redacted")


def _is_announced(found: re.Match[str]) -> bool:
    """Whether the word after a name is its value, as in "enter the PIN abcd", "PIN 1234", not "PIN settings"."""
    bare = found["bare"]
    if bare is None or any(map(str.isdigit, bare)):
        return True
    at = found.start()
    return not found.string[:at].strip() or bool(_LEADING.search(found.string, max(at - _LEAD_LENGTH, 0), at))


def _is_in_menu(found: re.Match[str]) -> bool:
    at = found.start()
    return bool(_AFTER_SEPARATOR.search(found.string, max(at - 10, 0), at)) and not _looks_secret(found)


def _looks_secret(found: re.Match[str]) -> bool:
    if not _is_value(found):
        return False
    start, end = _place(found)
    word = found.string[start:end].strip(_TRAILING)
    if len(word) < _SHORTEST_LOOK or word[0] in "([{<" or "=" in word:
        return False
    return bool(_DIGITS.search(word)) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
