"""How the tests themselves are kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from paths import TESTS

SUSPECT = re.compile(r"\b(from|import)\b.*\btest_")


def foreign_tests(folder: Path) -> Iterator[str]:
    """Imports of one test module by another; what both need belongs into `tests/support`."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if SUSPECT.search(text) else ():
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.rpartition(".")[2].startswith("test_"):
                    yield f"{path.relative_to(folder)}:{node.lineno} imports {name}"


def test_no_test_module_imports_another() -> None:
    assert list(foreign_tests(TESTS)) == []


def test_such_an_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_b.py").write_text("from tests.core_eval.test_a import rig\nimport json\n")
    assert list(foreign_tests(tmp_path)) == ["test_b.py:1 imports tests.core_eval.test_a"]
