"""`pathrig worlds`: lists the registered worlds, and writes a package with a new one."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import jinja2
import typer
from rich.text import Text

from configs.worlds_loader import load_world
from core_eval.cli.output import Json, UsageError, console, print_json
from core_eval.report.tables.fitted_table import Table
from devices.tool import with_facts
from sims.world_type import WORLD_TYPES, WorldType

app = typer.Typer(help="List worlds, and write a package with a new one.", no_args_is_help=True)
TEMPLATES = Path(__file__).parent / "new_world"
NAME = re.compile(r"[a-z][a-z0-9_]*")


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
    if NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r} cannot name a world: use lower-case letters, digits and underscores")
    if name in WORLD_TYPES:
        raise UsageError(f"a world {name!r} exists already (`pathrig worlds list`): choose another name")
    target = folder or Path(name)
    if target.exists():
        raise UsageError(f"{target} exists already: give another --folder")
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
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(loader=loader, keep_trailing_newline=True, autoescape=False)
    try:
        for template, path in files.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            text = environment.get_template(template).render(name=name, package=package)
            (target / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from None
    console().print(f"wrote {target}; install it with `pip install -e {target}`", highlight=False)
