"""The glass: how large it is, how dense, which way up, and what of it belongs to apps."""

from msgspec import Struct

from clawperator.ui.node import Bounds

# In dp, as on a phone with a camera hole and three buttons.
STATUS_BAR = 52
NAVIGATION_BAR = 48
KEYBOARD = 300


class Display(Struct, frozen=True):
    """Sizes in pixels of the upright display; ``rotation`` counts quarter turns to the left."""

    natural_width: int = 1080
    natural_height: int = 2400
    density: int = 420
    rotation: int = 0

    @property
    def scale(self) -> float:
        return self.density / 160

    @property
    def width(self) -> int:
        return self.natural_height if self.rotation % 2 else self.natural_width

    @property
    def height(self) -> int:
        return self.natural_width if self.rotation % 2 else self.natural_height

    def px(self, dp: float) -> int:
        return round(dp * self.scale)

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, 0, self.width, self.height)

    @property
    def status_bar(self) -> Bounds:
        return Bounds(0, 0, self.width, self._part(STATUS_BAR))

    @property
    def navigation_bar(self) -> Bounds:
        return Bounds(0, self.height - self._part(NAVIGATION_BAR), self.width, self.height)

    @property
    def keyboard(self) -> Bounds:
        """Where a keyboard lies when one is shown: above the navigation bar, at most half of what is left."""
        content = self.content
        return Bounds(0, content.bottom - min(self.px(KEYBOARD), content.height // 2), self.width, content.bottom)

    @property
    def content(self) -> Bounds:
        """Between the two bars."""
        return Bounds(0, self.status_bar.bottom, self.width, self.navigation_bar.top)

    def _part(self, dp: float) -> int:
        # However small or dense the display is made, the bars leave most of it to the apps.
        return min(self.px(dp), self.height // 8)
