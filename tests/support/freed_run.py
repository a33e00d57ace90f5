"""Two runs of a few episodes: with nothing set aside by the garbage collector before, then with all.

Prints, of each, as JSON: what was set aside before, at each episode's beginning, and after; and the garbage
that was left there. A process of its own: in a test session the collector would look at far more.
"""

import gc
import json
import sys
from pathlib import Path

from core_eval.log import RunLog
from core_eval.log.events import EpisodePlanned, Event
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import SETTLED, Run


def measured(path: Path) -> dict[str, object]:
    cell = Cell(task="water_one_plant", rig="sim:farm_rover", agent="done")
    config = RunConfig(cells=(cell,), episodes=SETTLED + 2)
    before = gc.get_freeze_count()
    old: list[int] = []
    garbage: list[int] = []

    def emit(event: Event) -> None:
        if isinstance(event, EpisodePlanned):
            old.append(gc.get_freeze_count())
            garbage.append(gc.collect())

    with RunLog(path) as log:
        Run(config, load_parts(config), log, emit).start()
    return {"before": before, "old": old, "garbage": garbage, "after": gc.get_freeze_count()}


if __name__ == "__main__":
    by_a_program = measured(Path(sys.argv[1]) / "one.db")
    gc.freeze()
    print(json.dumps([by_a_program, measured(Path(sys.argv[1]) / "two.db")]))
