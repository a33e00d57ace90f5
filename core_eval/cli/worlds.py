"""`pathrig worlds`: the worlds that installed packages register."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated

import typer
from rich.text import Text

app = typer.Typer(help="Worlds: which there are.", no_args_is_help=True)


@app.command("list")
def list_worlds(json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False) -> None:
    """Every world with its device type, its tools and the package that registers it."""
    from core_eval.cli.output import console, print_json
    from core_eval.report.tables import plain_table
    from sims.world_type import WORLD_TYPES

    owners = {point.name: point.dist.name for point in entry_points(group="pathrig.worlds") if point.dist}
    rows = [
        {
            "world": name,
            "device": world.device.name,
            "tools": len(world.device.tools),
            "harm_rules": len(world.harm_rules),
            "package": owners.get(name, ""),
            "description": world.device.description,
        }
        for name, world in WORLD_TYPES.items()
    ]
    if json:
        print_json(rows)
        return
    table = plain_table("world", "tools", "rules", "package", "what it is")
    for row in rows:
        cells = (row["world"], row["tools"], row["harm_rules"], row["package"], row["description"])
        table.add_row(*(Text(str(cell)) for cell in cells))
    console().print(table)
