"""Patterns of known secrets: the spellings of a text in JSON and XML, and where a short one counts."""

import re
from collections.abc import Iterable

import msgspec

SHORTEST = 4  # of a known secret that is replaced anywhere, also within a word
# Around a shorter one. An attribute such as index="1" is no text of the user; text="1" is.
_WORD_START = r"""(?:(?<![^\s"'“\u2018«(:=,/])(?<!=")|(?<=\btext=")|(?<=content-desc="))"""
_WORD_END = r"""(?![^\s"'”\u2019»).,;:!?/])"""


def literal_pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern of these secrets in all their spellings: short ones as words, others anywhere. None for none."""
    # Longest first: a secret that starts with another one is replaced completely.
    known = {spelling for secret in secrets if secret.strip() for spelling in spellings(secret)}
    ordered = sorted(known, key=lambda secret: (-len(secret), secret))
    patterns = [
        re.escape(secret) if len(secret.strip()) >= SHORTEST else f"{_WORD_START}{re.escape(secret)}{_WORD_END}"
        for secret in ordered
    ]
    return re.compile("|".join(patterns)) if patterns else None


def spellings(secret: str) -> tuple[str, ...]:
    """A secret as plain text, in JSON and in XML."""
    secret = replace_surrogates(secret)
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    in_xml = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    in_attribute = in_xml.replace('"', "&quot;")
    return secret, in_json, in_xml, in_attribute, in_attribute.replace("'", "&apos;")


def replace_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
