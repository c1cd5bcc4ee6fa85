"""The screen of a simulated phone as it is now."""

from clawperator.api.snapshot import ScreenSearch
from clawperator.phone.core.phone import Phone
from clawperator.ui.node import Bounds, Hierarchy


class LiveScreen(ScreenSearch):
    """The tree of the active window, read when it is made."""

    __slots__ = ("_frame", "_hierarchy")

    def __init__(self, phone: Phone) -> None:
        with phone.lock:
            self._hierarchy = phone.windows.hierarchy()
            self._frame = phone.windows.display.bounds

    @property
    def hierarchy(self) -> Hierarchy:
        return self._hierarchy

    @property
    def frame(self) -> Bounds:
        return self._frame
