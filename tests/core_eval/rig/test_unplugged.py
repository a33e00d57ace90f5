"""A cable that is pulled and put back in mid-run: fault steps, and then it goes on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from bench_rig import Board
from played_episode import LOCK, MOVE, TASK, UNLOCK, WATER, Player

from agents.agent import Action, Observation
from configs.rigs_loader import load_rig
from core_eval.log import LogReader, RunLog, ignore
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import StopSignals
from core_eval.run.episode import Episode
from core_eval.run.episode_start import Assignment

pytestmark = [pytest.mark.serial, pytest.mark.stops]


def test_a_run_goes_on_when_the_cable_is_back(tmp_path: Path) -> None:
    board = Board(tmp_path / "ttyRIG")
    board.plug()
    back = threading.Timer(0.7, board.plug)

    class Puller(Player):
        def act(self, observation: Observation | None) -> Action:
            action = super().act(observation)
            if len(self.seen) == 2:
                board.pull()
                back.start()
            return action

    log_path = tmp_path / "log.db"
    with (
        open_rig(load_rig(f"serial://{board.name}?boot=2")) as session,
        RunLog(log_path) as log,
        StopSignals() as signals,
    ):
        run_id = log.begin_run({}, {}, {})
        assignment = Assignment(run_id, 0, 5, TASK, "player", {"beta": 0.5}, "observe", False)
        Episode(assignment, session, Puller([UNLOCK, MOVE, WATER, LOCK]), signals, ignore).run(log)
    back.join()
    board.endpoint.close()
    with LogReader(log_path) as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
        states = {row.state: row.detail for row in reader.rig_statuses(episode.id) if row.source == "host"}
    assert list(states).index("link lost") < list(states).index("link back")
    assert 0.3 < states["link back"]["seconds"] < 10
    assert episode.status == "completed"
    assert [(step.status, step.kind) for step in steps] == [
        ("ok", "progress"),
        ("fault", "fault"),
        ("ok", "harmful"),
        ("ok", "harmful"),
    ]
    assert board.rover.calls == ["unlock_safety_mode", "water_plant", "lock_safety_mode"]
