"""A simulator that was started for a run and ended is known dead at once, and nothing opened in its place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
from played_episode import GOLDEN, UNLOCK, Player, play
from processes import children_of

from agents.agent import Action, Observation, StopAction
from agents.interruptible_agent import InterruptibleAgent
from configs.rig_config import RigConfig
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.rig.opening import open_rig
from core_eval.rig.session import RigSession
from core_eval.rig.signals import RigError
from core_eval.rig.simulator_process import ProcessMonitor
from core_eval.run.episode import EpisodeFailed
from firmware_bridge.link import LinkError
from firmware_bridge.serial.link import SerialLink

pytestmark = [pytest.mark.broker, pytest.mark.serial, pytest.mark.stops]

SERIAL = RigConfig(name="spawned", url="serial://pty", world="farm_rover", spawn=True)
MQTT = RigConfig(name="spawned", url="mqtt://127.0.0.1/rover", world="farm_rover", spawn=True)
BROKER = "firmware_bridge.broker.process"
SIMULATOR = "core_eval.rig.serve_simulator"
SOON = 8.0
"""Less than a lost link is waited for."""


OTHERS: set[int] = set()
"""Processes that were there before the test."""


@pytest.fixture(autouse=True)
def others() -> None:
    OTHERS.clear()
    OTHERS.update(children(SIMULATOR), children(BROKER))


def children(word: str) -> list[int]:
    """The processes that this one started for the test and whose command line holds the word."""
    return [child for child in children_of(os.getpid(), word) if child not in OTHERS]


class Killer(Player):
    """Ends a process of the rig's before its second action."""

    word = SIMULATOR

    def act(self, observation: Observation | None) -> Action:
        if len(self.seen) == 1:
            (child,) = children(self.word)
            os.kill(child, signal.SIGKILL)
        return super().act(observation)


@pytest.mark.parametrize("config", [SERIAL, MQTT], ids=["serial", "mqtt"])
def test_the_call_is_a_fault_and_the_run_says_how_the_simulator_ended(
    tmp_path: Path, config: RigConfig
) -> None:
    with open_rig(config) as session:
        begun = time.monotonic()
        with pytest.raises(EpisodeFailed, match=r"the simulator ended \(killed by SIGKILL\)"):
            play(tmp_path, session, player=Killer(GOLDEN))
        assert time.monotonic() - begun < SOON
    with LogReader(tmp_path / "log.db") as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
    assert episode.status == "error" and "killed by SIGKILL" in (episode.error or "")
    assert [step.status for step in steps][:1] == ["ok"]
    assert [(step.status, step.error_code) for step in steps[1:]] in ([], [("fault", "link")])


def test_the_broker_that_was_started_for_the_rig_is_watched_too(tmp_path: Path) -> None:
    class BrokerKiller(Killer):
        word = BROKER

    with open_rig(MQTT) as session:
        begun = time.monotonic()
        with pytest.raises(EpisodeFailed, match=r"the embedded broker ended \(killed by SIGKILL\)"):
            play(tmp_path, session, player=BrokerKiller(GOLDEN))
        assert time.monotonic() - begun < SOON


def test_nobody_waits_for_a_model_whose_rig_is_gone(tmp_path: Path) -> None:
    released = Event()

    class Thinker(Player):
        def act(self, observation: Observation | None) -> Action:
            if self.left:
                return super().act(observation)
            (child,) = children(SIMULATOR)
            os.kill(child, signal.SIGKILL)
            released.wait(30.0)
            return StopAction("done")

    agent = InterruptibleAgent(Thinker([UNLOCK], scaffold="native"))
    with open_rig(SERIAL) as session:
        begun = time.monotonic()
        with pytest.raises(EpisodeFailed, match="the simulator ended"):
            play(tmp_path, session, player=agent)  # type: ignore[arg-type]
        assert time.monotonic() - begun < SOON
    released.set()
    agent.close()


def test_a_run_over_a_dead_simulator_ends_with_status_3_and_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = RigSession.call

    def kill_first(self: RigSession, *args: object, **options: object) -> object:
        (child,) = children(SIMULATOR)
        os.kill(child, signal.SIGKILL)
        return call(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(RigSession, "call", kill_first)
    command = ["run", "--task", "water_one_plant", "--rig", "sim-farm-mqtt", "--agent", "oracle"]
    assert main(command) == 3
    assert "the simulator ended (killed by SIGKILL)" in capsys.readouterr().err


def test_how_a_process_ended_is_told_with_its_last_line(tmp_path: Path) -> None:
    said: list[str] = []
    told = Event()
    monitor = ProcessMonitor()
    code = "import sys; sys.stderr.write('one\\nout of memory\\n'); sys.exit(7)"
    with (tmp_path / "errors").open("w+b") as errors:
        child = subprocess.Popen([sys.executable, "-c", code], stderr=errors)
        with monitor.monitoring(child, "the simulator", errors):
            child.wait()
            # Whoever asks later hears of it as well.
            deadline = time.monotonic() + 10
            while not said and time.monotonic() < deadline:
                monitor.on_end(lambda text: (said.append(text), told.set()))  # type: ignore[arg-type,func-returns-value]
                told.wait(0.05)
    assert said[0] == "the simulator ended (exit status 7): out of memory"


def test_a_process_that_is_ended_in_order_is_no_news() -> None:
    said: list[str] = []
    monitor = ProcessMonitor()
    monitor.on_end(said.append)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with monitor.monitoring(child, "the simulator"):
        pass
    child.kill()
    child.wait()
    time.sleep(0.1)
    assert not said


def test_a_pseudo_terminal_that_was_lost_is_not_opened_again() -> None:
    ours, theirs = os.openpty()
    path = os.ttyname(theirs)
    os.close(theirs)
    link = SerialLink(f"serial://{path}")
    link.attach(lambda payload, retained: None, lambda up: None)
    os.close(ours)
    deadline = time.monotonic() + 10
    while link.connected and time.monotonic() < deadline:
        time.sleep(0.01)
    # Another program gets the name.
    others: list[int] = []
    while not Path(path).exists():
        others += os.openpty()
    with pytest.raises(LinkError, match="has ended"):
        link.ensure(1.0)
    link.close()
    for one in others:
        os.close(one)


def test_a_simulator_that_ends_while_it_is_greeted_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(self: RigSession, **_: object) -> None:
        (child,) = children(SIMULATOR)
        os.kill(child, signal.SIGKILL)
        opened(self)

    opened = RigSession.open
    monkeypatch.setattr(RigSession, "open", end)
    with pytest.raises(RigError, match="ended"), open_rig(SERIAL):
        pass


def test_a_link_that_fails_before_its_simulator_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: RigSession, **_: object) -> None:
        (child,) = children(SIMULATOR)
        os.kill(child, signal.SIGKILL)
        raise RigError("rig spawned: cannot write to /dev/pts/0: Input/output error")

    monkeypatch.setattr(RigSession, "open", fail)
    with pytest.raises(RigError, match=r"the simulator ended \(killed by SIGKILL\)"), open_rig(SERIAL):
        pass
