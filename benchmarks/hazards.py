"""How much harm agents do among drawn hazards: `python benchmarks/hazards.py WORLD [--starts N] [--seed S]`.

It draws the starts of `run --suite hazards`, plays each with the agents in turn, and counts the episodes with
harm above its trifle, forecasts apart. The proof's run does none, so all of an agent's harm is charged. Of
each event it says whether the world's sensors see it. With `--rows FILE` an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agents.agent import Action, Agent, EpisodeContext, Observation, ToolCallAction
from agents.baselines.fixed_actions import FixedActions
from agents.registry import make_agent
from configs.suites import HAZARDS, read_suite, task_ref
from configs.worlds_loader import make_simulator
from core_eval.harm.assessment import assess
from core_eval.harm.report import ExecutedCall
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.wrong_runs import are_harmful, harm_done
from core_eval.statistics.intervals import wilson
from core_eval.text.streams import STREAMS, stream, world_stream
from devices.outcome import PROTECTIVE_STOP
from devices.tool import WAIT

WAITING = "waiting"
"""Waits for five minutes, and is done."""
AGENTS = ("oracle", "mute", WAITING, "random", "mutated:0.1", "mutated:0.3", "mutated:0.5")

Row = dict[str, Any]
"""Of a start: its task and seed, what the log keeps of its hazards, by agent the kinds of harm done (`harm`),
and each event's kind with whether sensors see it, or null where that cannot be told (`seen`)."""


class Recorded(Agent):
    """Another agent, with a record of its calls that the rig answered."""

    def __init__(self, agent: Agent, answered: Container[str]) -> None:
        """Take the agent, and the tools that no rig answers."""
        self.name, self._agent, self._answered = agent.name, agent, answered
        self.calls: list[ExecutedCall] = []

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        self._agent.start(context)

    def act(self, observation: Observation | None) -> Action:
        """Record the last call, and return the agent's next action."""
        if observation is not None and observation.call.name not in self._answered:
            call, outcome = observation.call, observation.outcome
            cut = outcome.code == PROTECTIVE_STOP
            self.calls.append(
                ExecutedCall(
                    len(self.calls),
                    call.name,
                    call.arguments,
                    outcome.status,
                    outcome.duration,
                    False,
                    partly=cut,
                )
            )
        return self._agent.act(observation)


def agent_of(name: str) -> Agent:
    """Return an agent by its name."""
    if name == WAITING:
        return FixedActions([ToolCallAction(WAIT.name, {"seconds": 300.0})])
    return make_agent(name)


def rows_of(world: str, ref: str, seeds: Sequence[int]) -> list[Row]:
    """Draw a task's starts with these seeds, and play each with every agent."""
    cell = Cell(task=ref, rig=f"sim:{world}", agent="oracle")
    varied = load_parts(RunConfig(cells=(cell,), hazards=True)).varied
    assert varied is not None
    varied.draw((cell, seed) for seed in seeds)
    rows = []
    for seed in seeds:
        start = varied.start(cell, seed)
        task = start.task
        assert task.world is not None and start.harmless is not None and start.hazards is not None
        simulator, begun = make_simulator(task.world), world_stream(STREAMS, seed, task.id)
        # Harm alone counts of these episodes.
        simulator.hurries = not simulator.answers_by_sensors
        harm, seen = {}, {}
        for name in AGENTS:
            own_seed = stream(STREAMS, seed, "agent", task.id, name)
            agent = Recorded(agent_of(name), task.conversation().taken)
            done = harm_done(agent, task, simulator, start.harmless, begun, own_seed)
            harm[name] = sorted({event.kind for event in done})
            if done:
                judged = assess(partial(make_simulator, task.world), task.init, begun, agent.calls, None)
                seen[name] = [[one.kind, one.observed] for one in judged.events]
        rows.append({"task": task.id, "seed": seed, **start.hazards, "harm": harm, "seen": seen})
    return rows


def share(count: int, of: int) -> str:
    """Return a share with its 95 % interval."""
    low, high = wilson(count / of, of, 0.95)
    return f"{count / of:.1%} ({count}) | {low:.1%} to {high:.1%}"


def tables(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield f"{len(rows)} starts of {len({row['task'] for row in rows})} tasks"
    yield "\n| agent | episodes with harm | interval | kinds of harm |\n|---|--:|--:|---|"
    for name in AGENTS:
        kinds = Counter(kind for row in rows for kind in row["harm"][name])
        words = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        yield f"| `{name}` | {share(sum(bool(row['harm'][name]) for row in rows), len(rows))} | {words} |"
    seen = [tuple(one) for row in rows for events in row["seen"].values() for one in events]
    yield "\n| events | all | seen | not seen | cannot be told |\n|---|--:|--:|--:|--:|"
    for kind in [*sorted({kind for kind, _ in seen}), "all"]:
        own = [observed for one, observed in seen if kind in (one, "all")]
        counts = [len(own), *(sum(observed is value for observed in own) for value in (True, False, None))]
        yield f"| {kind} | {' | '.join(map(str, counts))} |"
    drawn = sum(row["again"] + 1 for row in rows)
    enough = sum(are_harmful(row["wrong"]) for row in rows)
    yield f"\nstates drawn {drawn}; starts in which wrong runs do harm often enough {enough} of {len(rows)}"
    yield f"proofs {dict(Counter(row['proof'] for row in rows))}"
    hazards = Counter(name for row in rows for name in row["drawn"])
    yield f"hazards {dict(hazards.most_common())}"
    for key in ("told", "gone"):
        reads = Counter(tool for row in rows for tool in {one[0] for one in row[key]})
        some = sum(bool(row[key]) for row in rows)
        yield f"{key} by a read in {some} starts: {dict(reads.most_common())}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world")
    parser.add_argument("--starts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1001, help="the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--rows", type=Path, help="keep the rows in this file")
    options = parser.parse_args()
    tasks = [t for t in read_suite(HAZARDS).tasks if t.world is not None and t.world.name == options.world]
    kept = options.rows.read_text().splitlines() if options.rows and options.rows.exists() else []
    rows: list[Row] = [json.loads(line) for line in kept]
    known = {(row["task"], row["seed"]) for row in rows}
    # Seed by seed, so that an interrupted run has all tasks.
    planned = [
        (task, options.seed + k // len(tasks))
        for k in range(options.starts)
        for task in [tasks[k % len(tasks)]]
    ]
    left = [(options.world, task_ref(task), [seed]) for task, seed in planned if (task.id, seed) not in known]
    with ProcessPoolExecutor(options.jobs) as pool:
        for new in chain.from_iterable(pool.map(rows_of, *zip(*left, strict=True)) if left else ()):
            rows.append(new)
            if options.rows:
                with options.rows.open("a") as file:
                    file.write(json.dumps(new) + "\n")
    print("\n".join(tables(rows)))


if __name__ == "__main__":
    main()
