"""A phone as the engine needs it, by the commands of its shell: nothing is installed on it."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from clawperator.contract.actions import PACKAGE_NAME
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.device.adb import dumpsys
from clawperator.device.adb import input as adb_input
from clawperator.device.adb.client import Deadline, Device, ShellAnswer, shell
from clawperator.device.adb.input import input_line
from clawperator.device.adb.quoting import command_line
from clawperator.device.run import close_app, take_screenshot
from clawperator.engine.driver import Key, NodeAction, Recorded, Windows
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.parse import parse_hierarchy

# A dump alone waits ten seconds for a screen that does not rest.
_CALL_SECONDS = 30.0
_CLOSE_SECONDS = 10.0
# A try that took long is not made again here: whoever only wants a look would wait for several of them.
_DUMPS = 3
_DUMPS_SECONDS = 5.0
_DUMP_PAUSE = 0.3
_LOOKS = 2
_LOOK_PAUSE = 0.2
# What is held no longer than this is a tap.
_TAP_MS = 200
_KEYS: dict[Key, str] = {"home": "3", "back": "4", "recents": "187"}
_MAIN = ("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER")
# A new task, or the old one as it was left: what a launcher asks for.
_AS_LAUNCHER = "0x10200000"
_COMPONENT = re.compile(r"([A-Za-z][\w.]*)/[\w.$]+", re.ASCII)
_REFUSED = re.compile(r"^\s*error\b|exception\b|unknown command|^killed", re.IGNORECASE | re.MULTILINE)
_FORBIDDEN = re.compile(r"INJECT_EVENTS|SecurityException")
_NO_RECORDER = "adb alone cannot record what happens on the phone"


class AdbDriver:
    """A ``Driver`` over one phone's shell. No call outlasts ``seconds`` from now: ``COMMAND_TIMEOUT``.

    There are no accessibility actions, so the engine touches instead. There are no recordings.
    """

    def __init__(self, device: Device, *, seconds: float = MAX_EXECUTION_TIMEOUT_MS / 1000) -> None:
        self._device = device
        self._deadline = Deadline(seconds)
        self._dump_file = f"/data/local/tmp/clawperator-{os.urandom(8).hex()}.xml"
        self._size: tuple[int, int] | None = None
        self._rotation: int | None = None
        self._emptied: Node | None = None

    # What is shown

    def dump(self) -> Hierarchy:
        """Tried again where another look may help: the screen did not rest, or another dump was running."""
        told, to_file, began = "", True, time.monotonic()
        for turn in range(_DUMPS):
            if turn and time.monotonic() - began > _DUMPS_SECONDS:
                break
            if turn and to_file:
                self._sleep(_DUMP_PAUSE)
            answer = self._ask(self._dump_script(to_file=to_file))
            head, xml, rest = answer.stdout.partition(b"<?xml")
            if xml:
                try:
                    tree = parse_hierarchy(xml + rest)
                except ClawError as e:
                    told = e.message
                else:
                    if tree.nodes:
                        self._note_display(head.decode("ascii", "replace"), tree)
                        return tree
                    told = "the hierarchy is empty"
            else:
                told = answer.complaint
            # It says so whether the file could be written or not.
            to_file = b"dumped to:" not in answer.stderr
        raise ClawError(
            "SNAPSHOT_HIERARCHY_UNAVAILABLE",
            f"the phone gave no hierarchy of its screen: {told}",
            hint="Wake and unlock the phone. A screen that never rests, as a video, cannot be read by adb.",
        )

    def _dump_script(self, *, to_file: bool) -> str:
        """By way of a file, the surest, or through a pipe where the storage may be full."""
        size = "wm size; " if self._size is None else ""
        if not to_file:
            return f"{size}{command_line('uiautomator', 'dump', '/proc/self/fd/1')} | cat"
        dump, show, remove = (
            command_line(*words, self._dump_file) for words in (("uiautomator", "dump"), ("cat",), ("rm", "-f"))
        )
        return f"{size}{dump} 1>&2; {show}; {remove}"

    def _note_display(self, told: str, tree: Hierarchy) -> None:
        self._rotation = tree.rotation
        if self._size is not None:
            return
        self._size = dumpsys.read_size(told)
        if self._size is None:
            # A phone too old to tell: its windows fill the display.
            edges = [root.bounds.normalised() for root in tree.roots]
            sides = (max(e.right for e in edges), max(e.bottom for e in edges))
            self._size = sides if tree.rotation % 2 == 0 else sides[::-1]

    def windows(self) -> Windows:
        told = dumpsys.read_windows(self._ask("dumpsys window").text)
        if told.foreground_package is not None:
            return told
        return Windows(self.foreground(), told.overlay_package, told.count)

    def foreground(self) -> str | None:
        # From Android 10 on the first tells, before that the second; the third when no window has the focus.
        for service in (("window", "displays"), ("window", "windows"), ("activity", "activities")):
            found = dumpsys.read_foreground(self._ask(command_line("dumpsys", *service)).text)
            if found is not None:
                return found
        return None

    def frame(self) -> Bounds:
        if self._size is None or self._rotation is None:
            told = self._ask("wm size; dumpsys window displays").text
            self._size, self._rotation = dumpsys.read_size(told), dumpsys.read_rotation(told)
        if self._size is None:
            raise ClawError(
                "DEVICE_SHELL_UNAVAILABLE",
                "the phone does not tell the size of its display",
                hint="Run 'clawperator doctor' to see what is wrong with the phone.",
                target=self._device.serial,
            )
        width, height = self._size if self._rotation % 2 == 0 else self._size[::-1]
        return Bounds(0, 0, width, height)

    def screenshot(self) -> bytes | None:
        with self._in_time():
            return take_screenshot(self._device, seconds=self._left(_CALL_SECONDS))

    # Fingers and keys

    def act(self, node: Node, action: NodeAction) -> bool | None:  # noqa: ARG002 - what others may have
        return None

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        if not self.frame().contains(x, y):
            return False
        point = (str(x), str(y))
        if hold_ms <= _TAP_MS:
            return self._inject(input_line("tap", *point))
        return self._inject(input_line("swipe", *point, *point, str(hold_ms)))

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        return self._inject(input_line("swipe", *map(str, (*start, *end, duration_ms))))

    def key(self, key: Key) -> bool:
        return self._inject(input_line("keyevent", _KEYS[key]))

    def submit(self, node: Node) -> bool:  # noqa: ARG002 - the field has the focus since the text was typed
        return self._inject(input_line("keyevent", adb_input.ENTER))

    def set_text(self, node: Node, text: str) -> bool:
        """Replace what a field holds, and look whether it holds the text afterwards.

        Nothing is typed unless the field has the focus. ``TEXT_NOT_ACCEPTED`` when the phone or the field took
        something else. Emptying a field is not looked at, for an empty one may show its hint.
        """
        adb_input.check_typable(text)
        emptied, self._emptied = node is self._emptied, None
        field = node if emptied else self._focus(node)
        if field is None:
            return False
        clearing = [] if emptied else adb_input.clearing_lines(field)
        if not text:
            self._emptied = node
            return self._inject(*clearing)
        # Once more, and thoroughly, when the cursor stood where not all was deleted.
        for _ in range(2):
            if not self._inject(*clearing, *adb_input.typing_lines(text)):
                break
            seen = self._look_for(field, text)
            if seen is not None and adb_input.holds(seen, text):
                return True
            if seen is None or not seen.flag("focused"):
                break
            clearing = adb_input.clearing_lines(seen, around=True)
        raise adb_input.not_taken(text)

    def _focus(self, node: Node) -> Node | None:
        """The field with the focus in it, touched if need be. A view that is no field is not touched again."""
        if node.flag("focused"):
            return node
        for touch in (False, True):
            if touch:
                area = node.bounds.normalised().intersection(self.frame())
                if not adb_input.is_field(node) or not self.tap(*area.centre, 0):
                    return None
            seen = adb_input.find_again(self.dump().nodes, node)
            if seen is None or seen.flag("focused"):
                return seen
        return None

    def _look_for(self, field: Node, text: str) -> Node | None:
        """The field as it is when it holds the text, or as it is after a while; None when it is gone."""
        seen = None
        for look in range(_LOOKS):
            if look:
                self._sleep(_LOOK_PAUSE)
            seen = adb_input.find_again(self.dump().nodes, field)
            if seen is not None and adb_input.holds(seen, text):
                break
        return seen

    def _inject(self, *lines: str) -> bool:
        """Run ``input`` commands one after the other. It tells of its failures in words more than by its code."""
        if not lines:
            return True
        answer = self._ask(" && ".join(lines))
        told = f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"
        if _FORBIDDEN.search(told):
            raise ClawError(
                "SECURITY_BLOCK_DETECTED",
                "the phone lets adb neither touch nor type",
                hint="Allow it in the developer options: on some phones it is called "
                "'USB debugging (Security settings)'.",
                target=self._device.serial,
            )
        return answer.code == 0 and not _REFUSED.search(told)

    # Apps

    def launch(self, package: str) -> bool:
        if not PACKAGE_NAME.fullmatch(package):
            return False
        resolve = command_line("cmd", "package", "resolve-activity", "--brief", *_MAIN, package)
        told = self._ask(resolve).text.strip()
        if told == "No activity found":
            return False
        found = _COMPONENT.fullmatch(told.rpartition("\n")[2].strip())
        if found and found[1] == package and self._start(*_MAIN, "-f", _AS_LAUNCHER, "-n", found[0]):
            return True
        # The phone is too old to be asked, or the app has several ways in and the phone would ask back.
        monkey = command_line("monkey", "-p", package, "-c", "android.intent.category.LAUNCHER", "1")
        return "Events injected: 1" in self._ask(monkey).text

    def view(self, uri: str) -> bool:
        return "\0" not in uri and self._start("-a", "android.intent.action.VIEW", "-d", uri)

    def _start(self, *words: str) -> bool:
        answer = self._ask(command_line("am", "start", *words))
        told = f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"
        # The intent is said back, and a link may hold any word.
        lines = [line for line in told.splitlines() if not line.startswith("Starting:")]
        return answer.code == 0 and not _REFUSED.search("\n".join(lines))

    def force_stop(self, package: str) -> bool:
        with self._in_time():
            close_app(self._device, package, seconds=self._left(_CLOSE_SECONDS))
        return True

    # What adb alone cannot do

    def start_recording(self, session_id: str | None) -> Recorded:  # noqa: ARG002 - there is no session
        raise self._no_recorder("start")

    def stop_recording(self, session_id: str | None) -> Recorded:  # noqa: ARG002 - there is no session
        raise self._no_recorder("stop")

    def _no_recorder(self, verb: str) -> ClawError:
        hint = f"Run 'clawperator recording {verb}' without '--backend adb': the Operator on the phone records."
        return ClawError("RECORDING_UNAVAILABLE", _NO_RECORDER, hint=hint, target=self._device.serial)

    # Asking

    def _ask(self, script: str) -> ShellAnswer:
        with self._in_time():
            return shell(self._device, script, seconds=self._left(_CALL_SECONDS))

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """A call that was cut off because the execution's time was over says so."""
        try:
            yield
        except ClawError as e:
            if e.code == "DEVICE_SHELL_UNAVAILABLE" and self._deadline.is_over:
                raise _too_late() from e
            raise

    def _left(self, most: float) -> float:
        try:
            return min(most, self._deadline.left())
        except TimeoutError as e:
            raise _too_late() from e

    def _sleep(self, seconds: float) -> None:
        time.sleep(self._left(seconds))


def _too_late() -> ClawError:
    return ClawError(
        "COMMAND_TIMEOUT",
        "the execution's time ran out while the phone was at work",
        hint="Raise the execution's timeoutMs, or split its actions over several executions.",
    )
