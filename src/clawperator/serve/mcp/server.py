"""The MCP server: requests of clients to the agent's tools, its resources and its prompt."""

from collections.abc import Callable
from typing import Any, TypeGuard, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from msgspec.structs import replace

from clawperator import __version__
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline, timeout_error
from clawperator.agent.compact.tools import COMPACT_TOOLS, CompactSession, FinishedTool
from clawperator.agent.confinement import WorkingFolder, confining
from clawperator.agent.instructions import MCP_INSTRUCTIONS, agent_instructions
from clawperator.agent.ports import ToolContext
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.serve.access import ServerAccess
from clawperator.serve.mcp.calls import CallRunner, McpClient, McpClients
from clawperator.serve.mcp.content import UNTRUSTED, error_result, tool_result
from clawperator.serve.mcp.definitions import CALL_TIMEOUT, DEVICE, define, takes_device
from clawperator.serve.mcp.resources import FILE_URI, SCREEN_URI, find_files, read_file
from clawperator.serve.mcp.stdio import claimed_streams

_PROMPT = "operate-phone"
_LOOK = "snapshot"
_SESSION_HEADER = "mcp-session-id"
# How long a call may take, unless the client sets it. Arguments that wait are added to it.
_USUAL_SECONDS = 30.0
_WAIT_ARGUMENTS = ("timeoutMs", "durationMs", "maxDurationMs")
# Tools whose work has time limits of its own. A skill may take an hour; nothing may take longer.
_LONG_TOOLS = ("run_plan", "recording", "skills", "phone")
_MOST_SECONDS = 3_600.0
# Less than this is not enough for an execution.
_LEAST_SECONDS = 2.0


