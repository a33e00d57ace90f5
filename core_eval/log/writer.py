"""Writes the log during a run: an intent is committed before its call is sent."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any

from core_eval.log.connection import connect, insert, transaction
from core_eval.log.json_text import plain_text, to_json
from core_eval.log.liveness import ProcessIdentity, mark_aborted
from core_eval.log.pending_rows import PendingRows, Status, insert_status
from core_eval.log.rows import (
    Definition,
    DeviationRow,
    EpisodeStart,
    EpisodeStatus,
    FailureRow,
    HarmRow,
    Intent,
    MachineCost,
    PairRow,
    PromptRow,
    Turn,
    Verdict,
)
from core_eval.log.score_rows import add_scoring
from devices.device import Truth
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.stop_outcome import StopOutcome


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; with the last connection its write-ahead log is folded in."""
        with self.lock:
            self.connection.close()

    def begin_run(
        self, config: Mapping[str, Any], packages: Mapping[str, str], host: Mapping[str, Any]
    ) -> int:
        """Add a run; return its id."""
        return self._insert(
            "run",
            created=time.time(),
            config=to_json(config),
            packages=to_json(packages),
            host=to_json(host),
        )

    def end_run(self, run_id: int) -> None:
        """Mark the run as complete."""
        self._write("UPDATE run SET ended = ? WHERE id = ?", time.time(), run_id)

    def begin_episode(self, run_id: int, start: EpisodeStart) -> EpisodeLog:
        """Add an episode, `running` until `EpisodeLog.end`."""
        me = ProcessIdentity.of(os.getpid())
        with self.lock, transaction(self.connection):
            definition = self._definition(start.definition)
            episode = self._insert(
                "episode",
                run_id=run_id,
                number=start.number,
                task=start.task,
                world=start.world,
                rig=start.rig,
                device=start.device,
                agent=start.agent,
                scaffold=start.scaffold,
                seed=start.seed,
                status="running",
                started=time.time(),
                definition_id=definition,
                init=to_json(start.init),
                limits=to_json(start.limits),
                guard=start.guard,
                scoring=to_json(start.scoring),
                agent_info=to_json(start.agent_info),
                twin=None if start.twin is None else to_json(start.twin),
                pid=me.pid,
                process_start=me.start,
                boot_id=me.boot_id,
            )
        return EpisodeLog(self, episode, definition)

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
    ) -> None:
        """Add a scoring of an episode; earlier ones stay. See `add_scoring`."""
        with self.lock, transaction(self.connection):
            add_scoring(
                self.connection,
                episode,
                scores,
                harm,
                failures,
                pairs,
                deviations,
                judged=judged,
                note=note,
            )

    def write_detection(self, episode: int, row: HarmRow) -> None:
        """Replace detection, ROC curves and verdict of a harm event of the latest scoring that has harm."""
        self._write(
            "UPDATE harm SET detection = ?, roc = ?, verdict = ? WHERE id IN"
            " (SELECT id FROM harm_latest WHERE episode_id = ? AND kind = ? AND entity = ? AND t_start = ?)",
            *(row.detection, None if row.roc is None else to_json(row.roc)),
            *(row.verdict, episode, row.kind, row.entity, row.t_start),
        )

    def note(self, episode: int, state: str, detail: Mapping[str, Any] | None) -> None:
        """Add an action or a finding of the host to the statuses of the episode's rig."""
        with self.lock:
            insert_status(self.connection, episode, Status(time.time(), "host", state, detail))

    def _definition(self, definition: Definition) -> int:
        columns: dict[str, Any] = {
            "prompt": plain_text(definition.prompt),
            "automaton": definition.automaton,
            "goal": None if definition.goal is None else to_json(definition.goal),
            "tools": to_json(definition.tools),
            "world_state": None if definition.world_state is None else to_json(definition.world_state),
        }
        if definition.answer is not None:
            # Left out where there is none, so that definitions of older versions keep their digest.
            columns["answer"] = definition.answer
        if definition.cautions is not None:
            columns["cautions"] = to_json(definition.cautions)
        if definition.world_version is not None:
            columns["world_version"] = definition.world_version
        return self.once("definition", columns)

    def once(self, table: str, columns: Mapping[str, Any]) -> int:
        """Return the id of the row with these columns, which is added where there is none."""
        digest = hashlib.sha256(to_json(list(columns.values())).encode()).hexdigest()
        known = self.connection.execute(f"SELECT id FROM {table} WHERE sha256 = ?", (digest,)).fetchone()
        return int(known[0]) if known else self._insert(table, sha256=digest, **columns)

    def _insert(self, table: str, **columns: Any) -> int:
        with self.lock:
            return insert(self.connection, table, **columns)

    def _write(self, sql: str, *values: Any) -> int:
        with self.lock:
            return int(self.connection.execute(sql, values).lastrowid or 0)


