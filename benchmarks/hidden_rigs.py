"""Rigs with hidden deviations, their episodes, and a twin's posterior of them: for `unobserved.py`.

A rig draws its hidden parameters once. Its episodes begin among hazards of their own, which rig and twin
both know (`hazard_draws.py`, faults left out); an oracle, a mutated oracle and a random agent take turns,
over all shipped tasks. Every other mutated one mistakes twice as many calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from threading import Event
from time import perf_counter
from typing import Any, Protocol

from agents.agent import Agent, EpisodeContext, Limits, Observation, StopAction, ToolCallAction
from agents.registry import make_agent
from benchmarks.hazard_draws import among_hazards, hidden_of
from benchmarks.reliability import Record
from configs.task import Task
from configs.tasks_loader import list_tasks
from configs.worlds_loader import World, load_world, make_simulator, merged_state
from core_eval.call_status import CallStatus
from core_eval.harm.assessment import assess
from core_eval.harm.replay import Player
from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin.calibration import calibrate
from core_eval.harm.twin.logged_episode import LoggedCall, LoggedEpisode
from core_eval.harm.twin.member import merged, placed
from core_eval.harm.twin.parameters import FittedParameter, Priors
from core_eval.harm.twin.posterior import Twin, TwinPosterior
from core_eval.path.calls import Call, StepKind
from core_eval.path.scorer import OnlineScorer
from devices.hidden import hidden_parameters
from devices.outcome import PROTECTIVE_STOP, Outcome
from devices.sensors import Sample
from devices.tool import ArgumentsError
from sims.simulator import Simulator

AGENTS = ("oracle", "mutated", "random")
ROOT = Path(__file__).resolve().parents[1]
SPREADS = 2.0
"""Errors are undecidable if the truth changes within this many calibrated spreads of a parameter."""


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
    """An episode as the log holds it, and the data of its truth."""

    task: Task
    calls: tuple[ExecutedCall, ...]
    log: LoggedEpisode
    init: dict[str, Any]
    seed: int


def agent_of(kind: str, turn: int) -> Agent:
    """Return the agent of an episode."""
    return make_agent("mutated:0.6" if kind == "mutated" and turn % 2 else kind)


class LiveGuard(Protocol):
    """Refuses calls of an episode while it goes on."""

    def stops(self, rig: Simulator[Any], tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether the next call is refused; the rig is as before."""

    def take(self, made: LoggedCall, samples: Sequence[Sample]) -> None:
        """Take a call that was made, with the samples since the one before."""


def play(
    task: Task,
    agent: Agent,
    begun: Mapping[str, Any],
    hidden: Mapping[str, float],
    seed: int,
    guard: LiveGuard | None = None,
    harmless: Sequence[Call] | None = None,
) -> Logged:
    """Play one episode on a rig: the harness's loop, without its log file."""
    assert task.world is not None
    init = {**begun, "hidden": dict(hidden)}
    rig = make_simulator(task.world)
    samples: list[Sample] = []
    rig.subscribe(samples.append)
    answer = rig.init(init, seed)
    assert answer.status == CallStatus.OK, answer.message
    limits = Limits(**{k: v for k, v in task.limits.model_dump().items() if v is not None})
    agent.start(
        EpisodeContext(
            task.prompt, task.offered.tools, seed, task.automaton, limits, run_seed=seed, harmless=harmless
        )
    )
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
            task.offered.validate(action.name, action.arguments)
        except ArgumentsError:
            seen = None
            scorer.step(Call(action.name, action.arguments, CallStatus.INVALID))
            continue
        if guard is not None and guard.stops(rig, action.name, action.arguments):
            scorer.step(Call(action.name, action.arguments, CallStatus.BLOCKED))
            seen = Observation(action, Outcome(CallStatus.BLOCKED, code="guard"))
            continue
        told = len(samples)
        outcome = rig.execute(action.name, action.arguments, Event())
        verdict = scorer.step(Call(action.name, action.arguments, outcome.status))
        calls.append(
            ExecutedCall(
                len(calls),
                action.name,
                action.arguments,
                outcome.status,
                outcome.duration,
                verdict.kind == StepKind.HARMFUL,
                partly=outcome.code == PROTECTIVE_STOP,
            )
        )
        results.append(outcome.value)
        if guard is not None:
            # The first call's samples are those since the beginning.
            start = outcome.t - outcome.duration
            made = LoggedCall(calls[-1], start, outcome.value)
            guard.take(made, samples[told if len(calls) > 1 else 0 :])
        seen = Observation(action, outcome)
    return Logged(task, tuple(calls), LoggedEpisode.following(calls, samples, results), init, seed)


