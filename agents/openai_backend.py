"""The OpenAI-compatible backend: chat completions with tools, over HTTP (llama-server, vLLM, Ollama, ...)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from agents.agent import Usage
from agents.backend import Message, Reply, ReplyItem, ReplyStop
from agents.errors import AgentSpecError, BackendError
from agents.tool_call_text import CallText, Nonsense, parse_answer, read_arguments

STOPS: Mapping[Any, ReplyStop] = {"length": "tokens"}
KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIBackend:
    """A model behind `POST BASE_URL/chat/completions`. The key, where one is needed, is in OPENAI_API_KEY."""

    def __init__(self, base_url: str, model: str, *, temperature: float = 0.0) -> None:
        """Remember where the model is; nothing is sent yet.

        Raises:
            AgentSpecError: the base URL is none.
        """
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise AgentSpecError(
                f"{base_url!r} is no base URL; write openai:BASE_URL#MODEL, as in openai:http://localhost:8080/v1#qwen3"
            )
        self.name = f"openai:{model}"
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model, self._temperature = model, temperature
        self._schemas: list[Mapping[str, Any]] = []
        self._seed = 0

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]]) -> None:
        """Begin an episode with these tools."""
        self._seed, self._schemas = seed, list(schemas)

    def answer(self, messages: Sequence[Message], *, tokens: int, seconds: float) -> Reply:
        """Ask the server for the next answer.

        Raises:
            BackendError: the server cannot be reached, refuses, or answers with something else.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "messages": list(messages),
            "temperature": self._temperature,
            "seed": self._seed,
            "max_tokens": tokens,
        }
        if self._schemas:
            body["tools"] = self._schemas
        begun = time.monotonic()
        try:
            answer = self._post(body, seconds)
        except _TooLate:
            return Reply(
                {"role": "assistant", "content": ""}, (), "time", Usage(seconds=time.monotonic() - begun)
            )
        except _TooLong:
            return Reply(
                {"role": "assistant", "content": ""}, (), "context", Usage(seconds=time.monotonic() - begun)
            )
        try:
            return _read(answer, time.monotonic() - begun)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise BackendError(
                f"{self._url}: the answer is no chat completion: {_short(json.dumps(answer))}"
            ) from None

    def close(self) -> None:
        """Nothing is kept open."""

    def _post(self, body: Mapping[str, Any], seconds: float) -> Any:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY_VARIABLE):
            headers["Authorization"] = f"Bearer {key}"
        request = Request(self._url, json.dumps(body).encode(), headers, method="POST")
        try:
            with urlopen(request, timeout=seconds) as response:
                answer = json.loads(response.read())
                # Escapes can hold half a character, which neither a log nor a request can.
                return json.loads(json.dumps(answer, ensure_ascii=False).encode(errors="replace"))
        except HTTPError as error:
            text = error.read().decode(errors="replace")
            if error.code in (400, 413) and "context" in text.lower():
                raise _TooLong from None
            hint = f"; set {KEY_VARIABLE}" if error.code in (401, 403) else ""
            raise BackendError(f"{self._url}: status {error.code}: {_short(text)}{hint}") from None
        except TimeoutError:
            raise _TooLate from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise _TooLate from None
            raise BackendError(f"{self._url}: cannot be reached: {error.reason}") from None
        except (HTTPException, OSError) as error:
            raise BackendError(f"{self._url}: the connection broke: {error!r}") from None
        except ValueError:
            raise BackendError(f"{self._url}: the answer is not JSON") from None


class _TooLate(Exception):
    """The time was up before the answer came."""


class _TooLong(Exception):
    """The server says that the conversation is longer than the model's context."""


def _read(answer: Any, seconds: float) -> Reply:
    choice = answer["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    echo: Message = {"role": "assistant", "content": content}
    items: list[ReplyItem] = []
    for call in message.get("tool_calls") or ():
        items.append(_item(call["function"], call.get("id")))
    if items:
        echo["tool_calls"] = message["tool_calls"]
    else:
        items = [ReplyItem(what) for what in parse_answer(content).items]
    return Reply(
        echo, tuple(items), STOPS.get(choice.get("finish_reason"), "end"), _usage(answer, message, seconds)
    )


def _item(function: Mapping[str, Any], call_id: str | None) -> ReplyItem:
    name, raw = function.get("name"), function.get("arguments")
    text = json.dumps(function, ensure_ascii=False)
    if not isinstance(name, str) or not name:
        return ReplyItem(
            Nonsense("no_name", "the call names no tool: give name and arguments", text), call_id
        )
    arguments = read_arguments(raw)
    if arguments is None:
        reason = f"the arguments of {name} must be a JSON object"
        return ReplyItem(Nonsense("bad_arguments", reason, text), call_id)
    return ReplyItem(CallText(name, arguments), call_id)


def _usage(answer: Mapping[str, Any], message: Mapping[str, Any], seconds: float) -> Usage:
    """Token counts as the server gives them; zero where it gives none."""
    counts = answer.get("usage") or {}
    prompt = int(counts.get("prompt_tokens") or 0)
    cached = int((counts.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    text = message.get("content") or ""
    if calls := message.get("tool_calls"):
        text += json.dumps(calls, ensure_ascii=False)
    return Usage(text, prompt - cached, cached, int(counts.get("completion_tokens") or 0), seconds)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200] + "..."
