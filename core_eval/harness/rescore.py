"""Rescoring of a log, and comparison with the logged scores."""

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
    """A rescored episode.

    Attributes:
        episode: the row of the log, with the logged scores.
        result: the new scores.
        differing: the metrics (and `harm`, `deviations`, `failures`, `pairs`) whose new values are not
            equal to the logged ones; None if it was rescored with parameters other than the log's.
    """

    episode: EpisodeRow
    result: EpisodeScore
    differing: tuple[str, ...] | None


def rescore(path: Path, parameters: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Rescored]:
    """Yield every episode of a log that is not running or interrupted, rescored.

    Args:
        path: the log.
        parameters: arguments of `score_path` that replace the logged ones.

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
            # The detection, which makes an observed event `hindsight`, is computed on request only.
            *(str(row.observed), str(row.hidden_at_end), str(row.remedy), row.source),
            *(str(row.probability), str(row.observed_probability)),
            *(str(row.peak), str(row.limit_value), str(row.t_record), str(row.trend), str(row.excess)),
        )
        for row in harm
    )


def _calls(deviations: Iterable[DeviationRow]) -> list[tuple[object, ...]]:
    return sorted((row.k or 0, str(row.effect), str(row.observed)) for row in deviations)
