"""What `--guard twin` prevents, and what it costs: `python benchmarks/guard.py --seeds 1 2 3`.

The rover's episodes of `mismatch.py` are played three times from the same seed: without a guard (the floor),
with the twin's guard, where every question is answered with no, and with a guard that knows the truth (the
ceiling): the rig itself tries each call and goes back. The ceiling also judges the twin's stops: a call is
harmful if it brings a harm event that does not come without it, or one costs more than a trifle more. After a
stop the agent goes on with its next call. The twin gets calls and coarse telemetry alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from threading import Event
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.hidden_rigs import Logged, play
from benchmarks.mismatch import BENCHMARKS, DISCREPANCY, Rig, calibrated, tasks_in
from benchmarks.mismatch_figures import Part
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.harm.costs import costs_of, weighted
from core_eval.harm.harmful_events import harm_events
from core_eval.harm.replay import Player
from core_eval.harm.twin.foresight import MEMBERS, Foresight
from core_eval.harm.twin.logged_episode import LoggedCall
from core_eval.harm.twin.parameters import FittedParameter, Priors
from core_eval.harm.twin.unknowns import Unknowns
from devices.harm import HarmEvent, limit_of
from devices.hidden import hidden_parameters
from devices.sensors import Sample
from sims.simulator import Simulator

RESAMPLES = 1000
HOUR_S = 3600.0


@dataclass(frozen=True)
class Judged:
    """A call that the guard was asked about, if it is no read.

    Attributes:
        probability: the guard's.
        stopped: whether it was refused.
        harmful: whether it would do harm in truth.
        lead: time from now until that harm begins, s.
    """

    probability: float
    stopped: bool
    harmful: bool
    lead: float


def _course(rig: Simulator[Any], tool: str, arguments: Mapping[str, Any]) -> tuple[HarmEvent, ...]:
    """Return all harm of a rig that makes one call, or none (`tool` empty); it is put back."""
    before = rig.snapshot()
    if tool:
        rig.execute(tool, arguments, Event())
    rig.finish()
    rig.run_out()
    found = harm_events(rig)
    rig.restore(before)
    return found


def truth_of_call(rig: Simulator[Any], tool: str, arguments: Mapping[str, Any]) -> float | None:
    """Return in how many seconds the harm begins that a call would do in truth; None: it would do none."""
    rules = {rule.kind: rule for rule in rig.harm_rules}
    world = rig.world.model_dump(mode="json")
    heard, rig._subscribers = rig._subscribers, []
    after, without = _course(rig, tool, arguments), _course(rig, "", {})
    rig._subscribers = heard
    costs, known = costs_of(after, rules), costs_of(without, rules)
    worse = {
        key
        for key, cost in costs.items()
        if cost - known.get(key, 0.0) > rules[key[0]].trifling_cost(limit_of(rules[key[0]], key[1], world))
    }
    begins = [event.t_start for event in after if (event.kind, event.entity) in worse]
    return max(0.0, min(begins) - rig.clock.now) if begins else None


@dataclass
class Guarded:
    """A guard of one episode: what it said, what was true, and its CPU time a call, s."""

    ahead: Callable[[Simulator[Any], str, Mapping[str, Any]], float]
    follow: Callable[[LoggedCall, Sequence[Sample]], None]
    least: float
    reads: frozenset[str]
    judged: list[Judged] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    _asked: float = 0.0

    def stops(self, rig: Simulator[Any], tool: str, arguments: Mapping[str, Any]) -> bool:
        """Ask the guard, and judge its answer."""
        began = process_time()
        probability = self.ahead(rig, tool, arguments)
        self._asked = process_time() - began
        stopped = probability >= self.least
        if tool not in self.reads:
            lead = truth_of_call(rig, tool, arguments)
            self.judged.append(Judged(probability, stopped, lead is not None, lead or 0.0))
        if stopped:
            self.cpu.append(self._asked)
        return stopped

    def take(self, made: LoggedCall, samples: Sequence[Sample]) -> None:
        """Go on over a call."""
        began = process_time()
        self.follow(made, samples)
        self.cpu.append(self._asked + process_time() - began)


def cost_of(episode: Logged, hidden: Mapping[str, float]) -> tuple[float, int]:
    """Return the true cost of an episode, weighed by the rules' scales, and the number of its events."""
    assert episode.task.world is not None
    world = episode.task.world
    player = Player(lambda: make_simulator(world), {**episode.init, "hidden": dict(hidden)}, episode.seed)
    replay = player.play(episode.calls, checkpoints=False)
    rules = {rule.kind: rule for rule in replay.harm_rules}
    return weighted(costs_of(replay.events, rules), rules), len(replay.events)


@dataclass(frozen=True)
class Drawn:
    """What an episode gives to the intervals: its cost, device time in h, and number of false stops."""

    cost: float
    hours: float
    false: int


def interval(
    pairs: Sequence[tuple[Drawn, Drawn]], value: Callable[[Sequence[tuple[Drawn, Drawn]]], float]
) -> str:
    """Return a figure of pairs of episodes, without a guard and with one, and its 95 % interval.

    It is drawn from whole episodes.
    """
    rng = Random(0)
    drawn = sorted(value(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    low, high = drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)]
    return f"{value(pairs):.2f} ({low:.2f} to {high:.2f})"


def prevented(pairs: Sequence[tuple[Drawn, Drawn]]) -> float:
    """Return the share of the cost without a guard that one prevents; 0 where there is none."""
    floor = sum(plain.cost for plain, _ in pairs)
    return 1.0 - sum(guarded.cost for _, guarded in pairs) / floor if floor else 0.0


