"""A small MCP server of the SDK, for tests of `mcp:` rigs: a shop with a stock, on stdio or HTTP.

`python mcp_shop.py [PORT] [LEDGER]`: with a port it serves streamable HTTP on loopback. Each change of the
stock, and each cancelled call, is a line in the ledger.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel

LEDGER = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(os.devnull)
stock = {"apples": 10, "pears": 2}
shop = MCPServer("Corner shop", version="1.2", instructions="Look at the stock\nbefore you sell.")


class Line(BaseModel):
    article: str
    count: int


class Stock(BaseModel):
    counts: dict[str, int]
    total: int


def note(text: str) -> None:
    with LEDGER.open("a") as ledger:
        ledger.write(f"{text}\n")


@shop.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_stock() -> Stock:
    """Read how many of each article there are."""
    return Stock(counts=dict(stock), total=sum(stock.values()))


@shop.tool(annotations=ToolAnnotations(destructive_hint=False))
def deliver(article: str, count: int = 1, note_to_us: str | None = None) -> str:
    """Add articles to the stock."""
    stock[article] = stock.get(article, 0) + count
    note(f"deliver {article} {count} {note_to_us}")
    return f"there are {stock[article]} {article}"


@shop.tool(annotations=ToolAnnotations(idempotent_hint=True))
def sell_all(lines: list[Line]) -> str:
    """Sell the lines of an order."""
    for line in lines:
        if stock.get(line.article, 0) < line.count:
            raise ToolError(f"only {stock.get(line.article, 0)} {line.article} are left")
    for line in lines:
        stock[line.article] -= line.count
        note(f"sell {line.article} {line.count}")
    return "sold"


@shop.tool()
async def count_slowly(seconds: float) -> str:
    """Count the stock by hand."""
    note("counting")
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        note("cancelled")
        raise
    return "counted"


@shop.tool()
def burn_down() -> str:
    """End the server."""
    print("the shop has burnt down", file=sys.stderr, flush=True)
    os._exit(3)


@shop.tool()
async def open_counter(context: Context) -> str:
    """Open a second counter, which has a tool of its own."""

    def weigh(article: str) -> float:
        """Weigh an article."""
        return 1.5

    shop.add_tool(weigh)
    shop.remove_tool("deliver")
    await context.notify_tools_changed()
    return "open"


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] != "-":
        shop.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        shop.run("stdio")
