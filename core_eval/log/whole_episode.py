"""Writes an episode that is over: one that was imported, all its rows at once, with their own times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core_eval.log.connection import insert, transaction
from core_eval.log.row_map import columns
from core_eval.log.rows import EpisodeStart, EpisodeStatus, MessageRow, PromptRow, StepRow, Turn
from core_eval.log.schema import OF_ITS_STEPS
from core_eval.log.writer import RunLog
from core_eval.text.json_text import plain_text


@dataclass(frozen=True, slots=True)
class WholeEpisode:
    """An episode with its rows; the ids of its steps are given by the log.

    Attributes:
        started, ended: UTC epoch, s.
        seconds: its duration; None where it is not known.
        turns: by the number of their step.
    """

    start: EpisodeStart
    started: float
    status: EpisodeStatus
    steps: Sequence[StepRow]
    turns: Mapping[int, Turn]
    messages: Sequence[MessageRow] = ()
    prompt: PromptRow | None = None
    ended: float | None = None
    seconds: float | None = None
    stop_reason: str | None = None
    error: str | None = None
    said: str | None = field(default=None)


def add_episode(log: RunLog, run_id: int, whole: WholeEpisode) -> int:
    """Add an episode to a run; return its id.

    Raises:
        sqlite3.IntegrityError: a value is none that its column takes; nothing is written.
    """
    with log.lock, transaction(log.connection):
        episode = insert(
            log.connection,
            "episode",
            run_id=run_id,
            status=whole.status,
            started=whole.started,
            ended=whole.ended,
            seconds=whole.seconds,
            stop_reason=None if whole.stop_reason is None else plain_text(whole.stop_reason),
            error=None if whole.error is None else plain_text(whole.error),
            said=None if whole.said is None else plain_text(whole.said),
            definition_id=log.definition(whole.start.definition),
            prompt_id=None if whole.prompt is None else log.once("prompt", columns(whole.prompt)),
            **columns(whole.start),
        )
        of = {"episode_id": episode}
        rows = {
            "step": [of | columns(step) | {"id": None} for step in whole.steps],
            "turn": [of | {"k": k} | columns(turn, Turn) for k, turn in whole.turns.items()],
            "message": [of | columns(message) for message in whole.messages],
        }
        for table, mine in rows.items():
            for row in mine:
                insert(log.connection, table, **row)
        log.connection.execute(f"{OF_ITS_STEPS} WHERE id = ?", (episode,))
    return episode
