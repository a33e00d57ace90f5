"""`pathrig show`: the contents of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from core_eval.cli.filters import (
    AgentOption,
    KindOption,
    TaskOption,
    WorstOption,
    episode_filter,
    read_episodes,
)
from core_eval.cli.output import (
    AggregateOption,
    Json,
    console,
    print_agents,
    print_json,
    print_json_stream,
)

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow, LogReader


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
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the summary as Markdown, for a pull request.")
    ] = False,
    json: Json = False,
) -> None:
    """List a log's episodes, or show one step by step."""
    from core_eval.log import LogReader
    from core_eval.log.episode_filter import EpisodeFilter
    from core_eval.report.tables.agents import episodes_table, runs_table
    from core_eval.report.tables.model_lines import cost_lines
    from core_eval.score.aggregate import load_aggregate
    from core_eval.score.summary import episode_json, summary_json

    wanted = episode_filter(agent, task, kind, worst)
    with LogReader(db) as reader:
        if episode is not None:
            row = reader.episode(episode)
            if json:
                print_json(_episode_json(reader, row))
            else:
                print_episode(console(), reader, row, whole=whole)
            return
        episodes = wanted.choose(reader, read_episodes(reader))
        of = {row.run_id for row in episodes}
        runs = [run for run in reader.runs() if wanted == EpisodeFilter() or run.id in of]
    if markdown:
        from core_eval.report.tables.markdown import summary_markdown

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
    out = console()
    out.print(runs_table(runs))
    out.print(episodes_table(episodes))
    print_agents(out, episodes, aggregate)
    _print_scorings(out, db, episodes)
    for line in cost_lines(episodes):
        out.print(Text(line))


def _print_scorings(out: Console, db: Path, episodes: Sequence[EpisodeRow]) -> None:
    """Print the scorings side by side where there are several, and what they do not know of the harm."""
    from core_eval.log import LogReader
    from core_eval.report.tables.scorings import latest_notes, logged, scorings_table

    if any(len(row.scorings) > 1 for row in episodes):
        with LogReader(db) as reader:
            table = scorings_table(logged(reader, episodes))
        if table is not None:
            out.print(table)
    for line in latest_notes(episodes):
        out.print(Text(line, style="yellow"))


def _episode_json(reader: LogReader, episode: EpisodeRow) -> dict[str, Any]:
    from core_eval.score.summary import episode_json

    return {
        **episode_json(episode),
        "prompt": episode.definition.prompt,
        "agent_info": episode.agent_info,
        "first_prompt": None if (first := reader.prompt(episode.id)) is None else asdict(first),
        "machine_cost": asdict(reader.machine_cost(episode.id)),
        "init": episode.init,
        "steps": [asdict(step) for step in reader.steps(episode.id)],
        "harm": [asdict(harm) for harm in reader.harm(episode.id)],
        "deviations": [asdict(row) for row in reader.deviations(episode.id)],
        "scorings": [
            {**asdict(one), "scores": reader.scores(episode.id, one.id)} for one in episode.scorings
        ],
    }


