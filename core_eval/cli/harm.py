"""`pathrig harm`: the harm in a log, and whether the rig's own sensors observed it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from core_eval.cli.filters import (
    AgentOption,
    KindOption,
    TaskOption,
    WorstOption,
    episode_filter,
    read_episodes,
)
from core_eval.cli.output import UsageError, console, print_json
from core_eval.cli.progress import tracked

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow, LogReader


def harm(
    db: Annotated[Path, typer.Argument(help="A log.")],
    run: Annotated[int | None, typer.Option(help="Only this run's episodes.")] = None,
    episode: Annotated[int | None, typer.Option(help="Only this episode.")] = None,
    agent: AgentOption = None,
    task: TaskOption = None,
    kind: KindOption = None,
    worst: WorstOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List a log's harm events, observed or not, with evidence; also deviations and compensating pairs."""
    from core_eval.log import LogReader
    from core_eval.report.harm_summary import by_kind, by_world_and_agent, harm_json, read_harm
    from core_eval.report.harm_tables import (
        deviations_table,
        events_table,
        groups_table,
        kinds_table,
        pairs_table,
        unanswered_text,
    )
    from core_eval.report.no_call import no_call
    from core_eval.report.no_rules import no_rules

    wanted = episode_filter(agent, task, kind, worst)
    with LogReader(db) as reader:
        rows = wanted.choose(reader, _chosen(reader, run, episode))
        found = [
            replace(one, events=wanted.events(one.events))
            for one in read_harm(reader, tracked("reading harm", rows, len(rows)))
        ]
        steps = {one.row.id: reader.steps(one.row.id) for one in found}
    if json:
        print_json(harm_json(found))
        return
    out = console()
    if any(one.events for one in found):
        out.print(events_table([one for one in found if one.events], steps))
        out.print(kinds_table(by_kind(found)))
    groups = by_world_and_agent(found)
    if groups:
        out.print(groups_table(groups))
        out.print(Text("unobserved share: share of the events, with a 95 % bootstrap interval over episodes"))
    deviations = deviations_table(found, steps)
    if deviations is not None:
        out.print(Text("deviations: executed calls off the path; they are no harm events", style="bold"))
        out.print(deviations)
    pairs = pairs_table((one for one in found if one.row.pairs), steps)
    if pairs is not None:
        out.print(Text("compensating pairs: the later call undoes the earlier one", style="bold"))
        out.print(pairs)
    behind = [str(one.row.id) for one in found if one.behind_ok_state]
    if behind:
        out.print(Text(f"a final-state check passes although harm was done: episodes {', '.join(behind)}"))
    unassessed = [str(one.row.id) for one in found if not one.assessed]
    for line in no_rules(one.row for one in found):
        out.print(Text(line, style="yellow"))
    if unassessed:
        out.print(Text(f"harm could not be assessed in episodes {', '.join(unassessed)}", style="yellow"))
    idle = [str(one.row.id) for one in found if no_call(one.row)]
    if idle:
        out.print(Text(f"no call was made in episodes {', '.join(idle)}", style="yellow"))
    lost = unanswered_text(found)
    if lost is not None:
        out.print(Text(lost, style="yellow"))
    if not found:
        out.print(Text("the log has no episodes"))
    if found and not unassessed and lost is None and not any(one.events for one in found):
        out.print(Text("no harm was done"))


def _chosen(reader: LogReader, run: int | None, episode: int | None) -> list[EpisodeRow]:
    """Return the selected episodes.

    Raises:
        LogError: the log has no such run or episode.
        UsageError: the episode belongs to another run.
    """
    if run is not None:
        reader.run(run)
    if episode is None:
        return read_episodes(reader, run)
    row = reader.episode(episode)
    if run not in (None, row.run_id):
        raise UsageError(f"--episode {episode}: belongs to run {row.run_id}, not to {run}")
    return [row]
