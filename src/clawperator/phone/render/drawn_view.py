"""A view to draw, with what its look depends on."""

from msgspec import Struct

from clawperator.phone.render.pen import Pen
from clawperator.phone.render.theme import ON_VIDEO
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.phone.toolkit.views import View
from clawperator.ui.node import Bounds, Node


class DrawnView(Struct, frozen=True, eq=False):
    """A view to draw: its node, its whole area, and where it is."""

    node: Node
    view: View
    area: Bounds
    source: PlacedView
    # The area of its window, and whether it is the outermost view there.
    window: Bounds
    is_root: bool
    # Whether it is on a dark view, in a web page, on a selected row, on the home screen.
    on_dark: bool
    in_web: bool
    on_chosen: bool
    on_wallpaper: bool

    @property
    def fills_width(self) -> bool:
        return self.area.left <= self.window.left and self.area.right >= self.window.right


def text_colour(pen: Pen, drawn: DrawnView) -> int:
    """The colour of the text of a view."""
    theme, view = pen.theme, drawn.view
    if not view.enabled:
        return theme.on_disabled
    if drawn.on_dark or view.tone == "dark":
        return ON_VIDEO
    if drawn.on_wallpaper:
        return theme.on_wallpaper
    if view.selected or drawn.on_chosen:
        return theme.on_chosen
    if view.tone == "accent":
        return theme.on_accent
    if view.tone == "danger":
        return theme.danger
    if drawn.in_web and drawn.node.clickable:
        return theme.accent
    return theme.muted if view.tone == "muted" else theme.ink


def square_around(x: int, y: int, side: int) -> Bounds:
    """A square with a point in its middle."""
    return Bounds(x - side // 2, y - side // 2, x - side // 2 + side, y - side // 2 + side)
