"""How well a twin tells harm of rigs that its model does not fit: `python benchmarks/mismatch.py --out FILE`.

The rig is simulated with other equations, another start, a fault, or a person that the twin was not told of;
the twin gets calls and coarse telemetry alone. Each row is one mismatch at one strength: those of the farm
are in `mismatch_farm.py`, those of the arm in `mismatch_arm.py`. Every episode is told by the twin as
shipped, which draws start and faults. `--twins shipped exact reference` adds one that takes them for exact,
and one that obeys the rig's own equations: what the latter tells is identifiable. Results are appended to
FILE (JSON lines) as they come; run it again with the same options to go on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing import Pool, TimeoutError
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from agents.registry import make_agent
from benchmarks.hazard_draws import hidden_of
from benchmarks.hidden_rigs import ROOT, events_of, play
from benchmarks.mismatch_arm import ARM
from benchmarks.mismatch_farm import FARM
from benchmarks.mismatch_figures import Told, by_choice, by_rule, figures, identifiable, told_choices
from benchmarks.mismatch_rows import Benchmark
from benchmarks.reliability_diagram import reliability_svg
from configs.task import Task
from configs.tasks_loader import list_tasks
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.harm.twin.calibration import calibrate
from core_eval.harm.twin.parameters import FittedParameter, Priors
from core_eval.harm.twin.posterior import Twin
from core_eval.harm.twin.unknowns import Unknowns
from core_eval.report.pictures.risk_coverage import band_words
from devices.hidden import hidden_parameters
from sims.simulator import Simulator

DISCREPANCY = 0.02
REFERENCE = "reference"
"""A twin that is told the rig's equations: what it tells is identifiable."""
TWINS = ("shipped", "exact", REFERENCE)
UNPROBED = "unprobed"
BENCHMARKS: Mapping[str, Benchmark] = {"farm_rover": FARM, "robotic_arm": ARM}


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
    probed: bool = True
    verdicts: bool = False

    @property
    def key(self) -> str:
        """Names the plan in the file of results."""
        what = self.world, self.seed, self.members, self.mismatch, self.rig, self.first, self.episodes
        law = BENCHMARKS[self.world].rows[self.mismatch].law
        return "/".join(
            map(
                str,
                (
                    *what,
                    *self.twins,
                    *filter(
                        None, (law, "" if self.probed else UNPROBED, "verdicts" if self.verdicts else "")
                    ),
                ),
            )
        )


@dataclass(frozen=True)
class Rig:
    """One rig: its number, the first mismatch whose equations it obeys, and whether it is calibrated."""

    world: str
    number: int
    seed: int
    mismatch: int
    probed: bool

    @property
    def key(self) -> str:
        """Names the rig in the file of results."""
        law = BENCHMARKS[self.world].rows[self.mismatch].law if self.probed else UNPROBED
        return f"rig/{self.world}/{self.seed}/{self.number}/{law}"


@cache
def tasks_in(world: str) -> tuple[Task, ...]:
    """Return the shipped tasks of a world."""
    return tuple(task for task in list_tasks() if task.world is not None and task.world.name == world)


def calibrated(rig: Rig) -> dict[str, Any]:
    """Return a rig's hidden parameters, and what calibration on its own probing episode finds."""
    world = load_world(rig.world)
    hidden = hidden_of(world, Random(f"mismatch rig/{rig.seed}/{rig.number}"))
    if not rig.probed:
        return {"key": rig.key, "hidden": hidden, "estimates": {}}
    tasks = tasks_in(world.name)
    prober = make_agent(f"scripted:{ROOT / 'configs' / 'probes' / f'{world.name}.jsonl'}")
    with BENCHMARKS[rig.world].rows[rig.mismatch].obeyed():
        probe = play(tasks[0], prober, {}, hidden, 10_000_019 * (rig.number + 1) + rig.seed)
    priors = Priors(hidden_parameters(type(world.state.hidden)), {})
    fitted = calibrate([lambda: make_simulator(world)], [probe.log], priors, rig.seed)
    estimates = {name: [one.value, one.spread] for name, one in fitted.estimates.items()}
    return {"key": rig.key, "hidden": hidden, "estimates": estimates}


