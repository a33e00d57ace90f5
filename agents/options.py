"""Options of model agents: `SPEC?key=value&...` on the command line, keys in `configs/models/NAME.yaml`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any, Literal
from urllib.parse import parse_qsl, quote

from pydantic import Field, ValidationError, field_validator, model_validator

from agents.agent import AgentSpecError, Limits
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from devices.models import FrozenModel

GrammarMode = Literal["off", "calls", "strict"]
"""What a grammar holds: nothing, each call from its beginning on, or the whole answer."""
Reading = Literal["strict", "lenient"]
"""What of an answer makes a call: what is in the model's own form, or what is in any."""
Scaffold = Literal["native", "react"]
ToolTexts = Literal["short", "full"]
"""How tools are shown: as signatures where that is possible, or as function schemas."""
Effort = Literal["low", "medium", "high"]
Prompts = Literal["written", "paraphrased", "heard", "typos"]
"""How a model is told a task."""
CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
KEPT = frozenset(
    {"messages", "tools", "functions", "model", "max_tokens", "max_completion_tokens", "stop", "stream", "n"}
)
"""Keys of a request that no option may replace."""
SECRET = re.compile(r"authorization|cookie|key|secret|token|password", re.IGNORECASE)
READABLE = "/:,@$~ "
"""Characters that stay as they are in a specification, beside letters and digits."""


