"""The adb backend: the host engine over shell commands. Nothing is installed on the device."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from clawperator._deadline import Deadline, command_timeout
from clawperator.contract import KEY_CODES, PACKAGE_NAME, Plan, ResultEnvelope
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.device.adb import dumpsys
from clawperator.device.adb import input as adb_input
from clawperator.device.adb.client import Device, ShellAnswer, run_shell
from clawperator.device.adb.input import input_line
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends import RunWatch
from clawperator.device.backends.adb_system import AdbSystem
from clawperator.device.backends.host_actions import capture_png, force_stop, is_running, save_screenshot
from clawperator.device.serials import device_flag
from clawperator.engine import Engine, Key, SystemClock, Windows
from clawperator.errors import ClawError
from clawperator.ui import Bounds, Hierarchy, Node, parse_hierarchy

# uiautomator alone waits ten seconds for an idle screen.
_CALL_SECONDS = 30.0
_CLOSE_SECONDS = 10.0
# How soon a sleep notices that it must stop.
_STOP_SECONDS = 0.05
# No further attempt after a slow one: callers that only report on the screen would wait for several.
_DUMPS = 3
_DUMPS_SECONDS = 5.0
_DUMP_PAUSE = 0.3
_CHECKS = 2
_CHECK_PAUSE = 0.2
# A touch held no longer than this is a tap.
_TAP_MS = 200
# Taps this far apart are a double tap: Android takes 40 to 300 ms.
_DOUBLE_TAP_PAUSE = "0.1"
_MAIN = ("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER")
# NEW_TASK | RESET_TASK_IF_NEEDED, the flags a launcher uses.
_LAUNCHER_FLAGS = "0x10200000"
_COMPONENT = re.compile(r"([A-Za-z][\w.]{0,255})/[\w.$]{1,512}", re.ASCII)
_FAILED = re.compile(r"^[ \t]{0,64}error\b|exception\b|unknown command|^killed", re.IGNORECASE | re.MULTILINE)
_FORBIDDEN = re.compile(r"INJECT_EVENTS|SecurityException")


class AdbBackend:
    """Runs plans with commands that every device's shell has."""

    def __init__(self, device: Device, watch: RunWatch | None = None) -> None:
        self._device = device
        self._watch = watch or RunWatch()

    def run(self, plan: Plan) -> ResultEnvelope:
        """The device stops with the host: nothing more is sent to it after a stop or the deadline."""
        execution = plan.execution
        driver = AdbDriver(self._device, seconds=execution.timeoutMs / 1000, watch=self._watch)

        def save(path: str | None, png: bytes) -> str:
            return save_screenshot(png, path, execution.commandId)

        clock, references, check = WatchedClock(self._watch), self._watch.references, self._watch.check_target
        engine = Engine(
            driver,
            clock,
            save_screenshot=save,
            references=references,
            check_target=check,
            secrets=self._watch.secrets,
        )
        envelope = engine.run(execution)
        last = envelope.stepResults[-1] if envelope.stepResults else None
        if last is None or last.success or driver.last_screen is None:
            return envelope
        from clawperator.device.backends.near_matches import is_failed_search, with_near_matches

        if is_failed_search(last):
            action = execution.actions[len(envelope.stepResults) - 1]
            envelope.stepResults[-1] = with_near_matches(last, action, driver.last_screen, self._device.serial)
        return envelope


class WatchedClock(SystemClock):
    """The system clock, whose sleep ends when the caller asks to stop."""

    def __init__(self, watch: RunWatch) -> None:
        self._watch = watch

    def sleep(self, seconds: float) -> None:
        if self._watch.stop is None:
            super().sleep(seconds)
            return
        deadline = Deadline(max(0.0, seconds))
        while not deadline.is_over:
            self._watch.check_stop(after_effect=False)
            super().sleep(deadline.within(_STOP_SECONDS))


