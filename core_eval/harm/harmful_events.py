"""The harm events of a simulator that count as such: those that are more than a trifle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

from devices.harm import HarmEvent, limit_of
from sims.simulator import Simulator

LOOK_S = 0.2
"""Device time between two looks for the first harm, s."""


@contextmanager
def stopped_by_harm(simulator: Simulator[Any], first: bool) -> Iterator[Event]:
    """Yield a stop for calls; with `first`, harm sets it soon, where looking for that changes nothing."""
    stop = Event()
    if not (first and simulator.whole_steps):
        yield stop
        return

    def look(_t: float) -> None:
        if harm_events(simulator):
            stop.set()

    simulator.watch(LOOK_S, look, at_rest=False)
    try:
        yield stop
    finally:
        simulator.watch(LOOK_S, None)


def harm_events(simulator: Simulator[Any], noted: Sequence[HarmEvent] | None = None) -> tuple[HarmEvent, ...]:
    """Return the events that are more than a trifle by their rules: those since `init`, or these."""
    if not (found := simulator.events if noted is None else noted):
        return ()
    rules = {rule.kind: rule for rule in simulator.harm_rules}
    # The limits of the initial state: reading the present one would split lazy integration.
    world = simulator.world.model_dump(mode="json")

    def is_trifle(event: HarmEvent) -> bool:
        rule = rules[event.kind]
        return rule.is_trifle(event, limit_of(rule, event.entity, world))

    return tuple(event for event in found if not is_trifle(event))
