from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clawperator.device.adb import binary
from clawperator.device.adb.client import Endpoint
from clawperator.device.discovery import ListedDevice, list_devices, resolve_device
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import scripted, text
from tests.support.routes import registered

SERVER = 41_000  # nobody asks it: a simulated phone that was named is not listed first


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    """What is open until the test ends. The product's home is empty."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def adb(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> "Adb":
    return Adb(stack, monkeypatch)


class Adb:
    """An adb server that lists the devices of a test."""

    def __init__(self, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack = stack
        self._monkeypatch = monkeypatch
        self.port = 0

    def lists(self, **states: str) -> None:
        answer = text("".join(f"{serial}\t{state}\n" for serial, state in states.items()))
        self.port = self._stack.enter_context(scripted(answer)).endpoint.port
        self._monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(self.port))


def put_in_box(stack: ExitStack, home: Path, serial: str, server_port: int = SERVER, adbd_port: int = 1) -> None:
    stack.enter_context(registered(home, serial, server_port=server_port, adbd_port=adbd_port))


def refused(serial: str | None = None) -> ClawError:
    with pytest.raises(ClawError) as error:
        resolve_device(serial)
    assert error.value.hint
    return error.value


def test_the_only_phone_is_meant(adb: Adb) -> None:
    adb.lists(pixel="device")
    assert resolve_device(None).serial == "pixel"
    assert resolve_device(None).endpoint == Endpoint("localhost", adb.port)


def test_the_only_phone_that_is_ready_is_meant(adb: Adb) -> None:
    adb.lists(old="offline", pixel="device", new="unauthorized")
    assert resolve_device(None).serial == "pixel"


def test_of_several_phones_one_must_be_chosen(adb: Adb) -> None:
    adb.lists(pixel="device", galaxy="device")
    error = refused()
    assert (error.code, error.details) == (
        "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED",
        {"devices": ["pixel", "galaxy"]},
    )
    assert resolve_device("galaxy").serial == "galaxy"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("offline", "DEVICE_OFFLINE"),
        ("unauthorized", "DEVICE_UNAUTHORIZED"),
        ("recovery", "DEVICE_NOT_FOUND"),
    ],
)
def test_a_device_that_is_not_ready_reports_the_reason(state: str, code: str, adb: Adb) -> None:
    adb.lists(pixel=state)
    assert refused("pixel").code == code
    assert refused().code == code


def test_no_phone_at_all(adb: Adb) -> None:
    adb.lists()
    assert refused().code == "NO_DEVICES"
    assert list_devices() == []


def test_several_phones_of_which_none_is_ready(adb: Adb) -> None:
    adb.lists(a="offline", b="unauthorized")
    error = refused()
    assert error.code == "NO_DEVICES"
    assert error.details == {
        "devices": [{"serial": "a", "state": "offline"}, {"serial": "b", "state": "unauthorized"}]
    }


def test_a_phone_that_is_not_there_names_those_that_are(adb: Adb, stack: ExitStack, tmp_path: Path) -> None:
    put_in_box(stack, tmp_path, "claw-1")
    adb.lists(pixel="device", old="offline")
    error = refused("emulator-5554")
    assert (error.code, error.details) == ("DEVICE_NOT_FOUND", {"connected": ["claw-1", "pixel"]})


@pytest.mark.parametrize("serial", ["../../etc", "a b", "a;reboot", "x" * 200, "a\nb"])
def test_an_invalid_serial_is_rejected_before_any_request(serial: str) -> None:
    assert refused(serial).code == "DEVICE_NOT_FOUND"


def test_a_simulated_phone_needs_no_adb(stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "find_adb", lambda: pytest.fail("nobody should look for adb"))
    put_in_box(stack, tmp_path, "claw-1", server_port=4_711)
    device = resolve_device(None)
    assert (device.serial, device.endpoint) == ("claw-1", Endpoint("127.0.0.1", 4_711, simulated=True))
    assert resolve_device("claw-1") == device


def test_a_simulated_phone_that_adb_knows_too_is_one_phone(stack: ExitStack, tmp_path: Path, adb: Adb) -> None:
    server = stack.enter_context(scripted(text("claw-1\tdevice\n"))).endpoint
    put_in_box(stack, tmp_path, "claw-1", server_port=server.port, adbd_port=4_712)
    adb.lists(**{"127.0.0.1:4712": "device"})
    assert resolve_device(None).serial == "claw-1"
    assert list_devices() == [ListedDevice("claw-1", "device")]


def test_simulated_phones_and_others_are_listed_together(stack: ExitStack, tmp_path: Path, adb: Adb) -> None:
    server = stack.enter_context(scripted(text("claw-1\tdevice\n"))).endpoint
    put_in_box(stack, tmp_path, "claw-1", server_port=server.port)
    put_in_box(stack, tmp_path, "claw-2", server_port=1)
    adb.lists(pixel="unauthorized")
    assert list_devices() == [
        ListedDevice("claw-1", "device"),
        ListedDevice("claw-2", "offline"),
        ListedDevice("pixel", "unauthorized"),
    ]


def test_a_simulated_phone_that_stopped_is_not_meant(stack: ExitStack, tmp_path: Path, adb: Adb) -> None:
    put_in_box(stack, tmp_path, "claw-1")
    stack.close()
    adb.lists()
    assert refused().code == "NO_DEVICES"
    assert refused("claw-1").code == "DEVICE_NOT_FOUND"


@pytest.mark.usefixtures("stack")
def test_a_missing_adb_is_reported() -> None:
    for ask in (lambda: resolve_device(None), lambda: resolve_device("pixel"), list_devices):
        with pytest.raises(ClawError) as error:
            ask()
        assert error.value.code == "ADB_NOT_FOUND"


@pytest.mark.usefixtures("stack")
def test_an_adb_server_that_does_not_start_is_reported_with_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "adb"
    fake.write_text("#!/bin/sh\necho 'cannot bind' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(fake))
    error = refused()
    assert error.code == "ADB_SERVER_FAILED"
    assert "cannot bind" in error.message


def test_a_server_that_speaks_nonsense_lists_nothing(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    server = stack.enter_context(scripted(text("rm -rf\tdevice\n\n\tdevice\npixel\n"))).endpoint
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
    assert list_devices() == [ListedDevice("pixel", "unknown")]
