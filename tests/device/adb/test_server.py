import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.deadline import Deadline, limited
from clawperator.device.adb import binary
from clawperator.device.adb.binary import run_adb, start_server
from clawperator.device.adb.client import Connection, Device, Endpoint, run_shell
from clawperator.device.adb.server import (
    NoServerError,
    adb_endpoint,
    ask_server,
    can_start,
    exchange,
    read_address,
    server_environment,
)
from clawperator.errors import ClawError, RefusedError
from tests.device.adb.scripted_server import (
    OKAY,
    Pause,
    answering,
    packet,
    refusal,
    scripted,
    text,
)
from tests.support.hanging import HANG_SECONDS
from tests.support.required_programs import require_program
from tests.support.unused_port import UNUSED_PORT

UNIX = Endpoint("", 0, path="/run/adb")
ABSTRACT = Endpoint("", 0, path="\0adb")


def unused() -> Endpoint:
    return Endpoint("127.0.0.1", int(UNUSED_PORT))


def failure(endpoint: Endpoint, seconds: float = HANG_SECONDS) -> ClawError:
    with pytest.raises(ClawError) as error:
        ask_server(endpoint, "host:devices", seconds=seconds)
    assert error.value.code == "ADB_SERVER_FAILED"
    assert endpoint.address in error.value.message
    assert error.value.hint
    return error.value


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        ({}, Endpoint("localhost", 5037)),
        ({"ANDROID_ADB_SERVER_PORT": "5038"}, Endpoint("localhost", 5038)),
        ({"ANDROID_ADB_SERVER_PORT": ""}, Endpoint("localhost", 5037)),
        ({"ANDROID_ADB_SERVER_ADDRESS": "desk"}, Endpoint("desk", 5037)),
        ({"ANDROID_ADB_SERVER_ADDRESS": "[::1]", "ANDROID_ADB_SERVER_PORT": "1"}, Endpoint("::1", 1)),
        ({"ADB_SERVER_SOCKET": "tcp:5039", "ANDROID_ADB_SERVER_PORT": "5038"}, Endpoint("localhost", 5039)),
        ({"ADB_SERVER_SOCKET": "tcp:5039", "ANDROID_ADB_SERVER_ADDRESS": "desk"}, Endpoint("localhost", 5039)),
        ({"ADB_SERVER_SOCKET": "", "ANDROID_ADB_SERVER_PORT": "5038"}, Endpoint("localhost", 5038)),
        ({"ADB_SERVER_SOCKET": "tcp:desk:5039"}, Endpoint("desk", 5039)),
        ({"ADB_SERVER_SOCKET": "tcp:localhost:5039"}, Endpoint("localhost", 5039)),
        ({"ADB_SERVER_SOCKET": "tcp:127.0.0.1:65535"}, Endpoint("127.0.0.1", 65535)),
        ({"ADB_SERVER_SOCKET": "tcp:[::1]:15998"}, Endpoint("::1", 15998)),
        ({"ADB_SERVER_SOCKET": "tcp:[fe80::1%eth0]:1"}, Endpoint("fe80::1%eth0", 1)),
        ({"ADB_SERVER_SOCKET": "tcp:1"}, Endpoint("localhost", 1)),
        ({"ADB_SERVER_SOCKET": "tcp:65535"}, Endpoint("localhost", 65535)),
        ({"ADB_SERVER_SOCKET": "localfilesystem:/run/adb"}, UNIX),
        ({"ADB_SERVER_SOCKET": "local:/run/adb"}, UNIX),
    ],
)
def test_adbs_own_variables_set_the_server_address(
    variables: dict[str, str], endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANDROID_ADB_SERVER_PORT")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert adb_endpoint() == endpoint


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has abstract sockets")
def test_an_abstract_socket_is_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADB_SERVER_SOCKET", "localabstract:adb")
    assert adb_endpoint() == ABSTRACT
    assert adb_endpoint().address == "localabstract:adb"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ADB_SERVER_SOCKET", "5037"),
        ("ADB_SERVER_SOCKET", "127.0.0.1:5037"),
        ("ADB_SERVER_SOCKET", "unix:/run/adb"),
        ("ADB_SERVER_SOCKET", "tcp:"),
        ("ADB_SERVER_SOCKET", "tcp:desk"),
        ("ADB_SERVER_SOCKET", "tcp:0"),
        ("ADB_SERVER_SOCKET", "tcp:65536"),
        ("ADB_SERVER_SOCKET", "tcp:desk:"),
        ("ADB_SERVER_SOCKET", "tcp::5037"),
        ("ADB_SERVER_SOCKET", "tcp:::1:5037"),
        ("ADB_SERVER_SOCKET", "tcp:[desk]:5037"),
        ("ADB_SERVER_SOCKET", "tcp:desk :5037"),
        ("ADB_SERVER_SOCKET", "localfilesystem:"),
        ("ADB_SERVER_SOCKET", "localabstract:"),
        ("ADB_SERVER_SOCKET", "vsock:1:2"),
        ("ANDROID_ADB_SERVER_PORT", "no"),
        ("ANDROID_ADB_SERVER_PORT", "0"),
        ("ANDROID_ADB_SERVER_PORT", "65536"),
        ("ANDROID_ADB_SERVER_ADDRESS", "::1"),
        ("ANDROID_ADB_SERVER_ADDRESS", "desk:5037"),
        ("ADB_SERVER_SOCKET", "tcp:[::1:5037"),
        ("ADB_SERVER_SOCKET", "tcp:desk]:5037"),
        ("ADB_SERVER_SOCKET", "tcp:des\x7fk:5037"),
        ("ADB_SERVER_SOCKET", "tcp:user@desk:5037"),
        ("ADB_SERVER_SOCKET", "tcp:[]:5037"),
        ("ADB_SERVER_SOCKET", "tcp:000001"),
        ("ADB_SERVER_SOCKET", "tcp:²"),
        ("ADB_SERVER_SOCKET", "tcp:٣"),
    ],
)
def test_an_address_that_cannot_be_used_is_an_error_and_not_another_server(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ClawError) as error:
        adb_endpoint()
    assert error.value.code == "CONFIG_INVALID"
    assert error.value.message == f"{variable} is not the address of an adb server: {value!r}"
    assert f"run 'unset {variable}'" in error.value.hint
    assert not error.value.retryable