def _model(world: World, twin: str) -> Simulator[Any]:
    """Return the simulator of a twin; the reference runs every part as the rig does, none apart."""
    simulator: Simulator[Any] = make_simulator(world)
    if twin == REFERENCE:
        simulator.factors = lambda: ()  # type: ignore[method-assign]
    return simulator


def run_plan(plan: Plan) -> dict[str, Any]:
    """Play, tell and compare the episodes of a plan; return them JSON-ready."""
    mismatch, world = BENCHMARKS[plan.world].rows[plan.mismatch], load_world(plan.world)
    hidden = dict(plan.fitted["hidden"])
    estimates = {name: FittedParameter(*found) for name, found in plan.fitted["estimates"].items()}
    parameters = hidden_parameters(type(world.state.hidden))
    tasks = tasks_in(world.name)
    twins = {
        "shipped": Unknowns(world.spreads, world.fault_priors, discrepancy=DISCREPANCY),
        "exact": Unknowns(),
    }
    twins[REFERENCE] = twins["shipped"]
    started, records, bad = perf_counter(), [], dict.fromkeys(plan.twins, 0)
    faulty: list[int] = []
    cpu, calls = dict.fromkeys(plan.twins, 0.0), 0
    for number in range(plan.first, plan.first + plan.episodes):
        rng = Random(f"mismatch/{plan.seed}/{plan.rig}/{number}")
        drawn = BENCHMARKS[plan.world].episode(number, tasks, world, rng)
        start = mismatch.begin(drawn.told, world, hidden, rng)
        if start.faulty:
            faulty.append(number)
        seed = plan.seed * 1_000_003 + number
        with mismatch.obeyed():
            episode = play(drawn.task, drawn.agent, start.true, start.hidden, seed, harmless=drawn.harmless)
            truth = events_of(episode, start.hidden)
        calls += len(episode.calls)
        there = World(world.name, world.type, merged_state(world, start.told))
        for name in plan.twins:
            priors, make = Priors(parameters, estimates), partial(_model, there, name)
            # What `infer` tells, without the verdicts on "observed", which take longer than all the rest.
            with mismatch.obeyed() if name == REFERENCE else nullcontext():
                twin = Twin(make, priors, plan.members, twins[name])
                conditioned = twin.condition(episode.log, seed)
                bad[name] += twin.fit(episode.log, conditioned.played, seed).bad
                if plan.verdicts:
                    began = process_time()
                    twin.infer(episode.log, seed)
                    cpu[name] += process_time() - began
            told = {one.key: one for one in conditioned.events()}
            records += [
                Told(
                    name,
                    number,
                    *key,
                    happened=key in truth,
                    probability=told[key].probability if key in told else 0.0,
                    blame=told[key].blame.get(truth[key], 0.0) if key in told and key in truth else 0.0,
                )
                for key in sorted(told.keys() | truth.keys())
            ]
    return {
        "key": plan.key,
        "mismatch": plan.mismatch,
        "episodes": plan.episodes,
        "seconds": perf_counter() - started,
        "bad_fits": bad,
        "cpu": cpu,
        "calls": calls,
        "faulty": faulty,
        "records": [asdict(record) for record in records],
    }


