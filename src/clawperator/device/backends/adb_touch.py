"""The part of the adb driver that touches, presses keys and types, with ``input``.

For typing: which text ``input`` supports, how to clear a field, and whether the field has the text.
"""

import math
import re
import time

from clawperator._base.text import utf16_length
from clawperator.contract.action_params import KEY_CODES
from clawperator.device.adb.client import command_line
from clawperator.device.backends.adb_screen import AdbScreen, whole_output
from clawperator.device.backends.backend import ANY_TEXT, check_typable
from clawperator.device.vendors import vendor_hint
from clawperator.engine.driver import Key
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node, is_field

ENTER = "66"
_DELETE, _DELETE_FORWARD, _TO_END, _PAGE_DOWN = "67", "112", "123", "93"
_MAX_DELETED = 5_000
# A text of no more characters is in one line of its field; a page of a field has at least so many.
_ONE_LINE = 20
_PAGE = 200
# For the captures and the typing beside the deletion.
_MORE_SECONDS = 30
_BULLETS = frozenset("•●∙·*")
# A touch held no longer than this is a tap.
_TAP_MS = 200
# Taps this far apart are a double tap: Android takes 40 to 300 ms.
_DOUBLE_TAP_PAUSE = "0.1"
_FAILED = re.compile(r"^[ \t]{0,64}error\b|exception\b|unknown command|^killed", re.IGNORECASE | re.MULTILINE)
_ALLOW_INPUT = "Allow it in the developer options, on some devices 'USB debugging (Security settings)'."
_FORBIDDEN = re.compile(r"INJECT_EVENTS|SecurityException")
# Keys are sent in batches, so that none is cut off while the device goes on with it. The first one is timed.
_FIRST_KEYS = 100
_MAX_KEYS = 1_000
_BATCH_SECONDS = 5.0


def input_line(*words: str) -> str:
    return command_line("input", *words)


def typing_lines(text: str) -> list[str]:
    """The commands that type a text. ``input`` reads ``%s`` as a space, so a literal one is split over two."""
    pieces = text.replace("%s", "%\0s").split("\0")
    return [input_line("text", piece.replace(" ", "%s")) for piece in pieces]


def probe_text(text: str) -> str:
    """The characters that a device may have no keys for, once each. With one of them ``input`` types nothing."""
    return "".join(dict.fromkeys(character for character in text if not character.isascii()))


def clearing_keys(field: Node, probe: str = "") -> list[str]:
    """The keys that clear the focused field, with a probe that was typed into it; none when it is empty.

    The cursor moves to the end of its line first. A longer text may be wrapped, so that its line is not the last
    one: then as many characters are deleted after the cursor as before it. ``TEXT_NOT_ACCEPTED`` for a text that
    is too long.
    """
    current = field.entered_text
    length = utf16_length(current)
    if length > _MAX_DELETED:
        message = f"the field has {length} characters; adb can delete at most {_MAX_DELETED}"
        raise ClawError("TEXT_NOT_ACCEPTED", message, hint=ANY_TEXT)
    if not length:
        return []
    length += utf16_length(probe)
    forward = [_DELETE_FORWARD] * length if _may_be_wrapped(current + probe) else []
    return [_TO_END, *[_DELETE] * length, *forward]


def end_keys(field: Node) -> list[str]:
    """The keys that move the cursor to the end of the focused field."""
    current = field.entered_text
    pages = [_PAGE_DOWN] * (1 + len(current) // _PAGE) if _may_be_wrapped(current) else []
    return [*pages, _TO_END] if current else []


def _may_be_wrapped(text: str) -> bool:
    return utf16_length(text) > _ONE_LINE or "\n" in text


def find_again(nodes: list[Node], node: Node) -> Node | None:
    """The same view in a later capture: by class and resource id, then by bounds or by its index among those."""
    similar = [n for n in nodes if _is_similar(n, node)]
    in_place = next((n for n in similar if n.bounds == node.bounds), None)
    if in_place is not None:
        return in_place
    *_, top = (node, *node.ancestors())
    index = [n for n in top.walk() if _is_similar(n, node)].index(node)
    return similar[index] if index < len(similar) else None


def _is_similar(a: Node, b: Node) -> bool:
    return a.class_name == b.class_name and a.resource_id == b.resource_id


def has_text(field: Node, text: str) -> bool:
    """Whether the field has the text. An app may add separators, as in a telephone number.

    Of a password only the length is visible, and on some devices nothing.
    """
    shown = field.text
    if shown == text:
        return True
    if field.flag("password"):
        return not shown or (len(shown) in (len(text), utf16_length(text)) and _BULLETS.issuperset(shown[:-1]))
    rest = iter(shown)
    for character in text:
        for other in rest:
            if other == character:
                break
            if other.isalnum():
                return False
        else:
            return False
    return not any(other.isalnum() for other in rest)


def not_typed(text: str) -> ClawError:
    """The error of a text that ``input`` refused. It types nothing of a text with a character that has no key."""
    message = "the device did not type the text"
    if not text.isascii():
        message = "nothing was typed: the text has characters for which adb has no key; most devices accept only "
        message += "ASCII"
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=ANY_TEXT, after_effect=True)


def not_accepted() -> ClawError:
    message = "the field does not have the typed text"
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=ANY_TEXT, after_effect=True)


