"""Tokenizer for routing: tokens of a prompt, stop words, stems and synonyms."""

import re
from collections.abc import Iterable, Mapping

# Only the start of a prompt is used: it contains the request.
_MOST_CHARACTERS = 4_096
_MOST_TOKENS = 64
_LONGEST_TOKEN = 64

_SEPARATORS = str.maketrans("/-", "  ")
_EDGES = re.compile(r"^\W+|\W+$")
_WORD = re.compile(r"[^\W_]+")

# Words without meaning for routing, and the names of the programs, which occur in every entry.
STOP_WORDS = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "this",
            "that",
            "these",
            "those",
            "some",
            "any",
            "all",
            "and",
            "or",
            "but",
            "if",
            "so",
        ),
        *("i", "me", "my", "we", "us", "our", "you", "your", "he", "she", "it", "its", "they", "them", "their"),
        *(
            "am",
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "do",
            "does",
            "did",
            "done",
            "has",
            "have",
            "had",
            "can",
        ),
        *("could", "would", "should", "will", "shall", "may", "might", "must", "let", "please", "now", "then"),
        *("of", "in", "on", "at", "to", "into", "onto", "from", "by", "for", "with", "about", "as", "than", "up"),
        *("what", "which", "who", "whose", "when", "where", "why", "how", "there", "here", "not", "no", "just"),
        *("want", "need", "like", "make", "me", "give", "use", "using", "also", "too", "very", "it's", "what's"),
        *("claw", "clawperator"),
    )
)

# Each line is a group of synonyms. A word may be in one line only.
_SYNONYM_GROUPS = (
    ("click", "tap", "touch"),
    ("open", "launch"),
    ("type", "enter", "write", "fill", "input"),
    ("close", "quit", "kill", "terminate"),
    ("screenshot", "picture", "photo", "png"),
    ("scroll", "swipe"),
    ("snapshot", "hierarchy", "look", "see"),
    ("delete", "remove", "erase"),
    ("phone", "device", "handset", "mobile", "smartphone"),
    ("app", "application", "package"),
    ("list", "enumerate", "show"),
    ("compare", "diff"),
    ("install", "setup"),
    ("doctor", "diagnose", "health", "check"),
    ("find", "search", "locate"),
    ("session", "transcript", "conversation"),
    ("uri", "url", "link", "website"),
    ("press", "push"),
    ("sleep", "pause"),
    ("exec", "execute", "run"),
    ("replay", "repeat", "redo"),
    ("repair", "fix", "mend"),
    ("emulator", "avd"),
    ("describe", "explain", "narrate"),
    ("log", "journal"),
    ("permission", "grant"),
)

# Common names of apps: keywords of the commands that open apps.
APP_NAMES = (
    *("settings", "youtube", "solar", "solax", "browser", "chrome", "contacts", "notes", "camera", "gallery"),
    *("calculator", "calendar", "clock", "gmail", "maps", "messages", "spotify", "whatsapp"),
)

# Words whose last letters look like an ending and are not.
_UNINFLECTED = frozenset(("settings", "setting", "during", "always", "news", "gps", "sms", "status", "canvas"))
_SHORTEST_STEM = 3


def tokens(prompt: str) -> list[str]:
    """The unique tokens of a prompt in order, without single letters and stop words.

    A prompt is split at white space, slashes and dashes; punctuation at both ends is removed.
    """
    found: dict[str, None] = {}
    for piece in prompt.lstrip()[:_MOST_CHARACTERS].lower().translate(_SEPARATORS).split():
        token = _EDGES.sub("", piece) if len(piece) <= 2 * _LONGEST_TOKEN else ""
        if 1 < len(token) <= _LONGEST_TOKEN and token not in STOP_WORDS:
            found[token] = None
            if len(found) == _MOST_TOKENS:
                break
    return list(found)


def chunks(text: str) -> list[str]:
    """The pieces of a text in which a token may occur as a substring."""
    return text.lower().translate(_SEPARATORS).split()


def plain_words(text: str) -> list[str]:
    """The runs of letters and digits of a text."""
    return _WORD.findall(text.lower())


def stem(word: str) -> str:
    """The common stem of a word and its inflections: recordings, recorded and recording give record.

    A heuristic for English. Words of other languages are mostly unchanged.
    """
    if word in _UNINFLECTED or len(word) <= _SHORTEST_STEM:
        return word.removesuffix("s") if word == "settings" else word
    base = _without_ending(_singular(word))
    return base.removesuffix("e") if len(base) > _SHORTEST_STEM else base


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= _SHORTEST_STEM and any(c in "aeiouy" for c in base):
            if base[-1] == base[-2] and base[-1] not in "lsze":
                return base[:-1]  # tapping -> tap, but scrolling -> scroll
            return base if not base.endswith("e") else word
    return word


def _synonyms(groups: Iterable[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    synonyms: dict[str, tuple[str, ...]] = {}
    for line in groups:
        stems = tuple(dict.fromkeys(stem(word) for word in line))
        for one in stems:
            assert one not in synonyms, f"{one} is in two groups"
            synonyms[one] = tuple(other for other in stems if other != one)
    return synonyms


# From a stem to the stems of its synonyms.
SYNONYMS: Mapping[str, tuple[str, ...]] = _synonyms(_SYNONYM_GROUPS)
