"""The transport protocol, over raw sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.phone.adb import adbd, streams
from clawperator.phone.adb.adbd import AdbdServer
from tests.phone.adb.peer import NEW, OLD, SECONDS, FakeDevice, Peer, open_adbd, shell_packets


@pytest.fixture
def device(tmp_path: Path) -> FakeDevice:
    return FakeDevice(str(tmp_path / "phone"))


@pytest.fixture
def port(device: FakeDevice) -> Iterator[int]:
    with open_adbd(device) as (_, port):
        yield port


@pytest.fixture
def peer(port: int) -> Iterator[Peer]:
    with Peer(port) as peer:
        yield peer


def test_the_banner_holds_the_properties_and_the_served_features(peer: Peer) -> None:
    assert peer.banner.startswith(b"device::ro.product.name=fake;")
    features = peer.banner.partition(b"features=")[2].split(b",")
    assert set(features) == {
        b"shell_v2",
        b"cmd",
        b"stat_v2",
        b"ls_v2",
        b"fixed_push_mkdir",
        b"abb_exec",
        b"sendrecv_v2",
    }
    assert (peer.their_version, peer.their_maxdata) == (NEW, 1 << 20)


def test_a_shell_without_packets_merges_its_output(peer: Peer) -> None:
    assert peer.run(b"shell:warn") == b"out\nerr\n"


@pytest.mark.parametrize(
    "name", [b"shell,v2,raw:warn", b"shell,v2,TERM=xterm-256color,raw:warn", b"shell,v2:warn"]
)
def test_a_shell_with_packets_separates_its_streams_and_returns_the_exit_code(peer: Peer, name: bytes) -> None:
    assert shell_packets(peer.run(name)) == [(1, b"out\n"), (2, b"err\n"), (3, b"\x03")]


def test_a_shell_with_a_terminal_merges_its_streams(peer: Peer) -> None:
    output = shell_packets(peer.run(b"shell,v2,TERM=xterm-256color,pty:warn"))
    assert output == [(1, b"out\r\n"), (1, b"err\r\n"), (3, b"\x03")]


def test_a_terminal_echoes_keys_and_runs_lines(peer: Peer) -> None:
    stream = peer.open(b"shell,v2,TERM=xterm,pty:")
    peer.send(b"WRTE", *stream, b"\0\x05\0\0\0lx\x7fs\r" + b"\0\x01\0\0\0\x04")
    output = shell_packets(peer.read_all(stream))
    assert b"".join(text for kind, text in output if kind == 1) == b"lx\b \bs\r\nran ls\r\n"
    assert output[-1] == (3, b"\0")


def test_an_exit_code_is_one_byte(peer: Peer) -> None:
    assert shell_packets(peer.run(b"shell,v2,raw:exit 258")) == [(3, b"\x02")]


def test_input_arrives_until_it_is_closed(peer: Peer) -> None:
    stream = peer.open(b"shell,v2,raw:cat")
    # A window size is nothing to a command; a packet may be torn anywhere.
    peer.write(stream, b"\x05\x04\0\0\0abcd\0\x05\0\0")
    peer.write(stream, b"\0hel")
    peer.send(b"WRTE", *stream, b"lo\x04\0\0\0\0")
    assert shell_packets(peer.read_all(stream))[-1] == (3, b"\0")


def test_cat_echoes_its_input(peer: Peer) -> None:
    stream = peer.open(b"exec:cat")
    peer.send(b"WRTE", *stream, b"a" * 900)
    assert {peer.read()[0], peer.read()[0]} == {b"OKAY", b"WRTE"}


def test_an_empty_command_is_a_shell_that_reads_lines(peer: Peer) -> None:
    stream = peer.open(b"shell:")
    peer.send(b"WRTE", *stream, b"ls\n")
    output = [peer.read(), peer.read()]
    assert {packet[0] for packet in output} == {b"OKAY", b"WRTE"}
    assert b"ran ls\n" in {packet[3] for packet in output}


def test_output_of_a_running_command_arrives_at_once(peer: Peer) -> None:
    stream = peer.open(b"shell:greet")
    began = time.monotonic()
    assert peer.read() == (b"WRTE", stream[1], stream[0], b"hello\n")
    assert time.monotonic() - began < SECONDS


def test_a_silent_command_is_accepted_at_once(peer: Peer) -> None:
    began = time.monotonic()
    peer.open(b"shell:sleep 5")
    assert time.monotonic() - began < SECONDS


def test_closing_a_shell_ends_its_command_and_is_answered(peer: Peer, device: FakeDevice) -> None:
    stream = peer.open(b"shell:sleep 5")
    peer.send(b"CLSE", *stream)
    assert peer.read() == (b"CLSE", stream[1], stream[0], b"")
    assert device.ended.get(timeout=SECONDS) == "sleep"


def test_closing_exec_ends_the_input_but_not_the_command(peer: Peer, device: FakeDevice) -> None:
    stream = peer.open(b"exec:keep /sdcard/kept")
    peer.send(b"WRTE", *stream, b"x" * 100_000)
    peer.send(b"CLSE", *stream)
    assert device.ended.get(timeout=SECONDS) == "keep"
    assert device.storage.read("/sdcard/kept") == b"x" * 100_000


def test_packets_sent_without_waiting_before_a_close_still_arrive(peer: Peer, device: FakeDevice) -> None:
    """As adb does when its client hangs up: the rest goes out with no regard for acknowledgements."""
    stream = peer.open(b"exec:keep /sdcard/kept")
    for letter in b"abcd":
        peer.send(b"WRTE", *stream, bytes([letter]) * 1000)
    peer.send(b"CLSE", *stream)
    assert device.ended.get(timeout=SECONDS) == "keep"
    assert device.storage.read("/sdcard/kept") == b"".join(bytes([letter]) * 1000 for letter in b"abcd")


def test_exec_without_a_peer_is_abandoned_after_a_while(
    port: int, device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adbd, "GRACE_SECONDS", 0.1)
    with Peer(port) as peer:
        peer.open(b"exec:sleep 5")
    assert device.ended.get(timeout=SECONDS) == "sleep"


def test_a_lost_connection_ends_its_commands(port: int, device: FakeDevice) -> None:
    with Peer(port) as peer:
        peer.open(b"shell:sleep 5")
    assert device.ended.get(timeout=SECONDS) == "sleep"


def test_a_streamed_install_reads_exactly_its_size(peer: Peer) -> None:
    stream = peer.open(b"exec:take 300000")
    peer.write(stream, bytes(100_000))
    peer.write(stream, bytes(100_000))
    peer.send(b"WRTE", *stream, bytes(100_000))
    assert peer.read_all(stream) == b"Success\n"


def test_arguments_of_abb_arrive_quoted(peer: Peer) -> None:
    assert peer.run(b"abb_exec:package\0install\0a b\0it's") == b"package install 'a b' 'it'\"'\"'s'\n"


@pytest.mark.parametrize(
    "name",
    [
        b"", b":", b"nonsense", b"jdwp:1", b"track-jdwp", b"framebuffer:", b"reboot:", b"reboot:bootloader",
        b"tcp:8", b"tcp:9", b"tcp:", b"tcp:0", b"tcp:99999", b"tcp:7:example.com", b"localabstract:nobody", b"localfilesystem:",
        b"dev:/dev/null", b"\xff\xfe\0\0", b"x" * 100_000,
    ],
)  # fmt: skip
def test_unknown_services_are_refused(peer: Peer, name: bytes) -> None:
    with pytest.raises(ConnectionRefusedError):
        peer.open(name)
    assert peer.run(b"shell:echo still here") == b"still here\n"


@pytest.mark.parametrize("name", [b"root:", b"unroot:", b"remount:"])
def test_root_is_refused_as_on_a_production_build(peer: Peer, name: bytes) -> None:
    assert b"root" in peer.run(name)


def test_reverse_connections_are_refused_with_a_reason(peer: Peer) -> None:
    output = peer.run(b"reverse:forward:tcp:1;tcp:2")
    assert output[:4] == b"FAIL"
    assert int(output[4:8], 16) == len(output[8:])
    assert peer.run(b"reverse:list-forward") == b"0000"
    assert peer.run(b"reverse:killforward-all") == b"OKAY"


@pytest.mark.parametrize("name", [b"tcp:7", b"localabstract:echo", b"localfilesystem:/data/local/tmp/echo"])
def test_a_socket_on_the_phone_copies_bytes_both_ways(peer: Peer, name: bytes) -> None:
    stream = peer.open(name)
    peer.send(b"WRTE", *stream, b"ping")
    output = [peer.read(), peer.read()]
    assert sorted(packet[0] for packet in output) == [b"OKAY", b"WRTE"]
    assert b"ping" in {packet[3] for packet in output}
    peer.send(b"OKAY", *stream)
    peer.send(b"CLSE", *stream)
    assert peer.read()[0] == b"CLSE"


def test_only_one_packet_waits_for_its_acknowledgement(peer: Peer) -> None:
    stream = peer.open(b"shell:flood")
    assert peer.read()[0] == b"WRTE"
    peer.sock.settimeout(0.1)
    with pytest.raises(TimeoutError):
        peer.read()
    peer.sock.settimeout(SECONDS)
    peer.send(b"OKAY", *stream)
    assert peer.read()[0] == b"WRTE"


def test_large_output_arrives_whole(peer: Peer) -> None:
    assert len(peer.run(b"exec:big 3000000")) == 3_000_000


def test_an_old_peer_gets_and_gives_checksums_and_small_packets(port: int) -> None:
    with Peer(port, version=OLD, maxdata=4096) as peer:
        assert peer.their_maxdata == 256 * 1024
        assert len(peer.run(b"exec:big 20000")) == 20_000
        stream = peer.open(b"exec:cat")
        peer.send(b"WRTE", *stream, b"damaged", check=1)
        assert peer.is_closed()


def test_streams_do_not_mix(peer: Peer) -> None:
    first, second = peer.open(b"exec:cat"), peer.open(b"exec:cat")
    peer.send(b"WRTE", *first, b"one")
    peer.send(b"WRTE", *second, b"two")
    received = {}
    for kind, theirs, ours, payload in (peer.read() for _ in range(4)):
        if kind == b"WRTE":
            received[ours, theirs] = payload
    assert received == {first: b"one", second: b"two"}


def test_a_bug_in_a_command_ends_its_stream_only(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    assert peer.run(b"shell,v2,raw:boom") == b""  # no exit packet: the peer must report a failure
    assert peer.run(b"shell:echo next") == b"next\n"
    assert "A service failed" in caplog.text


def test_a_slow_service_does_not_delay_others(peer: Peer, device: FakeDevice) -> None:
    device.go_on.clear()
    peer.send(b"OPEN", 1, 0, b"shell:echo slow")
    assert device.delayed.wait(SECONDS)
    waiting, device.go_on = device.go_on, threading.Event()
    device.go_on.set()
    assert peer.run(b"shell:echo quick") == b"quick\n"
    waiting.set()
    assert peer.read()[:3:2] == (b"OKAY", 1)


def test_an_unauthorized_device_keeps_asking_for_keys(port: int, device: FakeDevice) -> None:
    device.now = "unauthorized"
    with Peer(port, greet=False) as peer:
        peer.send(b"CNXN", NEW, 1 << 20, b"host::")
        for _ in range(3):
            kind, what, _, token = peer.read()
            assert (kind, what, len(token)) == (b"AUTH", 1, 20)
            peer.send(b"AUTH", 2, 0, bytes(256))
        peer.read()
        device.now = "device"
        peer.send(b"AUTH", 3, 0, b"key")
        assert peer.read()[0] == b"CNXN"


def test_an_offline_phone_does_not_answer(port: int, device: FakeDevice) -> None:
    with Peer(port) as peer:
        device.now = "offline"
        peer.send(b"OPEN", 1, 0, b"shell:echo")
        assert peer.is_closed()
    with Peer(port, greet=False) as peer:
        peer.send(b"CNXN", NEW, 1 << 20, b"host::")
        assert peer.is_closed()


def test_connections_can_be_made_after_disconnect(device: FakeDevice) -> None:
    with open_adbd(device) as (server, port), Peer(port) as peer:
        server.disconnect()
        assert peer.is_closed()
        with Peer(port) as other:
            assert other.run(b"shell:echo back") == b"back\n"


def test_stopping_ends_all_services_and_leaves_no_thread(device: FakeDevice) -> None:
    before = set(threading.enumerate())
    with open_adbd(device) as (_, port):
        peers = [Peer(port) for _ in range(5)]
        for peer in peers:
            peer.open(b"shell:sleep 5")
            peer.open(b"exec:sleep 5")
            peer.open(b"sync:")
            peer.open(b"tcp:7")
            peer.open(b"shell:flood")
        began = time.monotonic()
    assert time.monotonic() - began < SECONDS
    assert set(threading.enumerate()) == before
    for peer in peers:
        peer.sock.close()


def test_a_port_that_is_taken_is_an_error(device: FakeDevice) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError):
        AdbdServer(device).start(port=taken.getsockname()[1])


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.1", "127.example.com", "::"])
def test_only_loopback_addresses_can_be_bound(device: FakeDevice, host: str) -> None:
    with pytest.raises(OSError, match="loopback"):
        AdbdServer(device).start(host)


def test_a_reader_that_stops_reading_is_disconnected(
    peer: Peer, device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawperator.phone.adb.adbd.READER_SECONDS", 0.1)
    assert streams.READER_SECONDS > 60
    peer.open(b"exec:flood")
    assert device.ended.get(timeout=SECONDS) == "flood"
