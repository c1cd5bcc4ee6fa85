"""Checkpoints an author declares: each an id and a rule that finds its event in a recording.

The rules stand in ``compare-checkpoints.json``, in the order of the path. A rule that finds nothing in the
demonstration, or finds its event before that of the rule above it, is wrong about the demonstration.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._text import trim
from clawperator.recording.compare.strategies.solax import VERIFIED_ELSEWHERE, BaselineCheckpoint, summarise
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


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which event is this checkpoint. In a pattern ``*`` stands for any text; case does not count."""

    id: Annotated[str, Meta(min_length=1, max_length=128)]
    type: Literal["window_change", "click", "scroll", "press_key", "text_change"]
    package: _Pattern | UnsetType = UNSET
    text: _Pattern | UnsetType = UNSET
    resourceId: _Pattern | UnsetType = UNSET
    pick: Literal["first", "last"] = "first"
    after: str | UnsetType = UNSET


class Declaration(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of declared checkpoints."""

    checkpoints: Annotated[tuple[Rule, ...], Meta(min_length=1, max_length=1_000)]


class Found(Struct, frozen=True):
    """What the rules found, in the order of the events; ``wrong`` says which rules do not fit."""

    checkpoints: tuple[BaselineCheckpoint, ...]
    wrong: tuple[str, ...]


_DECLARATION = msgspec.json.Decoder(Declaration)


def read_declaration(data: bytes) -> Declaration:
    """The declaration in ``data``; ``ValueError`` says what keeps it from being one."""
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
        if rule.id in known or rule.id == VERIFIED_ELSEWHERE:
            raise ValueError(f"the id {rule.id!r} is taken")
        if rule.after is not UNSET and rule.after not in known:
            raise ValueError(f"{rule.id!r} comes after {rule.after!r}, which is not declared above it")
        known.add(rule.id)
    return declaration


def declaration_beside(baseline_path: str) -> str | None:
    """The declaration that belongs to a baseline: in its folder, or in ``references`` there."""
    folder = os.path.dirname(baseline_path)
    for path in (os.path.join(folder, FILE_NAME), os.path.join(folder, "references", FILE_NAME)):
        if os.path.isfile(path):
            return path
    return None


def find_declared(declaration: Declaration, export: Export) -> Found:
    """The events the rules mean. A rule after one that found nothing looks from the beginning."""
    by_type: dict[str, list[tuple[int, ExportedEvent]]] = {}
    for i, event in enumerate(export.events):
        by_type.setdefault(event.kind, []).append((i, event))
    at: dict[str, int] = {}
    wrong: list[str] = []
    above: str | None = None
    for rule in declaration.checkpoints:
        start = -1 if rule.after is UNSET else at.get(rule.after, -1)
        fits = _fitting(rule, by_type.get(rule.type, ()), start)
        place = next(fits, None)
        if place is None:
            wrong.append(f"no event fits {rule.id}")
            continue
        if above is not None and place < at[above]:
            wrong.append(f"{rule.id} was shown before {above}")
        at[rule.id] = place
        above = rule.id
    events = export.events
    ordered = sorted(at.items(), key=lambda item: item[1])
    return Found(
        tuple(
            BaselineCheckpoint(name, events[i].seq, events[i].kind, summarise(events[i])) for name, i in ordered
        ),
        tuple(wrong),
    )


def _fitting(rule: Rule, events: Sequence[tuple[int, ExportedEvent]], after: int) -> Iterator[int]:
    """Where the events are that the rule fits, the one it picks first."""
    for i, event in reversed(events) if rule.pick == "last" else events:
        if i > after and _fits(rule, event):
            yield i


def _fits(rule: Rule, event: ExportedEvent) -> bool:
    if isinstance(event, ExportedPressKey):
        return rule.package is UNSET and rule.resourceId is UNSET and _any_like(rule.text, (event.key,))
    if isinstance(event, ExportedWindowChange):
        said: tuple[str | None, ...] = (event.title,)
        name = event.className
    else:
        name = event.resourceId
        said = (event.text,) if isinstance(event, ExportedTextChange) else ()
        if isinstance(event, ExportedClick):
            said = (event.text, event.contentDesc)
    return (
        _any_like(rule.package, (event.packageName,))
        and _any_like(rule.resourceId, (name,))
        and _any_like(rule.text, said)
    )


def _any_like(pattern: str | UnsetType, texts: tuple[str | None, ...]) -> bool:
    return pattern is UNSET or any(text is not None and like(pattern, text) for text in texts)


def like(pattern: str, text: str) -> bool:
    """Whether all of the text is like the pattern. Takes time in proportion to both, whatever they hold."""
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
