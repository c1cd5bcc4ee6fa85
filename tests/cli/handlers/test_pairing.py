"""``clawperator pair``: the code from the terminal or from stdin, in no argument and in no output."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.device import pairing
from tests.device.adb.scripted_server import Pause
from tests.device.pairing_servers import (
    ADDRESS,
    CODE,
    CONNECT,
    GUID,
    WIRELESS,
    PairingServer,
    accept,
    pairing_server,
)
from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator

BINARY = str(Path(sys.executable).with_name("clawperator"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PairingServer]:
    monkeypatch.setattr(pairing, "_FOUND_SECONDS", 0)
    with pairing_server() as started:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(started.port))
        yield started


@pytest.mark.parametrize("stdin", [CODE, f"{CODE}\n", f" {CODE} \r\nmore\n"])
def test_the_code_is_read_from_stdin(stdin: str, server: PairingServer) -> None:
    server.listed = f"{WIRELESS}\tdevice\n"
    ran = clawperator("pair", ADDRESS, stdin=stdin.encode())
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "paired": True,
        "address": ADDRESS,
        "guid": GUID,
        "deviceId": WIRELESS,
        "nextStep": f"Run 'clawperator doctor --device {WIRELESS}'.",
    }
    assert CODE.encode() not in ran.out


def test_the_device_is_connected_on_request(server: PairingServer) -> None:
    ran = clawperator("pair", ADDRESS, "--connect", CONNECT, stdin=CODE.encode())
    assert ran.json["deviceId"] == CONNECT
    assert server.requests[-1] == f"host:connect:{CONNECT}"


@pytest.mark.parametrize("stdin", [b"", b"\n", b"12:34"])
def test_without_a_code_nothing_is_sent(stdin: bytes, server: PairingServer) -> None:
    ran = clawperator("pair", ADDRESS, stdin=stdin)
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert "stdin" in ran.json["hint"]
    assert server.requests == ["host:version"]


@pytest.mark.parametrize("argv", [("phone.local",), (ADDRESS, "--connect", "here")])
def test_an_invalid_address_is_refused_before_anything_is_asked(
    argv: tuple[str, ...], server: PairingServer
) -> None:
    ran = clawperator("pair", *argv, stdin=CODE.encode())
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert server.requests == []


def test_a_code_in_the_arguments_is_refused(server: PairingServer) -> None:
    ran = clawperator("pair", ADDRESS, CODE)
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert "other users could see it" in ran.json["hint"]
    assert server.requests == []


def test_an_incomplete_command_names_its_argument() -> None:
    ran = clawperator("pair")
    assert (ran.code, ran.json["message"]) == (1, "pair needs <host:port>")


def test_a_wrong_code_is_not_repeated(server: PairingServer) -> None:
    ran = clawperator("pair", ADDRESS, "--verbose", stdin=b"000000")
    assert (ran.code, ran.json["code"]) == (1, "PAIRING_FAILED")
    assert "000000" not in ran.out.decode() + ran.err
    assert any("000000" in request for request in server.requests)


def test_the_time_limit_holds_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with pairing_server(lambda *_: Pause()) as server:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
        ran = clawperator("pair", ADDRESS, "--timeout", "100", stdin=CODE.encode())
    assert (ran.code, ran.json["code"]) == (1, "PAIRING_FAILED")


def test_on_a_terminal_the_code_is_asked_for_and_no_process_has_it_in_its_arguments() -> None:
    seen: list[bytes] = []

    def watched(code: str, address: str) -> bytes | Pause:
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.append(entry.read_bytes())
            except OSError:
                continue
        return accept(code, address)

    with pairing_server(watched) as server:
        server.listed = f"{WIRELESS}\tdevice\n"
        ours, theirs = pty.openpty()
        environment = {**os.environ, "ANDROID_ADB_SERVER_PORT": str(server.port)}
        child = subprocess.Popen(
            [BINARY, "pair", ADDRESS], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment
        )
        os.close(theirs)
        try:
            assert read_until(ours, "Pairing code: ")
            assert server.requests == ["host:version"], "nothing is sent before the code is typed"
            os.write(ours, f"{CODE}\n".encode())
            out, _ = child.communicate(timeout=HANG_SECONDS)
        finally:
            child.kill()
            child.wait()
            os.close(ours)
    assert child.returncode == 0
    assert b'"paired":true' in out
    assert f"host:pair:{CODE}:{ADDRESS}" in server.requests
    assert not [line for line in seen if CODE.encode() in line]


def read_until(terminal: int, text: str) -> bool:
    """Whether a terminal receives this text."""
    received = b""
    until = time.monotonic() + HANG_SECONDS
    while time.monotonic() < until and text.encode() not in received:
        if select.select([terminal], [], [], 1)[0]:
            received += os.read(terminal, 4_096)
    return text.encode() in received
