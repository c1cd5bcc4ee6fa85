"""Derived checkpoints, from the user actions of any recording: apps opened, labelled taps, texts, dialogs.

An id names what happened and its target, such as ``clicked:save`` or ``typed:search-box``; the second of its kind
ends in ``#2``. A keyboard, a repeated window or a click without a target does not change the ids of a recording,
and neither does the value that a label shows beside its name.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from clawperator._base.text import is_blank, printable, trim
from clawperator.recording.actions import read_actions
from clawperator.recording.compare.strategies.checkpoints import BaselineCheckpoint, FoundCheckpoints
from clawperator.recording.export import Export
from clawperator.recording.heuristics import id_name, is_launcher
from clawperator.recording.user_actions import AppOpened, UserAction, UserTap, UserText, WindowShown

_MAX_SLUG = 48
# A value, not a name: a percentage, a temperature, a time of day, a number with decimals.
_VALUE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*\s*[%°]\w?|\d+[.,:]\d+")
_NOT_WORD = re.compile(r"[\W_]+")


NONE_FOUND = "the demonstration opens no app, clicks nothing with a label and types nothing"


def derive_checkpoints(export: Export) -> tuple[BaselineCheckpoint, ...]:
    """The checkpoints of a demonstration, in order, each with an id of its own."""
    return find_derived_checkpoints(read_actions(export.events)).checkpoints


def find_derived_checkpoints(actions: Iterable[UserAction]) -> FoundCheckpoints:
    checkpoints = tuple(filter(None, checkpoints_of(actions)))
    return FoundCheckpoints(checkpoints, () if checkpoints else (NONE_FOUND,))


def checkpoints_of(actions: Iterable[UserAction], like: Sequence[str] = ()) -> Iterator[BaselineCheckpoint | None]:
    """For each action its checkpoint; None when it has none, as a tap whose target had vanished."""
    namer = CheckpointNamer(like)
    return (namer.checkpoint_of(action) for action in actions)


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
