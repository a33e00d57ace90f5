"""A room that passes its line budget (docs/architecture.md) is named in a warning."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest
from paths import ROOT

HOMES = ("pathrig", "devices", "firmware_bridge", "sims", "agents", "configs")
ROW = re.compile(r"^\| `([\w/*.]+)` \| (\d+) \|$", re.MULTILINE)


def budgets() -> dict[str, int]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## Line budgets\n")[1].split("\n## ")[0]
    return {room: int(lines) for room, lines in ROW.findall(section)}


def counts() -> dict[str, int]:
    """Lines of Python by room: the top-level folders, and the folders of core_eval."""
    found = dict.fromkeys(HOMES, 0)
    for home in (*HOMES, "core_eval"):
        for path in (ROOT / home).rglob("*.py"):
            room = room_of(path)
            found[room] = found.get(room, 0) + len(path.read_text("utf-8").splitlines())
    return found


def room_of(path: Path) -> str:
    home, *folders, _ = path.relative_to(ROOT).parts
    if home != "core_eval":
        return home
    return f"core_eval/{folders[0]}" if folders else "core_eval/*.py"


def warn_of(lines: Mapping[str, int], allowed: Mapping[str, int]) -> None:
    for room, number in lines.items():
        if number > allowed[room]:
            warnings.warn(f"{room} has {number} lines, its budget is {allowed[room]}", stacklevel=2)


def test_every_room_has_a_budget() -> None:
    lines = counts()
    assert set(lines) == set(budgets())
    warn_of(lines, budgets())


def test_a_room_that_passes_its_budget_is_named() -> None:
    with pytest.warns(UserWarning, match="sims has 11 lines, its budget is 10") as found:
        warn_of({"sims": 11, "agents": 10}, {"sims": 10, "agents": 10})
    assert len(found) == 1
