"""Peers that violate the protocol, stall or flood. The phone stays up and serves the next one."""

import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.adb import adbd, wire
from clawperator.phone.adb.adbd import MAX_WAITING
from clawperator.phone.adb.listener import WorkerPool
from tests.phone.adb.peer import NEW, SECONDS, Client, FakeDevice, Peer, open_adbd, open_server, packet


@pytest.fixture
def device(tmp_path: Path) -> FakeDevice:
    return FakeDevice(str(tmp_path / "phone"))


@pytest.fixture
def port(device: FakeDevice) -> Iterator[int]:
    with open_adbd(device) as (_, port):
        yield port
        with Peer(port) as peer:
            assert peer.run(b"shell:echo still up") == b"still up\n"


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def accepted(port: int) -> Peer:
    """A connection, as soon as the phone has room for one more."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return Peer(port)
        except (EOFError, ConnectionError):
            assert time.monotonic() < deadline
            time.sleep(0.005)


def opens(peer: Peer) -> bool:
    """Whether the phone has room for one more stream."""
    try:
        return peer.run(b"shell:echo room") == b"room\n"
    except ConnectionRefusedError:
        return False


def send_until_cut_off(peer: Peer, data: bytes) -> None:
    def send() -> None:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.02)
            peer.sock.sendall(data)

    with pytest.raises(ConnectionError):
        send()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: phone\r\n\r\n",
        bytes(100),
        os.urandom(5000),
        packet(b"CNXN", NEW, 1 << 20)[:-1] + b"\0",
        packet(b"OPEN", 1, 0, b"shell:echo"),
        packet(b"STLS", 1, 0),
        packet(b"CNXN", NEW, 10, b"host::"),
        struct.pack("<6I", wire.CNXN, NEW, 1 << 20, 0xFFFFFFFF, 0, wire.CNXN ^ 0xFFFFFFFF),
    ],
)
def test_a_peer_with_an_invalid_handshake_is_disconnected(port: int, data: bytes) -> None:
    with Peer(port, greet=False) as peer:
        peer.sock.sendall(data)
        assert peer.is_closed()


@pytest.mark.parametrize(
    "data",
    [
        os.urandom(2000),
        struct.pack("<6I", wire.WRTE, 1, 1, (1 << 20) + 1, 0, wire.WRTE ^ 0xFFFFFFFF),
        packet(b"CNXN", NEW, 1 << 20),
    ],
)
def test_a_peer_that_violates_the_protocol_is_disconnected(port: int, data: bytes) -> None:
    with Peer(port) as peer:
        peer.sock.sendall(data)
        assert peer.is_closed()


def test_an_incomplete_packet_times_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "STALL_SECONDS", 0.1)
    for half in (packet(b"OPEN", 1, 0, b"shell:echo")[:10], packet(b"OPEN", 1, 0, b"shell:echo")[:30]):
        with Peer(port) as peer:
            peer.sock.sendall(half)
            assert peer.is_closed()


def test_a_packet_that_arrives_too_slowly_is_cut_off(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PACKET_SECONDS", 0.1)
    with Peer(port) as peer:
        peer.sock.sendall(packet(b"OPEN", 1, 0, b"shell:" + b"x" * 1000)[:24])
        send_until_cut_off(peer, b"x")


def test_an_idle_peer_stays_connected(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "STALL_SECONDS", 0.05)
    with Peer(port) as peer:
        time.sleep(0.2)
        assert peer.run(b"shell:echo hi") == b"hi\n"


def test_a_peer_without_a_handshake_times_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "_GREETING_SECONDS", 0.1)
    with Peer(port, greet=False) as peer:
        assert peer.is_closed()


def test_streams_beyond_the_limit_are_refused_until_one_closes(port: int, device: FakeDevice) -> None:
    with Peer(port) as peer:
        streams = [peer.open(b"shell:sleep 5") for _ in range(adbd.MAX_STREAMS)]
        with pytest.raises(ConnectionRefusedError):
            peer.open(b"shell:echo")
        with Peer(port) as other:
            assert other.run(b"shell:echo unharmed") == b"unharmed\n"
            assert device.ended.get(timeout=SECONDS) == "echo"
        peer.send(b"CLSE", *streams[0])
        assert peer.read()[0] == b"CLSE"
        assert device.ended.get(timeout=SECONDS) == "sleep"
        wait_until(lambda: opens(peer))  # the thread of the command has only just left it


def test_running_commands_of_closed_streams_count_as_streams(port: int) -> None:
    with Peer(port) as peer:
        for _ in range(adbd.MAX_STREAMS):
            stream = peer.open(b"exec:sleep 5")
            peer.send(b"CLSE", *stream)
            assert peer.read()[0] == b"CLSE"
        with pytest.raises(ConnectionRefusedError):
            peer.open(b"shell:echo")


def test_a_flood_of_opens_is_answered_one_by_one(port: int) -> None:
    count = 5000
    with Peer(port) as peer:
        for _ in range(adbd.MAX_STREAMS):
            peer.open(b"shell:sleep 5")
        flood = b"".join(packet(b"OPEN", number, 0, b"shell:") for number in range(1000, 1000 + count))
        threading.Thread(target=peer.sock.sendall, args=(flood,), daemon=True).start()
        for number in range(1000, 1000 + count):
            assert peer.read() == (b"CLSE", 0, number, b"")


def test_a_peer_that_never_reads_is_disconnected(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "STALL_SECONDS", 0.2)
    with Peer(port) as peer:
        for number in range(1, 150):
            peer.send(b"OPEN", number, 0, b"exec:big 100000")
        send_until_cut_off(peer, packet(b"OKAY", 1, 1))


def test_a_peer_that_ignores_flow_control_is_disconnected(port: int) -> None:
    with Peer(port) as peer:
        stream = peer.open(b"shell:sleep 5")
        for _ in range(MAX_WAITING + 1):
            peer.send(b"WRTE", *stream, b"more")
        assert peer.is_closed()


def test_a_peer_with_too_much_unread_data_is_disconnected(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "_MAX_UNREAD", 100_000)
    with Peer(port) as peer:
        streams = [peer.open(b"shell:sleep 5") for _ in range(3)]
        for stream in streams:
            peer.send(b"WRTE", *stream, bytes(40_000))
        assert peer.is_closed()


def test_unread_input_is_released_when_the_command_ends(
    device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adbd, "_MAX_UNREAD", 100_000)
    with open_adbd(device) as (server, port), Peer(port) as peer:
        for _ in range(5):
            stream = peer.open(b"shell:sleep 5")
            peer.send(b"WRTE", *stream, bytes(40_000))
            peer.send(b"CLSE", *stream)
            assert peer.read()[0] == b"CLSE"
            wait_until(lambda: server._unread == 0)
        assert peer.run(b"shell:echo hi") == b"hi\n"


def test_packets_to_unknown_streams_are_ignored(port: int) -> None:
    with Peer(port) as peer:
        for kind in (b"OKAY", b"WRTE", b"CLSE"):
            peer.send(kind, 5, 77, b"x")
            peer.send(kind, 0, 0)
        peer.send(b"OPEN", 0, 0, b"shell:echo")
        peer.send(b"AUTH", 3, 0, b"key")
        peer.send(b"WHAT", 1, 2, b"?")
        stream = peer.open(b"shell:sleep 5")
        peer.send(b"CLSE", stream[0] + 1, stream[1])  # not this peer's stream
        assert peer.run(b"shell:echo hi") == b"hi\n"


def test_connections_beyond_the_limit_are_closed(device: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "MAX_CONNECTIONS", 2)
    with open_adbd(device) as (_, port):
        with Peer(port), Peer(port), Peer(port, greet=False) as third:
            assert third.is_closed()
        with accepted(port) as peer:  # the phone has yet to see that the others left
            assert peer.run(b"shell:echo hi") == b"hi\n"


def test_a_phone_without_a_free_thread_refuses(device: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbd, "MAX_WORKERS", 1)
    with open_adbd(device) as (_, port), Peer(port) as peer:
        stream = peer.open(b"shell:sleep 5")
        with pytest.raises(ConnectionRefusedError):
            peer.open(b"shell:echo")
        peer.send(b"CLSE", *stream)
        assert device.ended.get(timeout=SECONDS) == "sleep"


@pytest.mark.random
def test_any_bytes_leave_both_endpoints_working(device: FakeDevice) -> None:
    commands = st.sampled_from([b"CNXN", b"OPEN", b"OKAY", b"WRTE", b"CLSE", b"AUTH", b"STLS"])
    ids = st.integers(0, 3) | st.integers(0, 0xFFFFFFFF)
    names = st.sampled_from([b"shell:warn", b"shell,v2:cat", b"sync:", b"exec:cat", b"tcp:7"]) | st.binary(
        max_size=50
    )
    packets = st.builds(packet, commands, ids, ids, names)

    with open_adbd(device) as (_, port), open_server(device) as (_, server):

        @given(st.lists(packets | st.binary(max_size=30), max_size=10), st.booleans())
        def throw(parts: list[bytes], greet: bool) -> None:  # noqa: FBT001 - drawn by Hypothesis
            with Peer(port, greet=greet) as peer:
                peer.sock.sendall(b"".join(parts))
            with Client(server) as client:
                client.sock.sendall(b"".join(parts))

        throw()
        with Peer(port) as peer:
            assert peer.run(b"shell:echo up") == b"up\n"
        with Client(server) as client:
            client.ask(b"host:version")


@pytest.mark.parametrize(
    "data", [b"", b"00", b"zzzz", b"-001", b"+00a", b"00 1", b"\xff\xff\xff\xff", b"ffffhost:"]
)
def test_malformed_requests_are_refused_or_dropped(device: FakeDevice, data: bytes) -> None:
    with open_server(device) as (_, port):
        with Client(port) as client:
            client.sock.sendall(data)
            client.sock.shutdown(socket.SHUT_WR)
            assert client.rest()[:4] in {b"", b"FAIL"}
        with Client(port) as client:
            client.ask(b"host:version")


def test_worker_threads_are_reused_and_refuse_when_all_are_busy() -> None:
    workers = WorkerPool(2, "test")
    seen: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()
    threads = set()
    for _ in range(20):
        assert workers.submit(lambda: seen.put(threading.current_thread()))
        threads.add(seen.get(timeout=SECONDS))
        wait_until(lambda: workers._idle == len(workers._threads))
    assert len(threads) <= 2
    hold = threading.Event()

    def wait() -> None:
        hold.wait(SECONDS)

    assert workers.submit(wait)
    assert workers.submit(wait)
    assert not workers.submit(wait)
    hold.set()
    assert workers.stop(SECONDS)
    assert not workers.submit(wait)
