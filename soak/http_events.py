"""The HTTP server under load: events for many clients while several phones run executions, and idle clients.

The server and the phones are processes of their own, so that the memory of the server can be measured.
"""

import os
import re
import selectors
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from clawperator import start_phone
from clawperator.errors import ClawError
from soak.runner import OracleError, Run, require
from tests.support.http_client import Client, serve_process

MOST_GROWTH_BYTES = 30_000_000
_ID = re.compile(rb"^id: \w+-(\d+)$", re.MULTILINE)
_CONNECTED = b'"code":"CONNECTED"'
_WAIT_SECONDS = 60.0
_HOME = {"id": "home", "type": "press_key", "params": {"key": "home"}}


class Load(Struct, frozen=True):
    """The clients and phones of one round, and how many seconds each half of it takes."""

    readers: int = 50
    phones: int = 8
    idle: int = 200
    seconds: float = 60.0


_SMALL = Load(readers=4, phones=2, idle=10, seconds=1.0)


def run_events(run: Run) -> None:
    """Rounds of two minutes; with a limit of inputs, short rounds with few clients."""
    load = Load() if run.most is None else _SMALL
    while run.goes_on():
        folder = run.folder / str(run.inputs)
        folder.mkdir()
        run.inputs += 1
        try:
            run.notes += run_round(folder, load)
        except (OracleError, ClawError, OSError) as e:  # a round takes longer than an input of other campaigns
            run.report("events", type(e).__name__, str(e), repr(load).encode())


def run_round(folder: Path, load: Load) -> list[str]:
    """One round; what was measured."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, CLAWPERATOR_HOME=str(folder / "home")))
        serials = [stack.enter_context(start_phone(f"soak-{number}")).serial for number in range(load.phones)]
        process, client = stack.enter_context(serve_process(folder))
        measured = [
            _read_events(client, serials, load.readers, load.seconds),
            _stay_idle(client, process.pid, load.idle, load.seconds),
        ]
        process.terminate()
        require(process.wait(_WAIT_SECONDS) == 0, f"the server ended with exit code {process.returncode}")
        return measured


class _Readers:
    """Clients that read events in one thread, and keep the numbers of the ids that they got."""

    def __init__(self, client: Client, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self.connected = 0
        self.numbers: list[list[int]] = [[] for _ in range(count)]
        self._left = [b""] * count
        self._ended = threading.Event()
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", client.port), _WAIT_SECONDS)
            connection.sendall(client.events_head())
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, number)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                self._take(key.data, key.fileobj.recv(1 << 20))

    def _take(self, number: int, data: bytes) -> None:
        whole, end, left = (self._left[number] + data).rpartition(b"\n")
        self._left[number] = left
        self.connected += whole.count(_CONNECTED)
        self.numbers[number] += (int(found) for found in _ID.findall(whole + end))

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()


def _read_events(client: Client, serials: list[str], count: int, seconds: float) -> str:
    """Every reader gets every event, once and in order."""
    readers = _Readers(client, count)
    try:
        _wait(lambda: readers.connected == count, "not all clients were connected")
        ends = time.monotonic() + seconds
        executed = [0] * len(serials)
        failures: list[Any] = []

        def drive(place: int, serial: str) -> None:
            while time.monotonic() < ends:
                name = f"{serial}-{executed[place]}"
                reply = client.post("/execute", {"deviceId": serial, "execution": _execution(name)})
                executed[place] += 1
                if reply.status != 200:
                    failures.append(reply)

        threads = [threading.Thread(target=drive, args=pair) for pair in enumerate(serials)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        require(not failures, f"executions failed: {failures[:1]}")
        events = 2 * sum(executed)
        wanted = list(range(1, events + 1))
        _wait(lambda: all(len(got) >= events for got in readers.numbers), "events were lost")
        require(all(got == wanted for got in readers.numbers), "events came twice or out of order")
        return f"{events} events to each of {count} clients, {len(serials)} phones"
    finally:
        readers.close()


def _stay_idle(client: Client, pid: int, count: int, seconds: float) -> str:
    """Idle clients cost little memory, and the server answers others."""
    before = _memory(pid)
    readers = _Readers(client, count)
    try:
        _wait(lambda: readers.connected == count, "not all idle clients were connected")
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            require(client.get("/health").status == 200, "the server does not answer")
            time.sleep(0.2)
        growth = _memory(pid) - before
    finally:
        readers.close()
    require(growth <= MOST_GROWTH_BYTES, f"{count} idle clients took {growth} bytes")
    return f"{count} idle clients: {growth / 1e6:.1f} MB"


def _execution(name: str) -> dict[str, Any]:
    fixed = {"source": "soak", "expectedFormat": "android-ui-automator", "timeoutMs": 20_000}
    return {"commandId": name, "taskId": name, **fixed, "actions": [_HOME]}


def _memory(pid: int) -> int:
    """The resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} has no memory")


def _wait(condition: Any, problem: str) -> None:
    ends = time.monotonic() + _WAIT_SECONDS
    while not condition():
        require(time.monotonic() < ends, problem)
        time.sleep(0.05)
