"""Follows a log while runs write it, or a folder's newest, and shows its latest episode; only reads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from core_eval.live.background import Background
from core_eval.live.episode_events import (
    MOST_STEPS,
    past_data,
    pictures,
    question_data,
    sample_data,
    scores_data,
    status_data,
    step_data,
)
from core_eval.live.history import PAST, History
from core_eval.log import NO_AUTOMATON, EpisodeRow, LogError, LogReader, SampleRow, StepRow, logged_calls
from core_eval.path.calls import Call
from core_eval.path.scorer import OnlineScorer
from core_eval.run.config import RunConfig
from core_eval.run.pace import Pace
from core_eval.serve.day_files import logs
from core_eval.text.visible_text import seconds_text

POLL_SECONDS = 0.1
"""Between two questions whether somebody wrote to the log, s."""
LOOK_SECONDS = 1.0
"""Most time between two looks, s: the process of a running episode may have died without a word."""
DRAW_SECONDS = 1.0
"""Least time between two drawings, s."""
SAMPLES = 20_000
"""Samples that are kept for the drawings."""
CLOSE_SECONDS = 2.0


def _ignore(_camera: str) -> None: ...


class LogFollower(Background):
    """Adds what a log says to a history, on a thread while the context lasts; each look reads what is new.

    Attributes:
        trouble: why it shows no more, or not all.
        shown: the shown episode's id.

    Args:
        path: the log.
        history: where the events go.
        on_camera: receives the address of a picture before it is shown.
        after: only episodes after this id are shown.
    """

    def __init__(
        self, path: Path, history: History, on_camera: Callable[[str], None] = _ignore, *, after: int = 0
    ) -> None:
        # What is in the log at the end is still shown, within a time limit.
        super().__init__(f"live page: {path.name}", CLOSE_SECONDS)
        self.trouble: str | None = None
        self.path = path
        self._history = history
        self._on_camera = on_camera
        self._last = after
        self._open: set[int] = set()
        self._damaged: set[int] = set()
        self._run: FollowedRun | None = None
        self._shown: _Shown | None = None
        self._ended: int | None = None

    @property
    def shown(self) -> int | None:
        """The id of the shown episode."""
        return None if self._shown is None else self._shown.row.id

    def _work(self) -> None:
        try:
            with LogReader(self.path) as reader:
                changes, looked, leaving = -1, 0.0, False
                while not leaving:
                    leaving = self._leaving.wait(POLL_SECONDS if changes >= 0 else 0.0)
                    now = time.monotonic()
                    if leaving or (found := reader.changes()) != changes or now - looked > LOOK_SECONDS:
                        changes, looked = changes if leaving else found, now
                        self._look(reader)
                    if self._shown is not None:
                        self._shown.draw(at_once=leaving)
        except LogError as error:
            self._tell(str(error))
        except Exception as error:
            self._tell(f"{type(error).__name__}: {error}")

    def _tell(self, trouble: str) -> None:
        self.trouble = trouble
        self._history.add("notice", {"text": trouble}, "notice")

    def _look(self, reader: LogReader) -> None:
        """Add what is new since the last look."""
        new = reader.episode_ids(after=self._last)[-PAST:]
        self._last = new[-1] if new else self._last
        asked = self._open | set(new)
        rows = reader.episodes(ids=asked, on_damage=lambda _, why: self._tell(why)) if asked else []
        over = [row for row in rows if _is_over(row)]
        self._open = {row.id for row in rows} - {row.id for row in over}
        self._follow(reader, rows)
        for row in over:
            if self._run is not None and row.run_id == self._run.id:
                self._run.take(row)
            self._history.add("past", past_data(row))
        if self._shown is not None and self._shown.row.id not in self._open:
            run = reader.run(self._shown.row.run_id)
            if run.ended is not None and run.id != self._ended:
                self._ended = run.id
                self._history.add("ended", {"run": run.id}, "ended")

    def _follow(self, reader: LogReader, rows: list[EpisodeRow]) -> None:
        """Show the episode that is shown while it runs, then the latest running one, or the latest."""
        rows = [one for one in rows if one.definition.automaton != NO_AUTOMATON]
        row = next((one for one in rows if one.id == self.shown), None)
        if row is not None:
            self._show(reader, row)
        if row is None or row.status != "running":
            running = [one for one in rows if one.status == "running"]
            for newest in (running or rows)[-1:]:
                if newest.id > (self.shown or 0):
                    self._show(reader, newest)

    def _show(self, reader: LogReader, row: EpisodeRow) -> None:
        """Add what is new of an episode; of a damaged one, its fault."""
        if row.id in self._damaged:
            return
        try:
            if self._shown is None or row.id != self._shown.row.id:
                self._shown = self._begin(reader, row)
            self._shown.follow(reader, row)
        except LogError as error:
            self._damaged.add(row.id)
            self._tell(str(error))

    def _begin(self, reader: LogReader, row: EpisodeRow) -> _Shown:
        if self._run is None or self._run.id != row.run_id:
            self._run = FollowedRun(reader, row.run_id)
        data = {"id": row.id, "task": row.task, "prompt": row.definition.prompt, "agent": row.agent}
        self._history.add("episode", {**data, "seed": row.seed, "place": self._run.place(row)})
        camera = self._run.camera(row)
        if camera is not None:
            self._on_camera(camera)
        return _Shown(reader, row, self._history, camera)


class _Shown:
    """The episode that is shown, and what of it is."""

    def __init__(self, reader: LogReader, row: EpisodeRow, history: History, camera: str | None) -> None:
        self.row = row
        self._history = history
        self._camera = camera
        automaton = reader.automaton(row)
        assert automaton is not None, "what has no task is not followed"
        self._scorer = OnlineScorer(automaton, **row.scoring)
        self._ready: tuple[str, str] | None = None
        self._steps: list[StepRow] = []
        self._samples: deque[SampleRow] = deque(maxlen=SAMPLES)
        self._answered = self._asked = -1
        self._sampled = self._status = self._question = 0
        self._waiting: int | None = None
        self._drawn, self._changed = 0.0, True
        history.add("scores", scores_data(self._scorer), "scores")

    def follow(self, reader: LogReader, row: EpisodeRow) -> None:
        """Add what is new of the episode."""
        self.row = row
        if (ready := (row.device, row.guard)) != self._ready:
            self._ready = ready
            rig = {"rig": row.rig, "device": row.device, "guard": row.guard, "camera": self._camera}
            self._history.add("rig", rig, "rig")
        for status in reader.rig_statuses(row.id, self._status):
            self._status = status.id or 0
            for said in status_data(status.source, status.state, (status.detail or {}).get("stop_input")):
                self._history.add("status", said, f"status {said['source']}")
        self._ask(reader)
        self._take_steps(reader.steps(row.id, self._answered))
        if samples := reader.samples(row.id, self._sampled):
            self._sampled += len(samples)
            self._samples.extend(samples)
            self._changed = True
            for sample in {one.sensor: one for one in samples}.values():
                self._history.add("sample", sample_data(sample), f"sample {sample.sensor}")

    def draw(self, *, at_once: bool) -> None:
        """Draw the pictures where something has changed since the last time."""
        now = time.monotonic()
        if not self._changed or (now - self._drawn < DRAW_SECONDS and not at_once):
            return
        self._drawn, self._changed = now, False
        if self._answered < MOST_STEPS:
            drawn = pictures(self.row, self._scorer.automaton, self._steps, self._samples)
            self._history.add("pictures", drawn, "pictures")

    def _ask(self, reader: LogReader) -> None:
        for question in reader.questions(self.row.id, self._question):
            if question.id != self._waiting:
                self._history.add("question", question_data(question), "question")
            self._waiting = question.id
            if question.answer is None and self.row.status == "running":
                return
            self._question = question.id or 0
            self._history.add("answered", question_data(question), "question")

    def _take_steps(self, steps: list[StepRow]) -> None:
        answered = [step for step in steps if step.status is not None]
        for step in answered:
            self._answered = step.k
            self._history.add("step", step_data(step), f"step {step.k}")
        for call in logged_calls(answered):
            self._scorer.step(call)
        if answered:
            self._steps += answered
            self._changed = True
            self._history.add("scores", scores_data(self._scorer), "scores")
        for step in steps:
            if step.status is None and step.k > max(self._answered, self._asked):
                self._asked = step.k
                kind = self._scorer.peek(Call(step.tool or "", step.arguments or {})).kind
                self._history.add("call", step_data(step) | {"kind": kind}, f"step {step.k}")


def _is_over(row: EpisodeRow) -> bool:
    """Return whether nothing more is to be said of an episode: it has ended, and is scored if it can be."""
    return row.status != "running" and (bool(row.scores) or row.status not in ("completed", "stopped"))


class FollowedRun:
    """A run of a log; its episodes are read once, later ones are given to `take`."""

    def __init__(self, reader: LogReader, run_id: int) -> None:
        self.id = run_id
        run = reader.run(run_id)
        self._over = run.ended is not None
        try:
            self._config: RunConfig | None = RunConfig.from_log(run.config)
        except ValidationError:
            # Of a version that has other options.
            self._config = None
        self._pace = Pace()
        self._taken: set[int] = set()
        self._begun: set[int] = set()
        for row in reader.episodes(run_id, on_damage=lambda *_: None):
            self.take(row)

    def take(self, row: EpisodeRow) -> None:
        """Take an episode that has begun, or is over."""
        self._begun.add(row.number)
        if row.id not in self._taken and row.wall_seconds is not None:
            self._taken.add(row.id)
            self._pace.add(row.agent, row.wall_seconds)

    def place(self, row: EpisodeRow) -> str:
        """Return which episode of the run this is, and about how long the run goes on."""
        if self._config is None:
            return f"episode {row.number + 1}"
        plan, names = self._config.plan(), self._config.names
        place = f"episode {row.number + 1} of {len(plan)}"
        self._begun.add(row.number)
        left = [row.agent, *(names[cell.agent] for number, cell, _ in plan if number not in self._begun)]
        seconds = self._pace.seconds(left)
        known = seconds is not None and row.status == "running" and not self._over
        return f"{place}, about {seconds_text(seconds or 0.0)} left" if known else place

    def camera(self, row: EpisodeRow) -> str | None:
        """Return the address of a rig's picture; None where its file names none, or is not here."""
        plan = () if self._config is None else self._config.plan()
        try:
            return next((load_rig(cell.rig).camera for number, cell, _ in plan if number == row.number), None)
        except ConfigError:
            return None


NEW_LOG_SECONDS = 2.0
FOLDER_CLOSE_SECONDS = 5.0


class DayFollower(Background):
    """Adds what the newest log of a rig's folder says to a history, while the context lasts."""

    def __init__(self, folder: Path, history: History, on_camera: Callable[[str], None]) -> None:
        super().__init__(f"days of {folder.name}", FOLDER_CLOSE_SECONDS)
        self.path: Path | None = None
        self._folder, self._history, self._on_camera = folder, history, on_camera

    def _work(self) -> None:
        with ExitStack() as stack:
            while True:
                newest = self._newest()
                if newest != self.path and newest is not None:
                    stack.close()
                    self.path = newest
                    stack.enter_context(LogFollower(newest, self._history, self._on_camera))
                if self._leaving.wait(NEW_LOG_SECONDS):
                    return

    def _newest(self) -> Path | None:
        """Return the newest log with tables."""
        for path in reversed(logs(self._folder)):
            try:
                LogReader(path).connection.close()
            except LogError:
                continue
            return path
        return None
