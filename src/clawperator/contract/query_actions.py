"""The query: list the elements on the screen that match a selector. The host runs it."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract.action_params import ONCE, Again, Target, direct_template
from clawperator.contract.action_types import ActionType, Params, register

MAX_MATCHES = 500


@register(
    ActionType(
        "query",
        "List the elements that match a selector, and selectors for them.",
        direct_template("query-", source="clawperator-observe"),
        family="observation",
        read_only=True,
        runs_on_host=True,
        model_tool="query",
    )
)
class QueryParams(Params, frozen=True):
    matcher: Target | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_MATCHES, description="how many matches to list")] = 50
    suggest: Annotated[bool, Meta(description="add unique selectors, the most stable first")] = False
    retry: Again = ONCE