@given(st.text())
def test_no_text_breaks_the_reading_of_an_address(address: str) -> None:
    found = read_address(address)
    if found is not None:
        assert found[0]
        assert 0 < found[1] < 65536
        assert address in (f"{found[0]}:{found[1]}", f"[{found[0]}]:{found[1]}")


@pytest.mark.parametrize(
    ("endpoint", "address", "environment", "startable"),
    [
        (Endpoint("localhost", 5038), "localhost:5038", "tcp:5038", True),
        (Endpoint("127.0.0.1", 5038), "127.0.0.1:5038", "tcp:5038", True),
        (Endpoint("desk", 5038), "desk:5038", "tcp:desk:5038", False),
        (Endpoint("::1", 5038), "[::1]:5038", "tcp:[::1]:5038", False),
        (UNIX, "localfilesystem:/run/adb", "localfilesystem:/run/adb", True),
        (ABSTRACT, "localabstract:adb", "localabstract:adb", True),
    ],
)
def test_an_adb_program_gets_the_same_address(
    endpoint: Endpoint, address: str, environment: str, *, startable: bool
) -> None:
    assert endpoint.address == address
    assert server_environment(endpoint)["ADB_SERVER_SOCKET"] == environment
    assert can_start(endpoint) == startable


# Requests


def listing(request: str) -> bytes:
    return text("pixel\tdevice\n") if request == "host:devices" else refusal("unknown host service")


def test_a_server_is_reached_by_ipv6() -> None:
    with answering(listing, ("::1", 0)) as listener:
        port = listener.getsockname()[1]
        assert ask_server(Endpoint("::1", port), "host:devices") == "pixel\tdevice\n"
        assert ask_server(Endpoint("localhost", port), "host:devices") == "pixel\tdevice\n"


def test_a_server_is_reached_by_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "adb")
    with answering(listing, path):
        assert ask_server(Endpoint("", 0, path=path), "host:devices") == "pixel\tdevice\n"
    with pytest.raises(NoServerError):
        ask_server(Endpoint("", 0, path=f"{path}-not"), "host:devices")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has abstract sockets")
def test_a_shell_runs_by_an_abstract_socket() -> None:
    path = f"\0clawperator-test-{time.monotonic_ns()}"

    def shell(request: str) -> bytes:
        return OKAY + (b"" if request.startswith("host:") else packet(1, b"hi\n") + packet(3, b"\0"))

    with answering(shell, path):
        assert run_shell(Device("pixel", Endpoint("", 0, path=path)), "echo hi", seconds=5).text == "hi\n"


def test_without_a_server_there_is_no_answer() -> None:
    with pytest.raises(NoServerError):
        ask_server(unused(), "host:devices")


def test_a_server_that_hangs_is_named_with_its_request() -> None:
    with scripted(Pause()) as device:
        error = failure(device.endpoint, 0.1)
    assert "accepted a connection, but did not answer 'devices' within 0.1 s" in error.message
    assert "adb kill-server" in error.hint


