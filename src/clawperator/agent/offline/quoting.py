"""Quotations: the parts of a prompt that are taken literally.

Quotations and JSON in braces are masked before a prompt is split and before rules see it, so that nothing inside
them is taken for a word of the grammar.
"""

QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`", "'": "'", "\u2018": "\u2019"}
HIDDEN = "\0"
# Apostrophes occur inside words too, so they open a quotation only where a word can begin.
_APOSTROPHES = ("'", "\u2018")
_CURLY_APOSTROPHE = "\u2019"


def mask(text: str) -> str:
    """Replace quotations and braces by ``HIDDEN``, and curly apostrophes by plain ones. Keeps the length."""
    out: list[str] = []
    unclosed: set[str] = set()
    at = 0
    while at < len(text):
        end = _hidden_end(text, at, unclosed)
        out.append(text[at] if end is None else HIDDEN * (end - at))
        at = at + 1 if end is None else end
    return "".join(out).replace(_CURLY_APOSTROPHE, "'")


def _hidden_end(text: str, at: int, unclosed: set[str]) -> int | None:
    """The end of the quotation or JSON that opens at ``at``; None when none opens there or it never ends."""
    opening = text[at]
    if opening in unclosed or (opening not in QUOTES and opening != "{"):
        return None
    if opening in _APOSTROPHES and at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return None
    end = _brace_end(text, at) if opening == "{" else _quote_end(text, at, QUOTES[opening])
    if end is None:
        unclosed.add(opening)
    return end


def _quote_end(text: str, at: int, closing: str) -> int | None:
    end = text.find(closing, at + 1)
    while end != -1 and closing in ("'", _CURLY_APOSTROPHE) and end + 1 < len(text) and text[end + 1].isalnum():
        end = text.find(closing, end + 1)
    return None if end == -1 else end + 1


def _brace_end(text: str, at: int) -> int | None:
    depth = 0
    quoted = False
    i = at
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted and c in "{}":
            depth += 1 if c == "{" else -1
            if depth == 0:
                return i + 1
        i += 1
    return None


def unquote(text: str) -> tuple[str, bool]:
    """Remove quotation marks around the whole text. Also returns whether there were any."""
    text = text.strip()
    if (
        len(text) > 2
        and text[0] in QUOTES
        and mask(text) == HIDDEN * len(text)
        and _hidden_end(text, 0, set()) == len(text)
    ):
        return text[1:-1], True
    return text, False
