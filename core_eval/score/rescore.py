"""Rescoring of a log, and comparison with the logged scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core_eval.harm.verdict import detected
from core_eval.log import DeviationRow, EpisodeRow, HarmRow, LogError, LogReader
from core_eval.log.writer import own_version
from core_eval.score.harm import HARM_METRICS
from core_eval.score.scoring import EpisodeScore, score_episode
from core_eval.text.json_text import to_json

BY_DETECTION = frozenset({"detection", "roc", "verdict"})
"""The fields of a harm event that `pathrig harm --detect` computes, or changes."""
NOT_COMPARED = frozenset({"step_id"})
"""The fields of events and deviations that are not compared: `k` names the step before it has an id."""

ROUNDING = 1e-9
"""Amounts that differ by less than this share, or by less than this, are alike: sums in another order, or
another processor's `exp`."""


@dataclass(frozen=True)
class Rescored:
    """A rescored episode.

    Attributes:
        episode: the row of the log, with the logged scores.
        result: the new scores.
        differing: the metrics (and `harm`, `deviations`, `failures`, `pairs`) whose new values are not the
            logged ones, amounts of harm but for rounding; of the path only, where the harm was not judged.
            None if it was rescored with parameters other than the log's.
    """

    episode: EpisodeRow
    result: EpisodeScore
    differing: tuple[str, ...] | None

    @property
    def row(self) -> EpisodeRow:
        """The episode with the new scores; with the logged harm where that could not be judged again."""
        new = self.result
        scores = {**self.episode.scores, **new.scores}
        if not new.judged and any(scoring.judged for scoring in self.episode.scorings):
            return replace(self.episode, scores=scores)
        return replace(self.episode, scores=scores, failures=new.failures, pairs=new.pairs)

    @property
    def is_news(self) -> bool:
        """Whether the scoring is worth a place in the log: another result, or another version's."""
        latest = self.episode.scorings[-1] if self.episode.scorings else None
        return (
            bool(self.differing)
            or latest is None
            or (latest.version, latest.reading) != (own_version(), self.result.reading)
        )


def rescore(
    path: Path,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    on_damage: Callable[[int, str], None] | None = None,
) -> Iterator[Rescored]:
    """Yield every episode of a log that is not running or interrupted, rescored.

    Args:
        path: the log.
        parameters: arguments of `score_path` that replace the logged ones.
        on_damage: called with an episode that cannot be read, and why; None: that is raised.

    Raises:
        LogError: the log cannot be read.
    """
    with LogReader(path) as reader:
        for episode in reader.episode_ids():
            try:
                again = _rescored(reader, episode, parameters)
            except LogError as error:
                if on_damage is None:
                    raise
                on_damage(episode, str(error))
                continue
            if again is not None:
                yield again


def _rescored(reader: LogReader, episode_id: int, parameters: Mapping[str, Any]) -> Rescored | None:
    episode = reader.episode(episode_id)
    result = score_episode(reader, episode_id, parameters)
    if result is None:
        return None
    harm = reader.harm(episode_id)
    result = replace(result, harm=[_with_detection(row, harm) for row in result.harm])
    automaton = reader.automaton(episode)
    kept = {"reading": result.reading if automaton is None else automaton.reading, **episode.scoring}
    if {**kept, **parameters} != kept:
        return Rescored(episode, result, None)
    differing = [
        metric
        for metric in sorted(result.scores.keys() | (episode.scores.keys() if result.judged else set()))
        if not _agree(metric, result.scores.get(metric), episode.scores.get(metric))
        or (metric in result.scores) != (metric in episode.scores)
    ]
    if result.judged or not any(scoring.judged for scoring in episode.scorings):
        deviations = reader.deviations(episode_id)
        for name, new, old in (
            ("harm", _in_order(result.harm), _in_order(harm)),
            ("deviations", _in_order(result.deviations), _in_order(deviations)),
            ("failures", result.failures, episode.failures),
            ("pairs", [*map(asdict, result.pairs)], [*map(asdict, episode.pairs)]),
        ):
            if not _alike(new, old):
                differing.append(name)
    return Rescored(episode, result, tuple(differing))


def _with_detection(row: HarmRow, logged: Iterable[HarmRow]) -> HarmRow:
    """Return the event with the detection that the log holds of the same one; it is not computed here."""
    but = NOT_COMPARED | BY_DETECTION
    this = _compared(row, but)
    same = next((old for old in logged if _alike(_compared(old, but), this)), None)
    return row if same is None or same.detection is None else detected(row, same.detection, same.roc)


def _agree(metric: str, new: float | None, old: float | None) -> bool:
    # Scores of the path are counts and their quotients: they are equal on every machine.
    return _alike(new, old) if metric in HARM_METRICS else new == old


def _in_order(rows: Iterable[HarmRow | DeviationRow]) -> list[dict[str, Any]]:
    """Return the rows in an order that rounding does not change, unless two differ by rounding alone."""
    return sorted(map(_compared, rows), key=_rank)


def _rank(row: Mapping[str, Any]) -> tuple[str, list[float]]:
    rest = {name: value for name, value in row.items() if not isinstance(value, float)}
    return to_json(rest), [value for value in row.values() if isinstance(value, float)]


def _compared(row: HarmRow | DeviationRow, but: Collection[str] = NOT_COMPARED) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in but}


def _alike(new: object, old: object) -> bool:
    """Return whether two values are equal but for rounding, in all their parts."""
    if isinstance(new, float) and isinstance(old, float):
        return new == old or math.isclose(new, old, rel_tol=ROUNDING, abs_tol=ROUNDING)
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return new.keys() == old.keys() and all(_alike(value, old[name]) for name, value in new.items())
    if isinstance(new, Sequence) and isinstance(old, Sequence) and not isinstance(new, str):
        return len(new) == len(old) and all(map(_alike, new, old))
    return new == old
