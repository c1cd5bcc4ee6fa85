"""The adb server protocol, over raw sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.phone.adb.peer import SECONDS, Client, FakeDevice, open_server, shell_packets


@pytest.fixture
def device(tmp_path: Path) -> FakeDevice:
    return FakeDevice(str(tmp_path / "phone"), "127.0.0.1:5555")


@pytest.fixture
def port(device: FakeDevice) -> Iterator[int]:
    with open_server(device) as (_, port):
        yield port


def ask(port: int, request: bytes) -> str:
    with Client(port) as client:
        client.ask(request)
        return client.text()


def run(port: int, service: bytes, transport: bytes = b"host:transport-any") -> bytes:
    with Client(port) as client:
        client.ask(transport)
        client.ask(service)
        return client.rest()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"host:version", "0029"),
        (b"host:devices", "127.0.0.1:5555\tdevice\n"),
        (
            b"host:devices-l",
            "127.0.0.1:5555         device product:fake model:Fake_Phone device:fake transport_id:1\n",
        ),
        (b"host:features", "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir,abb_exec,sendrecv_v2"),
        (b"host:get-state", "device"),
        (b"host:get-serialno", "127.0.0.1:5555"),
        (b"host-serial:127.0.0.1:5555:get-state", "device"),
        (b"host-serial:127.0.0.1:5555:get-devpath", "unknown"),
        (b"host-transport-id:1:get-serialno", "127.0.0.1:5555"),
        (b"host-local:get-state", "device"),
        (b"host:list-forward", ""),
        (b"host:connect:127.0.0.1:5555", "already connected to 127.0.0.1:5555"),
        (b"host:disconnect:", "disconnected everything"),
    ],
)
def test_a_host_request_is_answered(port: int, request_: bytes, answer: str) -> None:
    assert ask(port, request_) == answer


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"host:kill", "stops with it"),
        (b"host:nonsense", "unknown host service"),
        (b"host", "unknown host service"),
        (b"hostile:", "unknown host service"),
        (b"host:transport:nobody", "device 'nobody' not found"),
        (b"host:tport:serial:nobody:1", "device 'nobody:1' not found"),
        (b"host:tport:", "unknown host service"),
        (b"host:transport-id:7", "transport id '7'"),
        (b"host:transport-usb", "no devices found"),
        (b"host-serial:nobody:get-state", "device 'nobody' not found"),
        (b"host-serial:10.0.0.1:5555:get-state", "device '10.0.0.1:5555' not found"),
        (b"host-serial:nonsense", "malformed serial"),
        (b"host:disconnect:127.0.0.1:5555", "cannot be disconnected"),
        (b"host:wait-for-any-party", "unknown transport or state"),
        (b"shell:echo", "no transport"),
        (b"", "no transport"),
    ],
)
def test_a_request_that_cannot_be_met_fails_with_a_reason(port: int, request_: bytes, reason: str) -> None:
    with Client(port) as client, pytest.raises(RuntimeError, match=reason):
        client.ask(request_)


def test_connecting_to_an_unknown_address_is_answered(port: int) -> None:
    assert ask(port, b"host:connect:10.1.2.3:5555").startswith("failed to connect to 10.1.2.3:5555")


@pytest.mark.parametrize(
    "transport",
    [b"host:transport-any", b"host:transport-local", b"host:transport:127.0.0.1:5555", b"host:transport-id:1"],
)
def test_a_transport_serves_one_request(port: int, transport: bytes) -> None:
    ask(port, b"host:devices-l")  # a client learns the number from here
    assert run(port, b"shell:echo hi", transport) == b"hi\n"


@pytest.mark.parametrize("selector", [b"serial:127.0.0.1:5555", b"any", b"local"])
def test_tport_returns_the_transport_id(port: int, selector: bytes) -> None:
    with Client(port) as client:
        client.ask(b"host:tport:" + selector)
        assert client.read(8) == (1).to_bytes(8, "little")
        client.ask(b"shell,v2,raw:warn")
        assert shell_packets(client.rest()) == [(1, b"out\n"), (2, b"err\n"), (3, b"\x03")]


def test_a_host_request_after_a_transport_means_that_device(tmp_path: Path) -> None:
    devices = [FakeDevice(str(tmp_path / name), name) for name in ("one", "two")]
    with open_server(*devices) as (_, port), Client(port) as client:
        client.ask(b"host:transport:two")
        client.ask(b"host:get-serialno")
        assert client.text() == "two"


def test_with_several_devices_one_must_be_named(tmp_path: Path) -> None:
    devices = [FakeDevice(str(tmp_path / name), name) for name in ("one", "two")]
    with open_server(*devices) as (_, port):
        with Client(port) as client, pytest.raises(RuntimeError, match="more than one"):
            client.ask(b"host:transport-any")
        assert run(port, b"shell:echo hi", b"host:transport:two") == b"hi\n"
        assert ask(port, b"host:devices") == "one\tdevice\ntwo\tdevice\n"


def test_without_devices_every_request_for_one_fails() -> None:
    with open_server() as (_, port):
        assert ask(port, b"host:devices") == ""
        with Client(port) as client, pytest.raises(RuntimeError, match="no devices/emulators found"):
            client.ask(b"host:transport-any")


@pytest.mark.parametrize(
    ("state", "reason"), [("offline", "device offline"), ("unauthorized", "device unauthorized")]
)
def test_an_unavailable_device_is_listed_and_refused(
    port: int, device: FakeDevice, state: str, reason: str
) -> None:
    device.now = "offline" if state == "offline" else "unauthorized"
    assert ask(port, b"host:devices") == f"127.0.0.1:5555\t{state}\n"
    assert state in ask(port, b"host:devices-l")
    assert ask(port, b"host:get-state") == state
    with Client(port) as client, pytest.raises(RuntimeError, match=reason):
        client.ask(b"host:transport-any")


def test_tracking_clients_get_every_change(port: int, device: FakeDevice) -> None:
    with Client(port) as client:
        client.ask(b"host:track-devices")
        assert client.text() == "127.0.0.1:5555\tdevice\n"
        device.now = "offline"
        assert client.text() == "127.0.0.1:5555\toffline\n"


def test_waiting_for_a_device_ends_when_it_is_there(port: int, device: FakeDevice) -> None:
    device.now = "offline"
    with Client(port) as client:
        client.ask(b"host:wait-for-any-device")
        client.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.read(4)
        device.now = "device"
        client.sock.settimeout(SECONDS)
        assert client.read(4) == b"OKAY"
    with Client(port) as client:
        client.ask(b"host-serial:nobody:wait-for-any-disconnect")
        assert client.read(4) == b"OKAY"


def test_an_unknown_service_fails(port: int) -> None:
    with Client(port) as client:
        client.ask(b"host:transport-any")
        with pytest.raises(RuntimeError, match="unknown or unsupported service"):
            client.ask(b"framebuffer:")
    with Client(port) as client:
        client.ask(b"host:transport-any")
        with pytest.raises(RuntimeError, match="Connection refused"):
            client.ask(b"tcp:8")


def test_disconnecting_ends_a_shell(port: int, device: FakeDevice) -> None:
    with Client(port) as client:
        client.ask(b"host:transport-any")
        client.ask(b"shell:sleep 5")
    assert device.ended.get(timeout=SECONDS) == "sleep"


def test_output_of_a_running_command_arrives_at_once(port: int) -> None:
    with Client(port) as client:
        client.ask(b"host:transport-any")
        began = time.monotonic()
        client.ask(b"shell:greet")
        assert client.read(6) == b"hello\n"
        assert time.monotonic() - began < SECONDS


def test_the_end_of_the_input_of_exec_is_not_the_end_of_the_command(port: int, device: FakeDevice) -> None:
    with Client(port) as client:
        client.ask(b"host:transport-any")
        client.ask(b"exec:keep /sdcard/kept")
        client.sock.sendall(b"y" * 3_000_000)
        client.sock.shutdown(socket.SHUT_WR)
        assert client.rest() == b""
    assert device.storage.read("/sdcard/kept") == b"y" * 3_000_000


def test_output_is_not_lost_when_input_is_left_unread(port: int) -> None:
    with Client(port) as client:
        client.ask(b"host:transport-any")
        client.ask(b"exec:echo " + b"z" * 30_000)
        client.sock.sendall(b"unwanted" * 1000)
        time.sleep(0.05)
        assert client.rest() == b"z" * 30_000 + b"\n"


def test_large_output_arrives_whole(port: int) -> None:
    assert len(run(port, b"exec:big 3000000")) == 3_000_000


def test_sync_works_through_the_server(port: int) -> None:
    with Client(port) as client:
        client.ask(b"host:transport-any")
        client.ask(b"sync:")
        client.sock.sendall(b"STAT\x07\0\0\0/sdcard")
        assert client.read(16)[:4] == b"STAT"
        client.sock.sendall(b"QUIT\0\0\0\0")
        assert client.rest() == b""


def forward(port: int, rule: bytes) -> str:
    with Client(port) as client:
        client.ask(b"host-serial:127.0.0.1:5555:forward:" + rule)
        assert client.read(4) == b"OKAY"
        return client.text() if b"tcp:0;" in rule else ""


def test_a_forwarded_port_leads_to_the_phone(port: int) -> None:
    chosen = int(forward(port, b"tcp:0;tcp:7"))
    assert ask(port, b"host:list-forward") == f"127.0.0.1:5555 tcp:{chosen} tcp:7\n"
    with socket.create_connection(("127.0.0.1", chosen), SECONDS) as sock:
        sock.sendall(b"ping")
        assert sock.recv(10) == b"ping"
    with Client(port) as client:
        client.ask(b"host:killforward:tcp:%d" % chosen)
        assert client.read(4) == b"OKAY"
    assert ask(port, b"host:list-forward") == ""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", chosen), SECONDS)


def test_a_forward_to_a_missing_socket_closes_its_connections(port: int) -> None:
    chosen = int(forward(port, b"tcp:0;localabstract:nobody"))
    with socket.create_connection(("127.0.0.1", chosen), SECONDS) as sock:
        assert sock.recv(10) == b""


def test_a_forward_is_rebound_unless_norebind_is_given(port: int) -> None:
    chosen = int(forward(port, b"tcp:0;tcp:7"))
    forward(port, b"tcp:%d;localabstract:echo" % chosen)
    assert ask(port, b"host:list-forward") == f"127.0.0.1:5555 tcp:{chosen} localabstract:echo\n"
    with pytest.raises(RuntimeError, match="cannot rebind"):
        forward(port, b"norebind:tcp:%d;tcp:7" % chosen)
    with Client(port) as client:
        client.ask(b"host:killforward-all")
        assert client.read(4) == b"OKAY"
    assert ask(port, b"host:list-forward") == ""


@pytest.mark.parametrize(
    "rule",
    [b"tcp:1", b"tcp:99999;tcp:7", b"localabstract:x;tcp:7", b"tcp:0;jdwp:1", b"tcp:0;tcp:7:example.com", b";"],
)
def test_an_invalid_forward_is_refused(port: int, rule: bytes) -> None:
    with pytest.raises(RuntimeError):
        forward(port, rule)


def test_a_taken_port_cannot_be_forwarded(port: int) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(RuntimeError, match="cannot bind listener"),
    ):
        forward(port, b"tcp:%d;tcp:7" % taken.getsockname()[1])


def test_removing_an_unknown_forward_fails(port: int) -> None:
    with Client(port) as client, pytest.raises(RuntimeError, match="'tcp:1' not found"):
        client.ask(b"host:killforward:tcp:1")


def test_stopping_ends_all_services_and_leaves_no_thread(device: FakeDevice) -> None:
    before = set(threading.enumerate())
    clients = []
    with open_server(device) as (_, port):
        forwarded = int(forward(port, b"tcp:0;tcp:7"))
        clients.append(socket.create_connection(("127.0.0.1", forwarded), SECONDS))
        for service in (b"shell:sleep 5", b"exec:sleep 5", b"sync:", b"tcp:7", b"shell:flood", None):
            client = Client(port)
            clients.append(client.sock)
            client.ask(b"host:transport-any" if service else b"host:track-devices")
            if service:
                client.ask(service)
        began = time.monotonic()
    assert time.monotonic() - began < SECONDS
    assert set(threading.enumerate()) == before
    for sock in clients:
        sock.close()
