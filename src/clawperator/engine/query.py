"""Queries: list the elements of the screen that match a selector."""

import msgspec

from clawperator.contract.query_actions import QueryParams
from clawperator.contract.selectors import NodeSelector
from clawperator.contract.wire import snapshot_id
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.retry import with_retry
from clawperator.errors import ClawError
from clawperator.ui.describe import describe_matches, query_nodes
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import Outline, outline_of, screen_frame
from clawperator.ui.outline_text import render_outline


def query(context: ActionContext, params: QueryParams) -> StepData:
    """List the matches. None at all is a result, not a failure."""
    screen = with_retry(context, params.retry, context.capture)
    frame = context.driver.frame()
    if isinstance(params.matcher, NodeSelector):
        nodes = context.find_all(screen, params.matcher, several=True)
    else:
        nodes = query_nodes(screen, None, frame)
    numbered, named = _numbered(context, screen)
    matches = describe_matches(screen, nodes[: params.limit], frame, suggest=params.suggest, numbered=numbered)
    return {"count": str(len(nodes)), "matches": msgspec.json.encode(matches).decode(), **named}


def _numbered(context: ActionContext, screen: Hierarchy) -> tuple[Outline | None, StepData]:
    """The outline of the screen with references, and the id of its snapshot. None where they cannot be kept.

    There is no XML here: the id stands for the outline.
    """
    if context.references is None:
        return None, {}
    outline = outline_of(screen, screen_frame(screen))
    named = snapshot_id(render_outline(outline))
    try:
        context.references.assign(outline, named)
    except ClawError:
        return None, {}
    return outline, {"snapshot_id": named}
