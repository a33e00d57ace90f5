"""What happens in one simulated world: drawn by a seed, or given; and what must hold whatever happens."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

from agents.agent import Action, Agent, EpisodeContext, Observation, StopAction, ToolCallAction
from configs.rigs_loader import load_rig
from configs.tasks_loader import load_task
from core_eval.log import EpisodeLog, RunLog, ignore
from core_eval.rig.opening import open_rig
from core_eval.rig.recorder import Recorder
from core_eval.rig.signals import StopButton, StopSignals
from core_eval.rig.simulator_process import RigError
from core_eval.run.episode import Episode, EpisodeFailed
from core_eval.run.episode_start import Assignment
from devices.outcome import StopOutcome
from firmware_bridge.freeze_watch import FREEZE_SECONDS
from firmware_bridge.link import Port
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort
from simulated_bridge import broker, line, system
from simulated_bridge.patches import simulated_system
from simulated_bridge.plant import Board, Plant
from simulated_bridge.scheduler import Machine, Process, World

LONGEST = 400.0
"""Seconds of virtual time after which a world that has not ended is stuck."""
COLLECTED = 40
"""Worlds between two collections of what is no longer used."""
LENGTHS = (0.0, 0.05, 0.3, 1.0, 2.5, 6.0, 6.0, 30.0)
"""Lengths of a call that are drawn, in s."""
TIMEOUTS = (20.0, 20.0, 3.0)
"""Time-outs of a call that are drawn, in s."""
BURST = 2.5
"""Longest time between two faults of which one follows the other, in s."""
REPLACED = 4.0
"""Seconds in which the successor of a rig process that was killed must have stopped the rig."""
SILENT = 5.0
"""Seconds in which the rig process must have stopped the rig of a host that stands still."""
SLACK = 0.5
"""Seconds by which a thread may come late."""
SETTLE = 12.0
"""Seconds in which a machine without a host must have come to rest: watchdog, coasting, slowness."""

Faults = Mapping[str, tuple[float, float]]
ON_ANY: Faults = {
    "board reset": (0.1, 2.0),
    "board stalls": (0.2, 5.0),
    "host killed": (0.1, 4.0),
    "host frozen": (0.5, 9.0),
    "suspended": (0.5, 12.0),
    "stop pressed": (0.0, 0.0),
}
FAULTS: Mapping[str, Faults] = {
    "serial": {
        **ON_ANY,
        "noise": (0.5, 8.0),
        "loss": (0.5, 8.0),
        "cable out": (0.2, 14.0),
        "rig process killed": (0.0, 0.0),
        "rig process frozen": (0.5, 9.0),
        "all killed": (0.1, 4.0),
    },
    "mqtt": {
        **ON_ANY,
        "broker gone": (0.1, 14.0),
        "host parted": (0.2, 20.0),
        "board parted": (0.2, 20.0),
        "disorder": (0.5, 8.0),
    },
}
"""Faults of each link, and the shortest and longest time that each lasts, in s."""
NEAR = {"host frozen": (2.0, 3.5)}
"""Times about a limit of the bridge, which every other fault of that kind gets."""
LAST = 16.0
"""Latest moment of a fault, in s."""
ENDS = ("host killed", "host frozen", "suspended", "rig process killed", "rig process frozen")
"""Of these a board without a watchdog gets one: nothing but host and rig process can stop it."""
URLS = {"serial": "serial:///dev/ttyRIG", "mqtt": "mqtt://localhost/rig"}


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong at `at` seconds, for `seconds`."""

    kind: str
    at: float
    seconds: float


@dataclass(frozen=True)
class Scenario:
    """A world's plan.

    Attributes:
        calls: how long each call of each run takes, in s.
        faults: what goes wrong.
        coast: seconds in which the machine comes to rest.
        confirms: whether the device knows when the machine stands.
        unwinds: seconds that a stopped call takes to end.
        timeout: a call's, in s.
        thinks: seconds between two calls.
        watchdog: the board's, in s; 0: it has none.
        resets: whether the board resets when its port is opened.
        logind: whether the host's machine tells of a suspend.
    """

    seed: int
    link: str
    calls: tuple[tuple[float, ...], ...]
    faults: tuple[Fault, ...]
    coast: float
    confirms: bool
    unwinds: float
    timeout: float
    thinks: float
    watchdog: float
    resets: bool
    logind: bool

    def lines(self) -> Iterator[str]:
        """Yield it in lines for a person."""
        yield (
            f"seed {self.seed}: {self.link}; coasts {self.coast:g} s, confirms its stop: {self.confirms}, "
            f"a stopped call ends in {self.unwinds:g} s, time-out {self.timeout:g} s, "
            f"thinks {self.thinks:g} s, watchdog {self.watchdog:g} s, "
            f"resets on open: {self.resets}, logind: {self.logind}"
        )
        for number, calls in enumerate(self.calls):
            yield f"  run {number}: calls of {', '.join(f'{one:g}' for one in calls) or 'nothing'} s"
        for fault in self.faults:
            yield f"  at {fault.at:g} s: {fault.kind}" + (
                f" for {fault.seconds:g} s" if fault.seconds else ""
            )


