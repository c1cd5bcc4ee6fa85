"""A recording as evidence for a new skill: what was done, and by which selectors each target could be found."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clawperator._files import why
from clawperator.contract.selectors import NodeMatcher
from clawperator.errors import ClawError
from clawperator.recording.actions import Moment, tell
from clawperator.recording.export import Export, ExportedClick, ExportedEvent, ExportedTextChange, read_export
from clawperator.ui.match import find_all
from clawperator.ui.parse import parse_hierarchy

_MOST_BYTES = 256 * 1024 * 1024


class Suggestion(Struct, frozen=True):
    """A selector for a target. ``matches`` is how many nodes it found on the recorded screen, if that is known."""

    matcher: NodeMatcher
    reason: str
    matches: int | None


class ShownStep(Struct, frozen=True):
    """One thing that was done, and the ways to do it again, the best first."""

    moment: Moment
    suggestions: list[Suggestion]


def read_context(path: str) -> Export:
    """The export to author from; ``SKILLS_SCAFFOLD_FAILED`` when it is none."""
    try:
        with open(path, "rb") as file:
            # One that is longer is cut, and so is no whole document.
            return read_export(file.read(_MOST_BYTES))
    except (OSError, ValueError) as e:
        raise ClawError(
            "SKILLS_SCAFFOLD_FAILED",
            f"cannot read the recording {path}: {why(e)}",
            hint="Pass what 'clawperator recording export' wrote.",
            target=path,
        ) from e


def shown_steps(export: Export) -> list[ShownStep]:
    """What was done in a recording, each target with its selectors in the order they should be tried."""
    events = {event.seq: event for event in export.events}
    steps = []
    for moment in tell(export.events):
        event = events.get(moment.last_seq)
        steps.append(ShownStep(moment, suggest(event) if event is not None else []))
    return steps


def suggest(event: ExportedEvent) -> list[Suggestion]:
    """Selectors for the target of an event. Those that found one node come first, then the steadier ones."""
    if not isinstance(event, ExportedClick | ExportedTextChange):
        return []
    xml = event.snapshot.xml
    offered = [Suggestion(matcher, reason, _count(matcher, xml)) for matcher, reason in _candidates(event)]
    return sorted(offered, key=lambda offer: 0 if offer.matches in (1, None) else 2 if offer.matches == 0 else 1)


def _candidates(event: ExportedClick | ExportedTextChange) -> Iterator[tuple[NodeMatcher, str]]:
    name = event.resourceId or None
    if isinstance(event, ExportedTextChange):
        if name:
            yield NodeMatcher(resourceId=name), "its resource id"
        yield NodeMatcher(role="textfield"), "the only field of its screen, if it is"
        return
    text, desc = event.text or None, event.contentDesc or None
    if name and text:
        yield NodeMatcher(resourceId=name, textEquals=text), "its resource id and its label"
    if desc:
        yield NodeMatcher(contentDescEquals=desc), "its description"
    if text:
        yield NodeMatcher(textEquals=text), "its label"
    if name:
        yield NodeMatcher(resourceId=name), "its resource id alone"


def _count(matcher: NodeMatcher, xml: str | None) -> int | None:
    if not xml:
        return None
    try:
        hierarchy = parse_hierarchy(xml)
        frame = hierarchy.roots[0].bounds if hierarchy.roots else None
    except ClawError:
        return None
    return len(find_all(hierarchy, matcher, frame)) if frame is not None else None


def written(matcher: NodeMatcher) -> dict[str, Any]:
    """A matcher as keywords of ``clawperator.connect()``'s methods."""
    names = {
        "textEquals": "text",
        "textContains": "text_contains",
        "resourceId": "id",
        "contentDescEquals": "desc",
        "role": "role",
    }
    return {
        word: value for field, word in names.items() if isinstance(value := getattr(matcher, field), str) and value
    }
