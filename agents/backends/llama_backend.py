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
from typing import Any

from agents.agent import Usage
from agents.backends.backend import Message, Reply, ReplyItem, ReplyStop
from agents.backends.llama_engine import CHUNK, AbortedError, LlamaEngine, Sampler
from agents.deadline import Deadline
from agents.errors import BackendError
from agents.formats.chat_template import ChatTemplate
from agents.formats.grammar import answer_grammar
from agents.formats.tool_call_text import CallText, Nonsense, parse_answer

SHIPPED_MODEL = Path(__file__).parents[1] / "models" / "pathrig-demo-q8_0.gguf"
CONTEXT = 8192


class LlamaBackend:
    """A GGUF file behind `ChatBackend`.

    Greedy by default: with temperature 0 an episode is the same each time, whatever ran before it, because
    from an earlier episode only whole chunks are kept, which would be evaluated again in just the same way.
    """

    def __init__(
        self,
        path: Path = SHIPPED_MODEL,
        *,
        n_ctx: int = CONTEXT,
        n_threads: int | None = None,
        temperature: float = 0.0,
        top_p: float = 0.95,
        grammar: bool = True,
    ) -> None:
        """Load the model.

        Args:
            path: the GGUF file.
            n_ctx: tokens of context at most; never more than the model was trained with.
            n_threads: threads of llama.cpp; half of the machine's, at least one, where it is not given.
            temperature, top_p: sampling; 0 is greedy.
            grammar: whether a grammar keeps calls well-formed.

        Raises:
            AgentSpecError: the file cannot be loaded, or llama-cpp-python is not installed.
            BackendError: the model's chat template does not compile.
        """
        self.name = f"llama:{path.stem}"
        self._temperature, self._top_p, self._with_grammar = temperature, top_p, grammar
        self._engine = LlamaEngine(
            path, n_ctx=n_ctx, n_threads=n_threads or max(1, (os.cpu_count() or 2) // 2)
        )
        try:
            bos, eos = self._engine.special_text("bos"), self._engine.special_text("eos")
            self._template = ChatTemplate(self._engine.chat_template, bos=bos, eos=eos)
        except BackendError:
            self._engine.close()
            raise
        self._schemas: list[Mapping[str, Any]] = []
        self._grammar: str | None = None
        self._seed = self._answers = 0
        self._whole_chunks = 0
        self._fresh = True
        self._at_work = threading.Lock()

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]]) -> None:
        """Begin an episode with these tools."""
        self._schemas = list(schemas)
        self._grammar = answer_grammar(self._schemas) if self._with_grammar else None
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
        prompt = self._engine.tokenize(self._template.render(messages, self._schemas))
        if len(prompt) >= self._engine.n_ctx:
            return _reply("", "context", Usage(seconds=time.monotonic() - begun))
        cached = self._keep(prompt)
        if self._fresh:
            self._whole_chunks, self._fresh = len(prompt) // CHUNK * CHUNK, False
        try:
            for _ in self._engine.evaluate(prompt[cached:]):
                pass
        except AbortedError:
            deadline.check()
            count = max(0, len(self._engine.evaluated) - cached)
            return _reply("", "time", Usage("", count, cached, 0, time.monotonic() - begun))
        sampler = self._engine.sampler(
            seed=self._seed * 1_000_003 + self._answers,
            temperature=self._temperature,
            top_p=self._top_p,
            grammar=self._grammar,
        )
        self._answers += 1
        try:
            text, written, stop = self._write(sampler, tokens)
        finally:
            sampler.close()
        deadline.check()
        return _reply(
            text, stop, Usage(text, len(prompt) - cached, cached, written, time.monotonic() - begun)
        )

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

    def _write(self, sampler: Sampler, tokens: int) -> tuple[str, int, ReplyStop]:
        data = b""
        written = 0
        stop: ReplyStop = "end"
        while True:
            token = sampler.next()
            written += 1
            if self._engine.ends(token):
                break
            data += self._engine.piece(token)
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


def _reply(text: str, stop: ReplyStop, usage: Usage) -> Reply:
    parsed = parse_answer(text)
    message: Message = {"role": "assistant", "content": text}
    calls = [item for item in parsed.items if isinstance(item, CallText)]
    if calls and not any(isinstance(item, Nonsense) for item in parsed.items):
        message = {
            "role": "assistant",
            "content": parsed.words.strip("\n"),
            "tool_calls": [
                {"type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
                for call in calls
            ],
        }
    return Reply(message, tuple(ReplyItem(item) for item in parsed.items), stop, usage)
