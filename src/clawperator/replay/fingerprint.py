"""What a screen is known by: the ids and the words on it, and how many of them another screen has too."""

from msgspec import Struct

from clawperator.connection.snapshot import Snapshot
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from clawperator.ui.roles import role
from clawperator.ui.visible import visible

# Half of what was there must be there again.
ENOUGH = 0.5
# One word alone may stand anywhere; an id is of this app.
_FEWEST_IDS, _FEWEST_MARKS = 1, 2
# Every dialog has these ids, whatever it asks.
SHARED_IDS = "android:"
_MOST_MARKS = 400
_LONGEST_MARK = 120


class Landmarks(Struct, frozen=True):
    """The ids and labels that could be seen. What stands in a text field is no mark of a screen."""

    ids: frozenset[str]
    labels: frozenset[str]

    def seen_in(self, other: "Landmarks", title: str | None = None) -> float:
        """The part of these that ``other`` has, by ids or by all marks, whichever is more; 1 if there are too few.

        Feeds show other words each day under the same ids, and pages of the web have words and no ids. But where
        the window's title was to be read and no longer is, ids do not count alone: the pages of an app share them.
        """
        is_untitled = title in self.labels and title not in other.labels
        by_ids = None if is_untitled else _part(self.ids, other.ids, _FEWEST_IDS)
        by_all = _part(self.ids | self.labels, other.ids | other.labels, _FEWEST_MARKS)
        told = [part for part in (by_ids, by_all) if part is not None]
        return max(told, default=1.0)


def _part(wanted: frozenset[str], there: frozenset[str], fewest: int) -> float | None:
    return len(wanted & there) / len(wanted) if len(wanted) >= fewest else None


def landmarks(screen: Snapshot) -> Landmarks:
    """The marks of a screen. ``HIERARCHY_INVALID`` when it is none."""
    ids: set[str] = set()
    labels: set[str] = set()
    for node in visible(screen.hierarchy, screen.frame):
        if len(ids) + len(labels) >= _MOST_MARKS:
            break
        if node.resource_id and not node.resource_id.startswith(SHARED_IDS):
            ids.add(node.resource_id)
        if node.label and not is_field(node):
            labels.add(node.label[:_LONGEST_MARK])
    return Landmarks(frozenset(ids), frozenset(labels))


def recorded_screen(xml: str | None) -> Snapshot | None:
    """The screen an event was recorded with; None when there is none, or none that can be read."""
    if not xml:
        return None
    screen = Snapshot(xml, None, None, 0)
    try:
        return screen if screen.hierarchy.nodes else None
    except ClawError:
        return None


def is_field(node: Node) -> bool:
    """Whether a person could type into it."""
    return role(node) == "textfield" or node.flag("password")
