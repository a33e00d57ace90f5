"""The live page's parts: what it remembers, who is asked, who is let in, and that it breaks no run."""

from __future__ import annotations

import io
import json
import os
import pty
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from episode_start import START

from configs.tasks_loader import load_task
from core_eval.live.approvals import ApprovalQueue
from core_eval.live.history import PAST, History
from core_eval.live.log_follower import LogFollower
from core_eval.log import EpisodeLog, Intent, LogReader, RunLog, Turn, Verdict
from core_eval.rig.signals import StopButton
from core_eval.run.episode import LoggedQuestions
from devices.outcome import Outcome
from devices.sensors import Sample
from firmware_bridge.approval import Answer, Approver, Question, Reply, TerminalApprover

pytestmark = pytest.mark.serial

TASK = load_task("water_one_plant")
QUESTION = Question("water_plant", {"plant_id": "plant_A", "liters": 4.0}, "harmful in state s1", 1)


def kinds(history: History, last: int = 0) -> list[str]:
    return [event.kind for event in history.since(last)]


# What is remembered.


def test_a_new_episode_clears_the_page_and_the_ended_ones_stay() -> None:
    history = History()
    history.add("step", {"k": 0})
    history.add("past", {"id": 1})
    history.add("episode", {"id": 2})
    history.add("step", {"k": 0})
    assert kinds(history) == ["past", "episode", "step"]
    assert [event.id for event in history.since(0)] == [2, 3, 4]
    assert kinds(history, last=3) == ["step"]


def test_what_has_a_key_takes_the_place_of_the_last_one() -> None:
    history = History()
    for value in range(1000):
        history.add("sample", {"value": value}, "sample tank")
    history.add("sample", {"value": -1}, "sample hopper")
    events = history.since(0)
    assert [json.loads(event.data)["value"] for event in events] == [999, -1]


def test_no_more_ended_episodes_are_remembered_than_a_page_can_show() -> None:
    history = History()
    for number in range(PAST + 50):
        history.add("past", {"id": number})
    assert [json.loads(event.data)["id"] for event in history.since(0)] == list(range(50, PAST + 50))


def test_whoever_watches_is_woken_until_he_leaves() -> None:
    history, woken = History(), list[int]()
    with history.watch(lambda: woken.append(1)):
        history.add("step", {})
        history.close()
    history.add("step", {})
    assert len(woken) == 2 and history.closed


# What the log says is shown, and a page holds nobody up.


@contextmanager
def logged(tmp_path: Path, **start: Any) -> Iterator[tuple[RunLog, EpisodeLog]]:
    with RunLog(tmp_path / "log.db") as log:
        definition = replace(START.definition, automaton=TASK.automaton.to_json(), goal=None, tools=[])
        row = replace(START, definition=definition, **start)
        yield log, log.begin_episode(log.begin_run({}, {}, {}), row)


def make(episode: EpisodeLog, k: int, tool: str, status: str = "ok", kind: str = "harmful") -> None:
    step = episode.intent(Intent(k, tool, {}, f"c{k}", "allow", "why"), Turn("go"))
    episode.result(
        step,
        Outcome(status, {}),
        Verdict(kind, None, "q", "q", "progress" if kind == "progress" else "off_path"),
    )