def test_a_server_that_hangs_in_its_answer_is_reported_too() -> None:
    with scripted(b"OKAY00", Pause()) as device:
        failure(device.endpoint, 0.1)


def test_a_server_that_accepts_no_connection_is_reported() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
        with socket.create_connection((endpoint.host, endpoint.port)):  # the only place in the queue
            error = failure(endpoint, 0.2)
    assert re.search("did not accept a connection|accepted a connection, but did not answer", error.message)


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[OSError], None]:
    """Let every connection by name fail with an error, 1.26 seconds later."""
    moments = count(1_000.0, 1.26)
    monkeypatch.setattr("clawperator.device.adb.server.time", SimpleNamespace(monotonic=lambda: next(moments)))

    def refuse_with(error: OSError) -> None:
        def fail(*_: object) -> socket.socket:
            raise error

        monkeypatch.setattr(socket, "create_connection", fail)

    return refuse_with


def test_the_time_without_a_connection_is_reported(refuse: Callable[[OSError], None]) -> None:
    refuse(TimeoutError())
    error = failure(Endpoint("desk", 5037))
    assert error.message == "the adb server at desk:5037 did not accept a connection within 1.3 s"
    assert error.details == {"address": "desk:5037"}
    assert "adb kill-server" in error.hint


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(113, "No route to host"), "No route to host"), (OSError("it broke"), "it broke")],
)
def test_a_server_that_cannot_be_reached_is_reported(
    error: OSError, reason: str, refuse: Callable[[OSError], None]
) -> None:
    refuse(error)
    assert failure(Endpoint("desk", 5037)).message.endswith(f" cannot be reached: {reason}")


@pytest.mark.parametrize(
    ("variables", "hint"),
    [
        ({"ANDROID_ADB_SERVER_PORT": ""}, "Run 'adb kill-server', then retry."),
        ({"ANDROID_ADB_SERVER_PORT": "5038"}, "run 'unset ANDROID_ADB_SERVER_PORT'; it is desk:5037 now."),
        ({"ANDROID_ADB_SERVER_ADDRESS": "desk"}, "run 'unset ANDROID_ADB_SERVER_ADDRESS'; it is desk:5037 now."),
    ],
)
def test_a_server_that_cannot_be_reached_names_the_variable_that_sets_it(
    variables: dict[str, str],
    hint: str,
    refuse: Callable[[OSError], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse(OSError("it broke"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert hint in failure(Endpoint("desk", 5037)).hint


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b"OK", b"OKAYzzzz", b"OKAY00ffshort"])
def test_another_program_at_the_address_is_reported(answer: bytes) -> None:
    with scripted(answer) as device:
        error = failure(device.endpoint)
    assert "did not answer 'devices' as an adb server does" in error.message
    assert "ANDROID_ADB_SERVER_PORT" in error.hint


def test_a_refused_request_has_the_words_of_the_server() -> None:
    with scripted(refusal("no such thing")) as device:
        assert failure(device.endpoint).message.endswith("refused 'devices': no such thing")
        with pytest.raises(RefusedError, match="no such thing"):
            exchange(device.endpoint, "host:devices", seconds=HANG_SECONDS)


def test_a_host_that_is_not_known_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> socket.socket:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    monkeypatch.setenv("ADB_SERVER_SOCKET", "tcp:no-such-host:5037")
    error = failure(adb_endpoint())
    assert "Name or service not known" in error.message
    assert "run 'unset ADB_SERVER_SOCKET'" in error.hint


def test_arguments_of_a_request_are_not_in_its_errors() -> None:
    with scripted(Pause()) as device, pytest.raises(ClawError) as error:
        exchange(device.endpoint, "host:pair:123456:192.168.1.2:37000", seconds=0.1)
    assert "123456" not in str(error.value)


def test_a_request_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float | None] = []

    def connect(_: Endpoint, deadline: Deadline) -> Connection:
        left.append(deadline.remaining)
        raise ConnectionRefusedError

    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    monkeypatch.setattr("clawperator.device.adb.server.Connection", connect)
    with pytest.raises(NoServerError):
        ask_server(unused(), "host:devices")
    (seconds,) = left
    assert seconds is not None
    assert 0 < seconds < 30


def test_a_port_alone_is_an_address_only_where_it_is_meant() -> None:
    assert read_address("5037") is None
    assert read_address("5037", local_port=True) == ("localhost", 5037)


def test_the_limit_of_a_command_holds_for_a_request() -> None:
    began = time.monotonic()
    with scripted(Pause()) as device, limited(0.1):
        failure(device.endpoint)
    assert time.monotonic() - began < HANG_SECONDS / 2


# The adb program


def fake_adb(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "adb"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(program))


ENVIRONMENT = 'echo "$ADB_SERVER_SOCKET|$ANDROID_ADB_SERVER_PORT|$ANDROID_ADB_SERVER_ADDRESS"'


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"ANDROID_ADB_SERVER_PORT": "5038"}, "tcp:5038|5038|"),
        ({"ANDROID_ADB_SERVER_ADDRESS": "[::1]", "ANDROID_ADB_SERVER_PORT": "5038"}, "tcp:[::1]:5038|5038|"),
        ({"ADB_SERVER_SOCKET": "tcp:desk:1", "ANDROID_ADB_SERVER_PORT": "5038"}, "tcp:desk:1|1|"),
        ({"ADB_SERVER_SOCKET": "local:/run/adb"}, "localfilesystem:/run/adb||"),
    ],
)
def test_the_adb_program_is_told_the_server(
    variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_adb(tmp_path, monkeypatch, ENVIRONMENT)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run_adb("devices").stdout.decode() == f"{expected}\n"


def test_a_program_that_needs_no_server_runs_with_an_invalid_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_adb(tmp_path, monkeypatch, ENVIRONMENT)
    monkeypatch.setenv("ADB_SERVER_SOCKET", "nonsense")
    assert run_adb("version", asks_server=False).stdout == b"||\n"
    with pytest.raises(ClawError) as error:
        run_adb("devices")
    assert error.value.code == "CONFIG_INVALID"


def test_an_adb_program_that_hangs_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_adb(tmp_path, monkeypatch, "exec sleep 600")
    with pytest.raises(ClawError, match=r"'adb kill-server' did not end within 0\.1 s") as error:
        run_adb("kill-server", seconds=0.1)
    assert error.value.code == "ADB_SERVER_FAILED"


def test_an_adb_program_that_cannot_be_run_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "adb"
    program.write_text("no program")
    program.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(program))
    with pytest.raises(ClawError, match=f"{program} failed: .*Exec format error") as error:
        run_adb("devices")
    assert (error.value.code, error.value.target) == ("ADB_SERVER_FAILED", str(program))
    assert "adb kill-server" in error.value.hint


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo out; echo 'cannot  bind' >&2; exit 1", "cannot bind"),
        ("echo out; exit 1", "out"),
        ("printf '%600s' | tr ' ' x; exit 2", "x" * 500),
    ],
)
def test_a_server_that_does_not_start_is_reported_with_its_output(
    script: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_adb(tmp_path, monkeypatch, script)
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "5038")
    with pytest.raises(ClawError) as error:
        start_server()
    assert error.value.message == f"the adb server did not start at localhost:5038: {reason}"
    assert error.value.target == "localhost:5038"


