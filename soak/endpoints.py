"""Endpoints of a simulated phone: mutated conversations with adbd, the adb server and the control channel.

A conversation may end in any way, but the phone must answer the next client, log no traceback, and touch no file
outside its folder.
"""

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from clawperator.phone.process.server import HOST, PhoneServer, PhoneServerConfig
from soak.mutate import mutated
from soak.runner import Run, require
from tests.phone.adb.peer import NEW, OLD, packet

_CANARY = b"do not touch"
_SETTLE_SECONDS = 30.0
_MOST_THREADS = 200
_QUIET_SECONDS = 0.02
_ANSWER_SECONDS = 30.0
_BLOCK = 65_536


def _request(text: bytes) -> bytes:
    return b"%04x%s" % (len(text), text)


def _sync(kind: bytes, data: bytes) -> bytes:
    return struct.pack("<4sI", kind, len(data)) + data


_TRANSPORT = _request(b"host:transport:claw-1")
_SERVER = [
    *(_request(b"host:" + name) for name in (b"version", b"devices-l", b"track-devices", b"features", b"kill-x")),
    *(_TRANSPORT + _request(service) for service in (b"shell:echo hi", b"shell,v2,raw:ls /sdcard", b"exec:id")),
    _TRANSPORT + _request(b"sync:") + _sync(b"STA2", b"/sdcard/../../x") + _sync(b"LIST", b"/sdcard"),
    _TRANSPORT
    + _request(b"sync:")
    + _sync(b"SEND", b"/sdcard/a,33188")
    + _sync(b"DATA", b"hello")
    + _sync(b"DONE", b""),
    _TRANSPORT + _request(b"sync:") + _sync(b"RECV", b"/sdcard/a") + _sync(b"QUIT", b""),
    _request(b"host-serial:claw-1:forward:tcp:0;tcp:7"),
]
_HELLO = packet(b"CNXN", NEW, 1 << 20, b"host::features=shell_v2,cmd")
_ADBD = [
    _HELLO + packet(b"OPEN", 1, 0, b"shell:echo hi\0") + packet(b"OKAY", 1, 1) + packet(b"CLSE", 1, 1),
    _HELLO + packet(b"OPEN", 1, 0, b"shell,v2,raw:cat\0") + packet(b"WRTE", 1, 1, b"\0\5\0\0\0hello"),
    packet(b"CNXN", OLD, 4096, b"host::")
    + packet(b"OPEN", 7, 0, b"sync:\0")
    + packet(b"WRTE", 7, 1, _sync(b"LIST", b"/")),
    packet(b"STLS", 1, 0) + packet(b"AUTH", 1, 0, b"x" * 20),
]


def _control(token: str) -> list[bytes]:
    requests = (
        {"token": token, "command": "status"},
        {"token": token, "command": "fault", "arguments": {"name": "latency", "setting": "off"}},
        {"token": token, "command": "screenshot"},
        {"token": "another", "command": "status"},
    )
    return [json.dumps(request).encode() + b"\n" for request in requests]


def run_endpoints(run: Run) -> None:
    with _served_phone(run) as server:
        doors = (
            ("adb server", server.server_port, _SERVER),
            ("adbd", server.adbd_port, _ADBD),
            ("control", server.control_port, _control(server.token)),
        )
        while run.goes_on():
            name, port, seeds = run.random.choice(doors)
            sent = mutated(run.random, run.random.choice(seeds), seeds)
            if b'"stop"' not in sent:
                run.check(name, sent, lambda data, port=port: _talk(port, data))  # type: ignore[misc]
            if run.inputs % 100 == 0:
                run.check("health", b"", lambda _: _is_healthy(run.folder, server))


@contextmanager
def _served_phone(run: Run) -> Iterator[PhoneServer]:
    (run.folder / "canary").write_bytes(_CANARY)
    failures: list[str] = []

    def failed(args: threading.ExceptHookArgs) -> None:
        failures.append(f"{args.exc_type.__name__}: {args.exc_value}")
        run.report("thread", f"a thread of the phone failed with {args.exc_type.__name__}", failures[-1], b"")

    with patch.object(threading, "excepthook", failed):
        server = PhoneServer(PhoneServerConfig(serial="claw-1", folder=str(run.folder / "phone" / "files")))
        server.open()
        try:
            yield server
        finally:
            server.close()


def _talk(port: int, sent: bytes) -> None:
    """Send everything and read until the phone sends nothing more."""
    with socket.create_connection((HOST, port), _ANSWER_SECONDS) as connection:
        with suppress(OSError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        connection.settimeout(_QUIET_SECONDS)
        with suppress(OSError):
            for _ in range(100):
                if not connection.recv(_BLOCK):
                    return


def _is_healthy(folder: Path, server: PhoneServer) -> None:
    with socket.create_connection((HOST, server.server_port), _ANSWER_SECONDS) as connection:
        connection.settimeout(_ANSWER_SECONDS)
        connection.sendall(_request(b"host:version"))
        require(connection.recv(4) == b"OKAY", "the phone answers the next client")
    require((folder / "canary").read_bytes() == _CANARY, "files outside the phone are not touched")
    require(sorted(os.listdir(folder)) == ["canary", "phone"], "no file appears outside the phone")
    end = time.monotonic() + _SETTLE_SECONDS  # on a busy machine the threads of closed connections end late
    while threading.active_count() >= _MOST_THREADS and time.monotonic() < end:
        time.sleep(0.05)
    require(threading.active_count() < _MOST_THREADS, "threads do not pile up")
