"""Reading the log back as typed rows."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from core_eval.log.connection import LogError, connect, connect_readonly
from core_eval.log.liveness import mark_aborted
from core_eval.log.rows import (
    Definition,
    DeviationRow,
    EpisodeRow,
    FailureRow,
    HarmRow,
    MachineCost,
    PairRow,
    RunRow,
    SampleRow,
    StepRow,
    TruthRow,
    Turn,
)
from core_eval.path import AutomatonError, TaskAutomaton

RUN_JSON = {"config", "packages", "host"}
EPISODE_JSON = {"init", "limits", "scoring", "agent_info", "goal", "tools", "world_state", "twin"}
JSON_COLUMNS = RUN_JSON | EPISODE_JSON | {"arguments", "result", "state", "events", "evidence", "restored"}
EPISODE_SQL = (
    "SELECT episode.*, prompt, automaton, goal, tools, world_state FROM episode"
    " JOIN definition ON definition.id = definition_id WHERE episode.id = ?"
)


class LogReader:
    """One log file, open for reading."""

    def __init__(self, path: Path) -> None:
        """Open an existing log; half episodes whose process has died are marked, if it can be written.

        Raises:
            LogError: see `connect`.
        """
        from sqlite_utils import Database

        self.path = path
        if path.is_file() and not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)):
            self.connection = connect_readonly(path)
        else:
            self.connection = connect(path, create=False)
            mark_aborted(self.connection)
        self._db = Database(self.connection)

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def automaton(self, episode: EpisodeRow) -> TaskAutomaton:
        """The automaton of an episode's task.

        Raises:
            LogError: the log holds none that can be read.
        """
        try:
            return TaskAutomaton.from_json(episode.definition.automaton)
        except AutomatonError as error:
            raise LogError(
                f"{self.path}: the automaton of episode {episode.id} cannot be read, so the episode can be "
                f"neither scored nor drawn: {error}"
            ) from None

    def runs(self) -> list[RunRow]:
        """All runs, oldest first."""
        return [RunRow(**row) for row in self._rows("SELECT * FROM run ORDER BY id")]

    def run(self, run_id: int) -> RunRow:
        """One run.

        Raises:
            LogError: there is none of that id.
        """
        for row in self._rows("SELECT * FROM run WHERE id = ?", run_id):
            return RunRow(**row)
        raise LogError(f"{self.path}: there is no run {run_id}")

    def last_unfinished_run(self) -> RunRow | None:
        """The latest run that was begun and never ended."""
        for row in self._rows("SELECT * FROM run WHERE ended IS NULL ORDER BY id DESC LIMIT 1"):
            return RunRow(**row)
        return None

    def episodes(self, run_id: int | None = None) -> list[EpisodeRow]:
        """The episodes of a run, or of all runs, in the order in which they began."""
        return [
            self.episode(row["id"])
            for row in self._rows(
                "SELECT id FROM episode WHERE ? IS NULL OR run_id = ? ORDER BY id", run_id, run_id
            )
        ]

    def episode(self, episode_id: int) -> EpisodeRow:
        """One episode with its task's definition and its scores.

        Raises:
            LogError: there is none of that id.
        """
        for row in self._rows(EPISODE_SQL, episode_id):
            definition = Definition(
                **{key: row.pop(key) for key in ("prompt", "automaton", "goal", "tools", "world_state")}
            )
            for key in ("definition_id", "pid", "process_start", "boot_id"):
                del row[key]
            row["simulated"] = None if row["simulated"] is None else bool(row["simulated"])
            return EpisodeRow(
                **row,
                definition=definition,
                scores=self.scores(episode_id),
                failures=self.failures(episode_id),
                pairs=self.pairs(episode_id),
            )
        raise LogError(
            f"{self.path}: there is no episode {episode_id}; `pathrig show {self.path}` lists them"
        )

    def scores(self, episode_id: int) -> Mapping[str, float | None]:
        """Metric to value."""
        return {
            row["metric"]: row["value"]
            for row in self._rows("SELECT metric, value FROM score WHERE episode_id = ?", episode_id)
        }

    def steps(self, episode_id: int) -> list[StepRow]:
        """The steps in order, each with the agent's turn."""
        turns = self.turns(episode_id)
        return [
            StepRow(**_without(row, "episode_id"), turn=turns.get(row["k"]))
            for row in self._rows("SELECT * FROM step WHERE episode_id = ? ORDER BY k", episode_id)
        ]

    def turns(self, episode_id: int) -> dict[int, Turn]:
        """Step number to turn; a last turn that made no call has the number after the last step's."""
        return {
            row["k"]: Turn(**_without(row, "episode_id", "k"))
            for row in self._rows("SELECT * FROM turn WHERE episode_id = ? ORDER BY k", episode_id)
        }

    def samples(self, episode_id: int) -> list[SampleRow]:
        """The coarse telemetry, in order of device time."""
        return [
            SampleRow(**_without(row, "episode_id"))
            for row in self._rows("SELECT * FROM sample WHERE episode_id = ? ORDER BY t, rowid", episode_id)
        ]

    def truth(self, episode_id: int) -> list[TruthRow]:
        """The simulator's snapshots, in the order in which they came."""
        return [
            TruthRow(**_without(row, "episode_id"))
            for row in self._rows("SELECT * FROM truth WHERE episode_id = ? ORDER BY rowid", episode_id)
        ]

    def harm(self, episode_id: int) -> list[HarmRow]:
        """The harm events, in order of device time, with the steps that caused them."""
        rows = self._rows(
            "SELECT harm.*, step.k AS k FROM harm LEFT JOIN step ON step.id = step_id"
            " WHERE harm.episode_id = ? ORDER BY t_start, harm.id",
            episode_id,
        )
        return [
            HarmRow(
                **_without(row, "id", "episode_id", "observed", "hidden_at_end"),
                observed=_flag(row["observed"]),
                hidden_at_end=_flag(row["hidden_at_end"]),
            )
            for row in rows
        ]

    def deviations(self, episode_id: int) -> list[DeviationRow]:
        """The executed calls off the path, by step."""
        rows = self._rows(
            "SELECT effect, observed, evidence, step_id, step.k AS k FROM deviation"
            " LEFT JOIN step ON step.id = step_id WHERE deviation.episode_id = ? ORDER BY k, deviation.id",
            episode_id,
        )
        return [
            DeviationRow(**{**row, "effect": _flag(row["effect"]), "observed": _flag(row["observed"])})
            for row in rows
        ]

    def failures(self, episode_id: int) -> tuple[FailureRow, ...]:
        """The labels that say why the episode failed; none where it succeeded or was not scored."""
        sql = "SELECT label, level FROM failure WHERE episode_id = ? ORDER BY label"
        return tuple(FailureRow(**row) for row in self._rows(sql, episode_id))

    def pairs(self, episode_id: int) -> tuple[PairRow, ...]:
        """The compensating pairs, by their later steps."""
        rows = self._rows(
            "SELECT earlier.k AS earlier, later.k AS later, restored, stranded FROM compensating_pair"
            " JOIN step AS earlier ON earlier.id = earlier_step_id"
            " JOIN step AS later ON later.id = later_step_id"
            " WHERE compensating_pair.episode_id = ? ORDER BY later.k",
            episode_id,
        )
        return tuple(PairRow(**{**row, "restored": tuple(row["restored"])}) for row in rows)

    def machine_cost(self, episode_id: int) -> MachineCost:
        """What the episode cost the machine; all None where that was not measured."""
        sql = "SELECT peak_memory, energy, meter FROM machine_cost WHERE episode_id = ?"
        return next((MachineCost(**row) for row in self._rows(sql, episode_id)), MachineCost())

    def _rows(self, sql: str, *values: Any) -> Iterator[dict[str, Any]]:
        try:
            for row in self._db.query(sql, list(values)):
                for key in JSON_COLUMNS & row.keys():
                    if row[key] is not None:
                        row[key] = json.loads(row[key])
                yield row
        except sqlite3.DatabaseError as error:
            raise LogError(f"{self.path}: cannot be read ({error})") from None


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _without(row: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}
