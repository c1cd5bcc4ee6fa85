"""The driver of a simulated phone in this process, with the shell of the phone for what needs one."""

from collections.abc import Callable

from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends.adb_system import AdbSystem
from clawperator.errors import ClawError
from clawperator.phone.core.phone import Phone
from clawperator.phone.operator.driver import PrivilegedPhoneDriver


class SimulatedPhoneDriver(PrivilegedPhoneDriver, AdbSystem):
    """``run_script`` runs a script in the shell of the phone, with standard input."""

    def __init__(self, phone: Phone, run_script: Callable[[str, bytes], ShellAnswer]) -> None:
        super().__init__(phone)
        self._serial = phone.serial
        # Only its serial is used: the phone has no server.
        self._device = Device(phone.serial, Endpoint("127.0.0.1", 0, simulated=True))
        self._run_script = run_script

    @property
    def _name(self) -> str:
        return self._serial

    def _run(self, script: str) -> ShellAnswer:
        return self._run_script(script, b"")

    def _left(self, most: float) -> float:
        return most

    def _natural_size(self) -> tuple[int, int]:
        frame = self.frame()
        return min(frame.width, frame.height), max(frame.width, frame.height)

    def install(self, path: str) -> int:
        with open(path, "rb") as file:
            apk = file.read()
        script = command_line("cmd", "package", "install", "-r", "-S", str(len(apk)))
        answer = self._run_script(script, apk)
        if not answer.text.startswith("Success"):
            raise ClawError(
                "ANDROID_INSTALL_FAILED",
                f"cannot install {path} on {self._serial}: {answer.complaint or 'no output'}",
                hint="Check that the file is an APK.",
                details={"path": path},
            )
        return len(apk)
