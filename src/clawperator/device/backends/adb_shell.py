"""Shell commands of the adb driver: each within the deadline of the execution, none after a stop."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawperator._base.deadline import Deadline, command_timeout
from clawperator.device.adb.client import Device, ShellAnswer, run_shell
from clawperator.device.backends.backend import RunWatch
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.action_params import UserChoice

# uiautomator alone waits ten seconds for an idle screen.
CALL_SECONDS = 30.0


class AdbShell:
    """The shell of one device. After ``seconds`` every call fails with ``COMMAND_TIMEOUT``.

    ``_user`` is the Android user for whom apps are opened and changed; None is the current one.
    """

    _user: "UserChoice | None" = None

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