class AdbDriver(AdbSystem):
    """A ``Driver`` over the shell of one device. After ``seconds`` every call fails with ``COMMAND_TIMEOUT``.

    It has no accessibility actions, so the engine uses gestures, and no recorder.
    """

    def __init__(
        self,
        device: Device,
        *,
        seconds: float = MAX_EXECUTION_TIMEOUT_MS / 1000,
        watch: RunWatch | None = None,
    ) -> None:
        self._device = device
        self._watch = watch or RunWatch()
        self._deadline = Deadline(seconds)
        self._dump_file = f"/data/local/tmp/clawperator-{os.urandom(8).hex()}.xml"
        self._size: tuple[int, int] | None = None
        self._rotation: int | None = None
        self._cleared: Node | None = None
        self.last_screen: Hierarchy | None = None

    # Screen

    def dump(self) -> Hierarchy:
        """Retries when the screen was not idle or another dump was running."""
        reason, to_file, retries = "", True, Deadline(_DUMPS_SECONDS)
        for attempt in range(_DUMPS):
            if attempt and retries.is_over:
                break
            if attempt and to_file:
                self._sleep(_DUMP_PAUSE)
            answer = self._run(self._dump_script(to_file=to_file))
            head, xml, rest = answer.stdout.partition(b"<?xml")
            if xml:
                try:
                    tree = parse_hierarchy(xml + rest)
                except ClawError as e:
                    reason = e.message
                else:
                    if tree.nodes:
                        self._note_display(head.decode("ascii", "replace"), tree)
                        self.last_screen = tree
                        return tree
                    reason = "the hierarchy is empty"
            else:
                reason = answer.complaint
            # uiautomator prints this even when it could not write the file.
            to_file = b"dumped to:" not in answer.stderr
        raise ClawError(
            "SNAPSHOT_HIERARCHY_UNAVAILABLE",
            f"{self._device.serial} returned no UI hierarchy: {reason}",
            hint="Wake and unlock the device. adb cannot read a screen that never becomes idle, such as a video.",
        )

    def _dump_script(self, *, to_file: bool) -> str:
        """Dump to a file, or through a pipe when the storage may be full."""
        size = "wm size; " if self._size is None else ""
        if not to_file:
            return f"{size}{command_line('uiautomator', 'dump', '/proc/self/fd/1')} | cat"
        dump, show, remove = (
            command_line(*words, self._dump_file) for words in (("uiautomator", "dump"), ("cat",), ("rm", "-f"))
        )
        return f"{size}{dump} 1>&2; {show}; {remove}"

    def _note_display(self, wm_size: str, tree: Hierarchy) -> None:
        self._rotation = tree.rotation
        if self._size is not None:
            return
        self._size = dumpsys.read_size(wm_size)
        if self._size is None:
            # Old devices do not report a size: their windows fill the display.
            edges = [root.bounds.normalised() for root in tree.roots]
            sides = (max(e.right for e in edges), max(e.bottom for e in edges))
            self._size = sides if tree.rotation % 2 == 0 else sides[::-1]

    def windows(self) -> Windows:
        windows = dumpsys.read_windows(self._run("dumpsys window").text)
        if windows.foreground_package is not None:
            return windows
        return Windows(self.foreground(), windows.overlay_package, windows.count)

    def foreground(self) -> str | None:
        # The first works from Android 10 on, the second before; the third when no window has the focus.
        for service in (("window", "displays"), ("window", "windows"), ("activity", "activities")):
            found = dumpsys.read_foreground(self._run(command_line("dumpsys", *service)).text)
            if found is not None:
                return found
        return None

    def frame(self) -> Bounds:
        if self._size is None or self._rotation is None:
            text = self._run("wm size; dumpsys window displays").text
            self._size, self._rotation = dumpsys.read_size(text), dumpsys.read_rotation(text)
        if self._size is None:
            raise ClawError(
                "DEVICE_SHELL_UNAVAILABLE",
                f"{self._device.serial} does not report its display size",
                hint=f"Run 'clawperator doctor {device_flag(self._device.serial)}' to check the device.",
                target=self._device.serial,
            )
        width, height = self._size if self._rotation % 2 == 0 else self._size[::-1]
        return Bounds(0, 0, width, height)

    def _natural_size(self) -> tuple[int, int]:
        frame = self.frame()
        return self._size or (frame.width, frame.height)

    def screenshot(self) -> bytes:
        with self._deadline_errors():
            return capture_png(self._device, seconds=self._left(_CALL_SECONDS))

    # Touch and keys

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        if not self.frame().contains(x, y):
            return False
        point = (str(x), str(y))
        if hold_ms <= _TAP_MS:
            return self._inject(input_line("tap", *point))
        return self._inject(input_line("swipe", *point, *point, str(hold_ms)))

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        if not all(self.frame().contains(*point) for point in (start, end)):
            return False
        return self._inject(input_line("swipe", *map(str, (*start, *end, duration_ms))))

    def key(self, key: Key) -> bool:
        return self._inject(input_line("keyevent", str(KEY_CODES[key])))

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        if not all(self.frame().contains(*point) for point in (start, end)):
            return False
        return self._inject(input_line("draganddrop", *map(str, (*start, *end, duration_ms))))

    def double_tap(self, x: int, y: int) -> bool:
        """Two taps. The second ``input`` starts while the first one runs: starting one may take a second."""
        if not self.frame().contains(x, y):
            return False
        tap = input_line("tap", str(x), str(y))
        return self._inject(f"{{ {tap} & sleep {_DOUBLE_TAP_PAUSE}; {tap}; wait; }}")

    def submit(self, node: Node) -> bool:  # noqa: ARG002 - typing gave the field the focus
        return self._inject(input_line("keyevent", adb_input.ENTER))

    def set_text(self, node: Node, text: str) -> bool:
        """Replace the text of a field, then check that the field has it.

        Nothing is typed unless the field has the focus. ``TEXT_NOT_ACCEPTED`` when the field has other text
        afterwards. Clearing a field is not checked: an empty field may show its hint.
        """
        adb_input.check_typable(text)
        cleared, self._cleared = node is self._cleared, None
        field = node if cleared else self._focus(node)
        if field is None:
            return False
        clearing = [] if cleared else adb_input.clearing_lines(field)
        if not text:
            self._cleared = node
            return self._inject(*clearing)
        # The second time delete in both directions: the cursor may have been in the middle of the text.
        for _ in range(2):
            if not self._inject(*clearing, *adb_input.typing_lines(text)):
                break
            seen = self._field_after_typing(field, text)
            if seen is not None and adb_input.has_text(seen, text):
                return True
            if seen is None or not seen.flag("focused"):
                break
            clearing = adb_input.clearing_lines(seen, around=True)
        raise adb_input.not_accepted(text)

    def _focus(self, node: Node) -> Node | None:
        """The field, focused, tapped if needed. A view that is not a field is not tapped again."""
        if node.flag("focused"):
            return node
        for tap in (False, True):
            if tap:
                area = node.bounds.normalised().intersection(self.frame())
                if not adb_input.is_field(node) or not self.tap(*area.centre, 0):
                    return None
            seen = adb_input.find_again(self.dump().nodes, node)
            if seen is None or seen.flag("focused"):
                return seen
        return None

    def _field_after_typing(self, field: Node, text: str) -> Node | None:
        """The field once it has the text, or after a short wait; None when it is gone."""
        seen = None
        for attempt in range(_CHECKS):
            if attempt:
                self._sleep(_CHECK_PAUSE)
            seen = adb_input.find_again(self.dump().nodes, field)
            if seen is not None and adb_input.has_text(seen, text):
                break
        return seen

    def _inject(self, *lines: str) -> bool:
        """Run ``input`` commands in sequence. ``input`` reports failures in text rather than by its exit code."""
        if not lines:
            return True
        answer = self._run(" && ".join(lines))
        output = f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"
        if _FORBIDDEN.search(output):
            raise ClawError(
                "SECURITY_BLOCK_DETECTED",
                f"{self._device.serial} does not allow adb to inject input",
                hint="Allow it in the developer options, on some devices 'USB debugging (Security settings)'.",
                target=self._device.serial,
            )
        return answer.code == 0 and not _FAILED.search(output)

    # Apps

    def launch(self, package: str) -> bool:
        if not PACKAGE_NAME.fullmatch(package):
            return False
        resolve = command_line("cmd", "package", "resolve-activity", "--brief", *_MAIN, package)
        resolved = self._run(resolve).text.strip()
        if resolved == "No activity found":
            return False
        found = _COMPONENT.fullmatch(resolved.rpartition("\n")[2].strip())
        if found and found[1] == package and self._start(*_MAIN, "-f", _LAUNCHER_FLAGS, "-n", found[0]):
            return True
        # The device is too old for this query, or the app has several launcher activities.
        monkey = command_line("monkey", "-p", package, "-c", "android.intent.category.LAUNCHER", "1")
        return "Events injected: 1" in self._run(monkey).text

    def view(self, uri: str) -> bool:
        return "\0" not in uri and self._start("-a", "android.intent.action.VIEW", "-d", uri)

    def _start(self, *words: str) -> bool:
        answer = self._run(command_line("am", "start", *words))
        output = f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"
        # am echoes the intent, and a link may contain any word.
        lines = [line for line in output.splitlines() if not line.startswith("Starting:")]
        return answer.code == 0 and not _FAILED.search("\n".join(lines))

    def is_running(self, package: str) -> bool:
        with self._deadline_errors():
            return is_running(self._device, package, seconds=self._left(_CALL_SECONDS))

    def force_stop(self, package: str) -> bool:
        with self._deadline_errors():
            force_stop(self._device, package, seconds=self._left(_CLOSE_SECONDS))
        return True

    # Commands

    def _run(self, script: str) -> ShellAnswer:
        with self._deadline_errors():
            return run_shell(self._device, script, seconds=self._left(_CALL_SECONDS))

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
