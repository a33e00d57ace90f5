"""Whatever the host waits for, a person's stop, a signal or the limit of time ends the wait."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from bench_rig import BenchRover, on_a_pty
from played_episode import MOVE, UNLOCK, Player
from processes import wait_for

from agents.agent import Action, EpisodeContext, Limits, Observation, StopAction
from agents.deadline import Cancellation, CancelledError
from agents.interruptible_agent import InterruptibleAgent
from configs.task_entry import TaskLimits
from core_eval.log import EpisodeRow, LogReader, RunLog, StepRow, ignore
from core_eval.rig.signals import StopButton, StoppedByPerson, StopRequested
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import Parts, load_parts
from core_eval.run.plan import Run
from devices.outcome import Outcome

pytestmark = pytest.mark.serial

SOON, LONG = 30.0, 100.0
"""Far more than it takes, and far less than what is waited for, s."""


class Thinker(Player):
    """Acts, and then thinks until the test is over; looks at nothing meanwhile."""

    def __init__(self, *actions: Action) -> None:
        super().__init__(list(actions))
        self.thinks, self.released = Event(), Event()
        self.scaffold = "native"

    def act(self, observation: Observation | None) -> Action:
        if self.left:
            return super().act(observation)
        self.thinks.set()
        self.released.wait(LONG)
        return StopAction("done")


class MuteRover(BenchRover):
    """Goes on with `move_to` whatever is said, and answers nothing meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.released = Event()

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        if tool == "move_to":
            self.running.set()
            self.released.wait(LONG)
        return super().execute(tool, arguments, stop)


class Ran:
    """A run of one episode, in the test's own thread."""

    def __init__(self, folder: Path, url: str, agent: Player, *, seconds: float = 120.0) -> None:
        cell = Cell(task="water_one_plant", rig=url, agent="oracle")
        config = RunConfig(cells=(cell,), guard="observe")
        loaded = load_parts(config)
        task = replace(loaded.tasks[cell.task], limits=TaskLimits(seconds=seconds))
        parts = Parts({cell.task: task}, loaded.rigs, {cell.agent: InterruptibleAgent(agent)}, loaded.streams)
        self.button = StopButton()
        self.db = folder / "log.db"
        self.took = 0.0
        self._config, self._parts = config, parts

    def __call__(self) -> None:
        with RunLog(self.db) as log:
            begun = time.monotonic()
            try:
                Run(self._config, self._parts, log, ignore, None, self.button).start()
            finally:
                self.took = time.monotonic() - begun

    def has_ended(self) -> bool:
        """Whether the episode has, in the log."""
        return self.story()[0].seconds is not None

    def story(self) -> tuple[EpisodeRow, list[StepRow]]:
        with LogReader(self.db) as reader:
            (episode,) = reader.episodes()
            return episode, reader.steps(episode.id)


@contextmanager
def after(event: Event, act: Any) -> Iterator[None]:
    """Does something from another thread when the event has come."""

    def wait() -> None:
        if event.wait(SOON):
            act()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


@pytest.fixture
def released() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("way", ["person", "signal", "limit"])
def test_the_run_ends_while_the_model_thinks(tmp_path: Path, released: ExitStack, way: str) -> None:
    rover, thinker = BenchRover(), Thinker(UNLOCK)
    released.callback(thinker.released.set)
    with on_a_pty(rover) as url, ExitStack() as stack:
        ran = Ran(tmp_path, url, thinker, seconds=3.0 if way == "limit" else 100.0)

        def through() -> None:
            # What nobody waits for may hold up the end of the process, not that of the episode.
            if wait_for(ran.has_ended, 50.0):
                thinker.released.set()

        stack.enter_context(after(thinker.thinks, through))
        if way == "person":
            with after(thinker.thinks, ran.button.press), pytest.raises(StoppedByPerson):
                ran()
        elif way == "signal":
            strike = partial(os.kill, os.getpid(), signal.SIGTERM)
            with after(thinker.thinks, strike), pytest.raises(StopRequested):
                ran()
        else:
            ran()
        assert rover.made_safe.wait(25) and thinker.released.is_set()
    episode, steps = ran.story()
    ending = {"person": ("stopped", "person"), "limit": ("stopped", "max_time")}
    assert (episode.status, episode.stop_reason) == ending.get(way, ("interrupted", "signal"))
    assert [step.status for step in steps] == ["ok"]


