"""The failure labels of a logged episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core_eval.log import EpisodeRow, FailureRow, StepRow
from core_eval.log.charged import blameless
from core_eval.path.calls import CallStatus
from core_eval.path.taxonomy import LEVELS, StepFacts, failures


def failure_rows(
    episode: EpisodeRow, steps: Sequence[StepRow], scores: Mapping[str, float | None]
) -> tuple[FailureRow, ...]:
    """Return the labels of an episode; none if it was accepted, and is blameless as far as is known."""
    labels = failures(
        [_facts(step) for step in steps],
        succeeded=bool(scores.get("accepted"))
        and blameless(scores) is not False
        and episode.status != "error",
        stop=episode.stop_reason or "",
    )
    return tuple(
        sorted((FailureRow(str(label), LEVELS[label]) for label in labels), key=lambda row: row.label)
    )


def _facts(step: StepRow) -> StepFacts:
    # A step with a tool was a call that could be read: its code is the schema check's, not the parser's.
    code = "schema" if step.status == CallStatus.INVALID and step.tool is not None else step.error_code
    return StepFacts(step.status, step.kind, code)
