"""How each kind of view looks: containers, texts, buttons, icons, pictures; ``controls`` has the others."""

from clawperator.phone.render.controls import draw_field, draw_progress, draw_slider, draw_toggle
from clawperator.phone.render.drawn_view import DrawnView, square_around, text_colour
from clawperator.phone.render.fonts import capital_height, font_size, text_width
from clawperator.phone.render.icon_names import app_symbol, icon_name
from clawperator.phone.render.icons import UNNAMED
from clawperator.phone.render.pen import Lettering, Pen
from clawperator.phone.render.theme import VIDEO, colour_of, mix
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.ui.node import Bounds, Node

_ICON = 24
_APP_ICON = 52
_PICTURE = 64  # an image of at least this side is a picture, not an icon
_TABS = "BottomNavigationView"


def draw_view(pen: Pen, drawn: DrawnView) -> None:
    """Draw one view, without its children."""
    view, name = drawn.view, drawn.view.class_name
    if view.shows_time:
        _clock(pen, drawn)
    elif view.edits:
        draw_field(pen, drawn)
    elif drawn.node.checkable:
        draw_toggle(pen, drawn)
    elif name.endswith("ProgressBar"):
        draw_progress(pen, drawn)
    elif name.endswith("SeekBar"):
        draw_slider(pen, drawn)
    elif view.layout != "leaf":
        _container(pen, drawn)
    else:
        _leaf(pen, drawn)
    if drawn.node.focused and not view.edits:
        pen.drawing.outline(drawn.area, pen.dp(8), pen.dp(2), pen.theme.accent)


def _leaf(pen: Pen, drawn: DrawnView) -> None:
    node, view = drawn.node, drawn.view
    if view.picture and node.text:
        _app(pen, drawn)
    elif node.text and node.parent is not None and node.parent.class_name.endswith(_TABS):
        _tab(pen, drawn)
    elif _is_image(drawn):
        _image(pen, drawn)
    elif _is_button(drawn):
        _button(pen, drawn)
    else:
        _label(pen, drawn)


def _is_image(drawn: DrawnView) -> bool:
    """Whether a view shows an icon or a picture: images, and views whose description names an icon."""
    node = drawn.node
    if "Image" in drawn.view.class_name:
        return True
    return not node.text and bool(icon_name(node.content_desc)) and node.clickable


def _is_button(drawn: DrawnView) -> bool:
    node, view = drawn.node, drawn.view
    if view.class_name.endswith("Button"):
        return bool(node.label)
    return view.tone in {"accent", "danger"} and node.clickable and bool(node.text)


# Containers and texts


def _container(pen: Pen, drawn: DrawnView) -> None:
    theme, view, area = pen.theme, drawn.view, drawn.area
    fill = _background(pen, drawn)
    if view.tone == "dark" and "video" in view.desc.lower():
        draw_thumbnail(pen, area, _row_labels(drawn.node), darkened=True)
    elif fill is not None and not (drawn.is_root and view.tone == "surface"):
        pen.drawing.rounded(area, 0 if drawn.fills_width else pen.dp(12), fill)
    elif drawn.node.clickable and drawn.fills_width:
        line = max(1, pen.dp(0.5))
        pen.drawing.fill(Bounds(area.left, area.bottom - line, area.right, area.bottom), theme.line)


def _background(pen: Pen, drawn: DrawnView) -> int | None:
    if drawn.view.selected:
        return pen.theme.chosen
    return tone_colour(pen, drawn.view.tone, drawn.fills_width)


def tone_colour(pen: Pen, tone: str, fills_width: bool) -> int | None:  # noqa: FBT001 - a fact of the view
    """The background of a view with a tone; None when it has none."""
    theme = pen.theme
    colours = {
        "surface": theme.bar if fills_width else theme.raised,
        "accent": theme.accent,
        "danger": theme.danger,
        "dark": VIDEO,
    }
    return colours.get(tone)


