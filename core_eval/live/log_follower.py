"""Follows a log that another process writes, and shows its latest episode on the live page; only reads."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

from core_eval.live.episode_events import past_data, sample_data, scores_data, step_data
from core_eval.live.history import PAST, History
from core_eval.live.pictures import pictures
from core_eval.log import EpisodeRow, LogError, LogReader, RunRow, StepRow
from core_eval.path import Call, OnlineScorer

POLL_SECONDS = 0.5


class LogFollower:
    """Adds what a log says to a history, on a thread while the context lasts.

    Args:
        path: the log.
        history: where the events go.
    """

    def __init__(self, path: Path, history: History) -> None:
        self.trouble: str | None = None
        self._path = path
        self._history = history
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"watch: {path.name}", daemon=True)
        self._told: set[int] = set()
        self._shown: int | None = None
        self._scorer: OnlineScorer | None = None
        self._answered = self._asked = self._sampled = -1

    def __enter__(self) -> LogFollower:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            with LogReader(self._path) as reader:
                while True:
                    self._look(reader)
                    if self._leaving.wait(POLL_SECONDS):
                        return
        except LogError as error:
            self.trouble = str(error)
            self._history.add("notice", {"text": self.trouble}, "notice")

    def _look(self, reader: LogReader) -> None:
        """Add what is new since the last look."""
        for number in reader.episode_ids()[-PAST:]:
            if number in self._told:
                continue
            row = reader.episode(number)
            if number != self._shown:
                self._begin(reader, row)
            self._follow(reader, row)
            if row.status != "running" and (row.scores or row.status not in ("completed", "stopped")):
                self._told.add(number)
                self._history.add("past", past_data(row))

    def _begin(self, reader: LogReader, row: EpisodeRow) -> None:
        self._shown = row.id
        self._answered = self._asked = self._sampled = -1
        self._scorer = OnlineScorer(reader.automaton(row), **row.scoring)
        place = f"episode {row.number + 1} of {_planned(reader.run(row.run_id))}"
        data = {"id": row.id, "task": row.task, "prompt": row.definition.prompt, "agent": row.agent}
        self._history.add("episode", {**data, "seed": row.seed, "place": place})
        self._history.add("rig", {"rig": row.rig, "device": row.device, "guard": row.guard}, "rig")
        self._history.add("scores", scores_data(self._scorer), "scores")

    def _follow(self, reader: LogReader, row: EpisodeRow) -> None:
        assert self._scorer is not None
        steps, samples = reader.steps(row.id), reader.samples(row.id)
        new = [step for step in steps if step.k > self._answered and step.status is not None]
        for step in new:
            self._answered = step.k
            self._history.add("step", step_data(step), f"step {step.k}")
            self._scorer.step(_call(step))
        if new:
            self._history.add("scores", scores_data(self._scorer), "scores")
        for step in steps:
            if step.status is None and step.k > max(self._answered, self._asked):
                self._asked = step.k
                data = step_data(step) | {"action": step.guard_action or "allow"}
                self._history.add("call", data | {"reason": step.guard_reason or ""}, f"step {step.k}")
        latest = {sample.sensor: sample for sample in samples}
        if (new or len(samples) != self._sampled) and (drawn := pictures(reader, row)) is not None:
            self._history.add("pictures", drawn, "pictures")
            for sample in latest.values():
                self._history.add("sample", sample_data(sample), f"sample {sample.sensor}")
        self._sampled = len(samples)


def _call(step: StepRow) -> Call:
    assert step.status is not None
    return Call(step.tool or "", step.arguments or {}, step.status)


def _planned(run: RunRow) -> int:
    return len(run.config.get("cells", ())) * int(run.config.get("episodes", 1))
