"""An HTTP server in a thread of the test, and a small client for it."""

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec import Struct

from clawperator.agent.turns.assembly import AgentOptions
from clawperator.serve.access import open_access
from clawperator.serve.http.app import MountedApp
from clawperator.serve.http.server import HttpServer, ServeOptions
from clawperator.serve.http.sse import EventLimits


class Reply(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        assert self.document["ok"] is False
        code: str = self.document["error"]["code"]
        return code


class Client:
    """Sends requests with the token, each over a connection of its own."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        data: bytes = b"",
    ) -> Reply:
        """Send a request. ``body`` is JSON, ``data`` are bytes; a header that is empty is left out."""
        content = data if body is None else json.dumps(body).encode()
        all_headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **(headers or {}),
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host="Host" in all_headers)
            for name, value in all_headers.items():
                if value:
                    connection.putheader(name, value)
            if content or method == "POST":
                connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Reply:
        return self.send("GET", path)

    def post(self, path: str, body: Any = None) -> Reply:
        return self.send("POST", path, {} if body is None else body)

    def events_head(self, last_id: str = "") -> bytes:
        """The request for events."""
        last = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        where = f"Host: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
        return f"GET /events HTTP/1.1\r\n{where}{last}\r\n".encode()

    @contextmanager
    def events(self, last_id: str = "") -> Iterator["EventReader"]:
        """The stream of events, after its first heartbeat."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(self.events_head(last_id))
            with connection.makefile("rb") as stream:
                reader = EventReader(cast("BinaryIO", stream), connection)
                reader.read_head()
                first = reader.next()
                assert (first.event, first.document["code"]) == ("heartbeat", "CONNECTED")
                yield reader


class ServerEvent(Struct, frozen=True):
    event: str
    id: str
    data: str

    @property
    def document(self) -> Any:
        return json.loads(self.data)


class EventReader:
    def __init__(self, stream: BinaryIO, connection: socket.socket) -> None:
        self._stream = stream
        self._left = b""
        self.connection = connection

    def read_head(self) -> None:
        status = self._stream.readline()
        assert b" 200 " in status, status
        while self._stream.readline().strip():
            pass

    def next(self) -> ServerEvent:
        """The next event; EOFError at the end of the stream."""
        fields: dict[str, str] = {}
        while True:
            line = self._line()
            if not line:
                if fields:
                    return ServerEvent(fields.get("event", ""), fields.get("id", ""), fields.get("data", ""))
                continue
            name, _, value = line.partition(": ")
            fields[name] = value

    def _line(self) -> str:
        while b"\n" not in self._left:
            size = self._stream.readline().strip()
            if not size or int(size, 16) == 0:
                raise EOFError
            self._left += self._stream.read(int(size, 16))
            self._stream.readline()
        line, _, self._left = self._left.partition(b"\n")
        return line.decode()


class RunningServer(Struct, frozen=True):
    server: HttpServer
    client: Client
    folder: Path


@contextmanager
def running_server(
    folder: Path,
    *,
    mounts: tuple[MountedApp, ...] = (),
    limits: EventLimits | None = None,
    grace_seconds: float = 1.0,
    **options: Any,
) -> Iterator[RunningServer]:
    """A server for this folder, stopped at the end. ``options`` are those of the agent: mode, deny_tools, ..."""
    access = open_access(AgentOptions(folder=str(folder), include_mcp=False, **options))
    server = HttpServer(access, ServeOptions(port=0, grace_seconds=grace_seconds), mounts=mounts, limits=limits)
    started = threading.Event()
    thread = threading.Thread(target=server.run, args=(started.set,), daemon=True)
    thread.start()
    try:
        assert started.wait(30)
        token = Path(server.token_file).read_text().strip()
        yield RunningServer(server, Client(server.address.port, token), folder)
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def serve_process(folder: Path, *flags: str) -> Iterator[tuple["subprocess.Popen[str]", Client]]:
    """``clawperator serve`` in this folder, killed at the end, and a client of it."""
    command = [sys.executable, "-P", "-m", "clawperator", "serve", "--port", "0", *flags]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"clawperator: listening on http://127\.0\.0\.1:(\d+)/; token file: (.*)\n", line)
        assert found, line + process.stderr.read()
        yield process, Client(int(found[1]), Path(found[2]).read_text().strip())
    finally:
        process.kill()
        process.communicate()
