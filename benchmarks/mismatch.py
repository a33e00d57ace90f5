"""How well a twin tells harm of rigs that its model does not fit: `python benchmarks/mismatch.py --out FILE`.

The rig is simulated with other equations, another start, a fault, or a person that the twin was not told of;
the twin gets calls and coarse telemetry alone. Each row is one mismatch at one strength. Every episode is
told by the twin as shipped, which draws start and faults, and with `--twins shipped exact` also by one that
takes them for exact. Results are appended to FILE (JSON lines) as they come; run it again with the same
options to go on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import Pool, TimeoutError
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from agents.registry import make_agent
from benchmarks.dangers import hidden_of
from benchmarks.field_soil import SoilLaw, soil_law
from benchmarks.hidden_rigs import AGENTS, ROOT, agent_of, begun_among, events_of, play
from benchmarks.mismatch_figures import Told, by_choice, by_rule, figures, told_choices
from benchmarks.reliability_diagram import reliability_svg
from configs.fault_priors import FaultPriors
from configs.tasks_loader import list_tasks
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.harm.twin.calibration import calibrate
from core_eval.harm.twin.parameters import Estimate, Priors
from core_eval.harm.twin.posterior import Twin, clusters, probability_of
from core_eval.harm.twin.unknowns import Unknowns
from core_eval.report.risk_coverage import band_words
from devices.farm_rover.world import FarmWorld
from devices.faults import STUCK_SENSOR
from devices.hidden import hidden_parameters
from sims.overrides import deep_merge

DISCREPANCY = 0.02
TWINS = ("shipped", "exact")
UNSENSED = ("hopper_overfill",)
"""Rules that the telemetry cannot decide: a full hopper reads the same as one too full."""
LAG_FACTOR = 10.0
"""By how much a worn hose valve is slower, at strength 1: a fault that the twin has no name for."""


@dataclass(frozen=True)
class Mismatch:
    """What is wrong about the twin's model.

    Attributes:
        name: as printed.
        start: moistures, tanks and charge are off by up to this share.
        fault: the probability of a fault of a kind that the twin knows.
        unnamed: the strength of one that it has no name for.
        flow: the flow is off by up to this share of the calibrated one (head, voltage).
        soil: the rig's soil law, of `benchmarks.field_soil`; "": the twin's.
        person: the twin is not told the person's path.
    """

    name: str
    start: float = 0.0
    fault: float = 0.0
    unnamed: float = 0.0
    flow: float = 0.0
    soil: SoilLaw = ""
    person: bool = False


MISMATCHES = (
    Mismatch("matched"),
    Mismatch("everyday: start 20 %, fault 1 in 10, field soil", start=0.2, fault=0.1, soil="field"),
    Mismatch("start 10 %", start=0.1),
    Mismatch("start 20 %", start=0.2),
    Mismatch("start 30 %", start=0.3),
    Mismatch("fault in every episode", fault=1.0),
    Mismatch("Philip's soil", soil="philip"),
    Mismatch("flow 10 % (head, voltage)", flow=0.1),
    Mismatch("flow 20 % (head, voltage)", flow=0.2),
    Mismatch("unnamed fault (slow valve)", unnamed=1.0),
    Mismatch("person not told", person=True),
    Mismatch("field soil (Horton; Clapp and Hornberger)", soil="field"),
    Mismatch("everyday with Philip's soil", start=0.2, fault=0.1, soil="philip"),
)


@dataclass(frozen=True)
class Plan:
    """Episodes of one rig under one mismatch."""

    world: str
    mismatch: int
    rig: int
    first: int
    episodes: int
    seed: int
    members: int
    fitted: Mapping[str, Any]
    twins: Sequence[str] = TWINS

    @property
    def key(self) -> str:
        """Names the plan in the file of results."""
        what = self.world, self.seed, self.members, self.mismatch, self.rig, self.first, self.episodes
        return "/".join(map(str, (*what, *self.twins, *filter(None, [MISMATCHES[self.mismatch].soil]))))


@dataclass(frozen=True)
class Rig:
    """One rig: its number, and its soil law."""

    world: str
    number: int
    seed: int
    soil: SoilLaw

    @property
    def key(self) -> str:
        """Names the rig in the file of results."""
        what = "rig", self.world, self.seed, self.number
        return "/".join(map(str, (*what, *filter(None, [self.soil]))))


def calibrated(rig: Rig) -> dict[str, Any]:
    """Return a rig's hidden parameters, and what calibration on its own probing episode finds."""
    world = load_world(rig.world)
    hidden = hidden_of(world, Random(f"mismatch rig/{rig.seed}/{rig.number}"))
    tasks = [task for task in list_tasks() if task.world is not None and task.world.name == world.name]
    prober = make_agent(f"scripted:{ROOT / 'configs' / 'probes' / f'{world.name}.jsonl'}")
    with soil_law(rig.soil):
        probe = play(tasks[0], prober, {}, hidden, 10_000_019 * (rig.number + 1) + rig.seed)
    priors = Priors(hidden_parameters(type(world.state.hidden)), {})
    fitted = calibrate([lambda: make_simulator(world)], [probe.log], priors, rig.seed)
    estimates = {name: [one.value, one.spread] for name, one in fitted.estimates.items()}
    return {"key": rig.key, "hidden": hidden, "estimates": estimates}


