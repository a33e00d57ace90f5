"""Calibration of a rig's twin from logged episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic

from configs.errors import ConfigError
from configs.rig_config import RigConfig
from configs.twin_config import TwinConfig, TwinParameter
from configs.twin_writer import rounded
from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.logged_episode import NoReplayError
from core_eval.harm.replay import ReplayError
from core_eval.harm.twin.calibration import (
    Calibration,
    calibrate,
    expected_refit_runs,
    expected_runs,
)
from core_eval.harm.twin.coverage import Coverage, coverage
from core_eval.harm.twin.logged_episode import LoggedEpisode, logged_episode, nominal_world
from core_eval.harm.twin.parameters import Priors
from core_eval.log import LogReader
from core_eval.score.probing import probing_parts

Tracking = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
USED_STATUSES = frozenset({"completed", "stopped", "error", "interrupted"})


@dataclass(frozen=True)
class CalibratedRig:
    """The result of a calibration.

    Attributes:
        world: the twin's world.
        episodes: ids of the logged episodes that the twin was fitted to.
        calibration: the fit.
        coverage: of each parameter's interval on simulated rigs; empty if it was not asked for.
        probing: for each parameter the part of a probing episode that would identify it best; None where
            none does. Empty where the world has no probing script.
    """

    world: str
    episodes: tuple[int, ...]
    calibration: Calibration
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    probing: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, TwinParameter]:
        """The identified parameters, as written to a rig's file."""
        return {
            name: rounded(TwinParameter(value=found.value, spread=found.spread))
            for name, found in self.calibration.estimates.items()
        }


def calibrate_rig(
    db: Path,
    rig: RigConfig,
    last: int,
    seed: int,
    refits: int = 0,
    refit_s: float = math.inf,
    tracking: Tracking = lambda _words, _runs: nullcontext(_ignore),
) -> CalibratedRig:
    """Fit the twin of a rig to the rig's last `last` episodes in a log.

    Args:
        db: the log.
        rig: the rig.
        last: how many of its latest episodes are used.
        seed: of the search.
        refits: simulated rigs that are calibrated for the coverage of the intervals.
        refit_s: after this time, s, no further one is simulated.
        tracking: entered with what is done and about how many parameter vectors it tries; its function is
            called after each.

    Raises:
        ConfigError: the rig's file names no world for its twin; or the log has no usable episode of the rig.
        LogError: the log cannot be read.
    """
    config = _twin(rig)
    logged: list[LoggedEpisode] = []
    makers, ids = [], []
    with LogReader(db) as reader:
        every = reader.episodes()
        rows = [row for row in every if row.rig == rig.name and row.status in USED_STATUSES]
        for row in rows[-last:]:
            try:
                episode = logged_episode(reader, row, reader.steps(row.id))
            except NoReplayError as reason:
                raise ConfigError(f"episode {row.id} cannot be used: {reason}", file=db) from None
            if episode.calls:
                logged.append(episode)
                makers.append(partial(make_simulator, nominal_world(config, row)))
                ids.append(row.id)
    if not logged:
        names = ", ".join(sorted({row.rig for row in every})) or "none"
        raise ConfigError(f"has no episode of rig {rig.name} with a call; its rigs are: {names}", file=db)
    priors = Priors.of(load_world(config.world).state, {})
    try:
        with tracking("fitting", expected_runs(len(priors.each))) as tried:
            found = calibrate(makers, logged, priors, seed, tried)
        covered: Mapping[str, Coverage] = {}
        if refits:
            with tracking("coverage", refits * expected_refit_runs(len(found.influential))) as tried:
                end = monotonic() + refit_s
                covered = coverage(
                    makers, logged, priors, found, refits, seed, tried, lambda: monotonic() >= end
                )
    except ReplayError as error:
        raise ConfigError(f"the twin's simulator refuses the parameters: {error}") from None
    probing = probing_parts(config.world, priors, found, seed)
    return CalibratedRig(config.world, tuple(ids), found, covered, probing)


def _ignore() -> None: ...


def _twin(rig: RigConfig) -> TwinConfig:
    world = rig.world or rig.site
    if rig.twin is not None:
        return rig.twin
    if world is None:
        raise ConfigError(
            f"rig {rig.name} has no model: name its world in its file, as in `twin: {{world: NAME}}`"
        )
    return TwinConfig(world=world)
