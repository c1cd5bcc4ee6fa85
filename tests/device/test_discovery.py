import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from clawperator._base.deadline import limited
from clawperator._base.home import PhoneFolder
from clawperator._base.notes import listening
from clawperator.device import discovery
from clawperator.device.adb import binary
from clawperator.device.adb.client import NO_SERIAL, Device, Endpoint, ShellAnswer
from clawperator.device.adb.server import server_failed
from clawperator.device.discovery import (
    ListedDevice,
    is_wireless,
    known_device,
    list_devices,
    require_awake,
    resolve_device,
)
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import Pause, answering, refusal, scripted, text
from tests.support.hanging import HANG_SECONDS
from tests.support.routes import registered

SERVER = 41_000  # nobody asks it: a simulated phone that was named is not listed first
HERE = Endpoint("127.0.0.1", 1, simulated=True)


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
        self.answers(lambda _: text("".join(f"{serial}\t{state}\n" for serial, state in states.items())))

    def lists_on_usb(self, *devices: tuple[str, str, str]) -> None:
        """Each device has a serial, a state and a path, which only the long list has."""
        short = "".join(f"{serial}\t{state}\n" for serial, state, _ in devices)
        long = "".join(f"{serial:<22} {state} {path} transport_id:1\n" for serial, state, path in devices)
        self.answers(lambda request: text(long if request == "host:devices-l" else short))

    def answers(self, answer: Callable[[str], bytes | Pause]) -> None:
        self.port = self._stack.enter_context(answering(answer)).getsockname()[1]
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
        ("recovery", "DEVICE_NOT_BOOTED"),
        ("no permissions (user in plugdev group); see [http://x]", "ADB_NO_USB_PERMISSIONS"),
    ],
)
def test_a_device_that_is_not_ready_reports_the_reason(state: str, code: str, adb: Adb) -> None:
    adb.lists(pixel=state)
    for error in (refused("pixel"), refused()):
        assert error.code == code
        assert error.details == {"serial": "pixel", "state": state, "connected": []}


def test_no_phone_at_all(adb: Adb) -> None:
    adb.lists()
    assert refused().code == "NO_DEVICES"
    assert list_devices() == []


def test_several_phones_of_which_none_is_ready(adb: Adb) -> None:
    adb.lists(a="offline", b="unauthorized")
    error = refused()
    assert error.code == "NO_DEVICES"
    assert error.message == "no connected device is ready: a is offline, b is unauthorized"
    assert "clawperator doctor --device a" in error.hint
    assert error.details == {
        "devices": [{"serial": "a", "state": "offline"}, {"serial": "b", "state": "unauthorized"}]
    }


