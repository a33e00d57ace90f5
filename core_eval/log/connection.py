"""Opens a log file: pragmas, the schema's version, and clear errors for foreign files."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core_eval.log.known_schema import SchemaError, check_schema, statements
from core_eval.log.schema import APPLICATION_ID, MIGRATIONS, register

BUSY_SECONDS = 10.0
PAGE_BYTES = 512
"""Of new files. A transaction writes whole pages, and a call's rows fill little of each: with SQLite's usual
4,096 bytes a call would write three times as much (`benchmarks/log_wear.py`)."""

WAL_BYTES = 1 << 20
"""The -wal file's size from which on it is folded into the log: after about a hundred calls."""
WAL_FRAMES = 1000
"""SQLite's own limit, in pages, which holds for the larger pages of older files."""


READING = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_TRANSACTION,
    }
)
"""What a reader's statements may do."""
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What a damaged file raises; the second where SQLite's own message quotes bytes that are no UTF-8."""


class LogError(Exception):
    """A log that cannot be used; one line that names the file and the remedy.

    `episode` is the one that is damaged; None: the whole log is.
    """

    episode: int | None = None


def connect(path: Path, *, create: bool = True, durable: bool = False) -> sqlite3.Connection:
    """Open the log, migrated to this program's schema.

    Committed rows survive the death of the process. A power cut may lose the last
    transactions (never the file) unless `durable`, which waits for the disk at each commit.

    Raises:
        LogError: the file is missing, is not a log, or was written by a newer version.
    """
    if not create:
        _require_log(path)
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise LogError(f"{path}: cannot be opened ({error}); name a file in a folder that exists") from None
    try:
        register(connection)
        _check_all(connection, path, to_write=True)
        connection.execute("PRAGMA foreign_keys = ON")
        # Changes nothing in a file that has tables.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        migrate(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_frames(connection)}")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    except DAMAGE as error:
        connection.close()
        raise LogError(f"{path}: cannot be used as a log ({error}); name another file") from None
    except LogError:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path, scratch: ExitStack, *, any_version: bool = False) -> sqlite3.Connection:
    """Open the log without changing a row, also on a full disk or in a read-only folder.

    Only a file with an older schema is changed, unless `any_version`: it is brought up to date.

    Args:
        path: the log.
        scratch: keeps the copy that must be made where the newest rows still stand in the log's -wal file
            and SQLite can make no -shm file beside it.

    Raises:
        LogError: as `connect`; also where the schema is older and the file cannot be written.
    """
    _require_log(path)
    try:
        try:
            connection = _look(path, "mode=rw")
        except sqlite3.OperationalError:
            if _size(wal_of(path)):
                copy = Path(scratch.enter_context(TemporaryDirectory(prefix="pathrig-"))) / path.name
                shutil.copyfile(path, copy)
                shutil.copyfile(wal_of(path), wal_of(copy))
                connection = _look(copy, "mode=rw")
            else:
                # The file is complete, and no other process writes it.
                connection = _look(path, "mode=ro&immutable=1")
    except DAMAGE as error:
        raise LogError(f"{path}: cannot be read as a log ({error})") from None
    except OSError as error:
        raise LogError(
            f"{path}: cannot be read here, nor copied to a temporary folder ({error.strerror}); copy it "
            f"together with {wal_of(path).name} to a folder that can be written"
        ) from None
    version = _version(connection)
    if not version:
        connection.close()
        raise LogError(f"{path}: holds no tables: no log; name another file")
    if any_version or version == len(MIGRATIONS):
        return connection
    connection.close()
    try:
        connect(path, create=False).close()
    except LogError as error:
        raise LogError(
            f"{path}: has the older schema {version} and cannot be brought up to date here: copy it, then "
            f"open the copy ({error})"
        ) from None
    return _look(path, "mode=rw")


def wal_of(path: Path) -> Path:
    """Return the file beside a log that holds its newest transactions."""
    return path.with_name(f"{path.name}-wal")


def check_is_log(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a readable log; an older schema is accepted.

    Raises:
        LogError: the file is newer than this program, or another program's.
        sqlite3.DatabaseError: it is not a database.
    """
    _check(connection, path, MIGRATIONS)


def _frames(connection: sqlite3.Connection) -> int:
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    return max(WAL_FRAMES, WAL_BYTES // int(page))


def _require_log(path: Path) -> None:
    """Refuse what is no file, or an empty one, of which SQLite would make a database."""
    if not path.is_file():
        raise LogError(f"{path}: there is no such log; `pathrig run --db {path} ...` writes one")
    if not _size(path) and not _size(wal_of(path)):
        raise LogError(f"{path}: is empty: no log; `pathrig run --db {path} ...` writes one")


def _look(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection that has read something, and changes nothing."""
    uri = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        register(connection)
        _check_all(connection, path, to_write=False)
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_only_read)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_all(connection: sqlite3.Connection, path: Path, *, to_write: bool) -> None:
    """Refuse what is no log, and a log whose schema is not that of its version; a new file is let pass."""
    # In one transaction: another process may be bringing it up to date.
    connection.execute("BEGIN")
    try:
        version = _check(connection, path, MIGRATIONS)
        if version:
            check_schema(connection, version, to_write=to_write)
    except SchemaError as error:
        raise LogError(f"{path}: {error}") from None
    finally:
        connection.execute("ROLLBACK")


def _only_read(action: int, *_: str | None) -> int:
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the file to the last version, one migration a transaction; a new file at once.

    Raises:
        LogError: the file is newer than this program, or another program's.
    """
    while _check(connection, path, migrations) < len(migrations):
        with transaction(connection):
            # Another process may have migrated it while this one waited for the lock.
            version = _check(connection, path, migrations)
            if version < len(migrations):
                script = _statements(migrations[version]) if version else statements(tuple(migrations))
                for statement in script:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version + 1 if version else len(migrations)}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction: committed at its end, rolled back on any exception.

    Within another one it is a part of that, which is rolled back by itself.
    """
    begin, undo, end = ("BEGIN IMMEDIATE", "ROLLBACK", "COMMIT")
    if connection.in_transaction:
        begin, undo, end = ("SAVEPOINT part", "ROLLBACK TO part", "RELEASE part")
    connection.execute(begin)
    try:
        yield
    except BaseException:
        connection.execute(undo)
        if undo != "ROLLBACK":
            connection.execute(end)
        raise
    connection.execute(end)


def insert(connection: sqlite3.Connection, table: str, **columns: Any) -> int:
    """Insert a row; return its id."""
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    return int(connection.execute(sql, tuple(columns.values())).lastrowid or 0)


def update(connection: sqlite3.Connection, table: str, row: int, **columns: Any) -> None:
    """Set columns of the row with this id."""
    sets = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(f"UPDATE {table} SET {sets} WHERE id = ?", (*columns.values(), row))


def _check(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> int:
    version = _version(connection)
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
