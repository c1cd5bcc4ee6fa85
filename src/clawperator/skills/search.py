"""Finding skills by app, intent or words, the best first."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_WORDS = re.compile(r"[^a-z0-9]+")
_NO_MATCH = 7


def search(
    entries: Iterable[Mapping[str, Any]],
    *,
    app: str | None = None,
    intent: str | None = None,
    keyword: str | None = None,
) -> list[Mapping[str, Any]]:
    """The skills that fit all that is given. With a keyword the best come first; equals keep their order."""
    found = [
        entry
        for entry in entries
        if (app is None or entry.get("applicationId") == app) and (intent is None or entry.get("intent") == intent)
    ]
    if keyword is None:
        return found
    ranked = [(rank(entry, keyword), entry) for entry in found]
    return [entry for place, entry in sorted(ranked, key=lambda pair: pair[0]) if place < _NO_MATCH]


def rank(entry: Mapping[str, Any], keyword: str) -> int:
    """How well a skill fits a keyword, 0 the best; ``_NO_MATCH`` when it does not.

    A declared keyword counts before the id and the app, and those before the summary; a whole word counts before
    a part of one.
    """
    wanted = keyword.strip().lower()
    words = _tokens(wanted)
    keywords = [str(word).lower() for word in _listed(entry.get("keywords"))]
    names = [str(entry.get(name, "")).lower() for name in ("id", "applicationId")]
    tests = (
        wanted in keywords,
        bool(words) and words <= {token for word in keywords for token in _tokens(word)},
        wanted in names,
        bool(words) and any(words <= _tokens(name) for name in names),
        any(wanted in word for word in keywords),
        any(wanted in name for name in names),
        wanted in str(entry.get("summary", "")).lower(),
    )
    return next((place for place, fits in enumerate(tests) if fits), _NO_MATCH)


def _tokens(text: str) -> set[str]:
    return set(filter(None, _WORDS.split(text)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
