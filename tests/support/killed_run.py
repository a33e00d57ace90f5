"""A run that is killed in the middle of its third episode: `python killed_run.py LOG.db`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from core_eval.log import EpisodeRow, RunLog, StepRow
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

RANDOM = RunConfig(
    cells=(Cell(task="water_one_plant", rig="sim:farm_rover", agent="random"),), episodes=4, seed=10
)


class Kill:
    """Kills this process at the second step of the third episode."""

    started = 0

    def __call__(self, event: object) -> None:
        if isinstance(event, EpisodeRow) and event.status == "running" and event.simulated is None:
            self.started += 1
        elif isinstance(event, StepRow) and self.started == 3 and event.k == 1:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with RunLog(Path(sys.argv[1])) as run_log:
        Run(RANDOM, load_parts(RANDOM), run_log, Kill()).start()
