"""Screenshots with ``screencap``, of the panel that is in use."""

from clawperator._base.deadline import Deadline
from clawperator._base.text import one_line
from clawperator.device.adb.client import Device, ShellAnswer, command_line, run_shell, shell_error
from clawperator.device.adb.dumpsys import focused_display_id, physical_id_in_use, read_physical_ids
from clawperator.errors import ClawError

SCREENSHOT_SECONDS = 30.0
_MAX_BYTES = 64 * 1024 * 1024
_START, _END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"
_SEVERAL = b"Multiple displays"
# Printed between the list of panels and the output of screencap.
_MARK = "panels listed"
_MAX_TEXT = 4_096


def capture_png(device: Device, *, seconds: float = SCREENSHOT_SECONDS) -> bytes:
    """The screen as PNG. ``DEVICE_SHELL_UNAVAILABLE`` when the device returns no picture.

    With several panels, as in a foldable, ``screencap`` takes the first one, which may be off: the panel of the
    focused display is named, and the first one is taken only if it cannot be found.
    """
    deadline = Deadline(seconds)
    # One request: the list is short, and the picture of most devices is the right one.
    list_panels = command_line("dumpsys", "SurfaceFlinger", "--display-id")
    script = "; ".join((list_panels, command_line("echo", _MARK), command_line("screencap", "-p")))
    answer = _run(device, script, deadline)
    before, png = _split(answer.stdout)
    listed, _, text = before.partition(_MARK)
    panels = read_physical_ids(listed)
    if len(panels) > 1 or _SEVERAL in answer.stderr or _SEVERAL.decode() in text:
        try:
            chosen = _panel_in_use(device, panels, deadline)
            if chosen is not None:
                of_panel = _run(device, command_line("screencap", "-p", "-d", chosen), deadline)
                png = _split(of_panel.stdout)[1] or png
        except ClawError:
            if not png:
                raise
    if not png:
        raise _no_screenshot(device, answer, text)
    return png


def _panel_in_use(device: Device, panels: list[str], deadline: Deadline) -> str | None:
    windows = _run(device, command_line("dumpsys", "window"), deadline).text
    displays = _run(device, command_line("dumpsys", "display"), deadline).text
    chosen = physical_id_in_use(displays, focused_display_id(windows) or 0)
    return chosen if not panels or chosen in panels else None


def _run(device: Device, script: str, deadline: Deadline) -> ShellAnswer:
    return run_shell(device, script, seconds=max(0.001, deadline.remaining or 0.0), max_bytes=_MAX_BYTES)


def _split(output: bytes) -> tuple[str, bytes]:
    """The text before a picture, such as warnings of the device, and the picture; empty unless it is whole."""
    text, start, rest = output.partition(_START)
    end = rest.rfind(_END)
    return text.decode("utf-8", "replace"), start + rest[: end + len(_END)] if end >= 0 else b""


def _no_screenshot(device: Device, answer: ShellAnswer, text: str) -> ClawError:
    complaint = answer.stderr[:_MAX_TEXT].decode("utf-8", "replace").strip() or text.strip()[-_MAX_TEXT:]
    message = f"{device.serial} returned no screenshot" + (f": {one_line(complaint, 300)}" if complaint else "")
    hint = "Wake and unlock the device. Some apps forbid screenshots of their screens: open another one."
    return shell_error(device, message, hint=hint, operation="screenshot", details={"command": "screencap"})
