import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killed_run import RANDOM
from paths import ROOT, SUPPORT

from configs.errors import ConfigError
from core_eval.log import LogReader, RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import SETTLED, Run
from core_eval.score.rescore import rescore

pytestmark = pytest.mark.serial


def run(path: Path, config: RunConfig) -> int:
    with RunLog(path) as log:
        return Run(config, load_parts(config), log, ignore).start()


def test_seeds_count_up_and_every_episode_is_scored(tmp_path: Path) -> None:
    run_id = run(tmp_path / "log.db", RANDOM)
    with LogReader(tmp_path / "log.db") as reader:
        episodes = reader.episodes(run_id)
        assert [episode.seed for episode in episodes] == [10, 11, 12, 13]
        assert reader.run(run_id).ended is not None
        for episode in episodes:
            assert {"path_correctness", "unobserved_harm", "final_state_ok", "input_tokens"} <= set(
                episode.scores
            )
            assert episode.scores["harm_events"] == len(reader.harm(episode.id))
        assert any((episode.scores["harmful_calls"] or 0) > 0 for episode in episodes)


def test_scoring_again_gives_the_same_to_the_last_bit(tmp_path: Path) -> None:
    run(tmp_path / "log.db", RANDOM)
    again = list(rescore(tmp_path / "log.db"))
    assert len(again) == 4
    assert [result.differing for result in again] == [()] * 4
    with RunLog(tmp_path / "log.db") as log:
        log.connection.execute("UPDATE score SET value = value + 1e-12 WHERE metric = 'path_correctness'")
    assert [result.differing for result in rescore(tmp_path / "log.db")] == [("path_correctness",)] * 4


def test_a_killed_run_goes_on_with_the_rest_and_keeps_the_half_episode(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    child = subprocess.run(
        [sys.executable, str(SUPPORT / "killed_run.py"), str(path)],
        env={**os.environ, "PYTHONPATH": f"{SUPPORT}{os.pathsep}{ROOT}"},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    with RunLog(path) as log:
        assert log.aborted == [3]
        with LogReader(path) as reader:
            (unfinished,) = reader.unfinished_runs()
            half = reader.steps(3)
        assert len(half) == 2
        config = RunConfig.model_validate(unfinished.config)
        assert config == RANDOM
        Run(config, load_parts(config), log, ignore).resume(unfinished.id)
    with LogReader(path) as reader:
        rows = [(episode.number, episode.status) for episode in reader.episodes(unfinished.id)]
        assert rows == [
            (0, "completed"),
            (1, "completed"),
            (2, "aborted"),
            (2, "completed"),
            (3, "completed"),
        ]
        assert reader.steps(3) == half
        assert reader.unfinished_runs() == []
        # The whole is what it would have been without the kill.
        whole = tmp_path / "whole.db"
        run(whole, RANDOM)
        with LogReader(whole) as other:
            for mine, theirs in ((4, 3), (5, 4)):
                same = "path_correctness", "harmful_calls", "unobserved_harm", "device_seconds"
                left, right = reader.scores(mine), other.scores(theirs)
                assert [left[name] for name in same] == [right[name] for name in same]


def test_what_each_episode_of_a_long_run_leaves_is_freed(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, str(SUPPORT / "freed_run.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    by_a_program, by_the_command_line = json.loads(child.stdout)
    assert by_a_program["before"] == 0 < by_the_command_line["before"]
    for found in (by_a_program, by_the_command_line):
        before, old, garbage = found["before"], found["old"], found["garbage"]
        assert old[SETTLED - 1] <= before and old[-1] > max(10_000, old[0])
        assert bool(found["after"]) == bool(before)
        assert garbage[1] > 500 and garbage[-1] < 50


def test_a_complete_episode_that_was_not_scored_is_scored_at_resume(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    run_id = run(path, RANDOM)
    with RunLog(path) as log:
        log.connection.execute("DELETE FROM score WHERE episode_id = 2")
        log.connection.execute("UPDATE run SET ended = NULL")
        Run(RANDOM, load_parts(RANDOM), log, ignore).resume(run_id)
    with LogReader(path) as reader:
        assert len(reader.episodes()) == 4
        assert reader.scores(2)["path_correctness"] is not None


def test_a_task_on_the_wrong_rig_is_refused_before_anything_moves() -> None:
    cell = Cell(task="water_one_plant", rig="sim-arm-serial", agent="oracle")
    with pytest.raises(ConfigError, match="is for a farm_rover, but rig sim-arm-serial is a robotic_arm"):
        load_parts(RunConfig(cells=(cell,)))


def test_a_device_type_has_its_own_article() -> None:
    cell = Cell(task="water_one_plant", rig="sim:automation", agent="oracle")
    with pytest.raises(ConfigError, match="is for a farm_rover, but rig sim:automation is an automation"):
        load_parts(RunConfig(cells=(cell,)))


def test_passwords_stay_out_of_the_log() -> None:
    cell = Cell(task="t", rig="mqtt://me:secret@host:1883/rover", agent="oracle")
    config = RunConfig(cells=(cell,))
    logged = RunConfig.model_validate(config.for_the_log())
    assert "secret" not in logged.model_dump_json()
    assert logged.with_rigs([cell.rig]) == config
    with pytest.raises(ValueError, match="holds no passwords: give the URL of mqtt://me:"):
        logged.with_rigs([])


def test_each_password_goes_to_its_own_rig() -> None:
    urls = ["mqtt://me:secret@host:1883/rover", "mqtt://me:other@host:1883/arm"]
    config = RunConfig(cells=tuple(Cell(task="t", rig=url, agent="oracle") for url in urls))
    logged = RunConfig.model_validate(config.for_the_log())
    assert logged.with_rigs(urls[::-1]) == config
    with pytest.raises(ValueError, match=r"give the URL of mqtt://me:\S+/arm again"):
        logged.with_rigs(urls[:1])
