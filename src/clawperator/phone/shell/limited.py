"""Run a script of the shell with a limit for its time and its output."""

import io
import threading
from typing import TYPE_CHECKING

from clawperator.errors import ClawError
from clawperator.phone.shell.language.interpreter import run_script

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone


class _LimitedOutput:
    """Collects output up to a limit, then drops the rest and cancels the command."""

    def __init__(self, max_bytes: int, cancelled: threading.Event) -> None:
        self.data = bytearray()
        self.is_over = False
        self._max_bytes = max_bytes
        self._cancelled = cancelled

    def write(self, data: bytes, /) -> int:
        if len(self.data) + len(data) > self._max_bytes:
            self.is_over = True
            self._cancelled.set()
        else:
            self.data += data
        return len(data)


def run_limited(
    script: str | bytes, phone: "Phone", stdin: bytes, *, seconds: float, max_bytes: int
) -> tuple[int, bytes, bytes]:
    """Run a script; its exit code, output and error output.

    ``DEVICE_SHELL_UNAVAILABLE`` when it does not end within these seconds of real time, or writes more than
    ``max_bytes``.
    """
    cancelled = threading.Event()
    out, err = _LimitedOutput(max_bytes, cancelled), _LimitedOutput(max_bytes, cancelled)
    late = threading.Timer(seconds, cancelled.set)
    late.daemon = True
    late.start()
    try:
        code = run_script(
            script, phone=phone, stdin=io.BytesIO(stdin), stdout=out, stderr=err, cancelled=cancelled
        )
    finally:
        late.cancel()
    if not cancelled.is_set():
        return code, bytes(out.data), bytes(err.data)
    is_over = out.is_over or err.is_over
    reason = f"more than {max_bytes} bytes of output" if is_over else f"no end within {seconds:g} seconds"
    raise ClawError(
        "DEVICE_SHELL_UNAVAILABLE",
        f"the simulated phone did not complete a shell command: {reason}",
        hint="Run a command that ends, for example with '| head', or raise the limit.",
    )
