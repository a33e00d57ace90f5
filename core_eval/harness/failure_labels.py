"""Why an episode failed: the facts that the taxonomy's rules need, taken from the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core_eval.log import EpisodeRow, FailureRow, StepRow
from core_eval.path.calls import CallStatus
from core_eval.path.taxonomy import LEVELS, StepFacts, failures


def failure_rows(
    episode: EpisodeRow, steps: Sequence[StepRow], scores: Mapping[str, float | None]
) -> tuple[FailureRow, ...]:
    """The labels of an episode, none where it was accepted and free of harm."""
    harmed = bool(scores.get("harmful_calls")) or bool(scores.get("harm_events"))
    labels = failures(
        [_facts(step) for step in steps],
        succeeded=bool(scores.get("accepted")) and not harmed and episode.status != "error",
        stop=episode.stop_reason or "",
    )
    return tuple(
        sorted((FailureRow(str(label), LEVELS[label]) for label in labels), key=lambda row: row.label)
    )


def _facts(step: StepRow) -> StepFacts:
    # With a tool in it the step was a call, so a code of the parser's would be a coincidence of names.
    code = "schema" if step.status == CallStatus.INVALID and step.tool is not None else step.error_code
    return StepFacts(step.status, step.kind, code)
