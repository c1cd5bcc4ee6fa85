"""What a device or an adb server answers: shell output, file transfers, dumps, and the results of executions."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from clawperator.contract.execution import new_execution, validate
from clawperator.device.adb import client
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.adb.dumpsys import read_rotation, read_size, read_windows
from clawperator.device.adb.sync import TransferError, read_file
from clawperator.device.discovery import require_awake
from clawperator.device.packages import list_packages
from clawperator.device.run.run import run_plan
from clawperator.policy.gate import approve
from soak.fuzz import Target, reads
from soak.runner import require

_DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1))
_ACTIONS: list[dict[str, Any]] = [
    {"type": "click", "params": {"matcher": {"textEquals": "Wi-Fi"}}},
    {"type": "snapshot_ui"},
]
_PLAN = validate(new_execution(_ACTIONS, command_id="c", source="soak", timeout_ms=5_000))
_RESULT = {
    "commandId": "c",
    "taskId": "c",
    "status": "success",
    "stepResults": [
        {"id": "a1", "actionType": "click", "success": True, "data": {"effect": "changed"}},
        {"id": "a2", "actionType": "snapshot_ui", "success": True, "data": {"text": "<hierarchy />"}},
    ],
    "error": None,
}


class _Replies:
    """The part of a socket that a connection needs: it has everything that will ever arrive."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv(self, size: int) -> bytes:
        part, self._data = self._data[: min(size, 900)], self._data[min(size, 900) :]
        return part

    def sendall(self, _: bytes) -> None:
        """Whatever is asked, the answer is the same."""

    def settimeout(self, _: float) -> None:
        """Nothing has to be waited for."""

    def setsockopt(self, *_: object) -> None:
        """There is no network."""

    def close(self) -> None:
        """Nothing to close."""


def _shell(output: bytes) -> bytes:
    """The answers to a transport and to a shell command with this output."""
    return b"OKAYOKAY" + b"\1" + struct.pack("<I", len(output)) + output + b"\3\1\0\0\0\0"


_LOG = b"\n".join(
    (
        b"clock 1700000000.5",
        b"sent",
        b"process 100",
        b"--------- beginning of main",
        b"11-16 10:00:00.000  100  101 D Operator: [Clawperator-Command] start commandId=c",
        b"11-16 10:00:00.000  100  101 I Operator: [Clawperator-Result] " + json.dumps(_RESULT).encode(),
        b"",
    )
)
_WINDOWS = b"""WINDOW MANAGER WINDOWS (dumpsys window windows)
  Window #0 Window{3a9 u0 com.android.settings/com.android.settings.Settings}:
    mOwnerUid=1000 package=com.android.settings appop=NONE
    isVisible=true
  mCurrentFocus=Window{3a9 u0 com.android.settings/com.android.settings.Settings}
  mFocusedApp=ActivityRecord{77 u0 com.android.settings/.Settings t5}
  mRotation=ROTATION_90
Physical size: 1080x2340
"""


def _answered(act: Callable[[], object]) -> Callable[[bytes], object]:
    def call(data: bytes) -> None:
        with patch.object(client, "_connect", lambda *_: _Replies(data)):
            act()

    return call


def _pulled() -> None:
    with suppress(TransferError):
        read_file(_DEVICE, "/sdcard/a", 100_000)


def _executed(folder: Path) -> Callable[[bytes], object]:
    def run() -> None:
        result = run_plan(approve(_PLAN), _DEVICE, package="com.clawperator.operator", backend="operator")
        if result.envelope.status == "success":
            steps = [(step.id, step.actionType) for step in result.envelope.stepResults]
            require(steps == [("a1", "click"), ("a2", "snapshot_ui")], "a success has one step per action")

    answered = _answered(run)

    def call(data: bytes) -> None:
        shutil.rmtree(folder / "leases", ignore_errors=True)  # no earlier command may still run
        with patch.dict(os.environ, {"CLAWPERATOR_HOME": str(folder)}):
            answered(data)

    return call


def _dump(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    read_windows(text)
    read_size(text)
    require(0 <= read_rotation(text) < 4, "a rotation is a number of quarter turns")


TARGETS = (
    Target(
        "package list",
        [_shell(b"package:com.a.b\npackage:com.c\n")],
        reads(_answered(lambda: list_packages(_DEVICE))),
    ),
    Target("power state", [_shell(b"mWakefulness=Awake\n")], reads(_answered(lambda: require_awake(_DEVICE)))),
    Target(
        "pulled file",
        [b"OKAYOKAYDATA\5\0\0\0helloDONE\0\0\0\0", b"OKAYOKAYFAIL\2\0\0\0no"],
        reads(_answered(_pulled)),
    ),
    Target("execution result", [_shell(_LOG)], _executed),
    Target("window dump", [_WINDOWS], reads(_dump)),
)
