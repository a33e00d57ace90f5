"""The calls of a logged episode, for the replay agent."""

from __future__ import annotations

from pathlib import Path

from core_eval.log import LogReader, StepRow


def read_calls(path: Path, episode: int) -> list[StepRow]:
    """Return the steps of an episode, in order.

    Raises:
        LogError: the file is no log, or has no such episode.
    """
    with LogReader(path) as reader:
        return reader.steps(reader.episode(episode).id)