class ModelOptions(FrozenModel):
    """The options of a model agent; None leaves one to the model's template, the backend or the server."""

    n_ctx: int | None = Field(None, ge=16, description="tokens of context at most")
    n_batch: int | None = Field(None, ge=1, description="tokens that are evaluated at once")
    n_threads: int | None = Field(None, ge=1, description="threads of llama.cpp")
    n_gpu_layers: int | None = Field(None, ge=0, description="layers on the GPU")
    kv_type: CacheType | None = Field(None, description="type of the KV cache's numbers")
    prompt_cache: bool | None = Field(
        None,
        description="keep evaluated prompts on disk for later runs; default: on for files of 64 MiB or more",
    )
    lora: Path | None = Field(None, description="file of a LoRA adapter (GGUF)")
    chat_template: Path | None = Field(None, description="file of a chat template to use, not the model's")
    server: Path | None = Field(None, description="the llama-server program; default: the one on PATH")

    temperature: float = Field(0.0, ge=0, le=10, description="0 is greedy")
    top_k: int | None = Field(None, ge=0, description="sample from so many likeliest tokens; 0: from all")
    top_p: float | None = Field(None, gt=0, le=1, description="sample from tokens of so much probability")
    min_p: float | None = Field(None, ge=0, le=1, description="least probability, relative to the likeliest")
    seed: int = Field(0, ge=0, lt=2**31, description="added to the episode's seed for sampling")

    scaffold: Scaffold = Field("native", description="the model's own tool calls, or ReAct text")
    tools: ToolTexts = Field(
        "short",
        description="short: tools as signatures in ReAct, and where the chat template prints them as they "
        "are; full: as function schemas",
    )
    grammar: GrammarMode = Field("calls", description="what a grammar constrains")
    reading: Reading = Field(
        "strict",
        description="strict: what is in the model's own form is a call; lenient: what is in any form is one, "
        "wherever it stands",
    )
    thinking: bool | None = Field(None, description="on or off, where the model can")
    thinking_tokens: int | None = Field(None, ge=0, description="tokens of a thought before it is closed")
    reasoning_effort: Effort | None = Field(
        None, description="how much a model thinks, where its chat template takes it (gpt-oss)"
    )
    prompts: Prompts = Field(
        "written",
        description="the task as it is written, as a drawn paraphrase, as heard, or with typing errors",
    )
    system_prompt: str | None = Field(None, description="text in place of the kit's system prompt")
    system_prompt_file: Path | None = Field(None, description="file with that text")
    examples_file: Path | None = Field(None, description="JSON lines with example conversations")

    max_steps: int | None = Field(None, ge=1, description="actions of an episode")
    max_tokens: int | None = Field(None, ge=1, description="tokens that the model writes in an episode")
    max_seconds: float | None = Field(None, gt=0, description="seconds that an episode takes")
    answer_tokens: int | None = Field(None, ge=1, description="tokens of one answer")

    timeout: float | None = Field(None, gt=0, description="seconds until an answer of the server is complete")
    header: tuple[str, ...] = Field((), description="NAME: VALUE; $VARIABLE is taken from the environment")
    extra_body: dict[str, Any] | None = Field(None, description="JSON object that is added to each request")
    api_key_env: str | None = Field(
        None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable with the server's key"
    )

    name: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="what logs and tables call the agent; default: the file's name, or model:NAME",
    )

    @field_validator("prompts")
    @classmethod
    def _can_be_heard(cls, value: Prompts) -> Prompts:
        if value == "heard" and find_spec("inflect") is None:
            raise ValueError("it says numbers in words by inflect: pip install 'pathrig[heard]'")
        return value

    @field_validator("header", mode="before")
    @classmethod
    def _one_header(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("header")
    @classmethod
    def _headers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for header in value:
            name, colon, content = header.partition(":")
            if not colon or not re.fullmatch(r"[!#-'*+.^-z|~0-9A-Z-]+", name) or not content.isprintable():
                raise ValueError(f"{header!r} is no header: write NAME: VALUE")
            if SECRET.search(name) and "$" not in content:
                raise ValueError(
                    f"the value of {name} would stand in every log: put it into an environment variable and "
                    f"write {name}: $VARIABLE"
                )
        return value

    @field_validator("extra_body", mode="before")
    @classmethod
    def _extra_body(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse_json(value)
        except ForeignJsonError as error:
            raise ValueError(f"not JSON ({error})") from None

    @field_validator("extra_body")
    @classmethod
    def _replaces_nothing(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if taken := sorted(KEPT & set(value or ())):
            raise ValueError(f"{taken[0]!r} is set by the kit, and logged as it sets it: leave it out")
        return value

    @model_validator(mode="after")
    def _one_system_prompt(self) -> ModelOptions:
        if self.system_prompt is not None and self.system_prompt_file is not None:
            raise ValueError("give system_prompt or system_prompt_file, not both")
        return self

    @property
    def variables(self) -> list[tuple[str, str]]:
        """The environment variables whose values a server is sent, each with the option that names it."""
        named = [] if self.api_key_env is None else [("api_key_env", self.api_key_env)]
        values = (header.partition(":")[2] for header in self.header)
        return named + [("header", one) for value in values for one in Template(value).get_identifiers()]

    def limits(self, given: Limits) -> Limits:
        """Return an episode's limits with those of these options in place of the given ones."""
        return Limits(
            self.max_steps or given.steps,
            self.max_tokens or given.output_tokens,
            self.max_seconds or given.seconds,
        )


NO_OPTIONS = ModelOptions()
SAMPLING = frozenset({"temperature", "top_k", "top_p", "min_p", "seed"})
PROMPTING = frozenset(
    {"scaffold", "tools", "reading", "prompts", "system_prompt", "system_prompt_file", "examples_file"}
)
THINKING = frozenset({"thinking", "thinking_tokens", "reasoning_effort"})
LIMITS = frozenset({"max_steps", "max_tokens", "max_seconds", "answer_tokens"})
LOCAL = frozenset(
    {"n_ctx", "n_batch", "n_threads", "n_gpu_layers", "kv_type", "lora", "chat_template", "grammar"}
    | {"prompt_cache"}
)
HTTP = frozenset({"timeout", "header", "extra_body", "api_key_env"})
"""Groups of options: a kind of agent takes some of them."""


def parse_options(kind: str, query: str, taken: frozenset[str]) -> ModelOptions:
    """Return the options in `key=value&...`, of a kind of agent that takes these.

    Raises:
        AgentSpecError: one of them is unknown, not taken, given twice, or invalid.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise AgentSpecError(f"{kind} agent: write options as ?key=value&key=value, not {query!r}") from None
    given: dict[str, Any] = {}
    for key, value in pairs:
        if key == "header":
            given[key] = (*given.get(key, ()), value)
        elif key in given:
            raise AgentSpecError(f"{kind} agent: option {key} is given twice")
        else:
            given[key] = value
    return make_options(kind, given, taken)


def make_options(kind: str, given: Mapping[str, Any], taken: frozenset[str]) -> ModelOptions:
    """Return options by their keys; raises as `parse_options`."""
    for key in given:
        if (fault := key_fault(kind, key, taken)) is not None:
            raise AgentSpecError(f"{kind} agent: {fault}")
    try:
        return ModelOptions.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = str(first["loc"][0]) if first["loc"] else ""
        where = f"option {option}={given.get(option)}: " if option else ""
        raise AgentSpecError(f"{kind} agent: {where}{first['msg'].removeprefix('Value error, ')}") from None


def key_fault(kind: str, key: str, taken: Iterable[str]) -> str | None:
    """Return what is wrong with the key of an option, and the nearest right one; None for a right one."""
    if key in taken or key == "name":
        return None
    known = sorted({*taken, "name"})
    if key in ModelOptions.model_fields:
        return f"it has no option {key!r}; it takes {', '.join(known)}"
    near = get_close_matches(key, known, n=1)
    return f"unknown option {key!r}, " + (f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}")


def merged(options: ModelOptions, *others: ModelOptions) -> ModelOptions:
    """Return options in which what a later one sets takes the place of what an earlier one does.

    A name is extended by what later ones set, so that variants of a model have names of their own.
    """
    values = _given(options)
    for other in others:
        later = _given(other)
        if "name" in values and (query := query_of(other)):
            name = values["name"]
            later = {"name": f"{name}{'&' if '?' in name else '?'}{query[1:]}"} | later
        if later.keys() & {"system_prompt", "system_prompt_file"}:
            values = {k: v for k, v in values.items() if not k.startswith("system_prompt")}
        values |= later
    return ModelOptions(**values)


def _given(options: ModelOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.model_fields_set}


def query_of(options: ModelOptions) -> str:
    """Return `?key=value&...` of the options that are not the default, in one order; empty without any."""
    pairs: list[tuple[str, str]] = []
    for name, field in ModelOptions.model_fields.items():
        value = getattr(options, name)
        if value != field.default:
            pairs += [(name, _text(one)) for one in (value if isinstance(value, tuple) else (value,))]
    return "?" * bool(pairs) + "&".join(f"{key}={quote(text, safe=READABLE)}" for key, text in pairs)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
