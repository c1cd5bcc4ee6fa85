"""Failed searches name what is on the screen instead: the labels and ids most like the selector."""

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from clawperator._base.text import one_line, printable
from clawperator.contract.execution import Action
from clawperator.contract.results import StepResult
from clawperator.contract.selectors import NodeMatcher
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import outline_of, screen_frame
from clawperator.ui.select import find_nodes
from clawperator.ui.suggest import NearMatch, nearest_matches, reference_of

if TYPE_CHECKING:
    from clawperator.device.run.references import References

_CODES = ("NODE_NOT_FOUND", "TARGET_NOT_FOUND", "CONTAINER_NOT_FOUND")
_MAX_LABEL = 60
_KINDS = {"textEquals": "text", "resourceId": "id"}


def is_failed_search(step: StepResult) -> bool:
    """Whether a step failed because no node matched its selector."""
    return not step.success and _code(step) in _CODES


def with_near_matches(
    step: StepResult, action: Action, screen: Hierarchy, device: "str | References"
) -> StepResult:
    """A failed search with its near matches: ``nearest`` as JSON, and in the hint.

    ``device`` is a serial, or the references of a device: elements of its earlier snapshots also have those.
    """
    name = "container" if _code(step) == "CONTAINER_NOT_FOUND" else "matcher"
    selector = getattr(action.params, name, None) or getattr(action.params, "labelMatcher", None)
    if not isinstance(selector, NodeMatcher):
        return step
    found = nearest_matches(screen, selector, screen_frame(screen))
    if not found:
        return step
    refs = _references(found, screen, device)
    written = [
        {"value": printable(match.value), "selector": {match.field: match.value}}
        | ({"ref": refs[match]} if match in refs else {})
        for match in found
    ]
    node = "" if name == "matcher" else f"{name} "
    named = [
        f'{node}{_KINDS[match.field]} "{match.value}"'
        + (f" ({refs[match]})" if match in refs and not node else "")
        for match in found
        if match.value == one_line(match.value, _MAX_LABEL)
    ]
    more = f" {step.data['hint']}" if "hint" in step.data else ""
    hint = {"hint": f"Did you mean {' or '.join(named)}?{more}"} if named else {}
    return replace(step, data={**step.data, "nearest": msgspec.json.encode(written).decode(), **hint})


def _references(found: list[NearMatch], screen: Hierarchy, device: "str | References") -> dict[NearMatch, str]:
    """The references of near matches, where only one element matches and an earlier snapshot had it."""
    from clawperator.device.run.references import References

    frame = screen_frame(screen)
    outline = outline_of(screen, frame)
    (References(device) if isinstance(device, str) else device).recognise(outline)
    if not any(element.ref for element in outline.elements):
        return {}
    refs = {}
    for match in found:
        nodes = find_nodes(screen, msgspec.convert({match.field: match.value}, NodeMatcher), frame)
        if len(nodes) == 1 and (ref := reference_of(nodes[0], outline)):
            refs[match] = ref
    return refs


def _code(step: StepResult) -> str:
    """The code of a failed step; of one that ran out of time, the code of what it waited for."""
    code = step.data.get("error", "")
    return step.data.get("last_error", code) if code == "COMMAND_TIMEOUT" else code
