"""Text rules of the contract: trimming, lengths, numbers and similarity of names.

The contract comes from a JavaScript host and a Kotlin device. Their rules are here where they
differ from Python's.
"""

import re
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

# Removed by String.prototype.trim: white space, line ends and the byte order mark.
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# From here on JavaScript prints an exponent.
_JS_EXPONENT_FROM = 1e21


def trim(text: str) -> str:
    return text.strip(_JS_SPACE)


def is_blank(text: str) -> bool:
    return not trim(text)


def utf16_length(text: str) -> int:
    """The length in UTF-16 units, as the device counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def printable(text: str) -> str:
    """Text from an app, safe to print: control and bidi characters are escaped."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(c if c.isprintable() or c == " " else ascii(c)[1:-1] for c in text)


def one_line(text: str, max_length: int = 80) -> str:
    """A text from an app or a prompt on one line, cut to a length and safe to print."""
    shown = printable(" ".join(text[: 4 * max_length].split()))
    return shown if len(shown) <= max_length else shown[: max_length - 1] + "…"


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can encode the text: it has no bytes of an argument that are not text, no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encodable(value: Any) -> Any:
    """A JSON value whose texts UTF-8 can encode: invalid parts become U+FFFD."""
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        except UnicodeEncodeError:  # a lone surrogate
            return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {encodable(k): encodable(v) for k, v in value.items()}
    return [encodable(v) for v in value] if isinstance(value, list | tuple) else value


def whole(number: int | float) -> int | float:
    """The number as JavaScript prints it: 1.0 is 1."""
    if type(number) is float and number.is_integer() and abs(number) < _JS_EXPONENT_FROM:
        return int(number)
    return number


def read_number(text: str) -> int | float | None:
    """A number from a command line: decimal, exponent, 0x, 0o and 0b forms. None when it is not a number."""
    text = trim(text)
    try:
        number = float(int(text, 0) if text[:2].lower() in {"0x", "0o", "0b"} else text)
    except (ValueError, OverflowError):
        return None
    if "_" in text or number != number or abs(number) == float("inf"):  # noqa: PLR0124 - a NaN test
        return None
    return whole(number)


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a caller's regular expression; ``ValueError`` when it is invalid.

    Groups may be named as in Java, ``(?<name>...)``, or as in Python.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an ambiguous pattern is still valid
        try:
            return re.compile(text)
        except (re.error, OverflowError, RecursionError) as e:
            named = re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", text)
            if named != text:
                return compile_pattern(named)
            raise ValueError(str(e)) from None


def distance(a: str, b: str) -> int:
    """How many edits lead from one text to the other. Two neighbours in the wrong order are one."""
    earlier, row = list[int](), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            edits = min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and (x, y) == (b[j - 2], a[i - 2]):
                edits = min(edits, earlier[j - 2] + 1)
            row.append(edits)
        earlier = above
    return row[-1]


def nearest(word: str, names: Iterable[str], at_most: int) -> str | None:
    """The name closest to ``word`` within ``at_most`` edits; the earlier of equals."""
    best: tuple[int, str] | None = None
    for name in names:
        if abs(len(word) - len(name)) > at_most:  # at least so many edits; comparing long words is slow
            continue
        edits = distance(word, name)
        if edits <= at_most and (best is None or edits < best[0]):
            best = (edits, name)
    return best[1] if best else None


def count(number: int, noun: str) -> str:
    """ "1 skill", "3 skills"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def utc_timestamp(seconds: float) -> str:
    """A time of ``time.time`` in ISO 8601, in UTC with milliseconds."""
    whole_seconds = int(seconds)
    date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole_seconds))
    return f"{date}.{int((seconds - whole_seconds) * 1000):03d}Z"


SHORTEST = 4  # of a known secret that is replaced anywhere, also within a word
_MOST_PERCENT = 60  # of the characters of a known secret: a value that has so many of them is replaced, too
_LONG = 32  # of a longer one the beginning is replaced, too, where a text was cut with "…"
_URL_SAFE = "[A-Za-z0-9_.~-]*"  # the same in every spelling
# Around a shorter one. An attribute such as index="1" is no text of the user; text="1" is.
_WORD_START = r"""(?:(?<![^\s"'“\u2018«(:=,/])(?<!=")|(?<=\btext=")|(?<=content-desc="))"""
_WORD_END = r"""(?![^\s"'”\u2019»).,;:!?/])"""
# Around one that is a whole value: a whole text, or all that stands in quotes.
_VALUE_START = r"""(?:\A|(?<=["'“\u2018«])(?<!=")|(?<=\btext=")|(?<=content-desc=")|(?<=\bhint="))"""
_VALUE_END = r"""(?=\Z|\\{0,4}["'”\u2019»])"""


def literal_pattern(secrets: Iterable[str], *, whole: bool = False) -> re.Pattern[str] | None:
    """A pattern of these secrets in all their spellings; None for none.

    Those of four characters and more match anywhere, short ones as words, or with ``whole`` as whole values.
    """
    # Longest first: a secret that starts with another one is replaced completely.
    given = sorted({secret for secret in secrets if secret.strip()}, key=lambda secret: len(secret.strip()))
    lengths = {spelling: len(secret.strip()) for secret in given for spelling in spellings(secret)}
    ordered = sorted(lengths, key=lambda secret: (-len(secret), secret))
    start, end = (_VALUE_START, _VALUE_END) if whole else (_WORD_START, _WORD_END)
    patterns = [
        re.escape(secret) if lengths[secret] >= SHORTEST else f"{start}{re.escape(secret)}{end}"
        for secret in ordered
    ]
    patterns += [rf"{re.escape(secret[:_LONG])}[^\n]{{0,4000}}?…" for secret in ordered if len(secret) > _LONG]
    return re.compile("|".join(patterns)) if patterns else None


def edited_patterns(secrets: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each end of a secret with most of its characters, and a pattern of whole values that begin or end with it.

    Such a value, no longer than the secret, is what is left of a secret that was edited or cut off.
    """
    for secret in filter(None, map(str.strip, secrets)):
        most = max(SHORTEST, -(-_MOST_PERCENT * len(secret) // 100))
        others = rf'(?:&\w+;|[^"\n]){{0,{len(secret) - most}}}'
        for end in dict.fromkeys(spellings(secret[:most]) if most < len(secret) else ()):
            yield end, _VALUE_START + re.escape(end) + others + _VALUE_END
        for end in dict.fromkeys(spellings(secret[-most:]) if most < len(secret) else ()):
            yield end, _VALUE_START + others + re.escape(end) + _VALUE_END


def spellings(secret: str) -> tuple[str, ...]:
    """A secret as plain text, in JSON, in XML and in a URL."""
    secret = replace_surrogates(secret)
    if re.fullmatch(_URL_SAFE, secret):
        return (secret,)
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    in_xml = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    in_attribute = in_xml.replace('"', "&quot;")
    from urllib.parse import quote, quote_plus  # takes a millisecond to load

    in_url = (quote(secret), quote(secret, safe=""), quote(secret, safe="!~*'()"), quote_plus(secret))
    return secret, in_json, in_xml, in_attribute, in_attribute.replace("'", "&apos;"), *in_url


def replace_surrogates(text: str) -> str:
    if is_encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Grammar:
    """A regular expression for whole texts, compiled when it is first used: few commands need one."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return re.fullmatch(self.pattern, text, self._flags)
