"""Traces one harm event: the signal of its rule, in the episode and in the counterfactual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core_eval.harm.counterfactual import Change, play_changed
from core_eval.harm.replay import MakeSimulator, Player
from core_eval.harm.report import ExecutedCall
from devices.harm import HarmEvent, HarmRule, limit_of, signal_of
from devices.sensors import Sample

POINTS = 400
"""Approximate number of samples of the signal."""
FINEST_S = 0.002
"""Smallest sampling interval, s: a contact may be as short as a simulator's step."""
COARSE_S = 5.0
"""Sampling interval outside the window, s."""
PAD_SHARE, LEAST_PAD_S = 0.35, 2.0
"""Margin before and after: a share of the event's duration, and its minimum in s."""

NEIGHBOUR_S = 120.0
"""Samples within this time of the event, s, are shown."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class EventTrace:
    """An event's true signal, its limit, and the counterfactual's signal: device time, s, and rule's unit.

    Attributes:
        first, last: the window that is shown, s.
        signal, limit: `(t, value)` of the episode, in order of time; the limit is empty where there is none.
        counterfactual: the signal with the event made harmless.
        samples: every coarse sample of the episode, replayed to its end, what lags included.
        counterfactual_samples: the same of the counterfactual.
        remedy: what the counterfactual changed.
    """

    first: float
    last: float
    signal: tuple[Point, ...]
    limit: tuple[Point, ...]
    counterfactual: tuple[Point, ...]
    samples: tuple[Sample, ...]
    counterfactual_samples: tuple[Sample, ...]
    remedy: str


def trace_event(
    make_simulator: MakeSimulator,
    init: Mapping[str, Any],
    seed: int,
    calls: Sequence[ExecutedCall],
    event: HarmEvent,
    remedy: str,
    sensors: Sequence[str],
    moments: Sequence[float] = (),
) -> EventTrace | None:
    """Replay an episode and its counterfactual with a monitor; None if the rule names no signal.

    Args:
        make_simulator, init, seed, calls: the episode, as for `core_eval.harm.assess`.
        event: which event, as a replay gives it.
        remedy: what the counterfactual is to change.
        sensors: their samples next to the event are shown, since it may lie between them.
        moments: further device times, s, to show, such as that of the first differing sample.

    Raises:
        ReplayError: the simulator refuses the initial state.
    """
    player = Player(make_simulator, init, seed)
    rule = next((rule for rule in player.simulator.harm_rules if rule.kind == event.kind), None)
    if rule is None or rule.signal is None:
        return None
    samples = player.play(calls, checkpoints=False).samples
    # What is steady when the run-out ends is only known as a sum from then on.
    ended = player.simulator.clock.now
    t_end = min(event.t_end, ended)
    event = replace(event, t_start=min(event.t_start, t_end), t_end=t_end)
    shown = [event.t_start, event.t_end, *moments, *_neighbours(event, samples, sensors)]
    pad = max(PAD_SHARE * (event.t_end - event.t_start), LEAST_PAD_S)
    first, last = max(0.0, min(shown) - pad), min(max(shown) + pad, max(*shown, ended))
    watch = _SignalMonitor(player, rule, event, first, last)
    replay = player.play(calls, checkpoints=False)
    signal, limit = watch.drain()
    for _ in play_changed(player, calls, replay, Change((event.call,), remedy, event)):
        pass
    player.simulator.run_out(ended)
    counterfactual, _ = watch.drain()
    if not signal:
        return None
    return EventTrace(
        first=first,
        last=last,
        signal=tuple(signal),
        limit=tuple(limit),
        counterfactual=tuple(counterfactual),
        samples=samples,
        counterfactual_samples=(*replay.samples[: replay.received[event.call]], *player.received),
        remedy=remedy,
    )


def _neighbours(event: HarmEvent, samples: Sequence[Sample], sensors: Sequence[str]) -> Iterator[float]:
    """Yield the last sample before the event and the first after it, of each sensor, if near."""
    for sensor in sensors:
        own = [sample.t for sample in samples if sample.sensor == sensor]
        yield from [t for t in own if event.t_start - NEIGHBOUR_S <= t <= event.t_start][-1:]
        yield from [t for t in own if event.t_end <= t <= event.t_end + NEIGHBOUR_S][:1]


class _SignalMonitor:
    """Samples a rule's signal and limit: finely in a window, finest in the event, coarsely elsewhere."""

    def __init__(self, player: Player, rule: HarmRule, event: HarmEvent, first: float, last: float) -> None:
        self._simulator = player.simulator
        self._world = player.simulator.world.model_dump(mode="json")
        self._rule = rule
        self._entity = event.entity
        self._event = event
        self._first, self._last = first, last
        self._fine = max(FINEST_S, round((last - first) / POINTS, 3))
        self._finest = max(FINEST_S, round((event.t_end - event.t_start) / POINTS, 3))
        self._signal: list[Point] = []
        self._limit: list[Point] = []
        self._simulator.watch(self._fine, self._sample)

    def drain(self) -> tuple[list[Point], list[Point]]:
        """Return the points since the last call, in order."""
        drain = self._signal, self._limit
        self._signal, self._limit = [], []
        return drain

    def _sample(self, t: float) -> None:
        near = self._event.t_start - self._fine <= t <= self._event.t_end
        inside = self._first - COARSE_S <= t <= self._last
        period = min(self._fine, self._finest) if near else self._fine if inside else COARSE_S
        self._simulator.watch(period, self._sample)
        if not self._first <= t <= self._last:
            return
        state = self._simulator.state_dict()
        value = signal_of(self._rule, self._entity, state)
        bound = limit_of(self._rule, self._entity, state, self._world)
        if value is not None:
            self._signal.append((t, value))
        if bound is not None:
            self._limit.append((t, bound))
