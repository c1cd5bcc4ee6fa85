"""Speed and memory of the simulated phone, and the cost of a shell command through each of its ports."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from struct import Struct
from typing import Self

from clawperator.policy.gate import approve
from clawperator.testing import SimulatedPhone, simulated_phone
from measure import fastest

_ROUNDS = 15
_CYCLES = 50
_SHELL_ROUNDS = 30
_SHELL_CALLS = 20
PHONES = 100
MANY_PHONES = 1_000
_HEADER = Struct("<6I")
_SETTINGS = "com.android.settings"
_SWITCH = "Dark theme"
_CLICK_ROUNDS = 30

_PROGRAMS = os.path.join(os.path.dirname(__file__), "many_phones.py")


def measure_growth(rounds: int = 3) -> dict[str, float]:
    """CPU time of a start and of a warm click with a thousand phones in the process, relative to a hundred."""
    runs = []
    for _ in range(rounds):
        lines = _run("grow", PHONES, MANY_PHONES).splitlines()
        runs.append([[float(word) for word in line.split()] for line in lines])
    few, many = ([min(run[at][what] for run in runs) for what in range(2)] for at in range(2))
    return {"a start": many[0] / few[0], "a click": many[1] / few[1]}


def measure_cycles() -> float:
    """Snapshots with a click per second on a page of Settings, each pair in its own execution."""
    with simulated_phone() as phone:
        phone.open_app(_SETTINGS)

        def cycles() -> None:
            for label in ("Display", "Navigate up") * (_CYCLES // 2):
                _cycle(phone, label)

        return _CYCLES / fastest({"cycles": cycles}, _ROUNDS)["cycles"]


def _cycle(phone: SimulatedPhone, label: str) -> None:
    done = phone.run([{"type": "snapshot_ui"}, {"type": "click", "params": {"matcher": {"textEquals": label}}}])
    if done.status != "success":
        raise RuntimeError(done.error)


def measure_trip() -> float:
    """Seconds from a validated snapshot to its result, on the running simulated phone."""
    from clawperator.contract.execution import single_action, validate
    from clawperator.contract.wire import OPERATOR_PACKAGE
    from clawperator.device.discovery import resolve_device
    from clawperator.device.run.run import run_plan

    device = resolve_device(None)

    def trip() -> None:
        done = run_plan(approve(validate(single_action("snapshot_ui"))), device, package=OPERATOR_PACKAGE)
        assert done.envelope.status == "success"

    return fastest({"trip": trip}, _SHELL_ROUNDS)["trip"]


def measure_clicks() -> dict[str, float]:
    """Seconds of a click by text and of one by reference, on a switch of the running simulated phone."""
    from clawperator import connect

    with connect() as phone:
        phone.open_app(_SETTINGS)
        phone.click("Display")
        phone.wait(_SWITCH)
        (switch,) = phone.query(_SWITCH)
        return fastest(
            {"text": lambda: phone.click(_SWITCH), "ref": lambda: phone.click(ref=switch["ref"])}, _CLICK_ROUNDS
        )


def measure_weight() -> int:
    """Bytes per phone in a process with a hundred of them, each with an open app."""
    return int(_run("weigh", PHONES))


def _run(program: str, *numbers: int) -> str:
    command = [sys.executable, _PROGRAMS, program, *map(str, numbers)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def measure_ports() -> dict[str, float]:
    """Seconds for ``shell:true`` through the adbd port, the server port, and in process."""
    from clawperator.engine.clock import SystemClock

    with (
        simulated_phone(clock=SystemClock()) as phone,
        phone.serve() as ports,
        _Transport(ports.adbd_port) as transport,
    ):
        contenders: dict[str, Callable[[], object]] = {
            "direct": lambda: phone.shell("true"),
            "adbd": lambda: transport.shell("true"),
            "server": lambda: _server_shell(ports.server_port, "true"),
        }
        calls = {name: _repeated(call) for name, call in contenders.items()}
        best = fastest(calls, _SHELL_ROUNDS)
    return {name: seconds / _SHELL_CALLS for name, seconds in best.items()}


def _repeated(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(_SHELL_CALLS):
            call()

    return run


class _Transport:
    """A minimal client of the adbd protocol."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._number = 0
        self._send(b"CNXN", 0x01000001, 1 << 20, b"host::features=shell_v2,cmd")
        assert self._receive()[0] == b"CNXN"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()
        self._socket.close()

    def shell(self, command: str) -> bytes:
        self._number += 1
        self._send(b"OPEN", self._number, 0, f"shell,v2,raw:{command}\0".encode())
        output = b""
        while True:
            kind, remote, local, data = self._receive()
            assert local == self._number
            if kind == b"WRTE":
                output += data
                self._send(b"OKAY", self._number, remote)
            elif kind == b"CLSE":
                self._send(b"CLSE", self._number, remote)
                return output

    def _send(self, kind: bytes, first: int, second: int, data: bytes = b"") -> None:
        command = int.from_bytes(kind, "little")
        header = _HEADER.pack(command, first, second, len(data), sum(data) & 0xFFFFFFFF, command ^ 0xFFFFFFFF)
        self._socket.sendall(header + data)

    def _receive(self) -> tuple[bytes, int, int, bytes]:
        command, first, second, size, _, _ = _HEADER.unpack(self._stream.read(_HEADER.size))
        return command.to_bytes(4, "little"), first, second, self._stream.read(size) if size else b""


def _server_shell(port: int, command: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 10) as connection, connection.makefile("rb") as stream:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request in ("host:transport-any", f"shell,v2,raw:{command}"):
            connection.sendall(f"{len(request):04x}{request}".encode())
            assert stream.read(4) == b"OKAY"
        return stream.read()
