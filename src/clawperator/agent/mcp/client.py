"""Connections to MCP servers, with the official SDK (extra ``mcp``). They run on the event loop of a pool.

The SDK's session does the handshake, matches answers to requests and answers the server's own requests, over stdio
or streamable HTTP. The process of a stdio server is ours: that of the SDK has no limit for a line or for stderr
and no exit code, and children of a server that exits stay.

A server gets a few variables of our environment (``_base/environment.py``), and those of its settings. Nothing
else is passed on: it must not see keys of models and of other servers.
"""

import asyncio
import logging
import os
import re
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from clawperator import __version__
from clawperator._base.deadline import Deadline
from clawperator._base.environment import child_environment, is_inherited
from clawperator._base.files import why
from clawperator._base.text import encodable, printable
from clawperator._base.typed import read_json
from clawperator.agent.settings import McpServer
from clawperator.errors import ClawError, RefusedError
from clawperator.policy.gate import policy_environment

Phase = Literal["spawn_connect", "initialize_handshake", "tool_discovery", "invocation"]

LONGEST_LINE = 16 * 1024 * 1024
_MOST_TOOLS = 1_000
_MOST_UNREAD = 1_000  # messages that the server has not read
_MOST_STDERR = 8_192
_GRACE_SECONDS = 1.0
_QUICK_GRACE_SECONDS = 0.25
_KILL_SECONDS = 5.0
_LONGEST_MESSAGE = 500
_LONGEST_STDERR = 2_000
_SHORTEST_SECRET = 6
# The setting that limits each phase.
_TIMEOUT_SETTINGS = {"initialize_handshake": "initialize", "tool_discovery": "list", "invocation": "call"}
_FIRST_ERROR_STATUS = 400
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_Received = MemoryObjectSendStream[SessionMessage | Exception]
_Sent = MemoryObjectReceiveStream[SessionMessage]

