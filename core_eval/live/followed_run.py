"""The run whose episodes are followed: their place in its plan, the time left, and the rig's camera."""

from __future__ import annotations

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from core_eval.log import EpisodeRow, LogReader
from core_eval.run.config import RunConfig
from core_eval.run.pace import Pace
from core_eval.text.durations import seconds_text


class FollowedRun:
    """A run of a log; its episodes are read once, later ones are given to `take`."""

    def __init__(self, reader: LogReader, run_id: int) -> None:
        self.id = run_id
        run = reader.run(run_id)
        self._over = run.ended is not None
        try:
            self._config: RunConfig | None = RunConfig.from_log(run.config)
        except ValidationError:
            # Of a version that has other options.
            self._config = None
        self._pace = Pace()
        self._taken: set[int] = set()
        self._begun: set[int] = set()
        for row in reader.episodes(run_id, on_damage=lambda *_: None):
            self.take(row)

    def take(self, row: EpisodeRow) -> None:
        """Take an episode that has begun, or is over."""
        self._begun.add(row.number)
        if row.id not in self._taken and row.wall_seconds is not None:
            self._taken.add(row.id)
            self._pace.add(row.agent, row.wall_seconds)

    def place(self, row: EpisodeRow) -> str:
        """Return which episode of the run this is, and about how long the run goes on."""
        if self._config is None:
            return f"episode {row.number + 1}"
        plan, names = self._config.plan(), self._config.names
        place = f"episode {row.number + 1} of {len(plan)}"
        self._begun.add(row.number)
        left = [row.agent, *(names[cell.agent] for number, cell, _ in plan if number not in self._begun)]
        seconds = self._pace.seconds(left)
        known = seconds is not None and row.status == "running" and not self._over
        return f"{place}, about {seconds_text(seconds or 0.0)} left" if known else place

    def camera(self, row: EpisodeRow) -> str | None:
        """Return the address of a rig's picture; None where its file names none, or is not here."""
        plan = () if self._config is None else self._config.plan()
        try:
            return next((load_rig(cell.rig).camera for number, cell, _ in plan if number == row.number), None)
        except ConfigError:
            return None
