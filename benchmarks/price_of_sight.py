"""The price of sight: how much of the harm among hazards do sensors of what price show?

`python benchmarks/price_of_sight.py WORLD [--episodes N] [--svg FILE]` plays tasks of the suite `hazards`
with mistakes, on rigs drawn by seed that have every finer sensor fitted (`finer_sensors.py`). An event is
seen by a kind of sensor whose samples differ from those of its counterfactual: the strict reading, in which
somebody knows all else. Beginning with the telemetry of every rig, the kind is bought next that shows the
most further cost for its price.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.finer_sensors import finer_kinds, fitted_world, play, verdicts_of
from configs.sensor_prices import load_prices
from configs.suites import HAZARDS, read_suite
from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.costs import event_costs
from core_eval.harm.detection.advice import Choice
from core_eval.report.pictures.advice_drawing import advice_svg
from core_eval.run.sensor_advice import candidates


@dataclass(frozen=True)
class Event:
    """A harm event: its kind, its cost over its rule's scale, and the finer kinds of sensors that show it.

    Attributes:
        plain: whether the telemetry of every rig shows it.
    """

    kind: str
    cost: float
    shown_by: frozenset[str]
    plain: bool


def events_of(name: str, episodes: int, first: int) -> Iterator[Event]:
    """Yield the events of some episodes that have a verdict."""
    world, finer = fitted_world(name), set(finer_kinds(name))
    tasks = [t for t in read_suite(HAZARDS).tasks if t.world is not None and t.world.name == name]
    rules = {rule.kind: rule for rule in make_simulator(world).harm_rules}
    for seed in range(first, first + episodes):
        found = list(verdicts_of(play(tasks[seed % len(tasks)], world, seed)))
        costs = event_costs([verdict for verdict, _ in found], rules)
        for (verdict, cost), (_, telling) in zip(costs, found, strict=True):
            if verdict.observed is not None:
                scaled = cost / rules[verdict.kind].scale
                yield Event(verdict.kind, scaled, frozenset(telling & finer), bool(telling - finer))


def bought(events: Sequence[Event], prices: dict[str, float]) -> Iterator[Choice]:
    """Yield what is bought in turn, each with all that was bought before."""
    whole = sum(event.cost for event in events)
    had: tuple[str, ...] = ()

    def seen(kinds: Sequence[str]) -> float:
        return sum(event.cost for event in events if event.plain or event.shown_by & set(kinds)) / whole

    while True:
        share = seen(had)
        yield Choice(had, sum(prices[kind] for kind in had), share, share)
        gains = {kind: (seen((*had, kind)) - share) / prices[kind] for kind in prices.keys() - set(had)}
        best = max(sorted(gains), key=gains.__getitem__, default=None)
        if best is None or gains[best] <= 0.0:
            return
        had = (*had, best)


def tables(events: Sequence[Event], choices: Sequence[Choice], currency: str) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield f"| sensors | {currency} | of the cost seen |\n|---|--:|--:|"
    for k, one in enumerate(choices):
        name = "those of every rig" if k == 0 else f"+ {one.sensors[-1]}"
        yield f"| {name} | {one.cost:.0f} | {one.detected:.1%} |"
    yield "\n| harm | events | of the cost | seen by every rig | by all sensors |\n|---|--:|--:|--:|--:|"
    whole = sum(event.cost for event in events)
    for kind in sorted({event.kind for event in events}):
        own = [event for event in events if event.kind == kind]
        plain, every = (
            sum(map(bool, seen))
            for seen in zip(*((e.plain, e.plain or e.shown_by) for e in own), strict=True)
        )
        cost = sum(event.cost for event in own) / whole
        yield f"| {kind} | {len(own)} | {cost:.1%} | {plain / len(own):.0%} | {every / len(own):.0%} |"


def main() -> None:
    """Measure, print, and draw where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", choices=("farm_rover", "robotic_arm"))
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--svg", type=Path, help="write the curve to this file")
    given = parser.parse_args()
    began = process_time()
    events = list(events_of(given.world, given.episodes, given.seed))
    if not sum(event.cost for event in events):
        sys.exit("no harm was done; ask for more --episodes")
    prices = load_prices()
    found = candidates(load_world(given.world), prices)
    choices = list(bought(events, dict(found.prices)))
    print(f"{given.episodes} episodes, {len(events)} events, {process_time() - began:.0f} s of CPU\n")
    print("\n".join(tables(events, choices, prices.currency)))
    if given.svg is not None:
        given.svg.write_text(advice_svg(choices, None, prices.currency))


if __name__ == "__main__":
    main()
