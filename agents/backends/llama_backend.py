"""The llama.cpp backend: any GGUF as a chat backend, on this machine.

Each answer renders the whole conversation with the model's own template and evaluates only the tokens that
the context does not hold yet.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents.agent import AgentSpecError, BackendError, Limits, ModelInfo, Usage
from agents.backends.backend import (
    ChatBackend,
    FirstAnswer,
    Message,
    PlainText,
    Reply,
    ReplyItem,
    ReplyStop,
    Speed,
)
from agents.backends.llama_engine import AbortedError, LlamaEngine, physical_cores
from agents.backends.llama_sampler import CallWatch, Sampler, Sampling, ThoughtBudget
from agents.backends.llama_speed import check_context, check_time, measured_speed
from agents.backends.prompt_cache import PromptCache, usual_folder
from agents.deadline import Deadline
from agents.formats.answer import parse_answer
from agents.formats.answer_grammar import answer_grammar
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.chat_template import ChatTemplate
from agents.formats.chatml import is_trained_here
from agents.formats.data_text import unguarded
from agents.formats.format import Format
from agents.formats.signature import SCHEMAS, SIGNATURES
from agents.formats.thoughts import opening_mark, rest_start
from agents.options import NO_OPTIONS, ModelOptions
from core_eval.text.file_hash import model_sha256, sha256_of
from core_eval.text.foreign_text import ForeignTextError, read_text

SHIPPED_MODEL = Path(__file__).parents[1] / "models" / "pathrig-demo-q8_0.gguf"
CONTEXT = 8192
"""Tokens of context where nothing else is asked for, and the model was trained with so many."""
SMALL_MODEL = 64 * 2**20
"""Bytes of a model that runs on one thread, and keeps no prompts on disk: its operations are too short."""


class LlamaBackend(ChatBackend):
    """A GGUF file behind `ChatBackend`.

    Greedy by default: with temperature 0 an episode is the same each time, whatever ran before it, because
    from an earlier episode only whole chunks are kept, which would be evaluated again in just the same way.

    Attributes:
        engine: the model and its context.
        trained_here: whether this project trained it: its file has the template of that.
    """

    def __init__(self, path: Path = SHIPPED_MODEL, options: ModelOptions = NO_OPTIONS) -> None:
        """Load the model.

        Raises:
            AgentSpecError: a file cannot be loaded, an option does not fit the model, or llama-cpp-python is
                not installed.
            BackendError: the model's chat template does not compile, or takes no conversation with tools.
        """
        begun = time.monotonic()
        self.name = f"llama:{path.stem}"
        self._asked = options
        self._sampling = _sampling(options)
        self.engine = LlamaEngine(
            path,
            n_ctx=options.n_ctx or CONTEXT,
            n_threads=options.n_threads or _threads(path),
            n_batch=options.n_batch,
            n_gpu_layers=options.n_gpu_layers,
            kv_type=options.kv_type,
            lora=options.lora,
        )
        try:
            if options.n_ctx is not None and options.n_ctx > self.engine.n_ctx:
                raise AgentSpecError(
                    f"{path}: n_ctx={options.n_ctx}: the model was trained with {self.engine.n_ctx} tokens"
                )
            self._template = _chat_template(self.engine, options)
        except (AgentSpecError, BackendError):
            self.engine.close()
            raise
        self.trained_here = is_trained_here(self.engine.chat_template or "")
        self._prompts = self._prompt_cache(path)
        self.options = self._in_use()
        self.model_info = ModelInfo(os.getpid(), time.monotonic() - begun, facts=self._facts())
        self._schemas: list[Mapping[str, Any]] = []
        self._callable: list[Mapping[str, Any]] = []
        self._tools = Tools()
        self._plain: PlainText | None = None
        self._seed = self._answers = 0
        self._whole_chunks = 0
        self._fresh = True
        self._speed: Speed | None = None
        self._at_work = threading.Lock()

    def _prompt_cache(self, path: Path) -> PromptCache | None:
        asked = self._asked
        if not (path.stat().st_size >= SMALL_MODEL if asked.prompt_cache is None else asked.prompt_cache):
            return None
        facts = {
            "weights": model_sha256(path),
            "lora": None if asked.lora is None else sha256_of(asked.lora),
            "template": self._template.source,
        }
        return PromptCache(self.engine, facts, usual_folder())

    def _in_use(self) -> dict[str, Any]:
        """Return all options as they are in use, for the log."""
        asked, engine, template = self._asked, self.engine, self._template
        found: dict[str, Any] = {
            "format": template.form.name,
            "tools": SIGNATURES if template.use.short else SCHEMAS,
            "template_sha256": hashlib.sha256(template.source.encode()).hexdigest(),
            "n_ctx": engine.n_ctx,
            "n_batch": engine.n_batch,
            "n_threads": engine.n_threads,
            "n_gpu_layers": engine.n_gpu_layers,
            "kv_type": engine.kv_type,
            "grammar": asked.grammar,
            "reading": asked.reading,
            "thinking": {None: "as the template has it", True: "on", False: "off"}[asked.thinking],
            "temperature": self._sampling.temperature,
        }
        if asked.thinking is not None:
            found["thinking_switch"] = template.thinking_switch
        if asked.reasoning_effort is not None:
            found["reasoning_effort"] = asked.reasoning_effort
        if asked.thinking_tokens is not None:
            found["thinking_tokens"] = asked.thinking_tokens
        if self._sampling.temperature > 0:
            found |= {"top_k": self._sampling.top_k, "top_p": self._sampling.top_p}
            found |= {"min_p": self._sampling.min_p, "seed": asked.seed}
        if self._prompts is not None:
            found["prompt_cache"] = "on"
        if asked.lora is not None:
            found |= {"lora": asked.lora.name, "lora_sha256": sha256_of(asked.lora)}
        return found

    def _facts(self) -> dict[str, Any]:
        engine = self.engine
        sizes = {f"{what}_mib": size for what, size in engine.megabytes.items()}
        kind = {"description": engine.description, "architecture": engine.meta("general.architecture")}
        return {**kind, "name": engine.meta("general.name"), **sizes}

    def start(self, seed: int, schemas: Sequence[Mapping[str, Any]], plain: PlainText | None = None) -> None:
        """Begin an episode with these tools."""
        self._callable, self._tools, self._plain = list(schemas), Tools(schemas), plain
        self._schemas = self._callable if plain is None else []
        self._seed, self._answers, self._fresh = seed, 0, True

    def render(self, messages: Sequence[Message]) -> str:
        """Return a conversation as the text that the model gets."""
        return unguarded(self._template.render(messages, self._schemas))

    def check(self, messages: Sequence[Message], limits: Limits) -> FirstAnswer:
        """Check that context and limits take a first answer after this prompt; return what it takes.

        The speed is measured once, on the prompt itself; nothing of it stays in the context. Of a prompt that
        is kept on disk it is what it was when it was kept.

        Raises:
            AgentSpecError: the prompt does not fit, or cannot be evaluated in time; with the figures.
            BackendError: the template or llama.cpp fails.
        """
        prompt = self.engine.vocabulary.prompt_tokens(self._template.render(messages, self._schemas))
        with self._at_work:
            self.engine.should_stop = lambda: False
            check_context(self.name, len(prompt), self.engine.n_ctx, self.engine.trained_ctx)
            kept = self._to_keep(messages, prompt)
            if self._prompts is not None and kept:
                self._speed = self._speed or self._prompts.speed(kept)
            self._speed = self._speed or measured_speed(self.engine, prompt)
        check_time(self.name, len(prompt), self._speed, limits)
        return FirstAnswer(len(prompt), self._speed)

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Return the next answer; raises as `ChatBackend.answer`."""
        with self._at_work:
            self.engine.should_stop = lambda: deadline.over
            return self._answer(messages, tokens, deadline)

    def close(self) -> None:
        """Free the model, after any cancelled answer has ended."""
        with self._at_work:
            self.engine.close()

    def _answer(self, messages: Sequence[Message], tokens: int, deadline: Deadline) -> Reply:
        begun = time.monotonic()
        text = self._template.render(messages, self._schemas)
        mark = opening_mark(unguarded(text))
        opened = mark is not None
        prompt = self.engine.vocabulary.prompt_tokens(text)
        if len(prompt) >= self.engine.n_ctx:
            return self._reply("", "context", Usage(seconds=time.monotonic() - begun))
        cached = self._keep(prompt)
        beginning = self._to_keep(messages, prompt) if self._fresh else []
        if self._fresh:
            self._whole_chunks, self._fresh = len(prompt) // self._chunk * self._chunk, False
        asked = time.monotonic()
        remarks: list[str] = []
        try:
            if self._prompts is not None and cached < len(beginning):
                remarks.append(self._prompts.load(beginning))
                cached = len(self.engine.evaluated)
            for done in self.engine.evaluate(prompt[cached:]):
                if self._prompts is not None and cached + done == len(beginning):
                    remarks.append(self._prompts.save(beginning, self._speed))
        except AbortedError:
            deadline.check()
            count = max(0, len(self.engine.evaluated) - cached)
            now = time.monotonic()
            return self._reply(
                "", "time", Usage("", count, cached, 0, now - begun, prompt_seconds=now - asked)
            )
        read = time.monotonic()
        strict = self._asked.grammar == "strict"
        sampler = self.engine.sampler(
            seed=(self._seed + self._asked.seed) * 1_000_003 + self._answers,
            sampling=self._sampling,
            grammar=answer_grammar(self._callable, self._form, opened=opened) if strict else None,
        )
        self._answers += 1
        watch = None
        if self._asked.grammar == "calls":
            end = self.engine.vocabulary.end_token
            watch = CallWatch(sampler, self._form, self._callable, opened=opened, end=end)
        try:
            text, written, stop, first = self._write(sampler, tokens, watch, mark)
        finally:
            sampler.close()
        deadline.check()
        usage = Usage(
            text,
            len(prompt) - cached,
            cached,
            written,
            time.monotonic() - begun,
            prompt_seconds=read - asked,
            writing_seconds=time.monotonic() - read,
            first_token_seconds=first - begun,
            remarks=tuple(filter(None, remarks)),
        )
        return self._reply(text, stop, usage, opened=opened)

    def _to_keep(self, messages: Sequence[Message], prompt: list[int]) -> list[int]:
        """Return the beginning of a first prompt that is kept on disk: what no other task changes, in whole
        chunks; none where nothing is kept.
        """
        if self._prompts is None:
            return []
        other = [*messages[:-1], {**messages[-1], "content": ""}]
        without = self.engine.vocabulary.prompt_tokens(self._template.render(other, self._schemas))
        return prompt[: _common(without, prompt[:-1]) // self._chunk * self._chunk]

    @property
    def _chunk(self) -> int:
        return self.engine.n_batch

    def _keep(self, prompt: list[int]) -> int:
        """Rewind the context to its common prefix with the prompt; return the prefix's length in tokens.

        At least one token is evaluated: the last one's logits are needed.
        """
        common = _common(self.engine.evaluated, prompt[:-1])
        if self._fresh:
            common = min(common, self._whole_chunks) // self._chunk * self._chunk
        self._whole_chunks = min(self._whole_chunks, common // self._chunk * self._chunk)
        self.engine.rewind(common)
        return len(self.engine.evaluated)

    @property
    def _form(self) -> Format:
        return self._template.form if self._plain is None else self._plain.form

    def _write(
        self, sampler: Sampler, tokens: int, watch: CallWatch | None, mark: str | None
    ) -> tuple[str, int, ReplyStop, float]:
        """Write an answer; returns its text, its tokens, why it ended, and when the first token came."""
        vocabulary, budget = self.engine.vocabulary, None
        if self._asked.thinking_tokens is not None:
            budget = ThoughtBudget(vocabulary, self._asked.thinking_tokens, opened_with=mark)
        data = b""
        written = 0
        first = 0.0
        stop: ReplyStop = "end"
        forced: list[int] = [] if budget is None else budget.wrote(b"")
        while True:
            token = forced.pop(0) if forced else sampler.next()
            first = first or time.monotonic()
            written += 1
            if vocabulary.ends(token):
                break
            piece = vocabulary.piece(token)
            data += piece
            if watch is not None:
                watch.wrote(token, piece)
            if (said := self._before_stop(data, opened=mark is not None)) is not None:
                return said, written, "end", first
            if budget is not None:
                forced = forced or budget.wrote(data)
            if written >= tokens:
                stop = "tokens"
                break
            if len(self.engine.evaluated) + 1 >= self.engine.n_ctx:
                stop = "context"
                break
            try:
                for _ in self.engine.evaluate([token]):
                    pass
            except AbortedError:
                stop = "time"
                break
        return data.decode(errors="replace"), written, stop, first

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
        parsed = parse_answer(
            text, self._tools, self._form, opened=opened, lenient=self._asked.reading == "lenient"
        )
        items = parsed.items
        usage = replace(usage, reasoning=parsed.thoughts)
        message: Message = {"role": "assistant", "content": parsed.words.strip("\n")}
        if parsed.thoughts:
            message["reasoning_content"] = parsed.thoughts
        if self._plain is not None:
            message["content"] = parsed.rest.strip()
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


def _common(some: Sequence[int], others: Sequence[int]) -> int:
    """Return how many tokens both begin with."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((k for k, (one, other) in pairs if one != other), min(len(some), len(others)))


def _threads(path: Path) -> int:
    small = path.is_file() and path.stat().st_size < SMALL_MODEL
    return 1 if small else physical_cores()


def _sampling(options: ModelOptions) -> Sampling:
    given = {name: getattr(options, name) for name in ("top_k", "top_p", "min_p")}
    return Sampling(options.temperature, **{name: one for name, one in given.items() if one is not None})


def _template_text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        text = read_text(path)
    except ForeignTextError as error:
        raise AgentSpecError(f"{path}: cannot be read: {error}") from None
    if not text.strip():
        raise AgentSpecError(f"option chat_template={path}: the file is empty")
    return text


def _chat_template(engine: LlamaEngine, options: ModelOptions) -> ChatTemplate:
    words = engine.vocabulary
    own = _template_text(options.chat_template)
    try:
        return ChatTemplate(
            own or engine.chat_template,
            bos=words.special_text("bos"),
            eos=words.special_text("eos"),
            thinking=options.thinking,
            specials=words.special_texts(),
            short_tools=options.tools == "short",
            reasoning_effort=options.reasoning_effort,
        )
    except BackendError as error:
        if own is None:
            raise
        raise AgentSpecError(f"option chat_template={options.chat_template}: {error}") from None


def verify(path: Path, options: ModelOptions) -> None:
    """Check a model's file, its template and the files of its options, without loading the weights.

    Raises:
        AgentSpecError: one of them is not right, or llama-cpp-python is not installed.
        BackendError: the chat template does not compile, or takes no conversation with tools.
    """
    engine = LlamaEngine(path, n_ctx=0, n_threads=1, lora=options.lora, only_words=True)
    try:
        _chat_template(engine, options)
    finally:
        engine.close()
