"""The part of the adb driver for the device as a whole: activities, installed apps, rotation and the log."""

import re
from collections.abc import Mapping

from clawperator._text import printable
from clawperator.device.adb.client import ShellAnswer
from clawperator.device.adb.quoting import command_line
from clawperator.device.backends.adb_shell import AdbShell
from clawperator.device.serials import device_flag
from clawperator.errors import ClawError

_INSTALL_SECONDS = 120.0
# Quarter turns from the natural orientation.
_TURNS = {"0": 0, "90": 1, "180": 2, "270": 3}
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h|d)")
_FAILED = re.compile(r"^[ \t]{0,64}error\b|exception\b|failure\b|^failed", re.IGNORECASE | re.MULTILINE)
_UID = re.compile(r"\b(?:userId|appId|uid)=(\d{1,9})")
_MAX_LINE = 2_000
_EXTRA_FLAGS: Mapping[type, str] = {bool: "--ez", int: "--ei", float: "--ef", str: "--es"}
_INT_RANGE = range(-(2**31), 2**31)


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
        answer = self._run(command_line("settings", "put", "system", name, value))
        return answer.code == 0 and not _FAILED.search(_output(answer))

    # Activities

    def start_activity(self, named: Mapping[str, str], extras: Mapping[str, str | bool | int | float]) -> bool:
        flags = {"component": "-n", "action": "-a", "uri": "-d"}
        words = [word for name, flag in flags.items() if name in named for word in (flag, named[name])]
        for name, value in extras.items():
            words += [_extra_flag(value), name, str(value).lower() if isinstance(value, bool) else str(value)]
        answer = self._run(command_line("am", "start", *words))
        # am echoes the intent, and a link may contain any word.
        lines = [line for line in _output(answer).splitlines() if not line.startswith("Starting:")]
        return answer.code == 0 and not _FAILED.search("\n".join(lines))

    # Packages

    def install(self, path: str) -> int:
        from clawperator.device.adb.sync import install_apk

        return install_apk(self._device, path, seconds=self._left(_INSTALL_SECONDS))

    def uninstall(self, package: str) -> None:
        self._change("uninstall", package, expected="Success")

    def clear_data(self, package: str) -> None:
        self._change("clear", package, expected="Success")

    def set_permission(self, package: str, permission: str, *, granted: bool) -> None:
        self._change("grant" if granted else "revoke", package, permission)

    def _change(self, verb: str, package: str, *more: str, expected: str = "") -> None:
        answer = self._run(command_line("pm", verb, package, *more))
        output = _output(answer)
        if answer.code != 0 or expected not in output or _FAILED.search(output):
            reason = next((line.strip() for line in output.splitlines() if line.strip()), "no output")
            raise ClawError(
                "ANDROID_PACKAGE_FAILED",
                f"{self._name} did not {verb} {' '.join((package, *more))}: {printable(reason[:300])}",
                hint=f"Run 'clawperator packages list {device_flag(self._name)}' for the installed apps.",
                details={"application_id": package},
            )

    # The log

    def read_log(self, package: str, since: str, max_lines: int) -> list[str]:
        """The last lines of the app's processes since then, without control characters and declared secrets."""
        from clawperator.device.secrets import declared_texts
        from clawperator.engine import mask_secrets

        start = self._log_start(since)
        uid = self._uid(package)
        log = self._run(command_line("logcat", "-d", "-v", "threadtime", "-T", start, "--uid", str(uid)))
        if log.code != 0:
            # Older devices do not filter by uid: take the processes that run now.
            pids = self._run(command_line("pidof", package)).text.split()
            log = self._run(command_line("logcat", "-d", "-v", "threadtime", "-T", start))
            lines = [line for line in log.text.splitlines() if _pid(line) in pids]
        else:
            lines = log.text.splitlines()
        secrets = declared_texts()
        shown = [line for line in lines if not line.startswith("---------")][-max_lines:]
        return [printable(mask_secrets(line, secrets)[:_MAX_LINE]) for line in shown]

    def _log_start(self, since: str) -> str:
        """The start in a form that every logcat reads: seconds of the device's clock, or the time as given."""
        found = _DURATION.fullmatch(since)
        if found is None:
            return since if "." in since else f"{since}.000"
        now = self._run("date +%s").text.strip()
        if not now.isdecimal():
            raise ClawError(
                "DEVICE_SHELL_UNAVAILABLE",
                f"{self._name} does not report its time",
                hint=f"Run 'clawperator doctor {device_flag(self._name)}' to check the device.",
            )
        return f"{max(0.0, int(now) - int(found[1]) * _UNITS[found[2]]):.3f}"

    def _uid(self, package: str) -> int:
        found = _UID.search(self._run(command_line("dumpsys", "package", package)).text)
        if found is None:
            raise ClawError(
                "APP_NOT_FOUND",
                f"{package} is not installed on {self._name}",
                hint=f"Run 'clawperator packages list {device_flag(self._name)}' for the installed apps.",
                details={"application_id": package},
            )
        return int(found[1])


def _extra_flag(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INT_RANGE:
        return "--el"
    return _EXTRA_FLAGS[type(value)]


def _pid(line: str) -> str:
    """The process of a line in the threadtime format."""
    words = line.split(maxsplit=4)
    return words[2] if len(words) > 3 else ""


def _output(answer: ShellAnswer) -> str:
    return f"{answer.text}\n{answer.stderr.decode('utf-8', 'replace')}"
