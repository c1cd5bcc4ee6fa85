"""The MCP server: requests of clients to the agent's tools, its resources and its prompt."""

import os
import select
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard, cast
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from msgspec.structs import replace

from clawperator import __version__
from clawperator._base.files import file_error, open_regular
from clawperator._base.secrets import known_secrets
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline, timeout_error
from clawperator.agent.confinement import WorkingFolder, confine, confining
from clawperator.agent.instructions import MCP_INSTRUCTIONS, agent_instructions
from clawperator.agent.model_tools import COMPACT_TOOLS, CompactSession, CompactTool, FinishedTool
from clawperator.agent.ports import invalid_call, unknown_tool
from clawperator.errors import ClawError
from clawperator.operations.call import TOOL, Caller, approve
from clawperator.operations.model import find_operation
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.serve.access import ServerAccess
from clawperator.serve.mcp.calls import UNTRUSTED, CallRunner, McpClient, McpClients, error_result, tool_result

if TYPE_CHECKING:
    from clawperator.recording.events import Event

SCREEN_URI = "clawperator://screen"
FILE_URI = "clawperator://files/"
# Folders of the working folder that are searched, and the endings of the files in them.
_FOLDERS = ("recordings", ".")
_ENDINGS = {".ndjson": ("recording", "application/x-ndjson"), ".export.json": ("export", "application/json")}
_MOST_FILES = 200
_MOST_BYTES = 1_000_000
# What a pipe takes without blocking once it can be written to.
_AT_ONCE = select.PIPE_BUF
# Names the device of a call, when the server is not started for one device.
DEVICE = "device"
# Limits the time of a call.
CALL_TIMEOUT = "callTimeoutMs"
_STRING = {"type": "string"}


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": [*required]} if required else {})}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


# What clients assume of a tool that does not say otherwise.
_USUAL_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
# What the structured content of these tools contains.
OUTPUT_SCHEMAS: dict[str, dict[str, Any]] = {
    "snapshot": _object(
        *("snapshotId", "outline"),
        snapshotId=_STRING,
        package={"type": ["string", "null"]},
        kind={"enum": ["screen", "changes"]},
        outline=_STRING,
    ),
    "query": _object(
        count={"type": "integer"},
        matches=_array(_object(ref=_STRING, role=_STRING, label=_STRING)),
        text={"type": ["string", "array"]},
        label=_STRING,
        value=_STRING,
    ),
    "devices": _object("devices", devices=_array(_object(serial=_STRING, state=_STRING))),
}
_NOTES_OF = "snapshot"
_DEVICE_NOTE = "device: serial of the phone, for this and other tools; needed when there are several."
_TIMEOUT_NOTE = f"{CALL_TIMEOUT}: time limit of the call, for every tool."
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


# Resources: recordings and exports in the working folder


def find_files(folder: WorkingFolder) -> list[types.Resource]:
    """The recordings and exports of the folders that the policy in force lets a client list, the newest first."""
    found = sorted(_files(folder), reverse=True)[:_MOST_FILES]
    return [
        types.Resource(uri=FILE_URI + quote(path), name=path, description=kind, mime_type=media_type, size=size)
        for _, path, (kind, media_type), size in found
    ]


def _files(folder: WorkingFolder) -> Iterator[tuple[float, str, tuple[str, str], int]]:
    """The time, the path below the folder, the kind with its media type, and the size of each file."""
    for name in _FOLDERS:
        try:
            entries = list(os.scandir(_approved("recording list", folder, folder=name).folder))
        except (ClawError, OSError):  # denied, or there is no such folder
            continue
        for entry in entries:
            kind = next((kind for ending, kind in _ENDINGS.items() if entry.name.endswith(ending)), None)
            try:
                if kind is None or not entry.is_file(follow_symlinks=False):
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            path = os.path.normpath(os.path.join(name, entry.name))
            yield status.st_mtime, path, kind, status.st_size


