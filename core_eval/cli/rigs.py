"""`pathrig rigs`: which rigs there are, whether one answers, and a file for a new one."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from core_eval.cli import rigs_new
from core_eval.cli.output import console, print_json

app = typer.Typer(help="List rigs, check that one answers, and write a file for one of your own.")
app.command("new")(rigs_new.new)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_all(json: Json = False) -> None:
    """List the rigs that ship with the kit."""
    from configs.rigs_loader import list_rigs
    from core_eval.report.tables import plain_table

    rigs = list_rigs()
    if json:
        print_json([rig.model_dump(mode="json") for rig in rigs])
        return
    table = plain_table("rig", "device", "url", "world")
    for rig in rigs:
        table.add_row(rig.name, rig.device or "-", Text(rig.url), rig.world or "physical")
    console().print(table)


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(help="A rig's name, its YAML file, or a URL.")], json: Json = False
) -> None:
    """Greet a rig, and measure the round trip. It is left as it is."""
    from configs.rigs_loader import load_rig
    from core_eval.harness.rig_session import open_rig
    from core_eval.harness.signals import StopSignals

    config = load_rig(name)
    with StopSignals() as signals, signals.interruptible(), open_rig(config, only_look=True) as session:
        trips = sorted(session.client.ping() for _ in range(5))
        status = session.client.status
        answer: dict[str, Any] = {
            "rig": config.name,
            "state": None if status is None else status.state,
            "device": None if status is None else status.device,
            "firmware": None if status is None else status.fw,
            "watchdog_ms": None if status is None else status.watchdog_ms,
            "round_trip_s": trips[len(trips) // 2],
        }
    if json:
        print_json(answer)
        return
    for key, value in answer.items():
        console().print(Text(f"{key:14} {value:.6f}" if isinstance(value, float) else f"{key:14} {value}"))
