"""Live control of a simulated phone, for a user who looks at its screen: look, touch, press keys, type.

A look reads the screen as it is. It takes no capture: no fault applies, accessibility services go on, and nothing
is recorded. Touches and keys are those of a user, so an active recording gets their events.
"""

import secrets
from typing import TYPE_CHECKING, Annotated, Any
from zlib import crc32

from msgspec import Meta, Struct

from clawperator._base.typed import convert
from clawperator.contract.action_params import KEY_CODES, KeyName
from clawperator.phone.core.phone import Phone
from clawperator.phone.operator.driver import PhoneDriver
from clawperator.ui.privacy import mask_passwords
from clawperator.ui.write import write_hierarchy

if TYPE_CHECKING:
    from clawperator.phone.core.window_manager import WindowManager

LIVE_REQUESTS = ("look", "touch", "press", "type")
MAX_TYPED = 2_000
_MAX_GESTURE_MS = 60_000
_MINUTE_MS = 60_000

_Pixel = Annotated[int, Meta(ge=0, le=100_000)]


class _LookArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """``since`` is the id of the last look: the screen is left out when it is the same."""

    since: str = ""


class _TouchArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A touch at a point; with ``to`` it moves there, after a long press if it ``holds``."""

    at: tuple[_Pixel, _Pixel]
    to: tuple[_Pixel, _Pixel] | None = None
    milliseconds: Annotated[int, Meta(ge=0, le=_MAX_GESTURE_MS)] = 100
    holds: bool = False


class _KeyArguments(Struct, frozen=True, forbid_unknown_fields=True):
    key: KeyName


class _TextArguments(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=MAX_TYPED)]


class LiveControl:
    """Looks at one phone, which a reset replaces."""

    def __init__(self) -> None:
        self._windows: WindowManager | None = None
        self._generation = ""

    def command(self, phone: Phone, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run one of ``LIVE_REQUESTS``. ``ValueError`` for arguments that it does not have."""
        match name:
            case "look":
                return self.look(phone, convert(arguments, _LookArguments).since)
            case "touch":
                _touch(phone, convert(arguments, _TouchArguments))
            case "press":
                _press(phone, convert(arguments, _KeyArguments).key)
            case _:
                phone.type_text(convert(arguments, _TextArguments).text)
        return {}

    def look(self, phone: Phone, since: str) -> dict[str, Any]:
        """The id of what is shown now and, unless it is ``since``, the screen.

        The id changes whenever the screen may show something else. A look with an id that is still valid lays
        nothing out.
        """
        with phone.lock:
            now = self._id(phone)
            answer: dict[str, Any] = {"id": now, "recording": phone.operator.recorder.session_id}
            if since == now:
                return answer
            windows = phone.windows
            return answer | {
                "width": windows.display.width,
                "height": windows.display.height,
                "awake": windows.awake,
                "package": phone.foreground(),
                "overlay": PhoneDriver(phone).windows().overlay_package,
                "xml": _snapshot_text(windows),
            }

    def _id(self, phone: Phone) -> str:
        windows = phone.windows
        if self._windows is not windows:
            self._windows, self._generation = windows, secrets.token_hex(4)
        shown = windows.awake, windows.toast_text(), phone.clock.now_ms() // _MINUTE_MS
        return f"{self._generation}-{windows.changes}-{crc32(repr(shown).encode()):08x}"


def _snapshot_text(windows: "WindowManager") -> str:
    """The tree as a snapshot has it, so that it has the same id: passwords masked, no line break at the end."""
    tree = windows.hierarchy()
    masked = mask_passwords(tree)
    return (windows.xml() if masked is tree else write_hierarchy(masked)).rstrip("\n")


def _touch(phone: Phone, touch: _TouchArguments) -> None:
    if touch.to is None:
        phone.tap(*touch.at, touch.milliseconds)
    elif touch.holds:
        phone.drag(touch.at, touch.to, touch.milliseconds)
    else:
        phone.swipe(touch.at, touch.to, touch.milliseconds)


def _press(phone: Phone, key: KeyName) -> None:
    if key == "back":
        phone.press_back_key()
    else:
        phone.key(KEY_CODES[key])
