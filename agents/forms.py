"""The agents that ship with the kit, by their specifications. Each is imported when it is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agents.baseline_forms import (
    COMMAND,
    DECLINER,
    DONE,
    MUTATED,
    MUTE,
    ORACLE,
    RANDOM,
    REPEAT,
    REPLAY,
    SCRIPTED,
)
from agents.errors import AgentSpecError, BackendError
from agents.options import HTTP, LIMITS, LOCAL, PROMPTING, SAMPLING, THINKING
from agents.registry import AgentForm, ModelForm

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.backends.backend import ChatBackend
    from agents.options import ModelOptions


def _prompted(make: Callable[[], ChatBackend], options: ModelOptions) -> Agent:
    """Return the agent of a backend, which is made once its prompt is read."""
    from agents.scaffolds.own_prompt import own_prompt
    from agents.scaffolds.registry import SCAFFOLDS

    own = own_prompt(options)
    return SCAFFOLDS[options.scaffold](make(), own=own, answer_tokens=options.answer_tokens)


def _llama(rest: str | None, options: ModelOptions) -> Agent:
    try:
        from agents.backends.llama_backend import LlamaBackend
    except ImportError as error:
        raise AgentSpecError(
            f"the llama agent needs llama-cpp-python ({error}): pip install 'pathrig[llama]'"
        ) from None
    path = _gguf(rest)
    try:
        return _prompted(lambda: LlamaBackend(path, options), options)
    except BackendError as error:
        raise AgentSpecError(f"{path}: {error}") from None


def _verify_llama(rest: str | None, options: ModelOptions) -> None:
    from agents.backends.llama_backend import verify
    from agents.scaffolds.own_prompt import own_prompt

    own_prompt(options)
    try:
        verify(_gguf(rest), options)
    except BackendError as error:
        raise AgentSpecError(f"{_gguf(rest)}: {error}") from None


def _gguf(rest: str | None) -> Path:
    from agents.backends.llama_backend import SHIPPED_MODEL

    return Path(rest) if rest else SHIPPED_MODEL


def _hf_gguf(rest: str | None) -> Path:
    from agents.hugging_face import cached_file

    return cached_file(rest or "")


def _openai(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.openai_backend import OpenAIBackend

    base_url, model = _address(rest)
    return _prompted(lambda: OpenAIBackend(base_url, model, options), options)


def _verify_openai(rest: str | None, options: ModelOptions) -> None:
    # Nothing is sent when it is made.
    _openai(rest, options).close()


def _address(rest: str | None) -> tuple[str, str]:
    from agents.backends.server_address import without_credentials

    base_url, _, model = (rest or "").rpartition("#")
    if not base_url or not model:
        spec = without_credentials(f"openai:{rest}")
        raise AgentSpecError(f"agent {spec!r} names no model: write openai:BASE_URL#MODEL")
    return base_url, model


def _llama_server(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.llama_server_backend import LlamaServerBackend

    return _prompted(lambda: LlamaServerBackend(_own_file(rest), options), options)


def _verify_llama_server(rest: str | None, options: ModelOptions) -> None:
    from agents.backends.llama_server_backend import verify
    from agents.scaffolds.own_prompt import own_prompt

    own_prompt(options)
    verify(_own_file(rest), options)


def _own_file(rest: str | None) -> Path:
    return Path(rest or "")


LLAMA_OPTIONS = SAMPLING | PROMPTING | THINKING | LIMITS | LOCAL
LLAMA = AgentForm(
    ("llama", "llama:FILE.gguf"),
    model_file=_gguf,
    model=ModelForm(_llama, LLAMA_OPTIONS, verify=_verify_llama, is_file=True),
)
HF = AgentForm(
    ("hf:REPO:FILE.gguf",),
    model_file=_hf_gguf,
    model=ModelForm(
        lambda rest, options: _llama(str(_hf_gguf(rest)), options),
        LLAMA_OPTIONS,
        verify=lambda rest, options: _verify_llama(str(_hf_gguf(rest)), options),
    ),
)
OPENAI = AgentForm(
    ("openai:BASE_URL#MODEL",),
    model=ModelForm(
        _openai,
        SAMPLING | PROMPTING | LIMITS | HTTP | {"thinking", "reasoning_effort", "n_ctx"},
        verify=_verify_openai,
    ),
)


def _behind(kind: str) -> AgentForm:
    """Return the form of models behind a local server."""

    def stands_for(rest: str | None) -> str:
        from agents.local_servers import server_spec

        return server_spec(kind, rest)

    return AgentForm((f"{kind}:NAME",), stands_for=stands_for)


OLLAMA, LMSTUDIO = _behind("ollama"), _behind("lmstudio")
LLAMA_SERVER = AgentForm(
    ("llama-server:FILE.gguf",),
    model_file=_own_file,
    model=ModelForm(
        _llama_server,
        SAMPLING
        | PROMPTING
        | THINKING
        | LIMITS
        | (LOCAL - {"grammar"})
        | {"server", "timeout", "extra_body"},
        verify=_verify_llama_server,
        is_file=True,
    ),
)
SHIPPED = (
    *(LLAMA, HF, LLAMA_SERVER, OPENAI, OLLAMA, LMSTUDIO, COMMAND),
    *(ORACLE, MUTATED, REPEAT, RANDOM, SCRIPTED, REPLAY, MUTE, DONE, DECLINER),
)