class StuckHistory(History):
    """Takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def add(self, kind: str, data: Mapping[str, Any], key: str | None = None) -> None:
        assert self.go.wait(20.0)
        super().add(kind, data, key)


def test_a_page_that_is_stuck_holds_nobody_up(tmp_path: Path) -> None:
    history = StuckHistory()
    with logged(tmp_path) as (log, episode), LogFollower(log.path, history) as follower:
        for k in range(100):
            make(episode, k, "move_home")
            episode.sample(Sample("water_tank_low", False, float(k)))
        assert not history.since(0)
        history.go.set()
    assert kinds(history).count("step") == 100 and follower.trouble is None
    assert len([event for event in history.since(0) if event.kind == "sample"]) == 1


def test_a_stop_input_has_a_line_of_its_own(tmp_path: Path) -> None:
    history = History()
    with logged(tmp_path) as (log, episode), LogFollower(log.path, history):
        episode.rig_status("device", "online", {"stop_input": "released"})
        episode.rig_status("device", "estop", {"stop_input": "pressed", "stop": "confirmed"})
        episode.rig_status("link", "online", None)
    said = [json.loads(event.data) for event in history.since(0) if event.kind == "status"]
    assert {"source": "device", "state": "estop", "held": False} in said
    assert said[-2:] == [
        {"source": "stop input", "state": "pressed: stopped until it is released and reset", "held": True},
        {"source": "link", "state": "online", "held": False},
    ]


def test_the_running_scores_are_those_of_the_scorer(tmp_path: Path) -> None:
    history = History()
    with logged(tmp_path) as (log, episode), LogFollower(log.path, history):
        make(episode, 0, "unlock_safety_mode", kind="progress")
        make(episode, 1, "move_home", "invalid")
    (scores,) = [json.loads(event.data) for event in history.since(0) if event.kind == "scores"]
    assert scores["accepted"] is False and ["harmful calls", "1"] in scores["scores"]
    assert ["harm rate", "0.500"] in scores["scores"]


def test_a_log_that_cannot_be_followed_is_told(tmp_path: Path) -> None:
    history = History()
    with (
        logged(tmp_path, scoring={"beta": 7.0}) as (log, episode),
        LogFollower(log.path, history) as follower,
    ):
        make(episode, 0, "unlock_safety_mode")
    assert follower.trouble is not None and "episode.scoring of row 1" in follower.trouble
    assert kinds(history) == ["notice"]


def test_a_damaged_episode_is_told_and_the_next_one_is_shown(tmp_path: Path) -> None:
    history = History()
    with logged(tmp_path) as (log, episode), LogReader(log.path) as reader:
        make(episode, 0, "unlock_safety_mode")
        log.connection.execute("PRAGMA ignore_check_constraints = ON")
        log.connection.execute("UPDATE step SET arguments = '3'")
        follower = LogFollower(log.path, history)
        follower._look(reader)
        follower._look(reader)
        assert follower.trouble is not None and "step.arguments of row 1" in follower.trouble
        assert kinds(history).count("notice") == 1
        episode.end("error")
        start = replace(START, definition=replace(START.definition, automaton=TASK.automaton.to_json()))
        make(log.begin_episode(1, start), 0, "unlock_safety_mode")
        follower._look(reader)
    assert follower.shown == 2 and kinds(history).count("step") == 1


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    """A log that nobody wrote to costs one statement; one new step is read alone, however many there are."""
    with logged(tmp_path) as (log, episode):
        for k in range(50):
            make(episode, k, "move_home")
        history, read = History(), list[int]()
        with LogReader(log.path) as reader:
            follower = LogFollower(log.path, history)
            follower._look(reader)
            reader.connection.set_trace_callback(lambda sql: read.append(sql.count("k > 49")))
            before, changes = len(history.since(0)), reader.changes()
            assert reader.changes() == changes and len(read) == 2
            make(episode, 50, "move_home")
            assert reader.changes() != changes
            follower._look(reader)
        assert sum(read) == 2, "steps and turns after the last one"
        new = [event.kind for event in history.since(before)]
    assert new.count("step") == 1 and len(read) < 30


def test_a_question_that_waits_is_a_row_and_on_the_page(tmp_path: Path) -> None:
    history = History()
    with logged(tmp_path) as (log, episode), LogReader(log.path) as reader:
        follower = LogFollower(log.path, history)
        number = episode.ask("water_plant()", "harmful", 60.0)
        follower._look(reader)
        (asked,) = [json.loads(event.data) for event in history.since(0) if event.kind == "question"]
        assert (asked["number"], asked["call"], asked["answer"]) == (number, "water_plant()", None)
        assert 55 < asked["until"] - time.time() < 65
        last = history.since(0)[-1].id
        follower._look(reader)
        assert not history.since(last), "it is asked once"
        episode.answer(number, "refuse", "timeout")
        make(episode, 0, "water_plant", "blocked")
        follower._look(reader)
        (row,) = reader.questions(episode.id)
        (said,) = [json.loads(event.data) for event in history.since(last) if event.kind == "answered"]
        assert (said["answer"], said["by"]) == (row.answer, row.by) == ("refuse", "timeout")
        assert row.step_id == reader.steps(episode.id)[0].id and (row.answered or 0) >= row.asked
        # One whose run died while it waited is taken off the page.
        episode.ask("water_plant()", "harmful")
        follower._look(reader)
        episode.end("interrupted")
        follower._look(reader)
    assert kinds(history).count("question") == 0 and kinds(history)[-2:] == ["answered", "past"]


# Who is asked.


class Asked:
    """A queue that is asked on this thread, and answered from another one, as by a page."""

    def __init__(self, seconds: float, *answers: tuple[int, Answer], terminal: Any = None) -> None:
        self.queue = ApprovalQueue(seconds, terminal)
        self.counted: list[bool] = []
        page = threading.Thread(target=self._answer, args=(answers,))
        page.start()
        self.reply = self.queue.ask(QUESTION)
        page.join()

    def _answer(self, answers: tuple[tuple[int, Answer], ...]) -> None:
        while answers and self.queue._pending is None:
            time.sleep(0.001)
        self.counted += [self.queue.answer(number, answer) for number, answer in answers]


@pytest.mark.parametrize("answer", ["approve", "refuse", "stop"])
def test_the_pages_answer_counts_and_only_the_first_one(answer: Answer) -> None:
    asked = Asked(20.0, (7, "approve"), (1, answer), (1, "approve"))
    assert asked.reply == Reply(answer, "the live page")
    assert asked.counted == [False, True, False]


def test_silence_is_a_refusal() -> None:
    asked = Asked(0.05)
    assert asked.reply == Reply("refuse", "timeout") and not asked.queue.answer(1, "approve")


def test_the_stop_button_answers_a_question_that_waits() -> None:
    queue = ApprovalQueue(20.0)
    replies: list[Reply] = []
    asking = threading.Thread(target=lambda: replies.append(queue.ask(QUESTION)))
    asking.start()
    while asking.is_alive():
        queue.stop()
        asking.join(0.01)
    assert replies == [Reply("stop", "the stop button")]
    queue.stop()


def test_a_way_out_while_waiting_answers_the_row(tmp_path: Path) -> None:
    class Leaving(Approver):
        def ask(self, question: Question) -> Reply:
            raise KeyboardInterrupt

    with logged(tmp_path) as (log, episode), LogReader(log.path) as reader:
        with pytest.raises(KeyboardInterrupt):
            LoggedQuestions(Leaving(), episode).ask(QUESTION)
        (row,) = reader.questions(episode.id)
    assert (row.answer, row.by) == ("refuse", "the end of the run")
    assert row.text == 'water_plant(plant_id="plant_A", liters=4.0)' and row.until is None


def test_where_there_is_a_terminal_its_answer_counts_too() -> None:
    ours, theirs = pty.openpty()
    shown = io.StringIO()
    os.write(ours, b"what?\napprove\n")
    with os.fdopen(theirs, "r") as source:
        asked = Asked(20.0, terminal=TerminalApprover(source, shown))
    os.close(ours)
    assert asked.reply == Reply("approve", "the terminal")
    assert "water_plant" in shown.getvalue()


def test_and_the_page_may_be_first() -> None:
    ours, theirs = pty.openpty()
    shown = io.StringIO()
    with os.fdopen(theirs, "r") as source:
        assert Asked(20.0, (1, "stop"), terminal=TerminalApprover(source, shown)).reply.answer == "stop"
    os.close(ours)
    assert "stop (the live page)" in shown.getvalue()


# The stop.


def test_the_stop_stays_pressed_and_reaches_only_the_rig_that_is_driven() -> None:
    button, stopped = StopButton(), list[str]()
    with button.connected(lambda: stopped.append("first")):
        button.press()
        button.press()
    button.press()
    assert stopped == ["first", "first"] and button.pressed
