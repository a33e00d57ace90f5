"""The calls of logged episodes, as rules read them."""

from __future__ import annotations

from collections.abc import Iterator

from core_eval.log import EpisodeRow, LogReader
from core_eval.path.calls import Call
from core_eval.rules.calls import Made, Turns


def logged_calls(reader: LogReader, episode: EpisodeRow) -> Iterator[Made]:
    """Yield the answered calls of an episode, in order; one that could not be read has no tool.

    Raises:
        LogError: its rows cannot be read.
    """
    turns = Turns(episode.definition.tools or ())
    for step in reader.steps(episode.id):
        if step.status is not None:
            call = Call(step.tool or "", step.arguments or {}, step.status, step.result)
            yield turns.made(call, step.turn)
