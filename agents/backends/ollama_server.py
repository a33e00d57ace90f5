"""Ollama by its own API: its route of chat completions takes neither a context nor top_k nor min_p.

What is sent and what comes back is turned from and into chat completions. A prompt longer than the context is
an error there, instead of one that is cut without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.agent import AgentSpecError, BackendError
from agents.backends.chat_server import ChatServer
from agents.backends.server_context import count
from agents.deadline import Deadline
from agents.formats.calls import read_arguments

OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "stop": "stop",
    "max_tokens": "num_predict",
}
"""Keys of a chat completion, and what Ollama's options call them."""
ASK_SECONDS = 10.0


class OllamaServer(ChatServer):
    """An Ollama; each request loads the model with this context."""

    def __init__(self, address: str, n_ctx: int, **headers: Any) -> None:
        """Store the address, a URL without a path, and the context, tokens; the rest as of `ChatServer`."""
        super().__init__(address, **headers)
        self._n_ctx = n_ctx

    def post(self, path: str, body: Mapping[str, Any], deadline: Deadline) -> Any:
        """Return the answer to a chat completion; raises as `ChatServer.post`."""
        answer = super().post("/api/chat", native_request(body, self._n_ctx), deadline)
        try:
            return as_completion(answer)
        except (KeyError, TypeError, AttributeError):
            raise self.error("the answer is none of Ollama's") from None


def trained_context(server: ChatServer, model: str) -> int | None:
    """Return how many tokens a model was trained with; None where Ollama does not say.

    Raises:
        AgentSpecError: Ollama cannot be asked, or has no such model.
    """
    try:
        shown = ChatServer.post(server, "/api/show", {"model": model}, Deadline(ASK_SECONDS))
    except (BackendError, TimeoutError) as error:
        raise AgentSpecError(f"ollama:{model}: {error or 'no answer in time'}") from None
    facts = shown.get("model_info") if isinstance(shown, dict) else None
    if not isinstance(facts, dict):
        return None
    return count(facts.get(f"{facts.get('general.architecture')}.context_length")) or None


def native_request(body: Mapping[str, Any], n_ctx: int) -> dict[str, Any]:
    """Return a chat completion as a request of Ollama's own API.

    Nothing is penalised for its repetition, as llama.cpp does by default and Ollama did not always.
    """
    rest = dict(body)
    options = {"num_ctx": n_ctx, "repeat_penalty": 1.0}
    options |= {theirs: rest.pop(ours) for ours, theirs in OPTIONS.items() if ours in rest}
    thinking = rest.pop("chat_template_kwargs", {}).get("enable_thinking")
    think = rest.pop("reasoning_effort", thinking)
    found = {
        "model": rest.pop("model"),
        "messages": _native_messages(rest.pop("messages")),
        "options": options | rest.pop("options", {}),
        "stream": False,
        "truncate": False,
        "shift": False,
    }
    return found | ({} if think is None else {"think": think}) | rest


def _native_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    found = []
    for message in messages:
        one = dict(message)
        if thoughts := one.pop("reasoning_content", None):
            one["thinking"] = thoughts
        if calls := one.get("tool_calls"):
            names |= {call["id"]: call["function"]["name"] for call in calls}
            one["tool_calls"] = [_native_call(call) for call in calls]
        if (name := names.get(one.get("tool_call_id", ""))) is not None:
            one["tool_name"] = name
        found.append(one)
    return found


def _native_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = read_arguments(function["arguments"])
    return {**call, "function": {**function, "arguments": dict(arguments or {})}}


def as_completion(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of Ollama's own API as a chat completion.

    Raises:
        KeyError, TypeError, AttributeError: it is none.
    """
    message, calls = answer["message"], answer["message"].get("tool_calls")
    finish = answer.get("done_reason")
    return {
        "choices": [
            {
                "message": {
                    "content": message.get("content"),
                    "reasoning_content": message.get("thinking"),
                    "tool_calls": calls,
                },
                "finish_reason": "tool_calls" if calls and finish != "length" else finish,
            }
        ],
        "usage": {
            "prompt_tokens": answer.get("prompt_eval_count"),
            "completion_tokens": answer.get("eval_count"),
        },
        "timings": {
            "prompt_ms": _milliseconds(answer.get("prompt_eval_duration")),
            "predicted_ms": _milliseconds(answer.get("eval_duration")),
        },
    }


def _milliseconds(nanoseconds: Any) -> float | None:
    return nanoseconds / 1e6 if isinstance(nanoseconds, int) else None
