"""A dataclass is a table's row: what is written comes back, and a new field needs no other place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest

from core_eval.log import DeviationRow, FailureRow, HarmRow
from core_eval.log.columns import read_value
from core_eval.log.row_map import NO_COLUMN, column_types, columns, row_of
from core_eval.log.rows import Observation
from core_eval.log.schema import MIGRATIONS, register


class Word(StrEnum):
    YES = "yes"


@dataclass(frozen=True)
class Row:
    flag: bool
    maybe: bool | None
    number: float | None
    word: Word | None
    kind: Literal["a", "b"]
    found: Mapping[str, Any] | None
    elsewhere: int = field(default=7, metadata=NO_COLUMN)


def test_values_are_stored_by_their_types_and_come_back() -> None:
    row = Row(True, None, 0.5, Word.YES, "a", {"sensor": "x", "value": [1, None]})
    stored = columns(row)
    assert stored == {
        "flag": 1,
        "maybe": None,
        "number": 0.5,
        "word": "yes",
        "kind": "a",
        "found": '{"sensor":"x","value":[1,null]}',
    }
    read = {**stored, "found": row.found, "id": 3}
    assert row_of(Row, read, elsewhere=7) == row


def test_flags_come_back_as_booleans_and_none_as_none() -> None:
    found = row_of(Row, {"flag": 0, "maybe": 1, "number": None, "word": None, "kind": "b", "found": None})
    assert (found.flag, found.maybe, found.number) == (False, True, None)


@pytest.mark.parametrize(
    ("table", "row"), [("harm", HarmRow), ("deviation", DeviationRow), ("failure", FailureRow)]
)
def test_every_field_is_a_column_of_its_table(table: str, row: type) -> None:
    import sqlite3

    connection = sqlite3.connect(":memory:")
    register(connection)
    for script in MIGRATIONS:
        connection.executescript(script)
    known = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
    assert set(column_types(row)) == known - {"id", "episode_id", "scoring_id"}


def test_a_harm_event_is_read_as_it_was_written() -> None:
    event = HarmRow(
        "leaching", "plant_B", None, 1.0, 2.5, 0.1, 0.2, {"sensor": "s", "value": 1, "t": None}, 4, k=2,
        source="twin", probability=0.75, verdict=Observation.HINDSIGHT, hidden_at_end=True, excess=False,
        roc={"all": [[0.0, 0.5]]},
    )  # fmt: skip
    stored = columns(event)
    assert "k" not in stored
    read = {name: read_value("other", name, value) for name, value in stored.items()}
    read |= {"evidence": event.evidence, "roc": event.roc, "verdict": Observation(stored["verdict"])}
    assert row_of(HarmRow, read, k=2) == event
