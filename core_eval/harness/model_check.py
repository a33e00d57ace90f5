"""What a model takes on this machine, before a run: its format, its options in use, memory and speed."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

from agents.agent import EpisodeContext, check_agent, model_info_of, options_of
from agents.backends.backend import FirstAnswer
from agents.errors import AgentSpecError
from agents.registry import make_agent, parse_spec
from configs.tasks_loader import Task, TaskLimits
from core_eval.harness.episode_start import episode_limits
from core_eval.harness.resource_usage import peak_memory


def check_model(spec: str, task: Task) -> dict[str, Any]:
    """Load a model, measure it on the first prompt of a task, and return what there is to know of it.

    Raises:
        AgentSpecError: the specification is no model's, or its files, options or context are not right.
        BackendError: the model cannot be run.
    """
    parsed = parse_spec(spec)
    if parsed.options is None:
        raise AgentSpecError(f"{spec!r} is no model: name a GGUF file, a model's name or its specification")
    agent = make_agent(spec)
    try:
        limits = episode_limits(task, parsed.text(), TaskLimits())
        context = EpisodeContext(
            task.prompt,
            task.device.tools,
            limits=replace(limits, seconds=math.inf),
            advice=task.device.advice,
        )
        first = check_agent(agent, context)
        found: dict[str, Any] = {
            "model": parsed.text(),
            "scaffold": agent.scaffold,
            **options_of(agent),
            **model_info_of(agent).facts,
        }
        process = model_info_of(agent).process
        if process is not None:
            found["peak_memory_mib"] = _mebibytes(peak_memory(process))
            if process != os.getpid():
                found["process"] = process
        if isinstance(first, FirstAnswer):
            seconds = first.speed.first_answer(first.prompt_tokens)
            found |= {
                "task": task.id,
                "prompt_tokens": first.prompt_tokens,
                "prompt_tokens_per_s": first.speed.prompt,
                "writing_tokens_per_s": first.speed.writing,
                "first_answer_s": seconds,
                "limit_s": limits.seconds,
                "within_limit": seconds <= limits.seconds,
            }
        return found
    finally:
        agent.close()


def _mebibytes(size: int | None) -> float | None:
    return None if size is None else size / 2**20
