"""A captured screen: its XML, and a searchable tree."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from msgspec import UNSET, Struct, ValidationError

from clawperator._base.text import one_line
from clawperator._base.typed import convert
from clawperator.api.results import json_value, read_count, required_value
from clawperator.api.selectors import KEYWORDS, SelectorKwargs, find_matcher, require_matcher
from clawperator.contract.results import StepResult, snapshot_id
from clawperator.contract.selectors import NAMED, NodeSelector
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds

if TYPE_CHECKING:
    from clawperator.device.run.references import References
    from clawperator.engine.selection import ReferenceLookup
    from clawperator.ui.node import Hierarchy, Node


class ScreenSearch:
    """Searches a tree of nodes by the rules of the device. A subclass has the ``hierarchy`` and its ``frame``."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def hierarchy(self) -> Hierarchy: ...

        @property
        def frame(self) -> Bounds: ...

    def find(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> "Node | None":
        """The first visible node that matches, as an action would find it."""
        require_matcher(text, selector, "find")
        return next(iter(search(self, text, selector, several=False)), None)

    def find_all(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> list["Node"]:
        """Every visible node that matches, depth first; without a selector, every visible node."""
        return search(self, text, selector, several=True)

    def shows(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> bool:
        """Whether a node is visible."""
        return self.find(text, **selector) is not None

    def labels(self) -> list[str]:
        """Every visible label, in tree order."""
        return [node.label for node in self.find_all() if node.label]


class Snapshot(ScreenSearch, Struct, frozen=True, dict=True):
    """A captured screen. The XML is parsed on first use of the tree.

    ``package`` is the foreground app and ``overlay_package`` an overlay, if the device reported them. Snapshots
    with the same content have the same ``snapshot_id``.
    """

    xml: str
    package: str | None
    overlay_package: str | None
    window_count: int
    snapshot_id: str = ""
    # Returns the store of references of its device.
    _references: Callable[[], Any] | None = None

    def __str__(self) -> str:
        return self.xml

    def __repr__(self) -> str:
        """The app and the number of nodes, without the XML."""
        return f"<Snapshot {one_line(self.package or 'of an unknown app')}, {self.xml.count('<node')} nodes>"

    @cached_property
    def hierarchy(self) -> "Hierarchy":
        """The tree. ``HIERARCHY_INVALID`` when the XML is malformed."""
        from clawperator.ui.parse import parse_hierarchy

        return parse_hierarchy(self.xml)

    @cached_property
    def outline(self) -> str:
        """One line for each element that a user can see or touch, with its reference."""
        from clawperator.ui.outline import outline_of, render_outline

        made = outline_of(self.hierarchy, self.frame, overlay=self.overlay_package)
        if self._references is not None:
            self._references().assign(made, self.snapshot_id)
        return render_outline(made)

    @cached_property
    def frame(self) -> "Bounds":
        """The area that the windows cover."""
        from clawperator.ui.outline import screen_frame

        return screen_frame(self.hierarchy)


class ScreenOutline(Struct, frozen=True):
    """The outline of a screen as text. With ``is_change``, only what changed since an earlier snapshot."""

    text: str
    snapshot_id: str
    is_change: bool = False

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<ScreenOutline {self.snapshot_id}, {self.text.count(chr(10)) + 1} lines>"


class ScreenElement(Struct, frozen=True):
    """An element that a user can see or touch.

    ``ref`` is its reference: ``click(ref=element.ref)``. ``value`` is what it holds or its further texts,
    ``bounds`` its edges, as those of a ``Node``, ``depth`` its depth among the elements. ``id`` is set where it
    has no label.
    """

    ref: str
    role: str
    label: str
    value: str
    states: list[str]
    bounds: Bounds
    depth: int
    id: str = ""


class _JsonView(Struct, frozen=True, rename={"found": "elements"}):
    """The view ``json`` of a snapshot."""

    found: list[ScreenElement]


def search(
    screen: ScreenSearch,
    text: str | None,
    selector: SelectorKwargs,
    references: "ReferenceLookup | None" = None,
    *,
    several: bool,
) -> list["Node"]:
    """The visible nodes that match, in the order of the selector; without a selector, every visible node.

    ``NODE_AMBIGUOUS`` when only one may match and not ``several`` are wanted.
    """
    from clawperator.engine.selection import select
    from clawperator.ui.node import visible_nodes

    matcher = find_matcher(text, selector)
    if matcher is None:
        return visible_nodes(screen.hierarchy, screen.frame)
    wanted = _read_selector(matcher, has_references=references is not None)
    return select(screen.hierarchy, wanted, screen.frame, references, several=several)


def _read_selector(matcher: dict[str, Any], *, has_references: bool) -> NodeSelector:
    """The selector of a document; ``EXECUTION_VALIDATION_FAILED`` when it is invalid."""
    try:
        selector = convert(matcher, NodeSelector)
    except ValidationError as e:
        problem = str(e).replace("`", "")
    else:
        where, problem, *_ = next(selector.problems(), ("", ""))
        if not problem and selector.ref is not UNSET and not has_references:
            problem = "a snapshot does not know references; search on the phone"
        if not problem:
            return selector
        problem = re.sub(NAMED, lambda found: KEYWORDS.get(found[2], found[2]), f"{where} {problem}".strip())
    hint = "Use a text, or keywords such as id=, role= and text_contains=."
    raise ClawError("EXECUTION_VALIDATION_FAILED", f"invalid selector: {problem}", hint=hint, operation="find")


def read_snapshot(step: StepResult, references: "Callable[[], References] | None" = None) -> Snapshot:
    data = step.data
    xml = required_value(step, "text")
    return Snapshot(
        xml,
        data.get("foreground_package"),
        data.get("overlay_package"),
        read_count(data, "window_count"),
        data.get("snapshot_id") or snapshot_id(xml),
        references,
    )


def outline_result(step: StepResult) -> ScreenOutline:
    is_change = step.data.get("actual_format") == "outline_changes"
    return ScreenOutline(required_value(step, "text"), step.data.get("snapshot_id", ""), is_change)


def element_results(step: StepResult) -> list[ScreenElement]:
    return json_value(step, "text", _JsonView).found
