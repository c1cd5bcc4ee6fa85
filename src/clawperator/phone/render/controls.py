"""How controls look: switches, check boxes, radio buttons, progress, sliders and text fields."""

from clawperator.phone.render.drawn_view import DrawnView, square_around, text_colour
from clawperator.phone.render.fonts import capital_height, text_width
from clawperator.phone.render.pen import Lettering, Pen
from clawperator.ui.node import Bounds, Node

_FIELD_TEXT_PADDING = 12


def draw_toggle(pen: Pen, drawn: DrawnView) -> None:
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
    pen.write(label, words, Lettering(drawn.view.size, text_colour(pen, drawn)))


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
    square = square_around(*at, pen.dp(20))
    if node.checked:
        drawing.rounded(square, pen.dp(3), theme.accent if node.enabled else theme.on_disabled)
        drawing.icon("check", *at, pen.dp(18), theme.on_accent)
    else:
        drawing.outline(square, pen.dp(3), pen.dp(2), theme.muted)


def _radio(pen: Pen, at: tuple[int, int], node: Node) -> None:
    theme, drawing = pen.theme, pen.drawing
    ink = theme.accent if node.checked else theme.muted
    drawing.outline(square_around(*at, pen.dp(22)), pen.dp(11), pen.dp(2), ink)
    if node.checked:
        drawing.disc(*at, pen.dp(5.5), ink)


def draw_progress(pen: Pen, drawn: DrawnView) -> None:
    """A bar, or a ring where there is room for it."""
    theme, drawing, area = pen.theme, pen.drawing, drawn.area
    if area.height >= pen.dp(32):
        side = min(area.height, pen.dp(44))
        drawing.outline(square_around(*area.centre, side), side // 2, pen.dp(4), theme.chosen)
        with drawing.clipped(Bounds(area.centre[0], area.top, area.right, area.bottom)):
            drawing.outline(square_around(*area.centre, side), side // 2, pen.dp(4), theme.accent)
        return
    half = max(1, min(pen.dp(2), area.height // 2))
    middle = area.centre[1]
    track = Bounds(area.left, middle - half, area.right, middle + half)
    drawing.fill(track, theme.chosen)
    drawing.rounded(
        Bounds(area.left + area.width // 5, track.top, area.left + area.width * 3 // 5, track.bottom),
        half,
        theme.accent,
    )


def draw_slider(pen: Pen, drawn: DrawnView) -> None:
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


def draw_field(pen: Pen, drawn: DrawnView) -> None:
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
