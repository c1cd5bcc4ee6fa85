"""Paint the screen as plain rectangles and text, where Pillow is not installed."""

from clawperator.phone.core.window import Window
from clawperator.phone.render.canvas import Canvas, text_height, text_width
from clawperator.phone.render.scene import Scene
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.ui import Bounds, Node

_PAGE, _SCRIM, _INK, _MUTED, _LINE = 0xFAFAF7, 0x8A8A86, 0x1C1C1A, 0x6F6F6A, 0xDEDED8
_ACCENT, _ON_ACCENT, _DARK, _ON_DARK = 0x0B57D0, 0xFFFFFF, 0x202124, 0xF1F3F4
_FILLS = {"surface": 0xECECE6, "accent": _ACCENT, "danger": 0xB3261E, "dark": _DARK, "muted": 0}
_ON = 0x146C2E


def paint(scene: Scene) -> Canvas:
    """Draw the current screen. A sleeping phone is black."""
    display = scene.display
    canvas = Canvas(display.width, display.height, _PAGE if scene.awake else 0x000000)
    if not scene.awake:
        return canvas
    scale = display.scale
    for window in scene.windows:
        if window.entry.screen.kind != "activity":
            _paint_scrim(canvas, display.bounds)
            canvas.fill(window.bounds, _PAGE)
        _paint_window(canvas, window, scale)
        _paint_clocks(canvas, window, scene)
    for bar in (scene.keyboard, scene.navigation):
        if bar is not None:
            canvas.fill(bar.bounds, _DARK)
            _paint_window(canvas, bar, scale)
    _paint_status_bar(canvas, scene)
    _paint_toast(canvas, scene)
    return canvas


def _paint_window(canvas: Canvas, window: Window, scale: float) -> None:
    for node in window.nodes:
        if isinstance(node.source, PlacedView) and not node.bounds.is_empty:
            _paint_view(canvas, node, node.source.view, scale)


def _paint_clocks(canvas: Canvas, window: Window, scene: Scene) -> None:
    for node in window.nodes:
        if isinstance(node.source, PlacedView) and node.source.view.shows_time:
            view = node.source.view
            _paint_text(canvas, scene.time, view, node.bounds, _INK, scene.display.scale)


def _paint_view(canvas: Canvas, node: Node, view: View, scale: float) -> None:
    area = node.bounds
    fill = _FILLS.get(view.tone, 0)
    if fill and (view.tone != "accent" or view.enabled):
        canvas.fill(_inset(area, 4) if view.tone == "accent" else area, fill)
    ink = _ink(node, view)
    if view.edits:
        canvas.frame(_inset(area, 6), _ACCENT if node.flag("focused") else _MUTED, 3)
    elif view.selected:
        canvas.fill(Bounds(area.left, area.top, area.right, area.top + 8), _ACCENT)
    if node.flag("checkable"):
        _paint_switch(canvas, area, checked=node.flag("checked"))
    elif view.layout != "leaf" and node.flag("clickable"):
        canvas.fill(Bounds(area.left, area.bottom - 2, area.right, area.bottom), _LINE)
    shown = node.label if view.layout == "leaf" and not view.shows_time else ""
    if view.layout == "leaf" and not shown and node.flag("clickable") and not node.flag("checkable"):
        canvas.frame(_inset(area, 24), ink, 4)
    if view.picture:
        area = _paint_picture(canvas, view, area, ink, scale)
        shown = node.text
    if shown:
        _paint_text(canvas, shown, view, area, ink, scale)


def _ink(node: Node, view: View) -> int:
    """The colour of a view's text."""
    if not view.enabled:
        return _MUTED
    if _is_on_dark(node):
        return _ON_DARK
    return {"accent": _ON_ACCENT, "dark": _ON_DARK, "danger": _ON_DARK, "muted": _MUTED}.get(view.tone, _INK)


def _is_on_dark(node: Node) -> bool:
    """Whether a view around the node is painted dark."""
    return any(isinstance(n.source, PlacedView) and n.source.view.tone == "dark" for n in node.ancestors())


def _paint_scrim(canvas: Canvas, area: Bounds) -> None:
    """Dim the windows below: every other line is dark."""
    for y in range(area.top, area.bottom, 2):
        canvas.fill(Bounds(area.left, y, area.right, y + 1), _SCRIM)


def _paint_picture(canvas: Canvas, view: View, area: Bounds, ink: int, scale: float) -> Bounds:
    """Draw a view's picture in a square. Returns the area that remains below it for text."""
    side = round(min(area.width, area.height, 52 * scale) * 0.8)
    left, top = area.centre[0] - side // 2, area.top + (area.height - side) // 2
    if view.text:
        top = area.top
        canvas.fill(Bounds(left, top, left + side, top + side), _ACCENT)
        ink = _ON_ACCENT
    size = side // 2
    x = area.centre[0] - text_width(view.picture, size) // 2
    canvas.text(x, top + (side - text_height(size)) // 2, view.picture, size, ink, area)
    return Bounds(area.left, top + side, area.right, area.bottom)


def _paint_text(  # noqa: PLR0913, PLR0917 - drawing parameters
    canvas: Canvas, shown: str, view: View, area: Bounds, ink: int, scale: float
) -> None:
    pad = round(view.padding * scale)
    size = max(8, round(view.size * scale * 0.72))
    width = max(1, area.width - 2 * pad)
    line = round(text_height(size) * 1.4)
    lines = [piece for text in shown.split("\n") for piece in _wrapped(text, size, width)]
    fitting = max(1, (area.height - pad) // max(1, line))
    block = min(len(lines), fitting) * line
    centred = view.class_name.endswith(("Button", "Key", "FrameLayout"))
    y = area.top + max(pad // 2, (area.height - block) // 2)
    for piece in lines[:fitting]:
        x = area.left + (max(0, area.width - text_width(piece, size)) // 2 if centred else pad)
        canvas.text(x, y, piece, size, ink, area)
        y += line


def _wrapped(text: str, size: int, width: int) -> list[str]:
    """Wrap text at spaces into lines that fit the width."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def _paint_switch(canvas: Canvas, area: Bounds, *, checked: bool) -> None:
    side = min(area.width, area.height, 72)
    right = area.right - 12
    track = Bounds(right - side, area.centre[1] - side // 4, right, area.centre[1] + side // 4)
    canvas.fill(track, _ON if checked else _LINE)
    half = (track.left + track.right) // 2
    canvas.fill(
        Bounds(half, track.top, track.right, track.bottom)
        if checked
        else Bounds(track.left, track.top, half, track.bottom),
        _INK if checked else _MUTED,
    )


def _paint_status_bar(canvas: Canvas, scene: Scene) -> None:
    bar = scene.display.status_bar
    canvas.fill(bar, _DARK)
    canvas.text(48, bar.centre[1] - 14, scene.time, 28, _ON_DARK, bar)
    canvas.text(bar.right - 260, bar.centre[1] - 14, "100%", 28, _ON_DARK, bar)


def _paint_toast(canvas: Canvas, scene: Scene) -> None:
    message = scene.toast
    if not message:
        return
    content = scene.display.content
    size = 32
    width = min(content.width - 80, text_width(message, size) + 80)
    left = (content.width - width) // 2
    area = Bounds(left, content.bottom - 220, left + width, content.bottom - 120)
    canvas.fill(area, _DARK)
    canvas.text(left + 40, area.centre[1] - size // 2, message, size, _ON_DARK, area)


def _inset(area: Bounds, by: int) -> Bounds:
    return Bounds(area.left + by, area.top + by, area.right - by, area.bottom - by)
