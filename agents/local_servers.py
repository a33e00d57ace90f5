"""Servers of local models at their usual addresses on this machine: Ollama and LM Studio."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.backends.http_request import RequestError, TooLargeError, get
from agents.deadline import Deadline
from agents.errors import AgentSpecError
from core_eval.text.foreign_json import ForeignJsonError, parse_json

SECONDS = 5.0
"""Time in which a server must list its models."""


@dataclass(frozen=True)
class LocalServer:
    """One kind of server.

    Attributes:
        variable: the environment variable with another address, as HOST, HOST:PORT or a URL.
        port: the usual one.
        models: the path that lists models.
        entries, name: the keys of the list, and of a model's name in it.
        start: how a person starts the server.
    """

    variable: str
    port: int
    models: str
    entries: str
    name: str
    start: str

    @property
    def address(self) -> str:
        """The server's address, a URL without a path."""
        given = os.environ.get(self.variable, "").strip().rstrip("/") or "localhost"
        # Ollama's own variable is also what it listens at: all addresses, which none can be asked at.
        given = given.replace("0.0.0.0", "localhost")
        scheme, mark, rest = given.rpartition("://")
        host = rest if ":" in rest or mark else f"{rest}:{self.port}"
        return f"{scheme or 'http'}://{host}"


LOCAL_SERVERS: Mapping[str, LocalServer] = {
    "ollama": LocalServer("OLLAMA_HOST", 11434, "/api/tags", "models", "name", "`ollama serve`"),
    "lmstudio": LocalServer("LMSTUDIO_HOST", 1234, "/v1/models", "data", "id", "`lms server start`"),
}


def server_spec(kind: str, model: str | None) -> str:
    """Return the specification of a model behind such a server.

    Raises:
        AgentSpecError: no model is named; with the names of those that the server has.
    """
    if not model:
        names = ", ".join(served_models(kind)) or "none"
        raise AgentSpecError(f"{kind}: names no model; the server has {names}: write {kind}:NAME")
    return f"openai:{LOCAL_SERVERS[kind].address}/v1#{model}"


def served_models(kind: str) -> dict[str, int | None]:
    """Return the models that such a server has, with their sizes in bytes where it states them.

    Raises:
        AgentSpecError: no server answers, or it answers with something else.
    """
    server = LOCAL_SERVERS[kind]
    try:
        answer = get(f"{server.address}{server.models}", {}, Deadline(SECONDS))
        listed: Any = parse_json(answer.body)
        entries = listed[server.entries]
        return {str(one[server.name]): _size(one) for one in entries}
    except (RequestError, TimeoutError):
        raise AgentSpecError(
            f"{kind}: no server answers at {server.address}: start it with {server.start}, or set "
            f"{server.variable}"
        ) from None
    except (TooLargeError, ForeignJsonError, KeyError, TypeError):
        raise AgentSpecError(
            f"{kind}: {server.address}{server.models} lists no models: is it {kind}?"
        ) from None


def _size(entry: Mapping[str, Any]) -> int | None:
    size = entry.get("size")
    return size if isinstance(size, int) and not isinstance(size, bool) else None
