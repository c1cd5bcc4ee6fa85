"""Input actions that the host runs: gestures, and submitting a field."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract.action_params import (
    MAX_GESTURE_MS,
    UI_READINESS,
    Again,
    Coordinate,
    DirectionName,
    EffectParams,
    Target,
    cli_template,
)
from clawperator.contract.action_types import ActionType, register
from clawperator.contract.selectors import NodeSelector, Problem

_Start = Annotated[Coordinate, Meta(description="point where the gesture begins")]
_End = Annotated[Coordinate, Meta(description="point where the gesture ends")]
_Point = Annotated[Coordinate, Meta(description="point, instead of a node")]
_DurationMs = Annotated[float, Meta(ge=1, le=MAX_GESTURE_MS, description="duration of the movement in ms")]


@register(
    ActionType(
        "swipe",
        "Swipe from one point to another, or in a direction.",
        cli_template("swipe-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="scroll",
        performs=("click",),
    )
)
class SwipeParams(EffectParams, frozen=True):
    start: _Start | UnsetType = UNSET
    end: _End | UnsetType = UNSET
    direction: (
        Annotated[DirectionName, Meta(description="direction of the finger, instead of two points")] | UnsetType
    ) = UNSET
    matcher: Annotated[NodeSelector, Meta(description="node to swipe on (default: the screen)")] | UnsetType = (
        UNSET
    )
    distanceRatio: Annotated[
        float, Meta(gt=0, le=1, description="part of the node that a swipe in a direction covers")
    ] = 0.6
    durationMs: _DurationMs = 300
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        has_points = self.start is not UNSET or self.end is not UNSET
        if has_points == (self.direction is not UNSET):
            yield "", "swipe needs start and end, or a direction"
        elif has_points and (self.start is UNSET or self.end is UNSET):
            yield "end" if self.end is UNSET else "start", "swipe needs both start and end"
        elif has_points and self.matcher is not UNSET:
            yield "matcher", "a swipe between two points takes no matcher"


@register(
    ActionType(
        "drag",
        "Press a node or a point long, drag it to another, and release it.",
        cli_template("drag-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="scroll",
        performs=("click",),
    )
)
class DragParams(EffectParams, frozen=True):
    matcher: Target | UnsetType = UNSET
    start: _Start | UnsetType = UNSET
    toMatcher: Annotated[NodeSelector, Meta(description="node to drag to")] | UnsetType = UNSET
    end: _End | UnsetType = UNSET
    durationMs: _DurationMs = 1_000
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.start is UNSET):
            yield "", "drag needs exactly one of matcher and start"
        if (self.toMatcher is UNSET) == (self.end is UNSET):
            yield "", "drag needs exactly one of toMatcher and end"


@register(
    ActionType(
        "double_tap",
        "Tap a node or a point twice.",
        cli_template("double-tap-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="tap",
        performs=("click",),
    )
)
class DoubleTapParams(EffectParams, frozen=True):
    matcher: Target | UnsetType = UNSET
    coordinate: _Point | UnsetType = UNSET
    retry: Again = UI_READINESS

    def rules(self) -> Iterator[Problem]:
        if (self.matcher is UNSET) == (self.coordinate is UNSET):
            yield "", "double_tap needs exactly one of matcher and coordinate"


@register(
    ActionType(
        "submit_text",
        "Submit a field with the keyboard's action: search, go, send or done.",
        cli_template("submit-"),
        runs_on_host=True,
        unsettles=True,
        model_tool="type",
    )
)
class SubmitTextParams(EffectParams, frozen=True):
    matcher: Annotated[NodeSelector, Meta(description="field (default: the focused field)")] | UnsetType = UNSET
    retry: Again = UI_READINESS
