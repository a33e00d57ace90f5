"""`pathrig show`: the contents of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from core_eval.cli.output import (
    AggregateOption,
    Json,
    console,
    print_agents,
    print_json,
    print_json_stream,
)
from core_eval.cli.references import (
    AgentOption,
    KindOption,
    TaskOption,
    WorstOption,
    comparable,
    episode_filter,
    warn_of_suites,
    without_damaged,
)
from core_eval.log import EpisodeRow, LogReader, RunRow
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.log.row_map import named
from core_eval.report.tables.agents import episodes_table
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.markdown import summary_markdown
from core_eval.report.tables.model_lines import cost_lines
from core_eval.report.tables.scorings import latest_notes, logged, runs_table, scorings_table
from core_eval.score.aggregate import load_aggregate
from core_eval.score.outcome import worst_of
from core_eval.score.summary import episode_json, summary_json

MOST, WORST = 40, 10
"""Of more episodes than these, so many are listed: those with the most harm."""


def show(
    db: Annotated[Path, typer.Argument(help="A log.")],
    episode: Annotated[int | None, typer.Option(help="Show this episode step by step.")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="With --episode: print long texts and results in full.")
    ] = False,
    agent: AgentOption = None,
    task: TaskOption = None,
    kind: KindOption = None,
    worst: WorstOption = None,
    aggregate: AggregateOption = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help=f"List every episode, task and world, and not {WORST} episodes of more than {MOST}.",
        ),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the summary as Markdown, for a pull request.")
    ] = False,
    json: Json = False,
) -> None:
    """List a log's episodes, or show one step by step."""
    wanted = episode_filter(agent, task, kind, worst)
    out = console()
    if episode is not None:
        with LogReader(db) as reader:
            _show_episode(out, reader, reader.episode(episode), whole=whole, json=json)
        return

    def read(reader: LogReader) -> tuple[list[EpisodeRow], list[RunRow], Table | None]:
        episodes = comparable(wanted.choose(reader, reader.episodes()))
        of = {row.run_id for row in episodes}
        runs = [run for run in reader.runs() if wanted == EpisodeFilter() or run.id in of]
        return episodes, runs, None if markdown or json else _scorings(reader, episodes)

    episodes, runs, scorings = without_damaged(db, read)
    warn_of_suites(runs)
    if markdown:
        print(summary_markdown(episodes), end="")
        return
    if json:
        print_json_stream(
            {
                "runs": [asdict(run) | {"config": run.shown_config} for run in runs],
                "episodes": (episode_json(row) for row in episodes),
                "summary": summary_json(episodes, load_aggregate(aggregate)),
            }
        )
        return
    listed = [*episodes]
    if len(episodes) > MOST and not every:
        listed = worst_of(episodes)[:WORST]
    out.print(runs_table(runs))
    out.print(episodes_table(listed))
    if len(listed) < len(episodes):
        out.print(
            f"the worst {len(listed)} of {len(episodes)} episodes; --all lists every one, "
            "and tasks and worlds",
            style="dim",
        )
    print_agents(out, episodes, aggregate, brief=len(listed) < len(episodes))
    if scorings is not None:
        out.print(scorings)
    for line in latest_notes(episodes):
        out.print(line, style="yellow")
    for line in cost_lines(episodes):
        out.print(line)


def _show_episode(out: Console, reader: LogReader, episode: EpisodeRow, *, whole: bool, json: bool) -> None:
    if json:
        print_json(_episode_json(reader, episode))
        return
    from core_eval.report.tables.episode_lines import episode_lines

    for line in episode_lines(reader, episode, whole=whole):
        out.print(line)
    if (scorings := _scorings(reader, [episode])) is not None:
        out.print(scorings)


def _scorings(reader: LogReader, episodes: Sequence[EpisodeRow]) -> Table | None:
    """Return the scorings side by side, where there are several."""
    several = any(len(row.scorings) > 1 for row in episodes)
    return scorings_table(logged(reader, episodes)) if several else None


def _episode_json(reader: LogReader, episode: EpisodeRow) -> dict[str, Any]:
    return {
        **episode_json(episode),
        "prompt": episode.definition.prompt,
        "agent_info": episode.agent_info,
        "first_prompt": None if (first := reader.prompt(episode.id)) is None else asdict(first),
        "machine_cost": asdict(reader.machine_cost(episode.id)),
        "init": episode.init,
        "steps": [named(step) for step in reader.steps(episode.id)],
        "harm": [asdict(harm) for harm in reader.harm(episode.id)],
        "deviations": [asdict(row) for row in reader.deviations(episode.id)],
        "scorings": [
            {**asdict(one), "scores": reader.scores(episode.id, one.id)} for one in episode.scorings
        ],
    }
