"""Virtual time, and threads of simulated processes that run one at a time in an order drawn by a seed.

A thread is a greenlet. It gives way only where it waits, and at the points where a real one is likely to be
overtaken: locks, queues, and output. Each thread and each source of faults draws from a stream of its own, so
that a lock more in one of them changes nothing that another draws. Nothing here knows of the bridge.
"""

from __future__ import annotations

import heapq
import itertools
import math
import traceback
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

START = 1000.0
"""The time at which a world begins, in s."""
MOST_TURNS = 200_000
"""Turns of threads after which a world that goes on is livelocked."""
OVERTAKEN = 0.05
"""Probability that a thread is overtaken where it could be."""
_LOG_NOT = math.log(1 - OVERTAKEN)
DELAYS = (0.0, 0.0, 0.0, 0.0005, 0.004, 0.03)
"""Seconds for which an overtaken thread waits for its processor."""


class Machine:
    """A computer; `asleep` is how long its monotonic clock has stood still, in s."""

    def __init__(self) -> None:
        self.asleep = 0.0
        self._suspends, self._suspended_at = 0, 0.0
        self.doors: dict[str, Any] = {}

    def suspend(self, now: float) -> None:
        """Let its monotonic clock stand still, until each suspend is over."""
        if not self._suspends:
            self._suspended_at = now
        self._suspends += 1

    def wake(self, now: float) -> None:
        """End a suspend."""
        self._suspends -= 1
        if not self._suspends:
            self.asleep += now - self._suspended_at


class Process:
    """A process: its threads stop where it is frozen, and end where it is killed.

    Attributes:
        stood_still: from when to when it did.
    """

    def __init__(self, world: World, machine: Machine, name: str, kind: str = "") -> None:
        self.world, self.machine, self.name, self.kind = world, machine, name, kind
        self.label = world.numbered(name)
        self.pid = next(world.pids)
        self.frozen = self.stopped = self.dead = False
        self.status: int | None = None
        self.stood_still: list[tuple[float, float]] = []
        self.files: list[Any] = []
        self.told: list[str] = []
        self.tell: Callable[[str], None] = self.told.append
        self._freezes: list[bool] = []
        self._frozen_at = 0.0
        self._held: list[Task] = []
        self._joiners: list[Task] = []
        world.processes.append(self)

    def spawn(self, act: Callable[[], object], name: str = "") -> Task:
        """Start a thread in it."""
        return Task(self, act, name)

    def main(self, act: Callable[[], object]) -> None:
        """Start its main thread, with which it ends."""

        def run() -> None:
            try:
                act()
            except GreenletExit:
                raise
            except BaseException as error:
                self.world.note_death("main", self.name, error)
            finally:
                if self.world.current is not None and not self.world.over:
                    self.end(0)

        self.spawn(run, "main")

    def freeze(self, *, stopped: bool) -> Callable[[], None]:
        """Let none of its threads run; return what ends this: they run again once each freeze is over.

        `stopped`: by a signal, which the system tells of.
        """
        freezes, world = self._freezes, self.world
        if not freezes:
            self._frozen_at = world.now
        freezes.append(stopped)
        self.frozen, self.stopped = True, any(freezes)

        def thaw() -> None:
            freezes.remove(stopped)
            self.frozen, self.stopped = bool(freezes), any(freezes)
            if not freezes:
                self.stood_still.append((self._frozen_at, world.now))
                held, self._held = self._held, []
                for task in held:
                    world.make_ready(task)

        return thaw

    def hold(self, task: Task) -> None:
        """Keep a thread that could run."""
        self._held.append(task)

    def end(self, status: int) -> None:
        """End it at once: its threads run no further, and its files are closed."""
        if self.dead:
            return
        self.dead, self.status = True, status
        self.world.say(f"{self.name} ends with {status}")
        files, self.files = self.files, []
        for file in files:
            file.release()
        for task in self._joiners:
            self.world.unpark(task)
        if self.world.current is not None and self.world.current.process is self:
            # Nothing of it runs any more, not even what a thread would do at its end.
            self.world.current.parked = False
            self.world.hub.switch()

    def wait(self, seconds: float | None) -> bool:
        """Wait for its end, and return whether it came."""
        world = self.world
        until = None if seconds is None else world.now + seconds
        while not self.dead:
            left = None if until is None else until - world.now
            if left is not None and left <= 0:
                return False
            task = world.this
            self._joiners.append(task)
            world.park(left)
            self._joiners.remove(task)
        return True


class Task:
    """A thread of a simulated process."""

    def __init__(self, process: Process, act: Callable[[], object], name: str) -> None:
        self.process, self.name = process, name
        self.random = process.world.stream(f"{process.label}, {name}")
        self.until_overtaken = 0
        """Points where it could be overtaken before the one where it is."""
        self.draw_overtaken()
        self.token = 0
        self.parked = self.woken = self.done = False
        self.joiners: list[Task] = []
        self.thread: object = self
        self._act = act
        world = process.world
        self.greenlet = greenlet(self._run, world.hub)
        world.tasks.append(self)
        world.make_ready(self)

    def draw_overtaken(self) -> None:
        """Draw where it is overtaken next."""
        self.until_overtaken = int(math.log(1 - self.random.random()) / _LOG_NOT)

    def _run(self) -> None:
        world = self.process.world
        try:
            self._act()
        except GreenletExit:
            return
        except BaseException as error:
            world.note_death(self.name, self.process.name, error)
        self.done = True
        for task in self.joiners:
            world.unpark(task)