def test_an_adb_program_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_adb(tmp_path, monkeypatch, "")
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    calls: list[tuple[list[str], float]] = []

    def run(arguments: list[str], *, timeout: float, **_: object) -> "subprocess.CompletedProcess[bytes]":
        calls.append((arguments[1:], timeout))
        return subprocess.CompletedProcess(arguments, 0, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)
    run_adb("devices", "-l")
    start_server()
    assert [arguments for arguments, _ in calls] == [["devices", "-l"], ["start-server"]]
    assert all(0 < seconds < 120 for _, seconds in calls)


def test_a_server_of_another_computer_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "run_adb", lambda *_, **__: pytest.fail("adb cannot start it"))
    monkeypatch.setenv("ADB_SERVER_SOCKET", "tcp:desk:5037")
    with pytest.raises(ClawError, match="the adb server at desk:5037 is not running") as error:
        start_server()
    assert error.value.code == "ADB_SERVER_FAILED"
    assert "adb -a nodaemon server" in error.value.hint
    assert "unset ADB_SERVER_SOCKET" in error.value.hint


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_real_server_is_started_and_asked(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the address of this computer in each form, as adb itself reads it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    spec = f"tcp:127.0.0.1:{port}" if kind == "tcp" else f"localfilesystem:{tmp_path}/adb"
    monkeypatch.setenv("ADB_PATH", require_program("adb"))
    monkeypatch.setenv("ADB_SERVER_SOCKET", spec)
    for name in ("ADB_MDNS", "ADB_USB", "ADB_EMU", "ADB_LIBUSB"):
        monkeypatch.setenv(name, "0")
    endpoint = adb_endpoint()
    start_server()
    try:
        assert int(ask_server(endpoint, "host:version"), 16) > 30
        assert ask_server(endpoint, "host:devices") == ""
    finally:
        with Connection(endpoint, Deadline(HANG_SECONDS)) as connection:
            connection.request("host:kill")
