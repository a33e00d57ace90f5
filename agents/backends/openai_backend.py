"""The OpenAI-compatible backend: chat completions with tools, over HTTP (llama-server, vLLM, Ollama, ...)."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from agents.agent import Usage
from agents.backends.backend import Message, PlainText, Reply, ReplyItem, ReplyStop
from agents.backends.http_post import MAX_ANSWER, HttpAnswer, PostError, TooLargeError, post
from agents.deadline import Deadline
from agents.errors import AgentSpecError, BackendError
from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Item, Tools, call_of, to_json
from agents.formats.chat_template import paired
from agents.formats.thoughts import part
from core_eval.path.foreign_json import MAX_DIGITS, ForeignJsonError, parse_json

STOPS: Mapping[Any, ReplyStop] = {"length": "tokens"}
KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"
RETRIES = 3
"""How often a request is sent again after a broken connection, or an answer that says so (429, 5xx)."""
BACK_OFF_SECONDS = 0.5
"""Before the first retry; then doubled, unless the server says how long."""
LONG_NUMBER, BEYOND = re.compile(rb"\d{%d,}" % (MAX_DIGITS + 1)), b"1e999"
"""A number too long for Python is beyond all floats too; the call with it is invalid, and the run goes on."""
MOST_TOKENS = 2**31
"""A larger count of tokens is none."""


class OpenAIBackend:
    """A model behind `POST BASE_URL/chat/completions`.

    The key in OPENAI_API_KEY is sent to this machine, to OpenAI, and to the server that OPENAI_BASE_URL
    names; to no other.
    """

    def __init__(self, base_url: str, model: str, *, temperature: float = 0.0) -> None:
        """Remember where the model is; nothing is sent yet.

        Raises:
            AgentSpecError: the base URL is none, or holds credentials, which every log would show.
        """
        parts = _parts(base_url)
        self.name = f"openai:{model}"
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._key = os.environ.get(KEY_VARIABLE) if _may_have_key(parts) else None
        self._model, self._temperature = model, temperature
        self.options: Mapping[str, Any] = {"temperature": temperature}
        self._schemas: list[Mapping[str, Any]] = []
        self._plain: PlainText | None = None
        self._seed = 0

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools."""
        self._seed, self._schemas, self._plain = seed, list(schemas), plain

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Ask the server for the next answer.

        Raises:
            BackendError: the server cannot be reached, refuses, or answers with something else.
            CancelledError: the episode was cancelled meanwhile.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "messages": _sent(messages),
            "temperature": self._temperature,
            "seed": self._seed,
            "max_tokens": tokens,
        }
        if self._plain is not None:
            body["stop"] = list(self._plain.stop)
        elif self._schemas:
            body["tools"] = self._schemas
        begun = time.monotonic()
        try:
            answer = self._value(self._post(json.dumps(body).encode(), deadline))
        except TimeoutError:
            return _without_words("time", time.monotonic() - begun)
        except _TooLongError:
            return _without_words("context", time.monotonic() - begun)
        try:
            return _read(answer, Tools(self._schemas), time.monotonic() - begun, self._plain)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._error(f"the answer is no chat completion: {_short(json.dumps(answer))}") from None

    def close(self) -> None:
        """Do nothing: no connection is kept open."""

    def _post(self, body: bytes, deadline: Deadline) -> HttpAnswer:
        """Return the answer to a request; temporary errors are retried as long as the time allows.

        Raises:
            TimeoutError, CancelledError, BackendError
            _TooLongError: the server says that the conversation is longer than the model's context.
        """
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        pause = BACK_OFF_SECONDS
        for tries_left in reversed(range(RETRIES + 1)):
            asked_for = None
            try:
                answer = post(self._url, body, headers, deadline)
            except TooLargeError:
                raise self._error(f"the answer has more than {MAX_ANSWER} bytes") from None
            except PostError as error:
                trouble = str(error)
            else:
                if 200 <= answer.status < 300:
                    return answer
                trouble = self._refusal(answer)
                if answer.status != 429 and answer.status < 500:
                    raise self._error(trouble)
                asked_for = _seconds(answer.headers.get("retry-after"))
            wait = pause if asked_for is None else asked_for
            if not tries_left or wait >= deadline.left:
                raise self._error(trouble)
            deadline.wait(wait)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    def _refusal(self, answer: HttpAnswer) -> str:
        text = answer.body.decode(errors="replace")
        if answer.status in (400, 413) and "context" in text.lower():
            raise _TooLongError
        if 300 <= answer.status < 400:
            return f"status {answer.status}: it is at {_short(answer.headers.get('location', ''))}; name that"
        hint = ""
        if answer.status in (401, 403):
            hint = f"; set {KEY_VARIABLE}"
            if self._key is None and os.environ.get(KEY_VARIABLE):
                hint = f"; set {URL_VARIABLE} to this base URL, so that it may have {KEY_VARIABLE}"
        return f"status {answer.status}: {_short(text)}{hint}"

    def _value(self, answer: HttpAnswer) -> Any:
        try:
            value = parse_json(answer.body, strict_numbers=False)
        except ForeignJsonError:
            try:
                value = parse_json(LONG_NUMBER.sub(BEYOND, answer.body), strict_numbers=False)
            except ForeignJsonError as error:
                raise self._error(f"the answer is not JSON ({error})") from None
        # Escapes can hold half a character, which neither a log nor a request can.
        return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))

    def _error(self, text: str) -> BackendError:
        # Servers quote the key that they refuse.
        return BackendError(f"{self._url}: {text.replace(self._key, '***') if self._key else text}")


