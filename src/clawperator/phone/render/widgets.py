"""How each kind of view looks: containers, texts, buttons, icons, pictures, controls and text fields."""

from msgspec import Struct

from clawperator.phone.render.drawing import ON_VIDEO, VIDEO, colour_of, mix
from clawperator.phone.render.fonts import capital_height, font_size, text_width
from clawperator.phone.render.icons import UNNAMED, app_symbol, icon_name
from clawperator.phone.render.pen import Lettering, Pen
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


def _text_colour(pen: Pen, drawn: DrawnView) -> int:
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


def _square_around(x: int, y: int, side: int) -> Bounds:
    """A square with a point in its middle."""
    return Bounds(x - side // 2, y - side // 2, x - side // 2 + side, y - side // 2 + side)


# Switches, check boxes, radio buttons, progress, sliders

_FIELD_TEXT_PADDING = 12


def _draw_toggle(pen: Pen, drawn: DrawnView) -> None:
    """A switch, a check box or a radio button: with a label before or after it, or alone in the middle."""
    node, area = drawn.node, drawn.area
    name = drawn.view.class_name
    draw = _radio if "Radio" in name else _check_box if "Check" in name else _switch
    label = node.text
    if not label:
        draw(pen, area.centre, node)
        return
    inside = pen.inset(area, max(12, drawn.view.padding), 2)
    y = area.centre[1]
    if draw is _switch:
        draw(pen, (inside.right - pen.dp(26), y), node)
        words = Bounds(inside.left, inside.top, inside.right - pen.dp(60), inside.bottom)
    else:
        draw(pen, (inside.left + pen.dp(12), y), node)
        words = Bounds(inside.left + pen.dp(36), inside.top, inside.right, inside.bottom)
    pen.write(label, words, Lettering(drawn.view.size, _text_colour(pen, drawn)))


def _switch(pen: Pen, at: tuple[int, int], node: Node) -> None:
    """A track with a thumb: at the right and large when it is on."""
    theme, drawing, (x, y) = pen.theme, pen.drawing, at
    track = Bounds(x - pen.dp(24), y - pen.dp(14), x + pen.dp(24), y + pen.dp(14))
    radius = track.height // 2
    if node.checked:
        drawing.rounded(track, radius, theme.accent if node.enabled else theme.disabled)
        drawing.disc(track.right - radius, y, pen.dp(11), theme.on_accent)
    else:
        drawing.rounded(track, radius, theme.raised)
        drawing.outline(track, radius, pen.dp(2), theme.outline)
        drawing.disc(track.left + radius, y, pen.dp(8), theme.outline)


def _check_box(pen: Pen, at: tuple[int, int], node: Node) -> None:
    theme, drawing = pen.theme, pen.drawing
    square = _square_around(*at, pen.dp(20))
    if node.checked:
        drawing.rounded(square, pen.dp(3), theme.accent if node.enabled else theme.on_disabled)
        drawing.icon("check", *at, pen.dp(18), theme.on_accent)
    else:
        drawing.outline(square, pen.dp(3), pen.dp(2), theme.muted)


def _radio(pen: Pen, at: tuple[int, int], node: Node) -> None:
    theme, drawing = pen.theme, pen.drawing
    ink = theme.accent if node.checked else theme.muted
    drawing.outline(_square_around(*at, pen.dp(22)), pen.dp(11), pen.dp(2), ink)
    if node.checked:
        drawing.disc(*at, pen.dp(5.5), ink)


def _draw_progress(pen: Pen, drawn: DrawnView) -> None:
    """A bar, or a ring where there is room for it."""
    theme, drawing, area = pen.theme, pen.drawing, drawn.area
    if area.height >= pen.dp(32):
        side = min(area.height, pen.dp(44))
        drawing.outline(_square_around(*area.centre, side), side // 2, pen.dp(4), theme.chosen)
        with drawing.clipped(Bounds(area.centre[0], area.top, area.right, area.bottom)):
            drawing.outline(_square_around(*area.centre, side), side // 2, pen.dp(4), theme.accent)
        return
    half = max(1, min(pen.dp(2), area.height // 2))
    middle = area.centre[1]
    track = Bounds(area.left, middle - half, area.right, middle + half)
    drawing.fill(track, theme.chosen)
    left, width = area.left, area.width
    done = Bounds(left + width // 5, track.top, left + width * 3 // 5, track.bottom)
    drawing.rounded(done, half, theme.accent)


def _draw_slider(pen: Pen, drawn: DrawnView) -> None:
    """A track, filled to the percentage of the text, and the text."""
    theme, drawing = pen.theme, pen.drawing
    inside = pen.inset(drawn.area, 16, 0)
    words = Bounds(inside.right - pen.dp(48), inside.top, inside.right, inside.bottom)
    y = inside.centre[1]
    track = Bounds(inside.left, y - pen.dp(4), words.left - pen.dp(8), y + pen.dp(4))
    number = drawn.node.text.rstrip("%")
    part = min(int(number), 100) / 100 if number.isdecimal() and len(number) < 4 else 0.0
    x = track.left + round(track.width * part)
    drawing.rounded(track, pen.dp(4), theme.chosen)
    drawing.rounded(Bounds(track.left, track.top, x, track.bottom), pen.dp(4), theme.accent)
    drawing.disc(x, y, pen.dp(10), theme.accent)
    pen.write(drawn.node.text, words, Lettering(drawn.view.size, theme.ink))


# Text fields


def _draw_field(pen: Pen, drawn: DrawnView) -> None:
    theme, drawing, node = pen.theme, pen.drawing, drawn.node
    box = pen.inset(drawn.area, 4, 4)
    drawing.rounded(box, pen.dp(8), theme.raised)
    if node.focused:
        drawing.outline(box, pen.dp(8), pen.dp(2), theme.accent)
    else:
        drawing.outline(box, pen.dp(8), max(1, pen.dp(1)), theme.outline)
    inside = pen.inset(box, _FIELD_TEXT_PADDING, 6)
    caret = max(1, pen.dp(2))
    is_hint = "hint" in node.extras
    ink = theme.on_disabled if not drawn.view.enabled else theme.hint if is_hint else theme.ink
    with drawing.clipped(Bounds(inside.left - caret, inside.top, inside.right + 2 * caret, inside.bottom)):
        if drawn.view.edits == "password" and not is_hint:
            end = _bullets(pen, len(node.text), inside, ink)
        elif drawn.view.multiline:
            pen.write(node.text, inside, Lettering(drawn.view.size, ink, top=True))
            end = None
        else:
            end = _line(pen, drawn, inside, ink, is_hint=is_hint)
        if node.focused and end is not None:
            half = min(pen.dp(12), inside.height // 2)
            y = inside.centre[1]
            drawing.fill(Bounds(end, y - half, end + caret, y + half), theme.accent)


def _bullets(pen: Pen, count: int, inside: Bounds, ink: int) -> int:
    """Draw a dot for each character. Returns where the cursor is."""
    step, radius = pen.dp(11), pen.dp(3.5)
    shown = min(count, max(0, inside.width // max(1, step)))
    for number in range(shown):
        pen.drawing.disc(inside.left + step // 2 + number * step, inside.centre[1], radius, ink)
    return inside.left + shown * step


def _line(pen: Pen, drawn: DrawnView, inside: Bounds, ink: int, *, is_hint: bool) -> int:
    """Draw the text of a field of one line; the part around the cursor when it is focused and too long.

    Returns where the cursor is.
    """
    text, node = drawn.node.text.replace("\n", " "), drawn.node
    size = pen.font_size(drawn.view.size)
    baseline = (inside.top + inside.bottom + capital_height(size)) // 2
    if not node.focused or is_hint:
        pen.write(text, inside, Lettering(drawn.view.size, ink))
        return inside.left - max(1, pen.dp(2))
    entry = drawn.source.entry
    cursor = min(entry.cursor, len(text)) if entry.edited == node.text else len(text)
    # More characters than these are not visible.
    most = inside.width // max(1, size // 5) + 1
    before, after = text[max(0, cursor - most) : cursor], text[cursor : cursor + most]
    width = text_width(before, size)
    left = inside.left - max(0, width - inside.width)
    pen.drawing.text(left, baseline, before, size, ink)
    pen.drawing.text(left + width, baseline, after, size, ink)
    return left + width + max(1, pen.dp(0.5))


# All views

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
        _draw_field(pen, drawn)
    elif drawn.node.checkable:
        _draw_toggle(pen, drawn)
    elif name.endswith("ProgressBar"):
        _draw_progress(pen, drawn)
    elif name.endswith("SeekBar"):
        _draw_slider(pen, drawn)
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
        style = Lettering(view.size, _text_colour(pen, drawn), centred, _is_at_the_top(drawn))
        # The height of a view includes its padding, but a fixed one may be too low for it.
        inside = pen.inset(area, view.padding, min(view.padding, 2) if view.height else view.padding)
        pen.write(shown, inside, style, spare=pen.dp(view.padding))


def _is_at_the_top(drawn: DrawnView) -> bool:
    """Whether a text begins at the top of its area: a text that may have more lines than expected, in a column."""
    parent = drawn.node.parent
    source = parent.source if parent is not None else None
    in_column = isinstance(source, PlacedView) and source.view.layout == "column"
    return in_column and not drawn.view.height and not drawn.view.weight


def _clock(pen: Pen, drawn: DrawnView) -> None:
    """The time in large digits, and the date below."""
    inside = pen.inset(drawn.area, drawn.view.padding, 4)
    ink, middle = _text_colour(pen, drawn), inside.top + inside.height * 2 // 3
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
    style = Lettering(view.size, theme.ink if view.selected else theme.muted, centred=True)
    pen.write(drawn.node.text, below, style)


def _app(pen: Pen, drawn: DrawnView) -> None:
    """An app on the launcher: its symbol or first letter on a disc, and its name below."""
    area, label = drawn.area, drawn.node.text
    side = min(pen.dp(_APP_ICON), area.width, area.height * 3 // 5)
    x, y = area.centre[0], area.top + pen.dp(4) + side // 2
    symbol, colour = app_symbol(label) or ("", colour_of(label))
    pen.drawing.disc(x, y, side // 2, colour)
    if symbol:
        pen.drawing.icon(symbol, x, y, side * 11 // 20, 0xFFFFFF)
    else:
        _letter(pen, label, x, y, side, 0xFFFFFF)
    below = Bounds(area.left + pen.dp(2), y + side // 2 + pen.dp(3), area.right - pen.dp(2), area.bottom)
    style = Lettering(drawn.view.size, pen.theme.on_wallpaper, centred=True, top=True)
    pen.write(label, below, style)


def _letter(pen: Pen, label: str, x: int, y: int, side: int, ink: int) -> None:  # noqa: PLR0913, PLR0917 - a letter in a circle
    size = font_size(side * 0.5)
    letter = label.strip()[:1].upper()
    pen.drawing.text(x - text_width(letter, size) // 2, y + capital_height(size) // 2, letter, size, ink)


def _image(pen: Pen, drawn: DrawnView) -> None:
    """An icon by the view's description or id, on a disc when it floats above the page; or a picture."""
    node, view, area = drawn.node, drawn.view, drawn.area
    x, y = area.centre
    side = min(pen.dp(_ICON), area.width, area.height)
    ink = _text_colour(pen, drawn)
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
        pen.drawing.outline(_square_around(x, y, side + pen.dp(8)), side, pen.dp(2), ink)
        _letter(pen, node.label, x, y, side, ink)
    else:
        pen.drawing.icon(_unnamed(node), x, y, side, ink)


def _unnamed(node: Node) -> str:
    """An icon by the place of a button without a name: neighbours look different."""
    row = node.parent.attributes.get("index", "") if node.parent is not None else ""
    written = row, node.attributes.get("index", "")
    place = [int(text) if text.isdecimal() and len(text) < 6 else 0 for text in written]
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
