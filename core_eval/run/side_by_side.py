"""A run whose episodes go side by side: worker processes take them in turn, and write one log.

Simulators are many; a rig that is a machine belongs to the worker that took its first episode. Workers of a
cluster do not see the log: their episodes come back whole, and are written here.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from configs.errors import ConfigError
from core_eval.log import Emit, EpisodePlanned, Event, LogReader, RunLog
from core_eval.log.episode_copy import adopt
from core_eval.rig.signals import RigError, StopRequested, StopSignals
from core_eval.run.config import Cell, RunConfig
from core_eval.run.elsewhere import Numbers, Player, Spread, parts_of
from core_eval.run.parts import Parts, sent
from core_eval.run.plan import Run
from core_eval.run.side_by_side_worker import Ended, work
from firmware_bridge.guard import GuardMode, RuleAction
from firmware_bridge.mqtt import address as mqtt_address


@dataclass
class Worker:
    """A worker process, and the number of the episode that it has; None: it has none."""

    process: BaseProcess
    pipe: Connection
    number: int | None = None


class SideBySide:
    """Runs the episodes of a plan as `Run` does, with several at a time.

    Each episode has the seeds that it has by itself, so its rows are the same; only their ids follow the
    order in which episodes begin. Each worker has rigs and agents, models included, of its own.

    Attributes:
        failed: as of `Run`.
    """

    def __init__(
        self,
        config: RunConfig,
        parts: Parts,
        log: RunLog,
        emit: Emit,
        jobs: int,
        spread: Spread | None = None,
    ) -> None:
        """Prepare a run with `jobs` workers, or whose parts are `spread` over those of a cluster.

        Raises:
            ConfigError: all are on one rig that is a machine, or runs elsewhere; or a person is to be asked.
        """
        option = "--jobs" if spread is None else "--dask"
        refs = list(dict.fromkeys(cell.rig for cell in config.cells))
        # Of a simulator that is started each worker has one of its own.
        self._single = {ref for ref in refs if not ((rig := parts.rigs[ref]).in_process or rig.spawn)}
        if spread is not None and self._single:
            machine = mqtt_address.without_password(min(self._single))
            raise ConfigError(f"--dask: {machine} is a machine, which no cluster has; leave --dask out")
        if self._single == set(refs) and len(refs) == 1:
            raise ConfigError(f"--jobs: {refs[0]} is one machine, and has one worker; leave --jobs out")
        for ref in refs:
            if (mode := config.guard or parts.rigs[ref].guard) in (GuardMode.CONFIRM, GuardMode.TWIN):
                raise ConfigError(f"{option}: guard {mode} asks of one episode at a time; leave {option} out")
        if any(rule.action is RuleAction.CONFIRM for rule in config.rules):
            raise ConfigError(
                f"{option}: a rule that confirms asks of one episode at a time; leave {option} out"
            )
        self._spread = spread
        self._run = Run(config, parts, log, emit)
        self._parts = parts
        self._log = log
        self._emit = emit
        self._jobs = jobs
        self.failed = self._run.failed

    @property
    def run_id(self) -> int | None:
        """The run's id; None before it has begun."""
        return self._run.run_id

    def start(self) -> int:
        """Run the whole plan; raises as `Run.start`."""
        # Each worker opens its own; a serial port has one owner.
        if any(rig.meter is not None for rig in self._parts.rigs.values()):
            from core_eval.run.rig_meter import close_meters

            close_meters()
        self._go(frozenset())
        return self._run.logged()

    def resume(self, run_id: int, *, repeat: bool = True) -> None:
        """Run what is left of an interrupted run; as `Run.resume`."""
        self._go(self._run.reopen(run_id, repeat=repeat))

    def _go(self, done: frozenset[int]) -> None:
        config = self._run.config
        plan = {number: cell for number, cell, _ in config.plan() if number not in done}
        with StopSignals() as signals:
            if self._spread is None:
                self._fork(plan, signals)
            else:
                self._gather(self._spread, plan, signals)
        self._run.end()

    def _fork(self, plan: dict[int, Cell], signals: StopSignals) -> None:
        config, run_id = self._run.config, self._run.logged()
        # The parts are loaded once. Nothing of the parent's log is used in a worker: it opens its own.
        fork = multiprocessing.get_context("fork")
        workers: list[Worker] = []
        try:
            for _ in range(min(self._jobs, len(plan))):
                mine, its = fork.Pipe()
                others = [mine, *(worker.pipe for worker in workers)]
                given = (config, self._parts, self._log.path, run_id, its, others)
                process = fork.Process(target=work, args=given)
                process.start()
                its.close()
                workers.append(Worker(process, mine))
            self._distribute(workers, plan, signals)
        except StopRequested as stop:
            for worker in workers:
                _signal(worker.process, stop.exit_status - 128)
            raise
        finally:
            for worker in workers:
                worker.pipe.close()
            for worker in workers:
                worker.process.join()

    def _gather(self, spread: Spread, plan: Mapping[int, Cell], signals: StopSignals) -> None:
        """Have parts of the plan played elsewhere, and write their episodes in the order of the plan.

        Raises:
            Exception: what ended a part. Later ones are dropped, as one process would not have begun them.
        """
        names, begun, ended = self._run.config.names, time.monotonic(), 0

        def agent(part: Numbers) -> str:
            return names[plan[part[0]].agent]

        parts = (part for part in parts_of(self._run.config, plan) if agent(part) not in self.failed)
        player = Player(self._run.config, sent(self._parts))
        with closing(spread(player, parts)) as found:
            while True:
                with signals.interruptible():
                    part, played = next(found, ((), None))
                if played is None:
                    break
                # Of a cluster that cannot be reached the log has no run.
                run_id = self._run.logged()
                if agent(part) in self.failed:
                    continue
                for data in played.episodes:
                    left = None if not ended else (time.monotonic() - begun) / ended * (len(plan) - ended)
                    self._show(adopt(self._log, run_id, data), EpisodePlanned(ended + 1, len(plan), left))
                self.failed.update(played.failed)
                if played.error is not None:
                    raise played.error
                ended += len(part)

    def _show(self, episode: int, planned: EpisodePlanned) -> None:
        with LogReader(self._log.path) as reader:
            row, steps = reader.episode(episode), reader.steps(episode)
        begun = replace(row, status="running", simulated=None)
        events: list[Event] = [planned, begun, *steps, row]
        for event in events:
            self._emit(event)

    def _distribute(self, workers: Sequence[Worker], plan: dict[int, Cell], signals: StopSignals) -> None:
        """Give each worker the next episode as soon as it has none, until none is left.

        A drawn start is left to the worker that has drawn it, unless there is nothing else to do.

        Raises:
            Exception: what ended a worker's run, once the others have ended their episodes.
        """
        total, begun = len(plan), time.monotonic()
        waiting = dict.fromkeys(sorted(plan))
        owners: dict[str, Worker] = {}
        starts = {number: (cell.task, cell.rig, seed) for number, cell, seed in self._run.config.plan()}
        drawn: dict[tuple[str, str, int], Worker] = {}
        broken: BaseException | None = None

        def give(worker: Worker) -> None:
            names = self._run.config.names
            worker.number = None

            def may(number: int) -> bool:
                cell = plan[number]
                return names[cell.agent] not in self.failed and owners.get(cell.rig, worker) is worker

            if broken is not None or (first := next(filter(may, waiting), None)) is None:
                return
            left = filter(may, waiting)
            number = next((one for one in left if drawn.get(starts[one], worker) is worker), first)
            del waiting[number]
            if self._parts.varied is not None:
                drawn.setdefault(starts[number], worker)
            if (rig := plan[number].rig) in self._single:
                owners[rig] = worker
            worker.number = number
            # A worker that has died is told of where its answer is awaited.
            with suppress(OSError):
                worker.pipe.send(number)

        for worker in workers:
            give(worker)
        ended = 0
        while busy := [worker for worker in workers if worker.number is not None]:
            with signals.interruptible():
                ready = wait([worker.pipe for worker in busy])
            for worker in busy:
                if worker.pipe not in ready:
                    continue
                told = _told(worker)
                if isinstance(told, BaseException):
                    broken = broken or told
                    worker.number = None
                    continue
                ended += 1
                left = (time.monotonic() - begun) / ended * (total - ended)
                self._emit(EpisodePlanned(ended, total, left))
                for event in told.events:
                    self._emit(event)
                self.failed.update(told.failed)
                give(worker)
        if broken is not None:
            raise broken


def _told(worker: Worker) -> Ended | BaseException:
    try:
        told: Ended | BaseException = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        told = RigError(
            f"the process of episode {worker.number} of the run has died (exit status "
            f"{worker.process.exitcode}); the run can be resumed"
        )
    return told


def _signal(process: BaseProcess, number: int) -> None:
    if process.pid is not None and process.is_alive():
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
