"""Client for stdio MCP servers: JSON-RPC 2.0, one message per line.

The ``initialize`` handshake is tried first. Servers that speak only the revision 2026-07-28 have none: there each
request carries the protocol version.

A server gets a few variables of our environment (``_environment.py``), and those of its settings. Nothing else is
passed on: it must not see keys of models and of other servers.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from clawperator import __version__
from clawperator._base.deadline import Deadline
from clawperator._base.environment import child_environment, is_inherited
from clawperator._base.files import why
from clawperator._base.text import encodable, printable
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.lenient_json import read_json
from clawperator.agent.mcp.process import LONGEST_LINE, ServerProcess
from clawperator.agent.settings import McpServer
from clawperator.errors import ClawError, RefusedError
from clawperator.policy.enforcement import policy_environment

Phase = Literal["spawn_connect", "initialize_handshake", "tool_discovery", "invocation"]

PROTOCOL = "2025-06-18"
KNOWN_PROTOCOLS = ("2024-11-05", "2025-03-26", PROTOCOL, "2025-11-25")
STATELESS_PROTOCOL = "2026-07-28"
_MOST_TOOLS = 1_000
_MOST_PAGES = 100
_GRACE_SECONDS = 1.0
_QUICK_GRACE_SECONDS = 0.25
_PROBE_SECONDS = 5.0
_LONGEST_MESSAGE = 500
_LONGEST_STDERR = 2_000
_SHORTEST_SECRET = 6
_METHOD_NOT_FOUND = -32_601
_META = "io.modelcontextprotocol/"
_CLIENT_INFO = {"name": "clawperator", "version": __version__}
# The setting that limits each phase.
_TIMEOUT_SETTINGS: Mapping[str, str] = {
    "initialize_handshake": "initialize",
    "tool_discovery": "list",
    "invocation": "call",
}


class McpServerClient:
    """A connection to one server process. Not thread-safe.

    Every failure except that of a tool stops the process: ``MCP_SERVER_FAILED`` with the phase and the end of
    stderr. ``deadline`` applies to all operations that are not given their own.
    """

    def __init__(self, name: str, server: McpServer, deadline: TurnDeadline) -> None:
        self.name = name
        self._server = server
        self._deadline = deadline
        self._process: ServerProcess | None = None
        self._variables: Mapping[str, str] = server.env
        self._last_id = 0
        self._meta: dict[str, Any] = {}  # sent with every request to a stateless server

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
        """Start the process and initialize the connection."""
        server = self._server
        self._deadline.check()
        try:
            variables = child_environment(f"mcp {self.name}", server.env, pass_env=server.pass_env)
            self._variables = {**variables, **policy_environment()}
            self._process = ServerProcess((server.command, *server.args), self._variables, server.cwd)
        except (OSError, ValueError) as e:
            program = getattr(e, "filename", None) or server.command
            raise self._failed("spawn_connect", f"cannot start {program}: {why(e)}") from e
        self._meta = {}
        phase: Phase = "initialize_handshake"
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": _CLIENT_INFO}
        seconds = server.timeouts.initialize
        try:
            answer = self._request(phase, "initialize", params, seconds, self._deadline)
        except RefusedError as e:
            self._open_stateless(str(e))
            return
        version = answer.get("protocolVersion")
        if version not in KNOWN_PROTOCOLS:
            raise self._failed(phase, f"unsupported protocol version {version!r}")
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        with self._translate_errors(self._process, phase, "initialize", seconds, self._deadline):
            self._process.send(_encode(initialized), Deadline(self._deadline.within(seconds)), self._deadline)

    def _open_stateless(self, rejection: str) -> None:
        """Connect without a handshake; ``rejection`` is the server's answer to ``initialize``."""
        phase: Phase = "initialize_handshake"
        meta = {"protocolVersion": STATELESS_PROTOCOL, "clientCapabilities": {}, "clientInfo": _CLIENT_INFO}
        self._meta = {"_meta": {_META + name: value for name, value in meta.items()}}
        seconds = min(self._server.timeouts.initialize, _PROBE_SECONDS)
        try:
            answer = self._request(phase, "server/discover", {}, seconds, self._deadline)
        except (RefusedError, ClawError):
            raise self._failed(phase, f"initialize rejected: {rejection}") from None
        versions = answer.get("supportedVersions")
        if not isinstance(versions, list) or STATELESS_PROTOCOL not in versions:
            raise self._failed(phase, f"unsupported protocol versions {versions!r}")

    def list_tools(self, deadline: TurnDeadline | None = None) -> list[dict[str, Any]]:
        """The tool descriptions of the server, all pages."""
        phase: Phase = "tool_discovery"
        listing = Deadline(self._server.timeouts.list)
        tools: list[dict[str, Any]] = []
        cursors: list[str] = []
        while True:
            params = {"cursor": cursors[-1]} if cursors else {}
            seconds = listing.within(self._server.timeouts.list)
            answer = self._request_or_fail(phase, "tools/list", params, seconds, deadline or self._deadline)
            listed = answer.get("tools")
            if not isinstance(listed, list):
                raise self._failed(phase, "the tool list is not a list")
            tools += (tool for tool in listed if isinstance(tool, dict))
            if len(tools) > _MOST_TOOLS:
                raise self._failed(phase, f"more than {_MOST_TOOLS} tools")
            cursor = answer.get("nextCursor")
            if not cursor:
                return tools
            if not isinstance(cursor, str) or cursor in cursors or len(cursors) >= _MOST_PAGES:
                raise self._failed(phase, "the tool list does not end")
            cursors.append(cursor)

    def call(
        self, tool: str, arguments: Mapping[str, Any], deadline: TurnDeadline | None = None
    ) -> dict[str, Any]:
        """Call a tool and return its result. ``MCP_TOOL_FAILED`` when the server rejects the call."""
        params = {"name": tool, "arguments": dict(arguments)}
        seconds = self._server.timeouts.call
        try:
            result = self._request("invocation", "tools/call", params, seconds, deadline or self._deadline)
        except RefusedError as e:
            raise tool_failed(self.name, tool, self._sanitize(str(e))[:_LONGEST_MESSAGE]) from None
        if result.get("resultType", "complete") != "complete":
            raise tool_failed(self.name, tool, "it requires input from the user, which is not supported")
        if not isinstance(result.get("isError", False), bool):
            raise self._failed("invocation", f"the result of {tool} has an invalid isError")
        return result

    def close(self) -> None:
        """Stop the process, if it runs, with a shorter grace after the deadline."""
        if self._process is not None:
            self._process.close(_QUICK_GRACE_SECONDS if self._deadline.is_over else _GRACE_SECONDS)

    def _request_or_fail(
        self, phase: Phase, method: str, params: Mapping[str, Any], seconds: float, deadline: TurnDeadline
    ) -> dict[str, Any]:
        try:
            return self._request(phase, method, params, seconds, deadline)
        except RefusedError as e:
            raise self._failed(phase, f"{method} rejected: {e}") from None

    def _request(
        self, phase: Phase, method: str, params: Mapping[str, Any], seconds: float, deadline: TurnDeadline
    ) -> dict[str, Any]:
        """Send a request and wait for its answer, handling requests of the server meanwhile."""
        process = self._process
        assert process is not None
        end = Deadline(deadline.within(seconds))
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, **self._meta}}
        with self._translate_errors(process, phase, method, seconds, deadline):
            process.send(_encode(request), end, deadline)
            message = self._receive_answer(process, end, deadline)
        error, result = message.get("error"), message.get("result")
        if error is not None:
            reason = error.get("message") if isinstance(error, dict) else error
            raise RefusedError(str(reason))
        if not isinstance(result, dict):
            raise self._failed(phase, f"no result in the answer to {method}")
        return result

    def _receive_answer(self, process: ServerProcess, end: Deadline, deadline: TurnDeadline) -> dict[str, Any]:
        while True:
            for message in _messages(process.receive(end, deadline)):
                if "method" in message:
                    self._handle_request(process, message, end, deadline)
                elif message.get("id") == self._last_id:
                    return message

    @contextmanager
    def _translate_errors(
        self, process: ServerProcess, phase: Phase, method: str, seconds: float, deadline: TurnDeadline
    ) -> Iterator[None]:
        """Stop the process on any failure and raise a typed error."""
        try:
            yield
        except TimeoutError:
            if deadline.is_over:
                process.close(_QUICK_GRACE_SECONDS)
                raise TurnCancelledError from None
            raise self._failed(phase, f"no answer to {method} within {seconds:.3g} s", is_late=True) from None
        except EOFError:
            process.exit_code()  # its last output may arrive a moment after its exit
            last = process.stderr.rpartition("\n")[2]
            raise self._failed(phase, f"exited before answering {method}{': ' if last else ''}{last}") from None
        except OverflowError:
            raise self._failed(phase, f"sent a line of more than {LONGEST_LINE} bytes") from None
        except BaseException:
            process.close(_QUICK_GRACE_SECONDS)
            raise

    def _handle_request(
        self, process: ServerProcess, message: dict[str, Any], end: Deadline, deadline: TurnDeadline
    ) -> None:
        """Answer a request of the server. Only ping is supported; notifications need no answer."""
        if message.get("id") is None:
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": "method not supported by this client"}
        process.send(_encode(answer), end, deadline)

    def _failed(self, phase: Phase, message: str, *, is_late: bool = False) -> ClawError:
        """Stop the process and build the error, with the end of its stderr."""
        details: dict[str, Any] = {"server": self.name, "phase": phase}
        if self._process is not None:
            exit_code = self._process.exit_code()  # before it is stopped
            self._process.close(_QUICK_GRACE_SECONDS)
            details["exit_code"] = exit_code
            details["stderr"] = self._sanitize(self._process.stderr)[-_LONGEST_STDERR:]
        return ClawError(
            "MCP_SERVER_FAILED",
            f"MCP server {self.name} failed: {self._sanitize(message)[:_LONGEST_MESSAGE]}",
            hint=self._hint(phase, is_late=is_late),
            details=details,
            operation=f"mcp.{phase}",
            target=self.name,
        )

    def _hint(self, phase: Phase, *, is_late: bool) -> str:
        limit = f".timeouts.{_TIMEOUT_SETTINGS[phase]}" if is_late else ""
        setting = f"mcpServers.{self.name}{limit} in {self._server.source or 'the settings'}"
        hint = f"Raise {setting}" if is_late else f"Correct {setting}"
        return f"{hint}." if phase == "invocation" else f"{hint}, or add --no-mcp."

    def _sanitize(self, text: str) -> str:
        """Text of the server, printable and without the values of its variables."""
        for name, value in self._variables.items():
            if not is_inherited(name) and len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, f"[{name}]")
        return "\n".join(printable(line) for line in text.splitlines())


def tool_failed(server: str, tool: str, message: str) -> ClawError:
    return ClawError(
        "MCP_TOOL_FAILED",
        f"tool {tool} of MCP server {server} failed: {message}",
        details={"server": server, "tool": tool, "phase": "invocation"},
        operation="mcp.invocation",
        target=f"{server}/{tool}",
    )


def _encode(message: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(encodable(message), enc_hook=str)


def _messages(line: bytes) -> list[dict[str, Any]]:
    """The messages of a line: one, a batch, or none for other output of the program."""
    if not line.lstrip().startswith((b"{", b"[")):
        return []
    try:
        value = read_json(line)
    except ValueError:
        return []
    return [message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict)]
