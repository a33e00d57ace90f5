"""A room that passes its line budget (docs/architecture.md), and modules with many imports, are named."""

import ast
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


MANY_IMPORTS, MOST_OF_THESE = 20, 11
"""A module with more import statements than the first is told; the second is how many there may be."""


def many_imports() -> dict[str, int]:
    """The modules with many import statements, wherever they stand in the module."""
    found = {}
    for home in (*HOMES, "core_eval"):
        for path in (ROOT / home).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            froms = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
            number = sum(getattr(node, "module", None) != "__future__" for node in froms)
            if number > MANY_IMPORTS:
                found[path.relative_to(ROOT).as_posix()] = number
    return found


def warn_of_imports(found: Mapping[str, int]) -> None:
    if len(found) > MOST_OF_THESE:
        worst = ", ".join(f"{path} {found[path]}" for path in sorted(found, key=lambda one: -found[one])[:9])
        warnings.warn(f"{len(found)} modules have more than {MANY_IMPORTS} imports: {worst}", stacklevel=2)


def test_too_many_modules_with_many_imports_are_named() -> None:
    warn_of_imports(many_imports())
    with pytest.warns(UserWarning, match=r"\d+ modules have more than 20 imports: b 22, a0 21,") as found:
        warn_of_imports({f"a{k}": 21 for k in range(MOST_OF_THESE)} | {"b": 22})
    assert len(found) == 1


def test_imports_are_counted_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sims").mkdir()
    lines = [f"import module_{k}" for k in range(MANY_IMPORTS)]
    module = tmp_path / "sims" / "one.py"
    module.write_text("\n".join(["from __future__ import annotations", *lines]))
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert many_imports() == {}
    module.write_text(module.read_text() + "\ndef late():\n    from one import more\n")
    assert many_imports() == {"sims/one.py": MANY_IMPORTS + 1}