def drawn(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    random = Random(seed)
    link = random.choice(list(FAULTS))
    calls = tuple(
        tuple(random.choice(LENGTHS) for _ in range(random.randrange(1, 5)))
        for _ in range(random.randrange(1, 3))
    )
    watchdog = random.choice((2.0, 5.0, 0.0) if link == "serial" else (2.0, 5.0))
    faults: list[Fault] = []
    for _ in range(random.choice((0, 1, 2, 2, 3, 3, 4, 5))):
        kinds = [kind for kind in FAULTS[link] if watchdog or kind not in ENDS or not _ends(faults)]
        if not watchdog:
            # What kills host and rig process at once, or one of them while the other stands still, leaves
            # nothing that stops such a board.
            kinds.remove("all killed")
        kind = random.choice(kinds)
        low, high = NEAR[kind] if kind in NEAR and random.random() < 0.5 else FAULTS[link][kind]
        at = random.uniform(0.0, LAST)
        if faults and random.random() < 0.5:
            # Many a bug shows only where one fault follows another.
            at = faults[-1].at + random.uniform(0.0, BURST)
        faults.append(Fault(kind, round(at, 3), round(random.uniform(low, high), 3)))
    return Scenario(
        seed,
        link,
        calls,
        tuple(sorted(faults, key=lambda one: one.at)),
        coast=random.choice((0.0, 0.05, 0.3, 0.8)),
        confirms=random.random() < 0.6,
        unwinds=random.choice((0.0, 0.0, 0.5, 1.5)),
        timeout=random.choice(TIMEOUTS),
        thinks=random.choice((0.0, 0.0, 0.5, 2.0)),
        watchdog=watchdog,
        resets=random.random() < 0.2,
        logind=random.random() < 0.5,
    )


def _ends(faults: Sequence[Fault]) -> bool:
    return any(fault.kind in ENDS for fault in faults)


@dataclass
class Player(Agent):
    """Makes its calls in their order."""

    markers: list[float]
    thinks: float
    name: str = "player"
    scaffold: str = "none"
    left: list[float] = field(default_factory=list)

    def start(self, context: EpisodeContext) -> None:
        self.left = list(self.markers)

    def act(self, observation: Observation | None) -> Action:
        if not self.left:
            return StopAction("done")
        system.sleep(self.thinks)
        return ToolCallAction("move_to", {"x": self.left.pop(0), "y": 1.0})

    def close(self) -> None:
        return


TASK = """
tasks:
  - id: drive
    world: farm_rover
    prompt: Drive.
    plan: [{move_to: {x: 0.5, y: 1.0}}]
"""


@cache
def _task() -> Any:
    with NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(TASK)
        file.flush()
        return load_task(file.name)


@cache
def _rig(url: str) -> Any:
    return load_rig(url)


class Bridge:
    """One world with its host, line and board.

    Args:
        plan: what happens.
        log: gets the runs.
        traced: whether to keep what happened.
    """

    def __init__(self, plan: Scenario, log: RunLog, *, traced: bool = False) -> None:
        self.plan, self.log = plan, log
        self.world = world = World(plan.seed, traced=traced)
        system.WORLD[:] = [world]
        self.machine = Machine()
        self.line = line.Line()
        line.LINE[:] = [self.line]
        self.broker = broker.Broker()
        broker.BROKER[:] = [self.broker]
        markers = [[run * 100 + k + 0.5 for k in range(len(calls))] for run, calls in enumerate(plan.calls)]
        seconds = {
            marker: length
            for row, calls in zip(markers, plan.calls, strict=True)
            for marker, length in zip(row, calls, strict=True)
        }
        self.last = 90.5
        seconds[self.last] = 0.5
        self.markers = markers
        self.plant = Plant(world, seconds, plan.coast, plan.unwinds, confirms=plan.confirms)
        world.plant, world.has_logind = self.plant, plan.logind  # type: ignore[attr-defined]
        self.board = Board(world, self.plant, self._port, plan.watchdog)
        if plan.resets:
            self.line.on_open = lambda: self.board.reset(0.3)
        self.host: Process | None = None
        self.button = StopButton()
        self.runs: list[int] = []
        self.woken = 0.0
        self.ended: dict[int, str] = {}

    def _port(self) -> Port:
        return SerialPort("/dev/uart") if self.plan.link == "serial" else MqttPort(URLS["mqtt"])

    def run(self) -> Mapping[str, str]:
        """Let it happen, and return what did not hold."""
        world = self.world
        try:
            for fault in self.plan.faults:
                world.after(fault.at, lambda fault=fault: self._strike(fault))  # type: ignore[misc]
            for number, markers in enumerate(self.markers):
                self._start(number, markers)
                if not world.run(world.now + LONGEST, lambda: self._host_is_gone()):
                    self._stuck(f"run {number}")
                    return world.findings
                world.run(world.now + world.random.choice((0.0, 0.5, 3.0)))
            # Once all faults are over, a run must work.
            world.run(max([world.now, *(1000.0 + one.at + one.seconds + 6.0 for one in self.plan.faults)]))
            if not world.run(world.now + SETTLE, lambda: not self.plant.moving):
                world.find("not stopped", f"it still moves {SETTLE:g} s after the last host")
            self._start(len(self.markers), [self.last])
            if not world.run(world.now + LONGEST, lambda: self._host_is_gone()):
                self._stuck("the run after all faults")
                return world.findings
            if self.ended.get(len(self.markers)) != "completed":
                world.find("not back", f"the run after all faults: {self.ended.get(len(self.markers))}")
            self._compare_log()
            return world.findings
        finally:
            world.end()

    def _host_is_gone(self) -> bool:
        return self.host is None or self.host.dead

    def _stuck(self, what: str) -> None:
        self.world.find("stuck", f"{what} has not ended in {LONGEST:g} s")

    def _start(self, number: int, markers: list[float]) -> None:
        self.button = button = StopButton()
        self.host = host = Process(self.world, self.machine, f"host {number}", "host")

        def run() -> None:
            self.ended[number] = "lost"
            run_id = self.log.begin_run({}, {}, {})
            self.runs.append(run_id)
            what = Assignment(run_id, 0, 1, _task(), "player", {"beta": 0.5}, "observe", False)
            try:
                with open_rig(_rig(URLS[self.plan.link]), call_timeout=self.plan.timeout) as session:
                    episode = Episode(
                        what,
                        session,
                        Player(markers, self.plan.thinks),
                        StopSignals(),
                        ignore,
                        stop_button=button,
                    )
                    episode.run(self.log)
                row = "SELECT status FROM episode WHERE run_id = ?"
                self.ended[number] = self.log.connection.execute(row, (run_id,)).fetchone()[0]
            except (EpisodeFailed, RigError) as error:
                self.ended[number] = str(error)
            self.world.say(f"host {number}: {self.ended[number]}")

        host.main(run)

    def _rig_processes(self) -> list[Process]:
        return [
            one
            for one in self.world.processes
            if not one.dead and one.machine is self.machine and one is not self.host
        ]

    def _strike(self, fault: Fault) -> None:
        world, host, rigs = self.world, self.host, self._rig_processes()
        world.say(f"FAULT {fault.kind} for {fault.seconds:g} s")
        over = lambda act: world.after(fault.seconds, act)  # noqa: E731 - what it is
        match fault.kind:
            case "noise" | "loss" as kind:
                setattr(self.line, kind, {"noise": 0.004, "loss": 0.3}[kind])
                over(lambda: setattr(self.line, kind, 0.0))
            case "cable out":
                self.line.sever()
                over(self.line.mend)
            case "disorder":
                self.broker.disorder = True
                over(lambda: setattr(self.broker, "disorder", False))
            case "broker gone":
                self.broker.stop()
                over(self.broker.start)
            case "host parted" | "board parted":
                name = fault.kind.partition(" ")[0]
                self.broker.part(name)
                over(lambda: self.broker.mend(name))
            case "board reset":
                self.board.reset(fault.seconds)
            case "board stalls":
                stalled = self.board.process
                stalled.freeze(stopped=False)
                over(stalled.thaw)
            case "host killed":
                self._kill([host])
            case "rig process killed":
                self._kill(rigs)
                self._expect_stop(fault, REPLACED)
            case "all killed":
                self._kill([host, *rigs])
            case "host frozen":
                self._freeze([host], over)
                if self.plan.link == "serial" and fault.seconds > SILENT:
                    self._expect_stop(fault, SILENT)
            case "rig process frozen":
                self._freeze(rigs, over)
            case "suspended":
                self._suspend(fault.seconds)
            case "stop pressed":
                if host is not None and not host.dead:
                    host.spawn(self.button.press, "person")

    def _slept(self, host: Process, since: float) -> None:
        # Of a host that was killed meanwhile, or woken by another fault's end, nothing is asked.
        if not host.dead and host is self.host and since >= self.woken:
            self.plant.asleep.append((since, self.world.now))
        self.woken = self.world.now

    def _expect_stop(self, fault: Fault, within: float) -> None:
        """Require that the rig is stopped within so many seconds, unless another fault may hinder that."""
        plant, world = self.plant, self.world
        others = [one for one in self.plan.faults if one is not fault]
        if any(one.at <= fault.at + within and one.at + one.seconds + within >= fault.at for one in others):
            return
        at_work = plant.at_work

        def check() -> None:
            if plant.moving and at_work is plant.at_work:
                world.find("not stopped", f"it moves {within:g} s after this: {fault.kind}")

        if plant.moving and not self._host_is_gone():
            world.after(within, check)

    def _kill(self, processes: list[Process | None]) -> None:
        for one in processes:
            if one is not None:
                one.end(-9)

    def _freeze(self, processes: list[Process | None], over: Any) -> None:
        now = self.world.now
        for one in processes:
            if one is not None and not one.dead:
                one.freeze(stopped=True)
                over(one.thaw)
                if one is self.host:
                    over(lambda one=one: self._slept(one, now))

    def _suspend(self, seconds: float) -> None:
        world = self.world
        late = 0.0
        for one in self._rig_processes():
            if (stop := getattr(one, "before_sleep", None)) is not None and not one.frozen:
                one.spawn(stop, "logind")
                late = 5.0

        def sleep() -> None:
            asleep = [one for one in (self.host, *self._rig_processes()) if one is not None and not one.dead]
            for one in asleep:
                one.freeze(stopped=False)

            began, host = world.now, self.host

            def wake() -> None:
                if host is not None:
                    self._slept(host, began)
                self.machine.asleep += seconds
                for one in asleep:
                    one.thaw()

            world.after(seconds, wake)

        world.after(late, sleep)

    def _compare_log(self) -> None:
        """Hold what the log says of each call and stop against what the machine did."""
        world, done = self.world, {one.marker: one for one in self.plant.executions}
        marks = ",".join("?" * len(self.runs))
        rows = self.log.connection.execute(
            "SELECT step.arguments, step.status, step.error_code, step.result FROM step JOIN episode "
            f"ON episode.id = step.episode_id WHERE episode.run_id IN ({marks})",
            self.runs,
        ).fetchall()
        seen = set()
        for arguments, status, code, result in rows:
            marker = json.loads(arguments)["x"]
            seen.add(marker)
            ended = done[marker].ended if marker in done else "not executed"
            if status == "ok" and (ended != "ok" or json.loads(result)["x"] != marker):
                world.find("false log", f"call {marker:g} is logged as ok, and was {ended}")
            if status in ("rejected", "invalid", "blocked") and ended != "not executed":
                world.find("false log", f"call {marker:g} is logged as {status} ({code}), and was {ended}")
            # A device may stop a call that it has accepted, and not begun.
            if code == "stopped" and ended not in ("stopped", "not executed"):
                world.find("false log", f"call {marker:g} is logged as stopped, and was {ended}")
        for marker in done.keys() - seen:
            world.find("unlogged", f"call {marker:g} was executed, and is not in the log")


class Simulations:
    """Runs worlds, one after another; use as a context."""

    def __init__(self) -> None:
        self._system = simulated_system()
        memory = Path("/dev/shm")
        self._folder = TemporaryDirectory(prefix="simulated-", dir=memory if memory.is_dir() else None)
        self._log: RunLog | None = None
        self._runs = 0

    def __enter__(self) -> Simulations:
        self._system.__enter__()
        # What ends when the collector comes by would end at another moment in each run of a seed.
        gc.collect()
        gc.freeze()
        gc.disable()
        return self

    def __exit__(self, *error: Any) -> None:
        self._system.__exit__(*error)
        gc.enable()
        gc.unfreeze()
        if self._log is not None:
            self._log.close()
        self._folder.cleanup()

    def run(self, plan: Scenario, *, traced: bool = False) -> tuple[Mapping[str, str], list[str]]:
        """Return what did not hold in a world, and its trace."""
        if self._runs % 500 == 0:
            if self._log is not None:
                self._log.close()
                self._log.path.unlink()
            self._log = RunLog(Path(self._folder.name) / f"{self._runs}.db")
        self._runs += 1
        if self._runs % COLLECTED == 0:
            gc.collect()
        assert self._log is not None
        bridge = Bridge(plan, self._log, traced=traced)
        with _noted(bridge.plant):
            found = bridge.run()
        return dict(found), bridge.world.trace or []


@contextmanager
def _noted(plant: Plant) -> Iterator[None]:
    """What is logged is held against the machine at that moment."""
    right = EpisodeLog.intent, EpisodeLog.result, EpisodeLog.end
    noted = Recorder.note
    world, since = plant.world, [0.0]

    def intent(self: EpisodeLog, one: Any, turn: Any) -> Any:
        row = right[0](self, one, turn)
        plant.logged.add(one.arguments["x"])
        since[0] = world.now
        return row

    def result(self: EpisodeLog, step: Any, outcome: Any, verdict: Any) -> Any:
        spans = [to - max(start, since[0]) for start, to in plant.asleep if to <= world.now]
        asleep = max(spans, default=0.0)
        world.say(f"log: {outcome.status} {outcome.code}")
        if asleep > FREEZE_SECONDS + SLACK and (outcome.status == "ok" or outcome.code == "stopped"):
            text = f"{outcome.status} {outcome.code or ''} after the host stood still for {asleep:.2f} s"
            world.find("not frozen", f"call {step.arguments['x']:g} is logged as {text}")
        done = next((one for one in plant.executions if one.marker == step.arguments["x"]), None)
        if outcome.code == "stopped" and done is not None and done.struck:
            world.find("not frozen", f"call {done.marker:g} is logged as stopped, for a host that was silent")
        given_up = "given up" in (outcome.message or "")
        if outcome.status == "rejected" or (outcome.code == "timeout" and not given_up):
            # One whose link was lost may still be begun.
            plant.over.add(step.arguments["x"])
        return right[1](self, step, outcome, verdict)

    def end(self: EpisodeLog, status: Any, reason: Any, error: Any, stop: Any, said: str = "") -> Any:
        if stop is StopOutcome.CONFIRMED and plant.moving:
            world.find("false confirmation", "the episode's stop is logged as confirmed, and it moves")
        return right[2](self, status, reason, error, stop, said)

    def note(self: Recorder, state: str, detail: Any = None) -> None:
        if state == "late stop" and detail["outcome"] == "confirmed" and plant.moving:
            world.find(
                "false confirmation", "the stop of the host before is logged as confirmed, and it moves"
            )
        noted(self, state, detail)

    EpisodeLog.intent, EpisodeLog.result, EpisodeLog.end = intent, result, end  # type: ignore[method-assign]
    Recorder.note = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        EpisodeLog.intent, EpisodeLog.result, EpisodeLog.end = right  # type: ignore[method-assign]
        Recorder.note = noted  # type: ignore[method-assign]


def shrunk(plan: Scenario, fails: Any) -> Scenario:
    """Return a plan with fewer faults and calls that still fails."""
    while True:
        for smaller in _smaller(plan):
            if fails(smaller):
                plan = smaller
                break
        else:
            return plan


def _smaller(plan: Scenario) -> Iterator[Scenario]:
    for number in range(len(plan.faults)):
        yield replace(plan, faults=plan.faults[:number] + plan.faults[number + 1 :])
    for run in range(len(plan.calls)):
        if len(plan.calls) > 1:
            yield replace(plan, calls=plan.calls[:run] + plan.calls[run + 1 :])
        for k in range(len(plan.calls[run])):
            row = plan.calls[run][:k] + plan.calls[run][k + 1 :]
            yield replace(plan, calls=(*plan.calls[:run], row, *plan.calls[run + 1 :]))


def as_json(plan: Scenario) -> str:
    """Return a plan as one line."""
    return json.dumps(asdict(plan))