def _label(pen: Pen, drawn: DrawnView) -> None:
    node, view, area = drawn.node, drawn.view, drawn.area
    centred = False
    if view.tone in {"surface", "dark"} or view.selected:
        fill = _background(pen, drawn)
        assert fill is not None
        pen.drawing.rounded(area, 0 if drawn.fills_width else pen.dp(12), fill)
    elif view.tone == "accent":
        centred = True
        pen.drawing.rounded(area, min(area.height // 2, pen.dp(18)) if node.text else pen.dp(1), pen.theme.accent)
    elif view.tone == "muted" and view.width and view.height:
        centred = True
    # A description is visible only where an app has nothing else to show.
    shown = node.text if view.tone else node.label
    if shown and view.size > 1:
        style = Lettering(view.size, text_colour(pen, drawn), centred, _is_at_the_top(drawn))
        pen.write(shown, _inside(pen, drawn), style, spare=pen.dp(view.padding))


def _is_at_the_top(drawn: DrawnView) -> bool:
    """Whether a text begins at the top of its area: a text that may have more lines than expected, in a column."""
    parent = drawn.node.parent
    source = parent.source if parent is not None else None
    in_column = isinstance(source, PlacedView) and source.view.layout == "column"
    return in_column and not drawn.view.height and not drawn.view.weight


def _inside(pen: Pen, drawn: DrawnView) -> Bounds:
    view = drawn.view
    # The height of a view includes its padding, but a fixed one may be too low for it.
    return pen.inset(drawn.area, view.padding, min(view.padding, 2) if view.height else view.padding)


def _clock(pen: Pen, drawn: DrawnView) -> None:
    """The time in large digits, and the date below."""
    inside = pen.inset(drawn.area, drawn.view.padding, 4)
    ink, middle = text_colour(pen, drawn), inside.top + inside.height * 2 // 3
    pen.write(pen.time, Bounds(inside.left, inside.top, inside.right, middle), Lettering(drawn.view.size, ink))
    date = Lettering(drawn.view.size / 3, ink)
    pen.write(pen.date, Bounds(inside.left, middle, inside.right, inside.bottom), date)


# Buttons, icons, pictures


def _button(pen: Pen, drawn: DrawnView) -> None:
    theme, view = pen.theme, drawn.view
    pill = pen.inset(drawn.area, 16 if drawn.fills_width else 4, 4)
    ink = theme.accent
    fill = tone_colour(pen, view.tone, fills_width=False)
    if not view.enabled:
        ink, fill = theme.on_disabled, theme.disabled if fill is not None else None
    elif fill is not None:
        ink = {"danger": theme.on_danger, "accent": theme.on_accent}.get(view.tone, ink)
    if fill is not None:
        pen.drawing.rounded(pill, pill.height // 2, fill)
    pen.write(drawn.node.label, pen.inset(pill, 8, 0), Lettering(view.size, ink, centred=True))


def _tab(pen: Pen, drawn: DrawnView) -> None:
    """An icon above its label; the selected one is marked."""
    theme, view, area = pen.theme, drawn.view, drawn.area
    x, y = area.centre[0], area.top + pen.dp(22)
    if view.selected:
        mark = Bounds(x - pen.dp(28), y - pen.dp(15), x + pen.dp(28), y + pen.dp(15))
        pen.drawing.rounded(mark, pen.dp(15), theme.chosen)
    ink = theme.on_chosen if view.selected else theme.muted
    pen.drawing.icon(icon_name(drawn.node.text) or "dot", x, y, pen.dp(22), ink)
    below = Bounds(area.left, y + pen.dp(16), area.right, area.bottom - pen.dp(2))
    pen.write(
        drawn.node.text, below, Lettering(view.size, theme.ink if view.selected else theme.muted, centred=True)
    )


def _app(pen: Pen, drawn: DrawnView) -> None:
    """An app on the launcher: its symbol on a disc, and its name below."""
    area, label = drawn.area, drawn.node.text
    side = min(pen.dp(_APP_ICON), area.width, area.height * 3 // 5)
    x, y = area.centre[0], area.top + pen.dp(4) + side // 2
    draw_app_symbol(pen, label, x, y, side)
    below = Bounds(area.left + pen.dp(2), y + side // 2 + pen.dp(3), area.right - pen.dp(2), area.bottom)
    style = Lettering(drawn.view.size, pen.theme.on_wallpaper, centred=True, top=True)
    pen.write(label, below, style)


def draw_app_symbol(pen: Pen, label: str, x: int, y: int, side: int) -> None:
    """The disc of an app: with its symbol, or with its first letter."""
    found = app_symbol(label)
    symbol, colour = found or ("", colour_of(label))
    pen.drawing.disc(x, y, side // 2, colour)
    if symbol:
        pen.drawing.icon(symbol, x, y, side * 11 // 20, 0xFFFFFF)
    else:
        _letter(pen, label, x, y, side, 0xFFFFFF)


def _letter(pen: Pen, label: str, x: int, y: int, side: int, ink: int) -> None:  # noqa: PLR0913, PLR0917 - a letter in a circle
    size = font_size(side * 0.5)
    letter = label.strip()[:1].upper()
    pen.drawing.text(x - text_width(letter, size) // 2, y + capital_height(size) // 2, letter, size, ink)


def _image(pen: Pen, drawn: DrawnView) -> None:
    """An icon by the view's description or id, on a disc when it floats above the page; or a picture."""
    node, view, area = drawn.node, drawn.view, drawn.area
    x, y = area.centre
    side = min(pen.dp(_ICON), area.width, area.height)
    ink = text_colour(pen, drawn)
    if view.selected:
        ink = pen.theme.accent
    if view.tone in {"accent", "danger"}:
        pen.drawing.disc(x, y, min(area.width, area.height) // 2, pen.theme.accent)
        ink = pen.theme.on_accent
    name = icon_name(node.label) or icon_name(node.resource_id.rpartition("/")[2])
    if min(area.width, area.height) >= pen.dp(_PICTURE) and not node.clickable:
        draw_thumbnail(pen, area, _row_labels(node))
    elif name:
        pen.drawing.icon(name, x, y, side, ink)
    elif node.label:
        pen.drawing.outline(square_around(x, y, side + pen.dp(8)), side, pen.dp(2), ink)
        _letter(pen, node.label, x, y, side, ink)
    else:
        pen.drawing.icon(_unnamed(node), x, y, side, ink)


def _unnamed(node: Node) -> str:
    """An icon by the place of a button without a name: neighbours look different."""
    row = node.parent.attributes.get("index", "") if node.parent is not None else ""
    place = [
        int(text) if text.isdecimal() and len(text) < 6 else 0 for text in (row, node.attributes.get("index", ""))
    ]
    return UNNAMED[(place[0] * 4 + place[1]) % len(UNNAMED)]


def _row_labels(node: Node) -> str:
    row = node.parent or node
    return " ".join(each.text for each in row.walk() if each.text)


def draw_thumbnail(pen: Pen, area: Bounds, seed: str, *, darkened: bool = False) -> None:
    """A landscape: sky, sun and hills, in colours that depend on the seed."""
    drawing = pen.drawing

    def shade(colour: int) -> int:
        return mix(colour, VIDEO, 0.6) if darkened else colour

    number = sum(map(ord, seed[:200]))
    radius, x = area.height // 7, area.left + area.width * (2 + number % 5) // 8
    drawing.fill(area, shade(colour_of(seed)))
    drawing.disc(x, area.top + area.height // 3, radius, shade(0xFFF3C4))
    side, low = area.height * 2 // 3, area.top + area.height * 3 // 4
    with drawing.clipped(area):
        for at, colour in ((area.left + side // 2, colour_of(f"{seed} hill")), (area.right - side // 3, 0x263238)):
            drawing.disc(at, low + side // 2, side, shade(colour))
