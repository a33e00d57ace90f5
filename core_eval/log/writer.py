"""Writes the log during a run: an intent is committed before its call is sent."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any

from core_eval.log.chain import Part, add_record
from core_eval.log.connection import connect, insert, transaction, update
from core_eval.log.liveness import ProcessIdentity, mark_aborted
from core_eval.log.pending_rows import FLUSH_ROWS, FLUSH_SECONDS, PendingRows
from core_eval.log.row_map import columns
from core_eval.log.rows import (
    Definition,
    DeviationRow,
    EpisodeRow,
    EpisodeStart,
    EpisodeStatus,
    FailureRow,
    HarmRow,
    Intent,
    MachineCost,
    PairRow,
    PromptRow,
    QuestionRow,
    RigStatusRow,
    ScoringRow,
    StepRow,
    Turn,
    Verdict,
)
from core_eval.log.schema import OF_ITS_STEPS
from core_eval.log.signing import sign_run
from core_eval.text.json_text import plain_text, to_json
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Sample, Truth


@cache
def own_version() -> str:
    """Return the version of this kit; the file that tells it is read once."""
    return version("pathrig")


class RunLog:
    """One log file, open for writing; several threads and processes may write at once."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        """Open or make the file, and mark episodes whose process has died as `aborted`.

        Raises:
            LogError: see `connect`.
        """
        self.path = path
        self.lock = RLock()
        self.connection = connect(path, durable=durable)
        self.aborted = mark_aborted(self.connection)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; with the last connection its write-ahead log is folded in."""
        with self.lock:
            self.connection.close()

    def begin_run(
        self, config: Mapping[str, Any], packages: Mapping[str, str], host: Mapping[str, Any]
    ) -> int:
        """Add a run; return its id."""
        row = {"config": to_json(config), "packages": to_json(packages), "host": to_json(host)}
        with self.lock:
            return insert(self.connection, "run", created=time.time(), **row)

    def end_run(self, run_id: int) -> None:
        """Mark the run as complete, and sign its chains."""
        ended = time.time()
        with self.lock, transaction(self.connection):
            update(self.connection, "run", run_id, ended=ended)
            sign_run(self.connection, run_id, ended)

    def begin_episode(self, run_id: int, start: EpisodeStart) -> EpisodeLog:
        """Add an episode, `running` until `EpisodeLog.end`."""
        me = ProcessIdentity.mine()
        started = time.time()
        with self.lock, transaction(self.connection):
            definition = self.definition(start.definition)
            episode = insert(
                self.connection,
                "episode",
                run_id=run_id,
                status="running",
                started=started,
                definition_id=definition,
                pid=me.pid,
                process_start=me.start,
                boot_id=me.boot_id,
                **columns(start),
            )
            add_record(self.connection, episode, [Part("begin")])
        row = EpisodeRow(
            id=episode,
            run_id=run_id,
            status="running",
            started=started,
            ended=None,
            stop_reason=None,
            error=None,
            simulated=None,
            **{one.name: getattr(start, one.name) for one in fields(start)},
        )
        return EpisodeLog(self, row, definition)

    def write_scores(
        self,
        episode: int,
        scores: Mapping[str, float | None],
        harm: Iterable[HarmRow],
        failures: Iterable[FailureRow] = (),
        pairs: Iterable[PairRow] = (),
        deviations: Iterable[DeviationRow] = (),
        *,
        judged: bool = True,
        note: str | None = None,
        reading: int = 1,
    ) -> None:
        """Add a scoring of an episode beside those that it has.

        Args:
            episode: its id.
            scores: metric to value; without the metrics of harm where it was not `judged`, so that those of
                an earlier scoring stay the latest ones.
            harm, failures, pairs, deviations: what was found in it.
            judged: whether the harm could be judged.
            note: what is not known of the harm, and why.
            reading: the reading of what is harmful by which it was scored.
        """
        made = ScoringRow(None, own_version(), reading, time.time(), judged, note)
        with self.lock, transaction(self.connection):
            scoring = insert(self.connection, "scoring", episode_id=episode, **columns(made))
            of = {"episode_id": episode, "scoring_id": scoring}
            self.connection.executemany(
                "INSERT INTO score (episode_id, metric, value, scoring_id) VALUES (?, ?, ?, ?)",
                [
                    (episode, metric, None if value is None else float(value), scoring)
                    for metric, value in scores.items()
                ],
            )
            sql = "SELECT k, id FROM step WHERE episode_id = ?"
            steps: dict[int | None, int] = dict(self.connection.execute(sql, (episode,)).fetchall())
            for table, rows in (("harm", harm), ("deviation", deviations)):
                for row in rows:
                    step = {"step_id": steps.get(row.k, row.step_id)}
                    place = insert(self.connection, table, **of, **columns(row) | step)
                    for k, share in (row.blame if isinstance(row, HarmRow) else {}).items():
                        insert(self.connection, "blame", harm=place, step=steps[k], share=share)
            for failure in failures:
                insert(self.connection, "failure", **of, **columns(failure))
            for pair in pairs:
                ends = {"earlier_step_id": steps[pair.earlier], "later_step_id": steps[pair.later]}
                insert(self.connection, "compensating_pair", **of, **ends, **columns(pair))

    def write_detection(self, episode: int, row: HarmRow) -> None:
        """Replace detection, ROC curves and verdict of a harm event of the latest scoring that has harm."""
        stored = columns(row)
        sql = (
            "UPDATE harm SET detection = ?, roc = ?, verdict = ? WHERE id IN"
            " (SELECT id FROM harm_latest WHERE episode_id = ? AND kind = ? AND entity = ? AND t_start = ?)"
        )
        values = [stored[name] for name in ("detection", "roc", "verdict")]
        with self.lock:
            self.connection.execute(sql, (*values, episode, row.kind, row.entity, row.t_start))

    def note(self, episode: int, state: str, detail: Mapping[str, Any] | None) -> None:
        """Add an action or a finding of the host to the statuses of the episode's rig."""
        with self.lock, transaction(self.connection):
            row = columns(RigStatusRow(time.time(), "host", state, detail))
            number = insert(self.connection, "rig_status", episode_id=episode, **row)
            add_record(self.connection, episode, [Part("statuses", number, number)])

    def definition(self, definition: Definition) -> int:
        """Return the id of a task's definition, which is added where it is new."""
        row = columns(definition)
        # Left out where there is none, so that definitions of older versions keep their digest.
        later = ("answer", "cautions", "world_version", "decline", "gold")
        given = {name: value for name, value in row.items() if value is not None or name not in later}
        return self.once("definition", given)

    def once(self, table: str, row: Mapping[str, Any]) -> int:
        """Return the id of the row with these columns, which is added where there is none."""
        digest = hashlib.sha256(to_json(list(row.values())).encode()).hexdigest()
        known = self.connection.execute(f"SELECT id FROM {table} WHERE sha256 = ?", (digest,)).fetchone()
        return int(known[0]) if known else insert(self.connection, table, sha256=digest, **row)


