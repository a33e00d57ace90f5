"""llama.cpp as an engine: text to tokens, tokens to evaluated context, context to the next token.

Over the C functions of llama-cpp-python, so that each count is what was really evaluated and a grammar that
does not compile is an error instead of a crash.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agents.agent import AgentSpecError, BackendError
from agents.backends.llama_library import Said, listening, load_llama_cpp
from agents.backends.llama_sampler import GREEDY, Sampler, Sampling
from agents.backends.llama_vocabulary import Vocabulary

CHUNK = 128
"""Tokens that are evaluated at once, where nothing else is asked for."""
GPU_CHUNK = 512
"""The same with layers on a GPU."""
MAGIC = b"GGUF"
CACHE_TYPE = "q8_0"
"""The type of the KV cache where nothing else is asked for, and the model allows it."""
ALL_LAYERS = 2**20
ABORTED = 2
"""The return value of `llama_decode` after its abort callback returned true."""


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
        trained_ctx: tokens that the model was trained with; None where its file does not state them.
        n_batch, n_threads: tokens that are evaluated at once, and threads that do it.
        n_gpu_layers: layers that are computed on a GPU.
        kv_type: the type of the numbers in the KV cache.
        evaluated: the tokens in the context, in order.
        megabytes: memory that llama.cpp took, MiB: of the weights, the KV cache, and for computing.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_ctx: int,
        n_threads: int,
        n_batch: int | None = None,
        n_gpu_layers: int | None = 0,
        kv_type: str | None = None,
        lora: Path | None = None,
        only_words: bool = False,
    ) -> None:
        """Load the model.

        Args:
            path: the GGUF file.
            n_ctx: at most so many; never more than the model was trained with.
            n_threads: as above.
            n_batch: tokens that are evaluated at once; None: `CHUNK`, or `GPU_CHUNK` with layers on a GPU.
            n_gpu_layers: layers on the GPU; None: all that fit, where llama.cpp was built with one.
            kv_type: of the KV cache; None: `CACHE_TYPE`, or f16 for a model that does not allow it.
            lora: a LoRA adapter.
            only_words: load the vocabulary and the template alone, which is fast.

        Raises:
            AgentSpecError: llama-cpp-python is not installed, or the files or options are not right.
        """
        self._model = self._context = None
        self.should_stop: Callable[[], bool] = lambda: False
        self._struck: BaseException | None = None
        self.megabytes: dict[str, float] = {}
        self._path, self.n_threads = path, n_threads
        self._c = load_llama_cpp()
        if not path.is_file():
            raise AgentSpecError(f"{path}: there is no such GGUF file")
        if lora is not None and not lora.is_file():
            raise AgentSpecError(f"{lora}: there is no such LoRA file")
        if only_words:
            self._load_only_words()
            return
        self._load(n_ctx, n_threads, n_batch, n_gpu_layers, kv_type)
        try:
            if lora is not None:
                self._adapt(lora)
        except AgentSpecError:
            self.close()
            raise
        c = self._c
        if hasattr(c, "llama_set_abort_callback"):
            # llama.cpp keeps the pointer, so the object must live as long as the context.
            self._abort_callback = c.ggml_abort_callback(self._asked_to_stop)
            c.llama_set_abort_callback(self._context, self._abort_callback, None)
        self.vocabulary = Vocabulary(c, self._model)
        self.evaluated: list[int] = []

    def _load_only_words(self) -> None:
        options = self._c.llama_model_default_params()
        options.vocab_only = True
        with listening() as said:
            self._model = self._c.llama_model_load_from_file(str(self._path).encode(), options)
        if not self._model:
            raise AgentSpecError(_cannot_load(self._path, said))
        self.vocabulary = Vocabulary(self._c, self._model)

    def _load(
        self, n_ctx: int, n_threads: int, n_batch: int | None, n_gpu_layers: int | None, kv_type: str | None
    ) -> None:
        """Load the model and make its context; with fewer layers on the GPU while they do not fit."""
        gpu = bool(self._c.llama_supports_gpu_offload())
        if n_gpu_layers and not gpu:
            raise AgentSpecError(
                f"n_gpu_layers={n_gpu_layers}: the installed llama-cpp-python was built without a GPU"
            )
        layers = ALL_LAYERS if n_gpu_layers is None and gpu else n_gpu_layers or 0
        while True:
            try:
                self._load_model(layers)
                self.n_gpu_layers = min(layers, int(self._c.llama_model_n_layer(self._model)) + 1)
                self.n_batch = n_batch or (GPU_CHUNK if self.n_gpu_layers else CHUNK)
                self._make_context(n_ctx, n_threads, kv_type)
                return
            except _DoesNotFitError as error:
                self.close()
                if n_gpu_layers is not None or not layers:
                    raise AgentSpecError(str(error)) from None
                layers = self.n_gpu_layers // 2

    def _load_model(self, layers: int) -> None:
        c = self._c
        options = c.llama_model_default_params()
        options.n_gpu_layers = layers
        # llama.cpp's AMX kernels crash in worker threads on machines where the right to use the tile
        # registers is given to one thread at a time (llama.cpp issue 20824, pull request 26954).
        if b"AMX_INT8 = 1" in c.llama_print_system_info():
            options.use_extra_bufts = False
        self.n_gpu_layers = layers
        with listening() as said:
            self._model = c.llama_model_load_from_file(str(self._path).encode(), options)
        if not self._model:
            raise _DoesNotFitError(_cannot_load(self._path, said))
        self.megabytes["weights"] = said.megabytes("model")

    def _make_context(self, n_ctx: int, n_threads: int, kv_type: str | None) -> None:
        c = self._c
        context = c.llama_context_default_params()
        self.trained_ctx: int | None = c.llama_model_n_ctx_train(self._model) or None
        context.n_ctx = min(n_ctx, self.trained_ctx or n_ctx)
        # llama.cpp takes no batch longer than its context.
        context.n_batch = context.n_ubatch = self.n_batch = min(self.n_batch, context.n_ctx)
        context.n_threads = context.n_threads_batch = n_threads
        context.no_perf = False
        for self.kv_type in (kv_type,) if kv_type is not None else (CACHE_TYPE, "f16"):
            context.type_k = context.type_v = getattr(c, f"GGML_TYPE_{self.kv_type.upper()}")
            with listening() as said:
                self._context = c.llama_init_from_model(self._model, context)
            if self._context:
                # llama.cpp rounds it up; no more is used than was asked for.
                self.n_ctx: int = min(context.n_ctx, int(c.llama_n_ctx(self._context)))
                self.megabytes |= {
                    "cache": said.megabytes("KV", "RS"),
                    "computing": said.megabytes("compute"),
                }
                return
        raise _DoesNotFitError(
            f"{self._path}: llama.cpp cannot make a context of {context.n_ctx} tokens with a cache of "
            f"{self.kv_type}: {said.fault or 'too little memory'}"
        )

    def _adapt(self, lora: Path) -> None:
        """Put a LoRA adapter before the model; it is freed with the model."""
        with listening() as said:
            adapter = self._c.llama_adapter_lora_init(self._model, str(lora).encode())
            if adapter:
                adapters = (self._c.llama_adapter_lora_p_ctypes * 1)(adapter)
                scales = (ctypes.c_float * 1)(1.0)
                if self._c.llama_set_adapters_lora(self._context, adapters, 1, scales) == 0:
                    return
        raise AgentSpecError(f"{lora}: llama.cpp cannot use it as a LoRA of {self._path.name}: {said.fault}")

    def close(self) -> None:
        """Free the model; the engine cannot be used afterwards."""
        if self._context:
            self._c.llama_free(self._context)
        if self._model:
            self._c.llama_model_free(self._model)
        self._context = self._model = None

    def meta(self, key: str) -> str | None:
        """Return a value of the file's metadata; None where it has none of that key."""
        buffer = ctypes.create_string_buffer(512)
        size = self._c.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode(errors="replace") if size >= 0 else None

    @property
    def description(self) -> str:
        """The kind, size and quantisation of the model, as llama.cpp calls it."""
        buffer = ctypes.create_string_buffer(256)
        self._c.llama_model_desc(self._model, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    @property
    def chat_template(self) -> str | None:
        """The chat template in the file, if it has one."""
        template = self._c.llama_model_chat_template(self._model, None)
        return template.decode() if template else None

    def rewind(self, length: int) -> None:
        """Discard all but the first `length` tokens of the context."""
        memory = self._c.llama_get_memory(self._context)
        if length > 0 and self._c.llama_memory_seq_rm(memory, 0, length, -1):
            del self.evaluated[length:]
        else:
            # A model with a recurrent state cannot rewind: it starts again.
            self._c.llama_memory_clear(memory, True)
            self.evaluated.clear()

    @property
    def library(self) -> str:
        """The llama.cpp that is in use: its version, its file, and what of the processor it uses."""
        from llama_cpp import __version__

        file = Path(self._c._lib._name).stat()
        return f"{__version__} {file.st_size} {file.st_mtime_ns} {self._c.llama_print_system_info().decode()}"

    @property
    def state_bytes(self) -> int:
        """The size of what the context holds, bytes."""
        return int(self._c.llama_state_seq_get_size(self._context, 0))

    def save_state(self, path: Path, tokens: Sequence[int]) -> bool:
        """Write what the context holds, which is these tokens, to a file; return whether that was done."""
        ids = (ctypes.c_int32 * len(tokens))(*tokens)
        return bool(self._c.llama_state_seq_save_file(self._context, str(path).encode(), 0, ids, len(tokens)))

    def load_state(self, path: Path, tokens: Sequence[int]) -> bool:
        """Replace the context by that of a file, which must hold these tokens; return whether it does.

        The file must be as it was written: llama.cpp trusts it. Where it does not fit, the context is empty.
        """
        self.rewind(0)
        ids, count = (ctypes.c_int32 * len(tokens))(), ctypes.c_size_t()
        done = self._c.llama_state_seq_load_file(
            self._context, str(path).encode(), 0, ids, len(tokens), ctypes.byref(count)
        )
        if done and list(ids[: count.value]) == list(tokens):
            self.evaluated = list(tokens)
            return True
        self.rewind(0)
        return False

    def evaluate(self, tokens: Sequence[int]) -> Iterator[int]:
        """Evaluate tokens after those in the context; yields how many are done, after each chunk.

        Raises:
            AbortedError: `should_stop` returned true.
            BackendError: llama.cpp fails.
        """
        for begin in range(0, len(tokens), self.n_batch):
            part = list(tokens[begin : begin + self.n_batch])
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

    def sampler(self, *, seed: int = 0, sampling: Sampling = GREEDY, grammar: str | None = None) -> Sampler:
        """Return a sampler over this context.

        Raises:
            BackendError: the grammar does not compile.
        """
        return Sampler(self._c, self._context, self.vocabulary, seed, sampling, grammar)


class _DoesNotFitError(Exception):
    """llama.cpp cannot load the model or make a context; one line."""


def _cannot_load(path: Path, said: Said) -> str:
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return f"{path}: is no GGUF file"
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror}"
    return f"{path}: llama.cpp cannot load it: {said.fault or 'it is of an unknown kind'}"


CPUS = Path("/sys/devices/system/cpu")


def physical_cores(root: Path = CPUS) -> int:
    """Return how many physical cores this process may use.

    Two threads of one core share its arithmetic, so that a model gains nothing by the second. ARM cores have
    one thread each, so all of them count. Where the system does not report threads, all processors count.
    """
    try:
        allowed = sorted(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
    try:
        cores = {(root / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip() for cpu in allowed}
    except OSError:
        return len(allowed)
    return len(cores)
