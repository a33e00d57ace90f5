"""Chooses episodes of a log by agent, task and kind of harm, and by how much harm was done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from core_eval.log import EpisodeRow, HarmRow, LogError, LogReader
from core_eval.log.charged import charged, unseen


@dataclass(frozen=True)
class EpisodeFilter:
    """Which episodes are shown; empty: all.

    Attributes:
        agents, tasks, kinds: names, or patterns with `*` and `?`; `kinds` of harm events.
        worst: so many episodes, those with the most harm.
        run: of this run.
    """

    agents: Sequence[str] = ()
    tasks: Sequence[str] = ()
    kinds: Sequence[str] = ()
    worst: int | None = None
    run: int | None = None

    def choose(self, reader: LogReader, episodes: Sequence[EpisodeRow]) -> list[EpisodeRow]:
        """Return the chosen episodes, in their order; the worst ones by falling harm.

        Raises:
            LogError: a name is that of no agent, task or kind of harm in the log.
        """
        _check(reader, "--agent", self.agents, {row.agent for row in episodes})
        _check(reader, "--task", self.tasks, {row.task for row in episodes})
        if self.run is not None:
            episodes = [row for row in episodes if row.run_id == self.run]
        chosen = [row for row in episodes if _fits(row.agent, self.agents) and _fits(row.task, self.tasks)]
        if self.kinds:
            harm = {row.id: {event.kind for event in reader.harm(row.id)} for row in episodes}
            _check(reader, "--kind", self.kinds, set().union(*harm.values()))
            chosen = [row for row in chosen if any(_fits(kind, self.kinds) for kind in harm[row.id])]
        return chosen if self.worst is None else sorted(chosen, key=worst_first)[: self.worst]

    def events(self, events: Iterable[HarmRow]) -> list[HarmRow]:
        """Return the harm events of the chosen kinds."""
        return [event for event in events if _fits(event.kind, self.kinds)]


def worst_first(row: EpisodeRow) -> tuple[float, ...]:
    """Return a key that sorts episodes by the harm charged, by harm that none saw, then by their path."""
    scores = row.scores
    return (
        -(charged(scores) or 0.0),
        -(unseen(scores) or 0.0),
        -(scores.get("harmful_calls") or 0.0),
        scores.get("path_correctness") or 0.0,
        row.id,
    )


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _check(reader: LogReader, option: str, patterns: Sequence[str], names: Collection[str]) -> None:
    for pattern in patterns:
        if not any(_fits(name, [pattern]) for name in names):
            known = ", ".join(sorted(names)) or "none"
            raise LogError(f"{option} {pattern}: {reader.path} has only {known}")
