"""How well the twin sees harm that it is not told of: `python benchmarks/unobserved.py [--world WORLD]`.

Rigs are simulators whose hidden parameters are drawn at random, and which never tell the scorer: the twin
gets calls and coarse telemetry alone. Each rig is calibrated on probing episodes of its own, which are not
evaluated. Then its episodes (oracle, mutated and random agents in equal parts, over all tasks that ship) are
told by a twin that knows the ranges only and by the calibrated one, and both are held against the truth.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing import Pool, TimeoutError
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.console import Console

from agents.agent import Agent, EpisodeContext, Limits, Observation, StopAction, ToolCallAction
from agents.catalog import make_agent
from benchmarks.reliability import Record, reliability_svg, report
from configs.tasks_loader import Task, list_tasks
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.harm import ExecutedCall, assess
from core_eval.harm.twin.calibration import calibrate
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.parameters import Beliefs, Estimate
from core_eval.harm.twin.telling import Twin, TwinTelling
from core_eval.path import Call, OnlineScorer
from devices.hidden import HiddenParameter, hidden_parameters
from devices.sensors import Sample
from devices.tool import ArgumentsError

AGENTS = ("oracle", "mutated", "random")
ROOT = Path(__file__).resolve().parents[1]
SPREADS = 2.0
"""Errors are undecidable where the truth itself turns within so many calibrated spreads of a parameter."""


@dataclass(frozen=True)
class Plan:
    """One rig and its part of the episodes."""

    world: str
    rig: int
    first: int
    episodes: int
    seed: int
    members: int
    probes: int
    nominal: bool


@dataclass(frozen=True)
class Logged:
    """An episode as the log holds it, and what its truth can be computed from."""

    task: Task
    calls: tuple[ExecutedCall, ...]
    log: LoggedEpisode
    init: dict[str, Any]
    seed: int


def drawn(parameters: Sequence[HiddenParameter], rng: np.random.Generator) -> dict[str, float]:
    """One rig's hidden parameters, uniformly on each one's scale."""
    values = {}
    for parameter in parameters:
        share = float(rng.random())
        if parameter.scale == "log":
            values[parameter.name] = parameter.low * (parameter.high / parameter.low) ** share
        else:
            values[parameter.name] = parameter.low + share * (parameter.high - parameter.low)
    return values


def play(task: Task, agent: Agent, hidden: dict[str, float], seed: int, *, probing: bool = False) -> Logged:
    """One episode on a rig: the harness's loop, without its log file."""
    assert task.world is not None
    init = {**({} if probing else task.init), "hidden": hidden}
    rig = make_simulator(task.world)
    samples: list[Sample] = []
    rig.subscribe(samples.append)
    answer = rig.init(init, seed)
    assert answer.status == "ok", answer.message
    limits = Limits(**{k: v for k, v in task.limits.model_dump().items() if v is not None})
    agent.start(EpisodeContext(task.prompt, task.device.tools, seed, task.automaton, limits))
    scorer = OnlineScorer(task.automaton)
    calls: list[ExecutedCall] = []
    results: list[Any] = []
    seen: Observation | None = None
    while True:
        action = agent.act(seen)
        if isinstance(action, StopAction):
            break
        assert isinstance(action, ToolCallAction)
        try:
            task.device.validate(action.name, action.arguments)
        except ArgumentsError:
            seen = None
            scorer.step(Call(action.name, action.arguments, "invalid"))
            continue
        outcome = rig.execute(action.name, action.arguments, Event())
        verdict = scorer.step(Call(action.name, action.arguments, outcome.status))  # type: ignore[arg-type]
        calls.append(
            ExecutedCall(
                len(calls),
                action.name,
                action.arguments,
                outcome.status,
                outcome.duration,
                verdict.kind == "harmful",
            )
        )
        results.append(outcome.value)
        seen = Observation(action, outcome)
    return Logged(task, tuple(calls), LoggedEpisode.following(calls, samples, results), init, seed)


def truth_of(episode: Logged, hidden: dict[str, float]) -> dict[tuple[str, str, int], bool]:
    """The true events, each with whether the telemetry gives it away; of pieces, whether any is."""
    world = episode.task.world
    assert world is not None
    found = assess(
        lambda: make_simulator(world), {**episode.init, "hidden": hidden}, episode.seed, episode.calls, None
    )
    events: dict[tuple[str, str, int], bool] = {}
    for verdict in found.verdicts:
        key = verdict.event.kind, verdict.event.entity, verdict.event.call
        events[key] = events.get(key, False) or verdict.observed
    return events


def compared(
    telling: TwinTelling, truth: dict[tuple[str, str, int], bool], calibrated: bool, episode: int
) -> list[Record]:
    """A record for each event that is true, or told, or both."""
    told = {(event.kind, event.entity, event.call): event for event in telling.events}
    records = []
    for key in sorted(told.keys() | truth.keys()):
        event = told.get(key)
        records.append(
            Record(
                episode,
                calibrated,
                *key,
                happened=key in truth,
                probability=0.0 if event is None else event.probability,
                observed=truth.get(key),
                observed_probability=None if event is None else event.observed_probability,
            )
        )
    return records


def turns(
    episode: Logged,
    key: tuple[str, str, int],
    hidden: dict[str, float],
    estimates: dict[str, Estimate],
    beliefs: Beliefs,
) -> bool:
    """Whether the truth about an event turns within what calibration leaves open of a parameter."""
    happened = key in truth_of(episode, hidden)
    for belief in beliefs.each:
        name = belief.parameter.name
        estimate = estimates.get(name)
        for side in (-SPREADS, SPREADS):
            if estimate is not None:
                value = max(0.0, hidden[name] + side * estimate.spread)
            else:
                value = belief.value(side)
            if (key in truth_of(episode, {**hidden, name: value})) != happened:
                return True
    return False


