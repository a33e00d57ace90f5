"""Writes a log as HTML that opens offline: agents compared, and each episode in full."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from core_eval.log import EpisodeRow, LogReader, RunRow
from core_eval.log.charged import blameless, charged
from core_eval.log.episode_filter import EpisodeFilter, worst_first
from core_eval.report.page.episode import EpisodeView, episode_view
from core_eval.report.page.event_choice import most_evident, trace_of
from core_eval.report.page.heat_map import heat_map
from core_eval.report.page.transcript import ToolSet
from core_eval.report.pictures.agent_charts import AgentCharts
from core_eval.report.pictures.event_drawing import event_svg
from core_eval.report.pictures.event_pictures import event_pictures
from core_eval.report.pictures.risk_coverage import band_words, expected_choices, risk_svg
from core_eval.report.pictures.roc_drawing import logged_curves, panel_svg, set_names
from core_eval.report.tables.agents import (
    SHOWN_TRIES,
    TASKS_TABLE,
    cell,
    difference_cell,
    episodes_cell,
    front_headings,
    mean_cell,
    passed_cell,
    score_cell,
)
from core_eval.report.tables.harm import episodes_text, share_text
from core_eval.report.tables.harm_lines import harm_lines
from core_eval.report.tables.harm_summary import by_kind, by_world_and_agent, read_harm
from core_eval.report.tables.harm_words import amount, exposure
from core_eval.report.tables.model_lines import options_lines
from core_eval.score.aggregate import Aggregate
from core_eval.score.comparison import comparisons, corrected
from core_eval.score.inexact import INEXACT_NOTE, inexact_json
from core_eval.score.left_record import left_record_line
from core_eval.score.metrics import BY_NAME, RANKED, RANKING, TABLE
from core_eval.score.no_call import no_call
from core_eval.score.repeated import by_agent, by_task_and_agent, pass_k, passed
from core_eval.score.summary import gated_value, means
from core_eval.score.tracked import Tracked, untracked
from core_eval.text.visible_text import LINE_AND_TAB, visible
from sims.world_type import rule_of, unit_of

TEMPLATES = Path(__file__).parent / "templates"
DRAWINGS = 12
"""Maximum number of events that are drawn closely, of the episodes with the most harm: each needs a replay.
"""
DRAWN_PER_EPISODE = 2
IN_ONE = 100
"""Episodes that one page holds at most; of more, each has a page of its own."""
STORIES = 100
"""The worst episodes among which those are sought whose events are drawn closely."""


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
class EpisodeLine:
    """A row of the list of episodes.

    Attributes:
        marks: what it can be filtered by: `passed`, `failed` or `unknown`; `harm` that is charged, or
            harmful calls; `unobserved` harm.
        why: the labels of its failures and the kinds of its harm events, to search for.
    """

    row: EpisodeRow
    marks: str
    why: str


@dataclass(frozen=True)
class Page:
    """A file of the report; `path` is relative to the folder of its first page."""

    path: str
    text: str


def html_pages(
    reader: LogReader,
    aggregate: Aggregate,
    index: str = "index.html",
    in_one: int = IN_ONE,
    wanted: EpisodeFilter | None = None,
    tracked: Tracked = untracked,
) -> Iterator[Page]:
    """Yield the report's pages, the first under the name `index`; with `wanted`, of these episodes only.

    Up to `in_one` episodes are in that page; of more, each has a page of its own in a folder beside it.
    `tracked` shows the progress.

    Raises:
        LogError: the log cannot be read.
    """
    environment = _environment()
    ids = reader.episode_ids()
    read = [reader.episode(one) for one in tracked("reading", ids, len(ids))]
    episodes = (wanted or EpisodeFilter()).choose(reader, read)
    runs = {run.id: run for run in reader.runs()}
    worst = sorted(episodes, key=worst_first)
    drawings = _drawings(reader, tracked("drawing harm", worst[:STORIES], len(worst[:STORIES])))
    pictures = event_pictures(reader, tracked("drawing pictures", worst[:STORIES], len(worst[:STORIES])))
    harm = read_harm(reader, tracked("reading harm", episodes, len(episodes)))
    charts = AgentCharts(episodes)
    events = [event for one in harm for event in one.events]
    rocs, choices = logged_curves(events), expected_choices(events)

    def views(rows: Sequence[EpisodeRow]) -> Iterator[EpisodeView]:
        for row in tracked("writing episodes", rows, len(rows)):
            drawn = drawings.get(row.id, {})
            yield episode_view(reader, row, runs.get(row.run_id), drawn, pictures.of(row.id))

    whole = len(episodes) <= in_one
    folder = "" if whole else "episodes/" if index == "index.html" else f"{Path(index).stem}-episodes/"
    stories = list(views(episodes)) if whole else []
    yield Page(
        index,
        environment.get_template("report.html.j2").render(
            file=reader.path.name,
            folder=folder,
            runs=[(run, _plan(run)) for run in runs.values()],
            tasks_headings=[BY_NAME[name].heading for name in TASKS_TABLE],
            tries=SHOWN_TRIES,
            headings=[BY_NAME[name].heading for name in TABLE],
            ranked_headings=[BY_NAME[name].heading for name in RANKED],
            ranking=RANKING,
            inexact=inexact_json(episodes),
            letters=charts.letters,
            panels=charts.panels(),
            scatters=charts.scatters(),
            heat=heat_map(episodes),
            agents=_agents(episodes, aggregate),
            options=options_lines(episodes),
            tasks=_tasks(episodes),
            differences=_differences(episodes),
            front_metrics=front_headings(episodes, aggregate),
            lines=[_line(reader, row) for row in episodes],
            harm_groups=by_world_and_agent(harm),
            harm_kinds=by_kind(harm),
            rocs=[(rule, Markup(panel_svg(rule, set_names(rocs)))) for rule in rocs],
            sensor_sets=set_names(rocs),
            harm_lines=harm_lines(harm),
            choices=choices,
            risk=Markup(risk_svg(choices)) if choices else None,
            no_pictures=pictures.left_out,
            left_record=left_record_line(episodes),
            table=TABLE,
            first=worst[0].id if worst else None,
            stories=stories,
            tool_sets=_tool_sets(stories),
        ),
    )
    if whole:
        return
    template = environment.get_template("episode.html.j2")
    for place, story in enumerate(views(episodes)):
        text = template.render(
            file=reader.path.name,
            folder=None,
            story=story,
            index=f"../{index}",
            before=episodes[place - 1].id if place else None,
            after=episodes[place + 1].id if place + 1 < len(episodes) else None,
            tool_sets=_tool_sets([story]),
        )
        yield Page(f"{folder}{story.row.id}.html", text)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    environment.globals.update(
        cell=cell,
        charged=charged,
        inexact_note=INEXACT_NOTE,
        score_cell=score_cell,
        share_text=share_text,
        episodes_text=episodes_text,
        no_call=no_call,
        amount=amount,
        exposure=exposure,
        band_words=band_words,
        rule_of=rule_of,
        script=Markup(script),
        # The page runs this script and no other: whatever a model wrote stays text.
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )
    environment.filters["when"] = _when
    environment.filters["svg"] = _own_names
    environment.filters["breaks"] = _breaks
    environment.filters["capitalize_first"] = lambda words: words[:1].upper() + words[1:]
    return environment


def _own_names(svg: str, episode: int) -> Markup:
    """Give the markers of a picture names of their own: several pictures share a page."""
    return Markup(svg.replace('id="', f'id="e{episode}-').replace("url(#", f"url(#e{episode}-"))


def _breaks(name: str) -> Markup:
    """Let a long name break after its underscores rather than within a word."""
    return Markup(str(escape(visible(name))).replace("_", "_<wbr>"))


def _tool_sets(stories: Iterable[EpisodeView]) -> list[ToolSet]:
    """Return the distinct sets of tools: many episodes share one."""
    return list({story.tools.id: story.tools for story in stories if story.tools is not None}.values())


def _line(reader: LogReader, row: EpisodeRow) -> EpisodeLine:
    scores = row.scores
    marks = [{True: "passed", False: "failed", None: "unknown"}[passed(row)]]
    marks += ["harm"] if blameless(scores) is False else []
    marks += ["unobserved"] if scores.get("unobserved_harm") else []
    kinds = (event.kind for event in reader.harm(row.id)) if scores.get("harm_events") else ()
    why = dict.fromkeys([*(failure.label for failure in row.failures), *kinds])
    return EpisodeLine(row, " ".join(marks), ", ".join(why).replace("_", " "))


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
    found = comparisons(episodes, RANKED)
    return [
        DifferenceView(
            name=f"{one.first} - {one.second}",
            pairs=one.pairs,
            cells=[difference_cell(one.differences[name], name, p_values) for name in RANKED],
        )
        for one, p_values in zip(found, corrected([one.differences for one in found]), strict=True)
    ]


def _drawings(reader: LogReader, episodes: Iterable[EpisodeRow]) -> dict[int, dict[int, Markup]]:
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


def _plan(run: RunRow) -> str:
    cells: Sequence[dict[str, Any]] = run.shown_config.get("cells", [])
    parts = (dict.fromkeys(str(one[key]) for one in cells) for key in ("task", "rig", "agent"))
    return " × ".join(", ".join(part) for part in parts)


def shown_value(value: Any) -> Any:
    """Escape control and bidirectional characters of a value for the page."""
    if isinstance(value, Markup):
        return Markup(visible(str(value), LINE_AND_TAB))
    return visible(value, LINE_AND_TAB) if isinstance(value, str) else value


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
