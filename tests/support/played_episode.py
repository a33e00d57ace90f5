"""Episodes of the rover that a scripted player plays, and what they leave in a log."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.agent import (
    Action,
    Agent,
    EpisodeContext,
    Observation,
    StopAction,
    ToolCallAction,
)
from configs.rigs_loader import load_rig
from configs.tasks_loader import load_task
from core_eval.log import EpisodeRow, LogReader, RunLog, StepRow, ignore
from core_eval.rig.opening import open_rig
from core_eval.rig.session import RigSession
from core_eval.rig.signals import StopSignals
from core_eval.run.episode import Episode
from core_eval.run.episode_start import Assignment

TASK = load_task("water_one_plant")
UNLOCK = ToolCallAction("unlock_safety_mode", {})
MOVE = ToolCallAction("move_to", {"x": 3.5, "y": 12.5})
WATER = ToolCallAction("water_plant", {"plant_id": "plant_B", "liters": 4.5})
LOCK = ToolCallAction("lock_safety_mode", {})
GOLDEN = (UNLOCK, MOVE, WATER, LOCK)


@dataclass
class Player(Agent):
    """Plays a list of actions; an exception in it is raised."""

    actions: Sequence[Action | Exception]
    name: str = "player"
    scaffold: str = "none"
    seen: list[Observation | None] = field(default_factory=list)

    def start(self, context: EpisodeContext) -> None:
        self.left = list(self.actions)

    def act(self, observation: Observation | None) -> Action:
        self.seen.append(observation)
        action = self.left.pop(0) if self.left else StopAction("done")
        if isinstance(action, Exception):
            raise action
        return action

    def close(self) -> None:
        return


@contextmanager
def rig(url: str = "sim:farm_rover") -> Iterator[RigSession]:
    with open_rig(load_rig(url)) as session:
        yield session


def play(
    tmp_path: Path,
    session: RigSession,
    *actions: Action | Exception,
    guard: str | None = None,
    init: Mapping[str, Any] | None = None,
    player: Player | None = None,
) -> tuple[EpisodeRow, list[StepRow]]:
    task = TASK if init is None else load_task("water_one_plant", init=init)
    path = tmp_path / "log.db"
    with RunLog(path) as log, StopSignals() as signals:
        run_id = log.begin_run({}, {}, {})
        assignment = Assignment(run_id, 0, 5, task, "player", {"beta": 0.5}, guard, init is not None)
        try:
            Episode(assignment, session, player or Player(actions), signals, ignore).run(log)
        finally:
            with LogReader(path) as reader:
                episode = reader.episodes()[-1]
                steps = reader.steps(episode.id)
    return episode, steps
