"""The calls of a logged episode, for the agent that makes them again."""

from __future__ import annotations

from pathlib import Path

from core_eval.log import LogReader, StepRow


def read_calls(path: Path, episode: int) -> list[StepRow]:
    """The steps of an episode, in order.

    Raises:
        LogError: the file is no log, or holds no such episode.
    """
    with LogReader(path) as reader:
        return reader.steps(reader.episode(episode).id)
