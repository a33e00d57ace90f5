"""Buffers rows of an episode until its next transaction, to reduce disk writes.

A transaction writes whole pages, so each row in one of its own would write many times as much.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from core_eval.log.chain import Part, add_record
from core_eval.log.connection import insert, transaction
from core_eval.log.row_map import columns
from core_eval.log.rows import RigStatusRow
from core_eval.log.truth_changes import NULL, change, packed
from core_eval.text.foreign_json import parse_json
from core_eval.text.json_text import to_json
from devices.harm import HarmEvent
from devices.sensors import Sample, Truth

FLUSH_SECONDS = 0.5
FLUSH_ROWS = 64
WHOLE_EVERY = 32
"""Rows of truth from one that stands on a whole state to the next: to read one takes so many patches."""

State = Mapping[str, Any]


@dataclass(frozen=True)
class _Written:
    """The state of what is written, as far as the next rows need it."""

    samples: int = 0
    truths: int = 0
    before: State | None = None
    """The state of the last truth, where the next one can be a change of it."""
    events: str = ""
    whole: tuple[int, State] | None = None
    """A state that is kept whole, and its row: the first of the episode's definition."""


class PendingRows:
    """The rows of one episode that are not written yet; the caller holds the log's lock.

    Attributes:
        samples: coarse readings, for the next transaction.
        truths: states of the simulator, for the next transaction.
        flushed: time of the last transaction, s on the monotonic clock.
    """

    def __init__(self, connection: sqlite3.Connection, episode: int, definition: int) -> None:
        self._connection = connection
        self._episode = episode
        self._definition = definition
        self.samples: list[Sample] = []
        self.truths: list[Truth] = []
        self._statuses: list[RigStatusRow] = []
        self._parts: list[Part] = []
        self._last_status: RigStatusRow | None = None
        self._written = self._next = _Written()
        self.flushed = time.monotonic()

    def add_status(self, source: str, state: str, detail: Mapping[str, Any] | None) -> bool:
        """Add a status of the rig or the host, for the next transaction; return whether it has changed."""
        status = RigStatusRow(time.time(), source, state, detail)
        news = self._last_status is None or replace(self._last_status, t=status.t) != status
        self._statuses.append(status)
        self._last_status = status
        return news

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction that first writes the pending rows; committed, they are dropped."""
        with transaction(self._connection):
            first = self._written.samples
            self._connection.executemany(
                "INSERT INTO sample (episode_id, n, sensor, value, t) VALUES (?, ?, ?, ?, ?)",
                [
                    (self._episode, n, sample.sensor, sample.value, sample.t)
                    for n, sample in enumerate(self.samples, first)
                ],
            )
            self._next = replace(self._written, samples=first + len(self.samples))
            self._parts = []
            self.record("samples", first, self._next.samples)
            for truth in self.truths:
                self._write_truth(truth)
            self.record("truths", self._written.truths, self._next.truths)
            rows = [
                insert(self._connection, "rig_status", episode_id=self._episode, **columns(status))
                for status in self._statuses
            ]
            if rows:
                self.record("statuses", rows[0], rows[-1] + 1)
            yield
            if self._parts:
                add_record(self._connection, self._episode, self._parts)
        self._written = self._next
        self.samples.clear()
        self.truths.clear()
        self._statuses.clear()
        self.flushed = time.monotonic()

    def record(self, kind: str, first: int = 0, end: int | None = None) -> None:
        """Cover the row `first`, or those to before `end`, by the record of the transaction that runs.

        They are read at the transaction's end.
        """
        last = first if end is None else end - 1
        if last >= first:
            self._parts.append(Part(kind, first, last))

    def _write_truth(self, truth: Truth) -> None:
        n, text = self._next.truths, to_json(dict(truth.state))
        state: State = json.loads(text)
        patchable = NULL not in text
        # A change is one of the truth before it, or of the whole state `whole_id`.
        whole_id = patch = None
        if patchable and self._next.before is not None and n % WHOLE_EVERY:
            patch = change(self._next.before, state)
        elif patchable and (whole := self._first_whole()) is not None:
            whole_id, patch = whole[0], change(whole[1], state)
        else:
            whole_id = insert(self._connection, "truth_whole", definition_id=self._definition, state=text)
            if patchable:
                self._next = replace(self._next, whole=(whole_id, state))
        events = to_json([_event(event) for event in truth.events])
        data, size = packed(patch) if patch else (None, None)
        insert(
            self._connection,
            "truth_row",
            episode_id=self._episode,
            n=n,
            call_id=truth.call_id,
            t=truth.t,
            whole_id=whole_id,
            change=data,
            bytes=size,
            events=None if events == self._next.events else events,
        )
        self._next = replace(self._next, truths=n + 1, before=state if patchable else None, events=events)

    def _first_whole(self) -> tuple[int, State] | None:
        """Return the first state of the task's definition in any episode: most begin alike."""
        if self._next.whole is None:
            row = self._connection.execute(
                "SELECT id, state FROM truth_whole WHERE definition_id = ? ORDER BY id LIMIT 1",
                (self._definition,),
            ).fetchone()
            if row is not None and NULL not in row[1]:
                state = parse_json(row[1])
                if isinstance(state, dict):
                    self._next = replace(self._next, whole=(int(row[0]), state))
        return self._next.whole


def _event(event: HarmEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__slots__}
