"""A model service on loopback that sends scripted replies and records its requests."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.models.http import ModelTimeouts
from clawperator.agent.ports import Answer, Brain, BrainRequest, Tool, ToolCall, ToolResult
from clawperator.errors import ClawError
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS

QUICK = ModelTimeouts(connect=2, idle=0.3, reply=5, pauses=(0.01, 0.01))


class Scripted(Struct, frozen=True):
    """One reply: its pieces are sent one by one. ``end`` is how it ends: in order, cut off, or not at all."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = {}
    end: Literal["close", "cut", "stall"] = "close"
    raw: bytes = b""  # instead of all the rest, HTTP or not


class Received(Struct, frozen=True):
    path: str
    headers: Mapping[str, str]
    body: Any


class ModelServer:
    def __init__(self, replies: tuple[Scripted, ...]) -> None:
        self._replies = replies
        self.received: list[Received] = []
        self.released = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[Any]:
        return [received.body for received in self.received]

    def next(self, received: Received) -> Scripted:
        """The reply to a request; the last one for all that come after it."""
        self.received.append(received)
        return self._replies[min(len(self.received), len(self._replies)) - 1]


@contextmanager
def model_server(*replies: Scripted) -> Iterator[ModelServer]:
    script = ModelServer(replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = script.next(Received(self.path, headers, json.loads(body)))
            with suppress(OSError):
                self._answer(reply)

        def _answer(self, reply: Scripted) -> None:
            if reply.raw:
                self.wfile.write(reply.raw)
                return
            self.send_response(reply.status)
            for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in reply.pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if reply.end == "stall":
                script.released.wait(NEVER_SECONDS)
            if reply.end == "close":
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield script
    finally:
        script.released.set()
        server.shutdown()
        server.server_close()
        thread.join(HANG_SECONDS)


def events(*documents: Any) -> bytes:
    """Documents as server-sent events. A text is sent as it is."""
    texts = (document if isinstance(document, str) else json.dumps(document) for document in documents)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def bytewise(data: bytes, size: int = 1) -> tuple[bytes, ...]:
    return tuple(data[at : at + size] for at in range(0, len(data), size))


def tool(name: str, schema: dict[str, Any] | None = None) -> Tool:
    def run(_params: Mapping[str, Any], _context: Any) -> ToolResult:
        raise AssertionError("a brain never acts by itself")

    return Tool(
        name=name,
        responsibility=f"Do {name}.",
        source_hint="tests",
        level="act",
        schema=lambda: schema or {"type": "object", "properties": {"text": {"type": "string"}}},
        run=run,
    )


def _unmade(problem: ClawError) -> ToolResult:
    return ToolResult(handled=False, message=problem.message, error=problem)


class Turn(Struct, frozen=True):
    answer: Answer
    calls: list[ToolCall]
    streamed: list[str]


def take_turn(
    brain: Brain,
    prompt: str = "hello",
    *,
    tools: tuple[str | Tool, ...] = ("click", "read_text"),
    act: Callable[[ToolCall], ToolResult] = lambda call: ToolResult(True, f"{call.name} done"),
    deadline: TurnDeadline | None = None,
    **more: Any,
) -> Turn:
    """Drive a brain through one turn, as the engine does."""
    calls: list[ToolCall] = []
    streamed: list[str] = []
    offered = tuple(entry if isinstance(entry, Tool) else tool(entry) for entry in tools)
    request = BrainRequest(
        prompt=prompt, tools=offered, deadline=deadline or TurnDeadline(10), on_text=streamed.append, **more
    )
    thinking = brain.respond(request)
    try:
        call = next(thinking)
        while True:
            calls.append(call)
            call = thinking.send(act(call) if call.problem is None else _unmade(call.problem))
    except StopIteration as e:
        return Turn(e.value, calls, streamed)
    finally:
        thinking.close()
