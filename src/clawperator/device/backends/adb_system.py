"""The parts of the adb driver for the device as a whole: apps, activities, rotation and the log."""

import re
from collections.abc import Mapping

from clawperator._base.text import printable
from clawperator.contract.action_params import PACKAGE_NAME, UserChoice
from clawperator.device.adb.client import ShellAnswer, command_line, device_flag, shell_error
from clawperator.device.backends.adb_screen import CALL_SECONDS, AdbShell, whole_output
from clawperator.device.backends.host_actions import force_stop, is_process_of, is_running
from clawperator.device.users import user_line, user_refusal, user_words
from clawperator.errors import ClawError

_INSTALL_SECONDS = 120.0
# Quarter turns from the natural orientation.
_TURNS = {"0": 0, "90": 1, "180": 2, "270": 3}
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h|d)")
_FAILED = re.compile(r"^[ \t]{0,64}error\b|exception\b|failure\b|^failed", re.IGNORECASE | re.MULTILINE)
# Without a switch of their own, some vendors allow adb less than Android does.
_FORBIDDEN = re.compile(r"security\s?exception", re.IGNORECASE)
_NO_REASON = re.compile(r"\s*(?:Exception occurred while executing|at \S)|\s*$")
_NOT_STARTED = re.compile(r"^[ \t]{0,64}error\b|exception\b|unknown command|^killed", re.IGNORECASE | re.MULTILINE)
_KEPT = re.compile(r"Activity not started because the\s{1,8}current activity is being kept for the user")
_UID = re.compile(r"\b(?:userId|appId|uid)=(\d{1,9})")
_MAX_LINE = 2_000
_EXTRA_FLAGS: Mapping[type, str] = {bool: "--ez", int: "--ei", float: "--ef", str: "--es"}
_INT_RANGE = range(-(2**31), 2**31)
_LOGGING_OFF = (
    "Turn logging on: developer options, 'Logger buffer sizes', not 'Off'. Huawei and Honor: dial "
    "*#*#2846579#*#*, then 'Background settings', 'Log setting'. Meizu: developer options, 'Advanced log output'."
)
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