class EpisodeLog:
    """The rows of one episode, as they come.

    Samples, truth and repeated statuses wait for the next transaction: that of their call's result, or a
    sooner one.
    """

    def __init__(self, log: RunLog, episode: int, definition: int) -> None:
        self.id = episode
        self._log = log
        self._pending = PendingRows(log.connection, episode, definition)
        self._begun = time.monotonic()

    def intent(self, intent: Intent, turn: Turn) -> int:
        """Log a step before its call is sent, with the agent's turn that led to it; return the step's id."""
        with self._log.lock, self._pending.transaction():
            self.turn(intent.k, turn)
            return insert(
                self._log.connection,
                "step",
                episode_id=self.id,
                k=intent.k,
                tool=None if intent.tool is None else plain_text(intent.tool),
                arguments=None if intent.arguments is None else to_json(intent.arguments),
                t_intent=time.time(),
                call_id=intent.call_id,
                guard_action=intent.guard_action,
                guard_reason=intent.guard_reason,
            )

    def turn(self, k: int, turn: Turn) -> None:
        """Log the agent's turn: with `intent` for a step, alone for a last turn without a call."""
        with self._log.lock:
            insert(
                self._log.connection,
                "turn",
                episode_id=self.id,
                k=k,
                text=plain_text(turn.text),
                input_tokens=turn.input_tokens,
                cached_tokens=turn.cached_tokens,
                output_tokens=turn.output_tokens,
                seconds=turn.seconds,
                reasoning=plain_text(turn.reasoning),
                prompt_seconds=turn.prompt_seconds,
                writing_seconds=turn.writing_seconds,
                first_token_seconds=turn.first_token_seconds,
            )

    def prompt(self, prompt: PromptRow) -> None:
        """Log what the model is given before its first answer."""
        rendered = None if prompt.rendered is None else plain_text(prompt.rendered)
        columns = {
            "messages": to_json(prompt.messages), "tools": to_json(prompt.tools), "rendered": rendered
        }  # fmt: skip
        with self._log.lock, self._pending.transaction():
            number = self._log.once("prompt", columns)
            self._log._write("UPDATE episode SET prompt_id = ? WHERE id = ?", number, self.id)

    def result(self, step_id: int, outcome: Outcome, verdict: Verdict) -> None:
        """Log how the step ended, and the automaton's verdict."""
        with self._log.lock, self._pending.transaction():
            self._log.connection.execute(
                "UPDATE step SET status = ?, kind = ?, symbol = ?, state_before = ?, state_after = ?,"
                " t_result = ?, result = ?, error_code = ?, error_message = ?, t_device = ?, duration = ?"
                " WHERE id = ?",
                (
                    outcome.status,
                    verdict.kind,
                    verdict.symbol,
                    verdict.state_before,
                    verdict.state_after,
                    time.time(),
                    None if outcome.value is None else to_json(outcome.value),
                    outcome.code,
                    None if outcome.message is None else plain_text(outcome.message),
                    outcome.t,
                    outcome.duration,
                    step_id,
                ),
            )

    def sample(self, sample: Sample) -> None:
        """Log a coarse reading; written with the next result, or within half a second of more readings."""
        with self._log.lock:
            self._pending.samples.append(sample)
            if self._pending.due and not self._log.connection.in_transaction:
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
        self._log._write(
            "UPDATE episode SET device = ?, simulated = ?, guard = ? WHERE id = ?",
            device,
            int(simulated),
            guard,
            self.id,
        )

    def machine_cost(self, cost: MachineCost) -> None:
        """Log the resource usage of the episode on the agent's machine."""
        self._log._insert(
            "machine_cost",
            episode_id=self.id,
            peak_memory=cost.peak_memory,
            energy=cost.energy,
            meter=cost.meter,
            load_seconds=cost.load_seconds,
        )

    def end(
        self,
        status: EpisodeStatus,
        stop_reason: str | None = None,
        error: str | None = None,
        stop: StopOutcome | None = None,
    ) -> None:
        """Log the end of the episode and its rig's `stop`; pending rows are written."""
        with self._log.lock, self._pending.transaction():
            self._log._write(
                "UPDATE episode SET status = ?, ended = ?, seconds = ?, stop_reason = ?, error = ?, stop = ?"
                " WHERE id = ?",
                status,
                time.time(),
                time.monotonic() - self._begun,
                stop_reason,
                None if error is None else plain_text(error),
                None if stop is None else str(stop),
                self.id,
            )
