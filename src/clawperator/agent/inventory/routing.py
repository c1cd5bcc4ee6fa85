"""Routing: match a prompt with commands and tools by its words, offline and deterministic.

A prompt is split into n tokens, without single letters and stop words. A token hits an entry when it occurs in
its name, an alias, a keyword, its responsibility or its source hint: as a whole word, by its stem, by a synonym,
or, with three characters or more, as a substring of the name, the responsibility or the source hint. The weight
of a hit is the product of both factors; of several hits of a token the heaviest is used.

    field   name 1, alias and keyword 0.9, responsibility 0.5, source hint 0.2
    kind    whole word 1, stem 0.8, synonym 0.7, substring 0.4

With h tokens that hit, and w the mean of their weights:

    score = (h - 1 + 0.99 w) / n        0 < score < 1, rounded to four places

So an entry with more hits always has the higher score, and weights only rank entries with equally many. A command
whose name or alias starts the prompt has score 1 and comes first. Then come the best command, the best tool, and
all others by score, kind and name. The subcommands of one command, such as recording, keep the order of the
inventory among themselves, which begins with the most common one: "record what I do" leads to recording-start.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from msgspec import Struct

from clawperator.agent.inventory.inventory import InventoryEntry, Kind

_NAME, _ALIAS, _KEYWORD, _RESPONSIBILITY, _SOURCE = 1.0, 0.9, 0.9, 0.5, 0.2
_STEM, _SYNONYM, _SUBSTRING = 0.8, 0.7, 0.4
_BELOW_EXPLICIT = 0.99
_EXPLICIT = 1.0
_DIGITS = 4
_SHORTEST_SUBSTRING = 3
_LONGEST_NAME_WORDS = 5
_MOST_COMMAND_CHARACTERS = 1_024
_ENDS = ".,;:!?"
_SUBCOMMAND_WORDS = 3  # program, command, subcommand

# The position of an entry, and the weight of its best hit.
_Hits = dict[int, float]
# Only the start of a prompt is used: it contains the request.
_MOST_CHARACTERS = 4_096
_MOST_TOKENS = 64
_LONGEST_TOKEN = 64

_SEPARATORS = str.maketrans("/-", "  ")
_EDGES = re.compile(r"^\W+|\W+$")
_WORD = re.compile(r"[^\W_]+")

# Words without meaning for routing, and the names of the programs, which occur in every entry.
_STOP_WORDS = """
    a an the this that these those some any all and or but if so i me my we us our you your he she it its they
    them their am is are was were be been do does did done has have had can could would should will shall may
    might must let please now then of in on at to into onto from by for with about as than up what which who
    whose when where why how there here not no just want need like make give use using also too very it's what's
    claw clawperator
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

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


class Match(Struct, frozen=True):
    """An entry that matches, with its score from 0 to 1."""

    kind: Kind
    name: str
    score: float
    source_hint: str


