"""The part of the adb driver that opens and closes apps."""

import re

from clawperator.contract.action_params import PACKAGE_NAME, UserChoice
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends.adb_shell import CALL_SECONDS
from clawperator.device.backends.adb_system import AdbSystem
from clawperator.device.backends.host_actions import force_stop, is_running
from clawperator.device.users import user_words
from clawperator.errors import ClawError

_CLOSE_SECONDS = 10.0
_MAIN = "android.intent.action.MAIN"
# Apps for Android TV may have only the second one.
_CATEGORIES = ("android.intent.category.LAUNCHER", "android.intent.category.LEANBACK_LAUNCHER")
# NEW_TASK | RESET_TASK_IF_NEEDED, the flags a launcher uses.
_LAUNCHER_FLAGS = "0x10200000"
_COMPONENT = re.compile(r"([A-Za-z][\w.]{0,255})/[\w.$]{1,512}", re.ASCII)
_NONE = "No activity found"
# How often, and how long apart, the app in front is asked for until an app that monkey started is there.
_FRONT_CHECKS = 4
_FRONT_SECONDS = 0.5


class AdbApps(AdbSystem):
    """Opens apps with ``am start``."""

    def choose_user(self, user: UserChoice | None) -> None:
        self._user = user

    def foreground(self) -> str | None:
        raise NotImplementedError

    def launch(self, package: str) -> bool:
        """Start the activity that a launcher would start. ``APP_NOT_STARTED`` when the device keeps another."""
        if not PACKAGE_NAME.fullmatch(package):
            return False
        for category in _CATEGORIES:
            resolved = self._resolve(package, category)
            if resolved is None:
                continue
            intent = ("-a", _MAIN, "-c", category, "-f", _LAUNCHER_FLAGS, "-n", resolved)
            if resolved and self._start(*intent):
                return True
            # The device is too old for this query, or the app has several launcher activities.
            # monkey knows only the current user.
            return self._user is None and self._start_with_monkey(package, category)
        return False

    def _resolve(self, package: str, category: str) -> str | None:
        """The launcher activity of an app; None when it has none, and empty when the device does not report it."""
        intent = (*user_words(self._user), "-a", _MAIN, "-c", category, package)
        query = command_line("cmd", "package", "resolve-activity", "--brief", *intent)
        lines = [line.strip() for line in self._run(query).text.splitlines() if line.strip()]
        if _NONE in lines:
            return None
        found = _COMPONENT.fullmatch(lines[-1]) if lines else None
        return found[0] if found and found[1] == package else ""

    def _start_with_monkey(self, package: str, category: str) -> bool:
        # A device without physical keys refuses to press any.
        monkey = command_line("monkey", "-p", package, "-c", category, "--pct-syskeys", "0", "1")
        if "Events injected: 1" not in self._run(monkey).text:
            return False
        # monkey reports this also when the app did not start.
        front = self.foreground()
        for _ in range(_FRONT_CHECKS):
            if front in (package, None):
                return True
            self._sleep(_FRONT_SECONDS)
            front = self.foreground()
        raise ClawError(
            "APP_NOT_STARTED",
            f"{self._name} did not bring {package} to the front: {front} is there",
            hint="Run 'clawperator snapshot' to see what is in front.",
            details={"application_id": package, "foreground_package": front},
        )

    def view(self, uri: str) -> bool:
        return "\0" not in uri and self._start("-a", "android.intent.action.VIEW", "-d", uri)

    def is_running(self, package: str) -> bool:
        with self._deadline_errors():
            return is_running(self._device, package, user=self._user, seconds=self._left(CALL_SECONDS))

    def force_stop(self, package: str) -> bool:
        with self._deadline_errors():
            force_stop(self._device, package, user=self._user, seconds=self._left(_CLOSE_SECONDS))
        return True
