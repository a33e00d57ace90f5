"""Writes one self-contained HTML page of a log: agents compared, and each episode's path and harm."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from core_eval.log import DeviationRow, EpisodeRow, HarmRow, LogReader, PairRow, RunRow, StepRow
from core_eval.log.calls import logged_calls
from core_eval.path.drawing import FAINT, HARM, INK, PAPER, PATH_INK, to_svg
from core_eval.path.visible_text import LINE_AND_TAB, visible
from core_eval.report.aggregate import Aggregate
from core_eval.report.comparison import comparisons
from core_eval.report.episode_filter import EpisodeFilter, harm_done
from core_eval.report.event_choice import most_evident, trace_of
from core_eval.report.event_drawing import event_svg
from core_eval.report.harm_summary import by_kind, by_world_and_agent, read_harm
from core_eval.report.harm_tables import episodes_text, share_text
from core_eval.report.harm_words import amount, event_text, evidence_text, exposure
from core_eval.report.inexact import INEXACT_NOTE, inexact_json
from core_eval.report.left_record import by_twin, left_record_line
from core_eval.report.metrics import BY_NAME, METRICS, TABLE
from core_eval.report.model_lines import options_lines
from core_eval.report.no_call import no_call
from core_eval.report.no_rules import no_rules
from core_eval.report.repeated import by_agent, by_task_and_agent, pass_k, passed
from core_eval.report.summary import gated_value, means
from core_eval.report.tables import (
    SHOWN_TRIES,
    TASKS_TABLE,
    call_text,
    cell,
    difference_cell,
    episodes_cell,
    mean_cell,
    passed_cell,
    score_cell,
)
from core_eval.report.timeline import timeline_svg
from devices.harm import HarmRule
from sims.world_type import rule_of, unit_of

TEMPLATES = Path(__file__).parent / "templates"
DRAWINGS = 12
"""Maximum number of events that are drawn closely, of the episodes with the most harm: each needs a replay.
"""
DRAWN_PER_EPISODE = 2
STORIES = 100
"""Maximum number of episodes shown in full, those with the most harm; the rest are rows of a table."""
# In a page the picture takes the page's colours, which follow the reader's light or dark scheme.
PAGE_COLOURS = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    PATH_INK: "var(--trace)",
    HARM: "var(--harm)",
    PAPER: "var(--paper)",
}


@dataclass(frozen=True)
class AgentView:
    """A row of the table of agents."""

    name: str
    episodes: str
    passed: str
    cells: list[str]
    gated: str
    on_front: bool


@dataclass(frozen=True)
class TaskView:
    """A row of the table of tasks: one task with one agent."""

    name: str
    agent: str
    passed: str
    pass_k: dict[str, float]
    cells: list[str]


@dataclass(frozen=True)
class DifferenceView:
    """A row of the table of differences: one agent less another."""

    name: str
    pairs: int
    cells: list[str]


@dataclass(frozen=True)
class HarmView:
    """A harm event with its description and its time line."""

    row: HarmRow
    rule: HarmRule | None
    words: str
    exposure: str
    evidence: str
    drawing: Markup
    """The close drawing of the event; empty if there is none."""
    timeline: Markup


@dataclass(frozen=True)
class StepView:
    """A step with its effect on the world."""

    row: StepRow
    call: str
    harm: list[HarmView]
    deviation: DeviationRow | None
    by_twin: bool
    undoes: PairRow | None


@dataclass(frozen=True)
class EpisodeView:
    """An episode shown in full."""

    row: EpisodeRow
    passed: bool
    steps: list[StepView]
    picture: Markup
    scores: list[tuple[str, str]]


def html_report(
    reader: LogReader, aggregate: Aggregate, stories: int = STORIES, wanted: EpisodeFilter | None = None
) -> str:
    """Return the page; with `wanted`, of these episodes only.

    Raises:
        LogError: the log cannot be read.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        cell=cell,
        inexact_note=INEXACT_NOTE,
        passed=passed,
        score_cell=score_cell,
        share_text=share_text,
        episodes_text=episodes_text,
        no_call=no_call,
        amount=amount,
        exposure=exposure,
        rule_of=rule_of,
    )
    environment.filters["when"] = _when
    episodes = (wanted or EpisodeFilter()).choose(reader, reader.episodes())
    worst = sorted(episodes, key=harm_done)[:stories]
    shown = sorted(worst, key=lambda row: row.id)
    drawings = _drawings(reader, worst)
    harm = read_harm(reader, episodes)
    return environment.get_template("report.html.j2").render(
        file=reader.path.name,
        runs=[(run, _plan(run)) for run in reader.runs()],
        tasks_headings=[BY_NAME[name].heading for name in TASKS_TABLE],
        tries=SHOWN_TRIES,
        headings=[BY_NAME[name].heading for name in TABLE],
        inexact=inexact_json(episodes),
        agents=_agents(episodes, aggregate),
        options=options_lines(episodes),
        tasks=_tasks(episodes),
        differences=_differences(episodes),
        front_metrics=[BY_NAME[name].heading for name in aggregate.content.pareto],
        episodes=episodes,
        harm_groups=by_world_and_agent(harm),
        harm_kinds=by_kind(harm),
        no_rules=no_rules(episodes),
        left_record=left_record_line(episodes),
        table=TABLE,
        told={row.id for row in shown},
        first=worst[0].id if worst else None,
        stories=[_episode(reader, row, drawings.get(row.id, {})) for row in shown],
    )