def false_an_hour(pairs: Sequence[tuple[Drawn, Drawn]]) -> float:
    """Return the number of false stops in an hour of device time under the guard."""
    return sum(one.false for _, one in pairs) / sum(one.hours for _, one in pairs)


@dataclass
class Sums:
    """What came of the episodes under one guard."""

    each: list[Drawn] = field(default_factory=list)
    events: int = 0
    harmed: int = 0
    calls: int = 0
    judged: list[Judged] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, episode: Logged, hidden: Mapping[str, float], guard: Guarded | None) -> None:
        """Add an episode."""
        cost, events = cost_of(episode, hidden)
        false = 0 if guard is None else sum(one.stopped and not one.harmful for one in guard.judged)
        self.each.append(Drawn(cost, episode.log.end / HOUR_S, false))
        self.events, self.harmed = self.events + events, self.harmed + bool(events)
        self.calls += len(episode.calls)
        if guard is not None:
            self.judged += guard.judged
            self.cpu += guard.cpu


def run(
    row: int, seeds: Sequence[int], episodes: int, rigs: int, members: int, least: Sequence[float]
) -> dict[str, Sums]:
    """Play the episodes of a mismatch under each guard; return what came of them."""
    benchmark, world = BENCHMARKS["farm_rover"], load_world("farm_rover")
    mismatch, tasks = benchmark.rows[row], tasks_in("farm_rover")
    parameters = hidden_parameters(type(world.state.hidden))
    unknowns = Unknowns(world.spreads, world.fault_priors, discrepancy=DISCREPANCY)
    names = ["none", *(f"twin from {one:g}" for one in least), "truth"]
    sums = {name: Sums() for name in names}
    for seed in seeds:
        known = [calibrated(Rig("farm_rover", number, seed, row, True)) for number in range(rigs)]
        for number in range(episodes):
            of_rig = known[number * rigs // episodes]
            estimates = {name: FittedParameter(*one) for name, one in of_rig["estimates"].items()}
            for name in names:
                rng = Random(f"guard/{seed}/{number}")
                drawn = benchmark.episode(number, tasks, world, rng)
                start = mismatch.begin(drawn.told, world, dict(of_rig["hidden"]), rng)
                own = seed * 1_000_003 + number
                there = World(world.name, world.type, merged_state(world, start.told))
                guard = None
                reads = frozenset(world.device.reads)
                if name == "truth":
                    guard = Guarded(_known_harm, lambda made, samples: None, 1.0, reads)
                elif name != "none":
                    twin = Foresight(
                        partial(make_simulator, there), Priors(parameters, estimates), unknowns, own, members
                    )
                    limit = least[names.index(name) - 1]
                    guard = Guarded(
                        lambda rig, tool, arguments, twin=twin: twin.ahead(tool, arguments).probability,
                        twin.take, limit, reads,
                    )  # fmt: skip
                with mismatch.obeyed():
                    episode = play(
                        drawn.task, drawn.agent, start.true, start.hidden, own, guard, drawn.harmless
                    )
                    sums[name].add(episode, start.hidden, guard)
    return sums


def _known_harm(rig: Simulator[Any], tool: str, arguments: Mapping[str, Any]) -> float:
    return float(truth_of_call(rig, tool, arguments) is not None)


def report(console: Console, name: str, sums: Mapping[str, Sums]) -> None:
    """Print the table of one mismatch."""
    table = Table(title=f"{name}; intervals: 95 %, of shares of calls Wilson's, else by episodes")
    for heading in ("guard", "calls sent", "events", "episodes with harm", "cost", "prevented", "stops",
                    "true of these", "harmful calls stopped", "false stops an hour", "a 100 calls",
                    "lead time, median s", "CPU a call, mean, p95, max ms"):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "guard" else "right")
    for guard, found in sums.items():
        stops = [one for one in found.judged if one.stopped]
        right = [one for one in stops if one.harmful]
        harmful = [one for one in found.judged if one.harmful]
        false = len(stops) - len(right)
        cpu = 1000.0 * np.array(found.cpu or [0.0])
        leads = [one.lead for one in right]
        pairs = list(zip(sums["none"].each, found.each, strict=True))
        table.add_row(
            guard, str(found.calls), str(found.events), str(found.harmed),
            f"{sum(one.cost for one in found.each):.1f}", interval(pairs, prevented), str(len(stops)),
            str(Part(len(right), len(stops))), str(Part(len(right), len(harmful))),
            interval(pairs, false_an_hour), f"{100.0 * false / max(1, found.calls + len(stops)):.2f}",
            f"{np.median(leads):.1f}" if leads else "-",
            f"{cpu.mean():.1f}, {np.quantile(cpu, 0.95):.1f}, {cpu.max():.1f}",
        )  # fmt: skip
    console.print(table)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--episodes", type=int, default=24, help="of each seed")
    parser.add_argument("--rigs", type=int, default=2, help="of each seed, each calibrated once")
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--rows", type=int, nargs="+", default=[1], help="numbers of the mismatches, from 0")
    parser.add_argument("--from", type=float, nargs="+", default=[0.5], dest="least", metavar="P")
    given = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 200)
    for row in given.rows:
        sums = run(row, given.seeds, given.episodes, given.rigs, given.members, given.least)
        report(console, BENCHMARKS["farm_rover"].rows[row].name, sums)


if __name__ == "__main__":
    main()