def wrong_start(begun: Mapping[str, Any], world: World, share: float, rng: Random) -> dict[str, Any]:
    """Return the true start: moistures, tanks and charge are off the believed ones by up to a share."""
    state = merged_state(world, begun)
    if not isinstance(state, FarmWorld) or not share:
        return dict(begun)

    def off(value: float, most: float) -> float:
        return min(most, value * (1.0 + rng.uniform(-share, share)))

    return deep_merge(
        dict(begun),
        {
            "plants": {
                name: {"moisture": off(plant.moisture, state.soil.saturation)}
                for name, plant in state.plants.items()
            },
            "water_tank": {"liters": off(state.water_tank.liters, state.water_tank.capacity_liters)},
            "pesticide_tank": {"ml": off(state.pesticide_tank.ml, state.pesticide_tank.capacity_ml)},
            "battery": off(state.battery, 1.0),
        },
    )


def drawn_fault(priors: FaultPriors, sensors: Sequence[str], rng: Random) -> dict[str, Any]:
    """Return a fault of a kind drawn by its prior, from the start or from some time of the episode on."""
    kind = rng.choices(list(priors), [prior.probability for prior in priors.values()])[0]
    low, high = priors[kind].strength
    at = 0.0 if rng.random() < 0.5 else rng.uniform(0.0, 120.0)
    fault = {"kind": kind, "at": round(at, 2), "strength": round(rng.uniform(low, high), 4)}
    return {**fault, "entity": rng.choice(list(sensors))} if kind == STUCK_SENSOR else fault


