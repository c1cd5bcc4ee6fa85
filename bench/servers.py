"""A call of a running server, beside the same call in process. Servers need an environment with their extras."""

import http.client
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from measure import CommandFailedError, fastest

_ROUNDS = 150
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_STOP_SECONDS = 20


def measure_calls(programs: str) -> dict[str, float]:
    """Seconds of a snapshot of the running phone: over HTTP on one connection, by MCP, and by the Python API."""
    from clawperator import connect

    program = os.path.join(programs, "clawperator")
    with connect() as phone, _http_snapshot(program) as http, _mcp_snapshot(program) as mcp:
        return fastest({"http": http, "mcp": mcp, "python": phone.snapshot}, _ROUNDS)


@contextmanager
def _http_snapshot(program: str) -> Iterator[Callable[[], None]]:
    with subprocess.Popen([program, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)/; token file: (.*)", line)
        if found is None:
            raise CommandFailedError(f"{program} serve did not start: {line}{process.stderr.read()}")
        with open(found[2], encoding="ascii") as file:
            headers = {"Authorization": f"Bearer {file.read().strip()}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=_STOP_SECONDS)

        def snapshot() -> None:
            connection.request("POST", "/snapshot", b"{}", headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise CommandFailedError(f"POST /snapshot answered {answer.status}: {body.decode()}")

        try:
            yield snapshot
        finally:
            connection.close()
            process.terminate()
            process.wait(_STOP_SECONDS)


@contextmanager
def _mcp_snapshot(program: str) -> Iterator[Callable[[], None]]:
    with subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        write, read = process.stdin, process.stdout
        number = 0

        def send(method: str, params: Mapping[str, object], *, answers: bool = True) -> bytes:
            nonlocal number
            number += 1
            message = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if answers else {})}
            write.write(json.dumps(message).encode() + b"\n")
            write.flush()
            return read.readline() if answers else b""

        def snapshot() -> None:
            answer = send("tools/call", {"name": "snapshot", "arguments": {}})
            if b'"isError":true' in answer or b"snapshotId" not in answer:
                raise CommandFailedError(f"{program} mcp answered {answer[:300]!r}")

        send("initialize", _HELLO)
        send("notifications/initialized", {}, answers=False)
        try:
            yield snapshot
        finally:
            write.close()
            process.wait(_STOP_SECONDS)
