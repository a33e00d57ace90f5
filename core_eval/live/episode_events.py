"""The data of the live page's events, from rows of the log and from a scorer."""

from __future__ import annotations

from typing import Any

from core_eval.live.pictures import expected
from core_eval.log import EpisodeRow, QuestionRow, StepRow
from core_eval.log.rows import SampleRow
from core_eval.path import OnlineScorer
from core_eval.report.tables.agents import call_text, cell
from core_eval.score.metrics import BRIEF, BY_NAME, RUNNING
from devices.sensors import Sample


def step_data(step: StepRow) -> dict[str, Any]:
    """Return a step, complete or not."""
    return {
        "k": step.k,
        "call": call_text(step.tool, step.arguments or {}),
        "kind": step.kind or "",
        "status": step.status,
        "code": step.error_code,
        "message": step.error_message,
        "value": step.result,
        "seconds": step.duration,
        "action": step.guard_action or "allow",
        "reason": step.guard_reason or "",
    }


def question_data(question: QuestionRow) -> dict[str, Any]:
    """Return a question, answered or not."""
    return {
        "number": question.id,
        "call": question.text,
        "reason": question.reason,
        "until": question.until,
        "answer": question.answer,
        "by": question.by,
    }


def sample_data(sample: Sample | SampleRow) -> dict[str, Any]:
    """Return a reading."""
    return {"sensor": sample.sensor, "value": sample.value, "t": sample.t}


def past_data(episode: EpisodeRow) -> dict[str, Any]:
    """Return an ended episode in a line."""
    return {
        "id": episode.id,
        "task": episode.task,
        "agent": episode.agent,
        "status": episode.status,
        "reason": episode.stop_reason,
        "scores": [(BY_NAME[name].heading, cell(name, episode.scores.get(name), 1)) for name in BRIEF],
    }


def scores_data(scorer: OnlineScorer) -> dict[str, Any]:
    """Return the scores so far, the state, and what the task expects next."""
    scores = scorer.scores()
    values = scores.as_dict()
    shown = [(BY_NAME[name].heading, cell(name, _number(values[name]), 1)) for name in RUNNING]
    return {
        "state": scorer.state,
        "accepted": scores.accepted,
        "scores": shown,
        "expects": expected(scorer.automaton, scorer.state),
    }


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
