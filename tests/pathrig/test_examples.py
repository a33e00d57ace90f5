"""The examples in the docstrings of the front door are run."""

import doctest
import importlib
import re
from pathlib import Path

import pytest
from paths import ROOT

import pathrig

MODULES = ("tasks", "monitor", "runs", "log")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, tmp_path: Path) -> None:
    names = {one: getattr(pathrig, one) for one in pathrig.__all__}
    module = importlib.import_module(f"pathrig.{name}")
    if name == "log":
        pathrig.run("water_one_plant", "oracle", db=tmp_path / "farm.db")
    tests = [
        one for one in doctest.DocTestFinder(exclude_empty=True).find(module, globs=names) if one.examples
    ]
    assert tests
    for one in tests:
        one.globs["folder"] = tmp_path
        failed, _ = doctest.DocTestRunner().run(one)
        assert failed == 0, one.name


def test_the_lines_of_the_readme_run() -> None:
    (lines,) = re.findall(
        r"```python one_path.py\n(import pathrig\n.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S
    )
    assert lines.count("\n") <= 6
    exec(compile(lines, "README.md", "exec"), {})
