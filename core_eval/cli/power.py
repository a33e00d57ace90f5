"""`pathrig power`: how many episodes tell a difference, by the spread in a log."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Annotated

import typer

from core_eval.cli.output import Json, UsageError, console, print_json
from core_eval.cli.references import episodes_of
from core_eval.report.tables.fitted_table import Table
from core_eval.score.agent_names import short_names
from core_eval.score.power import PairSpread, Plan, plans, spread_between, spread_of_itself
from core_eval.score.repeated import by_agent
from core_eval.score.thresholds import UnknownMetricError, metric_named

Row = tuple[str, str, "PairSpread", "list[Plan]"]


def power(
    log: Annotated[str, typer.Argument(metavar="DB", help="A log, or a run of it: DB[#RUN].")],
    metric: Annotated[str, typer.Option(help="The metric that is compared.")],
    difference: Annotated[float, typer.Option(help="The difference of the means that is to be told.")],
    power: Annotated[float, typer.Option(help="How likely it is told: 0.5 or more, below 1.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="How likely equal agents are told apart.")] = 0.05,
    comparisons: Annotated[
        int, typer.Option(min=1, help="How many comparisons are made together, which share alpha.")
    ] = 1,
    json: Json = False,
) -> None:
    """Tell how many tasks and tries tell a difference of two agents, by the spread of a log's episodes.

    Every two agents of the log are one row group; an agent against itself is a later version of it whose
    tries have the same spread.
    """
    try:
        name = metric_named(metric)
    except UnknownMetricError as error:
        raise UsageError(f"--metric: {error}") from None
    if not 0.0 < difference < float("inf"):
        raise UsageError(f"--difference {difference:g}: must be above 0")
    if not 0.5 <= power < 1.0:
        raise UsageError(f"--power {power:g}: must be from 0.5 to below 1")
    if not 0.0 < alpha <= 0.5:
        raise UsageError(f"--alpha {alpha:g}: must be above 0, and 0.5 at most")
    agents = by_agent(episodes_of(log))
    spreads = [(agent, agent, spread_of_itself(own, name)) for agent, own in agents.items()]
    spreads += [
        (one, other, spread_between(agents[one], agents[other], name))
        for one, other in combinations(agents, 2)
    ]
    rows = [
        (one, other, spread, plans(spread, difference, alpha / comparisons, power))
        for one, other, spread in spreads
        if spread.pairs
    ]
    if not any(found for *_, found in rows):
        raise UsageError(
            f"{log}: no spread of {name} is known: run each task several times (--episodes 3 --vary), "
            "or two agents on two tasks or more"
        )
    if json:
        told = [
            {
                "agents": [one, other],
                **asdict(spread),
                "plans": [{**asdict(plan), "episodes": plan.episodes} for plan in found],
            }
            for one, other, spread, found in rows
        ]
        settings = {"metric": name, "difference": difference, "power": power, "alpha": alpha}
        print_json({**settings, "comparisons": comparisons, "spreads": told})
    else:
        _print(rows)
        print(f"Enough to tell {difference:g} of {name} with power {power:g} at alpha {alpha:g}.")


def _print(rows: list[Row]) -> None:
    names = short_names(name for one, other, *_ in rows for name in (one, other))
    numbers = ("learned from pairs", "tries a task", "tasks", "episodes of each")
    table = Table("agents", *numbers, numbers=numbers)
    for one, other, spread, found in rows:
        who = f"{names[one]} and a later version" if one == other else f"{names[one]} and {names[other]}"
        for place, plan in enumerate(found):
            first = (who, str(spread.pairs)) if place == 0 else ("", "")
            table.add_row(*first, str(plan.tries), str(plan.tasks), str(plan.episodes))
        if not found:
            table.add_row(who, str(spread.pairs), "-", "-", "-")
    console().print(table)