def not_deleted(sent: int, wanted: int, seconds_per_key: float) -> ClawError:
    """The error of a text that is too long to delete in the time left."""
    needed = math.ceil(wanted * seconds_per_key)
    message = f"the text of the field is too long to delete in time: {sent} of {wanted} keys were sent, and "
    message += f"nothing was typed; all of them take about {needed} s"
    hint = f"Retry with a timeout of {(needed + _MORE_SECONDS) * 1000} ms. {ANY_TEXT}"
    return ClawError("TEXT_NOT_ACCEPTED", message, hint=hint, after_effect=True)


class AdbTouch(AdbScreen):
    """Touch, keys and text. There are no accessibility actions, so the engine uses gestures."""

    # Touch

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        if hold_ms > _TAP_MS:
            return self._move("swipe", (x, y), (x, y), hold_ms)
        return self.is_on_display((x, y)) and self._inject(self._pointer("tap", str(x), str(y)))

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        return self._move("swipe", start, end, duration_ms)

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        return self._move("draganddrop", start, end, duration_ms)

    def _move(self, gesture: str, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        words = map(str, (*start, *end, duration_ms))
        return self.is_on_display(start, end) and self._inject(self._pointer(gesture, *words))

    def double_tap(self, x: int, y: int) -> bool:
        """Two taps. The second ``input`` starts while the first one runs: starting one may take a second."""
        if not self.is_on_display((x, y)):
            return False
        tap = self._pointer("tap", str(x), str(y))
        return self._inject(f"{{ {tap} & sleep {_DOUBLE_TAP_PAUSE}; {tap}; wait; }}")

    def _pointer(self, *words: str) -> str:
        """A command that touches. Touches go to display 0, keys to the focused one, unless a display is named."""
        display = ("-d", str(self._display)) if self._display else ()
        return input_line(*display, *words)

    # Keys

    def key(self, key: Key) -> bool:
        return self._inject(input_line("keyevent", str(KEY_CODES[key])))

    def submit(self, node: Node) -> bool:  # noqa: ARG002 - typing gave the field the focus
        return self._inject(input_line("keyevent", ENTER))

    # Text

    def set_text(self, node: Node, text: str) -> bool:
        """Replace the text of a field, then check that the field has it.

        Nothing is typed unless the field has the focus, and nothing is typed twice. ``TEXT_NOT_ACCEPTED`` when the
        field has other text afterwards. Clearing a field is not checked: an empty field may show its hint.
        """
        check_typable(text)
        field = self._focus(node)
        if field is None:
            return False
        self.type_keys(field, text)
        if not text:
            return True
        seen = self.field_after(field, self.dump())
        if seen is None or not self.has_text(seen, text):
            raise not_accepted()
        return True

    def type_keys(self, field: Node, text: str, *, append: bool = False) -> bool:
        """Type a text into the focused field in place of what it has, or after it. Whether the field has it is not
        checked.

        ``TEXT_NOT_ACCEPTED`` for a text that ``input`` cannot type, and without the time to delete the old one. A
        text that the device may have no keys for is tried before the old one is deleted.
        """
        check_typable(text)
        probe = "" if append else probe_text(text)
        keys = end_keys(field) if append else clearing_keys(field, probe)
        if keys and probe and not self._inject(*typing_lines(probe)):
            raise not_typed(text)
        sent = 0
        batch = _FIRST_KEYS
        while len(keys) - sent > batch:
            began = time.monotonic()
            if not self._inject(input_line("keyevent", *keys[sent : sent + batch])):
                raise not_typed(text)
            sent += batch
            per_key = max((time.monotonic() - began) / batch, 0.0001)
            batch = min(_MAX_KEYS, max(1, int(_BATCH_SECONDS / per_key)))
            needed = min(batch, len(keys) - sent) * per_key
            if needed > (self._deadline.remaining or 0.0):
                raise not_deleted(sent, len(keys), per_key)
        rest = [input_line("keyevent", *keys[sent:])] if keys else []
        if not self._inject(*rest, *(typing_lines(text) if text else ())):
            raise not_typed(text)
        return True

    def field_after(self, field: Node, screen: Hierarchy) -> Node | None:
        """The field in a later capture; another one that has the focus when it is gone."""
        found = find_again(screen.nodes, field)
        if found is not None:
            return found
        return next((node for node in screen.nodes if node.flag("focused") and is_field(node)), None)

    def has_text(self, field: Node, text: str) -> bool:
        return has_text(field, text)

    def _focus(self, node: Node) -> Node | None:
        """The field, focused, tapped if needed. A view that is not a field is not tapped again."""
        if node.flag("focused"):
            return node
        screen = self.dump()
        seen = find_again(screen.nodes, node)
        if seen is None or seen.flag("focused"):
            return seen
        if not is_field(seen) or not self.tap(*touch_point(screen, seen, self.frame()), 0):
            return None
        seen = find_again(self.dump().nodes, node)
        return seen if seen is None or seen.flag("focused") else None

    def _inject(self, *lines: str) -> bool:
        """Run ``input`` commands in sequence. ``input`` reports failures in text rather than by its exit code."""
        if not lines:
            return True
        answer = self._run(" && ".join(lines))
        output = whole_output(answer)
        if _FORBIDDEN.search(output):
            hint = vendor_hint(self._device, "input", otherwise=_ALLOW_INPUT)
            message = f"{self._name} does not allow adb to inject input"
            raise ClawError("SECURITY_BLOCK_DETECTED", message, hint=hint)
        return answer.code == 0 and not _FAILED.search(output)
