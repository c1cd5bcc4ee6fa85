"""The glass as a picture: plain boxes and text, so that a person sees what an agent reads."""

from datetime import UTC, datetime

from clawperator.phone.core.window import Window
from clawperator.phone.core.window_manager import WindowManager
from clawperator.phone.render import font
from clawperator.phone.render.png import Canvas
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.ui.node import Bounds, Node

_PAGE, _SCRIM, _INK, _MUTED, _LINE = 0xFAFAF7, 0x8A8A86, 0x1C1C1A, 0x6F6F6A, 0xDEDED8
_ACCENT, _ON_ACCENT, _DARK, _ON_DARK = 0x0B57D0, 0xFFFFFF, 0x202124, 0xF1F3F4
_FILLS = {"surface": 0xECECE6, "accent": _ACCENT, "danger": 0xB3261E, "dark": _DARK, "muted": 0}
_ON = 0x146C2E


def paint(windows: WindowManager, now_ms: int) -> Canvas:
    """Draw what is shown now. A sleeping phone is black."""
    display = windows.display
    canvas = Canvas(display.width, display.height, _PAGE if windows.awake else 0x000000)
    if not windows.awake:
        return canvas
    scale = display.scale
    for window in windows.app_windows():
        if window.entry.screen.kind != "activity":
            _paint_scrim(canvas, display.bounds)
            canvas.fill(window.bounds, _PAGE)
        _paint_window(canvas, window, scale)
    keyboard = windows.keyboard()
    for bar in (keyboard, windows.navigation()):
        if bar is not None:
            canvas.fill(bar.bounds, _DARK)
            _paint_window(canvas, bar, scale)
    _paint_status_bar(canvas, windows, now_ms)
    _paint_toast(canvas, windows)
    return canvas


def _paint_window(canvas: Canvas, window: Window, scale: float) -> None:
    for node in window.nodes:
        if isinstance(node.source, PlacedView) and not node.bounds.is_empty:
            _paint_view(canvas, node, node.source.view, scale)


def _paint_view(canvas: Canvas, node: Node, view: View, scale: float) -> None:
    box = node.bounds
    fill = _FILLS.get(view.tone, 0)
    if fill and (view.tone != "accent" or view.enabled):
        canvas.fill(_inset(box, 4) if view.tone == "accent" else box, fill)
    ink = _ink(node, view)
    if view.edits:
        canvas.frame(_inset(box, 6), _ACCENT if node.flag("focused") else _MUTED, 3)
    elif view.selected:
        canvas.fill(Bounds(box.left, box.top, box.right, box.top + 8), _ACCENT)
    if node.flag("checkable"):
        _paint_switch(canvas, box, checked=node.flag("checked"))
    elif view.layout != "leaf" and node.flag("clickable"):
        canvas.fill(Bounds(box.left, box.bottom - 2, box.right, box.bottom), _LINE)
    shown = node.label if view.layout == "leaf" else ""
    if view.layout == "leaf" and not shown and node.flag("clickable") and not node.flag("checkable"):
        canvas.frame(_inset(box, 24), ink, 4)
    if view.picture:
        box = _paint_picture(canvas, view, box, ink, scale)
        shown = node.text
    if shown:
        _paint_text(canvas, shown, view, box, ink, scale)


def _ink(node: Node, view: View) -> int:
    """The colour of a view's words."""
    if not view.enabled:
        return _MUTED
    if _lies_on_dark(node):
        return _ON_DARK
    return {"accent": _ON_ACCENT, "dark": _ON_DARK, "danger": _ON_DARK, "muted": _MUTED}.get(view.tone, _INK)


def _lies_on_dark(node: Node) -> bool:
    """Whether something around the node is painted dark."""
    return any(isinstance(n.source, PlacedView) and n.source.view.tone == "dark" for n in node.ancestors())


def _paint_scrim(canvas: Canvas, area: Bounds) -> None:
    """Dim what lies below: every other line is dark."""
    for y in range(area.top, area.bottom, 2):
        canvas.fill(Bounds(area.left, y, area.right, y + 1), _SCRIM)


def _paint_picture(canvas: Canvas, view: View, box: Bounds, ink: int, scale: float) -> Bounds:
    """A square with a sign in it. Gives what is left below, for words."""
    side = round(min(box.width, box.height, 52 * scale) * 0.8)
    left, top = box.centre[0] - side // 2, box.top + (box.height - side) // 2
    if view.text:
        top = box.top
        canvas.fill(Bounds(left, top, left + side, top + side), _ACCENT)
        ink = _ON_ACCENT
    size = side // 2
    x = box.centre[0] - font.width(view.picture, size) // 2
    canvas.text(x, top + (side - font.height(size)) // 2, view.picture, size, ink, box)
    return Bounds(box.left, top + side, box.right, box.bottom)


def _paint_text(  # noqa: PLR0913, PLR0917 - where, what and how
    canvas: Canvas, shown: str, view: View, box: Bounds, ink: int, scale: float
) -> None:
    pad = round(view.padding * scale)
    size = max(8, round(view.size * scale * 0.72))
    room = max(1, box.width - 2 * pad)
    line = round(font.height(size) * 1.4)
    pieces = [piece for text in shown.split("\n") for piece in _wrapped(text, size, room)]
    fitting = max(1, (box.height - pad) // max(1, line))
    block = min(len(pieces), fitting) * line
    centred = view.class_name.endswith(("Button", "Key", "FrameLayout"))
    y = box.top + max(pad // 2, (box.height - block) // 2)
    for piece in pieces[:fitting]:
        x = box.left + (max(0, box.width - font.width(piece, size)) // 2 if centred else pad)
        canvas.text(x, y, piece, size, ink, box)
        y += line


def _wrapped(text: str, size: int, room: int) -> list[str]:
    """Text in lines that fit, broken at spaces where there are any."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and font.width(longer, size) > room:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def _paint_switch(canvas: Canvas, box: Bounds, *, checked: bool) -> None:
    side = min(box.width, box.height, 72)
    right = box.right - 12
    track = Bounds(right - side, box.centre[1] - side // 4, right, box.centre[1] + side // 4)
    canvas.fill(track, _ON if checked else _LINE)
    half = (track.left + track.right) // 2
    canvas.fill(
        Bounds(half, track.top, track.right, track.bottom)
        if checked
        else Bounds(track.left, track.top, half, track.bottom),
        _INK if checked else _MUTED,
    )


def _paint_status_bar(canvas: Canvas, windows: WindowManager, now_ms: int) -> None:
    bar = windows.display.status_bar
    canvas.fill(bar, _DARK)
    clock = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%H:%M")
    canvas.text(48, bar.centre[1] - 14, clock, 28, _ON_DARK, bar)
    canvas.text(bar.right - 260, bar.centre[1] - 14, "100%", 28, _ON_DARK, bar)


def _paint_toast(canvas: Canvas, windows: WindowManager) -> None:
    message = windows.toast_text()
    if message is None:
        return
    content = windows.display.content
    size = 32
    width = min(content.width - 80, font.width(message, size) + 80)
    left = (content.width - width) // 2
    box = Bounds(left, content.bottom - 220, left + width, content.bottom - 120)
    canvas.fill(box, _DARK)
    canvas.text(left + 40, box.centre[1] - size // 2, message, size, _ON_DARK, box)


def _inset(box: Bounds, by: int) -> Bounds:
    return Bounds(box.left + by, box.top + by, box.right - by, box.bottom - by)
