"""The llama.cpp backend: any GGUF as a chat backend, on this machine.

Each answer renders the whole conversation with the model's own template and evaluates only the tokens that
the context does not hold yet.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agents.agent import Usage
from agents.backends.backend import Message, PlainText, Reply, ReplyItem, ReplyStop
from agents.backends.call_watch import CallWatch
from agents.backends.llama_engine import CHUNK, AbortedError, LlamaEngine, Sampler
from agents.deadline import Deadline
from agents.errors import BackendError
from agents.formats.answer import parse_answer
from agents.formats.answer_grammar import answer_grammar
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.chat_template import ChatTemplate
from agents.formats.chatml import CHAT_TEMPLATE
from agents.formats.data_text import unguarded
from agents.formats.format import Format
from agents.formats.thoughts import opened_by, part, rest_start

SHIPPED_MODEL = Path(__file__).parents[1] / "models" / "pathrig-demo-q8_0.gguf"
CONTEXT = 8192
GrammarMode = Literal["off", "calls", "strict"]
"""What a grammar holds: nothing, each call from its mark on, or the whole answer."""


class LlamaBackend:
    """A GGUF file behind `ChatBackend`.

    Greedy by default: with temperature 0 an episode is the same each time, whatever ran before it, because
    from an earlier episode only whole chunks are kept, which would be evaluated again in just the same way.

    Attributes:
        trained_here: whether the model was trained for this kit: its file has the template of that training.
    """

    def __init__(
        self,
        path: Path = SHIPPED_MODEL,
        *,
        n_ctx: int = CONTEXT,
        n_threads: int | None = None,
        temperature: float = 0.0,
        top_p: float = 0.95,
        grammar: GrammarMode = "calls",
        thinking: bool | None = None,
    ) -> None:
        """Load the model.

        Args:
            path: the GGUF file.
            n_ctx: tokens of context at most; never more than the model was trained with.
            n_threads: threads of llama.cpp; half of the machine's, at least one, where it is not given.
            temperature, top_p: sampling; 0 is greedy.
            grammar: `calls` keeps calls well-formed from their mark on, `strict` the whole answer.
            thinking: switches the model's thinking on or off; None leaves it to its template.

        Raises:
            AgentSpecError: the file cannot be loaded, or llama-cpp-python is not installed.
            BackendError: the model's chat template does not compile, or takes no conversation with tools.
        """
        self.name = f"llama:{path.stem}"
        self._temperature, self._top_p, self._mode = temperature, top_p, grammar
        self._engine = LlamaEngine(
            path, n_ctx=n_ctx, n_threads=n_threads or max(1, (os.cpu_count() or 2) // 2)
        )
        try:
            words = self._engine.vocabulary
            self._template = ChatTemplate(
                self._engine.chat_template,
                bos=words.special_text("bos"),
                eos=words.special_text("eos"),
                thinking=thinking,
                specials=words.special_texts(),
            )
        except BackendError:
            self._engine.close()
            raise
        self.trained_here = self._engine.chat_template == CHAT_TEMPLATE
        self.options: Mapping[str, Any] = {
            "format": self._template.form.name,
            "grammar": grammar,
            "thinking": {None: "as the template has it", True: "on", False: "off"}[thinking],
            "temperature": temperature,
            "top_p": top_p,
        }
        self._schemas: list[Mapping[str, Any]] = []
        self._callable: list[Mapping[str, Any]] = []
        self._tools = Tools()
        self._plain: PlainText | None = None
        self._seed = self._answers = 0
        self._whole_chunks = 0
        self._fresh = True
        self._at_work = threading.Lock()

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools."""
        self._callable, self._tools, self._plain = list(schemas), Tools(schemas), plain
        self._schemas = self._callable if plain is None else []
        self._seed, self._answers, self._fresh = seed, 0, True

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Return the next answer.

        Raises:
            BackendError: the template or llama.cpp fails.
            CancelledError: the episode was cancelled meanwhile.
        """
        with self._at_work:
            self._engine.should_stop = lambda: deadline.over
            return self._answer(messages, tokens, deadline)

    def close(self) -> None:
        """Free the model, after any cancelled answer has ended."""
        with self._at_work:
            self._engine.close()

    def _answer(self, messages: Sequence[Message], tokens: int, deadline: Deadline) -> Reply:
        begun = time.monotonic()
        text = self._template.render(messages, self._schemas)
        opened = opened_by(unguarded(text))
        prompt = self._engine.vocabulary.prompt_tokens(text)
        if len(prompt) >= self._engine.n_ctx:
            return self._reply("", "context", Usage(seconds=time.monotonic() - begun))
        cached = self._keep(prompt)
        if self._fresh:
            self._whole_chunks, self._fresh = len(prompt) // CHUNK * CHUNK, False
        try:
            for _ in self._engine.evaluate(prompt[cached:]):
                pass
        except AbortedError:
            deadline.check()
            count = max(0, len(self._engine.evaluated) - cached)
            return self._reply("", "time", Usage("", count, cached, 0, time.monotonic() - begun))
        strict = self._mode == "strict"
        sampler = self._engine.sampler(
            seed=self._seed * 1_000_003 + self._answers,
            temperature=self._temperature,
            top_p=self._top_p,
            grammar=answer_grammar(self._callable, self._form, opened=opened) if strict else None,
        )
        self._answers += 1
        watch = None
        if self._mode == "calls":
            end = self._engine.vocabulary.end_token
            watch = CallWatch(sampler, self._form, self._callable, opened=opened, end=end)
        try:
            text, written, stop = self._write(sampler, tokens, watch, opened=opened)
        finally:
            sampler.close()
        deadline.check()
        usage = Usage(text, len(prompt) - cached, cached, written, time.monotonic() - begun)
        return self._reply(text, stop, usage, opened=opened)

    def _keep(self, prompt: list[int]) -> int:
        """Rewind the context to what the prompt has in common with it; returns how many tokens those are.

        At least one token is evaluated: the last one's logits are needed.
        """
        common = 0
        for old, new in zip(self._engine.evaluated, prompt[:-1], strict=False):
            if old != new:
                break
            common += 1
        if self._fresh:
            common = min(common, self._whole_chunks) // CHUNK * CHUNK
        self._whole_chunks = min(self._whole_chunks, common // CHUNK * CHUNK)
        self._engine.rewind(common)
        return len(self._engine.evaluated)

    @property
    def _form(self) -> Format:
        return self._template.form if self._plain is None else self._plain.form

    def _write(
        self, sampler: Sampler, tokens: int, watch: CallWatch | None, *, opened: bool
    ) -> tuple[str, int, ReplyStop]:
        data = b""
        written = 0
        stop: ReplyStop = "end"
        while True:
            token = sampler.next()
            written += 1
            if self._engine.vocabulary.ends(token):
                break
            piece = self._engine.vocabulary.piece(token)
            data += piece
            if watch is not None:
                watch.wrote(token, piece)
            if (said := self._before_stop(data, opened=opened)) is not None:
                return said, written, "end"
            if written >= tokens:
                stop = "tokens"
                break
            if len(self._engine.evaluated) + 1 >= self._engine.n_ctx:
                stop = "context"
                break
            try:
                for _ in self._engine.evaluate([token]):
                    pass
            except AbortedError:
                stop = "time"
                break
        return data.decode(errors="replace"), written, stop

    def _before_stop(self, data: bytes, *, opened: bool) -> str | None:
        """Return the answer up to a text that ends it; None where there is none. A thought may hold one."""
        if self._plain is None or not self._plain.stop:
            return None
        text = data.decode(errors="replace")
        start = rest_start(text, opened=opened)
        if start is None:
            return None
        places = [place for stop in self._plain.stop if (place := text.find(stop, start)) >= 0]
        return text[: min(places)] if places else None

    def _reply(self, text: str, stop: ReplyStop, usage: Usage, *, opened: bool = False) -> Reply:
        parsed = parse_answer(text, self._tools, self._form, opened=opened)
        items = parsed.items
        message: Message = {"role": "assistant", "content": parsed.words.strip("\n")}
        if parsed.thoughts:
            message["reasoning_content"] = parsed.thoughts
        if self._plain is not None:
            message["content"] = part(text, opened=opened).rest.strip()
        elif any(isinstance(item, Nonsense) for item in items):
            message["content"] = text
            message.pop("reasoning_content", None)
        elif items:
            message["tool_calls"] = [
                {"type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
                for call in items
                if isinstance(call, CallText)
            ]
        return Reply(message, tuple(ReplyItem(item) for item in items), stop, usage)
