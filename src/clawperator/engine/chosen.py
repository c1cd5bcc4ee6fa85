"""Actions on a node that only the host could choose, performed as a whole by a driver that can."""

from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.driver import ChosenNode
from clawperator.engine.retry import RETRYABLE_CODES
from clawperator.engine.targets import describe_node, resolve
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

# Fields that pick a node by its place or by what is near it.
_BY_CONTEXT = ("ref", "index", "ancestor", "descendant", "sibling", "below", "above", "leftOf", "rightOf")


class Choice:
    """The nodes that match on a capture, and the first of them as a target."""

    def __init__(self, context: ActionContext, matcher: NodeMatcher, container: NodeMatcher | None = None) -> None:
        self._context = context
        self._matcher = matcher
        self._container = container
        screen = context.capture()
        self._found = self._resolve(screen)
        self.node = ChosenNode(
            screen, self._found[0], container is None and _is_by_itself(matcher), lambda s: self._resolve(s)[0]
        )

    def _resolve(self, screen: Hierarchy) -> list[Node]:
        return resolve(self._context, screen, self._matcher, self._container)

    def evidence(self, data: StepData) -> StepData:
        """The evidence of the device, with the node that was chosen."""
        self._context.progress.dispatched = True
        return {
            **data,
            "matched_target": describe_node(self._found[0]),
            "candidate_count": str(len(self._found)),
        }

    def failed(self, error: ClawError) -> None:
        """Record whether the device may have done something before an error."""
        progress = self._context.progress
        progress.dispatched = progress.dispatched or error.code not in RETRYABLE_CODES


def _is_by_itself(matcher: NodeMatcher) -> bool:
    if not isinstance(matcher, NodeSelector):
        return True
    given = (getattr(matcher, name) for name in _BY_CONTEXT)
    nested = matcher.anyOf if isinstance(matcher.anyOf, tuple) else ()
    return not any(isinstance(value, str | int | NodeSelector) for value in given) and all(
        _is_by_itself(one) for one in nested
    )
