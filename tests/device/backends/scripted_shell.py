"""A device whose shell answers from a table, without a connection, and a clock that only sleeps move."""

from types import SimpleNamespace
from typing import Any

import pytest

from clawperator._base import deadline as _deadline
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.backends import adb_screen, adb_touch
from clawperator.device.backends.adb import AdbDriver
from clawperator.errors import ClawError

DEVICE = Device("x", Endpoint("127.0.0.1", 1))


def reply(out: str = "", err: str = "", code: int = 0) -> ShellAnswer:
    return ShellAnswer(code, out.encode(), err.encode())


def xml(*fields: str, rotation: int = 0, corner: str = "[10,10]") -> str:
    """A dump with one field for each of these attributes, from the top left corner to this one."""
    nodes = "".join(f'<node class="android.widget.EditText" bounds="[0,0]{corner}" {f}/>' for f in fields)
    return f"<?xml version='1.0'?><hierarchy rotation=\"{rotation}\">{nodes}</hierarchy>"


class ScriptedShell:
    """Answers a script by the first rule whose words it contains; several answers of a rule are used in order."""

    def __init__(self, **rules: ShellAnswer | list[ShellAnswer]) -> None:
        self.rules = {words.replace("_", " "): answer for words, answer in rules.items()}
        self.asked: list[str] = []
        self.seconds: list[float] = []

    def shell(self, _device: Device, script: str, *, seconds: float) -> ShellAnswer:
        assert seconds > 0
        self.asked.append(script)
        self.seconds.append(seconds)
        for words, answer in self.rules.items():
            if words in script:
                if isinstance(answer, ShellAnswer):
                    return answer
                return answer.pop(0) if len(answer) > 1 else answer[0]
        return reply()

    def named(self, words: str) -> list[str]:
        return [script for script in self.asked if words in script]


def connect(monkeypatch: pytest.MonkeyPatch, phone: ScriptedShell, **options: Any) -> AdbDriver:
    """A driver of this device."""
    monkeypatch.setattr(adb_screen, "run_shell", phone.shell)
    return AdbDriver(DEVICE, **options)


class StillClock:
    """The clock of deadlines and pauses. It moves when the driver sleeps, and by ``wait``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        monkeypatch.setattr(_deadline, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(adb_screen, "time", SimpleNamespace(sleep=self.sleep))
        monkeypatch.setattr(adb_touch, "time", SimpleNamespace(monotonic=lambda: self.now))

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.wait(seconds)


class SlowShell(ScriptedShell):
    """Each command takes so many seconds."""

    def __init__(self, clock: StillClock, each: float, **rules: ShellAnswer | list[ShellAnswer]) -> None:
        super().__init__(**rules)
        self._clock, self._each = clock, each

    def shell(self, device: Device, script: str, *, seconds: float) -> ShellAnswer:
        answer = super().shell(device, script, seconds=seconds)
        self._clock.wait(min(self._each, seconds))
        if self._each > seconds:
            raise ClawError("DEVICE_SHELL_UNAVAILABLE", "timeout")
        return answer
