"""The part of the adb driver that touches, presses keys and types, with ``input``."""

import re
import time

from clawperator.contract.action_params import KEY_CODES
from clawperator.device.adb import input as adb_input
from clawperator.device.adb.input import input_line
from clawperator.device.backends.adb_screen import AdbScreen
from clawperator.device.backends.adb_shell import whole_output
from clawperator.device.vendors import vendor_hint
from clawperator.engine.driver import Key
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

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


class AdbTouch(AdbScreen):
    """Touch, keys and text. There are no accessibility actions, so the engine uses gestures."""

    # Touch

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        if not self.is_on_display((x, y)):
            return False
        point = (str(x), str(y))
        if hold_ms <= _TAP_MS:
            return self._inject(self._pointer("tap", *point))
        return self._inject(self._pointer("swipe", *point, *point, str(hold_ms)))

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        if not self.is_on_display(start, end):
            return False
        return self._inject(self._pointer("swipe", *map(str, (*start, *end, duration_ms))))

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        if not self.is_on_display(start, end):
            return False
        return self._inject(self._pointer("draganddrop", *map(str, (*start, *end, duration_ms))))

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
        return self._inject(input_line("keyevent", adb_input.ENTER))

    # Text

    def set_text(self, node: Node, text: str) -> bool:
        """Replace the text of a field, then check that the field has it.

        Nothing is typed unless the field has the focus, and nothing is typed twice. ``TEXT_NOT_ACCEPTED`` when the
        field has other text afterwards. Clearing a field is not checked: an empty field may show its hint.
        """
        adb_input.check_typable(text)
        field = self._focus(node)
        if field is None:
            return False
        self.type_keys(field, text)
        if not text:
            return True
        seen = self.field_after(field, self.dump())
        if seen is None or not self.has_text(seen, text):
            raise adb_input.not_accepted()
        return True

    def type_keys(self, field: Node, text: str, *, append: bool = False) -> bool:
        """Type a text into the focused field in place of what it has, or after it. Whether the field has it is not
        checked.

        ``TEXT_NOT_ACCEPTED`` for a text that ``input`` cannot type, and without the time to delete the old one. A
        text that the device may have no keys for is tried before the old one is deleted.
        """
        adb_input.check_typable(text)
        probe = "" if append else adb_input.probe_text(text)
        keys = adb_input.end_keys(field) if append else adb_input.clearing_keys(field, probe)
        if keys and probe and not self._inject(*adb_input.typing_lines(probe)):
            raise adb_input.not_typed(text)
        sent = 0
        batch = _FIRST_KEYS
        while len(keys) - sent > batch:
            began = time.monotonic()
            if not self._inject(adb_input.key_line(keys[sent : sent + batch])):
                raise adb_input.not_typed(text)
            sent += batch
            per_key = max((time.monotonic() - began) / batch, 0.0001)
            batch = min(_MAX_KEYS, max(1, int(_BATCH_SECONDS / per_key)))
            needed = min(batch, len(keys) - sent) * per_key
            if needed > (self._deadline.remaining or 0.0):
                raise adb_input.not_deleted(sent, len(keys), per_key)
        rest = [adb_input.key_line(keys[sent:])] if keys else []
        if not self._inject(*rest, *(adb_input.typing_lines(text) if text else ())):
            raise adb_input.not_typed(text)
        return True

    def field_after(self, field: Node, screen: Hierarchy) -> Node | None:
        """The field in a later capture; another one that has the focus when it is gone."""
        found = adb_input.find_again(screen.nodes, field)
        if found is not None:
            return found
        return next((node for node in screen.nodes if node.flag("focused") and adb_input.is_field(node)), None)

    def has_text(self, field: Node, text: str) -> bool:
        return adb_input.has_text(field, text)

    def _focus(self, node: Node) -> Node | None:
        """The field, focused, tapped if needed. A view that is not a field is not tapped again."""
        if node.flag("focused"):
            return node
        screen = self.dump()
        seen = adb_input.find_again(screen.nodes, node)
        if seen is None or seen.flag("focused"):
            return seen
        if not adb_input.is_field(seen) or not self.tap(*touch_point(screen, seen, self.frame()), 0):
            return None
        seen = adb_input.find_again(self.dump().nodes, node)
        return seen if seen is None or seen.flag("focused") else None

    def _inject(self, *lines: str) -> bool:
        """Run ``input`` commands in sequence. ``input`` reports failures in text rather than by its exit code."""
        if not lines:
            return True
        answer = self._run(" && ".join(lines))
        output = whole_output(answer)
        if _FORBIDDEN.search(output):
            raise ClawError(
                "SECURITY_BLOCK_DETECTED",
                f"{self._name} does not allow adb to inject input",
                hint=vendor_hint(self._device, "input", otherwise=_ALLOW_INPUT),
                target=self._name,
            )
        return answer.code == 0 and not _FAILED.search(output)