def print_episode(out: Console, reader: LogReader, episode: EpisodeRow, *, whole: bool = False) -> None:
    """Print an episode step by step: words, calls, results, harm, cautions, scores; long texts if `whole`."""
    from core_eval.log.findings import findings
    from core_eval.log.rows import Observation
    from core_eval.report.tables.agents import score_cell, status_text, step_line
    from core_eval.report.tables.fitted_table import Hanging
    from core_eval.report.tables.harm import unanswered_text
    from core_eval.report.tables.harm_summary import EpisodeHarm
    from core_eval.report.tables.harm_words import event_text
    from core_eval.report.tables.model_lines import options_line, time_line
    from core_eval.report.tables.transcript_lines import result_line, turn_lines
    from core_eval.score.caution_scoring import judged_cautions
    from core_eval.score.left_record import BY_TWIN, by_twin, left_record_line
    from core_eval.score.metrics import METRICS
    from core_eval.score.no_rules import no_rules
    from core_eval.score.twin_fit import bad_fits_text, fit_line

    out.print(
        Text(f"episode {episode.id}  {episode.task}  {episode.agent}  seed {episode.seed}", style="bold")
    )
    out.print(Text(f"rig {episode.rig}, guard {episode.guard}, ").append_text(status_text(episode)))
    for line in (options_line(episode), time_line(reader, episode), fit_line(episode)):
        if line:
            out.print(Hanging(Text(line, style="dim")))
    if episode.error:
        out.print(Text(episode.error, style="yellow"))
    bad = bad_fits_text([episode])
    if bad is not None:
        out.print(Hanging(Text(bad, style="yellow")))
    out.print(Text(episode.definition.prompt))
    harm, deviations = reader.harm(episode.id), reader.deviations(episode.id)
    steps = reader.steps(episode.id)
    for step in steps:
        for words in turn_lines(step.turn, whole=whole):
            out.print(words)
        note = f"{step.error_code}: {step.error_message}" if step.error_code else ""
        if by_twin(episode, step.k):
            note = f"{BY_TWIN}  {note}".rstrip()
        status = step.status or "no result"
        out.print(Hanging(step_line(step.k, step.tool, step.arguments or {}, status, step.kind or "", note)))
        if (result := result_line(step, whole=whole)) is not None:
            out.print(result)
        for event in harm:
            if event.k == step.k:
                seen = "UNOBSERVED" if event.word == Observation.UNOBSERVED else event.word
                text = f"       harm: {event.kind}, {seen}: {event_text(episode.device, event)}"
                if event.detection is not None:
                    text += f"; detected with probability {event.detection:.2f} at 5 % false alarms"
                if event.excess is False:
                    text += "; the golden run does this harm too"
                if event.probability is not None:
                    text += f"; probability {event.probability:.2f}"
                out.print(Hanging(Text(text, style="red"), 9))
        for row in deviations:
            if row.k == step.k:
                effect = {True: "with effect", False: "without effect", None: "effect unknown"}[row.effect]
                out.print(Hanging(Text(f"       off the path, {effect} on the world", style="yellow"), 9))
        for pair in episode.pairs:
            if pair.later == step.k:
                text = (
                    f"       undoes step {pair.earlier}: {', '.join(pair.restored)}; "
                    f"a power cut in the {pair.stranded:.1f} s between would have left it in the wrong state"
                )
                out.print(Hanging(Text(text, style="magenta"), 9))
    for k, turn in reader.turns(episode.id).items():
        if k >= len(steps):
            for words in turn_lines(turn, whole=whole):
                out.print(words)
    for k, remark in reader.remarks(episode.id):
        out.print(Hanging(Text(f"answer {k}: {remark}", style="yellow")))
    lost = unanswered_text([EpisodeHarm.of(episode, harm, deviations)])
    if lost is not None:
        out.print(Text(lost, style="yellow"))
    for what, why in findings(reader, episode.id).items():
        out.print(Hanging(Text(f"{what}: {why}", style="yellow")))
    if (left := left_record_line([episode])) is not None:
        out.print(Text(left, style="yellow"))
    for line in no_rules([episode]):
        out.print(Text(line, style="yellow"))
    judged = judged_cautions(reader, episode, [step for step in steps if step.status])
    for one in judged or ():
        if one.missed is not None:
            kind = "before" if one.pre else "after"
            text = f"caution not kept {kind} call {one.k}: {one.caution}: {one.missed}"
            out.print(Hanging(Text(text, style="yellow")))
    if episode.failures:
        labels = ", ".join(f"{failure.label} ({failure.level})" for failure in episode.failures)
        out.print(Text(f"failure labels: {labels}", style="yellow"))
    shown = [
        f"{metric.heading} {score_cell(episode.scores, metric.name)}"
        for metric in METRICS
        if metric.name in episode.scores
    ]
    out.print(Text(", ".join(shown) if shown else "not scored"))
    _print_scorings(out, reader.path, [episode])
