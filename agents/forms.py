"""The agents that ship with the kit, by their specifications. Each is imported when it is made."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from agents.agent import AgentSpecError, BackendError
from agents.options import HTTP, LIMITS, LOCAL, PROMPTING, SAMPLING, THINKING
from agents.registry import AgentForm, ModelForm

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.baselines.replay import ReadCalls
    from agents.options import ModelOptions

HUB_PLACE = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?:(?P<file>[^:]+)")


def cached_file(place: str) -> Path:
    """Return the file of `REPO[@REVISION]:FILE`; downloaded if the cache has it not.

    HF_ENDPOINT, HF_HOME, HF_TOKEN and HF_HUB_OFFLINE are the library's own settings.

    Raises:
        AgentSpecError: the place is none, the library is not installed, or the file cannot be had.
    """
    found = HUB_PLACE.fullmatch(place)
    if found is None:
        raise AgentSpecError(f"agent 'hf:{place}': write hf:OWNER/NAME:FILE.gguf, as on the Hugging Face Hub")
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise AgentSpecError(f"hf: needs huggingface-hub ({error}): pip install 'pathrig[hf]'") from None
    repo, revision, file = found["repo"], found["revision"], found["file"]
    cached = try_to_load_from_cache(repo, file, revision=revision)
    if isinstance(cached, str):
        return Path(cached)
    try:
        return Path(hf_hub_download(repo, file, revision=revision))
    except LocalEntryNotFoundError:
        reason = "there is no network, and it is not in the cache"
    except HfHubHTTPError as error:
        reason = " ".join(str(error).split())
    except (OSError, ValueError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    raise AgentSpecError(
        f"hf:{place}: cannot be downloaded: {reason[:300]}; give a file with llama:FILE.gguf"
    )


def _llama(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.llama_backend import LlamaBackend
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


def _openai(rest: str | None, options: ModelOptions) -> Agent:
    from agents.backends.openai_backend import OpenAIBackend
    from agents.backends.server_address import without_credentials
    from agents.scaffolds.prompted import prompted

    base_url, _, model = (rest or "").rpartition("#")
    if not base_url or not model:
        spec = without_credentials(f"openai:{rest}")
        raise AgentSpecError(f"agent {spec!r} names no model: write openai:BASE_URL#MODEL")
    return prompted(lambda: OpenAIBackend(base_url, model, options), options)


def _verify_openai(rest: str | None, options: ModelOptions) -> None:
    # Nothing is sent when it is made.
    _openai(rest, options).close()


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


def _baseline(made: str) -> Callable[[str | None, ReadCalls], Agent]:
    """Return what makes a baseline without a REST; `made` is its class, as `module:name`."""
    return lambda _rest, _read_calls: cast("Agent", resolve_name(f"agents.baselines.{made}")())


def _baseline_of(made: str) -> Callable[[str | None, ReadCalls], Agent]:
    """Return what makes a baseline of its REST; `made` makes it of a text, as `module:name`."""
    return lambda rest, _read_calls: cast("Agent", resolve_name(f"agents.baselines.{made}")(rest or ""))


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


MUTE = AgentForm(("mute",), _baseline("floors:MuteAgent"))
DONE = AgentForm(("done",), _baseline("floors:DoneAgent"))
DECLINER = AgentForm(("decliner[:REASON]",), _baseline_of("floors:DeclinerAgent"))
REPEAT = AgentForm(("repeat",), _baseline("floors:RepeatAgent"))
ORACLE = AgentForm(("oracle",), _baseline("oracle:OracleAgent"))
MUTATED = AgentForm(("mutated[:RATE[:KIND]]",), _baseline_of("mutated:MutatedAgent.parse"))
RANDOM = AgentForm(("random",), _baseline("random:RandomAgent"))
SCRIPTED = AgentForm(("scripted:FILE.jsonl",), _scripted)
REPLAY = AgentForm(("replay:DB#EPISODE",), _replay)
COMMAND = AgentForm(("command:PROGRAM ARGS",), _command, runs_rest=True)
SHIPPED = (
    *(LLAMA, HF, LLAMA_SERVER, OPENAI, OLLAMA, LMSTUDIO, COMMAND),
    *(ORACLE, MUTATED, REPEAT, RANDOM, SCRIPTED, REPLAY, MUTE, DONE, DECLINER),
)
