"""The scorings of a log side by side: which pathrig scored, when, and what it could not judge."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core_eval.log import EpisodeRow, LogReader, RunRow, ScoringRow
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.values import cell
from core_eval.score.metrics import BY_NAME
from core_eval.score.summary import mean
from core_eval.text.visible_text import visible
from sims.world_type import world_of_device

MOST_NAMED = 6
"""Tasks, rigs or agents of a run's plan that are named; of more there is the number."""


def runs_table(runs: Iterable[RunRow]) -> Table:
    """Return one row a run."""
    table = Table("run", "created (UTC)", "ended", "plan", numbers=("run", "created (UTC)"))
    for run in runs:
        created = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(run.created))
        table.add_row(str(run.id), created, "no" if run.ended is None else "yes", visible(plan_text(run)))
    return table


def plan_text(run: RunRow) -> str:
    """Return a run's plan: its tasks, rigs and agents by name, or their number where they are many."""
    if imported := run.config.get("imported"):
        return f"import of {', '.join(map(str, imported))}"
    cells: Sequence[Mapping[str, Any]] = run.shown_config.get("cells", [])
    parts = []
    for key in ("task", "rig", "agent"):
        names = list(dict.fromkeys(str(one[key]) for one in cells))
        parts.append(f"{len(names)} {key}s" if len(names) > MOST_NAMED else ", ".join(names))
    episodes = run.config.get("episodes", "?")
    plan = " x ".join([*parts, *([] if episodes == 1 else [f"{episodes} episodes"])])
    return f"suite {', '.join(run.suites)}: {plan}" if run.suites else plan


COMPARED = ("path_correctness", "harmful_calls", "harm_events", "unobserved_harm", "final_state_ok")
NEW = "now, not written"


@dataclass(frozen=True)
class Scored:
    """An episode with the scores of one scoring, and that scoring's name."""

    row: EpisodeRow
    by: str
    judged: bool


def logged(reader: LogReader, episodes: Iterable[EpisodeRow]) -> list[Scored]:
    """Return every scoring of these episodes."""
    return [
        Scored(replace(row, scores=reader.scores(row.id, one.id)), name(one), one.judged)
        for row in episodes
        for one in row.scorings
    ]


def name(scoring: ScoringRow) -> str:
    """Return the version, the reading if it is not the first, and the day of a scoring."""
    reading = "" if scoring.reading == 1 else f" reading {scoring.reading}"
    day = "" if scoring.created is None else time.strftime(", %Y-%m-%d", time.gmtime(scoring.created))
    return visible(f"pathrig {scoring.version}{reading}{day}")


def scorings_table(scored: Sequence[Scored]) -> Table | None:
    """Return the means of each scoring, oldest first; None if there is only one."""
    groups: dict[str, list[Scored]] = {}
    for one in scored:
        groups.setdefault(one.by, []).append(one)
    if len(groups) < 2:
        return None
    numbers = ("episodes", "harm judged", *(BY_NAME[metric].heading for metric in COMPARED))
    table = Table("scored by", *numbers, numbers=numbers)
    for by, group in groups.items():
        rows = [one.row for one in group]
        means = (cell(metric, mean(rows, metric), len(rows)) for metric in COMPARED)
        table.add_row(by, str(len(rows)), str(sum(one.judged for one in group)), *means)
    return table


def harm_note(judged: bool, note: str | None, earlier: Sequence[ScoringRow]) -> str | None:
    """Return what a scoring does not know of the harm, and whose harm stays; None if it knows all."""
    if judged or note is None:
        return note
    known = [scoring for scoring in earlier if scoring.judged]
    kept = f"; it stays as judged by {name(known[-1])}" if known else ""
    return f"harm could not be judged: {note}{kept}"


def latest_notes(episodes: Iterable[EpisodeRow]) -> list[str]:
    """Return the notes of the latest scorings; none of devices without rules, of which `no_rules` tells."""
    return notes(
        (row.id, harm_note(row.scorings[-1].judged, row.scorings[-1].note, row.scorings[:-1]))
        for row in episodes
        if row.scorings and row.imported is None and world_of_device(row.device) is not None
    )


def notes(noted: Iterable[tuple[int, str | None]]) -> list[str]:
    """Return each note once, after the numbers of the episodes that have it."""
    of: dict[str, list[int]] = {}
    for episode, note in noted:
        if note is not None:
            of.setdefault(note, []).append(episode)
    return [f"{numbered(episodes)}: {visible(note)}" for note, episodes in of.items()]


def numbered(episodes: Sequence[int]) -> str:
    """Return `episode 3`, or `episodes 1-3, 7`; the numbers are in order."""
    runs: list[list[int]] = []
    for one in episodes:
        if runs and runs[-1][1] == one - 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    text = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
    return f"episode{'' if len(episodes) == 1 else 's'} {text}"
