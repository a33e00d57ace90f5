"""Puts an episode that another log has recorded into this one, under this one's numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from core_eval.log.chain import Part, add_record
from core_eval.log.connection import insert, transaction
from core_eval.log.episode_copy import Rows, references, unpacked
from core_eval.log.writer import RunLog

ONCE = ("definition", "prompt")
"""Tables whose equal rows are kept once, by their `sha256`."""
OF_THE_RUN = ("run", "signature", "chain")
NUMBERED = {"intent": "step", "result": "step", "question": "question", "statuses": "rig_status"}
"""By kind of record: the table by whose ids it names its rows; other kinds count within the episode."""
Ids = dict[tuple[str, int], int]


def adopt(log: RunLog, run_id: int, data: bytes) -> int:
    """Add a `packed` episode to a run, in one transaction; return its id.

    Its chain is made anew, as its records name rows by number: it proves that nothing changed since.

    Raises:
        LogError: it cannot be read, or is of another schema.
    """
    rows = unpacked(data)
    with log.lock, transaction(log.connection):
        # By id, so that rows that a record covers stay in a row.
        ids: Ids = {}
        for table, owners in _in_order(log.connection, rows):
            for row in sorted(rows[table], key=lambda one: one.get("id", 0)):
                own = row.pop("id", None)
                for column, owner in owners.items():
                    if owner == "run":
                        row[column] = run_id
                    elif row[column] is not None:
                        row[column] = ids[owner, row[column]]
                number = _known(log.connection, table, row) or insert(log.connection, table, **row)
                if own is not None:
                    ids[table, own] = number
        (episode,) = (new for (table, _), new in ids.items() if table == "episode")
        for link in sorted(rows.get("chain", ()), key=lambda one: int(one["id"])):
            parts = map(Part.read, link["covers"].split(","))
            add_record(log.connection, episode, [_renumbered(part, ids) for part in parts])
    return episode


def _in_order(connection: sqlite3.Connection, rows: Rows) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each table that comes with its references, those that it refers to before it."""
    known = dict(references(connection))
    left = {table: known[table] for table in rows if table not in OF_THE_RUN}
    while left:
        table = next(name for name, owners in left.items() if not set(owners.values()) & left.keys())
        yield table, left.pop(table)


def _known(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int | None:
    values: tuple[Any, ...]
    if table in ONCE:
        sql, values = f"SELECT id FROM {table} WHERE sha256 = ?", (row["sha256"],)
    elif table == "truth_whole":
        sql = "SELECT id FROM truth_whole WHERE definition_id = ? AND state = ?"
        values = row["definition_id"], row["state"]
    else:
        return None
    found = connection.execute(sql, values).fetchone()
    return None if found is None else int(found[0])


def _renumbered(part: Part, ids: Ids) -> Part:
    table = NUMBERED.get(part.kind)
    return part if table is None else Part(part.kind, ids[table, part.first], ids[table, part.last])
