"""Tells whether a log is still what its runs wrote: every record of its chains, and their signatures."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from core_eval.log.chain import (
    CHECK_BYTES,
    KINDS,
    MOST_RECORDS,
    Part,
    Row,
    checks,
    digest,
    heads,
    links,
    signed_text,
)
from core_eval.log.connection import DAMAGE, LogError, connect_to_read
from core_eval.log.signing import is_signed, key_name

CHANGED = "is not what was recorded"
MISSING = "the row is missing: it was deleted, or its number was changed"
NOT_RECORDED = "the row is in no record: it was added, or its number was changed"
NUMBERED = {
    "turn": ("turn", "k", ""),
    "intent": ("step", "id", ""),
    "question": ("question", "id", " AND step_id IS NOT NULL"),
    "samples": ("sample", "n", ""),
    "truths": ("truth_row", "n", ""),
    "statuses": ("rig_status", "id", ""),
    "cost": ("machine_cost", "0", ""),
}
"""By kind of record: the table whose rows must all be in one, their number, and which rows."""
BEFORE_STEP = ("turn", "question", "intent")
"""Records that come before the step that they are of has begun."""
NOT_YET = {("episode.status", "running")}
"""What stands in a row whose last record has not been made."""
EARLIER = {"episode.prompt_id", *KINDS["started"].columns}
"""Columns of an episode's end that other records have, too."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """The first row that does not fit.

    Attributes:
        where: the table, or `chain` or `signature`.
        what: how it does not fit.
        run, episode, step: of the row; None where it is of none.
        column: the changed columns; empty where it is not one.
        record: the number of the record in its episode's chain.
    """

    where: str
    what: str
    run: int | None = None
    episode: int | None = None
    step: int | None = None
    column: str = ""
    record: int | None = None

    def __str__(self) -> str:
        names = ("run", "episode", "step", "record")
        place = ", ".join(f"{name} {value}" for name in names if (value := getattr(self, name)) is not None)
        column = f", column {self.column}" if self.column else ""
        return f"{place}: table {self.where}{column}: {self.what}"


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """What is known of a run.

    Attributes:
        run: its id.
        episodes, records: how many it has.
        key: the name of the key that signed it; None: not signed.
        standing: in words.
    """

    run: int
    episodes: int
    records: int
    key: str | None
    standing: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a log: its runs, and the first row that does not fit."""

    runs: Sequence[RunEvidence]
    misfit: Misfit | None

    def holds(self, key: str | None = None) -> bool:
        """Return whether every row fits and every run is signed: by this key, if one is named."""
        signed = all(run.key is not None and run.key.startswith(key or "") for run in self.runs)
        return self.misfit is None and bool(self.runs) and signed


