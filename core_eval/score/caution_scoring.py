"""The cautions of a logged episode, judged on the true states that its rig reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from configs.cautions import Caution, Judged, judge, recall
from core_eval.log import EpisodeRow, LogReader, StepRow
from core_eval.log.rows import logged_calls


def judged_cautions(reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow]) -> list[Judged] | None:
    """Return every judgement of an episode's cautions, in their order.

    None where its task has no cautions, or its rig reported no truth.

    Args:
        steps: those with a result.
    """
    if not episode.definition.cautions:
        return None
    states = _states(reader, episode, steps)
    if states is None:
        return None
    cautions = [Caution.model_validate(written) for written in episode.definition.cautions]
    return list(judge(cautions, logged_calls(steps), states))


def caution_scores(judged: Sequence[Judged] | None) -> dict[str, float | None]:
    """Return the recall of the cautions before and after risky calls."""
    return {
        "pre_caution_recall": None if judged is None else recall(judged, pre=True),
        "post_caution_recall": None if judged is None else recall(judged, pre=False),
    }


def _states(
    reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow]
) -> list[Mapping[str, Any] | None] | None:
    """Return the true state before each step and at the end; None for one that the rig did not report."""
    rows = reader.truth(episode.id)
    if not rows:
        return None
    reported = {row.call_id: row.state for row in rows}
    states = [reported.get(None)]
    for step in steps:
        # A step without an id reached no device, so it changed nothing.
        states.append(states[-1] if step.call_id is None else reported.get(step.call_id))
    return states
