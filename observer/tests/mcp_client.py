"""Lists the tools of an observer and calls each that reads, with the Python SDK of MCP.

    python3 mcp_client.py http://127.0.0.1:9414/mcp ID SEQ

ID is the number of a process, SEQ that of a crash. The SDK checks each result against the schema
that the tool tells. Prints the names of the tools, one in a line.
"""

import asyncio
import sys

from mcp import Client

# No behaviour has to offer its state.
MAY_FAIL = {"state"}


async def main(url: str, process: int, crash: int) -> None:
    async with Client(url) as client:
        tools = (await client.list_tools()).tools
        for tool in tools:
            needed = tool.input_schema.get("required", [])
            arguments = {"id": process, "seq": crash}
            arguments = {name: arguments[name] for name in needed}
            result = await client.call_tool(tool.name, arguments)
            if result.is_error:
                assert tool.name in MAY_FAIL, (tool.name, result)
            else:
                assert isinstance(result.structured_content, dict), (tool.name, result)
                assert tool.annotations and tool.annotations.read_only_hint, tool
            print(tool.name)
        wrong = await client.call_tool("process_info", {"id": 0})
        assert wrong.is_error and "no_process" in wrong.content[0].text, wrong


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
