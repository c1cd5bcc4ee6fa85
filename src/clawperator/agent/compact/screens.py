"""Screens as models get them: the whole outline once, then only the lines that changed.

Text of apps is inside quotes in an outline, and a line cannot contain a line end, so no app can end the block that
marks its text as data.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from clawperator.agent.ports import ScreenView

REPLACED = "[screen replaced by a later one]"
# A list of changes longer than this part of the outline is replaced by the outline: it is easier to read.
_MOST_CHANGED = 0.6
_REFERENCE = re.compile(r" *(e\d+) ")


class ShownScreen(Struct, frozen=True):
    """A screen for a model. ``is_whole`` is False when only its changes are shown."""

    text: str
    is_whole: bool


class ScreenMemory:
    """The screen that a model has seen last."""

    def __init__(self) -> None:
        self._last: ScreenView | None = None

    def whole(self, screen: ScreenView) -> ShownScreen:
        """The whole outline."""
        self._last = screen
        return ShownScreen(_block("screen", screen, screen.lines), is_whole=True)

    def changes(self, screen: ScreenView) -> ShownScreen:
        """The lines that differ from the screen before; the whole outline where most of it differs."""
        before = self._last
        if before is None or before.package != screen.package:
            return self.whole(screen)
        lines = changed_lines(before.lines, screen.lines)
        if _size(lines) > _MOST_CHANGED * _size(screen.lines):
            return self.whole(screen)
        self._last = screen
        if not lines:
            return ShownScreen("The screen is the same as before.", is_whole=False)
        return ShownScreen(_block("changes", screen, lines), is_whole=False)


def changed_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """``+`` for each added line, ``~`` for each changed one, and ``-`` for each removed one.

    A line is the same when its reference is; without one, when its text is.
    """
    known = {_key(line): line.strip() for line in before}
    lines = []
    for line in after:
        earlier = known.pop(_key(line), None)
        if earlier is None:
            lines.append(f"+{line}")
        elif earlier != line.strip():
            lines.append(f"~{line}")
    return lines + [f"-{key if _is_reference(key) else line}" for key, line in known.items()]


def _key(line: str) -> str:
    found = _REFERENCE.match(line)
    return found[1] if found else line.strip()


def _is_reference(key: str) -> bool:
    return _REFERENCE.match(f"{key} ") is not None and " " not in key


def _block(kind: str, screen: ScreenView, lines: Sequence[str]) -> str:
    name = " ".join((kind, *(word for word in (screen.id, screen.package) if word)))
    return "\n".join((f"<{name}>", *lines, f"</{kind}>"))


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)
