"""Takes an episode out of one log and puts it into another: under the same numbers, or under its own.

Under the same numbers its chain of hashes holds there too, and `pathrig verify` still tells what was changed.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from core_eval.log.chain import Part, add_record
from core_eval.log.connection import LogError, connect, connect_to_read, insert, transaction
from core_eval.log.schema import MIGRATIONS
from core_eval.log.writer import RunLog

MOST_BYTES = 1 << 29
"""Of an episode when it is unpacked."""
Rows = dict[str, list[dict[str, Any]]]


def finished(path: Path, *, of_the_past: bool) -> list[int]:
    """Return the ids of episodes to which nothing is added any more, in order.

    They are those of runs that have ended or that another one followed; `of_the_past`: of all runs.

    Raises:
        LogError: the file is no log.
    """
    if of_the_past:
        # Nobody writes to it: what still runs there was cut off, and is marked so.
        RunLog(path).close()
    with ExitStack() as stack:
        log = stack.enter_context(closing(connect_to_read(path, stack)))
        over = "1" if of_the_past else "ended IS NOT NULL OR id < (SELECT max(id) FROM run)"
        of_runs = f"run_id IN (SELECT id FROM run WHERE {over})"
        sql = f"SELECT id FROM episode WHERE status != 'running' AND {of_runs} ORDER BY id"
        return [number for (number,) in log.execute(sql)]


def packed(path: Path, episode: int) -> bytes:
    """Return all rows of an episode, and those that they refer to, compressed.

    A run's signature goes with its last episode, as it holds for all of them.

    Raises:
        LogError: the file is no log, or has no such episode.
    """
    with ExitStack() as stack:
        log = stack.enter_context(closing(connect_to_read(path, stack)))
        log.row_factory = sqlite3.Row
        log.execute("BEGIN")
        found = _rows(log, episode)
    content = {"schema": len(MIGRATIONS), "tables": found}
    return zlib.compress(json.dumps(content, default=lambda data: {"hex": data.hex()}).encode())


def _rows(log: sqlite3.Connection, episode: int) -> Rows:
    keys = dict(references(log))
    found: Rows = {"episode": _select(log, "episode", "id", [episode])}
    if not found["episode"]:
        raise LogError(f"there is no episode {episode}")
    (run,) = {row["run_id"] for row in found["episode"]}
    # What belongs to it, and to what belongs to it.
    for table, owners in keys.items():
        if "episode" in owners.values():
            column = next(column for column, owner in owners.items() if owner == "episode")
            found[table] = _select(log, table, column, [episode])
    found["blame"] = _select(log, "blame", "harm", [row["id"] for row in found["harm"]])
    # What it refers to.
    found["run"] = _select(log, "run", "id", [run])
    for table in ("prompt", "truth_whole", "definition"):
        column = f"{table.removeprefix('truth_')}_id"
        rows = [row for name in ("episode", "truth_row", "truth_whole") for row in found.get(name, [])]
        wanted = {row[column] for row in rows if row.get(column) is not None}
        found[table] = _select(log, table, "id", sorted(wanted))
    (last,) = log.execute("SELECT max(id) FROM episode WHERE run_id = ?", (run,)).fetchone()
    found["signature"] = _select(log, "signature", "run_id", [run]) if last == episode else []
    return {table: rows for table, rows in found.items() if rows}


def _select(log: sqlite3.Connection, table: str, column: str, values: list[Any]) -> list[dict[str, Any]]:
    found = []
    for value in values:
        found += [dict(row) for row in log.execute(f"SELECT * FROM {table} WHERE {column} = ?", (value,))]
    return found


def references(log: sqlite3.Connection) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each table with its columns that refer to another, and to which."""
    for (name,) in log.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        yield name, {row[3]: row[2] for row in log.execute(f"PRAGMA foreign_key_list({name})")}


def store(data: bytes, target: Path) -> bool:
    """Put a packed episode into a log, which is made if it is not there; return whether it is new there.

    Raises:
        LogError: it is not readable, of another schema, or the log has another episode of that number.
    """
    rows = unpacked(data)
    with closing(connect(target, durable=True)) as log:
        try:
            with transaction(log):
                log.execute("PRAGMA defer_foreign_keys = ON")
                return _insert(log, rows)
        except (sqlite3.Error, KeyError, TypeError) as error:
            raise LogError(f"{target}: the episode does not fit into a log: {error}") from None


def _insert(log: sqlite3.Connection, rows: Rows) -> bool:
    (episode,) = rows["episode"]
    there = log.execute("SELECT started, agent FROM episode WHERE id = ?", (episode["id"],)).fetchone()
    if there is not None:
        if there != (episode["started"], episode["agent"]):
            raise LogError(f"another episode {episode['id']} is there: two logs are sent under one name")
        return False
    known = {name for name, _ in references(log)}
    for table, given in rows.items():
        if table not in known:
            raise LogError(f"there is no table {table!r}")
        columns = {row[1] for row in log.execute(f"PRAGMA table_info({table})")}
        for row in given:
            if not row.keys() <= columns:
                raise LogError(f"{table} has no column {min(row.keys() - columns)!r}")
            # Of a run the last row that was sent says whether it has ended.
            how = "OR REPLACE" if table == "run" and _is_alone(log, row) else "OR IGNORE"
            marks = ", ".join("?" * len(row))
            log.execute(f"INSERT {how} INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    return True


def _is_alone(log: sqlite3.Connection, run: Mapping[str, Any]) -> bool:
    if log.execute("SELECT 1 FROM episode WHERE run_id = ?", (run["id"],)).fetchone() is None:
        return True
    log.execute("UPDATE run SET ended = ? WHERE id = ?", (run["ended"], run["id"]))
    return False


def unpacked(data: bytes) -> Rows:
    """Return the rows of a packed episode.

    Raises:
        LogError: it is not readable, or of another schema.
    """
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, MOST_BYTES)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise LogError("the episode is cut off, or too large")
        content = json.loads(text, object_hook=_blob)
    except (zlib.error, ValueError, RecursionError) as error:
        raise LogError(f"the episode cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != len(MIGRATIONS):
        raise LogError(
            f"the episode is not of log schema {len(MIGRATIONS)}: install the same version of pathrig"
        )
    tables: Rows | None = content.get("tables")
    whole = isinstance(tables, dict) and all(
        isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in tables.values()
    )
    if tables is None or not whole or len(tables.get("episode", ())) != 1:
        raise LogError("the episode cannot be read: it holds no rows")
    return tables


def _blob(value: dict[str, Any]) -> Any:
    return bytes.fromhex(value["hex"]) if value.keys() == {"hex"} else value


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
