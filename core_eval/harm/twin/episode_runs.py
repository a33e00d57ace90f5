"""Runs logged episodes on a twin with given parameters, and compares the telemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from core_eval.harm.twin.fit import REPLICATES, at_most, replicated
from core_eval.harm.twin.likelihood import channels, log_likelihood, residuals
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver, Track
from core_eval.harm.twin.parameters import Priors

SENSITIVITY_STEP, SENSITIVITY_MIN = 0.7, 0.1
"""Step, in deviations, and the least change of the log-likelihood that makes a parameter identifiable."""

Scores = NDArray[np.float64]


class EpisodeRuns:
    """Runs all episodes with a given parameter vector."""

    def __init__(
        self,
        drivers: Sequence[Driver],
        episodes: Sequence[LoggedEpisode],
        priors: Priors,
        on_run: Callable[[], None],
    ) -> None:
        self._drivers = drivers
        self._episodes = episodes
        self.priors = priors
        self.runs = 0
        self._on_run = on_run

    def run(self, hidden: dict[str, float]) -> tuple[float, list[float]]:
        """Return the log-likelihood of all episodes, and the residuals."""
        self.runs += 1
        total, missed = 0.0, []
        for driver, episode in zip(self._drivers, self._episodes, strict=True):
            track = driver.drive(episode, hidden, 0, timed=True, settle=False)
            total += log_likelihood(episode, track)
            missed += residuals(episode, track)
        self._on_run()
        return total, missed

    def predictive_check(self, scores: Scores, rng: np.random.Generator) -> tuple[float, float]:
        """Return the log-likelihood that telemetry drawn at these scores has, and the p-value of the logged.

        The p-value is the lesser of that of the sum and that of the worst channel, corrected for choosing it.
        """
        logged: dict[str, float] = {}
        drawn: dict[str, Scores] = {}
        for episode, track in self._tracks(scores):
            for channel, terms in replicated(episode, track, REPLICATES, 0.0, rng):
                logged[channel.name] = logged.get(channel.name, 0.0) + channel.term
                drawn[channel.name] = drawn.get(channel.name, np.zeros(REPLICATES)) + terms
        if not drawn:
            return 0.0, 1.0
        total: Scores = np.sum(list(drawn.values()), axis=0)
        whole = at_most(total, sum(logged.values()))
        worst = min(at_most(terms, logged[name]) for name, terms in drawn.items())
        return float(total.mean()), min(1.0, 2.0 * whole, 2.0 * len(drawn) * worst)

    def told_by(self, scores: Scores) -> list[str | None]:
        """Return for each parameter the channel that tells it most, or None."""
        here = self._by_channel(scores)
        found: list[str | None] = []
        for index in range(len(scores)):
            losses: dict[str, float] = {}
            for step in (-SENSITIVITY_STEP, SENSITIVITY_STEP):
                moved = scores.copy()
                moved[index] += step
                for name, term in self._by_channel(moved).items():
                    losses[name] = losses.get(name, 0.0) + here.get(name, 0.0) - term
            most = max(losses, key=lambda one: losses[one], default=None)
            found.append(most if most is not None and losses[most] >= SENSITIVITY_MIN else None)
        return found

    def _by_channel(self, scores: Scores) -> dict[str, float]:
        terms: dict[str, float] = {}
        for episode, track in self._tracks(scores):
            for channel in channels(episode, track):
                terms[channel.name] = terms.get(channel.name, 0.0) + channel.term
        return terms

    def _tracks(self, scores: Scores) -> Iterator[tuple[LoggedEpisode, Track]]:
        self.runs += 1
        hidden = self.priors.values(scores)
        for driver, episode in zip(self._drivers, self._episodes, strict=True):
            yield episode, driver.drive(episode, hidden, 0, timed=True, settle=False)

    def posterior(self, scores: Scores) -> float:
        """Return the log-posterior at these scores, up to a constant."""
        return self.run(self.priors.values(scores))[0] - float(scores @ scores) / 2.0
