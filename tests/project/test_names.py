"""A module gives no name twice: the later value would hold for the code above it, too."""

import ast
from collections import Counter
from collections.abc import Iterator

from paths import ROOT

ROOMS = ("agents", "configs", "core_eval", "devices", "firmware_bridge", "pathrig", "sims", "benchmarks")


def bound(module: ast.Module) -> Iterator[str]:
    """Yield the constants that a module binds, each time."""
    for statement in module.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for part in (node for target in targets for node in ast.walk(target)):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id


def test_no_module_gives_a_constant_twice() -> None:
    twice = {}
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        times = Counter(bound(ast.parse(path.read_text(encoding="utf-8"))))
        if again := [name for name, count in times.items() if count > 1]:
            twice[path.relative_to(ROOT).as_posix()] = again
    assert twice == {}
