"""Paint the screen with smooth text and shapes."""

from collections.abc import Callable
from typing import NamedTuple

from clawperator.phone.apps.system import LAUNCHER
from clawperator.phone.core.window import Window
from clawperator.phone.render.drawing import Drawing
from clawperator.phone.render.drawn_view import DrawnView
from clawperator.phone.render.pen import Pen
from clawperator.phone.render.scene import Scene
from clawperator.phone.render.system_bars import (
    draw_keyboard,
    draw_navigation,
    draw_status_bar,
    draw_toast,
)
from clawperator.phone.render.theme import DARK, LIGHT, ON_VIDEO, VIDEO
from clawperator.phone.render.widgets import draw_view, tone_colour
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.ui.node import Bounds

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
        draw_keyboard(pen, scene.keyboard.bounds, scene.keyboard.nodes)
        drawing.fill(display.navigation_bar, theme.board)
    is_home = _is_home(scene.windows[-1])
    draw_navigation(pen, scene.navigation.nodes, theme.on_wallpaper if is_home else theme.muted)
    draw_status_bar(pen, scene, ink)
    if scene.toast:
        draw_toast(pen, scene)
    return drawing


def _draw_background(pen: Pen, window: Window, scene: Scene) -> int:
    """The background of an activity, also behind the bars. Returns the colour of what is on the status bar."""
    display, theme = scene.display, pen.theme
    if _is_home(window):
        pen.drawing.gradient(display.bounds, *theme.wallpaper)
        return theme.on_wallpaper
    above = _top_colour(pen, window, display.status_bar.bottom)
    if above is not None:
        pen.drawing.fill(display.status_bar, above)
    below = _bottom_colour(pen, window, display.navigation_bar.top)
    if below is not None:
        pen.drawing.fill(display.navigation_bar, below)
    return ON_VIDEO if above == VIDEO else theme.ink


def _is_home(window: Window) -> bool:
    return window.entry.package == LAUNCHER and window.entry.screen.name == "home"


def _top_colour(pen: Pen, window: Window, edge: int) -> int | None:
    """The colour of the view below the status bar, when it is as wide as the screen: the bar has the same."""
    return _edge_colour(pen, window, lambda bounds: bounds.top == edge)


def _bottom_colour(pen: Pen, window: Window, edge: int) -> int | None:
    return _edge_colour(pen, window, lambda bounds: bounds.bottom == edge)


def _edge_colour(pen: Pen, window: Window, is_there: Callable[[Bounds], bool]) -> int | None:
    for node in window.nodes:
        if not isinstance(node.source, PlacedView) or not node.source.view.tone:
            continue
        if node.bounds.width == window.bounds.width and is_there(node.bounds):
            return tone_colour(pen, node.source.view.tone, fills_width=True)
    return None


def _draw_dialog(pen: Pen, window: Window, bottom: int) -> None:
    """The background of a dialog; that of a sheet is round at its top only, and extends to the bottom."""
    area = window.bounds
    if window.entry.screen.kind == "sheet":
        longer = Bounds(area.left, area.top, area.right, bottom + pen.dp(_CORNER))
        pen.drawing.rounded(longer, pen.dp(_CORNER), pen.theme.raised)
    else:
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
