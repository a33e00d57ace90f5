"""A run with a live page, on a thread of its own."""

from __future__ import annotations

import threading
from pathlib import Path

from core_eval.live.live_run import LiveRun
from core_eval.live.serving import Address
from core_eval.log import EpisodeRow, LogReader, RunLog, StepRow, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

LOCAL = Address("127.0.0.1", 0)
CALLS = {
    "unlock": '{"name": "unlock_safety_mode", "arguments": {}}',
    "move": '{"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}}',
    "lock": '{"name": "lock_safety_mode", "arguments": {}}',
    "bad": '{"name": "spray_pesticide", "arguments": {"plant_id": "<b>plant</b>", "ml": 5.0}}',
}


class LiveOnARig:
    """A run with a live page, on a thread of its own, so that the test is the person in front of the page."""

    def __init__(self, folder: Path, url: str, page: LiveRun, *calls: str, episodes: int = 1) -> None:
        script = folder / "calls.jsonl"
        script.write_text("".join(CALLS[call] + "\n" for call in calls))
        cell = Cell(task="water_one_plant", rig=url, agent=f"scripted:{script}")
        self.config = RunConfig(cells=(cell,), guard="confirm", episodes=episodes)
        self.db, self.page = folder / "log.db", page
        self.raised: BaseException | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        page = self.page
        try:
            with RunLog(self.db) as log:
                page.follow(self.db)
                parts = load_parts(self.config)
                Run(self.config, parts, log, ignore, page.approver, page.stop_button).start()
        except BaseException as error:
            self.raised = error

    def __enter__(self) -> LiveOnARig:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join(30.0)
        assert not self.thread.is_alive()

    def story(self) -> tuple[list[EpisodeRow], list[StepRow]]:
        self.thread.join(30.0)
        with LogReader(self.db) as reader:
            episodes = reader.episodes()
            return episodes, reader.steps(episodes[-1].id)