class AdbSystem(AdbShell):
    """Methods that need only the shell of a device."""

    def _natural_size(self) -> tuple[int, int]:
        raise NotImplementedError

    # Rotation

    def rotate(self, orientation: str) -> bool:
        if orientation == "auto":
            return self._put_setting("accelerometer_rotation", "1")
        width, height = self._natural_size()
        is_wide = width > height
        turns = {**_TURNS, "portrait": int(is_wide), "landscape": int(not is_wide)}[orientation]
        return self._put_setting("accelerometer_rotation", "0") and self._put_setting("user_rotation", str(turns))

    def _put_setting(self, name: str, value: str) -> bool:
        answer = self._run(user_line("settings", "put", rest=("system", name, value)))
        return answer.code == 0 and not _FAILED.search(whole_output(answer))

    # Activities

    def start_activity(self, named: Mapping[str, str], extras: Mapping[str, str | bool | int | float]) -> bool:
        flags = {"component": "-n", "action": "-a", "uri": "-d"}
        words = [word for name, flag in flags.items() if name in named for word in (flag, named[name])]
        for name, value in extras.items():
            words += [_extra_flag(value), name, str(value).lower() if isinstance(value, bool) else str(value)]
        return self._start(*words)

    def _start(self, *words: str) -> bool:
        """Whether an activity was started, or brought to the front."""
        answer = self._run(command_line("am", "start", *user_words(self._user), *words))
        # am echoes the intent, and a link may contain any word.
        lines = [line for line in whole_output(answer).splitlines() if not line.startswith("Starting:")]
        output = "\n".join(lines)
        if _KEPT.search(output):
            hint = "Run 'clawperator press home', wait five seconds, then retry."
            raise ClawError("APP_NOT_STARTED", f"{self._name} keeps the current activity in front", hint=hint)
        if answer.code == 0 and not _NOT_STARTED.search(output):
            return True
        if (refusal := user_refusal(self._device, output)) is not None:
            raise refusal
        return False

    # Packages

    def install(self, path: str) -> int:
        from clawperator.device.adb.sync import install_apk

        return install_apk(self._device, path, seconds=self._left(_INSTALL_SECONDS), user=self._user)

    def uninstall(self, package: str) -> None:
        self._change("uninstall", package, expected="Success")

    def clear_data(self, package: str) -> None:
        self._change("clear", package, expected="Success")

    def set_permission(self, package: str, permission: str, *, granted: bool) -> None:
        self._change("grant" if granted else "revoke", package, permission)

    def _change(self, verb: str, package: str, *more: str, expected: str = "") -> None:
        if verb == "uninstall" and self._user is None:
            # For one user pm would also remove an app of the system.
            script = command_line("pm", verb, package)
        else:
            script = user_line("pm", verb, user=self._user, rest=(package, *more))
        answer = self._run(script)
        output = whole_output(answer)
        if answer.code != 0 or expected not in output or _FAILED.search(output):
            if (refusal := user_refusal(self._device, output)) is not None:
                raise refusal
            what, reason = " ".join((verb, package, *more)), printable(_reason(output)[:300])
            hint, details = self._hint_of_refusal(output), {"application_id": package}
            message = f"{self._name} did not {what}: {reason}"
            raise ClawError("ANDROID_PACKAGE_FAILED", message, hint=hint, details=details)

    def _hint_of_refusal(self, output: str) -> str:
        otherwise = f"Run 'clawperator packages list {device_flag(self._name)}' for the installed apps."
        if not _FORBIDDEN.search(output):
            return otherwise
        from clawperator.device.vendors import vendor_hint

        return vendor_hint(self._device, "grant", otherwise=otherwise)

    # The log

    def read_log(self, package: str, since: str, max_lines: int) -> list[str]:
        """The last lines of the app's processes since then, without control characters and declared secrets.

        ``LOGCAT_UNAVAILABLE`` when the log cannot be read, or has no line of any app.
        """
        from clawperator._base.secrets import declared_texts
        from clawperator.ui.privacy import mask

        lines = self._log_lines(package, self._log_start(since))
        if not lines and not _log_records(self._logcat("-t", "1")):
            raise self._no_log("it is empty")
        return [printable(line[:_MAX_LINE]) for line in mask(lines[-max_lines:], declared_texts())]

    def _log_lines(self, package: str, start: str) -> list[str]:
        uid = self._uid(package)
        log = self._logcat("-T", start, "--uid", str(uid))
        if log.code == 0:
            return _log_records(log)
        # Older devices do not filter by uid: take the processes that run now.
        pids = self._processes(package)
        log = self._logcat("-T", start)
        records = _log_records(log)
        if log.code != 0 and not records:
            raise self._no_log(log.complaint or f"logcat exited with {log.code}")
        return [line for line in records if _pid(line) in pids]

    def _logcat(self, *words: str) -> ShellAnswer:
        return self._run(command_line("logcat", "-d", "-v", "threadtime", *words))

    def _processes(self, package: str) -> set[str]:
        """The ids of the app's processes."""
        found = self._run(command_line("pidof", package))
        if found.code == 0 and found.text.split():
            return set(found.text.split())
        # The device has no pidof, or the app only processes with a suffix.
        listed = self._run(command_line("ps", "-A", "-o", "PID,NAME")).text
        column = 0
        if listed.split()[:2] != ["PID", "NAME"]:
            listed, column = self._run("ps").text, 1  # until Android 7: the user first, the name last
        rows = [line.split() for line in listed.splitlines()]
        return {row[column] for row in rows if len(row) > column + 1 and is_process_of(row[-1], package)}

    def _no_log(self, reason: str) -> ClawError:
        message = f"the log of {self._name} cannot be read: {reason}"
        return ClawError("LOGCAT_UNAVAILABLE", message, hint=_LOGGING_OFF)

    def _log_start(self, since: str) -> str:
        """The start in a form that every logcat reads: seconds of the device's clock, or the time as given."""
        found = _DURATION.fullmatch(since)
        if found is None:
            return since if "." in since else f"{since}.000"
        now = self._run("date +%s").text.strip()
        if not now.isdecimal():
            raise shell_error(self._device, f"{self._name} does not report its time")
        return f"{max(0.0, int(now) - int(found[1]) * _UNITS[found[2]]):.3f}"

    def _uid(self, package: str) -> int:
        found = _UID.search(self._run(command_line("dumpsys", "package", package)).text)
        if found is None:
            message = f"{package} is not installed on {self._name}"
            hint = f"Run 'clawperator packages list {device_flag(self._name)}' for the installed apps."
            raise ClawError("APP_NOT_FOUND", message, hint=hint, details={"application_id": package})
        return int(found[1])


def _reason(output: str) -> str:
    """The line of an output that names the cause."""
    return next((line.strip() for line in output.splitlines() if not _NO_REASON.match(line)), "no output")


def _pid(line: str) -> str:
    """The process of a line in the threadtime format."""
    words = line.split(maxsplit=4)
    return words[2] if len(words) > 3 else ""


def _log_records(log: ShellAnswer) -> list[str]:
    """The records of a log, which begin with their time; others name a buffer, or are notices of the device."""
    return [line for line in log.text.splitlines() if line[:1].isdecimal()]


def _extra_flag(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INT_RANGE:
        return "--el"
    return _EXTRA_FLAGS[type(value)]


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
                break
            self._sleep(_FRONT_SECONDS)
            front = self.foreground()
        if front in (package, None):
            return True
        message = f"{self._name} did not bring {package} to the front: {front} is there"
        hint = "Run 'clawperator snapshot' to see what is in front."
        details = {"application_id": package, "foreground_package": front}
        raise ClawError("APP_NOT_STARTED", message, hint=hint, details=details)

    def view(self, uri: str) -> bool:
        return "\0" not in uri and self._start("-a", "android.intent.action.VIEW", "-d", uri)

    def is_running(self, package: str) -> bool:
        with self._deadline_errors():
            return is_running(self._device, package, user=self._user, seconds=self._left(CALL_SECONDS))

    def force_stop(self, package: str) -> bool:
        with self._deadline_errors():
            force_stop(self._device, package, user=self._user, seconds=self._left(_CLOSE_SECONDS))
        return True
