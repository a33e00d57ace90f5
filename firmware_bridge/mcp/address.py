"""`mcp:COMMAND` and `mcp:URL`: where a server is, and how long its calls may take."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass

from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import without_password

SCHEME = "mcp"
CALL_SECONDS = 60.0
"""Time limit of a call where the address states none, s."""
FORM = "write mcp:'PROGRAM ARGS' or mcp:https://HOST/PATH"
_SECONDS = re.compile(r"#seconds=(\d+(?:\.\d+)?)$")


@dataclass(frozen=True, slots=True)
class McpAddress:
    """A server's address.

    Attributes:
        name: the address as it is shown.
        url: of a server that is running; None for a command.
        command: the program and its arguments, for a server on its standard streams.
        seconds: time limit of a call, s.
    """

    name: str
    url: str | None
    command: tuple[str, ...]
    seconds: float


def parse_mcp_address(address: str) -> McpAddress:
    """Parse `mcp:COMMAND` or `mcp:http[s]://...`, either with `#seconds=S` behind it.

    Raises:
        LinkError: it names neither a URL nor an existing program.
    """
    text, address = address.removeprefix(f"{SCHEME}:").strip(), without_password(address)
    limit = _SECONDS.search(text)
    seconds = CALL_SECONDS if limit is None else float(limit[1])
    if limit is not None:
        text = text[: limit.start()].strip()
    if seconds <= 0:
        raise LinkError(f"{address}: seconds must be above 0")
    if re.match(r"https?://[^/]", text):
        return McpAddress(without_password(f"{SCHEME}:{text}"), text, (), seconds)
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise LinkError(f"{address}: {error}") from None
    if not command:
        raise LinkError(f"{address}: {FORM}")
    if shutil.which(command[0]) is None:
        raise LinkError(f"{address}: there is no program {command[0]!r}; {FORM}")
    return McpAddress(f"{SCHEME}:{text}", None, tuple(command), seconds)