def read_file(uri: str, folder: WorkingFolder) -> tuple[str, str]:
    """The media type and the text of a recording or an export in the working folder, with its secrets masked."""
    path = unquote(uri.removeprefix(FILE_URI))
    kind = next((kind for ending, kind in _ENDINGS.items() if path.endswith(ending)), None)
    if not uri.startswith(FILE_URI) or kind is None or "\0" in path:
        message, hint = f"unknown resource {uri[:200]!r}", f"List the resources. The screen is {SCREEN_URI}."
        raise ClawError("RESOURCE_NOT_FOUND", message, hint=hint, operation="read", target=uri[:200])
    whole = _approved("recording describe", folder, input=path).input
    try:
        with open_regular(whole) as file:
            size = os.fstat(file.fileno()).st_size
    except OSError as e:
        raise file_error("FILESYSTEM_FAILED", "read", path, e) from e
    if size > _MOST_BYTES:
        message = f"{path} is larger than {_MOST_BYTES} bytes"
        hint = f'Call recording with {{"do": "recording_describe", "input": "{path}"}}.'
        raise ClawError("PAYLOAD_TOO_LARGE", message, hint=hint, operation="read", target=path)
    return kind[1], (_recording_text(whole) if path.endswith(".ndjson") else _export_text(whole)).decode()


def _approved(name: str, folder: WorkingFolder, /, **params: str) -> Any:
    """The parameters of an operation with its paths in the folder; ``PERMISSION_DENIED`` when it may not run."""
    operation = find_operation(name)
    caller = Caller(entry=TOOL, folder=folder.path, confine=partial(confine, folder))
    return approve(operation, operation.params(**params), caller).params


def _recording_text(path: str) -> bytes:
    """The lines of a recording, masked. ``RECORDING_PARSE_FAILED`` for a file with lines that cannot be masked."""
    from clawperator.recording.masking import PasswordMasker
    from clawperator.recording.reader import Recording

    with Recording(path) as recording:

        def build(events: "Iterator[Event]") -> list[Any]:
            masker = PasswordMasker(known_secrets())
            lines: list[Any] = [recording.header]
            for event in events:
                masker.mask(event)
                masker.mask_snapshot(event)
                lines.append(event)
            return lines

        return b"".join(msgspec.json.encode(line) + b"\n" for line in recording.in_order(build))


def _export_text(path: str) -> bytes:
    from clawperator.recording.export import load_demonstration
    from clawperator.recording.writing import pretty_json

    return pretty_json(load_demonstration(path, snapshots="include"))


# stdin and stdout


@contextmanager
def claimed_streams() -> Iterator[tuple["LineReader", "LineWriter"]]:
    """The streams of the client. The descriptors are restored at the end.

    Meanwhile descriptor 0 is the null device and descriptor 1 is stderr: what a skill or a library reads and
    prints does not reach the client.
    """
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield LineReader(source), LineWriter(target)
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(nothing)
        # A thread may still read: the descriptors of the client are not closed and used for something else.


class LineReader:
    """Lines of a descriptor, each read in a thread."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "rb", closefd=False)

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            line = await anyio.to_thread.run_sync(self._file.readline, abandon_on_cancel=True)
            if not line:
                return
            yield line.decode("utf-8", "replace")


class LineWriter:
    """Writes texts to a descriptor, completely and in order. ``flush`` has nothing to do.

    A small text is written at once; only what a pipe may not take is written in a thread, which would cost each
    answer a part of a millisecond.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        if len(data) <= _AT_ONCE and self._is_ready():
            os.write(self._descriptor, data)
            return
        with anyio.CancelScope(shield=True):  # half a message would damage the next one
            await anyio.to_thread.run_sync(self._write_all, data)

    async def flush(self) -> None:
        """Everything is written already."""

    def _is_ready(self) -> bool:
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLOUT)
        events = waiting.poll(0)
        return bool(events) and events[0][1] == select.POLLOUT

    def _write_all(self, data: bytes) -> None:
        view: Any = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]


# Tools


