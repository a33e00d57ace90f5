"""The farm's simulator is composed of parts, without import circles."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter

from paths import ROOT

from sims.farm_rover.drive_control import DriveControl
from sims.farm_rover.dynamics import FarmDynamics
from sims.farm_rover.firmware_tables import shipped_world
from sims.farm_rover.simulator import FarmSimulator
from sims.farm_rover.tool_execution import ToolExecution
from sims.simulator import Simulator

SIMS = ROOT / "sims"


def test_no_module_of_the_farm_needs_one_that_needs_it() -> None:
    folder = "farm_rover"
    needs: dict[str, set[str]] = {}
    for path in (SIMS / folder).glob("*.py"):
        needs[path.stem] = set()
        # Imports for type checkers are needs, too.
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"sims.{folder}"):
                module = (node.module or "").removeprefix(f"sims.{folder}").lstrip(".")
                needs[path.stem] |= {module} if module else {alias.name for alias in node.names}
    assert sum(map(len, needs.values())) > 20
    TopologicalSorter(needs).prepare()  # raises CycleError


def test_dynamics_and_tools_are_parts_and_no_ancestors() -> None:
    assert FarmSimulator.__mro__[1] is Simulator
    simulator = FarmSimulator(shipped_world())
    parts = simulator.dynamics, simulator.execution, simulator.drive_control
    assert tuple(map(type, parts)) == (FarmDynamics, ToolExecution, DriveControl)