def verify(path: Path) -> Evidence:
    """Verify a log; its scorings are no part of its chains.

    Raises:
        LogError: it cannot be read.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(closing(connect_to_read(path, stack)))
        # A column that holds no UTF-8 has changed.
        connection.text_factory = lambda data: data.decode(errors="surrogateescape")
        try:
            # One state of the log, also while a run writes to it.
            connection.execute("BEGIN")
            return _Verification(connection).result()
        except (*DAMAGE, ValueError) as error:
            raise LogError(f"{path}: cannot be read as a log ({error})") from None


@dataclass
class _Walk:
    """What was seen of an episode's chain: the rows' numbers by kind of record, and how many steps began."""

    episode: int
    seen: dict[str, set[int]] = field(default_factory=dict)
    steps: int = 0

    def take(self, part: Part) -> None:
        self.seen.setdefault(part.kind, set()).update(range(part.first, part.last + 1))
        self.steps += part.kind == "intent"

    def step_of(self, kind: str) -> int | None:
        """Return the number of the step that a record is of, or that came before it."""
        step = self.steps if kind in BEFORE_STEP else self.steps - 1
        return None if step < 0 else step


class _Verification:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last_step: dict[int, int | None] = {}

    def result(self) -> Evidence:
        misfit = next(chain(self._episodes(), self._signatures()), None)
        return Evidence(list(self._runs(misfit)), misfit)

    def _all(self, sql: str, *values: Any) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def _episodes(self) -> Iterator[Misfit]:
        chained = {episode for (episode,) in self._all(f"SELECT DISTINCT id / {MOST_RECORDS} FROM chain")}
        runs: dict[int, int] = dict(self._all("SELECT id, run_id FROM episode"))
        evident = {runs.get(episode) for episode in chained}
        evident |= {run for (run,) in self._all("SELECT run_id FROM signature")}
        for episode, run in sorted(runs.items()):
            if episode in chained:
                yield from self._episode(episode)
            elif run in evident:
                yield Misfit("episode", NOT_RECORDED, run, episode)
        for episode in sorted(chained - runs.keys()):
            yield Misfit("episode", MISSING, episode=episode)

    def _episode(self, episode: int) -> Iterator[Misfit]:
        hashed, walk = b"", _Walk(episode)
        for n, (number, of, covers, checked, stored) in enumerate(links(self._connection, episode)):
            wrong = partial(Misfit, "chain", episode=episode, record=n)
            if number % MOST_RECORDS != n:
                yield wrong(MISSING, column="id")
                return
            if of != episode:
                yield wrong(CHANGED, column="episode_id")
                return
            try:
                parts = [Part.read(text) for text in covers.split(",")]
            except ValueError:
                yield wrong(CHANGED, column="covers")
                return
            rows = [part.rows(self._connection, episode) for part in parts]
            hashed = digest(hashed, number, covers, rows)
            if hashed == stored and checked != b"".join(map(checks, rows)):
                yield wrong(CHANGED, column="checks")
                return
            for part, covered in zip(parts, rows, strict=True):
                if hashed != stored:
                    fault, checked = _fault(part, covered, checked)
                    if fault is not None:
                        yield Misfit(*fault[:2], None, episode, walk.step_of(part.kind), fault[2], n)
                        return
                walk.take(part)
            if hashed != stored:
                yield wrong(CHANGED, column="hash or covers")
                return
        self._last_step[episode] = walk.step_of("")
        yield from self._not_recorded(walk)

    def _not_recorded(self, walk: _Walk) -> Iterator[Misfit]:
        """Look for rows, and values of rows, that are in no record."""
        episode = walk.episode
        for kind, (table, number, which) in NUMBERED.items():
            sql = f"SELECT {number} FROM {table} WHERE episode_id = ?{which}"
            found = {one for (one,) in self._all(sql, episode)}
            if left := found - walk.seen.get(kind, set()):
                yield Misfit(table, f"{NOT_RECORDED} ({number} = {min(left)})", None, episode)
        ended = walk.seen.get("result", set())
        missing = [("result", step) for step in sorted(walk.seen.get("intent", set()) - ended)]
        missing += [(kind, 0) for kind in ("prompt", "end") if kind not in walk.seen]
        for name, first in missing:
            step = walk.step_of("") if name == "result" else None
            (row,) = Part(name, first).rows(self._connection, episode)
            for column, value in zip(KINDS[name].columns, row, strict=True):
                if value is not None and (column, value) not in NOT_YET and column not in EARLIER:
                    table, _, column = column.partition(".")
                    yield Misfit(table, "is set, and no record has it", None, episode, step, column)

    def _signatures(self) -> Iterator[Misfit]:
        runs: dict[int, Any] = dict(self._all("SELECT id, ended FROM run"))
        for run, text, key, signature in self._all("SELECT * FROM signature ORDER BY run_id"):
            if run not in runs:
                yield Misfit("run", MISSING, run)
                continue
            own = signed_text(run, runs[run], heads(self._connection, run))
            if not is_signed(text.encode(errors="surrogateescape"), key, signature):
                column = "public_key or signature" if own == text else "content"
                yield Misfit("signature", "does not fit the others", run, column=column)
            elif own != text:
                yield self._other_than_signed(run, runs[run], json.loads(text))

    def _other_than_signed(self, run: int, ended: Any, content: Any) -> Misfit:
        """Return what of a run is not what its signature, which fits, says."""
        if content["run"] != run:
            return Misfit("signature", f"is of run {content['run']}", run, column="run_id")
        there = {one[0]: one for one in heads(self._connection, run)}
        signed = {one[0]: one for one in content["episodes"]}
        for episode in sorted(there.keys() | signed.keys()):
            if episode not in there:
                return Misfit("episode", "was signed, and is missing", run, episode)
            if episode not in signed:
                return Misfit("episode", "was added after the run was signed", run, episode)
            if there[episode] != signed[episode]:
                count = f"{there[episode][1]} records are there, and {signed[episode][1]} were signed"
                return Misfit("chain", count, run, episode)
        return Misfit("run", CHANGED, run, column="ended")

    def _runs(self, misfit: Misfit | None) -> Iterator[RunEvidence]:
        wrong = None if misfit is None else misfit.run
        keys: dict[int, bytes] = dict(self._all("SELECT run_id, public_key FROM signature"))
        counts = {
            row[0]: row
            for row in self._all(
                "SELECT run.id, run.ended, count(DISTINCT episode.id), count(chain.id),"
                " count(DISTINCT imported), max(CASE WHEN chain.id IS NOT NULL THEN episode.id END) FROM run"
                " LEFT JOIN episode ON run_id = run.id LEFT JOIN chain ON episode_id = episode.id"
                " GROUP BY run.id ORDER BY run.id"
            )
        }
        if misfit is not None and misfit.episode is not None:
            found = self._all("SELECT run_id FROM episode WHERE id = ?", misfit.episode)
            wrong = found[0][0] if found else wrong
        for run, ended, episodes, records, imported, last in counts.values():
            key = None if run not in keys or run == wrong else key_name(keys[run])
            if run == wrong:
                standing = "does not fit"
            elif key is not None:
                standing = f"signed by key {key}"
            elif records:
                step = self._last_step.get(last)
                place = f"episode {last}" + ("" if step is None else f", step {step}")
                standing = (
                    f"interrupted: its chain holds to {place}" if ended is None else "chained, not signed"
                )
            else:
                standing = "imported, not signed" if imported else "not chained"
            yield RunEvidence(run, episodes, records, key, standing)


def _fault(part: Part, rows: Sequence[Row], checked: bytes) -> tuple[tuple[str, str, str] | None, bytes]:
    """Look whether rows are those of their checksums.

    Returns:
        Table, what is wrong, and columns, where they are not; and the checksums of the parts that follow.
    """
    kind = KINDS[part.kind]
    table = kind.columns[0].partition(".")[0]
    if not rows:
        return (table, MISSING, ""), b""
    if kind.key and len(rows) != (count := part.last - part.first + 1):
        return (table, f"{len(rows)} rows are there, and {count} were recorded", ""), b""
    found = checks(rows)
    changed = [
        found[at : at + CHECK_BYTES] != checked[at : at + CHECK_BYTES]
        for at in range(0, len(found), CHECK_BYTES)
    ]
    left = checked[len(found) :]
    width = len(kind.columns)
    names = [name for name, one in zip(kind.columns, changed, strict=False) if one]
    if not names:
        return None, left
    what = CHANGED
    if kind.key:
        row = changed[width:].index(True) if True in changed[width:] else 0
        what += f" (row {row + 1} of those numbered {part})"
    tables = {name.partition(".")[0] for name in names}
    columns = names if len(tables) > 1 else [name.partition(".")[2] for name in names]
    return (names[0].partition(".")[0], what, ", ".join(columns)), left
