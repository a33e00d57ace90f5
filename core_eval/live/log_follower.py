"""Follows a log that another process writes, and shows its latest episode on the live page; only reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from core_eval.live.episode_events import past_data, sample_data, scores_data, step_data
from core_eval.live.history import PAST, History
from core_eval.live.pictures import pictures
from core_eval.log import EpisodeRow, LogError, LogReader, RunRow, StepRow
from core_eval.path import Call, OnlineScorer
from core_eval.run.config import RunConfig
from core_eval.run.pace import Pace
from core_eval.text.durations import seconds_text

POLL_SECONDS = 0.5


def _ignore(_camera: str) -> None: ...


class LogFollower:
    """Adds what a log says to a history, on a thread while the context lasts.

    Args:
        path: the log.
        history: where the events go.
        on_camera: receives the address of a picture before it is shown.
    """

    def __init__(self, path: Path, history: History, on_camera: Callable[[str], None] = _ignore) -> None:
        self.trouble: str | None = None
        self._path = path
        self._history = history
        self._on_camera = on_camera
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"watch: {path.name}", daemon=True)
        self._told: set[int] = set()
        self._shown: int | None = None
        self._scorer: OnlineScorer | None = None
        self._answered = self._asked = self._sampled = -1
        self._statuses = 0
        self._ended: int | None = None

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
        numbers = reader.episode_ids()
        for number in numbers[-PAST:]:
            if number in self._told:
                continue
            row = reader.episode(number)
            over = row.status != "running" and (row.scores or row.status not in ("completed", "stopped"))
            # Of episodes that were over before, only the last one is drawn.
            if number == numbers[-1] or not over or number == self._shown:
                if number != self._shown:
                    self._begin(reader, row)
                self._follow(reader, row)
            if over:
                self._told.add(number)
                self._history.add("past", past_data(row))
        if numbers and numbers[-1] in self._told:
            run = reader.run(reader.episode(numbers[-1]).run_id)
            if run.ended is not None and run.id != self._ended:
                self._ended = run.id
                self._history.add("ended", {"run": run.id}, "ended")

    def _begin(self, reader: LogReader, row: EpisodeRow) -> None:
        self._shown, self._statuses = row.id, 0
        self._answered = self._asked = self._sampled = -1
        self._scorer = OnlineScorer(reader.automaton(row), **row.scoring)
        run = reader.run(row.run_id)
        data = {"id": row.id, "task": row.task, "prompt": row.definition.prompt, "agent": row.agent}
        self._history.add("episode", {**data, "seed": row.seed, "place": place_of(reader, run, row)})
        camera = camera_of(run, row)
        if camera is not None:
            self._on_camera(camera)
        rig = {"rig": row.rig, "device": row.device, "guard": row.guard, "camera": camera}
        self._history.add("rig", rig, "rig")
        self._history.add("scores", scores_data(self._scorer), "scores")

    def _follow(self, reader: LogReader, row: EpisodeRow) -> None:
        assert self._scorer is not None
        for status in reader.rig_statuses(row.id)[self._statuses :]:
            self._statuses += 1
            self._history.add(
                "status", {"source": status.source, "state": status.state}, f"status {status.source}"
            )
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


def place_of(reader: LogReader, run: RunRow, row: EpisodeRow) -> str:
    """Return which episode of its run this is, and about how long the run goes on."""
    config = _config(run)
    if config is None:
        return f"episode {row.number + 1}"
    plan = config.plan()
    place = f"episode {row.number + 1} of {len(plan)}"
    if run.ended is not None or row.status != "running":
        return place
    pace, begun = Pace(), {row.number}
    for other in reader.episodes(run.id):
        begun.add(other.number)
        if other.number != row.number and other.wall_seconds is not None:
            pace.add(other.agent, other.wall_seconds)
    left = [row.agent, *(config.names[cell.agent] for number, cell, _ in plan if number not in begun)]
    seconds = pace.seconds(left)
    return place if seconds is None else f"{place}, about {seconds_text(seconds)} left"


def camera_of(run: RunRow, row: EpisodeRow) -> str | None:
    """Return the address of a rig's picture; None where its file names none, or is not here."""
    config = _config(run)
    if config is None:
        return None
    refs = [cell.rig for number, cell, _ in config.plan() if number == row.number]
    try:
        return load_rig(refs[0]).camera if refs else None
    except ConfigError:
        return None


def _config(run: RunRow) -> RunConfig | None:
    """Return the configuration of a run; None of one that this version does not know."""
    try:
        return RunConfig.from_log(run.config)
    except ValidationError:
        return None


def _call(step: StepRow) -> Call:
    assert step.status is not None
    return Call(step.tool or "", step.arguments or {}, step.status)
