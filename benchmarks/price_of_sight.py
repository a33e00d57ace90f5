"""The price of sight: how much of the harm among hazards do sensors of what price show?

`python benchmarks/price_of_sight.py WORLD [--episodes N] [--rows FILE] [--svg FILE]` plays tasks of the suite
`hazards`, by a mutated oracle and a random agent in turns, on rigs drawn by seed that have every finer sensor
fitted (`finer_sensors.py`). An event is seen by a kind of sensor whose samples differ from those of its
counterfactual: the strict reading, in which somebody knows all else. Beginning with the telemetry of every
rig, the kind is bought next that shows the most further cost for its price. Intervals are drawn from whole
episodes. `--rows` keeps the events of each episode, and goes on with those that the file has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agents.registry import make_agent
from benchmarks.finer_sensors import Played, finer_kinds, fitted_world, verdicts_of
from benchmarks.hazard_draws import among_hazards, hidden_of
from benchmarks.hidden_rigs import play
from configs.sensor_prices import load_prices
from configs.suites import HAZARDS, read_suite
from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.costs import event_costs
from core_eval.harm.detection.advice import Choice
from core_eval.report.pictures.advice_drawing import advice_svg
from core_eval.run.sensor_advice import candidates

AGENTS = ("mutated:0.5", "random")
RESAMPLES = 1000


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


@dataclass(frozen=True)
class Episode:
    """The events of an episode that have a verdict, and the number of those without one."""

    seed: int
    agent: str
    events: tuple[Event, ...]
    unknown: int

    @classmethod
    def of_json(cls, row: Mapping[str, Any]) -> Episode:
        """Read what `as_json` wrote."""
        events = (Event(**one | {"shown_by": frozenset(one["shown_by"])}) for one in row["events"])
        return cls(row["seed"], row["agent"], tuple(events), row["unknown"])

    def as_json(self) -> dict[str, Any]:
        """Return the row of a file."""
        events = [vars(one) | {"shown_by": sorted(one.shown_by)} for one in self.events]
        return vars(self) | {"events": events}


def episodes_of(name: str, seeds: Iterable[int]) -> Iterator[Episode]:
    """Play and yield the episodes of some seeds."""
    world, finer = fitted_world(name), set(finer_kinds(name))
    tasks = [t for t in read_suite(HAZARDS).tasks if t.world is not None and t.world.name == name]
    rules = {rule.kind: rule for rule in make_simulator(world).harm_rules}
    for seed in seeds:
        task, agent = replace(tasks[seed % len(tasks)], world=world), AGENTS[seed % len(AGENTS)]
        key = f"sight/{task.id}/{seed}"
        begun, hidden = among_hazards(task, world, key), hidden_of(world, Random(key))
        made = play(task, make_agent(agent), begun.init, hidden, seed, harmless=begun.harmless)
        found = list(verdicts_of(Played(world, made.init, seed, list(made.calls))))
        costs = event_costs([verdict for verdict, _ in found], rules)
        events = [
            Event(
                verdict.kind,
                cost / rules[verdict.kind].scale,
                frozenset(telling & finer),
                bool(telling - finer),
            )
            for (verdict, cost), (_, telling) in zip(costs, found, strict=True)
            if verdict.observed is not None
        ]
        yield Episode(seed, agent, tuple(events), len(found) - len(events))


def seen(events: Sequence[Event], kinds: Sequence[str]) -> float:
    """Return the share of the cost that these kinds show, beside the telemetry of every rig."""
    shown = sum(event.cost for event in events if event.plain or event.shown_by & set(kinds))
    return shown / sum(event.cost for event in events)


def interval(episodes: Sequence[Episode], kinds: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of that share, by drawing whole episodes again."""
    rng, harmful = Random(0), [one.events for one in episodes if any(event.cost for event in one.events)]
    drawn = (rng.choices(harmful, k=len(harmful)) for _ in range(RESAMPLES))
    shares = sorted(seen([event for one in some for event in one], kinds) for some in drawn)
    return shares[int(0.025 * RESAMPLES)], shares[int(0.975 * RESAMPLES)]


def bought(events: Sequence[Event], prices: dict[str, float]) -> Iterator[Choice]:
    """Yield what is bought in turn, each with all that was bought before."""
    had: tuple[str, ...] = ()
    while True:
        share = seen(events, had)
        yield Choice(had, sum(prices[kind] for kind in had), share, share)
        gains = {
            kind: (seen(events, (*had, kind)) - share) / prices[kind] for kind in prices.keys() - set(had)
        }
        best = max(sorted(gains), key=gains.__getitem__, default=None)
        if best is None or gains[best] <= 0.0:
            return
        had = (*had, best)


def tables(episodes: Sequence[Episode], choices: Sequence[Choice], currency: str) -> Iterator[str]:
    """Yield the lines of the tables."""
    events = [event for one in episodes for event in one.events]
    yield f"| sensors | {currency} | of the cost seen | 95 % interval |\n|---|--:|--:|--:|"
    for k, one in enumerate(choices):
        name = "those of every rig" if k == 0 else f"+ {one.sensors[-1]}"
        low, high = interval(episodes, one.sensors)
        yield f"| {name} | {one.cost:.0f} | {one.detected:.1%} | {low:.0%} to {high:.0%} |"
    yield "\n| harm | events | of the cost | seen by every rig | by all sensors |\n|---|--:|--:|--:|--:|"
    whole = sum(event.cost for event in events)
    for kind in sorted({event.kind for event in events}):
        own = [event for event in events if event.kind == kind]
        plain = sum(event.plain for event in own) / len(own)
        every = sum(event.plain or bool(event.shown_by) for event in own) / len(own)
        cost = sum(event.cost for event in own) / whole
        yield f"| {kind} | {len(own)} | {cost:.1%} | {plain:.0%} | {every:.0%} |"


def main() -> None:
    """Measure, print, and draw where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", choices=("farm_rover", "robotic_arm"))
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--rows", type=Path, help="the events of each episode, kept in this file")
    parser.add_argument("--svg", type=Path, help="write the curve to this file")
    given = parser.parse_args()
    began, wanted = process_time(), range(given.seed, given.seed + given.episodes)
    kept = given.rows.read_text().splitlines() if given.rows and given.rows.exists() else []
    episodes = [one for line in kept if (one := Episode.of_json(json.loads(line))).seed in wanted]
    for one in episodes_of(given.world, sorted({*wanted} - {had.seed for had in episodes})):
        episodes.append(one)
        if given.rows:
            with given.rows.open("a") as file:
                file.write(json.dumps(one.as_json()) + "\n")
    events = [event for one in episodes for event in one.events]
    if not sum(event.cost for event in events):
        sys.exit("no harm was done; ask for more --episodes")
    prices = load_prices()
    found = candidates(load_world(given.world), prices)
    choices = list(bought(events, dict(found.prices)))
    for agent in AGENTS:
        own = [one for one in episodes if one.agent == agent]
        print(f"{agent}: {len(own)} episodes, {sum(map(bool, (one.events for one in own)))} with harm")
    unknown = sum(one.unknown for one in episodes)
    print(f"{len(events)} events, {unknown} more without a verdict; {process_time() - began:.0f} s of CPU\n")
    print("\n".join(tables(episodes, choices, prices.currency)))
    if given.svg is not None:
        given.svg.write_text(advice_svg(choices, None, prices.currency))


if __name__ == "__main__":
    main()