def last_line(error: BaseException) -> str:
    """Return an exception in one line, with the place where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})"


class World:
    """One simulated world.

    Attributes:
        now: the time, in s.
        findings: what broke an invariant: its name, and one line.
        trace: what happened, where it is kept.
    """

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        self.now = START
        self._seed, self._names = seed, Counter[str]()
        self.tokens = self.stream("tokens")
        self.hub = getcurrent()
        self.pids = itertools.count(1000)
        self.numbers = itertools.count(10_000)
        self.files: dict[int, Any] = {}
        self.processes: list[Process] = []
        self.tasks: list[Task] = []
        self.ready: list[Task] = []
        self.current: Task | None = None
        self.over = False
        self.turns = 0
        self.findings: dict[str, str] = {}
        self.trace: list[str] | None = [] if traced else None
        self._timers: list[tuple[float, int, Any, int, float]] = []
        self._count = itertools.count()

    def numbered(self, name: str) -> str:
        """Return a name with its number among those of this name."""
        self._names[name] += 1
        return f"{name} {self._names[name]}"

    def stream(self, name: str) -> Random:
        """Return the next stream of random numbers of this name, which depends on it and the seed alone."""
        return Random(f"{self._seed}, {self.numbered(name)}")

    def make_ready(self, task: Task) -> None:
        """Let a thread run, before or behind others that can."""
        ready = self.ready
        if ready:
            ready.insert(int(task.random.random() * (len(ready) + 1)), task)
        else:
            ready.append(task)

    @property
    def this(self) -> Task:
        """The thread that runs."""
        assert self.current is not None, "only a simulated thread waits"
        return self.current

    def say(self, text: str) -> None:
        """Add a line to the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.now - START:9.4f} {text}")

    def find(self, name: str, text: str) -> None:
        """Note that an invariant does not hold."""
        self.say(f"BROKEN {name}: {text}")
        self.findings.setdefault(name, f"at {self.now - START:.4f} s: {text}")

    def note_death(self, thread: str, process: str, error: BaseException) -> None:
        """Note that an exception ended a thread."""
        if not self.over:
            self.find("died", f"thread {thread} of {process}: {last_line(error)}")

    def at(self, moment: float, act: Callable[[], object]) -> None:
        """Do something at a moment."""
        heapq.heappush(self._timers, (moment, next(self._count), act, -1, 0.0))

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something after so many seconds."""
        self.at(self.now + seconds, act)

    def run(self, until: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Let the world go on to a moment, or until `done`; return whether it is."""
        ready = self.ready
        while not done():
            if ready:
                task = ready.pop()
                process = task.process
                if process.dead or task.done:
                    continue
                if process.frozen:
                    process.hold(task)
                    continue
                self.turns += 1
                if self.turns > MOST_TURNS:
                    self.find("livelock", f"{MOST_TURNS} turns")
                    return False
                self.current = task
                task.greenlet.switch()
                self.current = None
            elif self._timers and self._timers[0][0] <= until:
                moment, _, act, token, asleep = heapq.heappop(self._timers)
                if moment > self.now:
                    self.now = moment
                if token < 0:
                    act()
                elif act.parked and act.token == token:
                    slept = act.process.machine.asleep - asleep
                    if slept > 0:
                        self._time_out(act, slept)
                    else:
                        act.parked, act.woken = False, False
                        self.make_ready(act)
            else:
                self.now = max(self.now, until)
                return done()
        return True

    def _time_out(self, task: Task, seconds: float) -> None:
        entry = (self.now + seconds, next(self._count), task, task.token, task.process.machine.asleep)
        heapq.heappush(self._timers, entry)

    def park(self, seconds: float | None) -> bool:
        """Have this thread wait to be woken, at most so long; return whether it was."""
        if self.over:
            raise GreenletExit
        task = self.this
        task.token = token = task.token + 1
        task.parked = True
        if seconds is not None:
            until = self.now + seconds if seconds > 0 else self.now
            heapq.heappush(self._timers, (until, next(self._count), task, token, task.process.machine.asleep))
        self.hub.switch()
        if self.over:
            raise GreenletExit
        return task.woken

    def unpark(self, task: Task) -> None:
        """Wake a thread that waits."""
        if task.parked:
            task.parked, task.woken = False, True
            self.make_ready(task)

    def sleep(self, seconds: float) -> None:
        """Have this thread wait."""
        self.park(seconds)

    def overtake(self) -> None:
        """Let other threads overtake this one, now and then."""
        task = self.current
        if task is not None:
            if task.until_overtaken and not self.over:
                task.until_overtaken -= 1
            elif not self.over:
                task.draw_overtaken()
                self.park(task.random.choice(DELAYS))

    def end(self) -> None:
        """Drop all threads."""
        self.over = True
        for task in self.tasks:
            if not task.done and not task.greenlet.dead and task.greenlet:
                task.greenlet.throw(GreenletExit)
        self.tasks.clear()
