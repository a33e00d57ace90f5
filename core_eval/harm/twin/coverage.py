"""How often the intervals that calibration states hold the truth, on simulated rigs like the fitted one.

Each rig has hidden parameters drawn from the fit. It repeats the logged calls, with noise and losses of its
own, and is calibrated anew from nothing but its telemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from core_eval.call_status import CallStatus
from core_eval.harm.replay import MakeSimulator, ReplayError
from core_eval.harm.twin.calibration import Calibration, recalibrate
from core_eval.harm.twin.logged_episode import LoggedCall, LoggedEpisode
from core_eval.harm.twin.parameters import Priors
from core_eval.statistics.intervals import wilson
from devices.harm import LEAVE_OUT
from devices.sensors import Sample

LEVEL = 0.95
SPREADS = 1.96
"""Half the width of a 95 % interval, in spreads."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """In how many refits the interval of a parameter held its true value.

    Attributes:
        inside: their number.
        stated: the refits that identified the parameter, and so stated an interval.
        refits: all.
    """

    inside: int
    stated: int
    refits: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of the share; None where no interval was stated."""
        return wilson(self.inside / self.stated, self.stated, LEVEL) if self.stated else None


def coverage(
    make_simulators: Sequence[MakeSimulator],
    episodes: Sequence[LoggedEpisode],
    priors: Priors,
    found: Calibration,
    refits: int,
    seed: int,
    on_run: Callable[[], None] = lambda: None,
    enough: Callable[[], bool] = lambda: False,
) -> dict[str, Coverage]:
    """Return the coverage of each parameter's interval over this many refits.

    Each search begins at the fitted parameters.

    Args:
        make_simulators, episodes, priors: as given to `calibrate`.
        found: its result; identified parameters are drawn from it, the others from their priors.
        refits: how many rigs are simulated, and calibrated.
        seed: of the draws.
        on_run: called after each parameter vector.
        enough: whether no further rig is simulated; asked after each.

    Raises:
        ReplayError: a simulator refuses the parameters.
    """
    rng = np.random.default_rng(seed)
    fitted = Priors([one.parameter for one in priors.each], found.estimates)
    done = 0
    inside, stated = dict.fromkeys(priors.names, 0), dict.fromkeys(priors.names, 0)
    for number, scores in enumerate(fitted.draw(refits, rng)):
        truth = fitted.values(scores)
        logs = [
            relogged(make, episode, truth, seed + 1 + number)
            for make, episode in zip(make_simulators, episodes, strict=True)
        ]
        again = recalibrate(make_simulators, logs, priors, found, seed + number, on_run)
        for name, estimate in again.items():
            stated[name] += 1
            inside[name] += abs(estimate.value - truth[name]) <= SPREADS * estimate.spread
        done = number + 1
        if enough():
            break
    return {name: Coverage(inside[name], stated[name], done) for name in priors.names}


def relogged(
    make_simulator: MakeSimulator, episode: LoggedEpisode, hidden: Mapping[str, float], seed: int
) -> LoggedEpisode:
    """Return what a rig with these hidden parameters would have logged of the same calls.

    Calls that were carried out are, in their natural time; of the others only the time passes.

    Raises:
        ReplayError: the simulator refuses the parameters.
    """
    simulator = make_simulator()
    samples: list[Sample] = []
    simulator.subscribe(samples.append)
    answer = simulator.init({"hidden": dict(hidden)}, seed)
    if answer.status != CallStatus.OK:
        raise ReplayError(answer.message or answer.status)
    calls = []
    for logged in episode.calls:
        simulator.pass_time(logged.start - simulator.clock.now)
        start, call = simulator.clock.now, logged.call
        if call.status == CallStatus.OK:
            outcome = simulator.execute(call.tool, call.arguments, Event(), forced=True)
            result = outcome.value
        else:
            outcome = simulator.execute(
                call.tool, call.arguments, Event(), remedy=LEAVE_OUT, duration=call.duration
            )
            result = logged.result
        calls.append(LoggedCall(replace(call, duration=outcome.duration), start, result))
    simulator.pass_time(episode.end - simulator.clock.now)
    return LoggedEpisode(tuple(calls), tuple(samples))
