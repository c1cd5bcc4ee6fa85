"""Checkpoints from the structure of any recording: apps opened, labelled clicks, committed texts, dialogs.

An id says what happened and to what, such as ``clicked:save`` or ``typed:search-box``; the second of its kind
ends in ``#2``. It stays the same whatever a keyboard, a repeated window or a click without a target adds to the
recording, and whatever value a label shows beside its name.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

from clawperator._text import is_blank, trim
from clawperator.recording.actions import read_actions
from clawperator.recording.compare.strategies.solax import BaselineCheckpoint
from clawperator.recording.export import Export
from clawperator.recording.heuristics import id_name, is_launcher
from clawperator.recording.user_actions import AppOpened, UserAction, UserTap, UserText, WindowShown

_MAX_SLUG = 48
# A value, not a name: a share, a temperature, a time of day, a number with decimals.
_VALUE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*\s*[%°]\w?|\d+[.,:]\d+")
_NO_NAME = re.compile(r"[\W_]+")


def derive_checkpoints(export: Export) -> tuple[BaselineCheckpoint, ...]:
    """The checkpoints of a demonstration, in order, each with an id of its own."""
    return tuple(point for point, _ in checkpoints_by_action(read_actions(export.events)))


def checkpoints_by_action(actions: Iterable[UserAction]) -> Iterator[tuple[BaselineCheckpoint, UserAction]]:
    """Each checkpoint with the action it stands for. A tap whose target had vanished is none."""
    seen: dict[str, int] = {}
    for action in actions:
        found = None if action.merged else _checkpoint(action)
        if found is None:
            continue
        name, event_type, label = found
        seen[name] = times = seen.get(name, 0) + 1
        summary = f"{event_type}:{action.package}"
        if label:
            summary += f":{label.lower()}"
        point = BaselineCheckpoint(name if times == 1 else f"{name}#{times}", action.last_seq, event_type, summary)
        yield point, action


def _checkpoint(action: UserAction) -> tuple[str, str, str] | None:
    """The id of an action's checkpoint, the type of its event and its label; None when it is no checkpoint."""
    if isinstance(action, UserTap):
        return _tapped(action)
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


def _tapped(tap: UserTap) -> tuple[str, str, str] | None:
    label = tap.label
    if tap.is_vanished or not label:
        return None
    if tap.filled and tap.typed_before is not None:
        return f"chose:{slug(id_name(tap.typed_before.field)) or 'suggestion'}", "click", label
    if is_launcher(tap.package):
        return None
    # A label that is nothing but a value changes; the name of its element does not.
    name = id_name(tap.click.resourceId)
    shown = name if name and not any(map(str.isalpha, label)) else label
    return f"clicked:{slug(shown)}", "click", label


@lru_cache(4_096)
def slug(label: str) -> str:
    """A label as a part of an id: lower case, words joined by dashes, in any script."""
    text = unicodedata.normalize("NFKC", label).casefold()
    words = _NO_NAME.sub("-", _VALUE.sub(" ", text)).strip("-") or _NO_NAME.sub("-", text).strip("-")
    if not words:  # nothing but signs, such as a plus
        words = "-".join(f"u{ord(c):x}" for c in text if not c.isspace())
    if len(words) > _MAX_SLUG:
        words = f"{words[:_MAX_SLUG].rstrip('-')}-{zlib.crc32(words.encode('utf-8', 'replace')):08x}"
    return words
