from pathlib import Path

from processes import wait_for

from core_eval.cli import watch
from core_eval.live.history import History
from core_eval.live.log_follower import DayFollower
from core_eval.log import RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run


def run(db: Path, episodes: int) -> None:
    cell = Cell(task="water_one_plant", rig="sim:farm_rover", agent="done")
    config = RunConfig(cells=(cell,), episodes=episodes)
    with RunLog(db) as log:
        Run(config, load_parts(config), log, ignore).start()


def test_the_newest_day_of_a_rig_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(
        "folder: logs\nrigs: ['sim:farm_rover']\n"
        "schedule: [{name: a, every: 1h, tasks: [water_one_plant], agents: [done]}]"
    )
    ((heading, folder),) = watch._served(str(file)).items()
    assert (heading, folder) == (f"{file}: sim_farm_rover", tmp_path / "logs" / "sim_farm_rover")
    folder.mkdir(parents=True)
    history = History()

    def past() -> int:
        return sum(event.kind == "past" for event in history.since(0))

    with DayFollower(folder, history, lambda _: None) as follower:
        run(folder / "2026-01-01.db", 1)
        assert wait_for(lambda: past() == 1)
        # What is no log yet is waited for.
        (folder / "2026-01-02.db").touch()
        run(folder / "2026-01-02.db", 2)
        assert wait_for(lambda: past() == 3)
    assert follower.path == folder / "2026-01-02.db"
