"""`pathrig rigs sensors`: which sensors would make harm detectable, at what price."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from configs.sensor_prices import SHIPPED_PRICES, load_prices
from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.progress import progress
from core_eval.harm.detection.advice import Choice
from core_eval.harm.detection.detect import FEWEST
from core_eval.log import LogReader
from core_eval.report.pictures.advice_drawing import advice_svg
from core_eval.report.tables.fitted_table import Table
from core_eval.run import sensor_advice
from core_eval.score.detection import Rigs


def sensors(
    target: Annotated[
        str,
        typer.Argument(
            metavar="DB|WORLD",
            help="A log with harm; or a world, whose tasks are then run with altered golden runs.",
        ),
    ],
    cost: Annotated[
        Path | None, typer.Option(help="A price list; default: the shipped one, with its sources.")
    ] = None,
    finer: Annotated[
        Path | None,
        typer.Option(
            "--sensors", help="A world file with the candidates; default: the shipped finer sensors."
        ),
    ] = None,
    events: Annotated[int, typer.Option(min=1, help="Maximum number of events, of all kinds in turn.")] = 24,
    episodes: Annotated[
        int,
        typer.Option(min=1, help="Of a world: starts of each task, each with three altered golden runs."),
    ] = 2,
    hazards: Annotated[
        bool,
        typer.Option("--hazards", help="Of a world: the tasks of the suite hazards, among drawn hazards."),
    ] = False,
    rigs: Annotated[
        int,
        typer.Option(
            min=40,
            help="Most rigs that judge an event; half as many train the statistic. "
            "With harm on a fifth as many there are enough of either.",
        ),
    ] = 200,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; default: one for each core.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the curve to this SVG file.")] = None,
    json: Json = False,
) -> None:
    """Say which sensors make harm detectable, and their price.

    For each price: the best sensors, and the share of the harm that they make detectable at 5 % false alarms.
    """
    if out is not None:
        check_output(out, "-o")
    prices, jobs = load_prices(cost or SHIPPED_PRICES), jobs or os.cpu_count() or 1
    with sensor_advice.log_of(target, episodes, hazards=hazards, jobs=jobs) as db:
        with LogReader(db) as reader:
            world = sensor_advice.world_of_log(reader)
            chosen, total = sensor_advice.chosen_events(reader, events)
        if world is None:
            raise UsageError(f"{target}: no harm event with a verdict, so no sensor is needed to detect it")
        found = sensor_advice.candidates(world, prices, finer)
        drawn = Rigs(rigs // 2, rigs, max(FEWEST, rigs // 5))
        with progress("detecting", len({number for number, *_ in chosen})) as advance:
            advisor, detected = sensor_advice.advise(
                db,
                chosen,
                found,
                jobs=jobs,
                rigs=drawn,
                on_done=lambda _: advance(1),
            )
    told = [one for one in detected if one.detection is not None]
    rest = [one for one in detected if one.detection is None]
    if not told:
        why = sensor_advice.why_not(detected, drawn)
        raise UsageError(f"{target}: none of {len(detected)} events can be judged: {why}")
    greedy, exact = advisor.greedy(), advisor.exact()
    if out is not None:
        write_file(out, "-o", advice_svg(greedy, exact, prices.currency), inputs=[cost, finer])
    if json:
        print_json(
            {
                "currency": prices.currency,
                "events": {"all": total, "judged": len(told)},
                "candidates": {
                    kind: {
                        "part": prices.sensors[kind].part,
                        "source": prices.sensors[kind].source,
                        "pieces": found.pieces[kind],
                        "price": found.prices[kind],
                        "alone": asdict(advisor.choice((kind,))),
                    }
                    for kind in found.specs
                },
                "greedy": [asdict(one) for one in greedy],
                "exact": None if exact is None else [asdict(one) for one in exact],
                "harm": [one.as_dict() for one in told],
            }
        )
        return
    screen = console()
    of_all = "" if len(told) == total else f" of {total}"
    screen.print(Text(f"{len(told)} harm events{of_all}; detection at 5 % false alarms; chance detects 5 %"))
    screen.print(Text(sensor_advice.conclusion(told, greedy, prices.currency), style="bold"))
    if rest:
        screen.print(Text(f"{len(rest)} more cannot be judged: {sensor_advice.why_not(rest, drawn)}"))
    _print_candidates(
        screen, {kind: advisor.choice((kind,)) for kind in found.specs}, found.pieces, greedy[0]
    )
    _print_choices(screen, "greedy: the most gain for its price first", greedy, prices.currency)
    if exact is None:
        screen.print(Text("exact: not tried, too many candidates", style="yellow"))
    else:
        _print_choices(screen, "exact: the best set for each price", exact, prices.currency)


def _print_candidates(
    screen: Console, alone: Mapping[str, Choice], pieces: Mapping[str, int], none: Choice
) -> None:
    numbers = ("pieces", "price", "detected", "detectable")
    table = Table("sensor", *numbers, numbers=numbers)
    table.add_row("none", "", "0", *_shares(none))
    for kind, one in sorted(alone.items(), key=lambda item: -item[1].detected):
        table.add_row(kind, str(pieces[kind]), f"{one.cost:.0f}", *_shares(one))
    screen.print(Text("each sensor alone, beside the rig's own", style="bold"))
    screen.print(table)


def _print_choices(screen: Console, title: str, choices: Sequence[Choice], currency: str) -> None:
    numbers = (currency, "detected", "detectable")
    table = Table(*numbers, "sensors", numbers=numbers)
    for one in choices:
        table.add_row(f"{one.cost:.0f}", *_shares(one), Text(", ".join(one.sensors) or "none"))
    screen.print(Text(title, style="bold"))
    screen.print(table)


def _shares(one: Choice) -> tuple[Any, Any]:
    return f"{one.detected:.0%}", f"{one.detectable:.0%}"
