"""The tools of a painter: a drawing, a theme, the display's scale; and texts that fit their area."""

from msgspec import Struct

from clawperator.phone.render.drawing import Drawing
from clawperator.phone.render.fonts import capital_height, fit_lines, font_size, text_width
from clawperator.phone.render.scene import Scene
from clawperator.phone.render.theme import Theme
from clawperator.ui.node import Bounds

# The layout expects characters of this part of the text size; at this size nearly every text fits.
_FONT_PART = 0.94
_LINE_HEIGHT = 1.35  # that of the layout
# A text that does not fit is drawn smaller, and then cut.
_SMALLER = (1.0, 0.93, 0.86)
# A text of at most so many characters is never wrapped to save some pixels.
_MAX_WORD = 16


class Lettering(Struct, frozen=True):
    """How a text is drawn: its size in dp, its colour, and its place in the area."""

    size: float
    colour: int
    centred: bool = False
    # At the top of the area instead of in its middle.
    top: bool = False


class Pen:
    """Draws on a drawing in the colours of a theme. Lengths in dp are converted with ``dp``."""

    def __init__(self, drawing: Drawing, theme: Theme, scene: Scene) -> None:
        self.drawing = drawing
        self.theme = theme
        self.scale = scene.display.scale
        # What clocks show.
        self.time = scene.time
        self.date = scene.date

    def dp(self, length: float) -> int:
        return round(length * self.scale)

    def inset(self, area: Bounds, across: float, down: float) -> Bounds:
        """The area without a margin, in dp. A margin never takes more than the area has."""
        x, y = min(self.dp(across), area.width // 2), min(self.dp(down), area.height // 2)
        return Bounds(area.left + x, area.top + y, area.right - x, area.bottom - y)

    def write(self, text: str, area: Bounds, style: Lettering, *, spare: int = 0) -> None:
        """Draw a text in an area: wrapped, and cut where it does not fit.

        A line that is a little too long may use ``spare`` pixels at each side.
        """
        size = self.font_size(style.size)
        if len(text) <= _MAX_WORD and 0 < text_width(text, size) - area.width <= 2 * spare:
            area = Bounds(area.left - spare, area.top, area.right + spare, area.bottom)
        pitch = max(1, round(style.size * self.scale * _LINE_HEIGHT))
        most = max(1, (area.height + pitch // 3) // pitch)
        size, lines = self.fitted(text, area.width, most, style.size)
        top = area.top if style.top else area.top + (area.height - len(lines) * pitch) // 2
        for number, line in enumerate(lines):
            baseline = top + number * pitch + (pitch + capital_height(size)) // 2
            left = area.left
            if style.centred:
                left += (area.width - text_width(line, size)) // 2
            self.drawing.text(left, baseline, line, size, style.colour)

    def font_size(self, dp: float) -> int:
        """The size of the font for a text size in dp."""
        return font_size(dp * self.scale * _FONT_PART)

    def fitted(self, text: str, width: int, most: int, dp: float) -> tuple[int, list[str]]:
        """The font size and the lines of a text. Words stay whole if possible."""
        tries = []
        for part in _SMALLER:
            size = self.font_size(dp * part)
            found = fit_lines(text, size, max(1, width), most)
            if found.fits and found.is_whole:
                return size, found.lines
            tries.append((size, found))
        size, found = next((each for each in tries if each[1].fits), tries[-1])
        return size, found.lines