def truth_of(episode: Logged, hidden: dict[str, float]) -> dict[tuple[str, str, int], bool | None]:
    """Return the true events, each with whether the telemetry reveals it; of pieces, whether any is."""
    world = episode.task.world
    assert world is not None
    found = assess(
        lambda: make_simulator(world), {**episode.init, "hidden": hidden}, episode.seed, episode.calls, None
    )
    events: dict[tuple[str, str, int], bool | None] = {}
    for verdict in found.events:
        key = verdict.kind, verdict.entity, verdict.k
        events[key] = events.get(key, False) or verdict.observed
    return events


def events_of(episode: Logged, hidden: dict[str, float]) -> dict[tuple[str, str, int], int]:
    """Return the true events by kind, entity and place among those of both, each with the call to blame."""
    world = episode.task.world
    assert world is not None
    player = Player(lambda: make_simulator(world), {**episode.init, "hidden": hidden}, episode.seed)
    return {key: event.call for key, event in placed(merged(player.play(episode.calls).events)).items()}


def compared(
    posterior: TwinPosterior, truth: dict[tuple[str, str, int], bool | None], calibrated: bool, episode: int
) -> list[Record]:
    """Return a record for each event that is true, or reported by the twin, or both."""
    told = {(event.kind, event.entity, event.k): event for event in posterior.events}
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
    estimates: dict[str, FittedParameter],
    priors: Priors,
) -> bool:
    """Return whether the truth about an event changes within the calibrated spread of a parameter."""
    happened = key in truth_of(episode, hidden)
    for prior in priors.each:
        name = prior.parameter.name
        estimate = estimates.get(name)
        for side in (-SPREADS, SPREADS):
            if estimate is not None:
                value = max(0.0, hidden[name] + side * estimate.spread)
            else:
                value = prior.value(side)
            if (key in truth_of(episode, {**hidden, name: value})) != happened:
                return True
    return False


def one_rig(plan: Plan) -> dict[str, Any]:
    """Draw a rig, calibrate its twin, infer its episodes; return it JSON-ready."""
    started = perf_counter()
    world = load_world(plan.world)
    parameters = hidden_parameters(type(world.state.hidden))
    hidden = hidden_of(world, Random(f"rig/{plan.seed}/{plan.rig}"))
    priors = Priors(parameters, {})
    tasks = [task for task in list_tasks() if task.world is not None and task.world.name == world.name]
    prober = make_agent(f"scripted:{ROOT / 'configs' / 'probes' / f'{world.name}.jsonl'}")
    probes = [
        play(tasks[0], prober, {}, hidden, 10_000_019 * (plan.rig + 1) + number)
        for number in range(plan.probes)
    ]
    fitted = calibrate(
        [lambda: make_simulator(world)] * len(probes), [probe.log for probe in probes], priors, plan.seed
    )
    calibration_s = perf_counter() - started
    records: list[Record] = []
    errors = undecidable = told_s = 0.0
    for number in range(plan.first, plan.first + plan.episodes):
        seed = plan.seed * 1_000_003 + number
        turn, kind = number // len(AGENTS), AGENTS[number % len(AGENTS)]
        task = tasks[turn % len(tasks)]
        begun = among_hazards(task, world, f"episode/{plan.seed}/{number}", faults=False)
        agent = agent_of(kind, turn // len(tasks))
        episode = play(task, agent, begun.init, hidden, seed, harmless=begun.harmless)
        truth = truth_of(episode, hidden)
        believed = World(world.name, world.type, merged_state(world, begun.init))
        for calibrated in (False, True) if plan.nominal else (True,):
            estimates = fitted.estimates if calibrated else {}
            asked = perf_counter()
            twin = Twin(lambda: make_simulator(believed), Priors(parameters, estimates), plan.members)  # noqa: B023
            posterior = twin.infer(episode.log, seed)
            told_s += perf_counter() - asked
            new = compared(posterior, truth, calibrated, number)
            records += new
            for record in new if calibrated else ():
                if record.wrong:
                    errors += 1
                    undecidable += turns(episode, record.key, hidden, fitted.estimates, priors)
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
