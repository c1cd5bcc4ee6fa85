"""Peers that take up room and say nothing. Whoever comes next is answered all the same."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from clawperator._home import PhoneRecord
from clawperator.phone.adb import adbd, server, smart_socket
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
def crowd(port: int, size: int, says: bytes = b"") -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        peers = [stack.enter_context(socket.create_connection((HOST, port), 5)) for _ in range(size)]
        for peer in peers:
            with suppress(ConnectionError):
                peer.sendall(says)
        time.sleep(0.1)
        yield peers


def record(port: int) -> PhoneRecord:
    return PhoneRecord("fake-1", 1, 0, HOST, 0, 0, port, "word", 0, "com.clawperator.operator", [])


@contextmanager
def open_control(handle: Callable[[str, dict[str, Any]], Any]) -> Iterator[int]:
    door = ControlServer("word", handle)
    try:
        yield door.start(HOST)
    finally:
        door.stop()


@pytest.mark.parametrize("says", [b"", b"CNXN", packet(b"CNXN", NEW, 1 << 20, b"host::")[:-2]])
def test_silent_peers_do_not_keep_the_next_from_adbd(device: FakeDevice, says: bytes) -> None:
    with open_adbd(device) as (_, port), crowd(port, adbd.MAX_CONNECTIONS + 40, says), Peer(port) as peer:
        assert peer.run(b"shell:echo here") == b"here\n"


@pytest.mark.parametrize("says", [b"", b"00", b"ffffhost:"])
def test_silent_clients_do_not_keep_the_next_from_the_server(
    device: FakeDevice, monkeypatch: pytest.MonkeyPatch, says: bytes
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 20)
    with open_server(device) as (_, port), crowd(port, 50, says), Client(port) as client:
        client.ask(b"host:version")
        assert client.text() == "0029"


@pytest.mark.parametrize("says", [b"", b'{"token":'])
def test_silent_peers_do_not_keep_the_next_from_control(says: bytes) -> None:
    with open_control(lambda *_: {"fine": 1}) as port, crowd(port, 40, says):
        assert request(record(port), "status") == {"fine": 1}


def test_who_is_being_served_is_not_sent_away(device: FakeDevice) -> None:
    with open_adbd(device) as (_, port), Peer(port) as first:
        with crowd(port, adbd.MAX_CONNECTIONS + 40):
            pass
        assert first.run(b"shell:echo still here") == b"still here\n"


def test_a_request_that_drips_in_is_given_up(monkeypatch: pytest.MonkeyPatch, device: FakeDevice) -> None:
    monkeypatch.setattr(control, "_READ_SECONDS", 0.3)
    monkeypatch.setattr(smart_socket, "REQUEST_SECONDS", 0.3)
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


def test_what_all_peers_leave_unread_is_bounded(monkeypatch: pytest.MonkeyPatch, device: FakeDevice) -> None:
    monkeypatch.setattr(adbd, "_MAX_UNREAD", 3 * 100_000)
    payload = bytes(100_000)
    with open_adbd(device) as (_, port), ExitStack() as stack:
        peers = [stack.enter_context(Peer(port)) for _ in range(3)]
        for peer in peers:
            peer.send(b"WRTE", *peer.open(b"shell:sleep"), payload)
            assert peer.open(b"sync:")  # what was sent before has been taken in
        for _ in range(3):
            late = stack.enter_context(Peer(port))
            late.send(b"WRTE", *late.open(b"shell:sleep"), payload)
            assert late.is_closed()
        assert all(peer.open(b"sync:") for peer in peers)


def test_a_phone_whose_folder_is_gone_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