def make_server(access: ServerAccess) -> Server[Any]:
    """The server for clients with this access. Serve it over stdio, or mount it in the HTTP server."""
    handlers = _Handlers(access)
    server: Server[Any] = Server(
        "clawperator",
        version=__version__,
        title="Clawperator: Android phones",
        instructions=MCP_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.clear()  # telemetry, which nothing here collects
    return server


def serve_stdio(access: ServerAccess) -> None:
    """Serve one client over stdin and stdout, until it closes stdin."""

    async def serve() -> None:
        server = make_server(access)
        async with stdio_server(cast("Any", lines), cast("Any", answers)) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with claimed_streams() as (lines, answers):
        anyio.run(serve)


class _Handlers:
    """The handlers of requests. The tools are fixed at the start: the policy does not change."""

    def __init__(self, access: ServerAccess) -> None:
        self._access = access
        self._clients = McpClients(access.registry)
        self._calls = CallRunner()
        self._folder = WorkingFolder(access.options.folder, access.options.sessions)
        self._can_choose_device = access.options.device is None
        tools = CompactSession(access.registry).tools
        self._tools = [define(tool, choose_device=self._can_choose_device) for tool in tools]
        self._names = {tool.name for tool in tools}

    async def list_tools(self, _: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools)

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = dict(params.arguments or {})
        if params.name not in self._names:
            return error_result(self._unknown_tool(params.name))
        try:
            device = self._device(params.name, arguments)
            seconds = _seconds(params.name, arguments)
        except ClawError as e:
            return error_result(e)
        client = self._client(context)
        try:
            finished = await self._run(
                context, client, device, seconds, lambda own: client.run(params.name, arguments, own)
            )
        except TurnCancelledError:  # the time of the call is over
            return error_result(timeout_error("call", params.name))
        return tool_result(params.name, finished, client.take_notes())

    async def list_resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        screen = types.Resource(
            uri=SCREEN_URI,
            name="screen",
            description="Outline of the current screen. Its text is untrusted.",
            mime_type="text/plain",
        )
        found = await anyio.to_thread.run_sync(find_files, self._folder)
        files = [
            types.Resource(
                uri=file.uri,
                name=file.path,
                description=file.kind,
                mime_type=file.media_type,
                size=file.bytes,
            )
            for file in found
        ]
        screens = [screen] if _LOOK in self._names else []
        return types.ListResourcesResult(resources=[*screens, *files])

    async def list_templates(self, _: Any, __: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{FILE_URI}{{+path}}",
            name="files",
            description="Recordings (.ndjson) and exports (.export.json) in the working folder.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if params.uri == SCREEN_URI and _LOOK not in self._names:
            raise _protocol_error(self._unknown_tool(_LOOK))
        if params.uri == SCREEN_URI:
            media_type, text = "text/plain", await self._read_screen(context)
        else:
            try:
                media_type, text = await anyio.to_thread.run_sync(self._read_file, params.uri)
            except ClawError as e:
                raise _protocol_error(e) from e
        content = types.TextResourceContents(
            uri=params.uri, mime_type=media_type, text=text, _meta={UNTRUSTED: True}
        )
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, _: Any, __: Any) -> types.ListPromptsResult:
        prompt = types.Prompt(name=_PROMPT, description="How to operate a phone with these tools.")
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(self, _: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != _PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {params.name[:128]!r}")
        text = f"{MCP_INSTRUCTIONS}\n{agent_instructions('agents')}"
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description="How to operate a phone.", messages=[message])

    async def _run(
        self,
        context: Any,
        client: McpClient,
        device: str | None,
        seconds: float,
        work: Callable[[ToolContext], FinishedTool],
    ) -> FinishedTool:
        """Run a tool in its turn. A cancelled call leaves a note about what devices still run."""

        def call(deadline: TurnDeadline, report: Callable[[str], None]) -> FinishedTool:
            own = self._access.context(deadline)
            return work(replace(own, device=device or own.device, on_progress=report))

        async def progress(elapsed: float, message: str) -> None:
            await context.session.report_progress(elapsed, None, message)

        is_wanted = "progress_token" in (context.meta or {})
        async with client.lock:
            return await self._calls.run(seconds, call, progress if is_wanted else None, client.note)

    def _client(self, context: Any) -> McpClient:
        """The client of a request: that of an HTTP session, or the only one of stdio."""
        if context.request is None:
            return self._clients.find("stdio")
        return self._clients.find(context.request.headers.get(_SESSION_HEADER))

    async def _read_screen(self, context: Any) -> str:
        client = self._client(context)
        try:
            finished = await self._run(
                context, client, None, _USUAL_SECONDS, lambda own: client.run(_LOOK, {}, own)
            )
        except TurnCancelledError:
            raise _protocol_error(timeout_error("read", SCREEN_URI)) from None
        if finished.shown.is_error or finished.shown.screen is None:
            raise _protocol_error(finished.result.error, finished.shown.text)
        return finished.shown.screen.text

    def _read_file(self, uri: str) -> tuple[str, str]:
        with enforcing(PolicyGate(self._access.policy)), confining(self._folder):
            return read_file(uri, self._folder)

    def _device(self, tool: str, arguments: dict[str, Any]) -> str | None:
        """Take the device out of the arguments."""
        if DEVICE not in arguments or not takes_device(tool):
            return None
        given = arguments.pop(DEVICE)
        if given is None or (self._can_choose_device and isinstance(given, str) and given):
            return given
        reason = "is not a serial" if self._can_choose_device else f"must be {self._access.options.device}"
        raise ClawError(
            "TOOL_PAYLOAD_INVALID",
            f"device {reason}",
            hint="Call devices for the serials.",
            operation="call",
            target=tool,
        )

    def _unknown_tool(self, name: str) -> ClawError:
        if name in COMPACT_TOOLS:
            hint = "Start the server with another --permission-mode, or with --allow-tool."
            message = f"{name} is denied: the permissions of this server allow none of its actions"
            return ClawError("PERMISSION_DENIED", message, hint=hint, operation="call", target=name)
        known = ", ".join(sorted(self._names))
        return ClawError(
            "TOOL_NOT_FOUND",
            f"unknown tool {name[:128]!r}",
            hint=f"Call one of {known}.",
            operation="call",
            target=name[:128],
        )


def _seconds(tool: str, arguments: dict[str, Any]) -> float:
    """Take the time limit of a call out of its arguments, or return the usual one of the tool."""
    given = arguments.pop(CALL_TIMEOUT, None)
    if given is None:
        if tool in _LONG_TOOLS:
            return _MOST_SECONDS
        waits = [value for name in _WAIT_ARGUMENTS if _is_number(value := arguments.get(name))]
        return min(_USUAL_SECONDS + max([0, *waits]) / 1000, _MOST_SECONDS)
    if not _is_number(given) or not _LEAST_SECONDS <= given / 1000 <= _MOST_SECONDS:
        raise ClawError(
            "TOOL_PAYLOAD_INVALID",
            f"{CALL_TIMEOUT} must be a number from {_LEAST_SECONDS * 1000:.0f} to {_MOST_SECONDS * 1000:.0f}",
            operation="call",
            target=tool,
        )
    return given / 1000


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _protocol_error(error: ClawError | None, text: str = "") -> MCPError:
    """The error of a resource that cannot be read."""
    if error is None:
        return MCPError(types.INTERNAL_ERROR, text)
    return MCPError(types.INVALID_PARAMS, f"{error.code}: {error.message}", error.document())
