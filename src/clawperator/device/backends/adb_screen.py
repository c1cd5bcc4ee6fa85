"""The parts of the adb driver that run shell commands and read the screen.

Each command runs within the deadline of the execution, none after a stop. Of the screen: hierarchies, windows, the
display, screenshots.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from clawperator._base.deadline import Deadline, command_timeout
from clawperator._base.text import one_line
from clawperator.contract.action_params import UserChoice
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.device.adb import dumpsys
from clawperator.device.adb.client import Device, ShellAnswer, command_line, run_shell, shell_error
from clawperator.device.adb.dumpsys import Size
from clawperator.device.adb.screencap import SCREENSHOT_SECONDS, capture_png
from clawperator.device.backends.backend import RunWatch
from clawperator.engine.driver import Windows
from clawperator.engine.retry import NOT_IDLE
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.parse import parse_hierarchy

# uiautomator alone waits ten seconds for an idle screen.
CALL_SECONDS = 30.0
# No further attempt after a slow one: callers that only report on the screen would wait for several.
_DUMPS = 3
_DUMPS_SECONDS = 5.0
_DUMP_PAUSE = 0.3
_NEVER_IDLE = "could not get idle state"
_NOT_IDLE_HINT = (
    "adb cannot read a screen that never becomes idle, such as a video or an animation. Stop it, or "
    "use the backend operator. Keys, points and screenshots work anyway: run 'clawperator press back'."
)
# Only one program at a time can use UI Automation: another one registers first, or ends uiautomator.
_BUSY = re.compile(r"already registered|^\s{0,8}Killed\b", re.MULTILINE)
_WAITS = "uiautomator waits up to 10 s for a screen to become idle"


class AdbShell:
    """The shell of one device. After ``seconds`` every call fails with ``COMMAND_TIMEOUT``.

    ``_user`` is the Android user for whom apps are opened and changed; None is the current one.
    """

    _user: UserChoice | None = None

    def __init__(self, device: Device, *, seconds: float, watch: RunWatch | None) -> None:
        self._device = device
        self._watch = watch or RunWatch()
        self._deadline = Deadline(seconds)

    @property
    def _name(self) -> str:
        return self._device.serial

    def _run(self, script: str) -> ShellAnswer:
        with self._deadline_errors():
            return run_shell(self._device, script, seconds=self._left(CALL_SECONDS))

    @contextmanager
    def _deadline_errors(self) -> Iterator[None]:
        """Report a call that was cut off by the execution's deadline as a timeout."""
        try:
            yield
        except ClawError as e:
            if e.code == "DEVICE_SHELL_UNAVAILABLE" and self._deadline.is_over:
                raise command_timeout() from e
            raise

    def _left(self, most: float) -> float:
        self._watch.check_stop(after_effect=False)
        try:
            return min(most, self._deadline.left())
        except TimeoutError as e:
            raise command_timeout() from e

    def _sleep(self, seconds: float) -> None:
        time.sleep(self._left(seconds))


def whole_output(answer: ShellAnswer) -> str:
    """The text of stdout and stderr: commands differ in where they report a failure."""
    return f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"


