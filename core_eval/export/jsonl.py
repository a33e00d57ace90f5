"""JSON lines: one episode a line, with everything that the log has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core_eval.log import EpisodeRow, LogReader, Tracked
from core_eval.log.row_map import named
from core_eval.text.json_text import json_text


def write(log: LogReader, ids: Sequence[int], path: Path, tracked: Tracked) -> None:
    """Write a line per episode."""
    runs = {run.id: asdict(run) | {"config": run.shown_config} for run in log.runs()}
    with path.open("w", encoding="utf-8") as file:
        for episode_id in tracked("writing episodes", ids, len(ids)):
            episode = log.episode(episode_id)
            file.write(json_text({"run": runs[episode.run_id], **_whole(log, episode)}) + "\n")


def _whole(log: LogReader, episode: EpisodeRow) -> dict[str, Any]:
    steps = log.steps(episode.id)
    turns = log.turns(episode.id)
    return {
        "episode": asdict(episode),
        "machine_cost": asdict(log.machine_cost(episode.id)),
        "steps": [named(step) for step in steps],
        "last_turn": next((asdict(turn) for k, turn in turns.items() if k >= len(steps)), None),
        "samples": [asdict(sample) for sample in log.samples(episode.id)],
        "harm": [asdict(event) for event in log.harm(episode.id)],
        "deviations": [asdict(row) for row in log.deviations(episode.id)],
        "truth": [asdict(row) for row in log.truth(episode.id)],
    }
