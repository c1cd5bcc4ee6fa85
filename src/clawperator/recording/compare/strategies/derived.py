"""Checkpoints from the structure of any recording: apps opened, labelled clicks, committed texts, dialogs.

An id says what happened and to what, such as ``clicked:save`` or ``typed:search-box``; the second of its kind
ends in ``#2``. It stays the same whatever a keyboard, a repeated window or a click without a target adds to the
recording, and whatever value a label shows beside its name.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterator
from functools import lru_cache

from clawperator._text import is_blank
from clawperator.recording.actions import Moment, tell
from clawperator.recording.compare.strategies.solax import BaselineCheckpoint
from clawperator.recording.export import Export
from clawperator.recording.heuristics import is_launcher, is_vanished, name_of

STRATEGY = "derived"
_MAX_SLUG = 48
# A value, not a name: a share, a temperature, a time of day, a number with decimals.
_VALUE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*\s*[%°]\w?|\d+[.,:]\d+")
_NO_NAME = re.compile(r"[\W_]+")


def derive_checkpoints(export: Export) -> tuple[BaselineCheckpoint, ...]:
    """The checkpoints a demonstration stands for, in order, each with an id of its own."""
    # Scrolls and vanished clicks give none, and must not come between the events that do.
    events = [e for e in export.events if e.kind != "scroll" and not (e.kind == "click" and is_vanished(e))]
    seen: dict[str, int] = {}
    found = []
    for name, event_type, moment in _notable(tell(events)):
        seen[name] = times = seen.get(name, 0) + 1
        unique = name if times == 1 else f"{name}#{times}"
        summary = f"{event_type}:{moment.package}"
        if moment.label and moment.kind != "open_app":
            summary += f":{moment.label.lower()}"
        found.append(BaselineCheckpoint(unique, moment.last_seq, event_type, summary))
    return tuple(found)


def _notable(moments: list[Moment]) -> Iterator[tuple[str, str, Moment]]:
    """Each moment that is a checkpoint, with its name and the type of event it is seen by."""
    for moment in moments:
        if moment.kind == "open_app":
            yield f"opened:{moment.package}", "window_change", moment
        elif moment.kind == "dialog":
            yield f"dialog:{slug(moment.label)}", "window_change", moment
        elif moment.kind == "enter_text":
            if not is_blank(moment.text or ""):
                yield f"typed:{slug(moment.label) or 'text'}", "text_change", moment
        elif moment.kind == "choose_suggestion" and moment.confidence == "recorded":
            yield f"chose:{slug(name_of(moment.resource_id)) or 'suggestion'}", "click", moment
        elif moment.kind in ("click", "choose_suggestion") and moment.label and not is_launcher(moment.package):
            yield f"clicked:{_target(moment)}", "click", moment


def _target(click: Moment) -> str:
    """The click's label without values; the name of its element when the label is nothing but a value."""
    label = click.label
    name = name_of(click.resource_id)
    if name and not any(map(str.isalpha, label)):
        label = name
    return slug(label)


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