def _agents(episodes: Sequence[EpisodeRow], aggregate: Aggregate) -> list[AgentView]:
    agents = by_agent(episodes)
    agent_means = {agent: means(rows) for agent, rows in agents.items()}
    front = aggregate.front(agent_means)
    views = []
    for agent, rows in agents.items():
        gated = gated_value(aggregate, rows)
        views.append(
            AgentView(
                name=agent,
                episodes=episodes_cell(rows),
                passed=passed_cell(rows),
                cells=[mean_cell(rows, name) for name in TABLE],
                gated="-" if gated is None else f"{gated:.3f}",
                on_front=agent in front,
            )
        )
    return views


def _tasks(episodes: Sequence[EpisodeRow]) -> list[TaskView]:
    return [
        TaskView(
            name=task,
            agent=agent,
            passed=passed_cell(rows),
            pass_k=pass_k(rows) or {},
            cells=[mean_cell(rows, name) for name in TASKS_TABLE],
        )
        for (task, agent), rows in by_task_and_agent(episodes).items()
    ]


def _differences(episodes: Sequence[EpisodeRow]) -> list[DifferenceView]:
    return [
        DifferenceView(
            name=f"{one.first} - {one.second}",
            pairs=one.pairs,
            cells=[difference_cell(one.differences[name], name) for name in TABLE],
        )
        for one in comparisons(episodes, TABLE)
    ]


def _drawings(reader: LogReader, episodes: Sequence[EpisodeRow]) -> dict[int, dict[int, Markup]]:
    """Return by episode the drawings of those of its events that are drawn closely, by index."""
    found: dict[int, dict[int, Markup]] = {}
    left = DRAWINGS
    for row in episodes:
        events, samples = reader.harm(row.id), reader.samples(row.id)
        own = found.setdefault(row.id, {})
        for event in most_evident(row.device, events):
            if len(own) == min(DRAWN_PER_EPISODE, left):
                break
            trace = trace_of(reader, row, event, samples)
            if trace is not None:
                svg = event_svg(event, trace, samples, unit_of(row.device, event.kind))
                own[events.index(event)] = Markup(svg)
        left -= len(own)
        if not left:
            break
    return found


def _episode(reader: LogReader, row: EpisodeRow, drawings: Mapping[int, Markup]) -> EpisodeView:
    steps = reader.steps(row.id)
    samples = reader.samples(row.id)
    harm = [
        HarmView(
            row=event,
            rule=rule_of(row.device, event.kind),
            words=event_text(row.device, event),
            exposure=exposure(rule_of(row.device, event.kind), event.exposure),
            evidence="" if event.observed is None else evidence_text(event.evidence),
            drawing=drawings.get(place, Markup("")),
            timeline=Markup(timeline_svg(event, samples)),
        )
        for place, event in enumerate(reader.harm(row.id))
    ]
    off_path = {deviation.k: deviation for deviation in reader.deviations(row.id)}
    undone = {pair.later: pair for pair in row.pairs}
    return EpisodeView(
        row=row,
        passed=passed(row),
        steps=[
            StepView(
                row=step,
                call=call_text(step.tool, step.arguments or {}),
                harm=[view for view in harm if view.row.k == step.k],
                deviation=off_path.get(step.k),
                by_twin=by_twin(row, step.k),
                undoes=undone.get(step.k),
            )
            for step in steps
        ],
        picture=_picture(reader, row, steps),
        scores=[
            (metric.heading, score_cell(row.scores, metric.name))
            for metric in METRICS
            if metric.name in row.scores
        ],
    )


def _picture(reader: LogReader, row: EpisodeRow, steps: Sequence[StepRow]) -> Markup:
    automaton = reader.automaton(row)
    # Several pictures share a page, so their markers need names of their own.
    svg = (
        to_svg(automaton, logged_calls(steps))
        .replace('id="', f'id="e{row.id}-')
        .replace("url(#", f"url(#e{row.id}-")
    )
    for colour, variable in PAGE_COLOURS.items():
        svg = svg.replace(f'"{colour}"', f'"{variable}"')
    return Markup(svg)


def _plan(run: RunRow) -> str:
    cells: Sequence[dict[str, Any]] = run.config.get("cells", [])
    parts = (dict.fromkeys(str(one[key]) for one in cells) for key in ("task", "rig", "agent"))
    return " × ".join(", ".join(part) for part in parts)


def shown_value(value: Any) -> Any:
    """Escape control and bidirectional characters of a value for the page."""
    if isinstance(value, Markup):
        return Markup(visible(str(value), LINE_AND_TAB))
    return visible(value, LINE_AND_TAB) if isinstance(value, str) else value


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
