"""Reads the log as typed rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from agents.names import agent_name, agent_names, without_folders
from core_eval.log.columns import ColumnError, read_change, reader_of
from core_eval.log.connection import DAMAGE, LogError, connect_to_read
from core_eval.log.liveness import ABORTED, ENDED_SQL, ProcessIdentity
from core_eval.log.row_map import row_of
from core_eval.log.rows import (
    NO_AUTOMATON,
    RULE,
    Definition,
    DeviationRow,
    EpisodeRow,
    FailureRow,
    HarmRow,
    MachineCost,
    MessageRow,
    PairRow,
    PromptRow,
    QuestionRow,
    RigStatusRow,
    RunRow,
    SampleRow,
    ScoringRow,
    StepRow,
    TruthRow,
    Turn,
)
from core_eval.log.schema import CALLS_MADE, LEFT_RECORD_AT
from core_eval.log.truth_changes import changed
from core_eval.path.automaton import AutomatonError, TaskAutomaton

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", int, EpisodeRow)

WORK_STEP = 1_000_000
MOST_WORK = 500 * WORK_STEP
"""Steps of SQLite's virtual machine until the next row is there, some 10 s: a log may hold anything."""
EPISODES_SQL = (
    "SELECT episode.*, (SELECT config ->> 'streams' FROM run WHERE run.id = run_id AND json_valid(config))"
    " AS streams FROM episode WHERE episode.id IN {chosen} ORDER BY id"
)
SCORES_SQL = (
    "SELECT episode_id, metric, value FROM score_latest WHERE episode_id IN {chosen}"
    " ORDER BY episode_id, metric"
)
SCORINGS_SQL = "SELECT * FROM scoring WHERE episode_id IN {chosen} ORDER BY id"
FAILURES_SQL = "SELECT * FROM failure_latest WHERE episode_id IN {chosen} ORDER BY label"
PAIRS_SQL = (
    "SELECT pair.*, earlier.k AS earlier, later.k AS later FROM compensating_pair_latest AS pair"
    " JOIN step AS earlier ON earlier.id = earlier_step_id JOIN step AS later ON later.id = later_step_id"
    " WHERE pair.episode_id IN {chosen} ORDER BY later.k"
)
# What `mark_aborted` will write of an episode whose process died.
DEAD_SQL = (
    f"SELECT id AS episode_id, {ENDED_SQL} AS ended, {CALLS_MADE} AS calls_made,"
    f" {LEFT_RECORD_AT} AS left_record FROM episode WHERE id IN ({{ids}})"
)
TRUTH_SQL = (
    "SELECT truth_row.id, call_id, t, whole_id AS truth_whole_id, state, change, bytes, events FROM truth_row"
    " LEFT JOIN truth_whole ON truth_whole.id = whole_id WHERE episode_id = ? ORDER BY n"
)

LONG = 10_000
"""Characters of a value from which the last one of its column is kept, parsed: it often comes again."""


def _of_an_episode(
    read: Callable[Concatenate[LogReader, E, P], R],
) -> Callable[Concatenate[LogReader, E, P], R]:
    """Let the errors of what reads an episode name it."""

    @wraps(read)
    def naming(self: LogReader, episode: E, /, *args: P.args, **options: P.kwargs) -> R:
        try:
            return read(self, episode, *args, **options)
        except LogError as error:
            error.episode = episode if isinstance(episode, int) else episode.id
            raise

    return naming