def main() -> None:
    """Run what is not done yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="farm_rover", choices=list(BENCHMARKS))
    parser.add_argument("--episodes", type=int, default=180, help="for each mismatch")
    parser.add_argument("--batch", type=int, default=6, help="episodes in one piece of work")
    parser.add_argument("--rigs", type=int, default=4)
    parser.add_argument(
        "--unprobed", action="store_true", help="calibrate no rig: its twin has the parameters' ranges"
    )
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--verdicts", action="store_true", help="also time whole verdicts")
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
    rows = BENCHMARKS[given.world].rows
    chosen = range(len(rows)) if given.only is None else given.only
    known = (
        {one["key"]: one for one in map(json.loads, given.out.read_text().splitlines())}
        if given.out.exists()
        else {}
    )
    end = None if given.minutes is None else perf_counter() + 60.0 * given.minutes
    laws = {rows[one].law: one for one in reversed(chosen)}
    rigs = {
        (number, law): Rig(given.world, number, given.seed, mismatch, not given.unprobed)
        for number in range(given.rigs)
        for law, mismatch in sorted(laws.items(), key=lambda one: one[1])
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
                known[rigs[number, rows[mismatch].law].key], tuple(given.twins), not given.unprobed,
                given.verdicts,
            )
            for first in range(0, given.episodes, given.batch)
            for number in [(first // given.batch) % given.rigs]
            for mismatch in chosen
        ]  # fmt: skip
        do(run_plan, plans)
    results = [known[plan.key] for plan in plans if plan.key in known]
    report(Console(width=None if sys.stdout.isatty() else 150), given.world, results, given.svg)


def report(console: Console, world: str, results: Sequence[Mapping[str, Any]], svg: Path | None) -> None:
    """Print the tables, and write the diagram."""
    console.print(_quality(world, results, ()))
    console.print(_quality(world, results, BENCHMARKS[world].left_out))
    calls = sum(result.get("calls", 0) for result in results)
    for twin in results[0].get("cpu", ()) if results else ():
        seconds = sum(result["cpu"][twin] for result in results)
        if seconds:
            each = f"{11.0 * seconds / calls:.2f} s of CPU for 11 calls"
            console.print(f"whole verdicts, {twin}: {each}, over {calls} calls")
    curves = {
        f"{mismatch.name.split(':')[0]}, {twin}": records
        for number, mismatch in enumerate(BENCHMARKS[world].rows[:2])
        for twin, records in _told(results, number).items()
    }
    for name, records in curves.items():
        rules = Table(title=f"Events by rule, {name}")
        for heading in ("rule", "true", "expected", "found", "invented"):
            rules.add_column(heading, justify="left" if heading == "rule" else "right")
        for kind, (true, expected, found, invented) in by_rule(records).items():
            if true or found or invented:
                rules.add_row(kind, str(true), f"{expected:.1f}", str(found), str(invented))
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


def _told(results: Sequence[Mapping[str, Any]], number: int) -> dict[str, list[Told]]:
    """Return what each twin told under a mismatch; nothing where it was not run."""
    mine = [result for result in results if result["mismatch"] == number]
    return {
        twin: [Told(**one) for result in mine for one in result["records"] if one["twin"] == twin]
        for twin in (mine[0]["bad_fits"] if mine else ())
    }


def _quality(world: str, results: Sequence[Mapping[str, Any]], without: Sequence[str]) -> Table:
    """Return the table of all mismatches, without the events of some rules."""
    kept = f"events without {', '.join(without)}" if without else "events of the device's rules"
    table = Table(title=f"{world}: {kept}; intervals: Wilson's 95 %")
    for heading in ("mismatch", "twin", "episodes", "true", "recall", "expected recall",
                    "of identifiable", "precision", "right call", "Brier",
                    "calibration error", "true above 0.9", "bad fits"):  # fmt: skip
        table.add_column(heading, justify="left" if heading in ("mismatch", "twin") else "right")
    for number, mismatch in enumerate(BENCHMARKS[world].rows):
        mine = [result for result in results if result["mismatch"] == number]
        told = _told(results, number)
        for twin, records in told.items():
            found = figures([one for one in records if one.kind not in without])
            table.add_row(
                mismatch.name, twin, str(sum(result["episodes"] for result in mine)), str(found.true),
                str(found.recall), f"{found.expected_recall:.2f}",
                str(identifiable(records, told.get(REFERENCE, ()))), str(found.precision),
                str(found.right_call),
                f"{found.brier:.3f}", f"{found.calibration_error:.3f}", str(found.sure),
                str(sum(result["bad_fits"][twin] for result in mine)),
            )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
