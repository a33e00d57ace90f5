"""Servers of local models at their usual addresses on this machine: Ollama and LM Studio.

Each is found, lists its models, and is given a context.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.agent import AgentSpecError
from agents.backends.http_request import RequestError, TooLargeError, get
from agents.deadline import Deadline
from core_eval.text.foreign_json import ForeignJsonError, parse_json

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.backends.backend import ChatBackend
    from agents.options import ModelOptions

SECONDS = 5.0
"""Time in which a server must list its models."""
CONTEXT = 8192
"""Tokens of context where nothing else is asked for: Ollama's own 4,096 cut the prompts of most rigs."""
LATEST = ":latest"
"""What Ollama adds to a name without a tag."""


@dataclass(frozen=True)
class LocalServer:
    """One kind of server.

    Attributes:
        variable: the environment variable with another address, as HOST, HOST:PORT or a URL.
        port: the usual one.
        lists: paths that list models, the best first; each with the keys of the list, and of a model's name
            and its size, bytes, in it.
        start: how a person starts the server.
    """

    variable: str
    port: int
    lists: tuple[tuple[str, str, str, str], ...]
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
    "ollama": LocalServer("OLLAMA_HOST", 11434, (("/api/tags", "models", "name", "size"),), "`ollama serve`"),
    "lmstudio": LocalServer(
        "LMSTUDIO_HOST",
        1234,
        # Those before 0.4 have the second list alone.
        (("/api/v1/models", "models", "key", "size_bytes"), ("/v1/models", "data", "id", "size")),
        "`lms server start`",
    ),
}


def behind(kind: str, model: str, options: ModelOptions) -> Agent:
    """Return a model behind such a server, with its context: Ollama is told it with each request, and LM
    Studio loads the model with it.

    Raises:
        AgentSpecError: no server answers, or it has no such model, or the model takes no such context.
    """
    from agents.scaffolds.prompted import prompted

    name, address = known_name(kind, model), LOCAL_SERVERS[kind].address
    made = {"ollama": _ollama, "lmstudio": _lmstudio}[kind]
    return prompted(lambda: made(address, name, options), options)


def _ollama(address: str, model: str, options: ModelOptions) -> ChatBackend:
    from agents.backends.ollama_server import OllamaServer, trained_context
    from agents.backends.openai_backend import OpenAIBackend

    own: dict[str, Any] = {"key_variable": options.api_key_env, "headers": options.header}
    most = trained_context(OllamaServer(address, CONTEXT, **own), model)
    if most is not None and options.n_ctx is not None and options.n_ctx > most:
        raise AgentSpecError(f"ollama:{model}: n_ctx={options.n_ctx}: it was trained with {most} tokens")
    n_ctx = options.n_ctx or min(CONTEXT, most or CONTEXT)
    given = options.model_copy(update={"n_ctx": n_ctx})
    backend = OpenAIBackend(address, model, given, server=OllamaServer(address, n_ctx, **own))
    backend.name = f"ollama:{model}"
    return backend


def _lmstudio(address: str, model: str, options: ModelOptions) -> ChatBackend:
    from agents.backends.lmstudio_server import LmStudioBackend

    return LmStudioBackend(address, model, options, CONTEXT)


def known_name(kind: str, model: str) -> str:
    """Return the name of a model as its server lists it.

    Raises:
        AgentSpecError: no server answers, or Ollama has no such model. LM Studio may call it by other names.
    """
    names = served_models(kind)
    if found := next((name for name in (model, f"{model}{LATEST}") if name in names), None):
        return found
    if kind == "lmstudio":
        return model
    has = ", ".join(names) or "none"
    raise AgentSpecError(
        f"ollama:{model}: the server has no such model; it has {has} (`ollama pull {model}`)"
    )


def served_models(kind: str) -> dict[str, int | None]:
    """Return the models that such a server has, with their sizes in bytes where it states them.

    Raises:
        AgentSpecError: no server answers, or it answers with something else.
    """
    server = LOCAL_SERVERS[kind]
    for path, entries, name, size in server.lists:
        try:
            answer = get(f"{server.address}{path}", {}, Deadline(SECONDS))
            listed: Any = parse_json(answer.body)
            return {str(one[name]): _size(one.get(size)) for one in listed[entries] if _writes(one)}
        except (RequestError, TimeoutError):
            raise AgentSpecError(
                f"{kind}: no server answers at {server.address}: start it with {server.start}, or set "
                f"{server.variable}"
            ) from None
        except (TooLargeError, ForeignJsonError, KeyError, TypeError, AttributeError):
            continue
    tried = " and ".join(path for path, *_ in server.lists)
    raise AgentSpecError(f"{kind}: {server.address} lists no models at {tried}: is it {kind}?")


def _writes(entry: Mapping[str, Any]) -> bool:
    """Return whether a listed model writes texts; some only turn them into vectors."""
    can = entry.get("capabilities")
    vectors = entry.get("type") == "embedding" or str(entry.get("id", "")).startswith("text-embedding-")
    return not vectors and not (isinstance(can, list) and can and "completion" not in can)


def _size(size: Any) -> int | None:
    return size if isinstance(size, int) and not isinstance(size, bool) else None
