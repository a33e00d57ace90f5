"""OpenTelemetry: OTLP in JSON, a line per episode, with the names of the GenAI semantic conventions.

An episode is a trace: a span for the episode, a span for each turn of the agent and for each call. All ids
derive from the log, so that an export can be repeated. Times are the host's; what the log keeps in device
time stands in attributes `pathrig.*`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core_eval.export.common import model_name, nanoseconds
from core_eval.log import EpisodeRow, HarmRow, LogReader, RunRow, StepRow, Tracked, Turn
from core_eval.text.json_text import json_text, to_json

INTERNAL, CLIENT = 1, 3
"""Kinds of spans."""
OK, ERROR = 1, 2
"""Codes of a span's status."""
STATUS_OF_EPISODE = {"completed": OK, "stopped": OK, "running": 0}
PREFIX = "pathrig"


def write(log: LogReader, ids: Sequence[int], path: Path, tracked: Tracked) -> None:
    """Write a line per episode, each a message `TracesData`."""
    with path.open("w", encoding="utf-8") as file:
        for episode_id in tracked("writing episodes", ids, len(ids)):
            episode = log.episode(episode_id)
            run = log.run(episode.run_id)
            trace = _Trace(log, episode, run)
            version = run.packages.get(PREFIX)
            resource = {"service.name": PREFIX, "service.version": version}
            scope = {"scope": {"name": PREFIX}, "spans": list(trace.spans())}
            whole = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}
            file.write(json_text({"resourceSpans": [whole]}) + "\n")


def _time(seconds: float) -> str:
    """Return a time as OTLP's JSON has it: whole ns since 1970, as text."""
    return str(nanoseconds(seconds))


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return OTLP's list of attributes; None is left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value) if isinstance(value, str) else to_json(value)}


def _prompt_tokens(turn: Turn) -> int:
    """Return what the conventions count: cached tokens too, which the log counts apart."""
    return turn.input_tokens + turn.cached_tokens


class _Trace:
    """The spans of one episode."""

    def __init__(self, log: LogReader, episode: EpisodeRow, run: RunRow) -> None:
        self._episode = episode
        self._steps = log.steps(episode.id)
        self._turns = log.turns(episode.id)
        self._harm = log.harm(episode.id)
        self._model = model_name(episode)
        self._suites = run.suites
        origin = f"{run.created!r}/{episode.run_id}/{episode.id}/{episode.started!r}"
        self._trace_id = hashlib.sha256(origin.encode()).hexdigest()[:32]
        self._end = episode.started if episode.ended is None else episode.ended
        for step in self._steps:
            self._end = max(self._end, step.t_result or step.t_intent)

    def spans(self) -> Iterator[dict[str, Any]]:
        """Yield the episode's span, then those of its turns and calls."""
        yield self._episode_span()
        before = self._episode.started
        by_k = {step.k: step for step in self._steps}
        for k in sorted({*by_k, *self._turns}):
            step, turn = by_k.get(k), self._turns.get(k)
            end = self._end if step is None else step.t_intent
            if turn is not None:
                unread = None if step is None or step.tool is not None else step.status
                yield self._turn_span(k, turn, max(before, end - turn.seconds), end, unread)
            if step is not None and step.tool is not None:
                yield self._call_span(step)
            before = end

    def _span(
        self,
        part: str,
        name: str,
        kind: int,
        times: tuple[float, float],
        values: Mapping[str, Any],
        events: Sequence[HarmRow],
        status: tuple[int, str | None],
    ) -> dict[str, Any]:
        code, message = status
        return {
            "traceId": self._trace_id,
            "spanId": self._span_id(part),
            **({"parentSpanId": self._span_id("")} if part else {}),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": _time(times[0]),
            "endTimeUnixNano": _time(max(times)),
            "attributes": _attributes(values),
            "events": [self._event(event, max(times)) for event in events],
            "status": {"code": code, **({"message": message} if message else {})},
        }

    def _span_id(self, part: str) -> str:
        return hashlib.sha256(f"{self._trace_id}/{part}".encode()).hexdigest()[:16]

    def _event(self, event: HarmRow, at: float) -> dict[str, Any]:
        names = ("kind", "entity", "verdict", "t_start", "t_end", "severity", "exposure", "probability")
        values = {f"{PREFIX}.harm.{name}": getattr(event, name) for name in names}
        return {
            "timeUnixNano": _time(at),
            "name": f"{PREFIX}.harm",
            "attributes": _attributes(values | {f"{PREFIX}.harm.evidence": event.evidence}),
        }

    def _episode_span(self) -> dict[str, Any]:
        episode = self._episode
        names = ("id", "run_id", "number", "task", "world", "rig", "device", "agent", "scaffold", "seed")
        more = ("status", "stop_reason", "said", "stop", "guard", "simulated", "seconds")
        values: dict[str, Any] = {
            f"{PREFIX}.suite": ", ".join(self._suites) or None,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": episode.agent,
            "gen_ai.request.model": self._model,
            "gen_ai.usage.input_tokens": sum(_prompt_tokens(turn) for turn in self._turns.values()),
            "gen_ai.usage.output_tokens": sum(turn.output_tokens for turn in self._turns.values()),
            "gen_ai.input.messages": [
                {"role": "user", "parts": [{"type": "text", "content": episode.definition.prompt}]}
            ],
            **{f"{PREFIX}.episode.{name}": getattr(episode, name) for name in (*names, *more)},
            **{f"{PREFIX}.score.{name}": value for name, value in sorted(episode.scores.items())},
            "error.type": None if episode.status in STATUS_OF_EPISODE else episode.status,
        }
        without_step = [event for event in self._harm if event.k is None]
        status = (STATUS_OF_EPISODE.get(episode.status, ERROR), episode.error)
        times = (episode.started, self._end)
        name = f"invoke_agent {episode.agent}"
        return self._span("", name, INTERNAL, times, values, without_step, status)

    def _turn_span(
        self, k: int, turn: Turn, start: float, end: float, unread: str | None = None
    ) -> dict[str, Any]:
        """Return the span of a turn; `unread` is the status of one from which no call could be read."""
        values = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": self._model,
            "gen_ai.usage.input_tokens": _prompt_tokens(turn),
            "gen_ai.usage.cache_read.input_tokens": turn.cached_tokens,
            "gen_ai.usage.output_tokens": turn.output_tokens,
            "gen_ai.output.messages": [
                {"role": "assistant", "parts": [{"type": "text", "content": turn.text}]}
            ],
            f"{PREFIX}.turn.k": k,
            f"{PREFIX}.turn.seconds": turn.seconds,
            f"{PREFIX}.turn.status": unread,
        }
        return self._span(f"turn/{k}", f"chat {self._model}", CLIENT, (start, end), values, (), (OK, None))

    def _call_span(self, step: StepRow) -> dict[str, Any]:
        names = ("k", "status", "kind", "symbol", "state_before", "state_after", "t_device", "duration")
        more = ("guard_action", "guard_reason")
        failed = step.status != "ok"
        values = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": step.call_id,
            "gen_ai.tool.call.arguments": step.arguments,
            "gen_ai.tool.call.result": step.result,
            "error.type": (step.error_code or step.status or "no_result") if failed else None,
            **{f"{PREFIX}.step.{name}": getattr(step, name) for name in (*names, *more)},
        }
        end = self._end if step.t_result is None else step.t_result
        events = [event for event in self._harm if event.k == step.k]
        status = (ERROR if failed else OK, step.error_message)
        times = (step.t_intent, end)
        return self._span(
            f"call/{step.k}", f"execute_tool {step.tool}", INTERNAL, times, values, events, status
        )
