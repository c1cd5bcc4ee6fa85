"""Peers that hold connections or send slowly. The phone still answers the next client."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.home import PhoneRecord
from clawperator.phone.adb import adbd, server
from clawperator.phone.adb.listener import Listener
from clawperator.phone.process import control
from clawperator.phone.process import server as server_module
from clawperator.phone.process.control import ControlServer, request
from clawperator.phone.process.server import PhoneServer, PhoneServerConfig
from tests.phone.adb.peer import NEW, Client, FakeDevice, Peer, open_adbd, open_server, packet
from tests.support.hanging import HANG_SECONDS

HOST = "127.0.0.1"


@pytest.fixture
def device(tmp_path: Path) -> FakeDevice:
    return FakeDevice(str(tmp_path / "phone"))


@contextmanager
def idle_peers(port: int, count: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        peers = [stack.enter_context(socket.create_connection((HOST, port), 5)) for _ in range(count)]
        for peer in peers:
            with suppress(ConnectionError):
                peer.sendall(sent)
        time.sleep(0.1)
        yield peers


def record(port: int) -> PhoneRecord:
    return PhoneRecord("fake-1", 1, 0, HOST, 0, 0, port, "word", 0, "com.clawperator.operator", [])


@contextmanager
def open_control(handle: Callable[[str, dict[str, Any]], Any]) -> Iterator[int]:
    control_server = ControlServer("word", handle)
    try:
        yield control_server.start(HOST)
    finally:
        control_server.stop()


@pytest.mark.parametrize("sent", [b"", b"CNXN", packet(b"CNXN", NEW, 1 << 20, b"host::")[:-2]])
def test_idle_peers_do_not_block_adbd(device: FakeDevice, sent: bytes) -> None:
    with open_adbd(device) as (_, port), idle_peers(port, adbd.MAX_CONNECTIONS + 40, sent), Peer(port) as peer:
        assert peer.run(b"shell:echo here") == b"here\n"


@pytest.mark.parametrize("sent", [b"", b"00", b"ffffhost:"])
def test_idle_clients_do_not_block_the_adb_server(
    device: FakeDevice, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 20)
    with open_server(device) as (_, port), idle_peers(port, 50, sent), Client(port) as client:
        client.ask(b"host:version")
        assert client.text() == "0029"


@pytest.mark.parametrize("sent", [b"", b'{"token":'])
def test_idle_peers_do_not_block_the_control_channel(sent: bytes) -> None:
    with open_control(lambda *_: {"fine": 1}) as port, idle_peers(port, 40, sent):
        assert request(record(port), "status") == {"fine": 1}


def test_a_client_waits_for_the_thread_of_an_evicted_peer() -> None:
    leaving = threading.Event()

    def serve(sock: socket.socket) -> None:
        if sock.recv(1):
            listener.mark_active(sock)
            sock.sendall(b"here")
        else:
            leaving.wait(HANG_SECONDS)  # evicted, and slow to end

    listener = Listener(serve, 1, "test", evict_silent=True)
    port = listener.start(HOST, 0)
    try:
        with idle_peers(port, 2) as peers, socket.create_connection((HOST, port), HANG_SECONDS) as client:
            client.sendall(b"?")
            assert [peer.recv(1) for peer in peers] == [b"", b""]
            time.sleep(0.05)  # the client is refused in this time, if at all
            leaving.set()
            assert client.recv(4) == b"here"
    finally:
        listener.stop()


def test_active_peers_stay_connected(device: FakeDevice) -> None:
    with open_adbd(device) as (_, port), Peer(port) as first:
        with idle_peers(port, adbd.MAX_CONNECTIONS + 40):
            pass
        assert first.run(b"shell:echo still here") == b"still here\n"


def test_a_request_that_arrives_too_slowly_is_closed(monkeypatch: pytest.MonkeyPatch, device: FakeDevice) -> None:
    monkeypatch.setattr(control, "_READ_SECONDS", 0.3)
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.3)
    with open_control(lambda *_: {}) as controlled, open_server(device) as (_, served):
        for port, start in ((controlled, b"{"), (served, b"ffff")):
            with socket.create_connection((HOST, port), 5) as peer:
                peer.sendall(start)
                began = time.monotonic()
                with suppress(ConnectionError):
                    while time.monotonic() - began < HANG_SECONDS:
                        peer.sendall(b" ")
                        time.sleep(0.05)
                assert time.monotonic() - began < HANG_SECONDS


def test_unread_bytes_of_all_peers_are_bounded(monkeypatch: pytest.MonkeyPatch, device: FakeDevice) -> None:
    monkeypatch.setattr(adbd, "_MAX_UNREAD", 3 * 100_000)
    payload = bytes(100_000)
    with open_adbd(device) as (_, port), ExitStack() as stack:
        peers = [stack.enter_context(Peer(port)) for _ in range(3)]
        for peer in peers:
            peer.send(b"WRTE", *peer.open(b"shell:sleep"), payload)
            assert peer.open(b"sync:")  # the payload has been received
        for _ in range(3):
            late = stack.enter_context(Peer(port))
            late.send(b"WRTE", *late.open(b"shell:sleep"), payload)
            assert late.is_closed()
        assert all(peer.open(b"sync:") for peer in peers)


def test_a_phone_stops_when_its_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_FOLDER_POLL_SECONDS", 0.02)
    folder = tmp_path / "phone" / "files"
    folder.mkdir(parents=True)
    phone_server = PhoneServer(PhoneServerConfig(serial="t", folder=str(folder)))
    phone_server.open()
    try:
        assert not phone_server.stopped.wait(0.1)
        (tmp_path / "phone").rename(tmp_path / "away")
        assert phone_server.stopped.wait(HANG_SECONDS)
    finally:
        phone_server.close()
