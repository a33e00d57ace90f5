"""No generic module knows a world: none imports a world's module, none has a world's name as a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

from sims.world_type import WORLD_TYPES

ROOMS = ("devices", "firmware_bridge", "agents", "sims", "configs", "core_eval")
OWN = ("farm_rover", "robotic_arm", "so101_arm", "so101_bench", "farm", "arm", "rover")
"""Folders and modules that belong to one world, by name."""
SOFTWARE = {f"sims/software/{name.replace(':', '/')}.py" for name in WORLD_TYPES}
"""Modules that are one world of software each."""
ALLOWED = {
    "core_eval/cli/demo.py": "the demo is of these two worlds",
}
NAMES = {name for world in WORLD_TYPES.values() for name in (world.name, world.device.name)}


def generic_modules() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            inside = path.relative_to(ROOT)
            if (
                not set(OWN) & {part.removesuffix(".py") for part in inside.parts}
                and str(inside) not in ALLOWED
                and str(inside) not in SOFTWARE
            ):
                yield inside


def is_own(module: str) -> bool:
    if module.replace(".", "/") + ".py" in SOFTWARE:
        return True
    return module.split(".")[0] in ROOMS and bool(set(OWN) & set(module.split(".")))


def faults(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            full = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            yield from (f"{path}:{node.lineno} imports {name}" for name in full if is_own(name))
        elif isinstance(node, ast.Import):
            yield from (f"{path}:{node.lineno} imports {a.name}" for a in node.names if is_own(a.name))
        elif isinstance(node, ast.Constant) and node.value in NAMES:
            yield f"{path}:{node.lineno} names {node.value!r}"


def test_there_are_worlds_and_generic_modules():
    assert {"farm_rover", "robotic_arm"} <= NAMES
    assert len(list(generic_modules())) > 150


def test_a_generic_module_knows_no_world():
    assert [found for path in generic_modules() for found in faults(path)] == []


def test_what_knows_a_world_is_found(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text(
        "from sims.farm_rover import simulator\nimport devices.robotic_arm\nRIG = 'farm_rover'\n"
    )
    assert [found.split(" ", 1)[1] for found in faults(module)] == [
        "imports sims.farm_rover",
        "imports sims.farm_rover.simulator",
        "imports devices.robotic_arm",
        "names 'farm_rover'",
    ]


SMALL = 5e-4
NO_TOLERANCES = {("devices/arm/things.py", 1e-4): "the least mass of an object, kg"}


@pytest.mark.parametrize(
    ("home", "rooms"),
    [
        ("devices/farm_rover", ("devices/farm_rover", "sims/farm_rover")),
        ("devices/arm", ("devices/arm", "devices/robotic_arm", "sims/arm", "sims/robotic_arm")),
    ],
)
def test_the_tolerances_of_a_world_stand_in_one_file(home: str, rooms: tuple[str, ...]):
    assert "import" not in (ROOT / home / "tolerances.py").read_text(encoding="utf-8").split('"""')[2]
    found = [
        (str(path.relative_to(ROOT)), node.value)
        for room in rooms
        for path in sorted((ROOT / room).glob("*.py"))
        if path != ROOT / home / "tolerances.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < node.value < SMALL
    ]
    assert [one for one in found if one not in NO_TOLERANCES] == []
