"""A hash chain over what an episode's log says: each record is signed by what comes after it.

A record covers what a transaction writes and nobody changes later; its hash is the SHA-256, cut to 16 bytes,
of the hash before, of what it covers, and of the values as JSON. Short checksums beside it (low 16 bits of
CRC-32) tell which row and column does not fit. A run's signature is made over its episodes' last hashes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

VERSION = "pathrig chain 1"
CHECK_BYTES = 2
HASH_BYTES = 16
MOST_RECORDS = 1 << 24
OF_EPISODE = f"id BETWEEN ?1 * {MOST_RECORDS} AND (?1 + 1) * {MOST_RECORDS} - 1"
"""The numbers that records of an episode may have."""
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """What records of a kind cover.

    Attributes:
        columns: `table.column` of each; what `where` names needs none.
        source: the tables.
        where: the condition, by `:episode`, `:first` and `:last`.
        key: the column of the rows' numbers, where a record covers several rows; else empty.
    """

    columns: tuple[str, ...]
    source: str
    where: str
    key: str = ""


def _of(table: str, names: str) -> tuple[str, ...]:
    return tuple(f"{table}.{name}" for name in names.split())


_STARTED = _of("episode", "device simulated guard")
KINDS: Mapping[str, Kind] = {
    "begin": Kind(
        (
            *_of("run", "id created config packages host"),
            *_of(
                "definition",
                "id sha256 prompt automaton goal tools world_state answer cautions world_version decline"
                " gold",
            ),
            *_of("episode", "id run_id number task world rig agent scaffold seed started definition_id init"),
            *_of("episode", "limits scoring agent_info pid process_start boot_id twin template hazards"),
            *_of("episode", "imported reward"),
        ),
        "episode LEFT JOIN run ON run.id = run_id LEFT JOIN definition ON definition.id = definition_id",
        "episode.id = :episode",
    ),
    "started": Kind(_STARTED, "episode", "episode.id = :episode"),
    "prompt": Kind(
        (*_of("episode", "prompt_id"), *_of("prompt", "id sha256 messages tools rendered")),
        "episode LEFT JOIN prompt ON prompt.id = prompt_id",
        "episode.id = :episode",
    ),
    "turn": Kind(
        _of(
            "turn",
            "text input_tokens cached_tokens output_tokens seconds reasoning prompt_seconds"
            " writing_seconds first_token_seconds",
        ),
        "turn",
        "turn.episode_id = :episode AND turn.k = :first",
    ),
    "question": Kind(
        _of("question", "episode_id step_id asked until text reason answered answer by"),
        "question",
        "question.id = :first",
    ),
    "intent": Kind(
        _of("step", "episode_id k tool arguments t_intent call_id guard_action guard_reason"),
        "step",
        "step.id = :first",
    ),
    "result": Kind(
        _of(
            "step",
            "status kind symbol state_before state_after t_result result error_code error_message t_device"
            " duration class status_from call_group",
        ),
        "step",
        "step.id = :first",
    ),
    "samples": Kind(
        _of("sample", "sensor value t"),
        "sample",
        "sample.episode_id = :episode AND sample.n BETWEEN :first AND :last",
        "sample.n",
    ),
    "truths": Kind(
        (
            *_of("truth_row", "id call_id t whole_id change bytes events"),
            *_of("truth_whole", "id definition_id state"),
        ),
        "truth_row LEFT JOIN truth_whole ON truth_whole.id = whole_id",
        "truth_row.episode_id = :episode AND truth_row.n BETWEEN :first AND :last",
        "truth_row.n",
    ),
    "statuses": Kind(
        _of("rig_status", "t source state detail"),
        "rig_status",
        "rig_status.episode_id = :episode AND rig_status.id BETWEEN :first AND :last",
        "rig_status.id",
    ),
    "cost": Kind(
        _of("machine_cost", "peak_memory energy meter load_seconds"),
        "machine_cost",
        "machine_cost.episode_id = :episode",
    ),
    "end": Kind(
        (
            *_STARTED,
            *_of("episode", "prompt_id status ended seconds stop_reason error stop said calls_made"),
            *_of("episode", "fingerprint left_record"),
        ),
        "episode",
        "episode.id = :episode",
    ),
}
"""The kinds of records. Their names and columns are part of `VERSION`."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a record covers of one kind: the rows `first` to `last`, both 0 where the kind needs no number."""

    kind: str
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.first}" + (f"-{self.last}" if self.last != self.first else "")

    @classmethod
    def read(cls, text: str) -> Part:
        """Return the part of its text.

        Raises:
            ValueError: it is none.
        """
        kind, _, numbers = text.partition(" ")
        first, _, last = numbers.partition("-")
        part = cls(kind, int(first), int(last or first))
        if kind not in KINDS or str(part) != text:
            raise ValueError(f"{text!r} is no part of a record")
        return part

    def rows(self, connection: sqlite3.Connection, episode: int) -> list[Row]:
        """Return its rows as the log has them now."""
        kind = KINDS[self.kind]
        order = f" ORDER BY {kind.key}" if kind.key else ""
        sql = f"SELECT {', '.join(kind.columns)} FROM {kind.source} WHERE {kind.where}{order}"
        of = {"episode": episode, "first": self.first, "last": self.last}
        return connection.execute(sql, of).fetchall()


