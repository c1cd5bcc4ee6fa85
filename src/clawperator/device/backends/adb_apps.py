"""The part of the adb driver that opens and closes apps."""

import re

from clawperator.contract import PACKAGE_NAME
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends.adb_shell import CALL_SECONDS, whole_output
from clawperator.device.backends.adb_system import AdbSystem
from clawperator.device.backends.host_actions import force_stop, is_running

_CLOSE_SECONDS = 10.0
_MAIN = ("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER")
# NEW_TASK | RESET_TASK_IF_NEEDED, the flags a launcher uses.
_LAUNCHER_FLAGS = "0x10200000"
_COMPONENT = re.compile(r"([A-Za-z][\w.]{0,255})/[\w.$]{1,512}", re.ASCII)
_FAILED = re.compile(r"^[ \t]{0,64}error\b|exception\b|unknown command|^killed", re.IGNORECASE | re.MULTILINE)


class AdbApps(AdbSystem):
    """Opens apps with ``am start``."""

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
        output = whole_output(answer)
        # am echoes the intent, and a link may contain any word.
        lines = [line for line in output.splitlines() if not line.startswith("Starting:")]
        return answer.code == 0 and not _FAILED.search("\n".join(lines))

    def is_running(self, package: str) -> bool:
        with self._deadline_errors():
            return is_running(self._device, package, seconds=self._left(CALL_SECONDS))

    def force_stop(self, package: str) -> bool:
        with self._deadline_errors():
            force_stop(self._device, package, seconds=self._left(_CLOSE_SECONDS))
        return True
