"""Logs of runs: their episodes, steps and harm events as rows and data frames, and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core_eval.export.tables import TABLES
from core_eval.log import EpisodeRow, HarmRow, LogReader, StepRow
from core_eval.score.contrast import Contrast, between, grid_of, within

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Contrast", "EpisodeRow", "HarmRow", "Log", "StepRow", "compare", "open_log"]


class Log:
    """A run log, open for reading; a context manager.

    Attributes:
        path: its file.
        run: the run that it is restricted to; None: all runs.
    """

    def __init__(self, path: Path, run: int | None = None) -> None:
        self.path = path
        self.run = run
        self._reader = LogReader(path)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; rows that were read remain."""
        self._reader.__exit__(None, None, None)

    @property
    def episodes(self) -> list[EpisodeRow]:
        """Return the episodes, with their scores by metric, in the order in which they were run."""
        return self._reader.episodes(self.run)

    def steps(self, episode: EpisodeRow | int) -> list[StepRow]:
        """Return the steps of an episode, in order."""
        return self._reader.steps(_id(episode))

    def harm(self, episode: EpisodeRow | int) -> list[HarmRow]:
        """Return the harm events of an episode."""
        return self._reader.harm(_id(episode))

    def frame(self, table: Literal["episodes", "steps", "samples", "harm"] = "episodes") -> pd.DataFrame:
        """Return a table as a pandas data frame, with the columns of `pathrig log export --format csv`.

        Raises:
            ImportError: pandas is not installed.
            ValueError: no such table.
        """
        import pandas as pd

        found = next((one for one in TABLES if one.name == table), None)
        if found is None:
            raise ValueError(f"no table {table!r}; the tables are {', '.join(one.name for one in TABLES)}")
        rows = [row for episode in self.episodes for row in found.rows(self._reader, episode)]
        return pd.DataFrame(rows, columns=list(found.columns))


def open_log(path: str | Path) -> Log:
    """Open a run log for reading.

    >>> with open_log(folder / "farm.db") as log:
    ...     [step.tool for step in log.steps(log.episodes[0])]
    ['unlock_safety_mode', 'move_to', 'water_plant', 'lock_safety_mode']

    Raises:
        core_eval.log.LogError: it cannot be read, or is no log; one line that names the file.
    """
    return Log(Path(path))


def compare(before: Log | str | Path, after: Log | str | Path | None = None) -> list[Contrast]:
    """Compare agents over the tasks, seeds and starts that they share.

    >>> log = run("water_one_plant", ["oracle", "random"], db=folder / "two.db", episodes=3)
    >>> [(one.before, one.after, one.pairs) for one in compare(log)]
    [('oracle', 'random', 3)]

    Args:
        before: a log; alone, its agents are compared with its first one.
        after: a second log, whose agents are compared with those of the same name in the first.

    Returns:
        Each pair of agents with their means, the paired differences as estimates, and a verdict by metric.

    Raises:
        core_eval.log.LogError: a log cannot be read.
    """
    first = _episodes(before)
    return within(grid_of(first)) if after is None else between(first, _episodes(after))


def _episodes(log: Log | str | Path) -> list[EpisodeRow]:
    if isinstance(log, Log):
        return log.episodes
    with open_log(log) as opened:
        return opened.episodes


def _id(episode: EpisodeRow | int) -> int:
    return episode if isinstance(episode, int) else episode.id
