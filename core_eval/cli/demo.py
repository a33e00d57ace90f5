"""`pathrig demo`: runs three agents on five tasks on two simulated rigs, and prints the table of agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.live_lines import LiveLines
from core_eval.cli.output import Json, console, print_agents, print_json
from core_eval.log import LogReader, RunLog
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.score.summary import run_json

DEMO_DB = Path("pathrig-demo.db")
ROVER_TASKS = ("water_two_plants", "harvest_and_deliver", "inspect_and_water")
ARM_TASKS = ("box_to_left_bin", "cup_to_right_bin_and_home")
AGENTS = ("llama", "oracle", "random")


def demo(
    db: Annotated[Path, typer.Option(help="The log; a new run is appended.")] = DEMO_DB,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Agents instead of llama, oracle and random; see `run --agent`."),
    ] = None,
    json: Json = False,
) -> None:
    """Drive a rover over MQTT and an arm over serial, and compare the agents."""
    places = [("sim-farm-mqtt", task) for task in ROVER_TASKS] + [
        ("sim-arm-serial", task) for task in ARM_TASKS
    ]
    config = RunConfig(
        cells=tuple(Cell(task=task, rig=rig, agent=spec) for spec in agent or AGENTS for rig, task in places),
        keep_going=False,
    ).canonical()
    out = console(stderr=json)
    parts = load_parts(config)
    out.print(
        "Two simulators start as child processes: a farm rover on an MQTT broker, and a robotic arm on a "
        "serial line."
    )
    with RunLog(db) as log:
        run_id = Run(config, parts, log, LiveLines(out)).start()
    with LogReader(db) as reader:
        episodes = reader.episodes(run_id)
    if json:
        print_json(run_json(episodes))
    print_agents(out, episodes)
    out.print(f"The log is {db}. `pathrig show {db}` lists its episodes, `--episode N` shows one;")
    out.print(f"`pathrig harm {db}` lists the harm and which sensor shows it; and")
    out.print(f"`pathrig report {db} -o demo.html` writes a page with all of it.")