def test_a_trace_has_the_device_how_it_was_chosen_and_its_server(
    adb: Adb, stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adb.lists(pixel="device")
    lines: list[str] = []
    with listening(None, lines.append):
        resolve_device(None)
        resolve_device("pixel")
        put_in_box(stack, tmp_path, "claw-1")
        monkeypatch.setenv("ANDROID_SERIAL", "claw-1")
        resolve_device(None)
    assert lines == [
        f"device pixel by default: the only one, adb server localhost:{adb.port}",
        f"device pixel by --device, adb server localhost:{adb.port}",
        f"simulated phone claw-1 by ANDROID_SERIAL, adb server 127.0.0.1:{SERVER}",
    ]


def test_a_setting_that_names_no_device_is_named(adb: Adb, monkeypatch: pytest.MonkeyPatch) -> None:
    adb.lists()
    monkeypatch.setenv("ANDROID_SERIAL", "pixel")
    assert refused().message == "device pixel is not connected (set by ANDROID_SERIAL)"
    assert refused().hint == "Run 'clawperator phone start' for a simulated phone."
    assert refused("pixel").message == "device pixel is not connected"


def test_a_phone_that_is_not_there_names_those_that_are(adb: Adb, stack: ExitStack, tmp_path: Path) -> None:
    put_in_box(stack, tmp_path, "claw-1")
    adb.lists(pixel="device", old="offline")
    error = refused("emulator-5554")
    assert (error.code, error.details) == ("DEVICE_NOT_FOUND", {"connected": ["claw-1", "pixel"]})


@pytest.mark.parametrize("serial", ["x" * 200, "a\nb", "a\x1b[2J", "\udc80", " "])
def test_an_invalid_serial_is_rejected_before_any_request(serial: str) -> None:
    error = refused(serial)
    assert error.code == "DEVICE_NOT_FOUND"
    assert "invalid device serial" in error.message


ODD_SERIALS = [
    "adb-35121JEHN28132-jr888A (2)._adb-tls-connect._tcp",
    "../../etc",
    "a b",
    "a;reboot",
    "it's #1 +@",
    "????????????",
    "Телефон",
    "{serial}",
]


@pytest.mark.parametrize("serial", ODD_SERIALS)
def test_a_serial_with_any_printable_characters_is_listed_and_used(serial: str, adb: Adb) -> None:
    adb.lists(**{serial: "device"})
    assert list_devices() == [ListedDevice(serial, "device")]
    assert resolve_device(serial).serial == resolve_device(None).serial == serial


def test_the_choice_between_odd_serials_can_be_copied(adb: Adb) -> None:
    adb.lists(**{"a b": "device", "c": "device"})
    assert refused().hint == "Choose one of the devices, for example 'a b'."
    assert refused("d").hint == "Use one of: 'a b', c."


def test_a_serial_that_cannot_be_used_is_left_out_with_a_note(adb: Adb) -> None:
    adb.lists(**{"a\x1b[2J": "device", "y" * 200: "device", "pixel": "device"})
    notes: list[str] = []
    with listening(notes.append):
        assert list_devices() == [ListedDevice("pixel", "device")]
        assert resolve_device(None).serial == "pixel"
    assert len(notes) == 1
    assert "left out: 'a\\x1b[2J', 'yyyy" in notes[0]
    assert notes[0].isprintable()


@pytest.mark.parametrize(
    ("count", "shown"), [(3, "'\\t1', '\\t2', '\\t3'"), (5, "'\\t1', '\\t2', '\\t3' and 2 more")]
)
def test_the_first_three_serials_that_cannot_be_used_are_named(count: int, shown: str, adb: Adb) -> None:
    adb.lists(**{f"\t{number}": "device" for number in range(1, count + 1)})
    notes: list[str] = []
    with listening(notes.append):
        assert list_devices() == []
    assert notes == [f"devices with a serial that cannot be used are left out: {shown}"]


def test_a_long_serial_or_state_is_cut(adb: Adb) -> None:
    adb.lists(**{"z" * 300: "device", "pixel": "x" * 300, "other": "y" * 200})
    notes: list[str] = []
    with listening(notes.append):
        assert list_devices() == [ListedDevice("pixel", "x" * 199 + "…"), ListedDevice("other", "y" * 200)]
    assert notes[0].endswith(f": '{'z' * 200}'")


def test_devices_with_serials_of_their_own_need_no_list_of_paths(
    adb: Adb, stack: ExitStack, tmp_path: Path
) -> None:
    requests: list[str] = []

    def answer(request: str) -> bytes:
        requests.append(request)
        return text("pixel\tdevice\n")

    adb.answers(answer)
    list_devices()
    resolve_device(None)
    resolve_device("pixel")
    put_in_box(stack, tmp_path, "claw-1", server_port=adb.port)
    list_devices()
    assert set(requests) == {"host:devices"}


def test_a_list_of_paths_that_does_not_come_is_done_without(adb: Adb, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(endpoint: Endpoint, request: str, *, seconds: float = 5.0) -> str:
        if request == "host:devices-l" and seconds < 5:
            raise server_failed(endpoint, "did not answer", "Retry.")
        return f"{NO_SERIAL}\tdevice usb:1-2\n"

    adb.lists()
    monkeypatch.setattr(discovery, "ask_server", ask)
    assert list_devices() == [ListedDevice(NO_SERIAL, "device usb:1-2")]


def test_a_path_that_cannot_be_used_is_left_out(adb: Adb) -> None:
    adb.lists_on_usb((NO_SERIAL, "device", "usb:1-\x1b2"), ("pixel", "device", "usb:1-3"))
    assert list_devices() == [ListedDevice(NO_SERIAL, "device"), ListedDevice("pixel", "device")]


def test_a_device_without_a_serial_is_used_by_its_path(adb: Adb) -> None:
    adb.lists_on_usb((NO_SERIAL, "device", "usb:1-2"), ("pixel", "offline", "usb:1-3"))
    assert list_devices() == [ListedDevice("usb:1-2", "device"), ListedDevice("pixel", "offline")]
    for name in (None, "usb:1-2", NO_SERIAL):
        assert resolve_device(name).serial == "usb:1-2"


@pytest.mark.parametrize("serial", [NO_SERIAL, "0123456789ABCDEF"])
def test_devices_with_the_same_serial_are_told_apart_by_their_paths(serial: str, adb: Adb) -> None:
    adb.lists_on_usb((serial, "device", "usb:1-2"), (serial, "device", "usb:1-3"))
    assert list_devices() == [ListedDevice("usb:1-2", "device"), ListedDevice("usb:1-3", "device")]
    assert resolve_device("usb:1-3").serial == "usb:1-3"
    error = refused(serial)
    assert error.code == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
    assert error.hint == "Choose one by its USB path, for example usb:1-2."
    assert refused().details == {"devices": ["usb:1-2", "usb:1-3"]}


def test_a_device_keeps_its_serial_beside_others_that_share_one(adb: Adb) -> None:
    adb.lists_on_usb(("0123", "device", "usb:1-2"), ("pixel", "device", "usb:1-3"), ("0123", "device", "usb:1-4"))
    assert [device.serial for device in list_devices()] == ["usb:1-2", "pixel", "usb:1-4"]


def test_devices_with_the_same_serial_and_no_path_must_be_disconnected(adb: Adb) -> None:
    adb.lists_on_usb((NO_SERIAL, "device", "product:x"), (NO_SERIAL, "device", "product:x"))
    assert list_devices() == [ListedDevice(NO_SERIAL, "device")] * 2
    assert refused(NO_SERIAL).hint == "Disconnect all but one of them."


def test_a_path_names_a_device_that_has_a_serial(adb: Adb) -> None:
    state = "no permissions (user in plugdev group; are your udev rules wrong?); see [http://x]"
    adb.lists_on_usb(("pixel (2)", "device", "usb:1-2"), ("other", state, "usb:1-3"))
    assert resolve_device("usb:1-2").serial == "pixel (2)"
    assert refused("usb:1-3").code == "ADB_NO_USB_PERMISSIONS"
    assert refused("usb:1-4").code == "DEVICE_NOT_FOUND"


def test_paths_are_not_used_when_the_list_changed_meanwhile(adb: Adb) -> None:
    short, long = f"{NO_SERIAL}\tdevice\n", "new    device usb:1-1\nother   device usb:1-2\n"
    adb.answers(lambda request: text(long if request == "host:devices-l" else short))
    assert list_devices() == [ListedDevice(NO_SERIAL, "device")]


@pytest.mark.parametrize("state", ["authorizing", "connecting"])
def test_a_device_that_is_connecting_is_waited_for(state: str, adb: Adb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_POLL_SECONDS", 0.01)
    states = iter([state, state, "device", "offline", state, "device"])
    adb.answers(lambda _: text(f"pixel\t{next(states)}\n"))
    assert resolve_device("pixel").serial == "pixel"
    assert refused("pixel").code == "DEVICE_OFFLINE"
    assert resolve_device(None).serial == "pixel"


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sleeps of a test, on a clock that only they advance."""
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0 + sum(taken))
    return taken


@pytest.mark.parametrize("serial", ["pixel", None])
def test_a_device_that_is_connecting_is_asked_again_for_a_short_time(
    serial: str | None, adb: Adb, sleeps: list[float]
) -> None:
    adb.lists(pixel="connecting")
    assert refused(serial).code == "DEVICE_CONNECTING"
    assert 1 < sum(sleeps) < 10
    assert max(sleeps) < 1


def test_a_wait_for_a_device_is_shown_as_a_status(adb: Adb, sleeps: list[float]) -> None:
    adb.answers(lambda _: text(f"old\toffline\npixel\t{'device' if sleeps else 'authorizing'}\n"))
    statuses: list[str] = []

    def show(status: str, _: str) -> bool:
        statuses.append(status)
        return True

    with listening(None, None, show):
        assert resolve_device(None).serial == "pixel"
    assert statuses == ["waiting: device pixel is authorizing"]


def test_a_running_simulated_phone_is_not_delayed_by_a_device_that_connects(
    adb: Adb, stack: ExitStack, tmp_path: Path, sleeps: list[float]
) -> None:
    put_in_box(stack, tmp_path, "claw-1")
    adb.lists(pixel="connecting")
    assert resolve_device(None).serial == "claw-1"
    assert sleeps == []


def test_a_device_that_stays_connecting_is_reported(adb: Adb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_PASSING_SECONDS", 0.01)
    adb.lists(pixel="connecting", other="authorizing")
    assert refused("pixel").code == "DEVICE_CONNECTING"
    assert refused().code == "NO_DEVICES"


def test_a_ready_device_is_used_while_another_connects(adb: Adb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("nothing to wait for"))
    adb.lists(pixel="device", other="connecting")
    assert resolve_device(None).serial == resolve_device("pixel").serial == "pixel"


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


def test_a_simulated_phone_that_was_killed_is_not_meant(tmp_path: Path, adb: Adb) -> None:
    with ExitStack() as running:
        put_in_box(running, tmp_path, "claw-1")
    assert PhoneFolder("claw-1").read() is not None, "its record is left"
    adb.lists()
    assert list_devices() == []
    assert refused().code == "NO_DEVICES"
    assert refused("claw-1").details == {"connected": []}


def test_beside_simulated_phones_a_missing_adb_is_no_reason(stack: ExitStack, tmp_path: Path) -> None:
    put_in_box(stack, tmp_path, "claw-1")
    error = refused("pixel")
    assert (error.code, error.details) == ("DEVICE_NOT_FOUND", {"connected": ["claw-1"]})
    assert error.hint == "Use one of: claw-1."


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


def test_lines_that_name_no_device_are_left_out(adb: Adb) -> None:
    adb.answers(lambda _: text("\n\tdevice\npixel\n\x01\x02\tdevice\n"))
    assert list_devices() == [ListedDevice("pixel", "unknown")]


UNUSABLE: list[bytes | Pause] = [Pause(), b"HTTP/1.1 400 Bad Request\r\n\r\n", refusal("no"), b"OKAY"]


@pytest.mark.parametrize("answer", UNUSABLE, ids=["hangs", "another program", "refuses", "breaks off"])
def test_a_server_that_does_not_answer_is_never_no_devices(
    answer: bytes | Pause, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "run_adb", lambda *_, **__: pytest.fail("it runs already"))
    server = stack.enter_context(scripted(answer)).endpoint
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
    for ask in (lambda: resolve_device(None), lambda: resolve_device("pixel"), list_devices):
        with limited(0.1 if isinstance(answer, Pause) else HANG_SECONDS), pytest.raises(ClawError) as error:
            ask()
        assert error.value.code == "ADB_SERVER_FAILED"
        assert f"localhost:{server.port}" in error.value.message


@pytest.mark.parametrize("variable", ["ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_PORT"])
def test_simulated_phones_work_beside_an_adb_server_that_does_not(
    variable: str, stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stack.enter_context(scripted(text("claw-1\tdevice\n"))).endpoint
    put_in_box(stack, tmp_path, "claw-1", server_port=server.port)
    monkeypatch.setenv(variable, "nonsense")
    notes: list[str] = []
    with listening(notes.append):
        assert list_devices() == [ListedDevice("claw-1", "device")]
        assert resolve_device(None).serial == resolve_device("claw-1").serial == "claw-1"
    assert len(notes) == 2
    assert all(f"{variable} is not the address of an adb server" in note for note in notes)
    assert refused("pixel").code == "CONFIG_INVALID"


@pytest.mark.usefixtures("stack")
def test_a_server_that_is_gone_again_after_its_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "adb"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(fake))
    for serial in (None, "pixel"):
        error = refused(serial)
        assert error.code == "ADB_SERVER_FAILED"
        assert "was started, but does not run" in error.message


@pytest.mark.parametrize(
    "serial",
    [
        "phone.local:5555",
        "[fe80::1%wlan0]:37099",
        "adb-35121JEHN28132-jr888A._adb-tls-connect._tcp",
        "adb-35121JEHN28132-jr888A (2)._adb-tls-connect._tcp",
        "adb-35121JEHN28132-jr888A._adb-tls-connect._tcp.",
        "adb-R58M1234._adb._tcp.local.",
    ],
)
def test_a_device_on_the_network_is_recognised(serial: str) -> None:
    assert is_wireless(serial)


@pytest.mark.parametrize(
    "serial", ["R58M1234", "emulator-5554", "claw-1", "(no serial number)", "a:b", "::1:x", ""]
)
def test_a_device_on_usb_is_not_wireless(serial: str) -> None:
    assert not is_wireless(serial)


@pytest.mark.parametrize(
    ("running", "known"), [([], None), (["claw-7"], Device("claw-7", HERE)), (["claw-1", "claw-2"], None)]
)
def test_only_a_single_simulated_phone_is_known_without_a_name(
    running: list[str], known: Device | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)
    phones = {serial: SimpleNamespace(serial=serial) for serial in running}
    monkeypatch.setattr(discovery, "simulated_phones", lambda: phones)
    monkeypatch.setattr(discovery, "simulated_endpoint", lambda _: HERE)
    assert known_device(None) == known


def test_a_named_device_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "resolve_device", lambda serial: Device(serial or "set", HERE))
    assert known_device("mine") == Device("mine", HERE)
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "mine")
    assert known_device(None) == Device("set", HERE)


@pytest.mark.parametrize(
    ("power", "asleep"),
    [("mWakefulness=Asleep", True), ("mWakefulness=Dozing", True), ("mWakefulness=Awake", False), ("", False)],
)
def test_a_device_that_sleeps_or_dozes_is_asleep(
    power: str, monkeypatch: pytest.MonkeyPatch, *, asleep: bool
) -> None:
    def answer(_: Device, script: str, *, seconds: float) -> ShellAnswer:
        assert (script, seconds) == ("dumpsys power", 5)
        return ShellAnswer(0, f"POWER MANAGER\n  {power}\n".encode(), b"")

    monkeypatch.setattr(discovery, "run_shell", answer)
    if not asleep:
        require_awake(Device("mine", HERE))
        return
    with pytest.raises(ClawError, match="device mine is asleep") as error:
        require_awake(Device("mine", HERE))
    assert error.value.code == "DEVICE_NOT_INTERACTIVE"
    assert error.value.details == {"deviceId": "mine", "wakefulness": power.partition("=")[2]}
    assert error.value.hint.startswith("Run 'adb -s mine shell input keyevent WAKEUP'")
