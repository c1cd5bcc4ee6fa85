"""A client for MCP servers that are programs: JSON-RPC 2.0, a message to a line, over their stdin and stdout.

The handshake is tried first, which most servers take. Those that speak the revision of 2026-07-28 and nothing else
know none: each request then says itself which revision it is of.

A server is given PATH, HOME and LANG of our environment, and what its settings say. Nothing else of ours reaches
it: keys for models and other servers are none of its business.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from clawperator import __version__
from clawperator._files import why
from clawperator._text import encodable, printable
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.lenient_json import read_json
from clawperator.agent.mcp.process import LONGEST_LINE, ServerProcess
from clawperator.agent.settings import McpServer
from clawperator.errors import ClawError, RefusedError

Phase = Literal["spawn_connect", "initialize_handshake", "tool_discovery", "invocation"]

PROTOCOL = "2025-06-18"
KNOWN_PROTOCOLS = ("2024-11-05", "2025-03-26", PROTOCOL, "2025-11-25")
STATELESS_PROTOCOL = "2026-07-28"
PASSED_ON = ("PATH", "HOME", "LANG")
_MOST_TOOLS = 1_000
_MOST_PAGES = 100
_GRACE_SECONDS = 1.0
_HURRY_SECONDS = 0.25
_PROBE_SECONDS = 5.0
_LONGEST_MESSAGE = 500
_LONGEST_TAIL = 2_000
_SHORTEST_SECRET = 6
_METHOD_NOT_FOUND = -32_601
_META = "io.modelcontextprotocol/"
_OURSELVES = {"name": "clawperator", "version": __version__}
# The limit that ran out when a phase took too long, as the settings call it.
_LIMITS: Mapping[str, str] = {
    "initialize_handshake": "initialize",
    "tool_discovery": "list",
    "invocation": "call",
}


class McpServerClient:
    """One server, from its start to its end. Not for several threads at once.

    Every failure but that of a tool ends the process: ``MCP_SERVER_FAILED`` with the phase and the last words on
    stderr. ``deadline`` is for all that is done, unless a call brings its own.
    """

    def __init__(self, name: str, server: McpServer, deadline: TurnDeadline) -> None:
        self.name = name
        self._server = server
        self._deadline = deadline
        self._process: ServerProcess | None = None
        self._last_id = 0
        self._meta: dict[str, Any] = {}  # what every request to a server without a handshake says

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive

    def open(self) -> None:
        """Start the process and shake hands."""
        server = self._server
        self._deadline.check()
        try:
            self._process = ServerProcess((server.command, *server.args), environment(server), server.cwd)
        except (OSError, ValueError) as e:
            what = getattr(e, "filename", None) or server.command
            raise self._failed("spawn_connect", f"{what} cannot be started: {why(e)}") from e
        self._meta = {}
        phase: Phase = "initialize_handshake"
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": _OURSELVES}
        seconds = server.timeouts.initialize
        try:
            answer = self._ask(phase, "initialize", hello, seconds, self._deadline)
        except RefusedError as e:
            self._open_without_handshake(str(e))
            return
        version = answer.get("protocolVersion")
        if version not in KNOWN_PROTOCOLS:
            raise self._failed(phase, f"it speaks version {version!r} of the protocol, which is not known")
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        with self._guarded(self._process, phase, "initialize", seconds, self._deadline):
            self._process.send(_line(ready), time.monotonic() + self._deadline.within(seconds), self._deadline)

    def _open_without_handshake(self, refusal: str) -> None:
        """See whether the server is one that knows none. What it says to a handshake then is its own affair."""
        phase: Phase = "initialize_handshake"
        said = {"protocolVersion": STATELESS_PROTOCOL, "clientCapabilities": {}, "clientInfo": _OURSELVES}
        self._meta = {"_meta": {_META + name: value for name, value in said.items()}}
        seconds = min(self._server.timeouts.initialize, _PROBE_SECONDS)
        try:
            answer = self._ask(phase, "server/discover", {}, seconds, self._deadline)
        except (RefusedError, ClawError):
            raise self._failed(phase, f"it refuses initialize: {refusal}") from None
        versions = answer.get("supportedVersions")
        if not isinstance(versions, list) or STATELESS_PROTOCOL not in versions:
            raise self._failed(phase, f"it speaks versions {versions!r} of the protocol, which are not known")

    def list_tools(self, deadline: TurnDeadline | None = None) -> list[dict[str, Any]]:
        """The tools as the server describes them, all pages."""
        phase: Phase = "tool_discovery"
        end = time.monotonic() + self._server.timeouts.list
        tools: list[dict[str, Any]] = []
        cursors: list[str] = []
        while True:
            params = {"cursor": cursors[-1]} if cursors else {}
            left = max(end - time.monotonic(), 0.0)
            answer = self._ask_or_fail(phase, "tools/list", params, left, deadline or self._deadline)
            listed = answer.get("tools")
            if not isinstance(listed, list):
                raise self._failed(phase, "its list of tools is none")
            tools += (tool for tool in listed if isinstance(tool, dict))
            cursor = answer.get("nextCursor")
            if not cursor:
                return tools
            if not isinstance(cursor, str) or cursor in cursors or len(cursors) >= _MOST_PAGES:
                raise self._failed(phase, "its list of tools has no end")
            if len(tools) > _MOST_TOOLS:
                raise self._failed(phase, f"it lists more than {_MOST_TOOLS} tools")
            cursors.append(cursor)

    def call(
        self, tool: str, arguments: Mapping[str, Any], deadline: TurnDeadline | None = None
    ) -> dict[str, Any]:
        """The whole result of a tool. ``MCP_TOOL_FAILED`` when the server refuses the call."""
        params = {"name": tool, "arguments": dict(arguments)}
        seconds = self._server.timeouts.call
        try:
            result = self._ask("invocation", "tools/call", params, seconds, deadline or self._deadline)
        except RefusedError as e:
            raise tool_failed(self.name, tool, self._shown(str(e))[:_LONGEST_MESSAGE]) from None
        if result.get("resultType", "complete") != "complete":
            raise tool_failed(self.name, tool, "it wants to be told something first, which cannot be done here")
        return result

    def close(self) -> None:
        """End the process, if it runs. When the time is up, there is less of it for a farewell."""
        if self._process is not None:
            self._process.close(_HURRY_SECONDS if self._deadline.is_over else _GRACE_SECONDS)

    def _ask_or_fail(
        self, phase: Phase, method: str, params: Mapping[str, Any], seconds: float, deadline: TurnDeadline
    ) -> dict[str, Any]:
        try:
            return self._ask(phase, method, params, seconds, deadline)
        except RefusedError as e:
            raise self._failed(phase, f"it refuses {method}: {e}") from None

    def _ask(
        self, phase: Phase, method: str, params: Mapping[str, Any], seconds: float, deadline: TurnDeadline
    ) -> dict[str, Any]:
        """Send a request and wait for its answer. Whatever else the server says meanwhile is dealt with."""
        process = self._process
        assert process is not None
        end = time.monotonic() + deadline.within(seconds)
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, **self._meta}}
        with self._guarded(process, phase, method, seconds, deadline):
            process.send(_line(request), end, deadline)
            message = self._await_answer(process, end, deadline)
        error, result = message.get("error"), message.get("result")
        if error is not None:
            said = error.get("message") if isinstance(error, dict) else error
            raise RefusedError(str(said))
        if not isinstance(result, dict):
            raise self._failed(phase, f"its answer to {method} holds no result")
        return result

    def _await_answer(self, process: ServerProcess, end: float, deadline: TurnDeadline) -> dict[str, Any]:
        while True:
            for message in _messages(process.receive(end, deadline)):
                if "method" in message:
                    self._answer(process, message, end, deadline)
                elif message.get("id") == self._last_id:
                    return message

    @contextmanager
    def _guarded(
        self, process: ServerProcess, phase: Phase, what: str, seconds: float, deadline: TurnDeadline
    ) -> Iterator[None]:
        """Whatever breaks the conversation ends the process, and is told."""
        try:
            yield
        except TimeoutError:
            if deadline.is_over:
                process.close(_HURRY_SECONDS)
                raise TurnCancelledError from None
            raise self._failed(phase, f"no answer to {what} within {seconds:.3g} s", is_late=True) from None
        except EOFError:
            process.exit_code()  # what it says last may come a moment after its end
            last = process.said.rpartition("\n")[2]
            raise self._failed(phase, f"it ended before it answered {what}{': ' if last else ''}{last}") from None
        except OverflowError:
            raise self._failed(phase, f"it sent a line of more than {LONGEST_LINE} bytes") from None
        except BaseException:
            process.close(_HURRY_SECONDS)
            raise

    def _answer(self, process: ServerProcess, message: dict[str, Any], end: float, deadline: TurnDeadline) -> None:
        """Servers may ask, too: whether we are there, and nothing else. Notifications want no answer."""
        if message.get("id") is None:
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": "this client does not do that"}
        process.send(_line(answer), end, deadline)

    def _failed(self, phase: Phase, message: str, *, is_late: bool = False) -> ClawError:
        """End the process, and tell what it said last."""
        details: dict[str, Any] = {"server": self.name, "phase": phase}
        if self._process is not None:
            ended = self._process.exit_code()  # before we end it
            self._process.close(_HURRY_SECONDS)
            details["exit_code"] = ended
            details["stderr"] = self._shown(self._process.said)[-_LONGEST_TAIL:]
        return ClawError(
            "MCP_SERVER_FAILED",
            f"the MCP server {self.name} failed: {self._shown(message)[:_LONGEST_MESSAGE]}",
            hint=self._hint(phase, is_late=is_late),
            details=details,
            operation=f"mcp.{phase}",
            target=self.name,
        )

    def _hint(self, phase: Phase, *, is_late: bool) -> str:
        limit = f".timeouts.{_LIMITS[phase]}" if is_late else ""
        where = f"mcpServers.{self.name}{limit} in {self._server.source or 'the settings'}"
        hint = f"Raise {where}" if is_late else f"Correct {where}"
        return f"{hint}." if phase == "invocation" else f"{hint}, or add --no-mcp."

    def _shown(self, text: str) -> str:
        """Text of a server, without the secrets it was given, and safe to show."""
        for name, value in self._server.env.items():
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, f"[{name}]")
        return "\n".join(printable(line) for line in text.splitlines())


def environment(server: McpServer) -> dict[str, str]:
    """What a server finds in its environment."""
    ours = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**ours, **server.env}


def tool_failed(server: str, tool: str, message: str) -> ClawError:
    return ClawError(
        "MCP_TOOL_FAILED",
        f"the tool {tool} of the MCP server {server} failed: {message}",
        details={"server": server, "tool": tool, "phase": "invocation"},
        operation="mcp.invocation",
        target=f"{server}/{tool}",
    )


def _line(message: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(encodable(message), enc_hook=str)


def _messages(line: bytes) -> list[dict[str, Any]]:
    """The messages of a line: one, a batch, or none if it is something else. Programs print what they like."""
    if not line.lstrip().startswith((b"{", b"[")):
        return []
    try:
        value = read_json(line)
    except ValueError:
        return []
    return [message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict)]
