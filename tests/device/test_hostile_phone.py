"""A hostile phone or adb server: typed refusals within their deadlines, and bounded memory.

Time is not measured. A reader that takes quadratic time would not end on these inputs before ``HANG_SECONDS``.
"""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.text import printable
from clawperator.api.phone import ConnectedPhone
from clawperator.device.adb import dumpsys
from clawperator.device.adb.client import Device, Endpoint, run_shell
from clawperator.device.adb.sync import TransferError, read_file
from clawperator.device.backends import operator_link
from clawperator.device.backends.adb import AdbDriver
from clawperator.device.backends.operator_link import (
    MAX_LINE_BYTES,
    LogLines,
    OperatorLogReader,
    deliver,
    read_record,
)
from clawperator.device.discovery import list_devices, require_awake, resolve_device
from clawperator.device.packages import list_packages
from clawperator.device.recordings import pull_recording
from clawperator.device.setup.version_check import probe_compatibility
from clawperator.errors import ClawError
from clawperator.testing import simulated_phone
from clawperator.ui.parse import parse_hierarchy
from tests.device.adb.scripted_server import read_exactly
from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator

PACKAGE = "com.clawperator.operator"
HEAD = b"clock 1.5\nsent\nprocess 42\n"
MEGABYTE = 1024 * 1024
Answer = Callable[[socket.socket, str], None]


