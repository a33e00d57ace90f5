"""The number of tokens that a conversation may have on a server, where the server states it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agents.backends.chat_server import ChatServer
from agents.deadline import Deadline
from core_eval.text.values import as_object

ASK_SECONDS = 3.0
"""Longest wait for facts about the model, so that a server without them costs little of an episode."""
LEAST_TOKENS = 64
"""Requested where an estimate leaves less: the server knows its limit, and its refusal states it."""
MOST_TOKENS = 2**31
"""A larger number is not taken for a number of tokens."""
CONTEXT = re.compile(r"context (?:length|size|window)\D{0,40}?(\d+)", re.IGNORECASE)
PROMPT = re.compile(
    r"(?<!at least )(?<!\d)(\d+) (?:tokens )?(?:in the messages|in your prompt|input tokens|from the input)"
    r"|input \((\d+) tokens",
    re.IGNORECASE,
)
"""vLLM's newer "at least N input tokens" is no count of them."""


class ServerContext:
    """The context of the model on a server; `tokens` is None where it is not known."""

    def __init__(self, tokens: int | None = None) -> None:
        self.tokens = tokens
        self._asked = tokens is not None

    def ask(self, server: ChatServer, model: str, deadline: Deadline) -> None:
        """Ask the server, once: `/v1/models` of vLLM and llama-server, `/props` of llama-server."""
        if self._asked:
            return
        self._asked = True
        within = Deadline(min(ASK_SECONDS, deadline.left), deadline.cancellation)
        for entry in _entries(server.get(f"{server.url}/models", within), model):
            found = count(entry.get("max_model_len")) or count(as_object(entry.get("meta")).get("n_ctx"))
            if not found and entry.get("owned_by") == "llamacpp":
                settings = as_object(server.get(f"{server.root}/props", within)).get(
                    "default_generation_settings"
                )
                found = count(as_object(settings).get("n_ctx"))
            self.tokens = found or self.tokens

    def ask_ollama(self, server: ChatServer, model: str, deadline: Deadline) -> None:
        """Ask Ollama, which reports loaded models only (`/api/ps`)."""
        within = Deadline(min(ASK_SECONDS, deadline.left), deadline.cancellation)
        for entry in _entries(server.get(f"{server.root}/api/ps", within), model):
            self.tokens = count(entry.get("context_length")) or self.tokens

    def most(self, tokens: int, prompt: int) -> int:
        """Return how many of the wanted tokens an answer may have after a prompt of about that length."""
        if self.tokens is None:
            return tokens
        return min(tokens, max(LEAST_TOKENS, self.tokens - prompt))

    def smaller(self, refusal: str, tokens: int, prompt: int) -> int | None:
        """Return how many tokens fit, by the numbers in a refusal of more; None if none do."""
        context = _number(re.search(r'"n_ctx"\s*:\s*(\d+)', refusal) or CONTEXT.search(refusal))
        if not context:
            return None
        self.tokens = context
        exact = re.search(r'"n_prompt_tokens"\s*:\s*(\d+)', refusal) or PROMPT.search(refusal)
        fitting = context - (_number(exact) or prompt)
        return fitting if 0 < fitting < tokens else None


def count(value: Any) -> int:
    """Return a number of tokens; 0 for invalid values."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 <= value < MOST_TOKENS else 0


def _entries(answer: Any, model: str) -> Iterator[dict[str, Any]]:
    """Yield the entry of a model in a server's list, else that of its only model."""
    listed = as_object(answer)
    rows = listed.get("data") or listed.get("models")
    entries = [entry for entry in rows if isinstance(entry, dict)] if isinstance(rows, list) else []
    named = [entry for entry in entries if model in (entry.get("id"), entry.get("name"), entry.get("model"))]
    yield from (named or entries)[:1] if named or len(entries) == 1 else []


def _number(found: re.Match[str] | None) -> int:
    text = next((group for group in found.groups() if group), "") if found else ""
    return int(text) if text and len(text) <= 10 else 0
