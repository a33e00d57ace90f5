"""The same harm with finer sensors: `python benchmarks/finer_sensors.py [--farm N] [--arm N]`.

Harmless runs of the shipped tasks are altered by seed, on rigs and among hazards drawn by seed
(`benchmarks/hazard_draws.py`). The counterfactual of every harm event shows which telemetry reveals it: that
of every rig (sensors, results, registers), that and one finer kind of sensor, or that and all of them. All
kinds are fitted while an episode is played, so its events are the same in each case; `configs/sensors`
specifies them.

The exit status is 1 if a verdict of `core_eval.harm.assess` differs from the table's.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any

from core_eval.call_status import CallStatus

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agents.agent import ToolCallAction
from agents.baselines.mutated import mutate
from benchmarks.hazard_draws import among_hazards, hidden_of
from configs.task import Task
from configs.tasks_loader import list_tasks
from configs.worlds_loader import World, load_world, make_simulator
from core_eval.harm.assessment import Judge
from core_eval.harm.counterfactual import Change, outcome_difference, play_changed, state_matches
from core_eval.harm.replay import Player, Replay
from core_eval.harm.report import ExecutedCall
from core_eval.harm.telemetry import first_difference
from core_eval.log import HarmRow
from devices.harm import LEAVE_OUT
from devices.outcome import PROTECTIVE_STOP
from devices.sensors import Sample
from sims.overrides import deep_merge

SENSORS_FOLDER = Path(__file__).resolve().parents[1] / "configs" / "sensors"
MISTAKES = 0.5
"""The rate of mistaken calls."""
ANSWERS = "answers"
"""Telemetry of every rig: results and registers."""
WORLDS = ("farm_rover", "robotic_arm")


@dataclass(frozen=True)
class Played:
    """An episode as a log would hold it."""

    world: World
    init: Mapping[str, Any]
    seed: int
    calls: list[ExecutedCall]


@dataclass
class Tally:
    """Of the events of one kind: how many there were, and how many each kind of sensor revealed."""

    events: int = 0
    coarse: int = 0
    every: int = 0
    with_one: Counter[str] = field(default_factory=Counter)


def finer_kinds(name: str) -> tuple[str, ...]:
    """Return the kinds of sensors that a world only has if they are fitted."""
    fitted = fitted_world(name).state.model_dump()["sensors"]
    plain = load_world(name).state.model_dump()["sensors"]
    return tuple(kind for kind, spec in fitted.items() if spec is not None and plain.get(kind) is None)


def fitted_world(name: str) -> World:
    """Return the world with all of them."""
    return load_world(str(SENSORS_FOLDER / f"{name}.yaml"))


def play(task: Task, world: World, seed: int) -> Played:
    """Play a harmless run with mistakes, among hazards."""
    key = f"finer/{task.id}/{seed}"
    rng = random.Random(key)
    begun = among_hazards(task, world, key)
    path = [ToolCallAction(call.name, call.arguments) for call in begun.harmless]
    calls = mutate(path, task.device.tools, MISTAKES, rng)
    init = deep_merge(dict(begun.init), {"hidden": hidden_of(world, rng)})
    simulator = make_simulator(world, seed)
    answer = simulator.init(init, seed)
    if answer.status != CallStatus.OK:
        raise ValueError(f"{task.id}, seed {seed}: {answer.message}")
    executed = []
    for k, call in enumerate(calls):
        outcome = simulator.execute(call.name, call.arguments, Event())
        cut, took = outcome.code == PROTECTIVE_STOP, outcome.duration
        executed.append(ExecutedCall(k, call.name, call.arguments, outcome.status, took, False, partly=cut))
    return Played(world, init, seed, executed)


def revealing_kinds(player: Player, episode: Played, original: Replay, verdict: HarmRow) -> set[str]:
    """Return the kinds of sensors whose samples differ from the counterfactual's; else `ANSWERS`."""
    calls = episode.calls
    if verdict.remedy is None:
        return set()
    event = next(
        one
        for one in original.events
        if (one.kind, one.entity, one.t_start) == (verdict.kind, verdict.entity, verdict.t_start)
    )
    change = Change((event.call,), verdict.remedy, None if verdict.remedy == LEAVE_OUT else event)
    index, found = event.call, set()
    for outcome in play_changed(
        player, calls, original, change, ask=lambda call: not state_matches(player, original, call)
    ):
        if outcome_difference(player, calls, original, change, index, outcome) is not None:
            found.add(ANSWERS)
        index += 1
        player.simulator.state_dict()
    parted = original.received[event.call]
    before, ours = by_kind(original.samples[:parted]), by_kind(original.samples[parted:])
    theirs = by_kind(player.received)
    specs = original.sensor_specs
    return found | {
        kind
        for kind in ours.keys() | theirs.keys()
        if first_difference(ours[kind], theirs[kind], specs, before[kind]) is not None
    }


