"""The part of the adb driver that reads the screen: hierarchies, windows, the display, screenshots."""

import os

from clawperator._deadline import Deadline
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS
from clawperator.device.adb import displays, dumpsys
from clawperator.device.adb.client import Device
from clawperator.device.adb.quoting import command_line
from clawperator.device.adb.screencap import SCREENSHOT_SECONDS, capture_png
from clawperator.device.backends import RunWatch
from clawperator.device.backends.adb_shell import AdbShell
from clawperator.device.serials import device_flag
from clawperator.engine import Windows
from clawperator.errors import ClawError
from clawperator.ui import Bounds, Hierarchy, parse_hierarchy

# No further attempt after a slow one: callers that only report on the screen would wait for several.
_DUMPS = 3
_DUMPS_SECONDS = 5.0
_DUMP_PAUSE = 0.3


class AdbScreen(AdbShell):
    """Reads the screen with ``uiautomator``, which takes seconds on most devices."""

    def __init__(
        self,
        device: Device,
        *,
        seconds: float = MAX_EXECUTION_TIMEOUT_MS / 1000,
        watch: RunWatch | None = None,
    ) -> None:
        super().__init__(device, seconds=seconds, watch=watch)
        self._dump_file = f"/data/local/tmp/clawperator-{os.urandom(8).hex()}.xml"
        self._size: tuple[int, int] | None = None
        self._rotation: int | None = None
        self.last_screen: Hierarchy | None = None

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
            f"{self._name} returned no UI hierarchy: {reason}",
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
        self._size = displays.read_size(wm_size)
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
            self._size, self._rotation = displays.read_size(text), displays.read_rotation(text)
        if self._size is None:
            raise ClawError(
                "DEVICE_SHELL_UNAVAILABLE",
                f"{self._name} does not report its display size",
                hint=f"Run 'clawperator doctor {device_flag(self._name)}' to check the device.",
                target=self._name,
            )
        width, height = self._size if self._rotation % 2 == 0 else self._size[::-1]
        return Bounds(0, 0, width, height)

    def _natural_size(self) -> tuple[int, int]:
        frame = self.frame()
        return self._size or (frame.width, frame.height)

    def screenshot(self) -> bytes:
        with self._deadline_errors():
            return capture_png(self._device, seconds=self._left(SCREENSHOT_SECONDS))
