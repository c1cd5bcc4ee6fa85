"""The checkpoints of a baseline, by one of three strategies: declared, derived, or the SolaX flow."""

import re
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._base.text import is_blank, printable, trim
from clawperator.recording.actions import AppOpened, UserAction, UserTap, UserText, WindowShown, read_actions
from clawperator.recording.export import (
    Export,
    ExportedClick,
    ExportedEvent,
    ExportedPressKey,
    ExportedTextChange,
    ExportedWindowChange,
    decode_document,
    main_package,
)
from clawperator.recording.heuristics import id_name, is_launcher

# A run may repeat its terminal verification under this id; it is not part of the path.
TERMINAL_CHECKPOINT = "terminal_state_verified"


class BaselineCheckpoint(Struct, frozen=True, gc=False):
    """One checkpoint of a demonstration, and the event that proves it; ``text`` is what a text change entered."""

    id: str
    seq: int | float
    event_type: str
    summary: str
    text: str | None = None


class FoundCheckpoints(Struct, frozen=True):
    """The checkpoints of a demonstration in order. ``problems`` are the reasons why nothing can be compared."""

    checkpoints: tuple[BaselineCheckpoint, ...]
    problems: tuple[str, ...] = ()


def _event_summary(event: ExportedEvent) -> str:
    """One line that identifies the event of a checkpoint."""
    if isinstance(event, ExportedPressKey):
        return f"press_key:{event.key}"
    if isinstance(event, ExportedWindowChange):
        return f"window_change:{event.packageName}"
    names = [event.text, event.contentDesc] if isinstance(event, ExportedClick) else []
    labels = (trim(name).lower() for name in (*names, event.resourceId) if name)
    return f"{event.kind}:{event.packageName}:{next(filter(None, labels), f'seq-{event.seq}')}"


def _baseline_checkpoint(name: str, event: ExportedEvent) -> BaselineCheckpoint:
    """The checkpoint that an event of an export proves."""
    text = event.text if isinstance(event, ExportedTextChange) else None
    return BaselineCheckpoint(name, event.seq, event.kind, _event_summary(event), text)


def find_checkpoints(export: Export, strategy: str, declaration: "Declaration | None") -> FoundCheckpoints:
    """The checkpoints of a demonstration by a strategy; ``declared`` needs the declaration."""
    if strategy == "derived":
        return FoundCheckpoints(derive_checkpoints(export))
    if strategy == "declared":
        assert declaration is not None
        return find_declared_checkpoints(declaration, export)
    return find_solax_checkpoints(export)


# Declared checkpoints: each is an id and a rule that finds its event in a recording
#
# The rules are in ``compare-checkpoints.json``, in the order of the path. A rule that matches no event of the
# demonstration, or one before that of the rule above it, makes the declaration unusable.

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
    declaration = decode_document(_DECLARATION.decode, data)
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
    checkpoints = tuple(_baseline_checkpoint(name, event) for name, (_, event) in ordered)
    return FoundCheckpoints(checkpoints, tuple(problems))


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


# Derived checkpoints, from the user actions of any recording: apps opened, labelled taps, texts, dialogs
#
# An id names what happened and its target, such as ``clicked:save`` or ``typed:search-box``; the second of its
# kind ends in ``#2``. A keyboard, a repeated window or a click without a target does not change the ids of a
# recording, and neither does the value that a label shows beside its name.

_MAX_SLUG = 48
# A value, not a name: a percentage, a temperature, a time of day, a number with decimals.
_VALUE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*\s*[%°]\w?|\d+[.,:]\d+")
_NOT_WORD = re.compile(r"[\W_]+")
NONE_FOUND = "the demonstration opens no app, clicks nothing with a label and types nothing"


def derive_checkpoints(export: Export) -> tuple[BaselineCheckpoint, ...]:
    """The checkpoints of a demonstration, in order, each with an id of its own."""
    return tuple(name_checkpoints(read_actions(export.events)))


def name_checkpoints(actions: Iterable[UserAction], like: Sequence[str] = ()) -> Iterator[BaselineCheckpoint]:
    """The checkpoints of the actions that have one."""
    return filter(None, map(CheckpointNamer(like).checkpoint_of, actions))


class CheckpointNamer:
    """Gives the actions of a recording, in order, their checkpoints.

    ``like`` are the ids of another recording: one at the same place is kept once for both.
    """

    def __init__(self, like: Sequence[str] = ()) -> None:
        self._like = like
        self._count = 0
        self._seen: dict[str, int] = {}

    def checkpoint_of(self, action: UserAction) -> BaselineCheckpoint | None:
        """The checkpoint of an action; None when it has none, as a tap whose target had vanished."""
        found = None if action.merged else _checkpoint(action)
        if found is None:
            return None
        name, event_type, label = found
        other = self._like[self._count] if self._count < len(self._like) else ""
        self._count += 1
        if name == other:
            name = other
        self._seen[name] = times = self._seen.get(name, 0) + 1
        numbered = name if times == 1 else f"{name}#{times}"
        return BaselineCheckpoint(
            other if numbered == other else numbered,
            action.last_seq,
            event_type,
            _summary(event_type, action.package, label),
            action.text if isinstance(action, UserText) else None,
        )


