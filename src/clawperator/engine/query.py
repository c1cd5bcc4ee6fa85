"""Queries: list the elements of the screen that match a selector."""

import msgspec

from clawperator.contract import NodeSelector, QueryParams
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.retry import with_retry
from clawperator.ui import describe_matches, query_nodes


def query(context: ActionContext, params: QueryParams) -> StepData:
    """List the matches. None at all is a result, not a failure."""
    screen = with_retry(context, params.retry, context.capture)
    frame = context.driver.frame()
    if isinstance(params.matcher, NodeSelector):
        nodes = context.find_all(screen, params.matcher, several=True)
    else:
        nodes = query_nodes(screen, None, frame)
    matches = describe_matches(screen, nodes[: params.limit], frame, suggest=params.suggest)
    return {"count": str(len(nodes)), "matches": msgspec.json.encode(matches).decode()}
