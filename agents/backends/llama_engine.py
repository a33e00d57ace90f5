"""llama.cpp as an engine: text to tokens, tokens to evaluated context, context to the next token.

Over the C functions of llama-cpp-python, so that each count is what was really evaluated and a grammar that
does not compile is an error instead of a crash.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agents.backends.llama_vocabulary import Vocabulary
from agents.errors import AgentSpecError, BackendError

CHUNK = 128
"""Tokens that are evaluated at once."""
ABORTED = 2
"""What `llama_decode` returns when its abort callback said so."""
TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data` of llama.cpp."""


class AbortedError(Exception):
    """An evaluation was aborted; the tokens evaluated before are kept."""


class LlamaEngine:
    """One GGUF, loaded, with one context.

    `evaluate` asks `should_stop` after each chunk, and llama.cpp itself asks after each of the chunk's
    operations, which takes it milliseconds to seconds; backends other than the processor's do not.

    Attributes:
        should_stop: asked while tokens are evaluated, on the thread that evaluates.
        vocabulary: text to tokens and back.
        n_ctx: tokens that the context holds.
        evaluated: the tokens in the context, in order.
    """

    def __init__(self, path: Path, *, n_ctx: int, n_threads: int) -> None:
        """Load the model.

        Raises:
            AgentSpecError: llama-cpp-python is not installed, or the file is no GGUF that it can run.
        """
        self._model = self._context = None
        self.should_stop: Callable[[], bool] = lambda: False
        self._struck: BaseException | None = None
        self._c = c = load_llama_cpp()
        if not path.is_file():
            raise AgentSpecError(f"{path}: there is no such GGUF file")
        options = c.llama_model_default_params()
        options.n_gpu_layers = 0
        # llama.cpp's AMX kernels crash in worker threads on machines where the right to use the tile
        # registers is given to one thread at a time (llama.cpp issue 20824, pull request 26954).
        if b"AMX_INT8 = 1" in c.llama_print_system_info():
            options.use_extra_bufts = False
        self._model = c.llama_model_load_from_file(str(path).encode(), options)
        if not self._model:
            raise AgentSpecError(f"{path}: llama.cpp cannot load it: not a GGUF file, or of an unknown kind")
        context = c.llama_context_default_params()
        context.n_ctx = min(n_ctx, c.llama_model_n_ctx_train(self._model) or n_ctx)
        context.n_batch = context.n_ubatch = CHUNK
        context.n_threads = context.n_threads_batch = n_threads
        context.no_perf = False
        self._context = c.llama_init_from_model(self._model, context)
        if not self._context:
            self.close()
            raise AgentSpecError(
                f"{path}: llama.cpp cannot make a context of {n_ctx} tokens: too little memory"
            )
        if hasattr(c, "llama_set_abort_callback"):
            # llama.cpp keeps the pointer, so the object must live as long as the context.
            self._abort_callback = c.ggml_abort_callback(self._asked_to_stop)
            c.llama_set_abort_callback(self._context, self._abort_callback, None)
        self.vocabulary = Vocabulary(c, self._model)
        self.n_ctx = int(c.llama_n_ctx(self._context))
        self.evaluated: list[int] = []

    def close(self) -> None:
        """Free the model; the engine cannot be used afterwards."""
        if self._context:
            self._c.llama_free(self._context)
        if self._model:
            self._c.llama_model_free(self._model)
        self._context = self._model = None

    @property
    def chat_template(self) -> str | None:
        """The chat template in the file, if it has one."""
        template = self._c.llama_model_chat_template(self._model, None)
        return template.decode() if template else None

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens."""
        memory = self._c.llama_get_memory(self._context)
        if length > 0 and self._c.llama_memory_seq_rm(memory, 0, length, -1):
            del self.evaluated[length:]
        else:
            # A model with a recurrent state cannot go back: it starts anew.
            self._c.llama_memory_clear(memory, True)
            self.evaluated.clear()

    def evaluate(self, tokens: Sequence[int]) -> Iterator[int]:
        """Evaluate tokens after those in the context; yields how many are done, after each chunk.

        Raises:
            AbortedError: `should_stop` said so.
            BackendError: llama.cpp fails.
        """
        for begin in range(0, len(tokens), CHUNK):
            part = list(tokens[begin : begin + CHUNK])
            ids = (ctypes.c_int32 * len(part))(*part)  # the batch only points to it
            code = self._c.llama_decode(self._context, self._c.llama_batch_get_one(ids, len(part)))
            if self._struck is not None:
                struck, self._struck = self._struck, None
                self.rewind(len(self.evaluated))
                raise struck
            if code == ABORTED:
                self.rewind(len(self.evaluated))
                raise AbortedError
            if code != 0:
                raise BackendError(f"llama.cpp failed to evaluate {len(part)} tokens (code {code})")
            self.evaluated += part
            yield begin + len(part)
            if self.should_stop():
                raise AbortedError

    def _asked_to_stop(self, _data: object) -> bool:
        try:
            return self.should_stop()
        except BaseException as error:
            # Raised into C it would be lost: Ctrl-C, where this is the main thread.
            self._struck = error
            return True

    def sampler(self, *, seed: int, temperature: float, top_p: float, grammar: str | None) -> Sampler:
        """Return a sampler over this context. Temperature 0 takes the likeliest token, always.

        Raises:
            BackendError: the grammar does not compile.
        """
        return Sampler(self._c, self._context, self.vocabulary, seed, temperature, top_p, grammar)

    def evaluated_by_llama(self) -> int:
        """Return llama.cpp's own count of evaluated tokens since the model was loaded."""
        counts = self._c.llama_perf_context(self._context)
        return int(counts.n_p_eval + counts.n_eval)


class Sampler:
    """Picks the next token. The grammar is asked about the pick alone, and about all tokens only where it
    refuses: asking it about all each time costs more than the model."""

    def __init__(
        self, c: Any, context: Any, vocabulary: Vocabulary, seed: int, temperature: float, top_p: float,
        grammar: str | None,
    ) -> None:  # fmt: skip
        self._c, self._context = c, context
        self._vocab, self._size = vocabulary.pointer, vocabulary.size
        self._grammar = None
        self._chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        self.constrain(grammar)
        self._greedy = temperature <= 0
        steps = [c.llama_sampler_init_greedy()]
        if not self._greedy:
            steps = [
                c.llama_sampler_init_top_p(top_p, 1),
                c.llama_sampler_init_temp(temperature),
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


def load_llama_cpp() -> Any:
    """Return the C functions of llama-cpp-python, with llama.cpp's log output switched off.

    Raises:
        AgentSpecError: it is not installed.
    """
    try:
        from llama_cpp import llama_cpp
    except ImportError as error:
        raise AgentSpecError(
            f"the llama agent needs llama-cpp-python ({error}): pip install 'pathrig[llama]'"
        ) from None
    llama_cpp.llama_log_set(_silent(llama_cpp), ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return llama_cpp


_callbacks: list[Any] = []


def _silent(c: Any) -> Any:
    """Return a log callback that does nothing. llama.cpp keeps the pointer, so the object must stay alive."""
    if not _callbacks:
        _callbacks.append(c.llama_log_callback(lambda level, text, data: None))
    return _callbacks[0]
