"""Screens as models get them: an outline, or the lines that changed since the last one, in a marked block.

Text of apps is inside quotes in an outline, and a line cannot contain a line end, so no app can end the block that
marks its text as data.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawperator.agent.ports import ScreenView

REPLACED = "[screen replaced by a later one]"
# An outline of more tokens is cut at whole lines, with a notice. A call of ``snapshot`` can ask for more.
_MOST_TOKENS = 3_000
OUTLINE: Mapping[str, Any] = {"view": "outline", "maxTokens": _MOST_TOKENS}


class ShownScreen(Struct, frozen=True):
    """A screen for a model. ``is_whole`` is False when only its changes are shown."""

    text: str
    is_whole: bool


def changes_since(snapshot_id: str) -> Mapping[str, Any]:
    """The parameters of a snapshot that shows what changed since an earlier one; without one, the outline."""
    return {**OUTLINE, "since": snapshot_id} if snapshot_id else OUTLINE


def show_screen(screen: ScreenView) -> ShownScreen:
    kind = "screen" if screen.is_whole else "changes"
    name = " ".join((kind, *(word for word in (screen.id, screen.package) if word), "untrusted"))
    return ShownScreen(f"<{name}>\n{screen.text}\n</{kind}>", screen.is_whole)
