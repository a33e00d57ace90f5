"""The data of the live page's events, pictures included, from rows of the log and from a scorer.

The simulator's truth and the harm are left out: they are for the report, after the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core_eval.log import EpisodeRow, QuestionRow, SampleRow, StepRow, logged_calls
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.scorer import OnlineScorer
from core_eval.report.pictures.automaton_drawing import narrow_drawing
from core_eval.report.pictures.episode_time_line import EpisodeTimeLine, episode_time_line, signals_time_line
from core_eval.report.pictures.field_shapes import Field, field_of, laid_out, reported_way
from core_eval.report.pictures.field_view import field_view
from core_eval.report.tables.texts import call_text, expected_calls
from core_eval.report.tables.values import cell
from core_eval.score.metrics import BRIEF, BY_NAME, RUNNING
from devices.sensors import Sample
from sims.world_shapes import shapes_of


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


STOP_INPUT = {
    "pressed": "pressed: stopped until it is released and reset",
    "latched": "was pressed: stopped until a person runs `pathrig rigs reset`",
}


def status_data(source: str, state: str, stop_input: str | None = None) -> list[dict[str, Any]]:
    """Return what was said of a rig; the state of its stop input, if it has one, beside it."""
    said = [{"source": source, "state": state, "held": False}]
    if stop_input is not None:
        words = STOP_INPUT.get(stop_input, stop_input)
        said.append({"source": "stop input", "state": words, "held": stop_input in STOP_INPUT})
    return said


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


MOST_STEPS = 300
"""An episode with more steps is not drawn while it runs: each drawing follows the whole path."""


def pictures(
    episode: EpisodeRow, automaton: TaskAutomaton, steps: Sequence[StepRow], samples: Iterable[SampleRow]
) -> dict[str, Any]:
    """Return the pictures of the answered steps as SVG texts and words, JSON-ready."""
    samples = sorted(samples, key=lambda sample: sample.t)
    field = field_of(episode, steps, (), samples)
    line = episode_time_line(episode, steps, samples, (), ())
    drawing = narrow_drawing(automaton, logged_calls(steps))
    key = [{"mark": one.mark, "words": one.words, "kind": one.kind} for one in drawing.key]
    return _drawn(field, steps, line) | {"way": drawing.svg, "key": key}


def heard_pictures(
    state: Mapping[str, Any],
    place_keys: Sequence[str],
    steps: Sequence[StepRow],
    samples: Sequence[SampleRow],
) -> dict[str, Any]:
    """Return the pictures of what an observer heard of a rig; the wire does not tell the automaton.

    Args:
        state: the layout, as far as it is known.
        place_keys: its sections that hold places.
        steps: the answered calls.
        samples: in the order in which they came.
    """
    shapes = list(shapes_of(state, place_keys)) if place_keys else []
    field = laid_out(state, shapes, steps, (), reported_way(samples))
    return _drawn(field, steps, signals_time_line(steps, samples)) | {"way": "", "key": []}


def _drawn(field: Field | None, steps: Sequence[StepRow], line: EpisodeTimeLine | None) -> dict[str, Any]:
    return {
        "map": None if field is None else field_view(field, steps, ()).svg,
        "rows": []
        if line is None
        else [{"name": row.name, "about": row.about, "svg": row.svg} for row in line.rows],
        "axis": None if line is None else line.axis,
    }


def expected(automaton: TaskAutomaton, state: str) -> str:
    """Return in words which calls lead on from a state."""
    calls = expected_calls(automaton, state)
    if calls == "no further call":
        return "the task expects no further call"
    return f"the task expects {calls} now" if calls else "no call leads on from here"
