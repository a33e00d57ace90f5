"""Turns the events of a run into those of the live page, on a separate thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from core_eval.live.episode_events import past_data, sample_data, scores_data
from core_eval.live.history import History
from core_eval.live.pictures import pictures
from core_eval.log import LogReader
from core_eval.log.events import (
    Decided,
    EpisodeEnded,
    EpisodePlanned,
    EpisodeStarted,
    Event,
    RigReady,
    RigStatus,
    Sampled,
    Stepped,
)
from core_eval.path import Call, OnlineScorer
from core_eval.report.tables.agents import call_text
from core_eval.text.durations import seconds_text

if TYPE_CHECKING:
    from configs.tasks_loader import Task

CLOSE_SECONDS = 2.0
DRAW_SECONDS = 1.0
"""Least time between two drawings, s."""
BATCH_SECONDS = 0.03
"""Pause between two batches of events, s."""


class LiveRecorder:
    """An observer that returns at once: its thread does the work and keeps the first error.

    As a context manager it runs the thread; events outside the context are ignored.

    Attributes:
        trouble: the first error.
        episode: the latest episode's id in the log.
        has_report: set before the end, whether the page can go on to the run's report.

    Args:
        history: where the events go.
        scoring: the scorer's options, as `score_path` takes them.
        log: the run's log, of which map, time line and automaton are drawn; None: they are not drawn.
        cameras: the addresses of pictures, by the names of rigs.
    """

    def __init__(
        self,
        history: History,
        scoring: Mapping[str, Any],
        log: Path | None = None,
        cameras: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.trouble: str | None = None
        self.has_report = False
        self._history = history
        self._scoring = scoring
        self._scorer: OnlineScorer | None = None
        self._unscored = self._changed = False
        self._log = log
        self._cameras = cameras
        self._place: str | None = None
        self.episode: int | None = None
        self._drawn = 0.0
        self._leaving = threading.Event()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="live page: events", daemon=True)

    def __enter__(self) -> LiveRecorder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Queued events are still shown, within a time limit.
        self._leaving.set()
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)
        self._history.close()

    def publish(self, kind: str, data: Mapping[str, Any], key: str | None = None) -> None:
        """Queue an event from another source."""
        self._queue.put(lambda: self._history.add(kind, data, key))

    def __call__(self, event: Event) -> None:
        """Put the event into the queue; from any thread."""
        match event:
            case Sampled(sample):
                self.publish("sample", sample_data(sample), f"sample {sample.sensor}")
                self._changed = True
            case Decided(k, tool, arguments, kind, decision):
                call = {"k": k, "call": call_text(tool, arguments), "kind": kind}
                self.publish(
                    "call", {**call, "action": decision.action, "reason": decision.reason}, f"call {k}"
                )
            case Stepped():
                self._put_step(event)
            case RigStatus(source, state):
                self.publish("status", {"source": source, "state": state}, f"status {source}")
            case RigReady(rig, device, guard):
                camera = self._cameras.get(rig)
                self.publish("rig", {"rig": rig, "device": device, "guard": guard, "camera": camera}, "rig")
            case EpisodePlanned(place, total, left):
                about = "" if left is None else f", about {seconds_text(left)} left"
                self._place = f"episode {place} of {total}{about}"
            case EpisodeStarted(episode, task, agent, seed):
                data = {"id": episode, "task": task.id, "prompt": task.prompt, "agent": agent, "seed": seed}
                data["place"] = self._place
                self._queue.put(lambda: self._begin(task, data, episode))
            case EpisodeEnded(row):
                self.publish("past", past_data(row))

    def _put_step(self, step: Stepped) -> None:
        outcome = step.outcome
        data = {
            "k": step.k,
            "call": call_text(step.tool, step.arguments),
            "kind": step.kind,
            "status": outcome.status,
            "code": outcome.code,
            "message": outcome.message,
            "value": None if outcome.value is None else dict(outcome.value),
            "seconds": outcome.duration,
        }
        call = Call(step.tool or "", step.arguments, outcome.status)
        self._queue.put(lambda: self._take(step.k, data, call))

    def _begin(self, task: Task, data: Mapping[str, Any], episode: int) -> None:
        self._history.add("episode", data)
        self.episode = episode
        self._changed = True
        self._scorer = None
        self._scorer = OnlineScorer(task.automaton, **self._scoring)
        self._unscored = True

    def _take(self, k: int, data: Mapping[str, Any], call: Call) -> None:
        self._history.add("step", data, f"step {k}")
        if self._scorer is not None:
            self._scorer.step(call)
            self._unscored = self._changed = True

    def _show_scores(self, scorer: OnlineScorer) -> None:
        self._history.add("scores", scores_data(scorer), "scores")

    def _draw(self) -> None:
        """Show the pictures of the current episode, as far as the log has it."""
        self._drawn = time.monotonic()
        if self._log is None or self.episode is None:
            return
        with LogReader(self._log) as reader:
            drawn = pictures(reader, reader.episode(self.episode))
        if drawn is not None:
            self._history.add("pictures", drawn, "pictures")

    def _work(self) -> None:
        going = True
        while going:
            try:
                work = self._queue.get(timeout=DRAW_SECONDS if self._changed else None)
            except Empty:
                work = _nothing
            going = work is not None
            try:
                if work is not None:
                    work()
                # If steps arrive faster than they can be scored, only the latest scores are shown.
                if self._unscored and self._scorer is not None and self._queue.empty():
                    self._unscored = False
                    self._show_scores(self._scorer)
                if self._changed and time.monotonic() - self._drawn > DRAW_SECONDS:
                    self._changed = False
                    self._draw()
                if self._queue.empty():
                    # Batching: waking up for each event would slow down the run.
                    self._leaving.wait(BATCH_SECONDS)
            except Exception as error:
                self.trouble = self.trouble or f"{type(error).__name__}: {error}"
        self._history.add("over", {"report": self.has_report}, "over")


def _nothing() -> None: ...
