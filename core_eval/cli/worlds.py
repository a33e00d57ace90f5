"""`pathrig worlds`: lists the registered worlds, and writes a package with a new one."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from configs.worlds_loader import load_world
from core_eval.cli.new_package import write_package
from core_eval.cli.output import Json, UsageError, console, print_json
from core_eval.report.tables.fitted_table import Table
from devices.tool import with_facts
from sims.world_type import WORLD_TYPES, WorldType

app = typer.Typer(help="List worlds, and write a package with a new one.", no_args_is_help=True)


@app.command("list")
def list_worlds(json: Json = False) -> None:
    """List the worlds, their tools and the packages that register them."""
    owners = {point.name: point.dist.name for point in entry_points(group="pathrig.worlds") if point.dist}
    rows = [
        {
            "world": name,
            "device": world.device.name,
            "tools": len(world.device.tools),
            "harm_rules": len(world.harm_rules),
            "package": owners.get(name, ""),
            "description": _description(world),
        }
        for name, world in WORLD_TYPES.items()
    ]
    if json:
        print_json(rows)
        return
    numbers = ("tools", "rules")
    table = Table("world", *numbers, "package", "description", numbers=numbers)
    for row in rows:
        cells = (row["world"], row["tools"], row["harm_rules"], row["package"], row["description"])
        table.add_row(*(Text(str(cell)) for cell in cells))
    console().print(table)


def _description(world: WorldType) -> str:
    """Return what a world's device is, with the facts of its default state."""
    try:
        return with_facts(world.device.description, load_world(world.name).state.model_dump())
    except (LookupError, ValueError):
        # Braces of another kind.
        return world.device.description


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Its name: lower-case letters, digits and underscores.")],
    folder: Annotated[
        Path | None, typer.Option(help="The folder to write; default: a folder of that name here.")
    ] = None,
) -> None:
    """Write a package with a small working world, as a start for your own."""
    if name in WORLD_TYPES:
        raise UsageError(f"a world {name!r} exists already (`pathrig worlds list`): choose another name")
    package = f"pathrig_{name}"
    files = {
        "pyproject.toml.j2": Path("pyproject.toml"),
        "README.md.j2": Path("README.md"),
        "__init__.py.j2": Path(package, "__init__.py"),
        "device.py.j2": Path(package, "device.py"),
        "simulator.py.j2": Path(package, "simulator.py"),
        "state.yaml.j2": Path(package, f"{name}.yaml"),
        "tasks.yaml.j2": Path(package, "tasks", "tasks.yaml"),
    }
    write_package("world", name, folder or Path(name), files)