class HostilePhone:
    """An adb server with one device. ``answer`` writes whatever it likes after the service was accepted."""

    def __init__(self, answer: Answer, listed: bytes = b"evil\tdevice\n") -> None:
        self._answer = answer
        self._listed = listed
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.device = Device("evil", Endpoint("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends the accept of the other thread; a close does not
        self._listener.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            with suppress(OSError):
                peer = self._listener.accept()[0]
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with suppress(OSError, ValueError), peer:
            peer.settimeout(HANG_SECONDS)
            while True:
                request = read_exactly(peer, int(read_exactly(peer, 4), 16)).decode("utf-8", "replace")
                if request == "host:devices":
                    peer.sendall(b"OKAY%04x" % len(self._listed) + self._listed)
                    return
                peer.sendall(b"OKAY")
                if not request.startswith("host:transport:"):
                    self._answer(peer, request)
                    return


@contextmanager
def hostile(answer: Answer, listed: bytes = b"evil\tdevice\n") -> Iterator[HostilePhone]:
    phone = HostilePhone(answer, listed)
    try:
        yield phone
    finally:
        phone.close()


def packet(data: bytes, kind: int = 1) -> bytes:
    return bytes([kind]) + len(data).to_bytes(4, "little") + data


def sending(*pieces: bytes, code: int | None = 0) -> Answer:
    """Send these pieces of output, then an exit code, if there is one."""
    tail = b"" if code is None else packet(bytes([code]), 3)

    def answer(peer: socket.socket, _: str) -> None:
        peer.sendall(b"".join(map(packet, pieces)) + tail)
        peer.shutdown(socket.SHUT_WR)
        peer.recv(1)

    return answer


def nothing(peer: socket.socket, _: str) -> None:
    """Never answer; wait until the client gives up."""
    peer.recv(1)


def endless(piece: bytes) -> Answer:
    def answer(peer: socket.socket, _: str) -> None:
        while True:
            peer.sendall(piece)

    return answer


def drip(piece: bytes) -> Answer:
    def answer(peer: socket.socket, _: str) -> None:
        while True:
            peer.sendall(piece)
            time.sleep(0.01)

    return answer


def plan(**more: Any) -> dict[str, Any]:
    return {
        "commandId": "c-1",
        "taskId": "t-1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 1000,
        "actions": [{"id": "a1", "type": "press_key", "params": {"key": "home"}}],
        **more,
    }


def delivery_error(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> ClawError:
    monkeypatch.setattr(operator_link, "GRACE_SECONDS", -0.5)
    start = time.monotonic()
    with hostile(answer) as phone, pytest.raises(ClawError) as error:
        deliver(phone.device, PACKAGE, plan())
    assert time.monotonic() - start < HANG_SECONDS
    assert error.value.hint
    return error.value


# Long and endless answers


LOG_LINES = [
    b"\n",
    b" " * 200_000 + b"\n",
    b"11-15 10:00:00.000    42    42 I " + b" " * 500_000 + b"\n",
    b"11-15 10:00:00.000    42    42 I tag: " + b"x" * 500_000 + b"\n",
    b"11-15 10:00:00.000    42    42 I tag: [Clawperator-Result] {" + b"\n",
    b"11-15 10:00:00.000    42    42 I tag: }\n",
    b"11-15 10:00:00.000    42    42 I tag: [TaskScope] UI Hierarchy:\n",
    b"11-15 10:00:00.000    42    42 I tag: <node/>\n",
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize("line", LOG_LINES, ids=range(len(LOG_LINES)))
def test_an_endless_log_ends_at_the_deadline(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    block = line * max(1, 200_000 // len(line))

    def answer(peer: socket.socket, _: str) -> None:
        peer.sendall(packet(HEAD))
        while True:
            peer.sendall(packet(block))

    error = delivery_error(answer, monkeypatch)
    assert error.code == "RESULT_ENVELOPE_TIMEOUT"
    assert not error.retryable
    assert all(len(event) <= 2_000 and printable(event) == event for event in error.extra["lastCorrelatedEvents"])


def test_an_endless_log_takes_a_bounded_amount_of_memory() -> None:
    reader = OperatorLogReader()
    line = b"11-15 10:00:00.000    42    42 I tag: "
    texts = (b"[TaskScope] UI Hierarchy:", b"<node " + b"x" * 4_000 + b"/>", b"</hierarchy>")
    head, node, end = (record for text in texts if (record := read_record(line + text)))
    for _ in range(40):
        reader.feed(head)
        for _ in range(900):
            reader.feed(node)
        reader.feed(end)
    kept = sum(len(text) for tree in reader.hierarchies for text in tree.lines)
    assert 0 < kept <= 32 * MEGABYTE
    reader.feed(head)
    for _ in range(3_000):
        reader.feed(node)
    reader.feed(end)
    assert sum(len(text) for tree in reader.hierarchies for text in tree.lines) == kept, "one is too large"


def test_no_line_is_longer_than_the_limit() -> None:
    lines = LogLines()
    given = [b"a" * MEGABYTE, b"a" * MEGABYTE + b"\nshort\n" + b"b" * MEGABYTE, b"\n", b"\n"]
    seen = [line for data in given for line in lines.feed(data)]
    assert [len(line) for line in seen] == [MAX_LINE_BYTES, 5, MAX_LINE_BYTES, 0]


def test_a_shell_that_never_ends_is_left_at_its_limit() -> None:
    with hostile(endless(packet(b"y\n" * 10_000))) as phone:
        with pytest.raises(ClawError, match="more than 1000000 bytes of output") as error:
            run_shell(phone.device, "yes", seconds=HANG_SECONDS, max_bytes=1_000_000)
        assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"
        with pytest.raises(ClawError) as error:
            ConnectedPhone(phone.device).shell("yes")
        assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"


@pytest.mark.parametrize("piece", [b"\x01\xff\xff\xff\xff", b"\x01\x00\x00\x00\x00", packet(b"x"), b"\x09\x00"])
def test_a_slow_drip_ends_at_the_deadline(piece: bytes) -> None:
    with hostile(drip(piece)) as phone, pytest.raises(ClawError) as error:
        run_shell(phone.device, "true", seconds=0.5)
    assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"


def test_a_claimed_length_allocates_nothing() -> None:
    def answer(peer: socket.socket, _: str) -> None:
        peer.sendall(b"\x01\xff\xff\xff\xff" + b"x" * 1_000)
        peer.shutdown(socket.SHUT_WR)

    with hostile(answer) as phone, pytest.raises(ClawError, match="closed in the middle"):
        run_shell(phone.device, "true", seconds=HANG_SECONDS)


def test_the_shell_of_the_simulated_phone_has_limits() -> None:
    with simulated_phone() as phone:
        with pytest.raises(ClawError, match="more than 1000 bytes of output"):
            phone.shell_script("yes", max_bytes=1_000)
        with pytest.raises(ClawError, match="more than 4194304 bytes of output") as error:
            phone.shell_script("yes")
        assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"
        with pytest.raises(ClawError, match=r"no end within 0\.2 seconds"):
            phone.shell_script("while true; do true; done", timeout=0.2)
        assert phone.shell_script("echo still here").text == "still here\n"


# Readers take linear time


PARSED: dict[str, Callable[[str], object]] = {
    "record": lambda text: read_record(text.encode()),
    "foreground": dumpsys.read_foreground,
    "windows": dumpsys.read_windows,
    "size": dumpsys.read_size,
    "rotation": dumpsys.read_rotation,
    "displays": dumpsys.read_displays,
    "focused display": dumpsys.focused_display_id,
    "physical ids": dumpsys.read_physical_ids,
    "panel": lambda text: dumpsys.physical_id_in_use(text, 0),
}
REPEATED = [
    " ",
    "\n",
    "\r",
    "a",
    "mCurrentFocus=Window{",
    "mCurrentFocus=Window{a ",
    "mFocusedApp=",
    "ResumedActivity ",
    "ResumedActivity=",
    "  Window #1 Window{a u0 x}",
    "  Window #1 Window{a u0 x}:\n",
    "}",
    "package=",
    "Physical size: ",
    "mRotation=1",
    "Display: mDisplayId=1\n",
    "    init=1x1 ",
    "DisplayViewport{",
    "DisplayInfo{",
    "Display 1 (",
]


@pytest.mark.parametrize("text", REPEATED, ids=range(len(REPEATED)))
@pytest.mark.parametrize("name", PARSED)
def test_a_megabyte_of_anything_is_read_in_time(name: str, text: str) -> None:
    with in_time():
        PARSED[name](text * (MEGABYTE // len(text)))


@contextmanager
def in_time() -> Iterator[None]:
    """Ends a reader that does not end by itself."""

    def expire(*_: object) -> None:
        raise TimeoutError("the reader does not end")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("text", [b"\r", b"\n", b"=", b"= ", b"='", b" ", b"\t"])
def test_a_hierarchy_of_anything_is_read_in_time(text: bytes) -> None:
    filling = text * (MEGABYTE // len(text))
    with in_time(), suppress(ClawError):
        parse_hierarchy(
            b"<hierarchy rotation='0'><node text=\"" + filling + b'" bounds="[0,0][1,1]"/></hierarchy>'
        )
    with in_time(), pytest.raises(ClawError) as error:
        parse_hierarchy(b"<hierarchy>" + filling + b"<node")
    assert error.value.code == "HIERARCHY_INVALID"


@pytest.mark.parametrize(
    "text", [b"\n", b" ", b"versionName", b"mWakefulness=", b"package:a.", b"error\n", b"\xff"]
)
def test_shell_output_of_anything_is_read_in_time(text: bytes) -> None:
    with in_time(), hostile(sending(text * (MEGABYTE // len(text)))) as phone:
        assert list_packages(phone.device) == []
        require_awake(phone.device)
        assert not probe_compatibility(phone.device, PACKAGE).compatible
        driver = AdbDriver(phone.device, seconds=HANG_SECONDS)
        with pytest.raises(ClawError) as error:
            driver.dump()
        assert error.value.code == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
        assert driver.windows().foreground_package is None
        driver.key("home")
        assert not driver.launch("a.b")


# Lies


def test_a_phone_that_closes_anywhere_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = packet(HEAD) + packet(b"11-15 10:00:00.000    42    42 I tag: [Clawperator-Result] {}\n")

    def closing(size: int) -> Answer:
        def answer(peer: socket.socket, _: str) -> None:
            peer.sendall(stream[:size])
            peer.shutdown(socket.SHUT_WR)

        return answer

    for size in range(0, len(stream) + 1, 7):
        assert delivery_error(closing(size), monkeypatch).code in ("LOGCAT_UNAVAILABLE", "BROADCAST_FAILED")


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [{"id": "a1", "actionType": "sleep", "success": True}],
        [{"id": "a2", "actionType": "press_key", "success": True}],
        [{"id": "a1", "actionType": "press_key", "success": True}] * 2,
    ],
)
def test_a_lying_success_is_malformed(steps: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"commandId": "c-1", "taskId": "t", "status": "success", "stepResults": steps, "error": None}
    line = f"11-15 10:00:00.000    42    42 I t: [Clawperator-Result] {json.dumps(document)}\n"
    error = delivery_error(sending(HEAD + line.encode(), code=None), monkeypatch)
    assert (error.code, error.retryable) == ("RESULT_ENVELOPE_MALFORMED", False)


def test_hostile_serials_and_states_are_left_out_or_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setattr("clawperator.device.discovery._PATH_SECONDS", 0.1)  # the server hangs there
    names = [b"../../etc", b"a b", b"$(reboot)", b"\x1b[31mred", b"-rf", b"x" * 5_000, b"", b"ok.1", b"ok.2"]
    states = [b"device"] * 8 + [b"no permissions\x1b[2J\x00" + b"x" * 5_000]
    listed = b"\n".join(name + b"\t" + state for name, state in zip(names, states, strict=True))
    with hostile(nothing, listed) as phone:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(phone.port))
        found = list_devices()
        assert [device.serial for device in found] == ["../../etc", "a b", "$(reboot)", "-rf", "ok.1", "ok.2"]
        assert all(printable(device.state) == device.state and len(device.state) <= 200 for device in found)
        assert resolve_device("$(reboot)").serial == "$(reboot)"
        with pytest.raises(ClawError) as error:
            resolve_device("x" * 5_000)
        assert error.value.code == "DEVICE_NOT_FOUND"


def test_hostile_package_names_are_left_out() -> None:
    lines = ["a.b", "../x", "a b", "$(id)", "a..b", "x" * 5_000, "\x1b[31m", "com.ok"]
    with hostile(sending("".join(f"package:{line}\n" for line in lines).encode())) as phone:
        assert list_packages(phone.device) == ["a.b", "com.ok"]


def test_what_a_phone_complains_about_is_escaped_and_cut() -> None:
    complaint = sending(b"\x1b[2J\x07\xe2\x80\xae" + b"x" * MEGABYTE, code=1)
    with hostile(complaint) as phone, pytest.raises(ClawError) as error:
        list_packages(phone.device)
    assert printable(error.value.message) == error.value.message
    assert len(error.value.message) < 1_000


@pytest.mark.parametrize("latest", [b"../../../etc/passwd", b"a/b", b"\x00", b"x" * 4_000, b"\xff", b"-rf /"])
def test_a_hostile_name_of_the_last_recording_leads_nowhere(latest: bytes, tmp_path: Path) -> None:
    def answer(peer: socket.socket, _: str) -> None:
        read_exactly(peer, int.from_bytes(read_exactly(peer, 8)[4:], "little"))
        peer.sendall(b"DATA" + len(latest).to_bytes(4, "little") + latest + b"DONE" + bytes(4))
        peer.recv(1)

    with hostile(answer) as phone, pytest.raises(ClawError) as error:
        pull_recording(phone.device, PACKAGE, None, str(tmp_path / "out"), seconds=5)
    assert error.value.code in ("RECORDING_SESSION_NOT_FOUND", "RECORDING_PULL_FAILED")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "answer",
    [
        b"DATA\xff\xff\xff\xff",
        b"FAIL\xff\xff\xff\xff",
        b"FAIL\x04\x00\x00\x00\x1b[2J",
        b"WHAT\x00\x00\x00\x00",
        b"DA",
    ],
)
def test_a_file_transfer_of_nonsense_is_refused(answer: bytes) -> None:
    def send(peer: socket.socket, _: str) -> None:
        peer.sendall(answer)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(4096):
            pass

    with hostile(send) as phone, pytest.raises(TransferError) as error:
        read_file(phone.device, "/sdcard/x", 1_000, seconds=5)
    assert printable(str(error.value)) == str(error.value)


def test_the_command_line_survives_a_hostile_phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole program, with a log that floods it."""
    block = packet((b"11-15 10:00:00.000    42    42 I " + b" " * 60_000 + b"\n") * 20)

    def answer(peer: socket.socket, _: str) -> None:
        peer.sendall(packet(HEAD))
        while True:
            peer.sendall(block)

    monkeypatch.setattr(operator_link, "GRACE_SECONDS", -0.5)
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    with in_time(), hostile(answer) as phone:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(phone.port))
        ran = clawperator("snapshot", "--device", "evil", "--timeout", "1000")
    assert (ran.code, ran.json["code"]) == (1, "RESULT_ENVELOPE_TIMEOUT")
