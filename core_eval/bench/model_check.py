"""What a model takes before a run: its format, its options in use, memory and speed.

A model behind a server is asked for its first answer.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import Any

from agents.agent import (
    Action,
    Agent,
    AgentSpecError,
    EpisodeContext,
    InvalidAction,
    Limits,
    StopAction,
    ToolCallAction,
)
from agents.backends.backend import FirstAnswer
from agents.formats.calls import to_json
from agents.options import ModelOptions, merged
from agents.registry import ParsedSpec, make_agent, parse_spec
from configs.task import Task
from configs.task_entry import TaskLimits
from core_eval.run.episode_start import episode_limits
from core_eval.run.resource_usage import peak_memory

ENDED = {"done": "without a call", "decline": "it declines the task"}
CUT = {
    "max_time": "none within the limit",
    "max_tokens": "none within the limit of tokens",
    "context": "none: the prompt does not fit into the context",
}


def check_model(spec: str, task: Task) -> dict[str, Any]:
    """Load a model, measure it on the first prompt of a task, and return what there is to know of it.

    A server's model is asked for its first answer, of which nothing is executed.

    Raises:
        AgentSpecError: the specification is no model's, or its files, options or context are not right.
        BackendError: the model cannot be run.
    """
    parsed = parse_spec(spec)
    if parsed.options is None:
        raise AgentSpecError(f"{spec!r} is no model: name a GGUF file, a model's name or its specification")
    agent = make_agent(_measured(parsed))
    try:
        limits = episode_limits(task, parsed.text(), TaskLimits())
        context = EpisodeContext(
            task.prompt,
            task.offered.tools,
            limits=replace(limits, seconds=math.inf),
            advice=task.device.advice,
        )
        first = agent.check(context)
        if isinstance(first, FirstAnswer):
            answer = _estimated(first, limits)
        else:
            answer = _ask(agent, replace(context, limits=limits))
        found: dict[str, Any] = {
            "model": parsed.text(named=False),
            "scaffold": agent.scaffold,
            **agent.options,
            **agent.model_info.facts,
        }
        process = agent.model_info.process
        if process is not None:
            found["peak_memory_mib"] = _mebibytes(peak_memory(process))
            if process != os.getpid():
                found["process"] = process
        return found | {"task": task.id, "limit_s": limits.seconds} | answer
    finally:
        agent.close()


def _measured(parsed: ParsedSpec) -> str:
    """Return the specification of a model without kept prompts, whose speed is that of another time."""
    assert parsed.options is not None and parsed.form.model is not None
    if "prompt_cache" not in parsed.form.model.options:
        return parsed.text()
    own = merged(parsed.options, ModelOptions(prompt_cache=False))
    return replace(parsed, options=own).text()


def _estimated(first: FirstAnswer, limits: Limits) -> dict[str, Any]:
    seconds = first.speed.first_answer(first.prompt_tokens)
    return {
        "prompt_tokens": first.prompt_tokens,
        "prompt_tokens_per_s": first.speed.prompt,
        "writing_tokens_per_s": first.speed.writing,
        "first_answer_s": seconds,
        "within_limit": seconds <= limits.seconds,
    }


def _ask(agent: Agent, context: EpisodeContext) -> dict[str, Any]:
    """Return a server's first answer and what it cost: tokens and speeds where the server states them.

    Raises:
        BackendError: the server cannot be reached, refuses, or answers with something else.
    """
    agent.start(context)
    begun = time.monotonic()
    action = agent.act(None)
    seconds, usage = time.monotonic() - begun, action.usage
    found: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens + usage.cached_tokens or None,
        "answer_tokens": usage.output_tokens or None,
        "answer": _words_for(action),
        "remarks": list(usage.remarks),
        "first_answer_s": seconds,
        "within_limit": not (isinstance(action, StopAction) and action.reason in CUT),
    }
    if usage.prompt_seconds and usage.input_tokens:
        found["prompt_tokens_per_s"] = usage.input_tokens / usage.prompt_seconds
    if usage.writing_seconds and usage.output_tokens:
        found["writing_tokens_per_s"] = usage.output_tokens / usage.writing_seconds
    return found


def _words_for(action: Action) -> str:
    if isinstance(action, ToolCallAction):
        return f"calls {action.name} {to_json(action.arguments)}"
    if isinstance(action, InvalidAction):
        return f"cannot be read ({action.code}): {action.reason}"
    return (ENDED | CUT).get(action.reason, action.reason)


def _mebibytes(size: int | None) -> float | None:
    return None if size is None else size / 2**20
