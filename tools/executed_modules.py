"""Trace flows through the package: the modules they execute and import, and the calls they make.

    python tools/executed_modules.py clawperator click --text Display

lists the modules that a command executes, in the order they are entered, and discards its output.
``measure_flows`` runs each flow of ``FLOWS`` on a simulated phone that it starts and stops, for ``make shape``.

A module is executed when one of its functions runs; module and class bodies do not count, the functions that
they call at import do. It is imported when it is loaded at the end. A call is a call of a Python function of the
package in any thread. A generator counts again for each value it yields, and before Python 3.12 a comprehension
is a function. A command is traced from its dispatch to its end. A request is traced from the client's call to its
answer, in a server that has answered the same request before.
"""

import asyncio
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple
from unittest.mock import patch

PACKAGE = "clawperator"
SETTINGS = "com.android.settings"
SERIAL = "claw-1"
_SECONDS = 30

Client = Callable[..., Awaitable[Any]]


class Trace:
    """The calls of each module of the package, in the order the modules are entered."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.is_paused = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Trace this thread, and the threads that it starts."""
        threading.setprofile(self._hook)
        sys.setprofile(self._hook)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _hook(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not self.is_paused:
            name = frame.f_globals.get("__name__", "")
            # Module and class bodies do not have the flag.
            if name.partition(".")[0] == PACKAGE and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                self.calls[name] += 1


# How flows run


def run_command(trace: Trace, program: str, *arguments: str) -> int:
    """Run a command in this process and return its exit code."""
    if program == "claw":
        from clawperator.cli.claw.dispatch import run
    else:
        from clawperator.cli.dispatch import run
    with open(os.devnull, "w", encoding="utf-8") as nowhere, trace.running():
        out, sys.stdout = sys.stdout, nowhere
        try:
            return run(list(arguments))
        finally:
            sys.stdout = out


def send_requests(trace: Trace, *requests: tuple[str, dict[str, Any]]) -> int:
    """Send requests to the HTTP application; only the last one is traced."""

    async def send(client: Client) -> None:
        for path, body in requests:
            trace.calls.clear()
            await client("POST", path, json=body)

    return _with_client(trace, send)


def touch_page(trace: Trace, *touches: tuple[int, int, str]) -> int:
    """Touch elements while a client watches the screen; only the last touch is traced.

    A touch is a point and the label of the element there. It ends when the client has the screen after it. Looks
    at the screen in between count, so the calls of two runs may differ by about 1 %.
    """

    async def touch(client: Client) -> None:
        state: dict[str, Any] = {"stateId": "", "screenId": ""}
        for x, y, label in ((0, 0, ""), *touches):
            trace.calls.clear()
            if label:
                done = await client("POST", "/touch", json={"kind": "tap", "x": x, "y": y})
                if label not in done["command"]:
                    raise SystemExit(f"{label} is not at {x}, {y}: {done['command']}")
            before = state["screenId"]
            while state["screenId"] == before:
                state = await client("GET", "/screen", params={"since": state["stateId"], "waitMs": 5_000})

    return _with_client(trace, touch)


def _with_client(trace: Trace, work: Callable[[Client], Awaitable[None]]) -> int:
    """Run ``work`` with a client of the HTTP application, both in this process."""
    import httpx

    from clawperator.agent.turns.assembly import AgentOptions
    from clawperator.serve.access import open_access
    from clawperator.serve.http.server import HttpServer, ServeOptions

    server = HttpServer(open_access(AgentOptions(folder=os.getcwd(), include_mcp=False)), ServeOptions(port=0))
    with open(server.token_file, encoding="ascii") as file:
        headers = {"Authorization": f"Bearer {file.read().strip()}"}

    async def serve() -> None:
        transport, url = httpx.ASGITransport(server.app), server.address.url
        async with httpx.AsyncClient(transport=transport, base_url=url, headers=headers) as client:

            async def request(method: str, path: str, **options: Any) -> Any:
                answer = await client.request(method, path, **options)
                if answer.status_code != 200:
                    raise SystemExit(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
                return answer.json()

            server.app.services.screens.bind()
            await work(request)
            trace.is_paused = True
            server.app.stop()

    return _run_limited(trace, serve)


def call_tools(trace: Trace, *calls: tuple[str, dict[str, Any]]) -> int:
    """Call tools of the MCP server with the client of the official SDK; only the last call is traced."""
    import mcp.client.client as mcp

    from clawperator.agent.turns.assembly import AgentOptions
    from clawperator.serve.access import open_access
    from clawperator.serve.mcp.server import make_server

    server = make_server(open_access(AgentOptions(folder=os.getcwd())))

    async def call() -> None:
        async with mcp.Client(server) as client:
            for tool, arguments in calls:
                trace.calls.clear()
                result: Any = await client.call_tool(tool, arguments)
                if result.is_error:
                    raise SystemExit(f"{tool} failed: {result.content}")
            trace.is_paused = True

    return _run_limited(trace, call)


def _run_limited(trace: Trace, work: Callable[[], Awaitable[None]]) -> int:
    async def limited() -> None:
        async with asyncio.timeout(_SECONDS):
            await work()

    with trace.running():
        asyncio.run(limited())
    return 0


class Flow(NamedTuple):
    """A flow: how it runs, with its arguments, and the most modules it may execute and calls it may make."""

    name: str
    run: Callable[..., int]
    arguments: tuple[Any, ...]
    most_modules: int | None = None
    most_calls: int | None = None


_DARK_THEME = (540, 890, "Dark theme")
_TAP = ("tap", {"label": "Display"})
FLOWS = (
    Flow("version", run_command, ("clawperator", "version")),
    Flow("click --text", run_command, ("clawperator", "click", "--text", "Display"), most_modules=36),
    Flow("snapshot --view outline", run_command, ("clawperator", "snapshot", "--view", "outline")),
    Flow("recording export", run_command, ("clawperator", "recording", "export", "--input", "demo.ndjson")),
    Flow(
        "recording compare",
        run_command,
        ("clawperator", "recording", "compare", "--baseline", "demo.export.json", "--result", "demo.export.json"),
    ),
    Flow("claw bootstrap", run_command, ("claw", "bootstrap", "open settings"), most_modules=80),
    Flow("MCP tap", call_tools, (_TAP, ("press", {"key": "back"}), _TAP), most_modules=48),
    Flow("HTTP POST /snapshot", send_requests, (("/snapshot", {}), ("/snapshot", {}))),
    Flow("page touch", touch_page, ((540, 1700, "Display"), _DARK_THEME, _DARK_THEME), most_calls=6_000),
    Flow("report", run_command, ("clawperator", "report", "demo.ndjson", "--out", "demo.html")),
)


class Measured(NamedTuple):
    """What a flow did."""

    executed: int
    imported: int
    calls: int


def measure_flows(flows: Iterable[Flow] = FLOWS) -> Iterator[tuple[Flow, Measured]]:
    """Run each flow in a process of its own, on a simulated phone with Settings in front."""
    from clawperator import connect, start_phone

    with tempfile.TemporaryDirectory(prefix="clawperator-flows-") as folder:
        # Devices of this computer are not used.
        own = {"CLAWPERATOR_HOME": os.path.join(folder, "home"), "ANDROID_ADB_SERVER_PORT": "1"}
        with patch.dict(os.environ, own), start_phone(SERIAL), connect() as phone:
            with phone.recording("demo") as recording:
                phone.open_app(SETTINGS)
                phone.click("Display")
            recording.pull(folder)
            for flow in flows:
                phone.close_app(SETTINGS)
                phone.open_app(SETTINGS)
                yield flow, _measure(flow, folder)


def _measure(flow: Flow, folder: str) -> Measured:
    command = [sys.executable, os.path.abspath(__file__), "--flow", flow.name]
    ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    if ran.returncode:
        raise SystemExit(f"{flow.name} failed: {ran.stderr.decode()}")
    return Measured(*json.loads(ran.stdout))


def main(argv: list[str]) -> int:
    trace = Trace()
    if argv[0] == "--flow":
        flow = next(flow for flow in FLOWS if flow.name == argv[1])
        code = flow.run(trace, *flow.arguments)
        imported = sum(name.partition(".")[0] == PACKAGE for name in sys.modules)
        print(json.dumps(Measured(len(trace.calls), imported, trace.calls.total())))
        return code
    code = run_command(trace, *argv)
    for name in trace.calls:
        print(name.removeprefix(f"{PACKAGE}."), file=sys.stderr)
    print(f"{len(trace.calls)} modules, {trace.calls.total()} calls, exit code {code}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