def one_rig(plan: Plan) -> dict[str, Any]:
    """Draw a rig, calibrate its twin, tell its episodes; JSON-ready."""
    started = perf_counter()
    world = load_world(plan.world)
    parameters = hidden_parameters(type(world.state.hidden))
    hidden = drawn(parameters, np.random.default_rng((plan.seed, plan.rig)))
    beliefs = Beliefs(parameters, {})
    tasks = [task for task in list_tasks() if task.world is not None and task.world.name == world.name]
    prober = make_agent(f"scripted:{ROOT / 'configs' / 'probes' / f'{world.name}.jsonl'}")
    probes = [
        play(tasks[0], prober, hidden, 10_000_019 * (plan.rig + 1) + number, probing=True)
        for number in range(plan.probes)
    ]
    fitted = calibrate(
        [lambda: make_simulator(world)] * len(probes), [probe.log for probe in probes], beliefs, plan.seed
    )
    calibration_s = perf_counter() - started
    records: list[Record] = []
    errors = undecidable = told_s = 0.0
    for number in range(plan.first, plan.first + plan.episodes):
        seed = plan.seed * 1_000_003 + number
        task = tasks[number // len(AGENTS) % len(tasks)]
        episode = play(task, make_agent(AGENTS[number % len(AGENTS)]), hidden, seed)
        truth = truth_of(episode, hidden)
        assert task.world is not None
        believed = World(task.world.name, task.world.device, merged_state(task.world, task.init))
        for calibrated in (False, True) if plan.nominal else (True,):
            estimates = fitted.estimates if calibrated else {}
            begun = perf_counter()
            twin = Twin(lambda: make_simulator(believed), Beliefs(parameters, estimates), plan.members)  # noqa: B023
            telling = twin.tell(episode.log, seed)
            told_s += perf_counter() - begun
            new = compared(telling, truth, calibrated, number)
            records += new
            for record in new if calibrated else ():
                if record.wrong:
                    errors += 1
                    undecidable += turns(episode, record.key, hidden, fitted.estimates, beliefs)
    return {
        "rig": plan.rig,
        "hidden": hidden,
        "fitted": [asdict(one) for one in fitted.parameters],
        "calibration_runs": fitted.runs,
        "calibration_s": calibration_s,
        "told_s": told_s,
        "episodes": plan.episodes,
        "errors": errors,
        "undecidable": undecidable,
        "records": [asdict(record) for record in records],
    }


def main() -> None:
    """Run it, print the tables, and write JSON and a picture where asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="farm_rover", choices=["farm_rover", "robotic_arm"])
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--rigs", type=int, default=40)
    parser.add_argument("--probes", type=int, default=1, help="probing episodes for calibration, each rig")
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="report on the rigs that are done after so long")
    parser.add_argument("--calibrated-only", action="store_true", help="leave the uncalibrated twin out")
    parser.add_argument("--json", type=Path, help="write rigs and records to this file")
    parser.add_argument("--svg", type=Path, help="write the reliability diagram to this file")
    given = parser.parse_args()
    rigs = min(given.rigs, given.episodes)
    bounds = np.linspace(0, given.episodes, rigs + 1).astype(int)
    plans = [
        Plan(
            given.world, rig, int(bounds[rig]), int(bounds[rig + 1] - bounds[rig]), given.seed, given.members,
            given.probes, not given.calibrated_only,
        )
        for rig in range(rigs)
    ]  # fmt: skip
    started = perf_counter()
    results = []
    failed: list[str] = []
    limit = None if given.minutes is None else given.minutes * 60.0
    pool = Pool(given.processes)
    try:
        told = pool.imap_unordered(one_rig, plans)
        for _ in plans:
            left = None if limit is None else max(0.0, limit - (perf_counter() - started))
            try:
                results.append(told.next(left))
            except ArithmeticError as error:
                failed.append(f"{type(error).__name__}: {error}")
                continue
            seconds = perf_counter() - started
            print(f"rig {results[-1]['rig']}: {len(results)}/{rigs} done, {seconds:.0f} s", file=sys.stderr)
    except TimeoutError:
        print(f"{given.minutes:g} minutes are over with {len(results)} rigs done", file=sys.stderr)
    finally:
        pool.terminate()
    for error in failed:
        print(f"a rig failed and is left out of the figures: {error}", file=sys.stderr)
    if not results:
        sys.exit("no rig was done in that time")
    rigs, told_episodes = len(results), sum(result["episodes"] for result in results)
    results.sort(key=lambda result: result["rig"])
    records = [Record(**record) for result in results for record in result["records"]]
    summary = {
        "world": given.world,
        "episodes": told_episodes,
        "rigs": rigs,
        "members": given.members,
        "seed": given.seed,
        "wall_s": perf_counter() - started,
        "calibration_s_per_rig": sum(r["calibration_s"] for r in results) / rigs,
        "telling_s_per_episode": sum(r["told_s"] for r in results) / told_episodes,
        "errors": sum(r["errors"] for r in results),
        "undecidable": sum(r["undecidable"] for r in results),
    }
    if given.json is not None:
        given.json.write_text(json.dumps({"summary": summary, "rigs": results}))
    report(Console(width=None if sys.stdout.isatty() else 150), summary, results, records)
    if given.svg is not None:
        given.svg.write_text(reliability_svg(records))


if __name__ == "__main__":
    main()
