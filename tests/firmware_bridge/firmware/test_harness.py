"""The shipped rover tasks on the emulated board, by the same runner as any other rig."""

import json
import select
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from firmware_rig import WORLD_SPEED, board

from configs.rigs_loader import load_rig
from core_eval.log import LogReader, RunLog, ignore
from core_eval.rig.opening import open_rig
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from firmware_bridge.firmware.build import missing_packages

pytestmark = pytest.mark.firmware

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
            run_id = Run(config, load_parts(config), log, ignore).start()
        assert emulated.wait_until(lambda out: out.port_a == 0 and not out.moving)
    with LogReader(log_file) as reader:
        (episode,) = reader.episodes(run_id)
        assert episode.status == "completed"
        assert episode.scores["path_correctness"] == 1.0
    with closing(sqlite3.connect(log_file)) as log_db:
        details = [json.loads(row[0]) for row in log_db.execute("SELECT detail FROM rig_status") if row[0]]
    assert {detail["reset"] for detail in details if "device" in detail} == {"power"}
    emulated.field.farm.finish()
    assert TASKS[task](emulated.field.farm.state_dict())
    assert emulated.field.farm.events == ()
    assert emulated.field.state.safety_locked


def test_the_board_s_own_process_makes_a_rig_that_a_file_names(tmp_path: Path) -> None:
    if missing := missing_packages():
        pytest.skip(f"the emulated board needs {', '.join(missing)}")
    link, init, rig = tmp_path / "board", tmp_path / "init.json", tmp_path / "rig.yaml"
    init.write_text(json.dumps({"battery": 0.5}))
    rig.write_text(f"name: mine\nurl: serial://{link}\ndevice: farm_rover\n")
    options = ["--link", str(link), "--init", str(init), "--world-speed", str(WORLD_SPEED)]
    command = [sys.executable, "-m", "sims.farm_rover.emulated_board", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert select.select([process.stdout], [], [], 60.0)[0]
            assert process.stdout.readline().strip() == str(link)
            with open_rig(load_rig(str(rig))) as session:
                assert session.device_name == "farm_rover"
                session.client.reset()
                assert session.client.call("sense_battery", {}).value == {"battery": 0.5}
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert not link.is_symlink()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"batery": 0.5}', "batery: unknown key"),
        ("[1]", "must be an object"),
        ("[" * 100_000, "nested deeper"),
    ],
)
def test_a_bad_initial_state_is_one_clear_line(text: str, says: str, tmp_path: Path) -> None:
    init = tmp_path / "init.json"
    init.write_text(text)
    command = [sys.executable, "-m", "sims.farm_rover.emulated_board", "--init", str(init)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
