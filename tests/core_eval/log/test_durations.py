"""Durations do not go by the clock on the wall, which somebody may set while an episode runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core_eval.log import EpisodeRow, LogReader, RunLog, ignore
from core_eval.report.tables.junit import junit_xml
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.score.rescore import rescore

DAY = 86_400.0


def ran(path: Path) -> EpisodeRow:
    config = RunConfig(cells=(Cell(task="water_one_plant", rig="sim:farm_rover", agent="oracle"),))
    with RunLog(path) as log:
        Run(config, load_parts(config), log, ignore).start()
    return only(path)


def only(path: Path) -> EpisodeRow:
    with LogReader(path) as reader:
        (episode,) = reader.episodes()
        return episode


def stepping(jump: float) -> Callable[[], float]:
    """A clock on the wall that is set by so much at each reading."""
    true, reads = time.time, iter(range(1, 1_000_000))
    return lambda: true() + jump * next(reads)


@pytest.mark.parametrize("jump", [-DAY, 1000 * DAY])
def test_a_clock_that_is_set_changes_no_duration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    monkeypatch.setattr(time, "time", stepping(jump))
    episode = ran(tmp_path / "log.db")
    assert episode.ended is not None and abs(episode.ended - episode.started) > DAY / 2
    seconds = episode.scores["wall_seconds"]
    assert seconds is not None and 0 < seconds < 60 and seconds == episode.seconds
    assert f'time="{seconds:.3f}"' in junit_xml([episode], [])


def test_an_older_log_has_the_difference_of_its_times_and_never_less_than_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    started = ran(path).started
    for ended, seconds in ((started + 7.5, 7.5), (started - DAY, 0.0)):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE episode SET seconds = NULL, ended = ?", [ended])
        (again,) = rescore(path)
        assert again.result.scores["wall_seconds"] == pytest.approx(seconds, abs=1e-3)
        assert f'time="{seconds:.3f}"' in junit_xml([only(path)], [])


def test_an_episode_that_goes_on_has_no_duration_yet(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    ran(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE episode SET seconds = NULL, ended = NULL")
    assert only(path).wall_seconds is None
