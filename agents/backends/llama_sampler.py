"""Picks the next token of an answer; a grammar may hold from where a call begins to where it ends."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.agent import BackendError
from agents.backends.llama_vocabulary import Vocabulary
from agents.formats.answer_grammar import call_grammar
from agents.formats.format import Format
from agents.formats.known_marks import USUAL, known_marks
from agents.formats.thoughts import rest_start

TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data` of llama.cpp."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is picked; temperature 0 takes the likeliest one, always."""

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0


GREEDY = Sampling()


class Sampler:
    """Picks the next token. The grammar is asked about the pick alone, and about all tokens only where it
    refuses: asking it about all each time costs more than the model."""

    def __init__(
        self, c: Any, context: Any, vocabulary: Vocabulary, seed: int, sampling: Sampling, grammar: str | None
    ) -> None:
        self._c, self._context = c, context
        self._vocab, self._size = vocabulary.pointer, vocabulary.size
        self._grammar = None
        self._chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        self.constrain(grammar)
        self._greedy = sampling.temperature <= 0
        steps = [c.llama_sampler_init_greedy()]
        if not self._greedy:
            # The likeliest few first: sorting the whole vocabulary costs more than all the rest.
            steps = [
                c.llama_sampler_init_top_k(sampling.top_k),
                c.llama_sampler_init_top_p(sampling.top_p, 1),
                c.llama_sampler_init_min_p(sampling.min_p, 1),
                c.llama_sampler_init_temp(sampling.temperature),
                c.llama_sampler_init_dist(seed & 0xFFFFFFFF),
            ]
        for step in steps:
            c.llama_sampler_chain_add(self._chain, step)
        self._tokens = (c.llama_token_data * self._size)()
        self._view = np.frombuffer(self._tokens, dtype=TOKEN_DATA)

    def close(self) -> None:
        """Free the sampler."""
        for part in (self._chain, self._grammar):
            if part:
                self._c.llama_sampler_free(part)
        self._chain = self._grammar = None

    def constrain(self, grammar: str | None, written: Sequence[int] = ()) -> bool:
        """Follow another grammar from here on, or none; return whether it allows what is written already.

        Raises:
            BackendError: the grammar does not compile.
        """
        if self._grammar:
            self._c.llama_sampler_free(self._grammar)
        self._grammar = None
        if grammar is None:
            return True
        self._grammar = self._c.llama_sampler_init_grammar(self._vocab, grammar.encode(), b"root")
        if not self._grammar:
            self.close()
            raise BackendError("llama.cpp cannot compile the grammar of the tools; turn the grammar off")
        for token in written:
            if not self.allows(token):
                return self.constrain(None) and False
            self._c.llama_sampler_accept(self._grammar, token)
        return True

    @property
    def constrained(self) -> bool:
        """Whether a grammar is followed."""
        return bool(self._grammar)

    def next(self) -> int:
        """Return the next token after what was evaluated last."""
        token = self._pick(masked=False)
        if not self.allows(token):
            token = self._pick(masked=True)
        self.accept(token)
        return token

    def _pick(self, *, masked: bool) -> int:
        logits = np.ctypeslib.as_array(self._c.llama_get_logits_ith(self._context, -1), shape=(self._size,))
        if self._greedy and not masked:
            return int(logits.argmax())
        self._view["id"] = np.arange(self._size)
        self._view["logit"] = logits
        self._view["p"] = 0.0
        array = self._c.llama_token_data_array(self._tokens, self._size, -1, False)
        if masked:
            self._c.llama_sampler_apply(self._grammar, ctypes.byref(array))
        self._c.llama_sampler_apply(self._chain, ctypes.byref(array))
        return int(array.data[array.selected].id)

    def allows(self, token: int) -> bool:
        """Return whether the grammar, if there is one, lets this token come next."""
        if not self._grammar:
            return True
        one = (self._c.llama_token_data * 1)(self._c.llama_token_data(token, 1.0, 0.0))
        array = self._c.llama_token_data_array(one, 1, -1, False)
        self._c.llama_sampler_apply(self._grammar, ctypes.byref(array))
        return bool(one[0].logit > float("-inf"))

    def accept(self, token: int) -> None:
        """Continue as if this token had been picked; the grammar must allow it."""
        if self._grammar:
            self._c.llama_sampler_accept(self._grammar, token)
        self._c.llama_sampler_accept(self._chain, token)


class ThoughtBudget:
    """Monitors one answer; thoughts can be closed whose marks a syntax gives."""

    def __init__(self, vocabulary: Vocabulary, tokens: int, *, opened_with: str | None) -> None:
        """Monitor an answer whose thoughts may take that many tokens.

        `opened_with` is the mark with which the prompt opened a thought; None if it did not.
        """
        self._vocabulary, self._tokens = vocabulary, tokens
        self._mark = opened_with
        self._opened = opened_with is not None
        self._thought = 0

    def wrote(self, data: bytes) -> list[int]:
        """Return the tokens that close the thought, when it is time; asked after each token."""
        text = data.decode(errors="replace")
        if rest_start(text, opened=self._opened) is not None:
            return []
        self._thought += bool(data)
        if self._thought < self._tokens:
            return []
        marks = [match.group() for match in known_marks().open.finditer(text)]
        close = known_marks().pairs.get(marks[-1] if marks else self._mark or USUAL[0])
        return [] if close is None else self._vocabulary.tokenize(f"\n{close}\n\n")


class CallWatch:
    """Monitors an answer for calls. Other text is unconstrained, also after a call.

    A mark may be quoted and a report may be JSON, so more must stand than that: see `Format.beginning`. What
    does not continue as a call of the tools stays unconstrained too; the parser reports it.
    """

    def __init__(
        self,
        sampler: Sampler,
        form: Format,
        schemas: Sequence[Mapping[str, Any]],
        *,
        opened: bool,
        end: int,
    ) -> None:
        """Monitor the answer of a sampler; `end` is the token that ends it."""
        self._sampler, self._form, self._schemas = sampler, form, schemas
        self._opened, self._end = opened, end
        names = [schema["function"]["name"] for schema in schemas]
        self._beginning = form.beginning(names) if names else None
        self._tokens: list[tuple[int, bytes]] = []
        self._data = b""
        self._seen = 0

    def wrote(self, token: int, piece: bytes) -> None:
        """Take in the next token of the answer."""
        self._tokens.append((token, piece))
        self._data += piece
        if not self._sampler.constrained:
            self._look()
        if self._sampler.constrained and self._sampler.allows(self._end):
            self._sampler.constrain(None)
            self._seen = len(self._data)

    def _look(self) -> None:
        """Follow the grammar of a call where one begins."""
        text = self._data.decode(errors="replace")
        start = rest_start(text, opened=self._opened)
        if start is None or self._beginning is None:
            return
        seen = len(self._data[: self._seen].decode(errors="replace"))
        for call in self._beginning.finditer(text[start:]):
            if start + call.start("call") >= seen:
                self._hold(len(text[: start + call.start("call")].encode()))
                return

    def _hold(self, place: int) -> None:
        """Follow the grammar of a call that begins at this byte."""
        written: list[int] = []
        size = len(self._data)
        for token, piece in reversed(self._tokens):
            written.insert(0, token)
            size -= len(piece)
            if size <= place:
                break
        before = self._data[size:place].decode(errors="replace")
        self._sampler.constrain(call_grammar(self._schemas, self._form, before), written)
        self._seen = len(self._data)
