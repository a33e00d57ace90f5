"""The house's one direction of imports, and what may not be loaded before it is used."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from paths import ROOT

pytestmark = pytest.mark.llama

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def test_imports_point_one_way() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def circles(graph: grimp.ImportGraph) -> set[frozenset[str]]:
    """The strongly connected sets of more than one module, imports for type checking included (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for imported in graph.find_modules_directly_imported_by(module):
            if imported not in order:
                visit(imported)
                lowest[module] = min(lowest[module], lowest[imported])
            elif imported in stack:
                lowest[module] = min(lowest[module], order[imported])
        if lowest[module] == order[module]:
            first = stack.index(module)
            if len(stack) - first > 1:
                found.add(frozenset(stack[first:]))
            del stack[first:]

    for module in sorted(graph.modules):
        if module not in order:
            visit(module)
    return found


def test_no_files_import_each_other() -> None:
    graph = grimp.build_graph(*SETTINGS["root_packages"], cache_dir=None)
    assert len(graph.modules) > 250
    assert circles(graph) == set()


def test_a_circle_is_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        graph.add_import(importer=importer, imported=imported)
    assert circles(graph) == {frozenset("abc")}


def layer_of(module: str) -> int | None:
    """The place of a module's room among the layers, 0 the highest."""
    contract = next(one for one in SETTINGS["contracts"] if one["name"] == "imports point one way")
    for place, rooms in enumerate(contract["layers"]):
        if any(f"{module}.".startswith(f"{room}.") for room in rooms.split(" | ")):
            return place
    return None


LOG = layer_of("core_eval.log")
assert LOG is not None


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the layers, by name."""
    for room in SETTINGS["root_packages"]:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if layer_of(name) is not None:
                yield name, ast.parse(path.read_text(encoding="utf-8"))


def hidden_dependencies(name: str, tree: ast.Module) -> Iterator[str]:
    """What no import shows: a module run or a folder opened by its name, and the log read by raw SQL."""
    own = layer_of(name)
    assert own is not None
    folders = set(SETTINGS["root_packages"]) - {"pathrig"}  # the kit's own name stands in many texts
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_group = node.value.startswith("pathrig.")  # of entry points
            is_name = "." in node.value or node.value in folders
            above = layer_of(node.value) if is_name and not is_group else None
            if above is not None and above < own:
                yield f"{name}:{node.lineno} names {node.value!r} of a layer above it"
        elif isinstance(node, ast.Import) and own > LOG:
            imports = {alias.name for alias in node.names}
            yield from (f"{name}:{node.lineno} imports sqlite3" for _ in imports & {"sqlite3"})


def test_nothing_below_runs_or_opens_what_lies_above_by_its_name() -> None:
    assert [found for name, tree in modules() for found in hidden_dependencies(name, tree)] == []


def test_a_hidden_dependency_is_found() -> None:
    run = ast.parse("import sqlite3\ncommand = ['-m', 'core_eval.cli.main']\npath = root / 'configs'")
    found = list(hidden_dependencies("firmware_bridge.example", run))
    assert [line.split()[1:3] for line in found] == [
        ["imports", "sqlite3"],
        ["names", "'core_eval.cli.main'"],
        ["names", "'configs'"],
    ]


def test_no_module_imports_what_only_extras_install_at_its_top() -> None:
    names = (
        "agents.registry configs.tasks_loader configs.worlds_loader core_eval.cli.main core_eval.export"
        " firmware_bridge.client"
    )
    code = (
        "import sys, importlib\n"
        f"for name in {names.split()!r}: importlib.import_module(name)\n"
        "extras = ('llama_cpp', 'mujoco', 'torch', 'scipy', 'amqtt', 'starlette', 'uvicorn', 'mcap',"
        " 'pyarrow')\n"
        "print([m for m in extras if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
