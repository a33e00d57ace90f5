"""The shipped rover tasks on the emulated board, by the same runner as any other rig."""

from pathlib import Path

import pytest
from firmware_rig import board

from core_eval.cli.live import Silent
from core_eval.harness.run import Run, load_parts
from core_eval.harness.run_config import Cell, RunConfig
from core_eval.log import LogReader, RunLog

TASKS = {
    "water_one_plant": lambda state: 0.22 <= state["plants"]["plant_B"]["moisture"] <= 0.33,
    "harvest_and_deliver": lambda state: state["collected_fruit"] == 1 and state["hopper"]["fruit"] == 0,
}


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_walks_a_golden_path_and_the_field_shows_it(task: str, tmp_path: Path) -> None:
    log_file = tmp_path / "log.db"
    with board() as emulated:
        config = RunConfig(cells=(Cell(task=task, rig=f"serial://{emulated.path}", agent="oracle"),))
        with RunLog(log_file) as log:
            run_id = Run(config, load_parts(config), log, Silent()).start()
        assert emulated.wait_until(lambda out: out.port_a == 0 and not out.moving)
    with LogReader(log_file) as reader:
        (episode,) = reader.episodes(run_id)
        assert episode.status == "completed"
        assert episode.scores["path_correctness"] == 1.0
    emulated.field.finish()
    assert TASKS[task](emulated.field.state_dict())
    assert emulated.field.events == ()
    assert emulated.field.state.safety_locked
