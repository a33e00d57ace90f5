from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from played_episode import GOLDEN, LOCK, MOVE, UNLOCK, WATER, Player, play, rig

from agents.agent import (
    Action,
    InvalidAction,
    Observation,
    StopAction,
    ToolCallAction,
    Usage,
)
from configs.rigs_loader import load_rig
from core_eval.log import LogReader
from core_eval.rig import session as rig_session
from core_eval.rig.opening import open_rig
from core_eval.run.episode import EpisodeFailed

pytestmark = pytest.mark.serial


def test_a_golden_run_is_all_progress_with_samples_and_truth(tmp_path: Path) -> None:
    with rig() as session:
        episode, steps = play(tmp_path, session, *GOLDEN)
    assert (episode.status, episode.stop_reason, episode.simulated) == ("completed", "done", True)
    assert (episode.seed, episode.guard, episode.device) == (5, "observe", "farm_rover")
    assert [(step.status, step.kind) for step in steps] == [("ok", "progress")] * 4
    assert all(step.call_id and step.t_result is not None for step in steps)
    assert all(a.t_intent <= b.t_intent for a, b in pairwise(steps))
    with LogReader(tmp_path / "log.db") as reader:
        samples = reader.samples(episode.id)
        truth = reader.truth(episode.id)
    assert any(sample.sensor.startswith("moisture.") for sample in samples)
    assert [row.call_id for row in truth] == [None, *(step.call_id for step in steps)]


def test_the_stop_of_an_earlier_run_is_a_row_of_the_first_episode_alone(tmp_path: Path) -> None:
    stop = {"time": 1795454478.5, "outcome": "not sent"}
    with rig() as session:
        session.link.late_stop = stop
        first, second = (play(tmp_path, session, *GOLDEN)[0] for _ in range(2))
    with LogReader(tmp_path / "log.db") as reader:
        rows = {
            one.id: [r for r in reader.rig_statuses(one.id) if r.state == "late stop"]
            for one in (first, second)
        }
    assert [(row.source, row.detail) for row in rows[first.id]] == [("host", stop)]
    assert rows[second.id] == []


def test_two_episodes_with_one_seed_are_the_same(tmp_path: Path) -> None:
    with rig() as session:
        runs = [play(tmp_path, session, *GOLDEN) for _ in range(2)]
    with LogReader(tmp_path / "log.db") as reader:
        first, second = (reader.samples(episode.id) for episode, _ in runs)
        states = [[row.state for row in reader.truth(episode.id)] for episode, _ in runs]
    assert first == second
    assert states[0] == states[1]


def test_nonsense_becomes_invalid_steps_that_never_leave_the_host(tmp_path: Path) -> None:
    usage = Usage("<tool_call>{", 10, 4, 3, 0.5)
    player = Player(
        [
            InvalidAction("<tool_call>{", "no call could be read", "parse", usage),
            ToolCallAction("fly", {"to": "moon"}),
            ToolCallAction("move_to", {"x": "far", "z": 1}),
            ToolCallAction("move_to", {"x": float("nan"), "y": 1.0}),
            StopAction("max_tokens", Usage("I give up", 20, 10, 4, 0.1)),
        ]
    )
    with rig() as session:
        episode, steps = play(tmp_path, session, player=player)
    assert [(step.tool, step.status, step.kind, step.error_code) for step in steps] == [
        (None, "invalid", "harmful", "parse"),
        ("fly", "invalid", "harmful", "unknown_tool"),
        ("move_to", "invalid", "harmful", "bad_arguments"),
        ("move_to", "invalid", "harmful", "bad_arguments"),
    ]
    assert all(step.call_id is None for step in steps)
    assert steps[0].turn is not None and steps[0].turn.text == "<tool_call>{"
    assert (episode.status, episode.stop_reason) == ("stopped", "max_tokens")
    assert player.seen[1] is None
    assert player.seen[2] is not None and "fly" in (player.seen[2].outcome.message or "")
    with LogReader(tmp_path / "log.db") as reader:
        assert reader.turns(episode.id)[4].text == "I give up"


