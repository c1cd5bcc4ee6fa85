"""Words of prompts: how a prompt falls into them, which say nothing, and which mean the same."""

import re
from collections.abc import Iterable, Mapping

# More of a prompt is not looked at: what somebody wants done is said in its first words.
_MOST_CHARACTERS = 4_096
_MOST_TOKENS = 64
_LONGEST_TOKEN = 64

_SEPARATORS = str.maketrans("/-", "  ")
_EDGES = re.compile(r"^\W+|\W+$")
_WORD = re.compile(r"[^\W_]+")

# Words that say nothing about what is wanted, and the names of the programs themselves, which are everywhere.
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

# Each line is one meaning. A word may stand in one line only.
_MEANINGS = (
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

# What people call the apps that come with a phone, and what an app is opened by.
APP_NAMES = (
    *("settings", "youtube", "solar", "solax", "browser", "chrome", "contacts", "notes", "camera", "gallery"),
    *("calculator", "calendar", "clock", "gmail", "maps", "messages", "spotify", "whatsapp"),
)

# Endings that a word keeps although they look like grammar: the word without them is another word.
_WHOLE = frozenset(("settings", "setting", "during", "always", "news", "gps", "sms", "status", "canvas"))
_SHORTEST_STEM = 3


def tokens(prompt: str) -> list[str]:
    """The words of a prompt, each once, in their order, without single letters and those that say nothing.

    They are cut at white space, slashes and dashes, and freed of punctuation at both ends.
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
    """A text in the pieces that a token of a prompt can be a part of."""
    return text.lower().translate(_SEPARATORS).split()


def plain_words(text: str) -> list[str]:
    """The runs of letters and digits in a text."""
    return _WORD.findall(text.lower())


def stem(word: str) -> str:
    """What a word and its inflections have in common: recordings, recorded and recording give record.

    It is a rule of thumb for English. A word of another language mostly stays as it is.
    """
    if word in _WHOLE or len(word) <= _SHORTEST_STEM:
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
                return base[:-1]  # tapping is tap, but scrolling is scroll
            return base if not base.endswith("e") else word
    return word


def _groups(meanings: Iterable[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for line in meanings:
        stems = tuple(dict.fromkeys(stem(word) for word in line))
        for one in stems:
            assert one not in groups, f"{one} has two meanings"
            groups[one] = tuple(other for other in stems if other != one)
    return groups


# From the stem of a word to the stems of those that mean the same.
SYNONYMS: Mapping[str, tuple[str, ...]] = _groups(_MEANINGS)
