"""Inspect: a folder of its eval logs in JSON, one per run, task, rig and agent; the repeats are epochs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from core_eval.export.common import model_name
from core_eval.log import EpisodeRow, LogReader, RunRow, StepRow, Tracked, Turn
from core_eval.text.json_text import json_text, to_json

VERSION = 2
"""Of Inspect's format of logs."""
Group = tuple[int, str, str, str, str]
"""Run, task, rig, agent, scaffold."""
TOOL_ERRORS = {"invalid": "parsing", "blocked": "approval"}
LIMITS = {"max_steps": "turn", "max_tokens": "token", "max_time": "time", "context": "context"}
LIMIT_KEYS = {"max_steps": "steps", "max_tokens": "output_tokens", "max_time": "seconds"}
STATUS = {"completed": "success", "stopped": "success", "running": "started", "error": "error"}
WORST_FIRST = ("error", "cancelled", "started", "success")


@dataclass(slots=True)
class _Summary:
    """What the head of a log tells of its episodes."""

    started: float
    model: str
    ids: list[int] = field(default_factory=list)
    statuses: set[str] = field(default_factory=set)
    error: str | None = None
    ended: float | None = None
    scores: dict[str, list[float]] = field(default_factory=dict)
    tokens: Counter[str] = field(default_factory=Counter)


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write a log per run, task, rig and agent; its samples one by one."""
    runs = {run.id: run for run in log.runs()}
    groups = _summaries(log, tracked("reading", ids, len(ids)))
    # One by one, so that only one sample is in memory.
    written = iter(
        tracked("writing episodes", (one for summary in groups.values() for one in summary.ids), len(ids))
    )
    for group, summary in groups.items():
        head = _head(runs[group[0]], group, summary)
        with (folder / _file_name(group, summary)).open("w", encoding="utf-8") as file:
            file.write(json_text(head)[:-1] + ', "samples": [')
            for place, episode_id in enumerate(islice(written, len(summary.ids))):
                sample = _Sample(log, log.episode(episode_id), place + 1)
                file.write(("," if place else "") + "\n" + json_text(sample.json()))
            file.write("\n]}\n")
    next(written, None)


def _file_name(group: Group, summary: _Summary) -> str:
    """Return a name as Inspect's own are: it lists only files that begin with a time."""
    begun = datetime.fromtimestamp(summary.started, UTC).isoformat(timespec="seconds").replace(":", "-")
    return f"{begun}_{_safe(group[1])}_{_safe(group[3])}_{_digest(*group)}.json"


def _summaries(log: LogReader, ids: Iterable[int]) -> dict[Group, _Summary]:
    found: dict[Group, _Summary] = {}
    for episode_id in ids:
        episode = log.episode(episode_id)
        key = (episode.run_id, episode.task, episode.rig, episode.agent, episode.scaffold)
        summary = found.setdefault(key, _Summary(episode.started, model_name(episode)))
        summary.ids.append(episode_id)
        summary.statuses.add(STATUS.get(episode.status, "cancelled"))
        if episode.status == "error":
            summary.error = summary.error or episode.error or "error"
        summary.ended = episode.ended or summary.ended
        for metric, value in episode.scores.items():
            if value is not None:
                summary.scores.setdefault(metric, []).append(value)
        for turn in log.turns(episode_id).values():
            summary.tokens.update(_tokens(turn))
    return found


def _head(run: RunRow, group: Group, summary: _Summary) -> dict[str, Any]:
    _, task, rig, agent, scaffold = group
    status = next(status for status in WORST_FIRST if status in summary.statuses)
    count = len(summary.ids)
    return {
        "version": VERSION,
        "status": status,
        "eval": {
            "eval_id": _digest("eval", run.created, *group),
            "run_id": _digest("run", run.created, run.id),
            "task_id": _digest("task", task),
            "created": _date(run.created),
            "task": task,
            "dataset": {"name": task, "samples": 1, "sample_ids": [task]},
            "model": summary.model,
            "solver": scaffold,
            "config": {"epochs": count},
            "packages": {name: str(value) for name, value in run.packages.items()},
            "metadata": {"rig": rig, "agent": agent, "run": run.id, "run_config": run.shown_config},
        },
        "plan": {"steps": [{"solver": scaffold}]},
        "results": {
            "total_samples": count,
            "completed_samples": count,
            "scores": [_mean(metric, values, count) for metric, values in sorted(summary.scores.items())],
        },
        "stats": {
            "started_at": _date(summary.started),
            "completed_at": _date(summary.ended),
            "model_usage": {summary.model: dict(summary.tokens)},
        },
        **({"error": _error(summary.error)} if summary.error and status == "error" else {}),
    }


def _mean(metric: str, values: Sequence[float], count: int) -> dict[str, Any]:
    mean = {"name": "mean", "value": sum(values) / len(values)}
    return {
        "name": metric,
        "scorer": metric,
        "scored_samples": len(values),
        "unscored_samples": count - len(values),
        "metrics": {"mean": mean},
    }


