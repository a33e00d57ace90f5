"""The detection probability of the harm events of a log, computed episode by episode in worker processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from configs.errors import ConfigError
from configs.worlds_loader import make_simulator, merged_state, spreads_of
from core_eval.harm.detection.detect import ENOUGH, NULL, TRAINING, Detection, detect
from core_eval.harm.detection.rigs import Key, Kind
from core_eval.harm.detection.roc import FALSE_ALARMS, Roc
from core_eval.harm.detection.telemetry_vector import ANSWERS
from core_eval.harm.logged_episode import NoReplayError, executed_calls, logged_world, reported_states
from core_eval.harm.replay import Player, ReplayError
from core_eval.harm.twin.logged_episode import LoggedEpisode, logged_episode, nominal_world, twin_in_log
from core_eval.harm.twin.parameters import Priors
from core_eval.harm.unanswered import resolve
from core_eval.harm.verdict import Thresholds, detected
from core_eval.log import EpisodeRow, HarmRow, LogReader, Observation, StepRow

Event = tuple[int, str, str, float]
"""Episode, kind, entity and start of an event."""


@dataclass(frozen=True, slots=True)
class Rigs:
    """How many rigs are drawn at most: `training` to learn the statistic, `null` to judge it.

    No more of either are with `enough` harmful courses of each event.
    """

    training: int = TRAINING
    null: int = NULL
    enough: int = ENOUGH


@dataclass(frozen=True)
class DetectedEvent:
    """A logged event with its detection; None where it happens on too few of the drawn rigs, or on no rig.

    Attributes:
        happens: the share of the rigs on which it does; None where the log does not determine them.
        own: the groups of telemetry that the rig itself has, without any that was fitted.
    """

    episode: int
    row: HarmRow
    detection: Detection | None
    happens: float | None = None
    own: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """The detection probability by the rig's own telemetry, at 5 % false alarms."""
        return None if self.detection is None else self.detection.probability(self.own)

    def curves(self) -> dict[str, Roc]:
        """Return the ROC curves of results and registers alone, and of all the rig's own telemetry."""
        if self.detection is None:
            return {}
        return {"results": self.detection.roc((ANSWERS,)), "own sensors": self.detection.roc(self.own)}

    def thinned_curves(self) -> dict[str, list[list[float]]] | None:
        """Return the corners of the curves, as the log holds them; None without any."""
        return {name: curve.thinned() for name, curve in self.curves().items()} or None

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON-ready data."""
        own: dict[str, Any] = {
            "episode": self.episode,
            "step": self.row.k,
            "kind": self.row.kind,
            "entity": self.row.entity,
            "verdict": detected(self.row, self.share).verdict,
            "detection": self.share,
        }
        if self.detection is None or self.share is None:
            return own
        return own | {
            "interval": list(self.detection.interval(self.share)),
            "false_alarm_rate": FALSE_ALARMS,
            "happens": self.detection.happens,
            "null": self.detection.null,
            "harmful": self.detection.harmful,
            "telemetry": list(self.detection.groups),
            "roc": self.thinned_curves(),
        }


def detect_all(
    path: Path,
    episodes: Sequence[int],
    *,
    jobs: int,
    rigs: Rigs | None = None,
    fitted: Mapping[str, Any] | None = None,
    only: Collection[Event] | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> Iterator[DetectedEvent]:
    """Yield the events of these episodes, in their order; those without a verdict are left out.

    Args:
        path: the log.
        episodes: their ids.
        jobs: processes; 1: none but this one.
        rigs: how many are drawn; None: as many as by default.
        fitted: specifications of sensors that are fitted to the rigs beside their own, by kind.
        only: the events to detect; None: all.
        on_done: called in this process with each episode that is done.
    """
    work = partial(_detected, path, rigs or Rigs(), fitted or {}, only)
    if jobs <= 1 or len(episodes) <= 1:
        for episode in episodes:
            yield from work(episode)
            on_done(episode)
        return
    with ProcessPoolExecutor(min(jobs, len(episodes)), multiprocessing.get_context("fork")) as pool:
        for episode, found in zip(episodes, pool.map(work, episodes), strict=True):
            yield from found
            on_done(episode)


def judged_events(reader: LogReader, episode: EpisodeRow) -> list[HarmRow]:
    """Return the events of an episode that count and have a verdict."""
    counts = Thresholds.of(episode.twin).counts
    return [row for row in reader.harm(episode.id) if counts(row) and row.verdict != Observation.UNKNOWN]


def _detected(
    path: Path, rigs: Rigs, fitted: Mapping[str, Any], only: Collection[Event] | None, number: int
) -> list[DetectedEvent]:
    with LogReader(path) as reader:
        episode = reader.episode(number)
        rows = [
            row
            for row in judged_events(reader, episode)
            if only is None or (number, row.kind, row.entity, row.t_start) in only
        ]
        if not rows:
            return []
        steps = [step for step in reader.steps(number) if step.status is not None]
        try:
            kind = _kind(reader, episode, steps, fitted)
        except (NoReplayError, ReplayError, ConfigError):
            return [DetectedEvent(number, row, None) for row in rows]
    calls = {call.step: index for index, call in enumerate(executed_calls(steps))}
    rules = {rule.kind: rule.remedy for rule in kind.make_simulator().harm_rules}
    keys: dict[Key, HarmRow] = {
        (row.kind, row.entity, calls[row.k]): row for row in rows if row.k in calls and row.kind in rules
    }
    remedies = {key: rules[key[0]] for key in keys}
    found = detect(kind, remedies, rigs.training, rigs.null, enough=rigs.enough)
    own = {ANSWERS, *_own_sensors(kind, fitted)}
    return [
        DetectedEvent(
            number,
            row,
            one if isinstance(one, Detection) else None,
            one.happens,
            tuple(sorted(own)),
        )
        for key, row in keys.items()
        for one in [found[key]]
    ]


def _own_sensors(kind: Kind, fitted: Mapping[str, Any]) -> set[str]:
    """Return the kinds of sensors that a rig has without the fitted ones, unless the episode has these."""
    simulator = kind.make_simulator()
    simulator.init(kind.init, kind.seed)
    kinds = {name.partition(".")[0] for name in simulator.sensor_specs}
    given = kind.init.get("sensors", {})
    return kinds - {name for name in fitted if name not in given}


def _kind(
    reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow], fitted: Mapping[str, Any]
) -> Kind:
    """Return the kind of rigs that could have logged the episode.

    Raises:
        NoReplayError, ReplayError, ConfigError: the log does not determine it.
    """
    config = None
    if episode.twin is None:
        world = logged_world(reader, episode)
        make = partial(make_simulator, world)
        known = resolve(
            Player(make, episode.init, episode.world_seed),
            executed_calls(steps),
            reported_states(reader, episode, steps),
        )
        calls = LoggedEpisode.following(known.calls, ())
        init: Mapping[str, Any] = episode.init
    else:
        config = twin_in_log(episode)
        world = nominal_world(config, episode)
        calls, init = logged_episode(reader, episode, steps), {}
    if fitted:
        world = replace(world, state=merged_state(world, {"sensors": dict(fitted)}))
    priors = None
    if hasattr(world.state, "hidden"):
        priors = Priors.of(world.state, {}) if config is None else Priors.of_twin(world.state, config)
    return Kind(
        partial(make_simulator, world),
        init,
        episode.world_seed,
        calls,
        priors,
        spreads_of(world),
    )
