"""The machine at the far end: what it executed, when it moved, and the program in its board."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from devices.outcome import Outcome, StopOutcome
from devices.sensors import Emit, Sample, Truth
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError, Port
from firmware_bridge.messages import DeviceMessage, Status
from simulated_bridge.scheduler import Machine, Process, World
from simulated_bridge.system import Event

NO_WATCHDOG = 10_000_000
"""Milliseconds of a board that has none."""
HEARD = 0.2
"""Seconds in which a device has heard what it was told."""


@dataclass
class Execution:
    """One call that the machine began; `ended` is its outcome, None where the board died in it."""

    marker: float
    boot: int
    ended: str | None = None
    struck: bool = False
    """Whether its rig process stopped it, as the host was silent."""


class Plant:
    """A machine that moves, and coasts `coast` seconds to its rest.

    A call that is stopped ends `unwinds` seconds later. If it `confirms`, the device knows when it stands.

    Attributes:
        seconds: how long each call takes, by its marker.
        confirmed: whether the last word about it was that it stands.
        logged: markers of the calls whose intent the log has.
        over: of those that the log has as rejected, or as past their time-out.
    """

    def __init__(
        self, world: World, seconds: Mapping[float, float], coast: float, unwinds: float, *, confirms: bool
    ) -> None:
        self.world, self.seconds, self.coast, self.unwinds = world, seconds, coast, unwinds
        self.confirms = confirms
        self.moving = False
        self.confirmed = False
        self.logged: set[float] = set()
        self.over: set[float] = set()
        self.executions: list[Execution] = []
        self._turn = 0

    def begin(self, marker: float, boot: int) -> Execution:
        """Begin a call, and move."""
        world = self.world
        if any(one.marker == marker for one in self.executions):
            world.find("twice", f"call {marker:g} was executed again")
        if marker not in self.logged:
            world.find("unlogged", f"call {marker:g} was executed, and its intent is not in the log")
        if marker in self.over:
            world.find("late", f"call {marker:g} begins, and is logged as rejected or past its time-out")
        if self.confirmed:
            world.find("moved", f"call {marker:g} moves after a confirmed stop")
        world.say(f"machine: call {marker:g} moves")
        done = Execution(marker, boot)
        self.executions.append(done)
        self.moving = True
        self._turn += 1
        return done

    @property
    def at_work(self) -> Execution | None:
        """The last call that began; None if none has."""
        return self.executions[-1] if self.executions else None

    def strike(self) -> None:
        """Note that the rig process stops it for a host that is silent."""
        if self.executions and self.executions[-1].ended is None:
            self.executions[-1].struck = True

    def brake(self) -> None:
        """Come to rest in `coast` seconds."""
        if self.moving:
            turn = self._turn
            self.world.after(self.coast, lambda: self.rest() if turn == self._turn else None)

    def rest(self) -> None:
        """Stand."""
        if self.moving:
            self.moving = False
            self._turn += 1
            self.world.say("machine: stands")


class Rover:
    """The program in the board, behind the kit's endpoint."""

    name, firmware = "farm_rover", "simulated 1"

    def __init__(self, plant: Plant, boot: int) -> None:
        self._plant, self._boot = plant, boot
        self._born = plant.world.now
        self._emit: Emit = lambda sample: None
        self.unwinding = False

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        plant, began = self._plant, self._plant.world.now
        if stop.is_set():
            return Outcome("fault", code="stopped", message="stopped", t=began - self._born)
        done = plant.begin(arguments["x"], self._boot)
        stopped = stop.wait(plant.seconds[done.marker])
        now = plant.world.now
        times = {"t": now - self._born, "duration": now - began}
        if stopped:
            plant.brake()
            done.ended = "stopped"
            self.unwinding = True
            plant.world.sleep(plant.unwinds)
            self.unwinding = False
            return Outcome("fault", code="stopped", message="stopped", **times)
        plant.rest()
        done.ended = "ok"
        self._emit(Sample("odometer", done.marker, times["t"]))
        return Outcome("ok", {"x": done.marker, "y": 1.0}, **times)

    def safe(self) -> StopOutcome:
        plant = self._plant
        plant.brake()
        if not plant.confirms:
            return StopOutcome.SENT
        while plant.moving:
            plant.world.sleep(0.01)
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        return

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        return Outcome("invalid", code="physical", message="hardware")

    def subscribe(self, emit: Emit) -> None:
        self._emit = emit

    def truth(self) -> Truth | None:
        return None


class Unwatched(DeviceEndpoint):
    """The endpoint of a board without a watchdog."""

    def _status(self, state: str) -> Status:
        return super()._status(state).model_copy(update={"watchdog_ms": None})


class Board:
    """The board: it can be reset, and stand still."""

    def __init__(self, world: World, plant: Plant, port: Callable[[], Port], watchdog: float) -> None:
        self.world, self.plant = world, plant
        self._port, self._watchdog = port, watchdog
        self._machine = Machine()
        self.boots = 0
        self.thawed, self.slow, self.words = 0.0, 0.0, 0
        self.process: Process
        self.endpoint: DeviceEndpoint
        self.start()

    def start(self) -> None:
        """Boot."""
        self.boots += 1
        boot = self.boots
        self.process = process = Process(self.world, self._machine, f"board, boot {boot}", "board")

        def run() -> None:
            rover = Rover(self.plant, boot)
            watchdog = int(self._watchdog * 1000) or NO_WATCHDOG
            try:
                port = self._port()
                self._watch(port, rover)
                kind = DeviceEndpoint if self._watchdog else Unwatched
                self.endpoint = endpoint = kind(rover, port, watchdog_ms=watchdog)
                endpoint.start()
            except LinkError:
                # Its supervisor starts it again.
                self.reset(1.0)
            Event().wait()

        process.spawn(run, "main")

    def _watch(self, port: Port, rover: Rover) -> None:
        send, world = port.send, self.world

        def watched(message: DeviceMessage, payload: bytes) -> None:
            if message.op == "status" and message.state == "online" and rover.unwinding:
                world.find("online too early", "the device says online, and a stopped call has not ended")
            send(message, payload)

        port.send = watched  # type: ignore[method-assign]

    def stall(self) -> Callable[[], None]:
        """Stand still; return what lets it go on."""
        thaw = self.process.freeze(stopped=False)

        def go_on() -> None:
            thaw()
            self.thawed = self.world.now

        return go_on

    def on_word(self, stop: bool) -> None:
        """Require that a stop which has arrived holds, unless a reset follows it."""
        self.words += 1
        word, process, world = self.words, self.process, self.world

        def check() -> None:
            if self.words != word or process.dead:
                return
            if process.frozen or world.now - self.thawed < heard:
                world.after(heard, check)
            elif self.endpoint.state != "estop":
                world.find("stop undone", "the device is not stopped, and was told so last")

        heard = HEARD + self.slow
        if stop:
            world.after(heard, check)

    def reset(self, seconds: float) -> None:
        """Lose power for so long; the machine brakes."""
        process = self.process
        self.plant.brake()
        self.world.after(seconds, lambda: self.start() if self.process is process else None)
        process.end(1)
