"""A call of a running server, beside the same call in process. Servers need an environment with their extras."""

import http.client
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from measure import CommandFailedError, fastest

_ROUNDS = 150
_STOP_SECONDS = 20


def measure_http(programs: str) -> dict[str, float]:
    """Seconds of a snapshot of the running phone: over HTTP on one connection, and by the Python API."""
    from clawperator import connect

    with connect() as phone, _http_snapshot(os.path.join(programs, "clawperator")) as snapshot:
        return fastest({"http": snapshot, "python": phone.snapshot}, _ROUNDS)


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
