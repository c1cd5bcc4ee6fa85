"""The screen at one moment, as XML and as a tree to search."""

from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from msgspec import Struct

from clawperator.connection.results import number, told
from clawperator.connection.selectors import Marks, require_matcher
from clawperator.contract.results import StepResult

if TYPE_CHECKING:
    from clawperator.ui.node import Bounds, Hierarchy, Node


class Snapshot(Struct, frozen=True, dict=True):
    """What was on the screen. The XML is parsed when the tree is first asked for.

    ``package`` is the app in front, ``overlay_package`` the one that lies over it, if the phone told them.
    """

    xml: str
    package: str | None
    overlay_package: str | None
    window_count: int

    def __str__(self) -> str:
        return self.xml

    @cached_property
    def hierarchy(self) -> "Hierarchy":
        """The tree. ``HIERARCHY_INVALID`` when the phone's XML is none."""
        from clawperator.ui.parse import parse_hierarchy

        return parse_hierarchy(self.xml)

    @cached_property
    def frame(self) -> "Bounds":
        """What the windows cover."""
        from clawperator.ui.node import NOWHERE, Bounds

        roots = [root.bounds.normalised() for root in self.hierarchy.roots]
        if not roots:
            return NOWHERE
        return Bounds(
            min(b.left for b in roots),
            min(b.top for b in roots),
            max(b.right for b in roots),
            max(b.bottom for b in roots),
        )

    def find(self, text: str | None = None, **marks: Unpack[Marks]) -> "Node | None":
        """The first visible node that is meant, as an action would find it."""
        return next(iter(self.find_all(text, **marks)), None)

    def find_all(self, text: str | None = None, **marks: Unpack[Marks]) -> list["Node"]:
        """Every visible node that is meant, depth first."""
        from clawperator.contract.selectors import NodeMatcher
        from clawperator.ui.match import find_all

        matcher = NodeMatcher(**require_matcher(text, marks, "find"))
        return find_all(self.hierarchy, matcher, self.frame)

    def shows(self, text: str | None = None, **marks: Unpack[Marks]) -> bool:
        return self.find(text, **marks) is not None

    def labels(self) -> list[str]:
        """Every label that can be seen, in the order of the tree."""
        from clawperator.ui.visible import visible

        return [node.label for node in visible(self.hierarchy, self.frame) if node.label]


def read_snapshot(step: StepResult) -> Snapshot:
    data = step.data
    return Snapshot(
        told(step, "text"),
        data.get("foreground_package"),
        data.get("overlay_package"),
        number(data, "window_count"),
    )
