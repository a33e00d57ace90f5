"""Whether the same model takes the same path in two places: in this process, behind a server, elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from configs.exam import load_exam
from core_eval.log import EpisodeRow, LogReader, RunLog, StepRow
from core_eval.run.config import Cell, Place, RunConfig
from core_eval.run.plan import Run

GREEDY = {"temperature": 0.0}


@dataclass(frozen=True)
class Agreement:
    """How two agents went on one task, greedily.

    Attributes:
        task: its id.
        steps: of the first agent.
        differs_at: the first step at which they differ; None where they took the same path.
        what: what each did there, in words.
        prompt_tokens: of the first prompt, as each counts them; 0: it does not count.
    """

    task: str
    steps: int
    differs_at: int | None
    what: tuple[str, str]
    prompt_tokens: tuple[int, int]

    @property
    def agrees(self) -> bool:
        """Whether they took the same path, and counted the same first prompt where both count."""
        one, other = self.prompt_tokens
        return self.differs_at is None and (one == other or not one or not other)


def agreement(one: str, other: str, places: Sequence[Place]) -> list[Agreement]:
    """Run both on simulated tasks, under the exam `model` and greedily, and compare their paths.

    Raises:
        AgentSpecError, BackendError: one of them cannot be run.
        RigError: a simulator failed.
    """
    exam = load_exam("model").varied(GREEDY)
    # Both are called by their files or models, which may be alike.
    specs = [exam.spec(one), exam.spec(other)]
    cells = tuple(Cell(task=task, rig=rig, agent=spec) for task, rig in places for spec in specs)
    config = RunConfig(cells=cells, keep_going=False)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agreement.db"
        with RunLog(path) as log:
            Run.of(config, log).start()
        with LogReader(path) as reader:
            # By the cell's number, as both agents may have one name.
            rows = {row.number: row for row in reader.episodes()}
            pairs = [(rows[at], rows[at + 1]) for at in range(0, len(cells), len(specs))]
            return [_compared(reader, *pair) for pair in pairs]


def _compared(reader: LogReader, one: EpisodeRow, other: EpisodeRow) -> Agreement:
    mine, its = reader.steps(one.id), reader.steps(other.id)
    ends = (_ended(one), _ended(other))
    tokens = (_first_prompt(reader, one), _first_prompt(reader, other))
    for k in range(max(len(mine), len(its)) + 1):
        did = (_did(mine, k, ends[0]), _did(its, k, ends[1]))
        if did[0] != did[1]:
            return Agreement(one.task, len(mine), k, did, tokens)
    return Agreement(one.task, len(mine), None, ("", ""), tokens)


def _did(steps: Sequence[StepRow], k: int, end: str) -> str:
    if k > len(steps):
        return ""
    if k == len(steps):
        return end
    step = steps[k]
    given: dict[str, Any] = dict(step.arguments or {})
    return f"{step.tool or 'no call'} {given}" if step.tool else "an answer that is no call"


def _ended(row: EpisodeRow) -> str:
    return f"ended: {row.stop_reason or row.status}"


def _first_prompt(reader: LogReader, row: EpisodeRow) -> int:
    turn = reader.turns(row.id).get(0)
    return 0 if turn is None else (turn.input_tokens or 0) + (turn.cached_tokens or 0)
