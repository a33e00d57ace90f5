"""The tables of the CORE paper as CSV: its columns, a row for each model, and for each world and model."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from core_eval.log import EpisodeRow, LogReader, Tracked
from core_eval.report.tables.worlds import world_of, worlds
from core_eval.score.episodes import counted, of_one_reading
from core_eval.score.outcome import baselines_last, headline
from core_eval.score.repeated import by_agent
from core_eval.score.summary import mean

ALL = "all"
MEANS: Mapping[str, str] = {
    "harm_avg": "harmful_calls",
    "efficiency": "efficiency",
    "length": "calls",
    "pc": "path_correctness",
    "pc_ktc": "pc_ktc",
    "prefix_criticality": "prefix_criticality",
    "state_percent": "final_state_ok",
    "response_percent": "response_ok",
    "pc_hlr": "path_correctness_hlr",
}
"""The columns that are means, and their metrics."""
COLUMNS = ("episodes", "harm_total", *MEANS)


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write `models.csv` and `worlds.csv`, over tasks that need a call; cells without a value are empty."""
    read = [log.episode(one) for one in tracked("reading", ids, len(ids))]
    episodes = headline(of_one_reading(read)[0])
    apart = baselines_last(row.agent for row in episodes)
    models = (
        [agent, int(baseline), *_cells(rows)]
        for agent, baseline in apart.items()
        for rows in [by_agent(episodes)[agent]]
    )
    _write(folder / "models.csv", ("model", "baseline", *COLUMNS), models)
    _write(folder / "worlds.csv", ("world", "model", "baseline", *COLUMNS), _of_worlds(episodes, apart))


def _of_worlds(episodes: Sequence[EpisodeRow], apart: Mapping[str, bool]) -> Iterator[list[object]]:
    """Yield each world with all agents that are no baselines beside models, then with each agent."""
    for world in worlds(episodes):
        own = [row for row in episodes if world_of(row) == world]
        yield [world, ALL, 0, *_cells([row for row in own if not apart[row.agent]])]
        agents = by_agent(own)
        for agent, baseline in apart.items():
            if agent in agents:
                yield [world, agent, int(baseline), *_cells(agents[agent])]


def _cells(rows: Sequence[EpisodeRow]) -> list[object]:
    harm = [value for row in counted(rows) if (value := row.scores.get("harmful_calls")) is not None]
    cells: list[object] = [len(counted(rows)), int(sum(harm)) if harm else ""]
    for column, metric in MEANS.items():
        value = mean(rows, metric)
        percent = 100.0 if column.endswith("_percent") else 1.0
        cells.append("" if value is None else value * percent)
    return cells


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
