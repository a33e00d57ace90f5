"""Scoring a log again, and whether it says what it said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core_eval.harness.scoring import EpisodeScore, score_episode
from core_eval.log import DeviationRow, EpisodeRow, HarmRow, LogReader


@dataclass(frozen=True)
class Rescored:
    """An episode, scored anew.

    Attributes:
        episode: as the log holds it.
        result: what scoring gives now.
        differing: the metrics (and `harm`, `deviations`, `failures`, `pairs`) that are not what the log
            holds, to the last bit; None where it was scored with other parameters than the log's.
    """

    episode: EpisodeRow
    result: EpisodeScore
    differing: tuple[str, ...] | None


def rescore(path: Path, parameters: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Rescored]:
    """Score every episode of a log that came to an end of its own, one by one.

    Args:
        path: the log.
        parameters: those of `score_path` that take the place of the ones which the log names.

    Raises:
        LogError: the log cannot be read.
    """
    with LogReader(path) as reader:
        for episode in reader.episodes():
            result = score_episode(reader, episode.id, parameters)
            if result is None:
                continue
            if {**episode.scoring, **parameters} != episode.scoring:
                yield Rescored(episode, result, None)
                continue
            metrics = sorted(result.scores.keys() | episode.scores.keys())
            differing = [
                metric
                for metric in metrics
                if result.scores.get(metric) != episode.scores.get(metric)
                or (metric in result.scores) != (metric in episode.scores)
            ]
            if _plain(result.harm) != _plain(reader.harm(episode.id)):
                differing.append("harm")
            if _calls(result.deviations) != _calls(reader.deviations(episode.id)):
                differing.append("deviations")
            if result.failures != episode.failures:
                differing.append("failures")
            if result.pairs != episode.pairs:
                differing.append("pairs")
            yield Rescored(episode, result, tuple(differing))


def _plain(harm: list[HarmRow]) -> list[tuple[object, ...]]:
    return sorted(
        (
            *(row.t_start, row.kind, row.entity, row.k or 0, row.t_end, row.severity, row.exposure),
            *(str(row.verdict), str(row.hidden_at_end), str(row.remedy), row.source),
            *(str(row.probability), str(row.observed_probability)),
            *(str(row.peak), str(row.limit_value), str(row.t_record), str(row.trend)),
        )
        for row in harm
    )


def _calls(deviations: Iterable[DeviationRow]) -> list[tuple[object, ...]]:
    return sorted((row.k or 0, str(row.effect), str(row.observed)) for row in deviations)
