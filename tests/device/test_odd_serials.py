"""Commands on devices whose serials have characters that mean something to a shell or a file system."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from clawperator.phone.process import server
from clawperator.phone.process.server import PhoneServer, PhoneServerConfig
from tests.support.fast_clock import SkippingClock
from tests.support.running import clawperator

SERIALS = [
    "adb-35121JEHN28132-jr888A (2)._adb-tls-connect._tcp",
    "../../../it's a #+@/$(touch x)",
    "x/" * 63 + "é",
]


@pytest.fixture(params=SERIALS, ids=["wireless", "a path", "long"])
def serial(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The serial of a phone that an adb server lists; its clock skips waits."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with patch.object(server, "SystemClock", SkippingClock):
        phone_server = PhoneServer(PhoneServerConfig(serial=request.param, folder=str(tmp_path / "files")))
        phone_server.open()
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(phone_server.server_port))
    yield request.param
    phone_server.close()


def test_everything_kept_about_a_device_is_inside_the_product_home(serial: str, tmp_path: Path) -> None:
    assert clawperator("devices").json == {"devices": [{"serial": serial, "state": "device"}]}
    chosen = ("--device", serial)
    for command in (
        ("open", "com.android.settings", "--evidence", "evidence"),
        ("snapshot", "--view", "outline"),
        ("read", "e1"),
        ("recording", "start", "--session-id", "demo"),
        ("press", "home", "--backend", "adb"),
        ("recording", "stop"),
        ("recording", "pull", "--session-id", "demo", "--out", "recording"),
        ("screenshot", "--path", "screen.png"),
    ):
        ran = clawperator(*command, *chosen)
        assert ran.code == 0, ran

    outside = set(os.listdir(tmp_path)) - {"home", "files"}
    assert outside == {"evidence", "recording", "screen.png"}
    assert not [place for place in (tmp_path, tmp_path.parent) if (place / "x").exists()]
    (bundle,) = (tmp_path / "evidence").iterdir()
    assert json.loads((bundle / "manifest.json").read_text())["deviceId"] == serial
    kept = {path.parent.name for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert {"leases", "references"} <= kept
    assert not [path for path in (tmp_path / "home").rglob("*") if "é" in path.name or "(" in path.name]


def test_the_next_steps_of_doctor_can_be_copied(
    serial: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adb = tmp_path / "adb"
    adb.write_text("#!/bin/sh\necho Android Debug Bridge version 1.0.41\n")
    adb.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(adb))
    report = clawperator("doctor", "--device", serial).json
    assert report["ok"], report
    command = shlex.split(report["nextActions"][0])
    assert command == ["clawperator", "snapshot", "--device", serial]
    assert clawperator(*command[1:]).code == 0
