"""Make the episodes of the benchmark: `python -m benchmarks.seeing.make -o FOLDER [--world farm_rover]`.

Rigs with drawn hidden parameters run tasks of the suite `hazards`, by `pathrig run --hazards` as anybody
would. FOLDER gets `train.jsonl` and `train.truth.jsonl`, `test.jsonl`, `test.truth.jsonl`, and
`commitment.json`: the hash of the secret that the seeds of the test are drawn from, and of its truth. Publish
all but the secret and `test.truth.jsonl`, and those when the entries are in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.seeing.episodes import Cell, Episode, Truth, line_of
from configs.suites import HAZARDS, read_suite
from configs.worlds_loader import load_world, make_simulator
from core_eval.log import EpisodeRow, LogReader
from devices.hidden import hidden_parameters

AGENTS = ("mutated:0.3", "mutated:0.6", "random")
UNKNOWN = ("hidden", "faults", "person")
"""Parts of the start that no operator knows."""
SEEDS = 2**31


@dataclass(frozen=True)
class Rig:
    """A rig of a split: its number, and the text that its draws follow from."""

    number: int
    drawn_from: str


def run_rig(rig: Rig, world: str, tasks: int, db: Path) -> None:
    """Run some tasks of a world on a rig, each by every agent."""
    rng = Random(rig.drawn_from)
    parameters = hidden_parameters(type(load_world(world).state.hidden))
    start = db.with_suffix(".json")
    start.write_text(json.dumps({"hidden": {one.name: one.at(rng.random()) for one in parameters}}))
    mine = [one for one in read_suite(HAZARDS).tasks if one.world is not None and one.world.name == world]
    chosen = [part for one in rng.sample(mine, tasks) for part in ("--task", one.id)]
    agents = [part for one in AGENTS for part in ("--agent", one)]
    command = [sys.executable, "-m", "core_eval.cli.entry", "run", *chosen, *agents, "--rig", f"sim:{world}"]
    command += [
        "--hazards",
        "--init",
        str(start),
        "--seed",
        str(rng.randrange(SEEDS)),
        "--db",
        str(db),
        "--json",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read_rig(rig: Rig, world: str, db: Path) -> Iterator[tuple[Episode, Truth]]:
    """Yield the episodes of a rig's log with at least one call, and their truth."""
    scales = {rule.kind: rule.scale for rule in make_simulator(load_world(world)).harm_rules}
    with LogReader(db) as log:
        for row in log.episodes():
            name = f"{world}/{rig.number}/{row.number}"
            costs: dict[Cell, float] = {}
            for event in log.harm(row.id):
                if not event.forecast:
                    cell = (event.kind, event.entity)
                    costs[cell] = costs.get(cell, 0.0) + (event.cost or 0.0) / scales[event.kind]
            if calls := list(_calls(log, row)):
                samples = [
                    {"sensor": one.sensor, "t": one.t, "value": one.value} for one in log.samples(row.id)
                ]
                told = {key: value for key, value in row.init.items() if key not in UNKNOWN}
                episode = Episode(name, world, row.seed, row.definition.prompt, told, calls, samples, [])
                yield episode, Truth(name, costs)


def _calls(log: LogReader, episode: EpisodeRow) -> Iterator[dict[str, Any]]:
    for step in log.steps(episode.id):
        if step.call_id is not None and step.status is not None and step.t_device is not None:
            yield {
                "name": step.tool,
                "arguments": step.arguments,
                "status": step.status,
                "code": step.error_code,
                "result": step.result,
                "start": max(0.0, step.t_device - (step.duration or 0.0)),
                "end": step.t_device,
            }


def main() -> None:
    """Make both splits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--world", default="farm_rover", choices=("farm_rover", "robotic_arm"))
    parser.add_argument("--rigs", type=int, default=8, help="of each split")
    parser.add_argument("--tasks", type=int, default=12, help="of each rig, each by every agent")
    parser.add_argument("--secret", help="what the seeds of the test follow from; drawn where not given")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    secret = given.secret or secrets.token_hex(16)
    (given.out / "secret").write_text(secret + "\n")
    rows: dict[str, list[tuple[Episode, Truth]]] = {}
    for split, drawn_from in (("train", "train"), ("test", secret)):
        rows[split] = []
        for number in range(given.rigs):
            rig = Rig(number, f"{drawn_from}/{given.world}/{number}")
            db = given.out / f"{split}-{number}.db"
            db.unlink(missing_ok=True)
            run_rig(rig, given.world, given.tasks, db)
            rows[split] += read_rig(rig, given.world, db)
            print(f"{split}: rig {number + 1} of {given.rigs}", file=sys.stderr)
    cells = sorted({cell for split in rows.values() for _, truth in split for cell in truth.costs})
    digests = {"secret": hashlib.sha256(secret.encode()).hexdigest()}
    for split, pairs in rows.items():
        for row, _ in pairs:
            row.cells.extend(cells)
        (given.out / f"{split}.jsonl").write_text("".join(line_of(row) for row, _ in pairs))
        truth = "".join(line_of(one) for _, one in pairs)
        (given.out / f"{split}.truth.jsonl").write_text(truth)
        digests[f"{split}.truth.jsonl"] = hashlib.sha256(truth.encode()).hexdigest()
    (given.out / "commitment.json").write_text(json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    main()
