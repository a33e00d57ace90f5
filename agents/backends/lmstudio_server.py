"""LM Studio by its own API (0.4 and later): a model loaded with a context; the rest is chat completions."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Mapping
from typing import Any

from agents.agent import AgentSpecError, BackendError
from agents.backends.chat_server import ChatServer
from agents.backends.openai_backend import OpenAIBackend
from agents.backends.server_context import count
from agents.deadline import Deadline
from agents.options import ModelOptions

MODELS = "/api/v1/models"
ASK_SECONDS, LOAD_SECONDS = 10.0, 600.0


class LmStudioBackend(OpenAIBackend):
    """A model of LM Studio. What is loaded for it is unloaded again; an instance with the context stays."""

    def __init__(self, address: str, model: str, options: ModelOptions, usual: int) -> None:
        """Load the model with the context of the options; else with `usual` tokens, or what it takes.

        Args:
            address: of the server, a URL without a path.
            model: its key.
            options: of the requests.
            usual: tokens of context.

        Raises:
            AgentSpecError: the server has no such model, or cannot load it so.
        """
        self._own = ChatServer(address, key_variable=options.api_key_env, headers=options.header)
        self._loaded: str | None = None
        instance, context = self._with_context(model, options.n_ctx, usual)
        super().__init__(f"{address}/v1", instance, options.model_copy(update={"n_ctx": context}))
        self.name = f"lmstudio:{model}"

    def close(self) -> None:
        """Unload what was loaded; not as one of several processes, whose others may still ask it."""
        if self._loaded is not None and multiprocessing.parent_process() is None:
            with contextlib.suppress(AgentSpecError):
                self._post(f"{MODELS}/unload", {"instance_id": self._loaded})
            self._loaded = None

    def _with_context(self, model: str, asked: int | None, usual: int) -> tuple[str, int | None]:
        """Return the instance to ask, and its context; None where this LM Studio does not tell it."""
        entry = self._entry(model)
        if entry is None:
            if asked is not None:
                raise AgentSpecError(
                    f"lmstudio:{model}: this LM Studio takes no n_ctx by its server, which those from 0.4 on "
                    f"do: leave n_ctx out, and load it with `lms load {model} --context-length {asked}`"
                )
            return model, None
        most = count(entry.get("max_context_length"))
        if asked is not None and 0 < most < asked:
            raise AgentSpecError(f"lmstudio:{model}: n_ctx={asked}: the model takes {most} tokens at most")
        wanted = asked or min(usual, most or usual)
        instances = [one for one in entry.get("loaded_instances") or () if isinstance(one, dict)]
        for one in instances:
            held = count((one.get("config") or {}).get("context_length"))
            if held >= wanted if asked is None else held == wanted:
                return str(one["id"]), held
        # Two instances of one model would take its memory twice.
        for one in instances:
            self._post(f"{MODELS}/unload", {"instance_id": one.get("id")})
        self._loaded = str(self._post(f"{MODELS}/load", {"model": model, "context_length": wanted}))
        return self._loaded, wanted

    def _entry(self, model: str) -> Mapping[str, Any] | None:
        """Return what the server tells of a model; None where it is older than its own API.

        Raises:
            AgentSpecError: it has no such model.
        """
        listed = self._own.get(f"{self._own.url}{MODELS}", Deadline(ASK_SECONDS))
        models = listed.get("models") if isinstance(listed, dict) else None
        if not isinstance(models, list):
            return None
        entries = [one for one in models if isinstance(one, dict)]
        for one in entries:
            loaded = [each.get("id") for each in one.get("loaded_instances") or () if isinstance(each, dict)]
            if model in (one.get("key"), *loaded):
                return one
        names = ", ".join(str(one.get("key")) for one in entries) or "none"
        raise AgentSpecError(f"lmstudio:{model}: the server has no such model; it has {names}")

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        try:
            answer = self._own.post(path, body, Deadline(LOAD_SECONDS))
        except (BackendError, TimeoutError) as error:
            raise AgentSpecError(f"lmstudio: {error or 'no answer in time'}") from None
        return answer.get("instance_id") if isinstance(answer, dict) else None