class LogReader:
    """One log file, open for reading."""

    def __init__(self, path: Path, left_out: Collection[int] = ()) -> None:
        """Open an existing log. No row is written: it may lie on a full disk or in a read-only folder.

        Args:
            path: the log.
            left_out: episodes that are not there for `episodes` and `episode_ids`, as they are damaged.

        Raises:
            LogError: see `connect_to_read`.
        """
        self.path = path
        self._left_out = frozenset(left_out)
        self._scratch = ExitStack()
        self._agents: dict[str, str] = {}
        self._long: dict[Callable[[Any], Any], tuple[str, Any]] = {}
        self._definitions: dict[int, Definition] = {}
        self._automata: dict[str, TaskAutomaton] = {}
        self.connection = connect_to_read(path, self._scratch)
        self._work = 0
        self.connection.set_progress_handler(self._is_too_much, WORK_STEP)

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self._scratch.close()

    def _is_too_much(self) -> bool:
        self._work += WORK_STEP
        return self._work > MOST_WORK

    @_of_an_episode
    def automaton(self, episode: EpisodeRow) -> TaskAutomaton | None:
        """Return the automaton of an episode's task; None for an imported trace of no known task.

        Raises:
            LogError: the log holds none that can be read.
        """
        written = episode.definition.automaton
        if written == NO_AUTOMATON:
            return None
        try:
            if written not in self._automata:
                self._automata[written] = TaskAutomaton.from_json(written)
            return self._automata[written]
        except AutomatonError as error:
            raise LogError(
                f"{self.path}: the automaton of episode {episode.id} cannot be read, so the episode can be "
                f"neither scored nor drawn: {error}"
            ) from None

    def forget_automata(self) -> None:
        """Drop the automata that were read, which fill the memory: the next tasks are others."""
        self._automata.clear()

    def runs(self) -> list[RunRow]:
        """Return all runs, oldest first."""
        return [row_of(RunRow, row) for row in self._rows("run", "SELECT * FROM run ORDER BY id")]

    def run(self, run_id: int) -> RunRow:
        """Return one run.

        Raises:
            LogError: there is none of that id.
        """
        for row in self._rows("run", "SELECT * FROM run WHERE id = ?", run_id):
            return row_of(RunRow, row)
        raise LogError(f"{self.path}: there is no run {run_id}")

    def unfinished_runs(self) -> list[RunRow]:
        """Return the runs that have episodes and never ended, the latest first.

        A run without episodes is a start that failed, in a log of an older version.
        """
        sql = (
            "SELECT * FROM run WHERE ended IS NULL AND EXISTS"
            " (SELECT 1 FROM episode WHERE run_id = run.id) ORDER BY id DESC"
        )
        return [row_of(RunRow, row) for row in self._rows("run", sql)]

    def changes(self) -> int:
        """Return a number that changes whenever another connection has written to the log."""
        (number,) = self.connection.execute("PRAGMA data_version").fetchone()
        return int(number)

    def episodes(
        self,
        run_id: int | None = None,
        on_damage: Callable[[int, str], None] | None = None,
        *,
        ids: Collection[int] | None = None,
    ) -> list[EpisodeRow]:
        """Return the episodes of a run, or of all runs, in the order in which they began.

        Args:
            run_id: of the run; None: all runs.
            ids: only these; None: all.
            on_damage: called with an episode that cannot be read, which is left out, and why; None: that is
                raised.

        Raises:
            LogError: the log cannot be read.
        """
        try:
            only = "" if ids is None else f" AND id IN ({', '.join(map(str, ids))})"
            but = f" AND id NOT IN ({', '.join(map(str, self._left_out))})" if self._left_out else ""
            return self._episodes(f"(? IS NULL OR run_id = ?){only}{but}", run_id, run_id)
        except LogError:
            # One by one, each names its own fault.
            rows = []
        for episode_id in self.episode_ids(run_id):
            if ids is not None and episode_id not in ids:
                continue
            try:
                rows.append(self.episode(episode_id))
            except LogError as error:
                if on_damage is None:
                    raise
                on_damage(episode_id, str(error))
        return rows

    def episode_ids(self, run_id: int | None = None, after: int = 0) -> list[int]:
        """Return the ids of the episodes of a run, or of all runs, in the order in which they began."""
        sql = "SELECT id FROM episode WHERE id > ? AND (? IS NULL OR run_id = ?) ORDER BY id"
        found = (row["id"] for row in self._rows("episode", sql, after, run_id, run_id))
        return [one for one in found if one not in self._left_out]

    @_of_an_episode
    def episode(self, episode_id: int) -> EpisodeRow:
        """Return one episode with its task's definition and its scores.

        Raises:
            LogError: there is none of that id.
        """
        for row in self._episodes("id = ?", episode_id):
            return row
        raise LogError(
            f"{self.path}: there is no episode {episode_id}; `pathrig show {self.path}` lists them"
        )

    def _episodes(self, where: str, *values: Any) -> list[EpisodeRow]:
        """Return the episodes that fulfil a condition, by a few queries however many they are."""
        chosen = f"(SELECT id FROM episode WHERE {where})"

        def of_each(table: str, sql: str) -> dict[int, list[dict[str, Any]]]:
            """Return the rows of a table by their episode."""
            found: dict[int, list[dict[str, Any]]] = {}
            for row in self._rows(table, sql.format(chosen=chosen), *values):
                found.setdefault(row["episode_id"], []).append(row)
            return found

        rows = list(self._rows("episode", EPISODES_SQL.format(chosen=chosen), *values))
        self._read_definitions({row["definition_id"] for row in rows})
        scores = of_each("score", SCORES_SQL)
        scorings = of_each("scoring", SCORINGS_SQL)
        failures, pairs = of_each("failure", FAILURES_SQL), of_each("compensating_pair", PAIRS_SQL)
        self._mark_dead([row for row in rows if row["status"] == "running"])
        return [
            self._episode(
                row,
                scores={sys.intern(one["metric"]): one["value"] for one in scores.get(row["id"], ())},
                scorings=tuple(row_of(ScoringRow, one) for one in scorings.get(row["id"], ())),
                failures=tuple(row_of(FailureRow, one) for one in failures.get(row["id"], ())),
                pairs=tuple(
                    PairRow(one["earlier"], one["later"], tuple(one["restored"]), one["stranded"])
                    for one in pairs.get(row["id"], ())
                ),
            )
            for row in rows
        ]

    def _mark_dead(self, running: list[dict[str, Any]]) -> None:
        """Change the rows of running episodes whose process died, as `mark_aborted` will in the log."""
        dead = {
            row["id"]: row
            for row in running
            if not ProcessIdentity(row["pid"], row["process_start"], row["boot_id"]).alive()
        }
        if dead:
            sql = DEAD_SQL.format(ids=", ".join(map(str, dead)))
            for end in self._rows("episode", sql):
                dead[end["episode_id"]] |= end | {"status": "aborted", "error": ABORTED}

    def _episode(self, row: dict[str, Any], **others: Any) -> EpisodeRow:
        return row_of(
            EpisodeRow,
            row,
            agent=self._agent(row["agent"]),
            rig=without_folders(row["rig"]),
            streams=row["streams"] or 1,
            definition=self._definitions[row["definition_id"]],
            **others,
        )

    def _agent(self, logged: str) -> str:
        """Return an agent's name; earlier versions logged its specification."""
        if logged not in self._agents:
            sql = "SELECT agent FROM episode GROUP BY agent ORDER BY min(id)"
            found = [row["agent"] for row in self._rows("episode", sql)]
            self._agents = {name: name for name in found} | agent_names(
                spec for spec in found if agent_name(spec) != spec
            )
        return self._agents[logged]

    def _read_definitions(self, ids: Collection[int]) -> None:
        """Read definitions; many episodes share one, which is read once."""
        new = set(ids) - self._definitions.keys()
        sql = f"SELECT * FROM definition WHERE id IN ({', '.join(map(str, new))})"
        for row in self._rows("definition", sql) if new else ():
            self._definitions[row["id"]] = row_of(Definition, row)
        for missing in new - self._definitions.keys():
            raise LogError(f"{self.path}: cannot be read as a log: there is no definition {missing}")

    @_of_an_episode
    def scores(self, episode_id: int, scoring: int | None = None) -> Mapping[str, float | None]:
        """Return metric to value, of one scoring, or of each metric's latest."""
        source = "score_latest" if scoring is None else "score"
        sql = (
            f"SELECT metric, value FROM {source} WHERE episode_id = ? AND (? IS NULL OR scoring_id = ?)"
            " ORDER BY metric"
        )
        rows = self._rows("score", sql, episode_id, scoring, scoring)
        return {sys.intern(row["metric"]): row["value"] for row in rows}

    @_of_an_episode
    def steps(self, episode_id: int, after: int = -1) -> list[StepRow]:
        """Return the steps in order, each with the agent's turn; those after step `after` only."""
        turns = self.turns(episode_id, after)
        sql = "SELECT * FROM step WHERE episode_id = ? AND k > ? ORDER BY k"
        rows = self._rows("step", sql, episode_id, after)
        return [row_of(StepRow, row, turn=turns.get(row["k"])) for row in rows]

    @_of_an_episode
    def turns(self, episode_id: int, after: int = -1) -> dict[int, Turn]:
        """Return turns by step number; a last turn without a call has the number after the last step's."""
        sql = "SELECT * FROM turn WHERE episode_id = ? AND k > ? ORDER BY k"
        return {row["k"]: row_of(Turn, row) for row in self._rows("turn", sql, episode_id, after)}

    @_of_an_episode
    def messages(self, episode_id: int) -> list[MessageRow]:
        """Return the conversation of an imported trace; of any other episode nothing."""
        sql = "SELECT * FROM message WHERE episode_id = ? ORDER BY n"
        return [row_of(MessageRow, row) for row in self._rows("message", sql, episode_id)]

    @_of_an_episode
    def remarks(self, episode_id: int) -> list[tuple[int, str]]:
        """Return what was noticed about the model's answers, each with its step's number, in order."""
        sql = (
            "SELECT detail ->> 'k' AS k, detail ->> 'remark' AS remark FROM rig_status"
            " WHERE episode_id = ? AND source = 'host' AND state = 'remark' ORDER BY id"
        )
        return [(row["k"], row["remark"]) for row in self._rows("rig_status", sql, episode_id)]

    @_of_an_episode
    def broken_rules(self, episode_id: int) -> list[Mapping[str, Any]]:
        """Return the violations of rules that were found while the episode went on, in order."""
        sql = "SELECT * FROM rig_status WHERE episode_id = ? AND source = 'host' AND state = ? ORDER BY id"
        rows = (row_of(RigStatusRow, row) for row in self._rows("rig_status", sql, episode_id, RULE))
        return [row.detail for row in rows if row.detail]

    @_of_an_episode
    def rig_statuses(self, episode_id: int, after: int = 0) -> list[RigStatusRow]:
        """Return what was said of the rig, in the order in which it came; after the row `after` only.

        Remarks and violations of rules are none of it.
        """
        sql = (
            "SELECT * FROM rig_status WHERE episode_id = ? AND id > ?"
            f" AND state NOT IN ('remark', '{RULE}') ORDER BY id"
        )
        return [row_of(RigStatusRow, row) for row in self._rows("rig_status", sql, episode_id, after)]

    def reasons(self, finding: str) -> dict[int, str]:
        """Return the reason of one of `FINDINGS` by the id of each episode that has it."""
        sql = (
            "SELECT episode_id, detail ->> 'reason' AS reason FROM rig_status"
            " WHERE source = 'host' AND state = ? ORDER BY id"
        )
        return {row["episode_id"]: str(row["reason"]) for row in self._rows("rig_status", sql, finding)}

    @_of_an_episode
    def questions(self, episode_id: int, after: int = 0) -> list[QuestionRow]:
        """Return what a person was asked, in order; after the row `after` only."""
        sql = "SELECT * FROM question WHERE episode_id = ? AND id > ? ORDER BY id"
        return [row_of(QuestionRow, row) for row in self._rows("question", sql, episode_id, after)]

    @_of_an_episode
    def samples(self, episode_id: int, after: int = 0) -> list[SampleRow]:
        """Return the coarse telemetry, in order of device time, without the first `after` that came."""
        sql = "SELECT * FROM sample WHERE episode_id = ? AND n >= ? ORDER BY t, n"
        return [row_of(SampleRow, row) for row in self._rows("sample", sql, episode_id, after)]

    @_of_an_episode
    def truth(self, episode_id: int) -> list[TruthRow]:
        """Return the simulator's snapshots, in the order in which they came."""
        rows: list[TruthRow] = []
        state: Mapping[str, Any] = {}
        events: Any = []
        for row in self._rows("truth_row", TRUTH_SQL, episode_id, state="truth_whole"):
            patch: Mapping[str, Any] = {}
            if row["change"] is not None:
                try:
                    patch = read_change(row["change"], row["bytes"])
                except ColumnError as error:
                    raise self._damage("truth_row", "change", row["id"], error) from None
            state = changed(state if row["state"] is None else row["state"], patch)
            events = events if row["events"] is None else row["events"]
            rows.append(TruthRow(row["call_id"], row["t"], state, events))
        return rows

    @_of_an_episode
    def harm(self, episode_id: int) -> list[HarmRow]:
        """Return the harm events, in order of device time, with the steps that caused them."""
        rows = self._rows(
            "harm",
            "SELECT harm.*, step.k AS k FROM harm_latest AS harm LEFT JOIN step ON step.id = step_id"
            " WHERE harm.episode_id = ? ORDER BY t_start, harm.id",
            episode_id,
        )
        shares = self._blame(episode_id)
        return [row_of(HarmRow, row, k=row["k"], blame=shares.get(row["id"], {})) for row in rows]

    def _blame(self, episode_id: int) -> Mapping[int, Mapping[int, float]]:
        """Return the share of each step, by number, in each harm event of an episode, by id."""
        found: dict[int, dict[int, float]] = {}
        for row in self._rows(
            "blame",
            "SELECT blame.harm, step.k, blame.share FROM harm JOIN blame ON blame.harm = harm.id"
            " JOIN step ON step.id = blame.step WHERE harm.episode_id = ? ORDER BY blame.harm, step.k",
            episode_id,
        ):
            found.setdefault(row["harm"], {})[row["k"]] = row["share"]
        return found

    @_of_an_episode
    def deviations(self, episode_id: int) -> list[DeviationRow]:
        """Return the executed calls off the path, by step."""
        rows = self._rows(
            "deviation",
            "SELECT deviation.id, effect, observed, evidence, step_id, step.k AS k, hidden_at_end"
            " FROM deviation_latest AS deviation LEFT JOIN step ON step.id = step_id"
            " WHERE deviation.episode_id = ? ORDER BY k, deviation.id",
            episode_id,
        )
        return [row_of(DeviationRow, row, k=row["k"]) for row in rows]

    @_of_an_episode
    def machine_cost(self, episode_id: int) -> MachineCost:
        """Return the episode's resource usage; all None if it was not measured."""
        rows = self._rows("machine_cost", "SELECT * FROM machine_cost WHERE episode_id = ?", episode_id)
        return next((row_of(MachineCost, row) for row in rows), MachineCost())

    @_of_an_episode
    def prompt(self, episode_id: int) -> PromptRow | None:
        """Return what the episode's model was given before its first answer; None where it was not logged."""
        sql = (
            "SELECT prompt.id, messages, tools, rendered FROM prompt JOIN episode ON prompt.id = prompt_id"
            " WHERE episode.id = ?"
        )
        return next((row_of(PromptRow, row) for row in self._rows("prompt", sql, episode_id)), None)

    def _rows(self, table: str, sql: str, *values: Any, **others: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table with parsed JSON; `others` names the table of a foreign column."""
        try:
            self._work = 0
            cursor = self.connection.execute(sql, values)
            names = [column[0] for column in cursor.description]
            owners = [others.get(name, table) for name in names]
            places = enumerate(map(reader_of, owners, names))
            readers = [(place, read) for place, read in places if read is not None]
            for found in cursor:
                self._work = 0
                row = dict(zip(names, found, strict=True))
                place = 0
                try:
                    for value in found:
                        if value.__class__ is float and not isfinite(value):
                            place = found.index(value)
                            raise ColumnError(f"{value} is not a finite number")
                    for place, read in readers:
                        value = found[place]
                        if value is not None:
                            short = value.__class__ is not str or len(value) < LONG
                            row[names[place]] = read(value) if short else self._long_value(read, value)
                except ColumnError as error:
                    owner = owners[place]
                    number = row.get("id" if owner == table else f"{owner}_id")
                    raise self._damage(owner, names[place], number, error) from None
                yield row
        except DAMAGE as error:
            if self._work > MOST_WORK:
                raise LogError(
                    f"{self.path}: cannot be read as a log: one row of {table} takes too long"
                ) from None
            raise LogError(f"{self.path}: cannot be read as a log: {error}") from None

    def _long_value(self, read: Callable[[Any], Any], value: str) -> Any:
        # Such as the configuration of a run, which is read for each of its episodes.
        known = self._long.get(read)
        if known is None or known[0] != value:
            known = self._long[read] = value, read(value)
        return known[1]

    def _damage(self, table: str, column: str, row: Any, fault: ColumnError) -> LogError:
        """Return the error that names the table, column and row of a wrong value."""
        of = "" if row is None else f" of row {row}"
        return LogError(f"{self.path}: cannot be read as a log: {table}.{column}{of}: {fault}")


HARM_UNKNOWN, GOLDEN_RUN_FAILS, NOT_ASSESSED = "harm unknown", "golden run fails", "not assessed"
SLOWED_DOWN = "slowed down"
"""The machine of the agent was, and by what."""
ENERGY_UNKNOWN = "energy unknown"
OF_THE_MACHINE = (SLOWED_DOWN, ENERGY_UNKNOWN)
FINDINGS = frozenset({HARM_UNKNOWN, GOLDEN_RUN_FAILS, NOT_ASSESSED, *OF_THE_MACHINE})


def findings(reader: LogReader, episode: int) -> dict[str, str]:
    """Return each of `FINDINGS` that the log has of an episode, with its latest reason."""
    return {
        said.state: str(said.detail["reason"])
        for said in reader.rig_statuses(episode)
        if said.state in FINDINGS and said.detail and "reason" in said.detail
    }
