"""The list of equivalent mutants is of the code as it stands."""

from __future__ import annotations

import inspect
from difflib import SequenceMatcher
from pathlib import Path
from pkgutil import resolve_name

import pytest
import yaml

LISTED = yaml.safe_load(Path(__file__).with_name("equivalent.yaml").read_text(encoding="utf-8"))
ALIKE = 0.7
"""Similarity of a statement and a mutant of it."""


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry["function"])
def test_an_entry_is_a_small_change_of_a_statement_of_its_function(entry: dict[str, str]) -> None:
    function = resolve_name(entry["function"])
    lines = [line.strip() for line in inspect.getsource(function).splitlines()]
    statements = {
        " ".join(lines[first : first + length]) for first in range(len(lines)) for length in (1, 2, 3)
    }
    becomes = " ".join(entry["becomes"].split())
    assert becomes not in statements
    matcher = SequenceMatcher(b=becomes.lower(), autojunk=False)

    def likeness(statement: str) -> float:
        matcher.set_seq1(statement.lower())
        return matcher.ratio()

    target = f"{becomes.partition(' = ')[0]} = "
    assert max(map(likeness, statements)) >= ALIKE or any(line.startswith(target) for line in lines)


def test_no_entry_is_listed_twice() -> None:
    named = [(entry["function"], " ".join(entry["becomes"].split())) for entry in LISTED]
    assert len(set(named)) == len(named)
