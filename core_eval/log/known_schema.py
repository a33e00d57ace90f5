"""Compares what a file holds with what its version's schema makes: a log may come from anybody.

A trigger would change what is written, and a view or a table under one of our names what is read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache, lru_cache

from core_eval.log.schema import MIGRATIONS, register
from core_eval.text.visible_text import visible

MOST_NAMED = 5
TOKENS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\w+|[^\s\w]""")
OF_SQLITE = b"sqlite_stat"
"""What `ANALYZE` makes: only the order in which SQLite looks things up depends on it."""

Objects = Mapping[tuple[str, str], tuple[str, ...]]
"""Kind and name to the SQL of a table, index, view or trigger, as tokens; none of an automatic index."""


class SchemaError(Exception):
    """What is wrong with a file's schema, and what to do: a part of a line."""


def check_schema(connection: sqlite3.Connection, version: int, *, to_write: bool) -> None:
    """Check that a file's tables and views are those of this version, and that it has nothing else.

    Reading is allowed beside tables, indexes, triggers and views of others: readers use ours only.

    Raises:
        SchemaError: something is missing or another; or, `to_write`, something is there that is not ours.
        sqlite3.DatabaseError, UnicodeDecodeError: it is damaged.
    """
    found, ours = _objects(connection), _of_version(version)
    wrong = [key for key in ours if found.get(key) != ours[key]]
    if wrong:
        raise SchemaError(
            f"is not as pathrig makes a log of schema {version}: {_named(wrong)} {_are(wrong)} missing or "
            "changed; get an untouched copy"
        )
    others = [key for key in found if key not in ours]
    if others and to_write:
        raise SchemaError(
            f"holds what is not pathrig's, so nothing is written to it: {_named(others)}; drop it (DROP "
            f"{visible(others[0][0]).upper()} ...), and keep tables of your own in a file that you ATTACH"
        )


@cache
def statements(scripts: tuple[str, ...]) -> tuple[str, ...]:
    """Return what makes the tables, indexes and views that these scripts make one after the other.

    SQLite reads the whole schema again at each change of a table: the scripts take ten times as long.
    """
    with closing(sqlite3.connect(":memory:")) as fresh:
        register(fresh)
        for script in scripts:
            fresh.executescript(script)
        rows = fresh.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        return tuple(sql for (sql,) in rows)


@cache
def _of_version(version: int) -> Objects:
    with closing(sqlite3.connect(":memory:")) as fresh:
        register(fresh)
        for statement in statements(MIGRATIONS[:version]):
            fresh.execute(statement)
        return _objects(fresh)


def _objects(connection: sqlite3.Connection) -> Objects:
    rows = connection.execute(
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(coalesce(sql, '') AS BLOB) FROM sqlite_master"
        " WHERE type != 'index' OR sql IS NOT NULL"
    )
    return {
        (kind.decode(errors="replace"), name.decode(errors="replace")): _tokens(sql.decode(errors="replace"))
        for kind, name, sql in rows
        if not name.startswith(OF_SQLITE)
    }


@lru_cache(maxsize=512)
def _tokens(sql: str) -> tuple[str, ...]:
    """Return the SQL without comments and white space, which changed in scripts that did not."""
    return tuple(token for token in TOKENS.findall(sql) if not token.startswith("--"))


def _named(keys: list[tuple[str, str]]) -> str:
    named = [visible(f"{kind} {name}") for kind, name in keys[:MOST_NAMED]]
    left = len(keys) - len(named)
    return ", ".join(named) + (f" and {left} more" if left else "")


def _are(keys: list[tuple[str, str]]) -> str:
    return "is" if len(keys) == 1 else "are"
