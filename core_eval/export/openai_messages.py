"""OpenAI: an episode a line, as the messages of a chat completion with its tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core_eval.export.common import model_name
from core_eval.log import EpisodeRow, LogReader, StepRow, Tracked
from core_eval.text.json_text import json_text, to_json

UNANSWERED = "no answer"
"""The status of a call whose result never came."""


def write(log: LogReader, ids: Sequence[int], path: Path, tracked: Tracked) -> None:
    """Write a line per episode."""
    with path.open("w", encoding="utf-8") as file:
        for episode_id in tracked("writing episodes", ids, len(ids)):
            episode = log.episode(episode_id)
            record = {
                "id": f"{episode.run_id}/{episode.id}",
                "task": episode.task,
                "model": model_name(episode),
                "agent": episode.agent,
                "seed": episode.seed,
                **({} if episode.reward is None else {"reward": episode.reward}),
                "end": episode.stop_reason,
                **({} if episode.said is None else {"said": episode.said}),
                "messages": list(_messages(log, episode)),
                "tools": list(episode.definition.tools),
            }
            file.write(json_text(record) + "\n")


def _messages(log: LogReader, episode: EpisodeRow) -> Iterator[dict[str, Any]]:
    first = log.prompt(episode.id)
    given = [] if first is None else [dict(one) for one in first.messages]
    yield from given or [{"role": "user", "content": episode.definition.prompt}]
    steps, turns = {step.k: step for step in log.steps(episode.id)}, log.turns(episode.id)
    for k in sorted({*steps, *turns}):
        step, turn = steps.get(k), turns.get(k)
        said: dict[str, Any] = {"role": "assistant", "content": "" if turn is None else turn.text}
        if step is None:
            yield said
        elif step.tool is None:
            # What the agent said was to be a call, and none could be read.
            yield said | {"status": step.status}
            yield {"role": "user", "content": _answer(step)}
        else:
            ident = step.call_id or f"step-{k}"
            function = {"name": step.tool, "arguments": to_json(step.arguments or {})}
            yield said | {"tool_calls": [{"id": ident, "type": "function", "function": function}]}
            status = {} if step.status == "ok" else {"status": step.status or UNANSWERED}
            yield {"role": "tool", "tool_call_id": ident, "content": _answer(step), **status}


def _answer(step: StepRow) -> str:
    if step.status == "ok":
        return "" if step.result is None else to_json(step.result)
    words = [word for word in (step.error_code, step.error_message) if word]
    return f"Error: {': '.join(words) or step.status or UNANSWERED}"