def _checkpoint(action: UserAction) -> tuple[str, str, str] | None:
    """The id, event type and label of an action's checkpoint."""
    if isinstance(action, UserTap):
        label = action.label
        if not label or action.is_vanished:
            return None
        if action.filled and action.typed_before is not None:
            return f"chose:{slug(id_name(action.typed_before.field)) or 'suggestion'}", "click", label
        if is_launcher(action.package):
            return None
        return f"clicked:{_target_slug(label, action.click.resourceId)}", "click", label
    if isinstance(action, WindowShown):
        if action.role != "dialog":
            return None
        label = trim(action.title or "")
        return f"dialog:{slug(label)}", "window_change", label
    if isinstance(action, UserText):
        label = id_name(action.field)
        return None if is_blank(action.text) else (f"typed:{slug(label) or 'text'}", "text_change", label)
    if isinstance(action, AppOpened):
        return f"opened:{action.package}", "window_change", ""
    return None


@lru_cache(4_096)
def _summary(event_type: str, package: str, label: str) -> str:
    return f"{event_type}:{package}:{label.lower()}" if label else f"{event_type}:{package}"


@lru_cache(4_096)
def _target_slug(label: str, resource_id: str | None) -> str:
    """A tap's target. A label that is nothing but a value changes; the name of its element does not."""
    name = id_name(resource_id)
    return slug(name if name and not any(map(str.isalpha, label)) else label)


@lru_cache(4_096)
def slug(label: str) -> str:
    """A label as a part of an id: lower case, words joined by dashes, in any script."""
    text = unicodedata.normalize("NFKC", label).casefold()
    words = _NOT_WORD.sub("-", _VALUE.sub(" ", text)).strip("-") or _NOT_WORD.sub("-", text).strip("-")
    if not words:  # nothing but symbols, such as a plus
        words = "-".join(f"u{ord(c):x}" for c in text if not c.isspace())
    if len(words) > _MAX_SLUG:
        words = f"{words[:_MAX_SLUG].rstrip('-')}-{zlib.crc32(words.encode('utf-8', 'replace')):08x}"
    return words


def checkpoint_sentence(name: str, label: str = "", text: str | None = None) -> str:
    """A checkpoint for people. ``label`` and ``text`` are those of its step, where that is known."""
    base, _, times = name.partition("#")
    kind, _, words = base.partition(":")
    target = label or words.replace("-", " ")
    match kind:
        case "opened" if words:
            sentence = f"Opened {words}"
        case "clicked" if words:
            sentence = f"Clicked '{target}'"
        case "chose" if words:
            sentence = f"Chose '{label}'" if label else f"Chose a suggestion for {target}"
        case "typed" if words:
            what = "" if text is None else f" '{text}'"
            sentence = f"Typed{what} into {label or ('a field' if words == 'text' else target)}"
        case "dialog" if words:
            sentence = f"The dialog '{target}' appeared"
        case _:
            return re.sub(r"[_-]+", " ", name).strip().capitalize() or name
    return printable(f"{sentence}, time {times}" if times else sentence)


# The SolaX heuristic: the checkpoints of the solar app's discharge-limit flow
#
# The rules read the fields of each event, never the snapshots, so an export has the same checkpoints with and
# without them.

SOLAR_PACKAGE = "com.solaxcloud.starter"
REQUIRED = ("app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed")
MINIMUM_SEMANTIC_COVERAGE = 2


def find_solax_checkpoints(export: Export) -> FoundCheckpoints:
    """The checkpoints found in a demonstration, in the order of ``REQUIRED``. All of them must be found."""
    checkpoints = tuple(
        _baseline_checkpoint(name, event)
        for name, event in zip(REQUIRED, _required_events(export), strict=True)
        if event is not None
    )
    if len(checkpoints) < len(REQUIRED):
        return FoundCheckpoints(checkpoints, (_problem(export, {c.id for c in checkpoints}),))
    return FoundCheckpoints(checkpoints)


def _problem(export: Export, found: Collection[str]) -> str:
    package = main_package(export.events)
    if package != SOLAR_PACKAGE:
        where = f"of {package}" if package else "of no app"
        return f"the demonstration is {where}, and the rules solax_heuristic are for {SOLAR_PACKAGE}"
    missing = [name for name in REQUIRED if name not in found]
    return f"the demonstration has no event for {', '.join(missing)}"


def _required_events(export: Export) -> tuple[ExportedEvent | None, ...]:
    """The event of each required checkpoint; None where there is none."""
    if main_package(export.events) != SOLAR_PACKAGE:
        return (None,) * len(REQUIRED)
    window = row = text = save = confirm = None
    for event in export.events:
        if isinstance(event, ExportedPressKey) or event.packageName != SOLAR_PACKAGE:
            continue
        if isinstance(event, ExportedWindowChange):
            window = window or event
        elif isinstance(event, ExportedTextChange):
            text = text if is_blank(event.text) else event
        elif isinstance(event, ExportedClick):
            row = row or (event if _mentions(event, "discharge") else None)
            save = event if _mentions(event, "save") else save
            confirm = event if _mentions(event, "confirm") else confirm
    return window, row, text, save or confirm


def _mentions(click: ExportedClick, word: str) -> bool:
    fields = (click.packageName, click.resourceId, click.text, click.contentDesc)
    return any(word in field.lower() for field in fields if field)
