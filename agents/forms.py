"""The agents that ship with the kit, by their specifications. Each is imported when it is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents.errors import AgentSpecError, BackendError
from agents.options import LIMITS, LOCAL, PROMPTING, SAMPLING, THINKING
from agents.registry import AgentForm, ModelForm

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.baselines.replay import ReadCalls
    from agents.options import ModelOptions


def _llama(rest: str | None, options: ModelOptions) -> Agent:
    from agents.scaffolds.registry import SCAFFOLDS

    try:
        from agents.backends.llama_backend import LlamaBackend
    except ImportError as error:
        raise AgentSpecError(
            f"the llama agent needs llama-cpp-python ({error}): pip install 'pathrig[llama]'"
        ) from None
    path = _gguf(rest)
    try:
        backend = LlamaBackend(path, temperature=options.temperature, grammar=options.grammar)
        return SCAFFOLDS[options.scaffold](backend)
    except BackendError as error:
        raise AgentSpecError(f"{path}: {error}") from None


def _gguf(rest: str | None) -> Path:
    from agents.backends.llama_backend import SHIPPED_MODEL

    return Path(rest) if rest else SHIPPED_MODEL


def _openai(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.openai_backend import OpenAIBackend, without_credentials
    from agents.scaffolds.registry import SCAFFOLDS

    base_url, _, model = (rest or "").rpartition("#")
    if not base_url or not model:
        spec = without_credentials(f"openai:{rest}")
        raise AgentSpecError(f"agent {spec!r} names no model: write openai:BASE_URL#MODEL")
    return SCAFFOLDS[options.scaffold](OpenAIBackend(base_url, model, temperature=options.temperature))


def _oracle(_rest: str | None, _read_calls: ReadCalls) -> Agent:
    from agents.baselines.oracle import OracleAgent

    return OracleAgent()


def _mutated(rest: str | None, _read_calls: ReadCalls) -> Agent:
    from agents.baselines.mutated import MutatedAgent

    return MutatedAgent.parse(rest or "")


def _random(_rest: str | None, _read_calls: ReadCalls) -> Agent:
    from agents.baselines.random import RandomAgent

    return RandomAgent()


def _scripted(rest: str | None, _read_calls: ReadCalls) -> Agent:
    from agents.baselines.scripted import ScriptedAgent

    return ScriptedAgent(Path(rest or ""))


def _replay(rest: str | None, read_calls: ReadCalls) -> Agent:
    from agents.baselines.replay import ReplayAgent

    path, _, number = (rest or "").rpartition("#")
    if not path or not number.isdecimal():
        raise AgentSpecError(
            f"agent 'replay:{rest}' names no episode: write replay:DB#EPISODE, as in replay:runs.db#3"
        )
    return ReplayAgent(f"{Path(path).name}#{number}", read_calls(Path(path), int(number)))


def _command(rest: str | None, _read_calls: ReadCalls) -> Agent:
    try:
        from agents.mcp.command_agent import CommandAgent
    except ImportError as error:
        raise AgentSpecError(f"the command agent needs {error.name}: pip install 'pathrig[mcp]'") from None
    return CommandAgent(rest or "")


LLAMA = AgentForm(
    ("llama", "llama:FILE.gguf"),
    model_file=_gguf,
    model=ModelForm(_llama, SAMPLING | PROMPTING | THINKING | LIMITS | LOCAL, is_file=True),
)
OPENAI = AgentForm(
    ("openai:BASE_URL#MODEL",), model=ModelForm(_openai, frozenset({"temperature", "scaffold"}))
)
ORACLE = AgentForm(("oracle",), _oracle)
MUTATED = AgentForm(("mutated[:RATE[:KIND]]",), _mutated)
RANDOM = AgentForm(("random",), _random)
SCRIPTED = AgentForm(("scripted:FILE.jsonl",), _scripted)
REPLAY = AgentForm(("replay:DB#EPISODE",), _replay)
COMMAND = AgentForm(("command:PROGRAM ARGS",), _command)
SHIPPED = (LLAMA, OPENAI, COMMAND, ORACLE, MUTATED, RANDOM, SCRIPTED, REPLAY)
