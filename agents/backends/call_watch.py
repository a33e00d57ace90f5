"""Constrain calls alone: a grammar holds from where a call begins to where it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.formats.answer_grammar import call_grammar
from agents.formats.format import Format
from agents.formats.thoughts import rest_start

if TYPE_CHECKING:
    from agents.backends.llama_sampler import Sampler


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
