"""Turns the events of a run into those of the live page, on a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from core_eval.harness.events import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    RigReady,
    RigStatus,
    Sampled,
    Stepped,
)
from core_eval.live.history import History
from core_eval.path import Call, OnlineScorer
from core_eval.report.metrics import BRIEF, BY_NAME, RUNNING
from core_eval.report.tables import call_text, cell

if TYPE_CHECKING:
    from configs.tasks_loader import Task
    from core_eval.log import EpisodeRow

CLOSE_SECONDS = 2.0
BATCH_SECONDS = 0.03
"""Pause between two batches of events, s."""


class LiveRecorder:
    """An observer that returns at once: its thread does the work and keeps the first error.

    As a context manager it runs the thread; events outside the context are ignored.

    Args:
        history: where the events go.
        scoring: the scorer's options, as `score_path` takes them.
    """

    def __init__(self, history: History, scoring: Mapping[str, Any]) -> None:
        self.trouble: str | None = None
        self._history = history
        self._scoring = scoring
        self._scorer: OnlineScorer | None = None
        self._unscored = False
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
                data = {"sensor": sample.sensor, "value": sample.value, "t": sample.t}
                self.publish("sample", data, f"sample {sample.sensor}")
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
                self.publish("rig", {"rig": rig, "device": device, "guard": guard}, "rig")
            case EpisodeStarted(episode, task, agent, seed):
                data = {"id": episode, "task": task.id, "prompt": task.prompt, "agent": agent, "seed": seed}
                self._queue.put(lambda: self._begin(task, data))
            case EpisodeEnded(row):
                self._put_past(row)

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

    def _put_past(self, episode: EpisodeRow) -> None:
        shown = [(BY_NAME[name].heading, cell(name, episode.scores.get(name), 1)) for name in BRIEF]
        data = {
            "id": episode.id,
            "task": episode.task,
            "agent": episode.agent,
            "status": episode.status,
            "reason": episode.stop_reason,
            "scores": shown,
        }
        self.publish("past", data)

    def _begin(self, task: Task, data: Mapping[str, Any]) -> None:
        self._history.add("episode", data)
        self._unscored = False
        self._scorer = OnlineScorer(task.automaton, **self._scoring)

    def _take(self, k: int, data: Mapping[str, Any], call: Call) -> None:
        self._history.add("step", data, f"step {k}")
        if self._scorer is not None:
            self._scorer.step(call)
            self._unscored = True

    def _show_scores(self, scorer: OnlineScorer) -> None:
        scores = scorer.scores()
        values = scores.as_dict()
        shown = [(BY_NAME[name].heading, cell(name, _number(values[name]), 1)) for name in RUNNING]
        self._history.add(
            "scores", {"state": scorer.state, "accepted": scores.accepted, "scores": shown}, "scores"
        )

    def _work(self) -> None:
        going = True
        while going:
            work = self._queue.get()
            going = work is not None
            try:
                if work is not None:
                    work()
                # If steps arrive faster than they can be scored, only the latest scores are shown.
                if self._unscored and self._scorer is not None and self._queue.empty():
                    self._unscored = False
                    self._show_scores(self._scorer)
                if self._queue.empty():
                    # Batching: waking up for each event would slow down the run.
                    self._leaving.wait(BATCH_SECONDS)
            except Exception as error:
                self.trouble = self.trouble or f"{type(error).__name__}: {error}"
        self._history.add("over", {}, "over")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