class AdbScreen(AdbShell):
    """Reads the screen with ``uiautomator``, which takes seconds on most devices."""

    slow_captures = True

    def __init__(
        self, device: Device, *, seconds: float = MAX_EXECUTION_TIMEOUT_MS / 1000, watch: RunWatch | None = None
    ) -> None:
        super().__init__(device, seconds=seconds, watch=watch)
        self._dump_file = f"/data/local/tmp/clawperator-{os.urandom(8).hex()}.xml"
        # Separates the state of the displays from the hierarchy: no app can know it.
        self._mark = f"clawperator-{os.urandom(8).hex()}"
        self._size: Size | None = None
        self._rotation: int | None = None
        self._is_size_of_capture = False
        self._display = 0
        self.last_screen: Hierarchy | None = None

    # Hierarchies

    def dump(self) -> Hierarchy:
        """The hierarchy, and the display that shows it: it may have been folded or turned."""
        return self._capture(with_display=True)

    def look_again(self) -> Hierarchy:
        """The hierarchy on the display of the last capture, with one command less."""
        return self._capture(with_display=self._size is None)

    def _capture(self, *, with_display: bool) -> Hierarchy:
        """Retries when the window had no root, or another program had UI Automation."""
        error: ClawError | None = None
        to_file, retries = True, Deadline(_DUMPS_SECONDS)
        for attempt in range(_DUMPS):
            if attempt and retries.is_over:
                break
            if attempt and to_file:
                self._sleep(_DUMP_PAUSE)
            answer = self._run_dump(self._dump_script(with_display=with_display, to_file=to_file), error)
            display, mark, output = answer.stdout.rpartition(self._mark.encode())
            head, xml, rest = output.partition(b"<?xml")
            try:
                if not xml:
                    raise self._refusal(answer, output)
                tree = parse_hierarchy(xml + rest)
                if not tree.nodes:
                    raise self._unavailable("the hierarchy is empty")
            except ClawError as e:
                error = self._unavailable(e.message) if e.code == "HIERARCHY_INVALID" else e
                if (error.details or {}).get("reason") == NOT_IDLE:
                    raise error from None
            else:
                self._note_display((display if mark else head).decode("utf-8", "replace"), tree)
                self.last_screen = tree
                return tree
            # uiautomator prints this even when it could not write the file.
            to_file = b"dumped to:" not in answer.stderr
        assert error is not None
        raise error

    def _dump_script(self, *, with_display: bool, to_file: bool) -> str:
        """Dump to a file, or through a pipe when the storage may be full. The display comes before the mark."""
        display = command_line("dumpsys", "window", "displays") + "; " if with_display else ""
        mark = command_line("echo", self._mark) + "; "
        if not to_file:
            return f"{display}{mark}{command_line('uiautomator', 'dump', '/proc/self/fd/1')} | cat"
        dump, show, remove = (
            command_line(*words, self._dump_file) for words in (("uiautomator", "dump"), ("cat",), ("rm", "-f"))
        )
        return f"{dump} 1>&2; {display}{mark}{show}; {remove}"

    def _run_dump(self, script: str, last: ClawError | None) -> ShellAnswer:
        """Run a dump. One that reaches the deadline names what is known of the cause."""
        left = self._deadline.remaining or 0.0
        try:
            return self._run(script)
        except ClawError as e:
            if e.code != "COMMAND_TIMEOUT":
                raise
            cause = last or self._unavailable(f"uiautomator did not finish within {left:.1f} s; {_WAITS}")
            raise command_timeout(cause) from e

    def _refusal(self, answer: ShellAnswer, output: bytes) -> ClawError:
        """Why a dump has no hierarchy."""
        printed = f"{answer.stderr.decode('utf-8', 'replace')}\n{output.decode('utf-8', 'replace')}"
        if _NEVER_IDLE in printed:
            error = self._unavailable(one_line(printed, 300))
            return error.with_(hint=_NOT_IDLE_HINT, details={"reason": NOT_IDLE})
        if _BUSY.search(printed):
            return self._busy(printed)
        nothing = f"uiautomator wrote nothing and exited with {answer.code}"
        return self._unavailable(one_line(printed, 300) or nothing)

    def _unavailable(self, reason: str) -> ClawError:
        message = f"{self._name} returned no UI hierarchy: {reason}"
        hint = "Wake and unlock the device. adb cannot read a screen that never becomes idle, such as a video."
        return ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", message, hint=hint)

    def _busy(self, printed: str) -> ClawError:
        stop = "adb shell am force-stop"
        message = f"another program uses UI Automation on {self._name}: {one_line(printed, 200)}"
        hint = f"Stop it, then retry: Appium with '{stop} io.appium.uiautomator2.server', uiautomator2 with "
        hint += f"'{stop} com.github.uiautomator'. An interrupted dump ends after 10 s. "
        hint += "With an Operator on the device use the backend operator."
        return ClawError("UI_AUTOMATION_BUSY", message, hint=hint)

    # The display

    def _note_display(self, state: str, tree: Hierarchy) -> None:
        self._rotation = tree.rotation
        self._is_size_of_capture = True
        if state:
            self._read_display(state)
        edges = [root.bounds.normalised() for root in tree.roots]
        sides = max(edge.right for edge in edges), max(edge.bottom for edge in edges)
        if self._size is None or not self._fits(sides):
            # The device does not report a size, or was unfolded since: its windows fill the display.
            self._size = sides if tree.rotation % 2 == 0 else sides[::-1]

    def _fits(self, sides: Size) -> bool:
        frame = self.frame()
        return sides[0] <= frame.right and sides[1] <= frame.bottom

    def _read_display(self, state: str) -> None:
        """Take the focused display and its size from ``dumpsys window displays``."""
        chosen = dumpsys.focused_display_id(state)
        if chosen is None:
            # Several displays have a focused window.
            chosen = dumpsys.focused_display_id(self._run("dumpsys window windows").text) or 0
        self._display = chosen
        found = {display.id: display.natural for display in dumpsys.read_displays(state)}
        of_first = dumpsys.read_size(state) if chosen == 0 else None
        self._size = of_first or found.get(chosen)

    def frame(self) -> Bounds:
        if self._size is None or self._rotation is None:
            state = self._run("wm size; dumpsys window displays").text
            self._read_display(state)
            self._rotation = self._read_turns(state)
            self._is_size_of_capture = False
        if self._size is None:
            raise shell_error(self._device, f"{self._name} does not report its display size")
        width, height = self._size if self._rotation % 2 == 0 else self._size[::-1]
        return Bounds(0, 0, width, height)

    def is_on_display(self, *points: tuple[int, int]) -> bool:
        """Whether points are on the display. Its size is read again if they are not: it may have been unfolded."""
        if all(self.frame().contains(*point) for point in points):
            return True
        if not self._is_size_of_capture:
            return False
        self._size = None
        return all(self.frame().contains(*point) for point in points)

    def _read_turns(self, state: str) -> int:
        """Quarter turns, as far as they matter for the frame."""
        for display in dumpsys.read_displays(state):
            if display.id == self._display:
                return int(display.current != display.natural)
        return dumpsys.read_rotation(state)

    def _natural_size(self) -> Size:
        if self._size is None:
            AdbScreen.frame(self)  # reads it; the frame of a subclass may be that of a window
        assert self._size is not None
        return self._size

    # Windows

    def windows(self) -> Windows:
        windows = dumpsys.read_windows(self._run("dumpsys window").text)
        if windows.foreground_package is not None:
            return windows
        return Windows(self.foreground(), windows.overlay_package, windows.count)

    def foreground(self) -> str | None:
        # The first works from Android 10 on, the second before; the third when no window has the focus.
        for service in (("window", "displays"), ("window", "windows"), ("activity", "activities")):
            text = self._run(command_line("dumpsys", *service)).text
            if dumpsys.focused_display_id(text) is None:  # several displays have a focused window
                text = self._run("dumpsys window").text
            found = dumpsys.read_foreground(text)
            if found is not None:
                return found
        return None

    def screenshot(self) -> bytes:
        with self._deadline_errors():
            return capture_png(self._device, seconds=self._left(SCREENSHOT_SECONDS))
