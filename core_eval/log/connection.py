"""Opening a log file: pragmas, the schema's version, and clear words for files that are none of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core_eval.log.schema import APPLICATION_ID, MIGRATIONS

BUSY_SECONDS = 10.0


class LogError(Exception):
    """A log that cannot be used; the text is one line that names the file and says what to do."""


def connect(path: Path, *, create: bool = True, durable: bool = False) -> sqlite3.Connection:
    """A connection to the log, brought up to this program's schema.

    What is committed survives the death of the process in any case. A power cut may cost the last
    transactions (never the file) unless `durable`, which waits for the disk at each commit.

    Raises:
        LogError: the file is missing, is no log, or was written by a newer version.
    """
    if not create and not path.is_file():
        raise LogError(f"{path}: there is no such log; `pathrig run --db {path} ...` writes one")
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise LogError(f"{path}: cannot be opened ({error}); name a file in a folder that exists") from None
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise LogError(f"{path}: cannot be used as a log ({error}); name another file") from None
    except LogError:
        connection.close()
        raise
    return connection


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, for logs on read-only media.

    Raises:
        LogError: as `connect`; also where the schema is older, since it cannot be migrated here.
    """
    if not path.is_file():
        raise LogError(f"{path}: there is no such log; `pathrig run --db {path} ...` writes one")
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None)
            version = _check(connection, path, MIGRATIONS)
        except sqlite3.OperationalError:
            # A WAL file without its side files, in a folder where none can be made: nobody else writes it.
            connection = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
            version = _check(connection, path, MIGRATIONS)
    except sqlite3.DatabaseError as error:
        raise LogError(f"{path}: cannot be read as a log ({error})") from None
    if version != len(MIGRATIONS):
        connection.close()
        raise LogError(
            f"{path}: has the older schema {version} and is read-only; copy it, then open the copy"
        )
    return connection


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the file to the last version, one migration a transaction.

    Raises:
        LogError: the file is newer than this program, or another program's.
    """
    while _check(connection, path, migrations) < len(migrations):
        with transaction(connection):
            # Somebody else may have migrated it while we waited for the lock.
            version = _check(connection, path, migrations)
            if version < len(migrations):
                for statement in _statements(migrations[version]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version + 1}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or, on any way out but the end, nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def insert(connection: sqlite3.Connection, table: str, **columns: Any) -> int:
    """A new row; its id."""
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"
    return int(connection.execute(sql, tuple(columns.values())).lastrowid or 0)


def _check(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise LogError(f"{path}: is another program's database; name another file for the log")
    if version > len(migrations):
        raise LogError(
            f"{path}: has log schema {version}, this pathrig reads up to {len(migrations)}; upgrade pathrig"
        )
    return version


def _statements(script: str) -> Iterator[str]:
    # `executescript` would commit the transaction that it runs in, so the script goes in by statements.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
