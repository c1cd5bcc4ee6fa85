"""Secrets in sentences: "my password is X", "type X into the PIN field", "use X as the passcode".

In a prompt every value in such a place counts as secret, before anything is typed: a turn that fails keeps its
prompt. In other texts, such as a screen, only a value that looks like a secret counts. All patterns are bounded,
so the time is linear.
"""

import re
from collections.abc import Iterator

_NAME = (
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

_NAME_PLACE = re.compile(rf"\b(?={_NAME})", re.IGNORECASE)
# After the name of a secret: "password is X", "password for gmail is X", "password to X", "password X".
_ASSIGNED = re.compile(rf"\b{_NAME}{_FIELD}{_OF}{_IS}\s{{0,3}}{_VALUE}", re.IGNORECASE)
_CHANGED = re.compile(rf"\b{_NAME}{_FIELD}\s{{1,3}}(?:to|with|as)\s{{1,3}}{_VALUE}", re.IGNORECASE)
_SEPARATED = re.compile(rf"\b{_NAME}{_FIELD}{_OF}\s{{0,3}}{_SEPARATOR}\s{{0,3}}{_VALUE}", re.IGNORECASE)
# A name after a separator is a place in a menu, as in "Settings > Password > Change it".
_AFTER_SEPARATOR = re.compile(rf"{_SEPARATOR}\s{{0,3}}\Z")
_FOLLOWING = re.compile(rf"\b{_NAME}{_FIELD}\s{{1,3}}{_VALUE}", re.IGNORECASE)
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
    rf"(?:\s{{1,3}}{_ARTICLE})?{_KINDS}\s{{1,3}}{_NAME}\b",
    re.IGNORECASE,
)
_IS_NAME = rf"\s{{1,3}}is\s{{1,3}}{_ARTICLE}{_KINDS}\s{{1,3}}{_NAME}\b"
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
    for at in _name_places(text):
        for pattern in (_ASSIGNED, _CHANGED, _SEPARATED, _FOLLOWING):
            found = pattern.match(text, at)
            if found is not None and _looks_secret(found):
                yield _place(found)
                break


def _prompt_places(prompt: str) -> Iterator[tuple[int, int]]:
    for at in _name_places(prompt):
        for pattern in (_ASSIGNED, _CHANGED, _SEPARATED, _FOLLOWING):
            found = pattern.match(prompt, at)
            if found is None:
                continue
            if found["bare"] and "phrase" in found[0].lower():
                phrase = _PHRASE.match(prompt, found.start("bare"))
                if phrase is not None and " " in phrase[0]:
                    yield phrase.span()
            if not _is_value(found) or (pattern is _FOLLOWING and not _is_announced(found)):
                continue
            if pattern is _SEPARATED and _is_in_menu(found):
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
