"""An MCP client: start the server over stdio, list its tools, operate a phone.

pip install 'clawperator[mcp]'
python examples/mcp_client.py
"""

import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import clawperator


async def operate(serial: str) -> None:
    arguments = ["-m", "clawperator", "mcp", "--device", serial]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))) as client:
        tools = await client.list_tools()
        print(len(tools.tools), "tools")
        await client.call_tool("app", {"do": "open_app", "applicationId": "com.android.settings"})
        result = await client.call_tool("tap", {"label": "Display"})
        print(result.content[0].text.splitlines()[0])
        failed = await client.call_tool("tap", {"label": "No such label"})
        print("failed:", failed.is_error)


def main() -> None:
    with clawperator.start_phone("mcp-client") as running:
        anyio.run(operate, running.serial)


if __name__ == "__main__":
    main()
