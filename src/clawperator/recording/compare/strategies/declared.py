"""Declared checkpoints: each is an id and a rule that finds its event in a recording.

The rules are in ``compare-checkpoints.json``, in the order of the path. A rule that matches no event of the
demonstration, or one before that of the rule above it, makes the declaration unusable.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._text import trim
from clawperator.recording.compare.strategies import (
    TERMINAL_CHECKPOINT,
    BaselineCheckpoint,
    FoundCheckpoints,
    event_summary,
)
from clawperator.recording.export import (
    Export,
    ExportedClick,
    ExportedEvent,
    ExportedPressKey,
    ExportedTextChange,
    ExportedWindowChange,
)

FILE_NAME = "compare-checkpoints.json"

_Pattern = Annotated[str, Meta(min_length=1, max_length=512)]


class CheckpointRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which event is this checkpoint. In a pattern ``*`` matches any text; case is ignored."""

    id: Annotated[str, Meta(min_length=1, max_length=128)]
    type: Literal["window_change", "click", "scroll", "press_key", "text_change"]
    package: _Pattern | UnsetType = UNSET
    text: _Pattern | UnsetType = UNSET
    resourceId: _Pattern | UnsetType = UNSET
    pick: Literal["first", "last"] = "first"
    after: str | UnsetType = UNSET


class Declaration(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of declared checkpoints."""

    checkpoints: Annotated[tuple[CheckpointRule, ...], Meta(min_length=1, max_length=1_000)]


_DECLARATION = msgspec.json.Decoder(Declaration)


def read_declaration(data: bytes) -> Declaration:
    """The declaration in ``data``; ``ValueError`` with the reason when it is none."""
    try:
        declaration = _DECLARATION.decode(data)
    except UnicodeDecodeError:
        raise ValueError("not valid UTF-8") from None
    except msgspec.DecodeError as e:
        raise ValueError(str(e).replace("`", "")) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    known = set[str]()
    for rule in declaration.checkpoints:
        if rule.id in known or rule.id == TERMINAL_CHECKPOINT:
            raise ValueError(f"the id {rule.id!r} is already used")
        if rule.after is not UNSET and rule.after not in known:
            raise ValueError(f"{rule.id!r} refers to {rule.after!r}, which is not declared above it")
        known.add(rule.id)
    return declaration


def find_declared_checkpoints(declaration: Declaration, export: Export) -> FoundCheckpoints:
    """The events the rules match. A rule after one without a match searches from the beginning."""
    by_type: dict[str, list[tuple[int, ExportedEvent]]] = {}
    for i, event in enumerate(export.events):
        by_type.setdefault(event.kind, []).append((i, event))
    at: dict[str, int] = {}
    problems: list[str] = []
    above: str | None = None
    for rule in declaration.checkpoints:
        start = -1 if rule.after is UNSET else at.get(rule.after, -1)
        position = next(_matching(rule, by_type.get(rule.type, ()), start), None)
        if position is None:
            problems.append(f"no event matches {rule.id}")
            continue
        if above is not None and position < at[above]:
            problems.append(f"{rule.id} comes before {above} in the demonstration")
        at[rule.id] = position
        above = rule.id
    events = export.events
    ordered = sorted(at.items(), key=lambda item: item[1])
    return FoundCheckpoints(
        tuple(
            BaselineCheckpoint(name, events[i].seq, events[i].kind, event_summary(events[i]))
            for name, i in ordered
        ),
        tuple(problems),
    )


def _matching(rule: CheckpointRule, events: Sequence[tuple[int, ExportedEvent]], after: int) -> Iterator[int]:
    """The positions of the events that the rule matches, the one it picks first."""
    for i, event in reversed(events) if rule.pick == "last" else events:
        if i > after and _matches(rule, event):
            yield i


def _matches(rule: CheckpointRule, event: ExportedEvent) -> bool:
    if isinstance(event, ExportedPressKey):
        return rule.package is UNSET and rule.resourceId is UNSET and _any_matches(rule.text, (event.key,))
    if isinstance(event, ExportedWindowChange):
        texts: tuple[str | None, ...] = (event.title,)
        name = event.className
    else:
        name = event.resourceId
        texts = (event.text,) if isinstance(event, ExportedTextChange) else ()
        if isinstance(event, ExportedClick):
            texts = (event.text, event.contentDesc)
    return (
        _any_matches(rule.package, (event.packageName,))
        and _any_matches(rule.resourceId, (name,))
        and _any_matches(rule.text, texts)
    )


def _any_matches(pattern: str | UnsetType, texts: tuple[str | None, ...]) -> bool:
    return pattern is UNSET or any(text is not None and matches_pattern(pattern, text) for text in texts)


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether the whole text matches the pattern, in time proportional to the length of both."""
    first, *middle = trim(pattern).casefold().split("*")
    text = trim(text).casefold()
    if not middle:
        return text == first
    last = middle.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
