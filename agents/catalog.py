"""Agents by their specification, as the command line takes it."""

from __future__ import annotations

from pathlib import Path

from agents.agent import Agent
from agents.backends.openai_backend import OpenAIBackend, without_credentials
from agents.baselines.mutated import MutatedAgent
from agents.baselines.oracle import OracleAgent
from agents.baselines.random import RandomAgent
from agents.baselines.replay import ReadCalls, ReplayAgent, no_log
from agents.baselines.scripted import ScriptedAgent
from agents.errors import AgentSpecError, BackendError
from agents.forms import FORMS
from agents.scaffolds.native import NativeScaffold

__all__ = ["AgentSpecError", "make_agent"]


def make_agent(spec: str, read_calls: ReadCalls = no_log) -> Agent:
    """Return the agent that a specification names, ready for `start`; `read_calls` reads a `replay:` log.

    Raises:
        AgentSpecError: the specification has none of the `FORMS`, or its file or model is not right.
    """
    kind, colon, rest = spec.partition(":")
    if kind == "llama" and (rest or not colon):
        return _llama(Path(rest) if rest else None)
    if kind == "openai" and rest:
        base_url, _, model = rest.rpartition("#")
        if not base_url or not model:
            raise AgentSpecError(
                f"agent {without_credentials(spec)!r} names no model: write openai:BASE_URL#MODEL"
            )
        return NativeScaffold(OpenAIBackend(base_url, model))
    if spec == "oracle":
        return OracleAgent()
    if kind == "mutated" and (rest or not colon):
        return MutatedAgent.parse(rest)
    if spec == "random":
        return RandomAgent()
    if kind == "scripted" and rest:
        return ScriptedAgent(Path(rest))
    if kind == "replay" and rest:
        path, _, number = rest.rpartition("#")
        if not path or not number.isdecimal():
            raise AgentSpecError(
                f"agent {spec!r} names no episode: write replay:DB#EPISODE, as in replay:runs.db#3"
            )
        name = f"{Path(path).name}#{number}"
        return ReplayAgent(name, read_calls(Path(path), int(number)))
    raise AgentSpecError(f"unknown agent {without_credentials(spec)!r}; the agents are {', '.join(FORMS)}")


def _llama(path: Path | None) -> Agent:
    try:
        from agents.backends.llama_backend import SHIPPED_MODEL, LlamaBackend
    except ImportError as error:
        raise AgentSpecError(
            f"the llama agent needs llama-cpp-python ({error}): pip install 'pathrig[llama]'"
        ) from None
    try:
        return NativeScaffold(LlamaBackend(path or SHIPPED_MODEL))
    except BackendError as error:
        raise AgentSpecError(f"{path or SHIPPED_MODEL}: {error}") from None
