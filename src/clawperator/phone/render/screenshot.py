"""Screenshots: paint the screen, and return it as PNG or as ``screencap`` writes it without ``-p``.

The same screen gives the same bytes, in every process.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from clawperator.phone.apps.system import DELETE_KEY, ENTER_KEY, LAUNCHER, SHIFT_KEY
from clawperator.phone.core.windows import Window
from clawperator.phone.render.drawing import DARK, LIGHT, ON_VIDEO, VIDEO, Drawing
from clawperator.phone.render.fonts import capital_height, font_size, text_width
from clawperator.phone.render.pen import Lettering, Pen, Scene
from clawperator.phone.render.raster import bands, compress, join_parts, pixels
from clawperator.phone.render.widgets import DrawnView, draw_view, tone_colour
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.ui.node import Bounds, Node

# The system bars: status bar, navigation keys, keyboard, toast

_KEY_ICONS = {DELETE_KEY: "backspace", ENTER_KEY: "enter", SHIFT_KEY: "shift"}
_NAVIGATION_ICONS = {"back": "nav_back", "home": "nav_home", "recent_apps": "nav_recents"}
_KEY_TEXT = 20
_BATTERY_LEVEL = 100


def _draw_status_bar(pen: Pen, scene: Scene, ink: int) -> None:
    """The time at the left; connections and battery at the right."""
    bar = scene.display.status_bar
    side = min(pen.dp(16), bar.height * 2 // 3)
    size = font_size(min(14 * pen.scale, bar.height * 0.6))
    y = bar.centre[1] + bar.height // 10
    baseline = y + capital_height(size) // 2
    pen.drawing.text(bar.left + pen.dp(24), baseline, scene.time, size, ink)
    x = bar.right - pen.dp(24)
    if scene.shows_percent:
        percent = f"{_BATTERY_LEVEL}%"
        x -= text_width(percent, size)
        pen.drawing.text(x, baseline, percent, size, ink)
        x -= pen.dp(4)
    x = _draw_battery(pen, x, y, side, ink)
    names = ["airplane"] if scene.airplane else ["signal"]
    names += ["wifi"] if scene.wifi else []
    for name in names:
        x -= side
        pen.drawing.icon(name, x + side // 2, y, side, ink)
        x -= pen.dp(5)


def _draw_battery(pen: Pen, right: int, y: int, side: int, ink: int) -> int:
    """Draw the battery to the left of a point. Returns the place left of it."""
    width = side * 5 // 8
    body = Bounds(right - width, y - side // 2 + side // 8, right, y + side // 2)
    cap = Bounds(body.left + width // 4, y - side // 2, body.right - width // 4, body.top + 1)
    pen.drawing.rounded(body, max(1, side // 8), ink)
    pen.drawing.fill(cap, ink)
    return body.left - pen.dp(5)


def _draw_navigation(pen: Pen, nodes: list[Node], ink: int) -> None:
    """Back, Home and Overview as a triangle, a circle and a square."""
    for node in nodes:
        if isinstance(node.source, PlacedView) and node.source.view.id in _NAVIGATION_ICONS:
            side = min(pen.dp(18), node.bounds.height * 2 // 3, node.bounds.width)
            pen.drawing.icon(_NAVIGATION_ICONS[node.source.view.id], *node.bounds.centre, side, ink)


def _draw_keyboard(pen: Pen, area: Bounds, nodes: list[Node]) -> None:
    """Keys with their characters, or with icons where they are not characters."""
    pen.drawing.fill(area, pen.theme.board)
    for node in nodes:
        if not isinstance(node.source, PlacedView) or node.source.view.layout != "leaf":
            continue
        key = pen.inset(node.bounds, 2.5, 4)
        if key.is_empty:
            continue
        label = node.text
        is_special = len(label) > 1
        pen.drawing.rounded(key, pen.dp(7), pen.theme.special_key if is_special else pen.theme.key)
        if label in _KEY_ICONS:
            side = min(pen.dp(20), key.width, key.height)
            pen.drawing.icon(_KEY_ICONS[label], *key.centre, side, pen.theme.ink)
        elif label.strip():
            size = 15 if is_special else _KEY_TEXT
            pen.write(label, key, Lettering(size, pen.theme.ink, centred=True))


def _draw_toast(pen: Pen, scene: Scene) -> None:
    """A message near the bottom, in at most two lines."""
    content = scene.display.content
    room = content.width - pen.dp(96)
    size, lines = pen.fitted(scene.toast, room, 2, 14)
    pitch = round(size * 1.4)
    half = min(content.width, max(text_width(line, size) for line in lines) + pen.dp(48)) // 2
    height = len(lines) * pitch + pen.dp(24)
    bottom = content.bottom - pen.dp(56)
    x = content.centre[0]
    area = Bounds(x - half, bottom - height, x + half, bottom)
    pen.drawing.rounded(area, pen.dp(22), pen.theme.toast)
    for number, line in enumerate(lines):
        baseline = area.top + pen.dp(12) + number * pitch + (pitch + capital_height(size)) // 2
        pen.drawing.text(x - text_width(line, size) // 2, baseline, line, size, pen.theme.on_toast)


# The windows

_WEB = "android.webkit.WebView"
_SCRIM = 0.4
_CORNER = 24


def paint(scene: Scene) -> Drawing:
    """Draw the current screen. A sleeping phone is black."""
    display = scene.display
    theme = DARK if scene.dark else LIGHT
    drawing = Drawing(display.width, display.height, theme.page if scene.awake else 0)
    if not scene.awake:
        return drawing
    pen = Pen(drawing, theme, scene)
    ink = theme.ink
    for window in scene.windows:
        if window.entry.screen.kind != "activity":
            drawing.dim(0, _SCRIM)
            _draw_dialog(pen, window, display.bounds.bottom)
        else:
            ink = _draw_background(pen, window, scene)
        _draw_views(pen, window)
    if scene.keyboard is not None:
        _draw_keyboard(pen, scene.keyboard.bounds, scene.keyboard.nodes)
        drawing.fill(display.navigation_bar, theme.board)
    is_home = _is_home(scene.windows[-1])
    _draw_navigation(pen, scene.navigation.nodes, theme.on_wallpaper if is_home else theme.muted)
    _draw_status_bar(pen, scene, ink)
    if scene.toast:
        _draw_toast(pen, scene)
    return drawing


def _draw_background(pen: Pen, window: Window, scene: Scene) -> int:
    """The background of an activity, also behind the bars. Returns the colour of what is on the status bar."""
    display, theme = scene.display, pen.theme
    if _is_home(window):
        pen.drawing.gradient(display.bounds, *theme.wallpaper)
        return theme.on_wallpaper
    # A bar has the colour of the view beside it, when that is as wide as the screen.
    above = _edge_colour(pen, window, lambda bounds: bounds.top == display.status_bar.bottom)
    if above is not None:
        pen.drawing.fill(display.status_bar, above)
    below = _edge_colour(pen, window, lambda bounds: bounds.bottom == display.navigation_bar.top)
    if below is not None:
        pen.drawing.fill(display.navigation_bar, below)
    return ON_VIDEO if above == VIDEO else theme.ink


def _is_home(window: Window) -> bool:
    return window.entry.package == LAUNCHER and window.entry.screen.name == "home"


def _edge_colour(pen: Pen, window: Window, is_there: Callable[[Bounds], bool]) -> int | None:
    for node in window.nodes:
        if not isinstance(node.source, PlacedView) or not node.source.view.tone:
            continue
        if node.bounds.width == window.bounds.width and is_there(node.bounds):
            return tone_colour(pen, node.source.view.tone, fills_width=True)
    return None


def _draw_dialog(pen: Pen, window: Window, bottom: int) -> None:
    """The background of a dialog; that of a sheet is round at its top only, and extends to the bottom."""
    is_sheet = window.entry.screen.kind == "sheet"
    area = window.bounds._replace(bottom=bottom + pen.dp(_CORNER)) if is_sheet else window.bounds
    pen.drawing.rounded(area, pen.dp(_CORNER), pen.theme.raised)


class _Surroundings(NamedTuple):
    """What the views inside a view need to know: the visible area, and what is behind them."""

    visible: Bounds
    on_dark: bool = False
    in_web: bool = False
    on_chosen: bool = False


def _draw_views(pen: Pen, window: Window) -> None:
    """Draw the views of a window. A view is visible inside those around it only."""
    inside: dict[int, _Surroundings] = {}
    outermost = _Surroundings(pen.drawing.clip)
    first, is_home = True, _is_home(window)
    for node in window.nodes:
        source, around = node.source, inside.get(id(node.parent), outermost)
        if not isinstance(source, PlacedView):
            inside[id(node)] = around
            continue
        view, visible = source.view, around.visible.intersection(node.bounds)
        if not visible.is_empty:
            area = source.area or node.bounds
            drawn = DrawnView(node, view, area, source, window.bounds, first, *around[1:], is_home)
            with pen.drawing.clipped(visible):
                draw_view(pen, drawn)
        first = False
        inside[id(node)] = _Surroundings(
            visible,
            around.on_dark or view.tone == "dark",
            around.in_web or view.class_name == _WEB,
            around.on_chosen or (view.selected and view.layout != "leaf"),
        )


# The formats of a screenshot

_RGBA_8888 = 1
_SRGB = 1


def png(scene: Scene) -> bytes:
    """The screen as PNG."""
    drawing = paint(scene)
    return join_parts(drawing.width, drawing.height, map(compress, bands(drawing)))


def raw_rgba(scene: Scene) -> bytes:
    """A header of four numbers, then four bytes per pixel."""
    header = struct.pack("<IIII", scene.display.width, scene.display.height, _RGBA_8888, _SRGB)
    return b"".join((header, *pixels(paint(scene))))