class _TooLongError(Exception):
    """The server says that the conversation is longer than the model's context."""


def _parts(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url)
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        bad = True
    if bad or parts.query:
        raise AgentSpecError(
            f"{without_credentials(base_url)!r} is no base URL; write openai:BASE_URL#MODEL, as in "
            "openai:http://localhost:8080/v1#qwen3"
        )
    if parts.username is not None:
        raise AgentSpecError(
            f"{without_credentials(base_url)!r} holds credentials, which the log and the list of processes "
            f"would show; put the key into {KEY_VARIABLE}"
        )
    return parts


def without_credentials(url: str) -> str:
    """Return a URL, valid or not, without the part before an @."""
    head, at, tail = url.rpartition("@")
    return f"{head.partition('//')[0]}//***@{tail}" if at else url


def _may_have_key(parts: SplitResult) -> bool:
    assert parts.hostname is not None
    try:
        loopback = ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        loopback = parts.hostname == "localhost"
    named = (OPENAI_URL, os.environ.get(URL_VARIABLE, ""))
    return loopback or any((parts.scheme, parts.netloc) == urlsplit(url)[:2] for url in named)


def _seconds(retry_after: str | None) -> float | None:
    """Return the delay that the server asks for, s; None if it gives no number."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _without_words(stop: ReplyStop, seconds: float) -> Reply:
    return Reply({"role": "assistant", "content": ""}, (), stop, Usage(seconds=seconds))


def _sent(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation as servers take it: each result has the id of a call that was made."""
    return [{key: value for key, value in each.items() if key != "name"} for each in paired(messages)]


def _read(answer: Any, tools: Tools, seconds: float, plain: PlainText | None) -> Reply:
    choice = answer["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    echo: Message = {"role": "assistant", "content": content}
    items = [ReplyItem(_item(call["function"]), call.get("id")) for call in message.get("tool_calls") or ()]
    if plain is not None:
        echo["content"] = part(content).rest.strip()
        items = items or [ReplyItem(what) for what in parse_answer(content, tools, plain.form).items]
    elif items:
        echo["tool_calls"] = message["tool_calls"]
    else:
        parsed = parse_answer(content, tools)
        items = [ReplyItem(what) for what in parsed.items]
        calls = [item for item in parsed.items if isinstance(item, CallText)]
        if calls and len(calls) == len(items):
            echo |= {"content": parsed.words.strip(), "tool_calls": [_echoed(call) for call in calls]}
    return Reply(
        echo, tuple(items), STOPS.get(choice.get("finish_reason"), "end"), _usage(answer, message, seconds)
    )


def _echoed(call: CallText) -> dict[str, Any]:
    """Return a call that stood in the words, as one of the protocol."""
    return {"type": "function", "function": {"name": call.name, "arguments": to_json(dict(call.arguments))}}


def _item(function: Mapping[str, Any]) -> Item:
    return call_of(function.get("name"), function.get("arguments"), to_json(function))


def _usage(answer: Mapping[str, Any], message: Mapping[str, Any], seconds: float) -> Usage:
    """Return the server's token counts; zero for missing or invalid ones."""
    counts = _object(answer.get("usage"))
    prompt = _count(counts.get("prompt_tokens"))
    cached = min(prompt, _count(_object(counts.get("prompt_tokens_details")).get("cached_tokens")))
    text = message.get("content") or ""
    thoughts = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thoughts, str):
        text = f"<think>\n{thoughts}\n</think>\n{text}"
    if calls := message.get("tool_calls"):
        text += json.dumps(calls, ensure_ascii=False)
    return Usage(text, prompt - cached, cached, _count(counts.get("completion_tokens")), seconds)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    """Return a number of tokens; 0 for invalid values."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 <= value < MOST_TOKENS else 0


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200] + "..."
