"""An MCP server over stdio whose first argument selects its behaviour. Needs nothing but Python."""

import json
import os
import signal
import sys
import time
from typing import Any

MODES = (
    "good",
    "slow",
    "noisy",
    "dies",
    "mute",
    "paged",
    "endless",
    "stubborn",
    "asks",
    "old",
    "strange",
    "silent",
    "stateless",
    "newest",
    "refuses",
)
TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Say it\n  again.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "fail", "annotations": {"destructiveHint": True, "readOnlyHint": True}},
    {"name": "refuse", "inputSchema": {"type": "object"}},
    {"name": "huge", "annotations": {"openWorldHint": True}},
    {"name": "env"},
    {"name": "pid"},
    {"name": "sleep"},
    {"name": "die"},
    {"name": "half"},
]
ERRORS = {"fail": "it went wrong", "wrong": "2 errors\n  the city is missing"}
STATELESS_TOOLS: list[dict[str, Any]] = [
    {"name": "echo"},
    {"name": "later", "execution": {"taskSupport": "required"}},
    {"name": "wants", "execution": {"taskSupport": "optional"}},
    {"name": "wrong"},
]
ODD_TOOLS: list[Any] = [
    {"name": "get.it"},
    {"name": "get_it"},
    {"name": "GET_IT"},
    {"name": "get_it"},
    {"name": ""},
    {"name": 5},
    "no tool",
    {"name": "wéird name", "title": "A title", "annotations": "none"},
]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def noise(mode: str) -> None:
    if mode == "noisy":
        sys.stdout.write("Starting up...\n\n{not json}\n[1, 2]\n\xff\n42\n")
        send({"method": "notifications/message", "params": {"level": "info"}})
        send({"id": 987, "result": {"of": "no request"}})


def text(value: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], "isError": is_error}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    if name == "echo":
        return {**text(f"{arguments['text']}\nand more"), "structuredContent": {"echoed": arguments["text"]}}
    if name in ERRORS:
        return text(ERRORS[name], is_error=True)
    if name == "huge":
        return text("x" * int(arguments.get("size", 2_000_000)))
    if name == "wants":
        return {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}}
    if name == "half":
        return text("\ud83d")
    if name == "env":
        return text(json.dumps(dict(os.environ)))
    if name == "pid":
        return text(str(os.getpid()))
    if name == "sleep":
        time.sleep(600)
    if name == "die":
        sys.stderr.write(f"panic: token {os.environ.get('SECRET_TOKEN')} is bad\n")
        sys.stderr.flush()
        os._exit(3)
    return None


def answer(mode: str, message: dict[str, Any]) -> None:
    method, params = message["method"], message.get("params", {})
    result: dict[str, Any] | None = None
    if method == "initialize":
        if mode == "dies":
            sys.stderr.write("no licence found\n")
            sys.stderr.flush()
            os._exit(7)
        if mode == "mute":
            return
        version = {"old": "2024-11-05", "strange": "1999-01-01"}.get(mode, params["protocolVersion"])
        result = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": mode, "version": "1"},
        }
    elif method == "tools/list":
        result = list_tools(mode, params.get("cursor"))
        if mode == "asks":
            ask_back()
    elif method == "tools/call":
        result = call(params["name"], params["arguments"])
    noise(mode)
    if result is None:
        send(
            {"id": message["id"], "error": {"code": -32602, "message": f"cannot do {params.get('name', method)}"}}
        )
    else:
        send({"id": message["id"], "result": result})


def answer_without_handshake(mode: str, message: dict[str, Any]) -> None:
    """As a server that knows no handshake, and wants to be required in each request who asks."""
    method, meta = message["method"], message["params"].get("_meta", {})
    required = {"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"}
    if mode == "refuses" or method == "initialize":
        send({"id": message["id"], "error": {"code": -32601, "message": f"unknown method {method}"}})
    elif not required <= set(meta):
        send({"id": message["id"], "error": {"code": -32602, "message": "missing client info"}})
    elif method == "server/discover":
        versions = ["2026-07-28" if mode == "stateless" else "2999-01-01"]
        send({"id": message["id"], "result": {"supportedVersions": versions, "capabilities": {}}})
    else:
        answer(mode, message)


def list_tools(mode: str, cursor: str | None) -> dict[str, Any]:
    if mode == "paged":
        at = int(cursor or 0)
        more = {"nextCursor": str(at + 2)} if at + 2 < len(TOOLS) else {}
        return {"tools": TOOLS[at : at + 2], **more}
    if mode == "endless":
        return {"tools": [{"name": f"t{cursor}"}], "nextCursor": "again"}
    if mode == "old":
        return {"tools": ODD_TOOLS}
    if mode == "stateless":
        return {"tools": STATELESS_TOOLS, "resultType": "complete"}
    return {"tools": TOOLS}


def ask_back() -> None:
    """Send requests to the client, and exit if an answer is wrong."""
    send({"id": "p", "method": "ping"})
    assert json.loads(sys.stdin.readline()) == {"jsonrpc": "2.0", "id": "p", "result": {}}
    send({"id": "r", "method": "roots/list"})
    assert "error" in json.loads(sys.stdin.readline())


def main() -> None:
    mode = sys.argv[1]
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "slow":
        time.sleep(0.3)
    if mode == "silent":
        time.sleep(600)
    noise(mode)
    is_ready = False
    for line in sys.stdin:
        message = json.loads(line)
        if mode in ("stateless", "newest", "refuses"):
            answer_without_handshake(mode, message)
        elif message["method"] == "notifications/initialized":
            is_ready = True
        elif "id" in message:
            assert is_ready or message["method"] == "initialize"
            answer(mode, message)
    while mode == "stubborn":
        time.sleep(1)


if __name__ == "__main__":
    main()
