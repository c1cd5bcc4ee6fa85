"""Waits that the host runs: for a node to go, a label to change, an idle screen, or one of several nodes."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract.action_params import DEFAULT_WAIT_MS, Target, WaitMs, cli_template
from clawperator.contract.action_types import ActionType, Params, register
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH, MAX_SETTLE_DELAY_MS
from clawperator.contract.selectors import NodeSelector, Problem

_MAX_SELECTORS = 10


def _wait(name: str, summary: str) -> ActionType:
    return ActionType(
        name,
        summary,
        cli_template("wait-"),
        family="observation",
        read_only=True,
        runs_on_host=True,
        model_tool="wait",
    )


@register(_wait("wait_until_gone", "Wait until no node on the screen matches."))
class WaitUntilGoneParams(Params, frozen=True):
    matcher: Target
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@register(_wait("wait_for_text_change", "Wait until the label of a node changes."))
class WaitForTextChangeParams(Params, frozen=True):
    matcher: Target
    text: (
        Annotated[
            str,
            Meta(max_length=MAX_MATCHER_VALUE_LENGTH, description="old label (default: the label at the start)"),
        ]
        | UnsetType
    ) = UNSET
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@register(_wait("wait_until_idle", "Wait until the screen stops changing."))
class WaitUntilIdleParams(Params, frozen=True):
    quietMs: Annotated[float, Meta(gt=0, le=MAX_SETTLE_DELAY_MS, description="time without a change, in ms")] = 500
    timeoutMs: WaitMs = DEFAULT_WAIT_MS


@register(_wait("wait_for_any", "Wait until one of several nodes is on the screen."))
class WaitForAnyParams(Params, frozen=True):
    selectors: Annotated[
        tuple[NodeSelector, ...],
        Meta(min_length=1, max_length=_MAX_SELECTORS, description="selectors, the first that matches counts"),
    ]
    timeoutMs: WaitMs = DEFAULT_WAIT_MS

    def rules(self) -> Iterator[Problem]:
        for number, selector in enumerate(self.selectors or ()):
            for below, message in selector.problems():
                yield f"selectors.{number}.{below}".rstrip("."), message