class _Sample:
    """One episode as a sample."""

    def __init__(self, log: LogReader, episode: EpisodeRow, epoch: int) -> None:
        self._episode = episode
        self._epoch = epoch
        self._steps = {step.k: step for step in log.steps(episode.id)}
        self._turns = log.turns(episode.id)
        self._harm = log.harm(episode.id)

    def json(self) -> dict[str, Any]:
        """Return the sample as Inspect's JSON."""
        episode = self._episode
        messages = list(self._messages())
        model = model_name(episode)
        tokens: Counter[str] = Counter()
        for turn in self._turns.values():
            tokens.update(_tokens(turn))
        last = next((one for one in reversed(messages) if one["role"] == "assistant"), None)
        choices = [] if last is None else [{"message": last, "stop_reason": "stop"}]
        limit = LIMITS.get(episode.stop_reason or "")
        return {
            "id": episode.task,
            "epoch": self._epoch,
            "uuid": _digest("sample", episode.run_id, episode.id, episode.started),
            "input": episode.definition.prompt,
            "target": "",
            "messages": messages,
            "output": {"model": model, "choices": choices},
            "scores": {name: {"value": value} for name, value in episode.scores.items() if value is not None},
            "metadata": {
                "pathrig_episode": episode.id,
                "seed": episode.seed,
                "status": episode.status,
                "stop_reason": episode.stop_reason,
                "said": episode.said,
                "stop": episode.stop,
                "guard": episode.guard,
                "world": episode.world,
                "device": episode.device,
                "init": episode.init,
                "scores": episode.scores,
                "failures": [failure.label for failure in episode.failures],
                "steps": [_step_facts(step) for step in self._steps.values()],
                "harm": [
                    {
                        "kind": event.kind,
                        "entity": event.entity,
                        "verdict": event.verdict,
                        "k": event.k,
                        "t_start": event.t_start,
                        "t_end": event.t_end,
                        "severity": event.severity,
                    }
                    for event in self._harm
                ],
            },
            "model_usage": {model: dict(tokens)},
            "started_at": _date(episode.started),
            "completed_at": _date(episode.ended),
            "total_time": episode.wall_seconds,
            **({"error": _error(episode.error or "error")} if episode.status == "error" else {}),
            **({} if limit is None else {"limit": {"type": limit, "limit": self._limit()}}),
        }

    def _limit(self) -> float:
        value = self._episode.limits.get(LIMIT_KEYS.get(self._episode.stop_reason or "", ""))
        return value if isinstance(value, int | float) else 0

    def _messages(self) -> Iterator[dict[str, Any]]:
        yield {"id": "prompt", "role": "user", "content": self._episode.definition.prompt}
        for k in sorted({*self._steps, *self._turns}):
            step, turn = self._steps.get(k), self._turns.get(k)
            calls = [] if step is None or step.tool is None else [_call(step)]
            yield {
                "id": f"turn-{k}",
                "role": "assistant",
                "content": "" if turn is None else turn.text,
                "model": model_name(self._episode),
                "source": "generate",
                **({"tool_calls": calls} if calls else {}),
            }
            if step is None:
                continue
            if step.tool is None:
                yield {"id": f"answer-{k}", "role": "user", "content": _error_text(step)}
            else:
                yield _answer(step)


def _call(step: StepRow) -> dict[str, Any]:
    return {
        "id": step.call_id or f"step-{step.k}",
        "function": step.tool,
        "arguments": step.arguments or {},
        "type": "function",
    }


def _answer(step: StepRow) -> dict[str, Any]:
    failed = step.status != "ok"
    kind = TOOL_ERRORS.get(step.status or "", "unknown")
    return {
        "id": f"answer-{step.k}",
        "role": "tool",
        "tool_call_id": step.call_id or f"step-{step.k}",
        "function": step.tool,
        "content": "" if step.result is None else to_json(step.result),
        **({"error": {"type": kind, "message": _error_text(step)}} if failed else {}),
    }


def _error_text(step: StepRow) -> str:
    words = [word for word in (step.error_code, step.error_message) if word]
    return ": ".join(words) or step.status or "no result"


def _step_facts(step: StepRow) -> dict[str, Any]:
    names = ("k", "tool", "status", "kind", "symbol", "t_device", "duration", "guard_action", "guard_reason")
    return {name: getattr(step, name) for name in names}


def _tokens(turn: Turn) -> dict[str, int]:
    return {
        "input_tokens": turn.input_tokens,
        "input_tokens_cache_read": turn.cached_tokens,
        "output_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.cached_tokens + turn.output_tokens,
    }


def _error(message: str) -> dict[str, str]:
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def _date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:22]


def _safe(name: str) -> str:
    """Return a name as a part of a file's name."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name)[:40]