def by_kind(samples: Sequence[Sample]) -> defaultdict[str, list[Sample]]:
    """Group samples by the kind of their sensor: its name before a dot."""
    found: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        found[sample.sensor.partition(".")[0]].append(sample)
    return found


def verdicts_of(episode: Played) -> Iterator[tuple[HarmRow, set[str]]]:
    """Yield each event of the harm rules, and the kinds that revealed it."""
    player = Player(lambda: make_simulator(episode.world), episode.init, episode.seed)
    original = player.play(episode.calls)
    for verdict in Judge(player, episode.calls, original).events():
        yield verdict, revealing_kinds(player, episode, original, verdict)


def measure(name: str, count: int) -> tuple[dict[str, Tally], int, int, int]:
    """Tally this many episodes by kind of harm; count those with harm, and the verdicts that disagree.

    Also count the events without a verdict: they are in no tally.
    """
    world, finer = fitted_world(name), set(finer_kinds(name))
    tasks = [task for task in list_tasks() if task.device.name == name and task.world is not None]
    tallies = {rule.kind: Tally() for rule in make_simulator(world).harm_rules}
    harmful = wrong = unknown = 0
    for seed in range(count):
        any_event = False
        for verdict, telling in verdicts_of(play(tasks[seed % len(tasks)], world, seed)):
            any_event = True
            if verdict.observed is None:
                unknown += 1
                continue
            wrong += verdict.observed != bool(telling)
            tally = tallies[verdict.kind]
            coarse = bool(telling - finer)
            tally.events += 1
            tally.coarse += coarse
            tally.every += bool(telling)
            tally.with_one.update(kind for kind in finer if coarse or kind in telling)
        harmful += any_event
    return tallies, harmful, wrong, unknown


def table(name: str, tallies: Mapping[str, Tally], markdown: bool) -> Iterator[str]:
    """Return rows of observed shares and their numbers; a dot for a finer kind that adds nothing."""
    finer = finer_kinds(name)
    head = ["harm", "events", "coarse", *(f"+{kind}" for kind in finer), "all"]
    rows = []
    total = Tally()
    for kind, tally in tallies.items():
        rows.append(row(kind, tally, finer))
        total.events += tally.events
        total.coarse += tally.coarse
        total.every += tally.every
        total.with_one.update(tally.with_one)
    rows.append(row("all kinds", total, finer))
    widths = [max(len(line[k]) for line in (head, *rows)) for k in range(len(head))]
    for line in (head, *rows):
        cells = [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        yield "| " + " | ".join(cells) + " |" if markdown else "  ".join(cells)
        if markdown and line is head:
            yield "|---" + "|--:" * (len(head) - 1) + "|"


def row(kind: str, tally: Tally, finer: Sequence[str]) -> list[str]:
    def share(observed: int) -> str:
        return f"{observed / tally.events:.0%} ({observed})" if tally.events else "-"

    ones = [
        share(tally.with_one[one]) if tally.with_one[one] > tally.coarse or not tally.events else "."
        for one in finer
    ]
    return [kind, str(tally.events), share(tally.coarse), *ones, share(tally.every)]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--farm", type=int, default=400, help="episodes of the farm")
    parser.add_argument("--arm", type=int, default=60, help="episodes of the arm")
    parser.add_argument("--markdown", action="store_true", help="print the tables for a page")
    options = parser.parse_args()
    bad = 0
    for name, count in zip(WORLDS, (options.farm, options.arm), strict=True):
        if not count:
            continue
        began = perf_counter()
        tallies, harmful, wrong, unknown = measure(name, count)
        bad += wrong
        print(
            f"{name}: {count} episodes, {harmful} with harm, {wrong} verdicts of assess differ, "
            f"{unknown} unknown ({perf_counter() - began:.0f} s)\n"
        )
        print("\n".join(table(name, tallies, options.markdown)) + "\n", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