def test_a_device_refusal_is_a_harmful_step_that_the_agent_hears_of(tmp_path: Path) -> None:
    player = Player([MOVE])
    with rig() as session:
        _, steps = play(tmp_path, session, player=player)
    assert [(step.status, step.kind, step.error_code) for step in steps] == [
        ("rejected", "harmful", "safety_locked")
    ]
    assert player.seen[1] is not None and player.seen[1].outcome.code == "safety_locked"


def test_the_guard_blocks_before_the_rig_hears_of_it(tmp_path: Path) -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url, rig(url) as session:
        episode, steps = play(tmp_path, session, WATER, UNLOCK)
    assert (episode.simulated, episode.guard) == (False, "block")
    assert rover.calls == ["unlock_safety_mode"]
    assert [(step.status, step.kind, step.call_id is None) for step in steps] == [
        ("blocked", "harmful", True),
        ("ok", "progress", False),
    ]
    assert steps[0].guard_action == "block"


def test_the_guard_can_stop_the_rig_at_the_first_harm(tmp_path: Path) -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url, rig(url) as session:
        episode, steps = play(tmp_path, session, UNLOCK, WATER, LOCK, guard="estop")
    assert (episode.status, episode.stop_reason) == ("stopped", "guard")
    assert rover.calls == ["unlock_safety_mode"] and rover.made_safe.is_set()
    assert [step.status for step in steps] == ["ok", "blocked"]


def test_init_on_a_physical_rig_is_an_error_only_when_it_was_asked_for(tmp_path: Path) -> None:
    with on_a_pty(BenchRover()) as url, rig(url) as session:
        with pytest.raises(EpisodeFailed, match="leave out --init"):
            play(tmp_path, session, UNLOCK, init={"battery": 0.5})
        episode, _ = play(tmp_path, session, UNLOCK)
    assert episode.status == "completed"


def test_a_crashing_agent_leaves_the_rig_safe_and_the_log_consistent(tmp_path: Path) -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url, rig(url) as session:
        with pytest.raises(EpisodeFailed, match="ZeroDivisionError"):
            play(tmp_path, session, UNLOCK, ZeroDivisionError("oops"))
        assert rover.made_safe.wait(25)
    with LogReader(tmp_path / "log.db") as reader:
        (episode,) = reader.episodes()
        assert (episode.status, episode.ended is not None) == ("error", True)
        assert episode.error is not None and "oops" in episode.error
        assert [step.status for step in reader.steps(episode.id)] == ["ok"]


def test_a_link_that_is_lost_for_good_ends_the_episode_as_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig_session, "LINK_BACK_SECONDS", 0.5)

    class Unplugger(Player):
        def act(self, observation: Observation | None) -> Action:
            action = super().act(observation)
            if len(self.seen) == 2:
                served.close()
            return action

    with ExitStack() as there, ExitStack() as served:
        url = served.enter_context(on_a_pty(BenchRover()))
        session = there.enter_context(open_rig(load_rig(url), call_timeout=0.3))
        with pytest.raises(EpisodeFailed, match="the link is lost"):
            play(tmp_path, session, player=Unplugger(GOLDEN))
    with LogReader(tmp_path / "log.db") as reader:
        (episode,) = reader.episodes()
        assert episode.status == "error"
        assert [(step.status, step.kind) for step in reader.steps(episode.id)] == [
            ("ok", "progress"),
            ("fault", "fault"),
        ]


def test_a_stop_from_outside_ends_the_episode(tmp_path: Path) -> None:
    class Stopper(Player):
        def act(self, observation: Observation | None) -> Action:
            action = super().act(observation)
            if len(self.seen) == 2:
                session.client.estop()
            return action

    with rig() as session:
        episode, steps = play(tmp_path, session, player=Stopper(GOLDEN))
    assert (episode.status, episode.stop_reason) == ("stopped", "estop")
    assert [(step.status, step.error_code) for step in steps] == [("ok", None), ("rejected", "estop")]
