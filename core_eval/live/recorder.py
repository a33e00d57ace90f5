"""Turns listener events into events of the live page, on a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from core_eval.harness.listener import Listener
from core_eval.live.history import History
from core_eval.path import Call, OnlineScorer
from core_eval.report.metrics import BY_NAME
from core_eval.report.tables import call_text, cell
from devices.outcome import Outcome
from devices.sensors import Sample

if TYPE_CHECKING:
    from configs.tasks_loader import Task
    from core_eval.log import EpisodeRow
    from firmware_bridge.guard import GuardDecision

RUNNING = (
    "path_correctness",
    "pc_ktc",
    "path_correctness_hlr",
    "prefix_criticality",
    "harmful_calls",
    "harmful_call_rate",
    "efficiency",
)
"""Scores that are shown while an episode runs."""
PAST = ("path_correctness", "harmful_calls", "unobserved_harm")
CLOSE_SECONDS = 2.0
BATCH_SECONDS = 0.03
"""Pause between two batches of events, s."""


class LiveRecorder(Listener):
    """A `Listener` whose methods return at once: its thread does the work and keeps the first error.

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

    def episode_started(self, episode: int, task: Task, agent: str, seed: int) -> None:
        """Start a new page."""
        data = {"id": episode, "task": task.id, "prompt": task.prompt, "agent": agent, "seed": seed}
        self._queue.put(lambda: self._begin(task, data))

    def rig_ready(self, rig: str, device: str, guard: str) -> None:
        """Show the rig and its guard mode."""
        self.publish("rig", {"rig": rig, "device": device, "guard": guard}, "rig")

    def decided(
        self, k: int, tool: str, arguments: Mapping[str, Any], kind: str, decision: GuardDecision
    ) -> None:
        """Show a call that is sent, or was blocked."""
        call = {"k": k, "call": call_text(tool, arguments), "kind": kind}
        self.publish("call", {**call, "action": decision.action, "reason": decision.reason}, f"call {k}")

    def step(
        self, k: int, tool: str | None, arguments: Mapping[str, Any], outcome: Outcome, kind: str
    ) -> None:
        """Show a step with its outcome, and the scores so far."""
        data = {
            "k": k,
            "call": call_text(tool, arguments),
            "kind": kind,
            "status": outcome.status,
            "code": outcome.code,
            "message": outcome.message,
            "value": None if outcome.value is None else dict(outcome.value),
            "seconds": outcome.duration,
        }
        call = Call(tool or "", arguments, outcome.status)  # type: ignore[arg-type]
        self._queue.put(lambda: self._take(k, data, call))

    def sample(self, sample: Sample) -> None:
        """Show the latest reading of each sensor."""
        data = {"sensor": sample.sensor, "value": sample.value, "t": sample.t}
        self.publish("sample", data, f"sample {sample.sensor}")

    def rig_status(self, source: str, state: str) -> None:
        """Show the latest status from the rig or the host."""
        self.publish("status", {"source": source, "state": state}, f"status {source}")

    def episode_ended(self, episode: EpisodeRow) -> None:
        """Show a permanent line for the episode."""
        shown = [(BY_NAME[name].heading, cell(name, episode.scores.get(name), 1)) for name in PAST]
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