def add_record(connection: sqlite3.Connection, episode: int, parts: Sequence[Part]) -> None:
    """Add a record to the chain of an episode, in the transaction that writes its rows."""
    sql = f"SELECT id, hash FROM chain WHERE {OF_EPISODE} ORDER BY id DESC LIMIT 1"
    before = connection.execute(sql, (episode,)).fetchone()
    number, hashed = (before[0] + 1, before[1]) if before else (episode * MOST_RECORDS, b"")
    covers = ",".join(map(str, parts))
    rows = [part.rows(connection, episode) for part in parts]
    connection.execute(
        "INSERT INTO chain (id, episode_id, covers, checks, hash) VALUES (?, ?, ?, ?, ?)",
        (number, episode, covers, b"".join(map(checks, rows)), digest(hashed, number, covers, rows)),
    )


def is_chained(connection: sqlite3.Connection, episode: int) -> bool:
    """Return whether an episode has a chain: those of logs of before and imported ones have none."""
    return bool(connection.execute(f"SELECT 1 FROM chain WHERE {OF_EPISODE}", (episode,)).fetchone())


def digest(before: bytes, number: int, covers: str, rows: Sequence[Sequence[Row]]) -> bytes:
    """Return the hash of a record."""
    return hashlib.sha256(before + _encoder.encode([VERSION, number, covers, rows]).encode()).digest()[
        :HASH_BYTES
    ]


def checks(rows: Sequence[Row]) -> bytes:
    """Return a checksum of each column, then, of several rows, of each row."""
    parts: list[Any] = list(zip(*rows, strict=True))
    if len(rows) > 1:
        parts += rows
    # Of Python's own notation, as JSON for each column takes several times as long.
    return b"".join([(zlib.crc32(ascii(part).encode()) & 0xFFFF).to_bytes(CHECK_BYTES) for part in parts])


def links(connection: sqlite3.Connection, episode: int) -> Iterator[tuple[int, int, str, bytes, bytes]]:
    """Return the rows of an episode's chain, in order."""
    sql = f"SELECT id, episode_id, covers, checks, hash FROM chain WHERE {OF_EPISODE} ORDER BY id"
    yield from connection.execute(sql, (episode,))


def heads(connection: sqlite3.Connection, run: int) -> list[list[Any]]:
    """Return id, number of records and last hash of each chained episode of a run: what is signed."""
    return [
        [episode, number % MOST_RECORDS + 1, hashed.hex()]
        for episode, number, hashed in connection.execute(
            "SELECT episode.id, chain.id, hash FROM episode JOIN chain ON chain.id ="
            f" (SELECT max(id) FROM chain WHERE id < (episode.id + 1) * {MOST_RECORDS})"
            f" AND chain.id >= episode.id * {MOST_RECORDS} WHERE run_id = ? ORDER BY episode.id",
            (run,),
        )
    ]


def signed_text(run: int, ended: float, chains: Sequence[Sequence[Any]]) -> str:
    """Return what is signed of a run."""
    return _encoder.encode({"chain": VERSION, "run": run, "ended": ended, "episodes": chains})


_encoder = json.JSONEncoder(separators=(",", ":"), default=lambda data: {"hex": data.hex()})
