"""Models that this machine runs: in this process, and by a server that is started for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents.agent import AgentSpecError, BackendError
from agents.hugging_face import cached_file
from agents.options import LIMITS, LOCAL, PROMPTING, SAMPLING, THINKING
from agents.registry import AgentForm, ModelForm

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.options import ModelOptions


def _llama(rest: str | None, options: ModelOptions) -> Agent:
    try:
        from agents.backends.llama_backend import LlamaBackend
    except ImportError as error:
        raise AgentSpecError(
            f"the llama agent needs llama-cpp-python ({error}): pip install 'pathrig[llama]'"
        ) from None
    from agents.scaffolds.prompted import prompted

    path = _gguf(rest)
    try:
        return prompted(lambda: LlamaBackend(path, options), options)
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
    return cached_file(rest or "")


def _llama_server(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.llama_server_backend import LlamaServerBackend
    from agents.scaffolds.prompted import prompted

    return prompted(lambda: LlamaServerBackend(_own_file(rest), options), options)


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


LLAMA_SERVER = AgentForm(
    ("llama-server:FILE.gguf",),
    model_file=_own_file,
    model=ModelForm(
        _llama_server,
        SAMPLING
        | PROMPTING
        | THINKING
        | LIMITS
        | (LOCAL - {"grammar", "prompt_cache"})
        | {"server", "timeout", "extra_body"},
        verify=_verify_llama_server,
        is_file=True,
    ),
)