def define(tool: CompactTool, *, choose_device: bool) -> types.Tool:
    """The definition of a compact tool. With ``choose_device`` a call may name its device."""
    schema = tool.schema()
    common: dict[str, Any] = {CALL_TIMEOUT: {"type": "integer"}}
    notes = [_TIMEOUT_NOTE]
    if choose_device and takes_device(tool.name):
        common[DEVICE] = _STRING
        notes.append(_DEVICE_NOTE)
    hints = {name: value for name, value in tool.annotations.items() if value != _USUAL_HINTS[name]}
    return types.Tool(
        name=tool.name,
        description="\n".join((tool.description, *(notes if tool.name == _NOTES_OF else ()))),
        input_schema={**schema, "properties": {**schema["properties"], **common}},
        output_schema=OUTPUT_SCHEMAS.get(tool.name),
        annotations=types.ToolAnnotations.model_validate(hints),
    )


def takes_device(name: str) -> bool:
    """Whether a call of the tool is about one device."""
    return name != "devices"


# The server


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
        self._folder = access.options.working_folder
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
        try:
            finished = await self._run(context, params.name, arguments, device, seconds)
        except TurnCancelledError:  # the time of the call is over
            return error_result(timeout_error("call", params.name))
        return tool_result(params.name, finished, self._client(context).take_notes())

    async def list_resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        screen = types.Resource(
            uri=SCREEN_URI,
            name="screen",
            description="Outline of the current screen. Its text is untrusted.",
            mime_type="text/plain",
        )
        files = await anyio.to_thread.run_sync(self._find_files)
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
        self, context: Any, tool: str, params: dict[str, Any], device: str | None, seconds: float
    ) -> FinishedTool:
        """Run a tool in its turn. A cancelled call leaves a note about what devices still run."""
        client = self._client(context)

        def call(deadline: TurnDeadline, report: Callable[[str], None]) -> FinishedTool:
            own = self._access.context(deadline)
            return client.run(tool, params, replace(own, device=device or own.device, on_progress=report))

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
        try:
            finished = await self._run(context, _LOOK, {}, None, _USUAL_SECONDS)
        except TurnCancelledError:
            raise _protocol_error(timeout_error("read", SCREEN_URI)) from None
        if finished.shown.is_error or finished.shown.screen is None:
            raise _protocol_error(finished.result.error, finished.shown.text)
        return finished.shown.screen.block

    def _find_files(self) -> list[types.Resource]:
        with enforcing(PolicyGate(self._access.policy)), confining(self._folder):
            return find_files(self._folder)

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
        raise invalid_call(tool, f"device {reason}", "Call devices for the serials.")

    def _unknown_tool(self, name: str) -> ClawError:
        if name in COMPACT_TOOLS:
            hint = "Start the server with another permission mode, or allow the tool."
            message = f"{name} is denied: the permissions of this server allow none of its actions"
            return ClawError("PERMISSION_DENIED", message, hint=hint, operation="call", target=name)
        return unknown_tool(name[:128], f"Call one of {', '.join(sorted(self._names))}.")


def _seconds(tool: str, arguments: dict[str, Any]) -> float:
    """Take the time limit of a call out of its arguments, or return the usual one of the tool."""
    given = arguments.pop(CALL_TIMEOUT, None)
    if given is None:
        if tool in _LONG_TOOLS:
            return _MOST_SECONDS
        waits = [value for name in _WAIT_ARGUMENTS if _is_number(value := arguments.get(name))]
        return min(_USUAL_SECONDS + max([0, *waits]) / 1000, _MOST_SECONDS)
    if not _is_number(given) or not _LEAST_SECONDS <= given / 1000 <= _MOST_SECONDS:
        limits = f"{_LEAST_SECONDS * 1000:.0f} to {_MOST_SECONDS * 1000:.0f}"
        raise invalid_call(tool, f"{CALL_TIMEOUT} must be a number from {limits}")
    return given / 1000


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _protocol_error(error: ClawError | None, text: str = "") -> MCPError:
    """The error of a resource that cannot be read."""
    if error is None:
        return MCPError(types.INTERNAL_ERROR, text)
    return MCPError(types.INVALID_PARAMS, f"{error.code}: {error.message}", error.document())
