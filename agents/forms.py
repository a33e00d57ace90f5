"""The agents that ship with the kit, by their specifications. Each is imported when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.agent import AgentSpecError
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
from agents.local_forms import HF, LLAMA, LLAMA_SERVER
from agents.options import HTTP, LIMITS, PROMPTING, SAMPLING
from agents.registry import AgentForm, ModelForm

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.options import ModelOptions


def _openai(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.openai_backend import OpenAIBackend
    from agents.scaffolds.prompted import prompted

    base_url, model = _address(rest)
    return prompted(lambda: OpenAIBackend(base_url, model, options), options)


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


SERVED = SAMPLING | PROMPTING | LIMITS | HTTP | {"thinking", "reasoning_effort", "n_ctx"}
OPENAI = AgentForm(("openai:BASE_URL#MODEL",), model=ModelForm(_openai, SERVED, verify=_verify_openai))


def _behind(kind: str) -> AgentForm:
    """Return the form of models behind a server at its usual address."""

    def make(rest: str | None, options: ModelOptions) -> Agent:
        from agents.local_servers import behind

        return behind(kind, rest or "", options)

    def verify(rest: str | None, _options: ModelOptions) -> None:
        from agents.local_servers import known_name

        known_name(kind, rest or "")

    return AgentForm((f"{kind}:NAME",), model=ModelForm(make, SERVED, verify=verify))


OLLAMA, LMSTUDIO = _behind("ollama"), _behind("lmstudio")
SHIPPED = (
    *(LLAMA, HF, LLAMA_SERVER, OPENAI, OLLAMA, LMSTUDIO, COMMAND),
    *(ORACLE, MUTATED, REPEAT, RANDOM, SCRIPTED, REPLAY, MUTE, DONE, DECLINER),
)