def run_plan(plan: Plan) -> dict[str, Any]:
    """Play, tell and compare the episodes of a plan; return them JSON-ready."""
    mismatch, world = MISMATCHES[plan.mismatch], load_world(plan.world)
    hidden = dict(plan.fitted["hidden"])
    estimates = {name: Estimate(*found) for name, found in plan.fitted["estimates"].items()}
    parameters = hidden_parameters(type(world.state.hidden))
    tasks = [task for task in list_tasks() if task.world is not None and task.world.name == world.name]
    sensors = list(make_simulator(world).sensor_specs)
    twins = {
        "shipped": Unknowns(world.spreads, world.fault_priors, discrepancy=DISCREPANCY),
        "exact": Unknowns(),
    }
    started, records, bad = perf_counter(), [], dict.fromkeys(plan.twins, 0)
    faulty: list[int] = []
    for number in range(plan.first, plan.first + plan.episodes):
        rng = Random(f"mismatch/{plan.seed}/{plan.rig}/{number}")
        turn, kind = number // len(AGENTS), AGENTS[number % len(AGENTS)]
        task = tasks[turn % len(tasks)]
        believed = begun_among(task, world, kind, rng)
        agent = agent_of(kind, turn // len(tasks), task, world, rng)
        true = wrong_start(believed, world, mismatch.start, rng)
        if rng.random() < mismatch.fault:
            faulty.append(number)
            true = deep_merge(true, {"faults": {"schedule": [drawn_fault(world.fault_priors, sensors, rng)]}})
        if mismatch.unnamed:
            lag = world.state.rover.hose_lag_s * LAG_FACTOR * mismatch.unnamed
            true = deep_merge(true, {"rover": {"hose_lag_s": lag}})
        own = {**hidden}
        if mismatch.flow:
            own["water_flow"] *= 1.0 + rng.uniform(-mismatch.flow, mismatch.flow)
        if mismatch.person:
            believed = {key: value for key, value in believed.items() if key != "person"}
        seed = plan.seed * 1_000_003 + number
        with soil_law(mismatch.soil):
            episode = play(task, agent, true, own, seed)
            truth = events_of(episode, own)
        there = World(world.name, world.type, merged_state(world, believed))
        for name in plan.twins:
            priors = Priors(parameters, estimates)
            twin = Twin(lambda: make_simulator(there), priors, plan.members, twins[name])  # noqa: B023
            # What `infer` tells, without the verdicts on "observed", which take longer than all the rest.
            ensemble = twin.condition(episode.log, seed)
            bad[name] += twin.fit(episode.log, ensemble, seed).bad
            told = {key: probability_of(ensemble, having) for key, having in clusters(ensemble).items()}
            records += [
                Told(name, number, *key, happened=key in truth, probability=told.get(key, 0.0))
                for key in sorted(told.keys() | truth)
            ]
    return {
        "key": plan.key,
        "mismatch": plan.mismatch,
        "episodes": plan.episodes,
        "seconds": perf_counter() - started,
        "bad_fits": bad,
        "faulty": faulty,
        "records": [asdict(record) for record in records],
    }


def main() -> None:
    """Run what is not done yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="farm_rover", choices=["farm_rover"])
    parser.add_argument("--episodes", type=int, default=180, help="for each mismatch")
    parser.add_argument("--batch", type=int, default=6, help="episodes in one piece of work")
    parser.add_argument("--rigs", type=int, default=4)
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--twins", nargs="+", choices=TWINS, default=["shipped"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="report on what is done after so long")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the mismatches to run, from 0")
    parser.add_argument(
        "--out", type=Path, required=True, help="file of results; what it holds is not run again"
    )
    parser.add_argument("--svg", type=Path, help="write the reliability diagram to this file")
    given = parser.parse_args()
    chosen = range(len(MISMATCHES)) if given.only is None else given.only
    known = (
        {one["key"]: one for one in map(json.loads, given.out.read_text().splitlines())}
        if given.out.exists()
        else {}
    )
    end = None if given.minutes is None else perf_counter() + 60.0 * given.minutes
    rigs = {
        (number, soil): Rig(given.world, number, given.seed, soil)
        for number in range(given.rigs)
        for soil in sorted({MISMATCHES[one].soil for one in chosen})
    }
    with Pool(given.processes) as pool, given.out.open("a") as file:

        def do(work: Callable[[Any], dict[str, Any]], pieces: Sequence[Any]) -> bool:
            """Do what is not known yet; return whether all was done in time."""
            left = [piece for piece in pieces if piece.key not in known]
            results = pool.imap_unordered(work, left)
            for number, _ in enumerate(left, 1):
                try:
                    found = results.next(None if end is None else max(0.0, end - perf_counter()))
                except TimeoutError:
                    print(f"{given.minutes:g} minutes are over", file=sys.stderr)
                    return False
                known[found["key"]] = found
                file.write(json.dumps(found) + "\n")
                file.flush()
                print(f"{number}/{len(left)} {found['key']}", file=sys.stderr)
            return True

        if not do(calibrated, list(rigs.values())):
            sys.exit("not all rigs were calibrated in that time")
        plans = [
            Plan(
                given.world, mismatch, number, first, given.batch, given.seed, given.members,
                known[rigs[number, MISMATCHES[mismatch].soil].key], tuple(given.twins),
            )
            for first in range(0, given.episodes, given.batch)
            for number in [(first // given.batch) % given.rigs]
            for mismatch in chosen
        ]  # fmt: skip
        do(run_plan, plans)
    results = [known[plan.key] for plan in plans if plan.key in known]
    report(Console(width=None if sys.stdout.isatty() else 150), results, given.svg)


def report(console: Console, results: Sequence[Mapping[str, Any]], svg: Path | None) -> None:
    """Print the tables, and write the diagram."""
    table = Table(title="Events of the device's rules; intervals: Wilson's 95 %")
    for heading in ("mismatch", "twin", "episodes", "true", "recall", "expected recall",
                    "precision", "Brier", "calibration error", "true above 0.9", "bad fits"):  # fmt: skip
        table.add_column(heading, justify="left" if heading in ("mismatch", "twin") else "right")
    curves: dict[str, list[Told]] = {}
    for number, mismatch in enumerate(MISMATCHES):
        mine = [result for result in results if result["mismatch"] == number]
        if not mine:
            continue
        episodes = sum(result["episodes"] for result in mine)
        for twin in mine[0]["bad_fits"]:
            records = [Told(**one) for result in mine for one in result["records"] if one["twin"] == twin]
            found = figures(records)
            table.add_row(
                mismatch.name, twin, str(episodes), str(found.true), str(found.recall),
                f"{found.expected_recall:.2f}", str(found.precision), f"{found.brier:.3f}",
                f"{found.calibration_error:.3f}", str(found.sure),
                str(sum(result["bad_fits"][twin] for result in mine)),
            )  # fmt: skip
            if number < 2:
                curves[f"{mismatch.name.split(':')[0]}, {twin}"] = records
    console.print(table)
    for name, records in curves.items():
        rules = Table(title=f"Events by rule, {name}")
        for heading in ("rule", "true", "expected", "found", "invented"):
            rules.add_column(heading, justify="left" if heading == "rule" else "right")
        for kind, (true, expected, found, invented) in by_rule(records).items():
            if true or found or invented:
                rules.add_row(kind, str(true), f"{expected:.1f}", str(found), str(invented))
        sensed = figures([one for one in records if one.kind not in UNSENSED])
        rules.caption = f"without {', '.join(UNSENSED)}: recall {sensed.recall}, precision {sensed.precision}"
        console.print(rules)
        choices = Table(title=f"Events that count, {name}")
        for heading in ("from a probability of", "recall", "precision"):
            choices.add_column(heading, justify="right")
        for least, parts in by_choice(records).items():
            choices.add_row(f"{least:g}", *map(str, parts))
        console.print(choices)
        rows = Table(title=f"Risk and coverage, {name}: events told unless their probability is in between")
        for heading in ("unknown between", "told", "wrong of these"):
            rows.add_column(heading, justify="right")
        for one in told_choices(records):
            wrong = "-" if one.risk is None else f"{one.risk:.1%}"
            rows.add_row(band_words(one), f"{one.coverage:.0%}", wrong)
        console.print(rows)
    if svg is not None:
        svg.write_text(reliability_svg(curves))


if __name__ == "__main__":
    main()
