"""The keyboard on the glass. Its keys type into whatever field has the focus; it has no events of its own."""

from collections.abc import Callable

from clawperator.phone.toolkit.app import App, Here
from clawperator.phone.toolkit.views import Effect, View, column, row

PACKAGE = "com.google.android.inputmethod.latin"
COMPONENT = f"{PACKAGE}/com.android.inputmethod.latin.LatinIME"

_LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SYMBOLS = ("1234567890", "@#$%&-+()/", "*\"':;!?")
_NUMBERS = ("123", "456", "789", ".0-")

# What stands on the keys that are no characters.
DELETE, ENTER, SHIFT, TURN = "del", "enter", "shift", "?123"
SPACE = " "


def keyboard_app(type_text: Callable[[str], None], delete: Callable[[], None], enter: Callable[[], None]) -> App:
    """The keyboard as an app of two screens: letters, and a pad of numbers."""

    def typed(character: str) -> Effect:
        def run(here: Here) -> None:
            type_text(character)
            here.state["shift"] = False

        return run

    def key(label: str, effect: Effect, weight: float = 1) -> View:
        name = "android.inputmethodservice.Key"
        return View(class_name=name, text=label, on_click=effect, weight=weight, padding=8, size=18, tone="muted")

    def turn(flag: str) -> Effect:
        return lambda here: here.state.__setitem__(flag, not here.state.get(flag, False))

    backspace = key(DELETE, lambda _: delete(), 1.5)
    submit = key(ENTER, lambda _: enter(), 1.5)

    def letters(here: Here) -> View:
        rows = _SYMBOLS if here.state.get("symbols") else _LETTERS
        upper = here.state.get("shift") and rows is _LETTERS
        keys = [[key(c.upper() if upper else c, typed(c.upper() if upper else c)) for c in r] for r in rows]
        shift = key(SHIFT, turn("shift"), 1.5)
        last = (
            key(TURN, turn("symbols"), 1.5),
            key(",", typed(",")),
            key(SPACE, typed(SPACE), 5),
            key(".", typed(".")),
            submit,
        )
        lines = (row(*keys[0], weight=1), row(*keys[1], weight=1), row(shift, *keys[2], backspace, weight=1))
        return column(*lines, row(*last, weight=1), tone="dark", weight=1)

    def numbers(_: Here) -> View:
        pad = [row(*(key(c, typed(c)) for c in line), weight=1) for line in _NUMBERS]
        return column(*pad, row(backspace, submit, weight=1), tone="dark", weight=1)

    app = App(PACKAGE, "Gboard", home="letters", system=True, launchable=False)
    activity = "android.inputmethodservice.SoftInputWindow"
    app.screen("letters", title="", activity=activity)(letters)
    app.screen("numbers", title="", activity=activity)(numbers)
    return app


def needs_turn(character: str) -> bool | None:
    """Whether a character lies on the other side: True for symbols, False for letters, None when on neither."""
    if character.lower() in "".join(_LETTERS) or character in (",", ".", SPACE):
        return False
    return True if character in "".join(_SYMBOLS) else None
