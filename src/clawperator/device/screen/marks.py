"""Screenshots with marks: the references of the outline drawn on the picture, as boxes with numbers.

A dot is where a touch of the element would be.

The screen is captured directly before each picture.
"""

from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clawperator.contract.execution import Action, Plan, validate
from clawperator.contract.limits import MAX_EXECUTION_ACTIONS
from clawperator.contract.results import StepResult
from clawperator.device.backends.host_actions import save_screenshot
from clawperator.device.run.references import References
from clawperator.device.screen.snapshot_views import outline_with_references
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.ui.node import HIDDEN, Bounds, Hierarchy
from clawperator.ui.outline import OutlineElement, screen_frame
from clawperator.ui.parse import parse_hierarchy

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

_COLOURS = ("#d50000", "#1565c0", "#2e7d32", "#6a1b9a", "#ad5400", "#00695c", "#ad1457", "#37474f")
# The height of a number, in parts of the height of the picture, and in pixels at least.
_TEXT_HEIGHT = 1 / 75
_MIN_TEXT = 14
_Box = tuple[int, int, int, int]


def plan_with_captures(plan: Plan) -> Plan:
    """The plan with a snapshot before each screenshot with marks.

    ``EXECUTION_VALIDATION_FAILED`` when it has too many actions then.
    """
    captures = {action.id: capture_id for capture_id, action in _captures(plan).items()}
    if not captures:
        return plan
    actions: list[dict[str, Any]] = []
    for action in plan.document["actions"]:
        if action["id"] in captures:
            actions.append({"id": captures[action["id"]], "type": "snapshot_ui"})
        actions.append(action)
    if len(actions) > MAX_EXECUTION_ACTIONS:
        too_many = f"{len(actions)} are more than {MAX_EXECUTION_ACTIONS}"
        message = f"a screenshot with marks counts as two actions: {too_many}"
        code, hint = "EXECUTION_VALIDATION_FAILED", "Split the actions over several executions."
        raise ClawError(code, message, hint=hint, operation="validate", target="actions")
    return validate({**plan.document, "actions": actions})


def with_marks(plan: Plan, steps: list[StepResult], references: References) -> list[StepResult]:
    """The steps of a plan with captures, without the captures. The pictures have their marks."""
    captures = _captures(plan)
    marked: list[StepResult] = []
    capture: StepResult | None = None
    for step in steps:
        if step.id in captures:
            capture = step
            if not step.success:
                screenshot = captures[step.id]
                marked.append(replace(step, id=screenshot.id, actionType=screenshot.type))
        elif capture is not None:
            if capture.success:
                marked.append(_marked(step, capture, references) if step.success else step)
            capture = None
        else:
            marked.append(step)
    return marked


def _captures(plan: Plan) -> dict[str, Action]:
    """The screenshots with marks, each by the id of its capture, which no action of the plan has."""
    taken = {action.id for action in plan.execution.actions}
    captures: dict[str, Action] = {}
    for number, action in enumerate(plan.execution.actions):
        if getattr(action.params, "marks", False):
            capture_id = f"outline-{number}"
            while capture_id in taken:
                capture_id += "-"
            captures[capture_id] = action
    return captures


def _marked(step: StepResult, capture: StepResult, references: References) -> StepResult:
    path = step.data["path"]
    try:
        screen = parse_hierarchy(capture.data["text"])
        made, _ = outline_with_references(screen, capture.data, references)
        frame = screen_frame(screen)
        png, is_blank = draw_marks(path, made.elements, frame, _touch_points(screen, made.elements, frame))
        save_screenshot(png, path, step.id)
    except ClawError as e:
        error = {"error": e.code, "message": e.message, "hint": e.hint}
        return replace(step, success=False, data={**step.data, **error})
    data = {**step.data, "marks": str(len(made.elements)), "snapshot_id": capture.data["snapshot_id"]}
    if is_blank:
        data["warn"] = "the picture has only one colour: the app may forbid screenshots of this window"
    return replace(step, data=data)


def draw_marks(
    path: str, elements: list[OutlineElement], frame: Bounds, points: Mapping[str, tuple[int, int]]
) -> tuple[bytes, bool]:
    """The PNG with a box and the reference of each element, and a dot at its point if it has one.

    Also returns whether the picture has only one colour. What a password field holds is painted over.
    """
    from PIL import Image, ImageDraw, ImageFont

    try:
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as e:
        raise ClawError("SCREENSHOT_NOT_SAVED", f"cannot read the picture {path}: {e}", target=path) from e
    is_blank = all(low == high for low, high in _extremes(picture))
    scale = picture.width / frame.width if frame.width > 0 else 1.0
    draw = ImageDraw.Draw(picture)
    size = max(_MIN_TEXT, round(picture.height * _TEXT_HEIGHT))
    font = ImageFont.load_default(size)
    for number, element in enumerate(elements):
        box = _box(element.node.bounds, frame, scale, picture.size)
        if box is None or not element.ref:
            continue
        if element.content == HIDDEN:
            draw.rectangle(box, fill="#9e9e9e")
        colour = _COLOURS[number % len(_COLOURS)]
        draw.rectangle(box, outline=colour, width=max(2, size // 9))
        _draw_label(draw, element, box, colour, font)
        if element.ref in points:
            at = points[element.ref]
            x, y = (at[0] - frame.left) * scale, (at[1] - frame.top) * scale
            radius = max(3, size // 4)
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour, outline="white", width=2)
    out = BytesIO()
    picture.save(out, "PNG")
    return out.getvalue(), is_blank


def _draw_label(draw: "ImageDraw", element: OutlineElement, box: _Box, colour: str, font: Any) -> None:
    """The reference in the right corner of its box, white on the colour of the box: texts begin at the left.

    That of a list is at the bottom, so that it is not on its first row.
    """
    left, top, right, bottom = draw.textbbox((0, 0), element.ref, font=font)
    width, height = right - left + 8, bottom - top + 8
    x = max(0, round(box[2] - width))
    y = round(box[3] - height if element.node.flag("scrollable") else box[1])
    draw.rectangle((x, y, x + width, y + height), fill=colour)
    draw.text((x + 4 - left, y + 4 - top), element.ref, fill="white", font=font)


def _touch_points(screen: Hierarchy, elements: list[OutlineElement], frame: Bounds) -> dict[str, tuple[int, int]]:
    """Where touchable elements are touched, by reference. One that others cover has no point."""
    points = {}
    for element in elements:
        if element.is_touchable:
            with suppress(ClawError):
                points[element.ref] = touch_point(screen, element.node, frame)
    return points


def _box(bounds: Bounds, frame: Bounds, scale: float, size: tuple[int, int]) -> _Box | None:
    """The rectangle of an element on the picture; None when nothing of it is there."""
    shown = bounds.normalised().intersection(frame)
    left, top = round((shown.left - frame.left) * scale), round((shown.top - frame.top) * scale)
    right, bottom = round((shown.right - frame.left) * scale) - 1, round((shown.bottom - frame.top) * scale) - 1
    right, bottom = min(right, size[0] - 1), min(bottom, size[1] - 1)
    return None if right <= left or bottom <= top else (left, top, right, bottom)


def _extremes(picture: "Image") -> tuple[tuple[int, int], ...]:
    return tuple((int(low), int(high)) for low, high in picture.getextrema())  # type: ignore[misc]