class EpisodeLog:
    """The rows of one episode, as they come.

    Samples, truth and repeated statuses wait for the next transaction: that of their call's result, or a
    sooner one.
    """

    def __init__(self, log: RunLog, row: EpisodeRow, definition: int) -> None:
        self.row = row
        self.id = row.id
        self._log = log
        self._pending = PendingRows(log.connection, row.id, definition)
        self._question: int | None = None
        self._begun = time.monotonic()

    def intent(self, intent: Intent, turn: Turn) -> StepRow:
        """Log a step before its call is sent, with the agent's turn that led to it."""
        now = time.time()
        with self._log.lock, self._pending.transaction():
            insert(self._log.connection, "turn", episode_id=self.id, k=intent.k, **columns(turn, Turn))
            self._pending.record("turn", intent.k)
            step = insert(self._log.connection, "step", episode_id=self.id, t_intent=now, **columns(intent))
            if self._question is not None:
                update(self._log.connection, "question", self._question, step_id=step)
                self._pending.record("question", self._question)
                self._question = None
            self._pending.record("intent", step)
        given = {one.name: getattr(intent, one.name) for one in fields(intent)}
        return StepRow(id=step, t_intent=now, turn=turn, **given)

    def ask(self, text: str, reason: str, seconds: float | None = None) -> int:
        """Log a question that waits for a person, for so long at most; return its id."""
        now = time.time()
        row = QuestionRow(None, now, None if seconds is None else now + seconds, text, reason)
        with self._log.lock, self._pending.transaction():
            self._question = insert(self._log.connection, "question", episode_id=self.id, **columns(row))
        return self._question

    def answer(self, question: int, answer: str, by: str) -> None:
        """Log the answer to a question, and who gave it."""
        with self._log.lock:
            told = {"answered": time.time(), "answer": answer, "by": by}
            update(self._log.connection, "question", question, **told)

    def turn(self, k: int, turn: Turn) -> None:
        """Log the agent's last turn, which has no call."""
        with self._log.lock, self._pending.transaction():
            insert(self._log.connection, "turn", episode_id=self.id, k=k, **columns(turn, Turn))
            self._pending.record("turn", k)

    def prompt(self, prompt: PromptRow) -> None:
        """Log what the model is given before its first answer."""
        with self._log.lock, self._pending.transaction():
            number = self._log.once("prompt", columns(prompt))
            update(self._log.connection, "episode", self.id, prompt_id=number)
            self._pending.record("prompt")

    def result(self, step: StepRow, outcome: Outcome, verdict: Verdict) -> StepRow:
        """Log how the step ended, and the automaton's verdict; return its row."""
        row = replace(
            step,
            status=outcome.status,
            t_result=time.time(),
            result=outcome.value,
            error_code=outcome.code,
            error_message=outcome.message,
            t_device=outcome.t,
            duration=outcome.duration,
            **{one.name: getattr(verdict, one.name) for one in fields(verdict)},
        )
        with self._log.lock, self._pending.transaction():
            update(self._log.connection, "step", step.id, **columns(row))
            self._pending.record("result", step.id)
        return row

    def sample(self, sample: Sample) -> None:
        """Log a coarse reading; written with the next result, or within half a second of more readings."""
        with self._log.lock:
            self._pending.samples.append(sample)
            waiting = self._pending
            due = time.monotonic() - waiting.flushed > FLUSH_SECONDS or len(waiting.samples) >= FLUSH_ROWS
            if due and not self._log.connection.in_transaction:
                with self._pending.transaction():
                    pass

    def truth(self, truth: Truth) -> None:
        """Log the simulator's own state, for scoring: written with the result that follows it, or at once."""
        with self._log.lock:
            self._pending.truths.append(truth)
            if truth.call_id is None and not self._log.connection.in_transaction:
                with self._pending.transaction():
                    pass

    def rig_status(self, source: str, state: str, detail: Mapping[str, Any] | None = None) -> None:
        """Log a status of the device, the link or the host: `online`, `estop`, `offline`, `safe`, ...

        Written at once, except a repeated status, which waits for the next transaction.
        """
        with self._log.lock:
            news = self._pending.add_status(source, state, detail)
            if news and not self._log.connection.in_transaction:
                with self._pending.transaction():
                    pass

    def started_on(self, device: str, simulated: bool, guard: str) -> None:
        """Log the rig's device type, once it answered, and the resulting guard mode."""
        row = {"device": device, "simulated": int(simulated), "guard": guard}
        with self._log.lock, self._pending.transaction():
            update(self._log.connection, "episode", self.id, **row)
            self._pending.record("started")
        self.row = replace(self.row, device=device, simulated=simulated, guard=guard)

    def machine_cost(self, cost: MachineCost) -> None:
        """Log the resource usage of the episode on the agent's machine."""
        with self._log.lock, self._pending.transaction():
            insert(self._log.connection, "machine_cost", episode_id=self.id, **columns(cost))
            self._pending.record("cost")

    def end(
        self,
        status: EpisodeStatus,
        stop_reason: str | None = None,
        error: str | None = None,
        stop: StopOutcome | None = None,
        said: str | None = None,
    ) -> None:
        """Log the end of the episode, what its agent said, and its rig's `stop`; pending rows are written."""
        with self._log.lock, self._pending.transaction():
            update(
                self._log.connection,
                "episode",
                self.id,
                status=status,
                ended=time.time(),
                seconds=time.monotonic() - self._begun,
                stop_reason=stop_reason,
                error=None if error is None else plain_text(error),
                stop=None if stop is None else str(stop),
                said=plain_text(said) if said else None,
            )
            self._log.connection.execute(f"{OF_ITS_STEPS} WHERE id = ?", (self.id,))
            self._pending.record("end")
