"""Screen fingerprints: the resource ids and labels of a screen, and how many of them another screen has too."""

from msgspec import Struct

from clawperator.api.snapshot import Snapshot
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.roles import role_of
from clawperator.ui.visible import visible_nodes

# The part of the recorded marks that must be on the live screen.
MIN_SIMILARITY = 0.5
# A single label may be on any screen; a resource id belongs to one app.
_MIN_IDS, _MIN_MARKS = 1, 2
# Every dialog has the ids of this package, whatever it shows.
SHARED_IDS = "android:"
_MAX_MARKS = 400
_MAX_MARK_LENGTH = 120


class ScreenMarks(Struct, frozen=True):
    """The visible resource ids and labels. The content of text fields is left out."""

    ids: frozenset[str]
    labels: frozenset[str]

    def similarity(self, other: "ScreenMarks", title: str | None = None) -> float:
        """The part of these marks that ``other`` has, by ids or by all marks; 1 if there are too few.

        Feeds show other labels each day under the same ids, and web pages have labels and no ids. But if the
        window's title was on the screen and is not on ``other``, ids alone do not count: pages share them.
        """
        title_is_gone = title in self.labels and title not in other.labels
        by_ids = None if title_is_gone else _part(self.ids, other.ids, _MIN_IDS)
        by_all = _part(self.ids | self.labels, other.ids | other.labels, _MIN_MARKS)
        return max((part for part in (by_ids, by_all) if part is not None), default=1.0)


def _part(wanted: frozenset[str], found: frozenset[str], minimum: int) -> float | None:
    return len(wanted & found) / len(wanted) if len(wanted) >= minimum else None


def screen_marks(screen: Snapshot) -> ScreenMarks:
    """The marks of a screen. ``HIERARCHY_INVALID`` when its hierarchy cannot be read."""
    ids: set[str] = set()
    labels: set[str] = set()
    for node in visible_nodes(screen.hierarchy, screen.frame):
        if len(ids) + len(labels) >= _MAX_MARKS:
            break
        if node.resource_id and not node.resource_id.startswith(SHARED_IDS):
            ids.add(node.resource_id)
        if node.label and not is_text_field(node):
            labels.add(node.label[:_MAX_MARK_LENGTH])
    return ScreenMarks(frozenset(ids), frozenset(labels))


def recorded_screen(xml: str | None) -> Snapshot | None:
    """The screen an event was recorded with; None when there is none, or none that can be read."""
    if not xml:
        return None
    screen = Snapshot(xml, None, None, 0)
    try:
        return screen if screen.hierarchy.nodes else None
    except ClawError:
        return None


def is_text_field(node: Node) -> bool:
    return role_of(node) == "textfield" or node.flag("password")