class Router:
    """An index of entries, built once. Routing only reads it."""

    def __init__(self, entries: Iterable[InventoryEntry]) -> None:
        self._entries = tuple(entries)
        self._commands = _commands_by_name(self._entries)
        self._whole: dict[str, _Hits] = {}
        self._stems: dict[str, _Hits] = {}
        pieces: dict[str, _Hits] = {}
        for number, entry in enumerate(self._entries):
            self._add(number, entry, pieces)
        for word, hits in self._whole.items():
            _merge(self._stems.setdefault(stem(word), {}), hits, _STEM)
        # All pieces in one text: finding a substring of any is one search.
        self._text = "\n".join(pieces)
        self._pieces = tuple(pieces.values())
        self._starts: list[int] = []
        start = 0
        for piece in pieces:
            self._starts.append(start)
            start += len(piece) + 1

    def _add(self, number: int, entry: InventoryEntry, pieces: dict[str, _Hits]) -> None:
        # By falling weight: the first hit of a word is its heaviest.
        fields = (
            (entry.name, _NAME, True),
            *((alias, _ALIAS, False) for alias in entry.aliases),
            *((word, _KEYWORD, False) for word in entry.keywords),
            (entry.responsibility, _RESPONSIBILITY, True),
            (entry.source_hint, _SOURCE, True),
        )
        for text, weight, has_substrings in fields:
            parts = chunks(text)
            for word in {*parts, *_WORD.findall(text.lower())}:
                self._whole.setdefault(word, {}).setdefault(number, weight)
            if has_substrings:
                for part in parts:
                    pieces.setdefault(part, {}).setdefault(number, weight * _SUBSTRING)

    def route(self, prompt: str, limit: int = 5) -> list[Match]:
        """The best matches of a prompt, at most ``limit``."""
        explicit = self._explicit(prompt) if limit else None
        scored = self._scored(prompt) if limit else []
        ranked = sorted(
            ((number, score) for number, score in scored if number != explicit),
            key=lambda hit: (-hit[1], self._entries[hit[0]].kind, *_order(self._entries[hit[0]], hit[0])),
        )
        matches = [_match(self._entries[number], score) for number, score in ranked]
        firsts = [_match(self._entries[explicit], _EXPLICIT)] if explicit is not None else []
        for kind in ("command", "tool"):
            best = next((place for place, match in enumerate(matches) if match.kind == kind), None)
            if best is not None:
                firsts.append(matches.pop(best))
        return [*firsts, *matches][:limit]

    def _explicit(self, prompt: str) -> int | None:
        """The command at the start of a prompt, by the longest name."""
        start = prompt.lstrip()[:_MOST_COMMAND_CHARACTERS].removeprefix("/").casefold()
        words = start.split()[:_LONGEST_NAME_WORDS]
        for count in range(len(words), 0, -1):
            for mark in (" ", "-"):
                name = mark.join(words[:count])
                found = self._commands.get(name, self._commands.get(name.rstrip(_ENDS)))
                if found is not None:
                    return found
        return None

    def _scored(self, prompt: str) -> list[tuple[int, float]]:
        words = tokens(prompt)
        counts: dict[int, int] = {}
        weights: dict[int, float] = {}
        for word in words:
            for number, weight in self._hits(word).items():
                counts[number] = counts.get(number, 0) + 1
                weights[number] = weights.get(number, 0.0) + weight
        return [
            (number, round((count - 1 + _BELOW_EXPLICIT * weights[number] / count) / len(words), _DIGITS))
            for number, count in counts.items()
        ]

    def _hits(self, word: str) -> _Hits:
        base = stem(word)
        hits = dict(self._whole.get(word, ()))
        _merge(hits, self._stems.get(base), 1.0)
        for other in SYNONYMS.get(base, ()):
            _merge(hits, self._stems.get(other), _SYNONYM / _STEM)
        if len(word) >= _SHORTEST_SUBSTRING:
            place = self._text.find(word)
            while place >= 0:
                piece = bisect_right(self._starts, place) - 1
                _merge(hits, self._pieces[piece], 1.0)
                if piece + 1 == len(self._starts):
                    break
                place = self._text.find(word, self._starts[piece + 1])
        return hits


def _commands_by_name(entries: tuple[InventoryEntry, ...]) -> dict[str, int]:
    """Commands by name and alias. Names take precedence over aliases, earlier commands over later ones."""
    by_name: dict[str, int] = {}
    commands = [(number, entry) for number, entry in enumerate(entries) if entry.kind == "command"]
    for number, entry in commands:
        by_name.setdefault(entry.name.casefold(), number)
    for number, entry in commands:
        for alias in entry.aliases:
            by_name.setdefault(alias.casefold(), number)
    return by_name


def _order(entry: InventoryEntry, number: int) -> tuple[str, int]:
    """The order of entries with equal scores: by name, and within one command by place."""
    is_subcommand = entry.family == "builtin" and len(entry.argv) == _SUBCOMMAND_WORDS
    return (entry.argv[1], number) if is_subcommand else (entry.name, 0)


def _match(entry: InventoryEntry, score: float) -> Match:
    return Match(entry.kind, entry.name, score, entry.source_hint)


def _merge(hits: _Hits, more: _Hits | None, factor: float) -> None:
    for number, weight in (more or {}).items():
        if weight * factor > hits.get(number, 0.0):
            hits[number] = weight * factor
