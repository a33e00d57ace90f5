"""The OpenAI-compatible backend: chat completions with tools, over HTTP (llama-server, vLLM, Ollama, ...)."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.agent import ModelInfo, Usage
from agents.backends.backend import ChatBackend, Message, PlainText, Reply, ReplyStop
from agents.backends.chat_server import ChatServer, RefusedFieldError, TooLongError, short
from agents.backends.completion import has_calls, read_completion
from agents.backends.prompt_count import PromptCount
from agents.backends.server_context import ServerContext
from agents.deadline import Deadline
from agents.formats.calls import Tools, to_json
from agents.formats.messages import paired
from agents.formats.signature import SCHEMAS
from agents.options import ModelOptions

LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
"""The most tokens of an answer. Almost all servers take the first; OpenAI's reasoning models the second."""
SENT = ("top_p", "top_k", "min_p")
"""Options that are sent where they are given; the last two are no part of OpenAI's own protocol."""


class OpenAIBackend(ChatBackend):
    """A model behind `POST BASE_URL/chat/completions`.

    The key in OPENAI_API_KEY is sent to this machine, to OpenAI, and to the server that OPENAI_BASE_URL
    names; to no other. The option `api_key_env` names another variable, with the server's own key.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        options: ModelOptions | None = None,
        *,
        key: str | None = None,
        parses_calls: bool = False,
        server: ChatServer | None = None,
    ) -> None:
        """Store the server's address and, if the kit started it, its key; nothing is sent yet.

        Args:
            base_url: of the API.
            model: its name there.
            options: of the requests.
            key: of a server that the kit started.
            parses_calls: the server is known to read the calls in answers; else that shows by the first one
                that it sends in an episode.
            server: of another protocol, which speaks this one to the backend.

        Raises:
            AgentSpecError: the base URL is none, or holds credentials; a variable is not set.
        """
        given = options or ModelOptions()
        self.name = f"openai:{model}"
        self._server = server or ChatServer(
            base_url, key=key, key_variable=given.api_key_env, headers=given.header
        )
        self._address = None if key else base_url
        self._model, self._given = model, given
        self._fixed = _fixed(given)
        self._context = ServerContext(given.n_ctx)
        self._count = PromptCount()
        self._schemas: list[Mapping[str, Any]] = []
        self._plain: PlainText | None = None
        self._seed = 0
        self._limit = LIMIT
        self._sends_stop = True
        self._changes: list[str] = []
        self._ids: Iterator[str] = iter(())
        self._is_cut = False
        self._parses_calls = self._has_parsed = parses_calls

    @property
    def options(self) -> Mapping[str, Any]:
        """What each request holds beside the conversation; the values of headers are left out."""
        names = [header.partition(":")[0] for header in self._given.header]
        more = {"headers": names, "timeout": self._given.timeout, "n_ctx": self._context.tokens}
        shown: dict[str, Any] = {"tools": SCHEMAS, "reading": self._given.reading}
        if self._address is not None:
            shown["server"] = self._address
        if self._limit != LIMIT:
            shown["token_limit"] = self._limit
        if not self._sends_stop:
            shown["sends_stop"] = False
        return shown | self._fixed | {key: value for key, value in more.items() if value}

    @property
    def model_info(self) -> ModelInfo:
        """Nothing: the model is the server's."""
        return ModelInfo(None)

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools."""
        self._seed, self._schemas, self._plain = seed, list(schemas), plain
        self._count, self._is_cut = PromptCount(), False
        self._has_parsed = self._parses_calls
        # Nine letters and digits, as Mistral's templates demand.
        self._ids = (f"call{number:05d}" for number in itertools.count())

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Ask the server for the next answer.

        Raises:
            BackendError: the server cannot be reached, refuses, or answers with something else.
            CancelledError: the episode was cancelled meanwhile.
        """
        begun = time.monotonic()
        sent = [_as_sent(message) for message in paired(messages)]
        timeout = self._given.timeout
        within = deadline
        if timeout is not None and timeout < deadline.left:
            within = Deadline(timeout, deadline.cancellation)
        try:
            self._context.ask(self._server, self._model, within)
            value, asked = self._completion(sent, tokens, within)
        except TimeoutError:
            if within is not deadline and deadline.left > 0:
                raise self._server.error(f"no whole answer within the timeout of {timeout:g} s") from None
            return _without_words("time", begun)
        except TooLongError as error:
            return _without_words("context", begun, f"the server refuses: {short(str(error))}")
        seconds = time.monotonic() - begun
        lenient = self._given.reading == "lenient"
        cut: ReplyStop = "tokens" if asked == tokens else "context"
        try:
            reply = read_completion(
                value,
                Tools(self._schemas),
                self._ids,
                seconds=seconds,
                cut=cut,
                plain=self._plain,
                reading="lenient" if lenient else "none" if self._has_parsed else "strict",
            )
            self._has_parsed = self._has_parsed or has_calls(value)
        except (KeyError, IndexError, TypeError, AttributeError):
            said = short(self._server.without_secrets(json.dumps(value)))
            raise self._server.error(f"the answer is no chat completion: {said}") from None
        return self._checked(reply, sent, deadline)

    @property
    def _sent_schemas(self) -> list[Mapping[str, Any]]:
        """The schemas that are sent as such: none where a scaffold describes the tools in words."""
        return self._schemas if self._plain is None else []

    def _completion(self, sent: list[Message], tokens: int, within: Deadline) -> tuple[Any, int]:
        """Return the server's answer, and how many tokens it was asked for.

        Raises:
            TimeoutError, CancelledError, BackendError
            TooLongError: the conversation does not fit into the server's context.
        """
        prompt = self._count.estimate(sent, self._sent_schemas)
        asked = self._context.most(tokens, prompt)
        shortened = False
        while True:
            try:
                return self._server.post("/chat/completions", self._body(sent, asked), within), asked
            except TooLongError as error:
                fitting = self._context.smaller(str(error), asked, prompt)
                if fitting is None or shortened:
                    raise
                asked, shortened = fitting, True
            except RefusedFieldError as error:
                if not self._do_without(error.field):
                    raise

    def _do_without(self, field: str) -> bool:
        """Send no more a field that the server does not take; return False where it must be sent."""
        if field == LIMIT:
            self._limit = NEW_LIMIT
            self._changes.append(f"the server takes {NEW_LIMIT}, not {LIMIT}; that is sent")
        elif field == "stop" and self._sends_stop:
            self._sends_stop = False
            self._changes.append("the server takes no stop; answers are cut when they are read")
        else:
            return False
        return True

    def _body(self, sent: list[Message], tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "messages": sent, "seed": self._given.seed + self._seed}
        body[self._limit] = tokens
        if self._plain is not None and self._sends_stop:
            body["stop"] = list(self._plain.stop)
        if self._sent_schemas:
            body["tools"] = self._sent_schemas
        return body | self._fixed

    def _checked(self, reply: Reply, sent: list[Message], deadline: Deadline) -> Reply:
        """Return the answer; with a remark, once an episode, if the server cut the prompt, and one for each
        field that it refused.
        """
        changes, self._changes = self._changes, []
        reply = replace(reply, usage=replace(reply.usage, remarks=(*reply.usage.remarks, *changes)))
        counted = reply.usage.input_tokens + reply.usage.cached_tokens
        trouble = self._count.check(sent, self._sent_schemas, counted)
        if trouble is None or self._is_cut:
            return reply
        self._is_cut = True
        self._context.ask_ollama(self._server, self._model, deadline)
        context = f" (its context has {self._context.tokens})" if self._context.tokens else ""
        remarks = (*reply.usage.remarks, f"{self._server.url}: {trouble}{context}")
        return replace(reply, usage=replace(reply.usage, remarks=remarks))


def _as_sent(message: Message) -> Message:
    """Return a message as the protocol has it: without names, and with arguments as JSON text."""
    sent = {key: value for key, value in message.items() if key != "name"}
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [{**call, "function": _with_text(call["function"])} for call in calls]
    return sent


def _with_text(function: Mapping[str, Any]) -> dict[str, Any]:
    arguments = function["arguments"]
    return {**function, "arguments": arguments if isinstance(arguments, str) else to_json(arguments)}


def _fixed(options: ModelOptions) -> dict[str, Any]:
    """Return the constant part of the requests."""
    body: dict[str, Any] = {"temperature": options.temperature}
    body |= {name: value for name in SENT if (value := getattr(options, name)) is not None}
    if options.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": options.thinking}
    if options.reasoning_effort is not None:
        body["reasoning_effort"] = options.reasoning_effort
    return body | (options.extra_body or {})


def _without_words(stop: ReplyStop, begun: float, *remarks: str) -> Reply:
    usage = Usage(seconds=time.monotonic() - begun, remarks=remarks)
    return Reply({"role": "assistant", "content": ""}, (), stop, usage)