for _name in ("client", "mcp"):  # the SDK's loggers: without a handler, Python prints their warnings to stderr
    logging.getLogger(_name).addHandler(logging.NullHandler())


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Keeps the last result as it was sent: the session rejects a whole list for one invalid tool."""

    async def send_raw_request(self, *args: Any, **more: Any) -> dict[str, Any]:
        self.result = await super().send_raw_request(*args, **more)
        return self.result


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Ends an answer that is too long to be read. ``problem`` is what failed last: the session does not tell."""

    problem = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except (httpx2.HTTPError, OSError) as e:
            self.problem = f"{type(e).__name__}: {e}"
            raise
        if response.status_code >= _FIRST_ERROR_STATUS:
            self.problem = f"HTTP status {response.status_code}"
        response.stream = _LimitedStream(response.stream, self)
        return response


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, transport: _LimitedTransport) -> None:
        self._stream, self._transport = stream, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > LONGEST_LINE:
                self._transport.problem = f"an answer of more than {LONGEST_LINE} bytes"
                raise httpx2.ReadError(self._transport.problem)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class ServerConnection:
    """One server. Its process is started by the first request, and again by the next one after its end.

    Requests are serialized. Every failure except that of a tool stops the process: ``MCP_SERVER_FAILED`` with the
    phase and the end of stderr. All methods but ``kill`` run on the event loop.
    """

    def __init__(self, name: str, server: McpServer) -> None:
        self._name = name
        self._server = server
        self._variables: Mapping[str, str] = server.env
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None  # owns the process, until it is cancelled
        self._process: asyncio.SubprocessTransport | None = None
        self._grace = _QUICK_GRACE_SECONDS
        self._stderr = b""
        self._end = ""  # why no answer can come any more
        self._transport: _LimitedTransport | None = None

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tool descriptions of the server, all pages."""
        phase: Phase = "tool_discovery"
        tools: list[dict[str, Any]] = []
        params = types.PaginatedRequestParams()
        async with self._lock:
            await self._open()
            async with self._phase(phase, "tools/list"):
                while True:
                    answer = await self._request(types.ListToolsRequest(params=params))
                    listed = answer.get("tools")
                    if not isinstance(listed, list):
                        raise await self._failed(phase, "the tool list is not a list")
                    tools += (tool for tool in listed if isinstance(tool, dict))
                    if len(tools) > _MOST_TOOLS:
                        raise await self._failed(phase, f"more than {_MOST_TOOLS} tools")
                    if not answer.get("nextCursor"):
                        return tools
                    params = types.PaginatedRequestParams(cursor=answer["nextCursor"])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and return its result. ``RefusedError`` when the server rejects the call."""
        params = types.CallToolRequestParams(name=tool, arguments=encodable(dict(arguments)))
        async with self._lock:
            await self._open()
            async with self._phase("invocation", "tools/call"):
                try:
                    result = await self._request(types.CallToolRequest(params=params))
                except MCPError as e:
                    if self._end:
                        raise
                    raise RefusedError(self._sanitize(e.message)[:_LONGEST_MESSAGE]) from None
            if result.get("resultType", "complete") != "complete":
                raise RefusedError("it requires input from the user, which is not supported")
            if not isinstance(result.get("isError", False), bool):
                raise await self._failed("invocation", f"the result of {tool} has an invalid isError")
            return result

    async def close(self, *, is_quick: bool) -> None:
        """Stop the process, if it runs."""
        self._grace = _QUICK_GRACE_SECONDS if is_quick else _GRACE_SECONDS
        if self._task is not None:
            if not self._task.cancelling():
                self._task.cancel()
            await asyncio.wait([self._task])

    async def _open(self) -> None:
        """Start the process and initialize the connection, unless it is open."""
        if self._task is not None:
            if not self._end and not self._task.done():
                return
            await self.close(is_quick=True)
        server = self._server
        self._process, self._stderr, self._end = None, b"", ""
        started = asyncio.get_running_loop().create_future()
        if server.url:
            self._variables = await self._headers()
            self._transport = _LimitedTransport()
            self._task = asyncio.create_task(self._run_http(started))
        else:
            self._variables = child_environment(f"mcp {self._name}", server.env, pass_env=server.pass_env)
            self._variables |= policy_environment()
            self._task = asyncio.create_task(self._run(started))
        async with self._phase("initialize_handshake", "initialize"):
            try:
                self._session: ClientSession = await started
            except (OSError, ValueError) as e:
                program = getattr(e, "filename", None) or server.command
                problem = f"cannot start {program}: {why(e)}" if program else str(e)
                raise await self._failed("spawn_connect", problem) from e
            try:
                await self._session.initialize()
            except MCPError as rejection:
                # A server that speaks only the revision 2026-07-28 has no handshake.
                if self._end:
                    raise
                try:
                    await self._session.discover()
                except (MCPError, ValidationError):
                    raise rejection from None

    async def _request(self, request: types.ClientRequest) -> dict[str, Any]:
        with suppress(ValidationError):
            await self._session.send_request(request, types.EmptyResult)
        return self._dispatcher.result

    @asynccontextmanager
    async def _phase(self, phase: Phase, method: str) -> AsyncIterator[None]:
        """Limit the time of a phase. A failure in it stops the process."""
        seconds: float = getattr(self._server.timeouts, _TIMEOUT_SETTINGS[phase])
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            problem = f"no answer to {method} within {seconds:.3g} s"
            raise await self._failed(phase, problem, is_late=True) from None
        except (RuntimeError, ValidationError) as e:  # no common version, or an invalid answer
            problem = str(e).partition("For further information")[0]
            raise await self._failed(phase, f"invalid answer to {method}: {' '.join(problem.split())}") from None
        except MCPError as e:
            if self._transport is not None and self._transport.problem:
                raise await self._failed(phase, f"{method} failed: {self._transport.problem}") from None
            if not self._end:
                raise await self._failed(phase, f"{method} rejected: {e.message}") from None
            await self._exits(_QUICK_GRACE_SECONDS, with_stderr=True)
            last = self._stderr_text.rpartition("\n")[2]
            raise await self._failed(phase, f"{self._end} {method}{': ' if last else ''}{last}") from None

    async def _headers(self) -> dict[str, str]:
        """The headers with the values of the variables that they name."""
        headers = self._server.headers
        named = {name for value in headers.values() for name in _VARIABLE.findall(value)}
        if missing := sorted(name for name in named if not os.environ.get(name)):
            raise await self._failed("spawn_connect", f"the variable {missing[0]} is not set")
        return {name: _VARIABLE.sub(lambda found: os.environ[found[1]], value) for name, value in headers.items()}

    async def _run_http(self, started: asyncio.Future[ClientSession]) -> None:
        """Keep a session with the server at the URL until this task is cancelled."""
        limits = self._server.timeouts
        timeout = httpx2.Timeout(max(limits.initialize, limits.list, limits.call), connect=limits.initialize)
        client = httpx2.AsyncClient(headers=dict(self._variables), timeout=timeout, transport=self._transport)
        async with (
            client,
            streamable_http_client(
                self._server.url, http_client=client, max_sse_event_size=LONGEST_LINE
            ) as streams,
        ):
            await self._hold_session(_Dispatcher(*streams), started)

    async def _hold_session(self, dispatcher: _Dispatcher, started: asyncio.Future[ClientSession]) -> None:
        self._dispatcher = dispatcher
        info = types.Implementation(name="clawperator", version=__version__)
        async with ClientSession(dispatcher=dispatcher, client_info=info) as session:
            if not started.done():
                started.set_result(session)
            await asyncio.Event().wait()

    async def _run(self, started: asyncio.Future[ClientSession]) -> None:
        """Run the process and a session with it until this task is cancelled.

        The end: close the process's input, then terminate, then kill its group.
        """
        loop = asyncio.get_running_loop()
        try:
            process, pipes = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(LONGEST_LINE, loop),
                *(self._server.command, *self._server.args),
                env=self._variables,
                cwd=self._server.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as e:
            if not started.done():
                started.set_exception(e)
            return
        self._process, self._is_stderr_read = process, False
        assert pipes.stdin is not None
        assert pipes.stdout is not None
        assert pipes.stderr is not None
        received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, sent = anyio.create_memory_object_stream[SessionMessage](_MOST_UNREAD)
        try:
            async with anyio.create_task_group() as tasks, received, incoming, outgoing, sent:
                tasks.start_soon(self._read, pipes.stdout, received, sent)
                tasks.start_soon(self._write, pipes.stdin, received, sent)
                tasks.start_soon(self._read_stderr, pipes.stderr)
                try:
                    await self._hold_session(_Dispatcher(incoming, outgoing), started)
                finally:
                    pipes.stdin.close()
                    if not await self._exits(self._grace):
                        self.kill(signal.SIGTERM)
                        await self._exits(self._grace)
                    tasks.cancel_scope.cancel()
        finally:
            self.kill()  # also the processes it started
            try:
                await self._exits(_KILL_SECONDS)
            finally:
                process.close()
                self._process = None

    async def _read(self, stdout: asyncio.StreamReader, received: _Received, sent: _Sent) -> None:
        """Pass the messages of the server on. Anything else that it prints is ignored."""
        end = "exited before answering"
        try:
            while line := await stdout.readline():
                for message in _messages(line):
                    await received.send(SessionMessage(message))
                if sent.statistics().tasks_waiting_send:
                    end = "stopped reading before answering"
                    break
        except ValueError:
            end = f"sent a line of more than {LONGEST_LINE} bytes before answering"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the session has ended
        self._end = self._end or end
        received.close()

    async def _write(self, stdin: asyncio.StreamWriter, received: _Received, sent: _Sent) -> None:
        with suppress(OSError):
            async for item in sent:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(line.encode() + b"\n")
                await stdin.drain()
        self._end = self._end or "stopped reading before answering"
        received.close()

    async def _read_stderr(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(_MOST_STDERR):
            self._stderr = (self._stderr + data)[-_MOST_STDERR:]
        self._is_stderr_read = True

    @property
    def _stderr_text(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    async def _exits(self, seconds: float, *, with_stderr: bool = False) -> bool:
        """Whether the process exits within this time; with ``with_stderr``, and its stderr has been read."""
        end = Deadline(seconds)
        while (process := self._process) is not None:
            if process.get_returncode() is not None and (self._is_stderr_read or not with_stderr):
                return True
            if end.is_over:
                return False
            await asyncio.sleep(0.01)
        return True

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal the process and those it started. Any thread may call it."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.get_pid(), number)

    async def _failed(self, phase: Phase, message: str, *, is_late: bool = False) -> ClawError:
        """Stop the process and build the error, with the end of its stderr."""
        details: dict[str, Any] = {"server": self._name, "phase": phase}
        process = self._process
        if process is not None:
            details["exit_code"] = process.get_returncode()  # before it is stopped
        await self.close(is_quick=True)
        if process is not None:
            details["stderr"] = self._sanitize(self._stderr_text)[-_LONGEST_STDERR:]
        limit = f".timeouts.{_TIMEOUT_SETTINGS[phase]}" if is_late else ""
        setting = f"mcpServers.{self._name}{limit} in {self._server.source or 'the settings'}"
        message = f"MCP server {self._name} failed: {self._sanitize(message)[:_LONGEST_MESSAGE]}"
        hint, operation = f"{'Raise' if is_late else 'Correct'} {setting}.", f"mcp.{phase}"
        return ClawError(
            "MCP_SERVER_FAILED", message, hint=hint, details=details, operation=operation, target=self._name
        )

    def _sanitize(self, text: str) -> str:
        """Text of the server, printable and without the values of its variables."""
        for name, value in self._variables.items():
            if not is_inherited(name) and len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, f"[{name}]")
        return "\n".join(printable(line) for line in text.splitlines())


def _messages(line: bytes) -> Iterator[types.JSONRPCMessage]:
    """The valid messages of a line: one, a batch, or none for other output of the program."""
    if not line.lstrip().startswith((b"{", b"[")):
        return
    with suppress(ValueError):
        value = read_json(line)
        for message in value if isinstance(value, list) else [value]:
            # Our requests have numbers; the SDK takes a text with the same digits for the same id.
            if isinstance(message, dict) and ("method" in message or not isinstance(message.get("id"), str)):
                with suppress(ValidationError):
                    yield types.jsonrpc_message_adapter.validate_python(message, by_name=False)
