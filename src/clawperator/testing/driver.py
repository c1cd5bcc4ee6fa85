"""The driver of a simulated phone in this process, with the shell of the phone for what needs one."""

from collections.abc import Callable

from clawperator.device import AdbSystem, ShellAnswer
from clawperator.errors import ClawError
from clawperator.phone import Phone, PrivilegedPhoneDriver


class SimulatedPhoneDriver(PrivilegedPhoneDriver, AdbSystem):
    """``run_script`` runs a script in the shell of the phone."""

    def __init__(self, phone: Phone, run_script: Callable[[str], ShellAnswer]) -> None:
        super().__init__(phone)
        self._serial = phone.serial
        self._run_script = run_script

    @property
    def _name(self) -> str:
        return self._serial

    def _run(self, script: str) -> ShellAnswer:
        return self._run_script(script)

    def _left(self, most: float) -> float:
        return most

    def _natural_size(self) -> tuple[int, int]:
        frame = self.frame()
        return min(frame.width, frame.height), max(frame.width, frame.height)

    def install(self, path: str) -> None:
        raise ClawError(
            "EXECUTION_ACTION_UNSUPPORTED",
            f"a simulated phone in this process cannot install {path}",
            hint="Use phone.serve() and connect to it, or pass the app with apps=.",
        )
