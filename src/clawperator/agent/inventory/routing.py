"""Which commands and tools fit a prompt: by the words, offline, and the same each time.

A prompt falls into words; single letters and words that say nothing are left out, and n are left. A word hits an
entry when it stands in its name, an alias, a keyword, its responsibility or its source hint: as a whole word, by
its stem, by a synonym, or, if it has three characters or more, as a part of the name, the responsibility or the
source hint. A hit weighs as much as its place, times its way; of several the heaviest counts.

    place   name 1, alias and keyword 0.9, responsibility 0.5, source hint 0.2
    way     whole word 1, stem 0.8, synonym 0.7, part 0.4

With h words that hit, and w the mean of their weights:

    score = (h - 1 + 0.99 w) / n        0 < score < 1, rounded to four places

So what more words hit always has the higher score, and weights only decide among equals. A command that the
prompt begins with, by its name or an alias, has score 1 and comes first. Then come the best command, the best
tool, and all others by score, kind and name.
"""

from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct

from clawperator.agent.inventory.inventory import InventoryEntry, Kind
from clawperator.agent.inventory.tokens import SYNONYMS, chunks, plain_words, stem, tokens
from clawperator.errors import ClawError

_NAME, _ALIAS, _KEYWORD, _RESPONSIBILITY, _SOURCE = 1.0, 0.9, 0.9, 0.5, 0.2
_STEM, _SYNONYM, _PART = 0.8, 0.7, 0.4
_BELOW_EXPLICIT = 0.99
_EXPLICIT = 1.0
_DIGITS = 4
_SHORTEST_PART = 3
_LONGEST_NAME_WORDS = 5
_LOOKED_AT = 1_024
_ENDS = ".,;:!?"

# What hits what: the place of an entry, and the weight of its best hit.
_Hits = dict[int, float]


class Match(Struct, frozen=True):
    """An entry that fits, and how well, from 0 to 1."""

    kind: Kind
    name: str
    score: float
    source_hint: str


class Router:
    """An index over entries, made once. Routing only reads it."""

    def __init__(self, entries: Iterable[InventoryEntry]) -> None:
        self._entries = tuple(entries)
        self._commands = _called(self._entries)
        self._whole: dict[str, _Hits] = {}
        self._stems: dict[str, _Hits] = {}
        pieces: dict[str, _Hits] = {}
        for number, entry in enumerate(self._entries):
            self._add(number, entry, pieces)
        for word, hits in self._whole.items():
            _merge(self._stems.setdefault(stem(word), {}), hits, _STEM)
        # All pieces in one text: finding a part of any is one search.
        self._text = "\n".join(pieces)
        self._pieces = tuple(pieces.values())
        self._starts: list[int] = []
        start = 0
        for piece in pieces:
            self._starts.append(start)
            start += len(piece) + 1

    def _add(self, number: int, entry: InventoryEntry, pieces: dict[str, _Hits]) -> None:
        searched = ((entry.name, _NAME), (entry.responsibility, _RESPONSIBILITY), (entry.source_hint, _SOURCE))
        for text, weight in searched:
            for piece in chunks(text):
                _hit(pieces.setdefault(piece, {}), number, weight * _PART)
        said = (*((alias, _ALIAS) for alias in entry.aliases), *((word, _KEYWORD) for word in entry.keywords))
        for text, weight in (*searched, *said):
            for word in {*chunks(text), *plain_words(text)}:
                _hit(self._whole.setdefault(word, {}), number, weight)

    def route(self, prompt: str, limit: int = 5) -> list[Match]:
        """What fits a prompt, the best first, ``limit`` at most. ``USAGE`` when the limit is below 0."""
        if limit < 0:
            raise ClawError(
                "USAGE",
                f"the limit must be 0 or more, not {limit}",
                hint="Run it again with --limit 5.",
                operation="route",
                target="--limit",
            )
        explicit = self._explicit(prompt) if limit else None
        scored = self._scored(prompt) if limit else []
        matches = sorted(
            (_match(self._entries[number], score) for number, score in scored if number != explicit),
            key=lambda match: (-match.score, match.kind, match.name),
        )
        firsts = [_match(self._entries[explicit], _EXPLICIT)] if explicit is not None else []
        for kind in ("command", "tool"):
            best = next((place for place, match in enumerate(matches) if match.kind == kind), None)
            if best is not None:
                firsts.append(matches.pop(best))
        return [*firsts, *matches][:limit]

    def _explicit(self, prompt: str) -> int | None:
        """The command a prompt begins with; of several the one with the longest name."""
        words = prompt.lstrip()[:_LOOKED_AT].removeprefix("/").casefold().split()[:_LONGEST_NAME_WORDS]
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
        if len(word) >= _SHORTEST_PART:
            place = self._text.find(word)
            while place >= 0:
                piece = bisect_right(self._starts, place) - 1
                _merge(hits, self._pieces[piece], 1.0)
                if piece + 1 == len(self._starts):
                    break
                place = self._text.find(word, self._starts[piece + 1])
        return hits


def _called(entries: tuple[InventoryEntry, ...]) -> dict[str, int]:
    """The commands by all they are called; names count before aliases, and the first of equals."""
    called: dict[str, int] = {}
    commands = [(number, entry) for number, entry in enumerate(entries) if entry.kind == "command"]
    for number, entry in commands:
        called.setdefault(entry.name.casefold(), number)
    for number, entry in commands:
        for alias in entry.aliases:
            called.setdefault(alias.casefold(), number)
    return called


def _match(entry: InventoryEntry, score: float) -> Match:
    return Match(entry.kind, entry.name, score, entry.source_hint)


def _hit(hits: _Hits, number: int, weight: float) -> None:
    if weight > hits.get(number, 0.0):
        hits[number] = weight


def _merge(hits: _Hits, more: _Hits | None, factor: float) -> None:
    for number, weight in (more or {}).items():
        if weight * factor > hits.get(number, 0.0):
            hits[number] = weight * factor