@pytest.mark.parametrize("way", ["person", "limit"])
def test_a_rig_that_does_not_answer_is_not_waited_for(tmp_path: Path, released: ExitStack, way: str) -> None:
    rover = MuteRover()
    player = Player([UNLOCK, MOVE, StopAction("max_time")], scaffold="native")
    with on_a_pty(rover) as url:
        released.callback(rover.released.set)
        ran = Ran(tmp_path, url, player, seconds=3.0 if way == "limit" else 100.0)
        if way == "limit":
            ran()
        else:
            with after(rover.running, ran.button.press), pytest.raises(StoppedByPerson):
                ran()
        rover.released.set()
    episode, steps = ran.story()
    reason = "max_time" if way == "limit" else "person"
    assert (episode.status, episode.stop_reason) == ("stopped", reason)
    assert [(step.status, step.error_code) for step in steps] == [("ok", None), ("fault", "timeout")]
    assert "was given up after" in (steps[1].error_message or "")
    assert ran.took < SOON


def test_a_stop_before_the_first_question_asks_none(tmp_path: Path) -> None:
    class Presser(Player):
        def start(self, context: EpisodeContext) -> None:
            super().start(context)
            ran.button.press()

    player = Presser([UNLOCK], scaffold="native")
    with on_a_pty(BenchRover()) as url:
        ran = Ran(tmp_path, url, player)
        with pytest.raises(StoppedByPerson):
            ran()
    assert not player.seen
    assert ran.story()[0].stop_reason == "person"


# The thread that an agent is asked on.


def context(cancellation: Cancellation, seconds: float = 60.0) -> EpisodeContext:
    return EpisodeContext("Go.", (), limits=Limits(seconds=seconds), cancellation=cancellation)


def test_an_agent_is_asked_on_one_other_thread_and_its_errors_come_back() -> None:
    threads = set()

    class Noting(Player):
        def act(self, observation: Observation | None) -> Action:
            threads.add(threading.current_thread())
            return super().act(observation)

    agent = InterruptibleAgent(Noting([UNLOCK, ZeroDivisionError("oops")]))
    agent.start(context(Cancellation()))
    assert agent.act(None) == UNLOCK
    with pytest.raises(ZeroDivisionError, match="oops"):
        agent.act(None)
    assert agent.act(None) == StopAction("done")
    assert len(threads) == 1 and threading.current_thread() not in threads
    agent.close()
    assert not any(thread.is_alive() for thread in threads)


def test_the_next_episode_waits_until_the_agent_is_through_with_the_last() -> None:
    thinker = Thinker(UNLOCK)
    agent = InterruptibleAgent(thinker)
    first = Cancellation()
    agent.start(context(first))
    agent.act(None)
    with after(thinker.thinks, first.cancel), pytest.raises(CancelledError):
        agent.act(None)
    threading.Timer(0.3, thinker.released.set).start()
    agent.start(context(Cancellation()))
    assert thinker.released.is_set()
    assert agent.act(None) == UNLOCK
    agent.close()


def test_scripts_have_no_limit_of_time() -> None:
    class Slow(Player):
        def act(self, observation: Observation | None) -> Action:
            time.sleep(1.0)
            return super().act(observation)

    agent = InterruptibleAgent(Slow([UNLOCK]))
    agent.start(context(Cancellation(), seconds=0.1))
    assert agent.act(None) == UNLOCK
    agent.close()


def test_an_agent_that_was_never_asked_is_closed_all_the_same() -> None:
    closed = []

    class Closing(Player):
        def close(self) -> None:
            closed.append(True)

    InterruptibleAgent(Closing([])).close()
    assert closed == [True]
