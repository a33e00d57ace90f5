"""What happens in one simulated world: drawn by a seed, or given; and what must hold whatever happens."""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from core_eval.rig.signals import RigError, StopButton, StopSignals
from core_eval.run.episode import Episode, EpisodeFailed
from core_eval.run.episode_start import Assignment
from devices.outcome import StopOutcome
from firmware_bridge.freeze_watch import FREEZE_SECONDS
from firmware_bridge.link import Port
from firmware_bridge.mqtt.address import Topics
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort
from simulated_bridge import broker, line, system
from simulated_bridge.patches import simulated_system
from simulated_bridge.plant import Board, Plant
from simulated_bridge.scheduler import START, Machine, Process, World

LONGEST = 400.0
"""Seconds of virtual time after which a world that has not ended is stuck."""
COLLECTED = 40
"""Worlds between two collections of what is no longer used."""
LENGTHS = (0.0, 0.05, 0.3, 1.0, 2.5, 6.0, 6.0, 30.0)
"""Lengths of a call that are drawn, in s."""
LONG = (30.0, 30.0, 90.0)
"""Lengths of a first call that every fault finds at work; the last one where no watchdog ends it."""
TIMEOUTS = (20.0, 20.0, 3.0)
"""Time-outs of a call that are drawn, in s."""
BURST = 2.5
"""Longest time between two faults of which one follows the other, in s."""
REPLACED = 4.0
"""Seconds in which the successor of a rig process that was killed must have stopped the rig."""
SILENT = 5.0
"""Seconds in which the rig process must have stopped the rig of a host that stands still."""
GONE_ON = 2.0
"""Seconds in which a board that stalled must have stopped the rig, if it was told to meanwhile."""
SLACK = 0.5
"""Seconds by which a thread may come late."""
HEEDED = 8.0
"""Seconds without a fault in which a stop that was asked for must have stopped the rig."""
SETTLE = 7.0
"""Seconds, after its watchdog's, in which a machine without a host must have come to rest."""
HINDERS = (
    "all killed",
    "cable out",
    "noise",
    "loss",
    "rig process killed",
    "rig process frozen",
    "suspended",
)
"""Faults that may keep a rig process from stopping its rig in time."""

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
        "stopped by another": (0.0, 0.0),
    },
}
"""Faults of each link, and the shortest and longest time that each lasts, in s."""
WATCHDOGS = {"serial": (2.0, 5.0, 0.0, 0.0), "mqtt": (2.0, 5.0, 10.0, 10.0)}
"""Watchdogs of boards that are drawn, in s; 0: none."""
NEAR = {"host frozen": (2.0, 3.2), "broker gone": (0.2, 3.0), "board stalls": (1.5, 5.0)}
"""Times about a limit of the bridge, which every other fault of that kind gets."""
TOGETHER: Mapping[str, Sequence[Mapping[str, tuple[float, float]]]] = {
    "serial": (
        {"host frozen": (2.4, 3.0)},
        {"host frozen": (2.6, 3.0)},
        {"host frozen": (5.5, 9.0)},
        {"cable out": (4.0, 14.0), "host killed": (0.1, 4.0)},
        {"board stalls": (1.5, 5.0), "host killed": (0.1, 4.0)},
        {"rig process killed": (0.0, 0.0), "board reset": (0.1, 1.0)},
    ),
    "mqtt": (
        {"host frozen": (3.1, 5.0), "broker gone": (0.5, 4.0)},
        {"broker gone": (3.5, 8.0), "host frozen": (3.1, 5.0)},
        {"broker gone": (0.5, 5.0), "stop pressed": (0.0, 0.0)},
        {"disorder": (6.0, 10.0), "stopped by another": (0.0, 0.0)},
        {"stopped by another": (0.0, 0.0), "disorder": (6.0, 10.0)},
        {"disorder": (5.0, 8.0), "host frozen": (3.1, 4.0)},
        {"disorder": (5.0, 8.0), "host frozen": (3.1, 4.0)},
        {"disorder": (6.0, 10.0), "board reset": (0.1, 0.5)},
        {"disorder": (6.0, 10.0), "board reset": (0.1, 0.5)},
    ),
}
"""Faults for each of which a safeguard of its own stands, where others do not mask it: half of the worlds
have one of these, the second within the first, or in its aftermath."""
LAST = 16.0
"""Latest moment of a fault, in s."""
EARLY = 2.0
"""Seconds in which a run has opened, stopped and reset its rig."""
OFTEN = ("host killed", "host frozen", "stop pressed")
"""These are drawn twice as often."""
ENDS = ("host killed", "host frozen", "suspended", "rig process killed", "rig process frozen")
"""Of these a board without a watchdog gets one: nothing but host and rig process can stop it."""
UNMET = tuple(
    pair
    for one in ("rig process killed", "rig process frozen")
    for pair in ((one, "cable out"), ("cable out", one))
)
"""Of these such a board gets one: no successor opens a port that is out, and the host's end is the stop's."""
AFTERMATH = {"disorder": 9.0, "suspended": 5.0, "board reset": 1.0, "rig process killed": 4.0}
"""Seconds by which a fault's effect outlasts it."""
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
        slow: seconds from one look of a board at its serial input to the next.
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
    slow: float
    resets: bool
    logind: bool

    def lines(self) -> Iterator[str]:
        """Yield it in lines for a person."""
        yield (
            f"seed {self.seed}: {self.link}; coasts {self.coast:g} s, confirms its stop: {self.confirms}, "
            f"a stopped call ends in {self.unwinds:g} s, time-out {self.timeout:g} s, "
            f"thinks {self.thinks:g} s, watchdog {self.watchdog:g} s, "
            f"looks at its input every {self.slow:g} s, resets on open: {self.resets}, logind: {self.logind}"
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
    together = random.choice(TOGETHER[link]) if random.random() < 0.5 else {}
    disorder = "disorder" in together
    watchdog = random.choice(WATCHDOGS[link][2 * disorder or bool(together) :])
    lasts = random.random() < (0.9 if disorder else 0.7 if together else 0.3)
    calls = tuple(
        (
            *(
                (random.choice(LONG[1:] if disorder else LONG if not watchdog else LONG[:-1]),)
                if lasts and not run
                else ()
            ),
            *(random.choice(LENGTHS) for _ in range(random.randrange(1, 5 - lasts))),
        )
        for run in range(random.choice((1, 2, 2)))
    )
    faults: list[Fault] = []
    for kind, span in together.items():
        # What disturbs a board's start must be there when a run opens it.
        at = random.uniform(0.0, EARLY if kind == "board stalls" else random.choice((EARLY, LAST)))
        if faults:
            first = faults[0]
            at = first.at + random.uniform(0.0, max(0.5, first.seconds or AFTERMATH.get(first.kind, 0.0)))
        faults.append(Fault(kind, round(at, 3), round(random.uniform(*span), 3)))
    for _ in range(random.choice((0, 0, 1) if together else (0, 1, 1, 2, 2, 3, 3, 4, 5))):
        kinds = [kind for kind in FAULTS[link] if watchdog or kind not in ENDS or not _ends(faults)]
        if not watchdog:
            # What kills host and rig process at once, or one of them while the other stands still, leaves
            # nothing that stops such a board.
            kinds.remove("all killed")
            for one, other in UNMET:
                if any(fault.kind == one for fault in faults) and other in kinds:
                    kinds.remove(other)
        kind = random.choice([*kinds, *(kind for kind in OFTEN if kind in kinds)])
        low, high = NEAR[kind] if kind in NEAR and random.random() < 0.5 else FAULTS[link][kind]
        at = random.uniform(0.0, random.choice((EARLY, LAST, LAST, LAST)))
        if faults and random.random() < 0.5:
            # Many a bug shows only where one fault follows another, or comes at its end.
            last = faults[-1]
            at = random.choice((last.at, last.at, last.at + last.seconds)) + random.uniform(0.0, BURST)
        faults.append(Fault(kind, round(at, 3), round(random.uniform(low, high), 3)))
    return Scenario(
        seed,
        link,
        calls,
        tuple(sorted(faults, key=lambda one: one.at)),
        coast=random.choice((0.0, 0.05, 0.3, 0.8)),
        confirms=random.random() < 0.5,
        unwinds=random.choice((0.0, 0.0, 0.5, 1.5)),
        # Messages are late where a time-out is short, and a fault comes between two calls.
        timeout=random.choice((20.0, 3.0, 3.0) if disorder and "host frozen" not in together else TIMEOUTS),
        thinks=random.choice(
            (0.0, 0.0, 2.0, 5.0) if together.keys() & {"disorder", "board reset"} else (0.0, 0.0, 0.5, 2.0)
        ),
        watchdog=watchdog,
        slow=random.choice((0.0, 0.0, 0.1, 0.3, 0.3)) if link == "serial" else 0.0,
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
        world.asked_to_stop = self._expect_heed  # type: ignore[attr-defined]
        self.board = Board(world, self.plant, self._port, plan.watchdog)
        self.line.on_word = self.board.on_word
        self.line.slow = self.board.slow = plan.slow
        if plan.resets:
            self.line.on_open = lambda: self.board.reset(0.3)
        self.host: Process | None = None
        self.button = StopButton()
        self.runs: list[int] = []
        self._to_heed: list[Any] = []
        self.ended: dict[int, str] = {}

    def _port(self) -> Port:
        return SerialPort("/dev/uart") if self.plan.link == "serial" else MqttPort(URLS["mqtt"])

    def run(self) -> Mapping[str, str]:
        """Let it happen, and return what did not hold."""
        world, pauses = self.world, self.world.stream("pauses")
        try:
            for fault in self.plan.faults:
                world.after(fault.at, lambda fault=fault: self._strike(fault))  # type: ignore[misc]
            for number, markers in enumerate(self.markers):
                self._start(number, markers)
                if not world.run(world.now + LONGEST, lambda: self._host_is_gone()):
                    self._stuck(f"run {number}")
                    return world.findings
                world.run(world.now + pauses.choice((0.0, 0.5, 3.0)))
            # Once all faults are over, a run must work.
            ends = (one.at + one.seconds + max(6.0, AFTERMATH.get(one.kind, 0.0)) for one in self.plan.faults)
            world.run(max([world.now, *(START + one for one in ends)]))
            rests = SETTLE + self.plan.watchdog
            if not world.run(world.now + rests, lambda: not self.plant.moving):
                world.find("not stopped", f"it still moves {rests:g} s after the last host")
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
            case "stopped by another":
                self.broker.route(Topics("rig").of("estop"), b"", retain=False)
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
                over(self.board.stall())
            case "host killed":
                self._kill([host])
            case "rig process killed":
                self._kill(rigs)
                self._expect_stop(fault, REPLACED, FAULTS["serial"])
            case "all killed":
                self._kill([host, *rigs])
            case "host frozen":
                self._freeze([host], over)
                if self.plan.link == "serial" and fault.seconds > SILENT:
                    self._expect_stop(fault, SILENT, HINDERS)
            case "rig process frozen":
                self._freeze(rigs, over)
            case "suspended":
                self._suspend(fault.seconds)
            case "stop pressed":
                if host is not None and not host.dead:
                    host.spawn(self.button.press, "person")

    def _expect_stop(self, fault: Fault, within: float, hinders: Collection[str]) -> None:
        """Require that the rig is stopped within so many seconds, unless another fault may hinder that."""
        plant, world = self.plant, self.world
        others = [one for one in self.plan.faults if one is not fault and one.kind in hinders]
        if any(one.at <= fault.at + within and one.at + one.seconds + within >= fault.at for one in others):
            return
        at_work, began = plant.at_work, world.now

        def check() -> None:
            board = self.board
            if not plant.moving or at_work is not plant.at_work:
                return
            if board.process.frozen or world.now - board.thawed < GONE_ON:
                # A board that stalls hears nothing, and has no watchdog meanwhile.
                world.after(SLACK, check)
            else:
                text = f"it moves {world.now - began:.3g} s after this: {fault.kind}"
                world.find("not stopped", text)

        if plant.moving and not self._host_is_gone():
            world.after(within, check)

    def _expect_heed(self, asked: Process) -> None:
        """Require that a stop is heeded, once nothing has hindered it for so long, while who asked lives."""
        plant, world, at_work = self.plant, self.world, self.plant.at_work
        if not plant.moving or at_work in self._to_heed:
            return
        self._to_heed.append(at_work)
        since = world.now
        for fault in self.plan.faults:
            began = START + fault.at
            if began < since + HEEDED:
                since = max(since, began + fault.seconds + AFTERMATH.get(fault.kind, 0.0))

        def check() -> None:
            if plant.moving and at_work is plant.at_work and not asked.dead:
                world.find("not stopped", f"it moves {HEEDED:g} s after {asked.name} has asked for a stop")

        world.at(since + HEEDED, check)

    def _kill(self, processes: list[Process | None]) -> None:
        for one in processes:
            if one is not None:
                one.end(-9)

    def _freeze(self, processes: list[Process | None], over: Any) -> None:
        for one in processes:
            if one is not None and not one.dead:
                over(one.freeze(stopped=True))

    def _suspend(self, seconds: float) -> None:
        world, machine = self.world, self.machine
        late = 0.0
        for one in self._rig_processes():
            if (stop := getattr(one, "before_sleep", None)) is not None and not one.frozen:
                one.spawn(stop, "logind")
                late = 5.0

        def sleep() -> None:
            asleep = [one for one in (self.host, *self._rig_processes()) if one is not None and not one.dead]
            thaws = [one.freeze(stopped=False) for one in asleep]
            machine.suspend(world.now)

            def wake() -> None:
                machine.wake(world.now)
                for thaw in thaws:
                    thaw()

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
            # Nothing here is kept.
            for pragma in ("synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -64000"):
                self._log.connection.execute(f"PRAGMA {pragma}")
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
        spans = [to - max(start, since[0]) for start, to in system.process().stood_still]
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
        if stop is StopOutcome.CONFIRMED and not plant.confirms:
            world.find("false confirmation", "a stop is logged as confirmed by a device that cannot")
        return right[2](self, status, reason, error, stop, said)

    def note(self: Recorder, state: str, detail: Any = None) -> None:
        if state == "late stop" and detail["outcome"] == "confirmed" and (plant.moving or not plant.confirms):
            text = "and it moves" if plant.moving else "by a device that cannot"
            world.find("false confirmation", f"the stop of the host before is logged as confirmed, {text}")
        noted(self, state, detail)

    EpisodeLog.intent, EpisodeLog.result, EpisodeLog.end = intent, result, end  # type: ignore[method-assign]
    Recorder.note = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        EpisodeLog.intent, EpisodeLog.result, EpisodeLog.end = right  # type: ignore[method-assign]
        Recorder.note = noted  # type: ignore[method-assign]


def explained(simulations: Simulations, plan: Scenario, broken: Mapping[str, str]) -> str:
    """Return what did not hold in a world, its smallest plan that still fails, and how to replay it."""
    small = smallest(simulations, plan, broken)
    lines = [f"seed {plan.seed}: {name}: {text}" for name, text in broken.items()]
    lines += ["the smallest plan that still fails:", *small.lines()]
    return "\n".join([*lines, f"python benchmarks/simulate_bridge.py --replay {plan.seed}"])


def smallest(simulations: Simulations, plan: Scenario, broken: Mapping[str, str]) -> Scenario:
    """Return a plan with fewer faults, runs and calls in which one of the same invariants is broken."""
    while True:
        for smaller in _smaller(plan):
            if simulations.run(smaller)[0].keys() & broken.keys():
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
    for name in ("coast", "unwinds", "thinks", "slow", "resets", "logind"):
        if getattr(plan, name):
            simpler: dict[str, Any] = {name: type(getattr(plan, name))()}
            yield replace(plan, **simpler)
