"""A simulated user of a simulated phone."""

from typing import Unpack

from clawperator.api.selectors import SelectorKwargs
from clawperator.api.snapshot import ScreenSearch
from clawperator.errors import ClawError
from clawperator.phone.apps.system import DELETE_KEY, ENTER_KEY, SHIFT_KEY, SYMBOLS_KEY, is_symbol
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.windows import Window
from clawperator.ui.node import Bounds, Hierarchy, Node


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


class Person:
    """A simulated user, who only touches the screen."""

    def __init__(self, phone: Phone, *, pace_ms: int = 250) -> None:
        self._phone = phone
        self._pace = pace_ms / 1000

    def tap(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> None:
        """Tap the node with this label. ``NODE_NOT_FOUND`` when it is not on the screen."""
        self._phone.tap(*self._find(text, selector).bounds.centre)
        self._pause()

    def press_long(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> None:
        """Press the node with this label for 0.7 seconds."""
        self._phone.tap(*self._find(text, selector).bounds.centre, hold_ms=700)
        self._pause()

    def type(self, text: str) -> None:
        """Type on the visible keyboard, key by key."""
        for character in text:
            self._type_one(character)
            self._pause(0.3)

    def delete(self, times: int = 1) -> None:
        for _ in range(times):
            self._tap_key(DELETE_KEY)

    def enter(self) -> None:
        self._tap_key(ENTER_KEY)
        self._pause()

    def scroll_down(self) -> None:
        """Drag the content up by half a screen."""
        self._drag(0.7, 0.3)

    def scroll_up(self) -> None:
        self._drag(0.3, 0.7)

    def back(self) -> None:
        """Tap Back in the navigation bar."""
        self._tap_bar("Back")

    def home(self) -> None:
        self._tap_bar("Home")

    def recents(self) -> None:
        self._tap_bar("Overview")

    def _find(self, text: str | None, selector: SelectorKwargs) -> Node:
        node = LiveScreen(self._phone).find(text, **selector)
        if node is None:
            raise ClawError("NODE_NOT_FOUND", f"{text or dict(selector)} is not on the screen")
        return node

    def _type_one(self, character: str) -> None:
        with self._phone.lock:
            shown = self._phone.windows.keyboard()
        if shown is None:
            raise ClawError("NODE_NOT_FOUND", "no keyboard is visible")
        if _key(shown, character) is None and is_symbol(character) is not None:
            if is_symbol(character) != bool(_key(shown, "1")):
                self._tap_key(SYMBOLS_KEY)
            if character.isupper():
                self._tap_key(SHIFT_KEY)
        self._tap_key(character)

    def _tap_key(self, label: str) -> None:
        with self._phone.lock:
            shown = self._phone.windows.keyboard()
        node = _key(shown, label) if shown else None
        if node is None:
            raise ClawError("NODE_NOT_FOUND", f"the keyboard has no key {label!r}")
        self._phone.tap(*node.bounds.centre)

    def _tap_bar(self, label: str) -> None:
        with self._phone.lock:
            bar = self._phone.windows.navigation()
        node = next(node for node in bar.nodes if node.content_desc == label)
        self._phone.tap(*node.bounds.centre)
        self._pause()

    def _drag(self, start: float, end: float) -> None:
        area = self._phone.windows.display.content
        x = area.centre[0]
        heights = [area.top + round(area.height * part) for part in (start, end)]
        self._phone.swipe((x, heights[0]), (x, heights[1]))
        self._pause()

    def _pause(self, paces: float = 1) -> None:
        self._phone.clock.sleep(self._pace * paces)


def _key(window: Window, label: str) -> Node | None:
    return next((node for node in window.nodes if node.text == label), None)
