"""The vocabulary of a GGUF: text to tokens and back, by llama.cpp."""

from __future__ import annotations

import ctypes
from typing import Any

from agents.agent import BackendError
from agents.formats.data_text import GUARD

UNKNOWN, CONTROL, USER_DEFINED = 1, 8, 16
"""Attributes of tokens (`enum llama_token_attr`) that llama.cpp finds in text before all others."""


class Vocabulary:
    """A loaded model's vocabulary.

    Attributes:
        pointer: what llama.cpp's functions take.
        size: how many tokens it has.
    """

    def __init__(self, c: Any, model: Any) -> None:
        self._c = c
        self.pointer = c.llama_model_get_vocab(model)
        self.size = int(c.llama_vocab_n_tokens(self.pointer))

    def special_text(self, kind: str) -> str:
        """Return the text of the `bos` or `eos` token; empty where there is none."""
        token = getattr(self._c, f"llama_vocab_{kind}")(self.pointer)
        return self.piece(token).decode(errors="replace") if token >= 0 else ""

    def special_texts(self) -> list[str]:
        """Return the texts of all tokens that mean something else than their text."""
        special = UNKNOWN | CONTROL | USER_DEFINED
        attribute, text = self._c.llama_vocab_get_attr, self._c.llama_vocab_get_text
        ids = [token for token in range(self.size) if attribute(self.pointer, token) & special]
        return [text(self.pointer, token).decode(errors="replace") for token in ids]

    def prompt_tokens(self, text: str) -> list[int]:
        """Return token ids of a rendered conversation, with the token for the beginning where the vocabulary
        wants one and the template has printed none.
        """
        ids = self.tokenize(text)
        bos = int(self._c.llama_vocab_bos(self.pointer))
        return [bos, *ids] if self.wants_bos and ids[:1] != [bos] else ids

    @property
    def wants_bos(self) -> bool:
        """Whether text begins with a token of its own."""
        has = self._c.llama_vocab_bos(self.pointer) >= 0
        return bool(has and self._c.llama_vocab_get_add_bos(self.pointer))

    def tokenize(self, text: str) -> list[int]:
        """Return token ids of a text; marks in it become their own tokens, but none across a guard."""
        return [token for part in text.split(GUARD) for token in self._tokenize(part)]

    def _tokenize(self, text: str) -> list[int]:
        data = text.encode()
        room = len(data) + 8
        ids = (ctypes.c_int32 * room)()
        count = self._c.llama_tokenize(self.pointer, data, len(data), ids, room, False, True)
        if count < 0:
            raise BackendError(f"llama.cpp cannot tokenize a conversation of {len(data)} bytes")
        return list(ids[:count])

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token; they need not be whole characters."""
        buffer = ctypes.create_string_buffer(256)
        size = self._c.llama_token_to_piece(self.pointer, token, buffer, len(buffer), 0, True)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = self._c.llama_token_to_piece(self.pointer, token, buffer, len(buffer), 0, True)
        return buffer.raw[:size]

    @property
    def end_token(self) -> int:
        """A token that ends an answer; -1 where the vocabulary has none."""
        turn = int(self._c.llama_vocab_eot(self.pointer))
        return turn if turn >= 0 else int(self._c.llama_vocab_eos(self.pointer))

    def ends(self, token: int) -> bool:
        """Return whether the token ends an answer."""
        return bool(self._c.llama_vocab_is_eog(self.pointer, token))
