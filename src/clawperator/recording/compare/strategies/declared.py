"""Declared checkpoints: each is an id and a rule that finds its event in a recording.

The rules are in ``compare-checkpoints.json``, in the order of the path. A rule that matches no event of the
demonstration, or one before that of the rule above it, makes the declaration unusable.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._base.text import trim
from clawperator.recording.compare.strategies.checkpoints import (
    TERMINAL_CHECKPOINT,
    FoundCheckpoints,
    baseline_checkpoint,
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
    found = _find_events(declaration.checkpoints, export)
    problems: list[str] = []
    above: str | None = None
    for rule in declaration.checkpoints:
        place = found[rule.id]
        if place is None:
            problems.append(f"no event matches {rule.id}")
            continue
        before = found[above] if above is not None else None
        if before is not None and place[0] < before[0]:
            problems.append(f"{rule.id} comes before {above} in the demonstration")
        above = rule.id
    places = [(name, place) for name, place in found.items() if place is not None]
    ordered = sorted(places, key=lambda item: item[1][0])
    return FoundCheckpoints(
        tuple(baseline_checkpoint(name, event) for name, (_, event) in ordered), tuple(problems)
    )


# The position of an event, and the event.
_Place = tuple[int, ExportedEvent]


def _find_events(rules: Sequence[CheckpointRule], export: Export) -> dict[str, _Place | None]:
    """The event of each rule. The events may be many, so they are read in passes and not kept."""
    found: dict[str, _Place | None] = {}
    while len(found) < len(rules):
        _decide([rule for rule in rules if rule.id not in found], export, found)
    return {rule.id: found[rule.id] for rule in rules}


def _decide(rules: Sequence[CheckpointRule], export: Export, found: dict[str, _Place | None]) -> None:
    """Read the events once, and add the rules that are decided by that; the first one always is.

    A rule that picks the first event after another rule's event needs that event before its own. It is decided in
    a later pass if the other rule picks the last event, or has no match: both are known at the end only.
    """
    known = set(found)
    first, last = _candidates(rules, export, found)
    for rule in rules:
        after = None if rule.after is UNSET else rule.after
        if after is not None and after not in found:
            continue
        start = found[after] if after is not None else None
        if rule.pick == "last":
            place = last.get(rule.id)
            found[rule.id] = None if place is None or (start and place[0] <= start[0]) else place
        elif rule.id in first:
            found[rule.id] = first[rule.id]
        elif after is None or after in known or after in first:
            found[rule.id] = None


def _candidates(
    rules: Sequence[CheckpointRule], export: Export, found: Mapping[str, _Place | None]
) -> tuple[dict[str, _Place], dict[str, _Place]]:
    """The first event of each rule, after that of the rule it follows; and the last event of the others."""
    first: dict[str, _Place] = {}
    last: dict[str, _Place] = {}
    by_type: dict[str, list[CheckpointRule]] = {}
    for rule in rules:
        by_type.setdefault(rule.type, []).append(rule)
    for i, event in enumerate(export.events):
        for rule in by_type.get(event.kind, ()):
            if rule.pick == "last":
                if _matches(rule, event):
                    last[rule.id] = (i, event)
                continue
            start = -1
            if rule.after is not UNSET:
                if rule.after not in found and rule.after not in first:
                    continue
                above = found[rule.after] if rule.after in found else first[rule.after]
                start = -1 if above is None else above[0]
            if rule.id not in first and i > start and _matches(rule, event):
                first[rule.id] = (i, event)
    return first, last


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
