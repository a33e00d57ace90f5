"""A tank whose level is a function of time alone, as the smallest simulator with sensors and faults."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

from pydantic import BaseModel, ConfigDict

from devices.device_type import DeviceType
from devices.faults import Faults
from devices.outcome import Outcome
from devices.sensors import Sample, SensorSpec
from devices.tool import Effect, Tool, ToolArguments, ToolResult
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor
from sims.simulator import CallOptions, Simulator


class Wait(ToolArguments):
    seconds: float
    tick: float | None = None


class Waited(ToolResult):
    level: float


class TankWorld(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    sensors: Mapping[str, SensorSpec] = {}
    faults: Faults = Faults()
    locked: bool = False


TANK = DeviceType("tank", "A tank.", (Tool("wait", "Wait.", Wait, Waited, Effect.WRITE),))


def level_at(ticks: int) -> float:
    """Between 0 and 1, over and over in 20 s, in steps of a millisecond."""
    return 0.5 - 0.5 * math.cos(2 * math.pi * ticks / 20_000)


class TankSimulator(Simulator[TankWorld]):
    """Counts the ticks in which each fault of the rig held, and the calls that came to their end."""

    name = "tank"
    firmware = "tank 1"
    device_type = TANK
    harm_rules = ()
    kept = ("locked", "clogged", "ended", "steps")

    def begin(self) -> None:
        self.locked = self.world.locked
        self.clogged: list[int] = []
        self.ended = 0
        self.steps = 0

    def evolve(self, seconds: float) -> None:
        self.steps += 1
        ticks = Clock.to_ticks(seconds)
        if self.faults.strength("clogged_nozzle"):
            self.clogged.extend(range(self.clock.ticks, self.clock.ticks + ticks))

    def make_safe(self) -> None:
        self.locked = True

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        return [CoarseSensor(name, spec, self.level) for name, spec in self.world.sensors.items()]

    def level(self) -> float:
        return level_at(self.clock.ticks)

    def state_dict(self) -> dict[str, Any]:
        return {"locked": self.locked, "clogged": len(self.clogged)}

    def coarse_state(self) -> dict[str, Any]:
        return dict(self.sensor_values)

    def do_wait(self, arguments: Wait, call: CallOptions) -> Waited:
        self.pass_time(arguments.seconds, arguments.tick)
        self.ended += 1
        return Waited(level=self.level())


def tank(
    sensors: Mapping[str, Any] | None = None, faults: Mapping[str, Any] | None = None, seed: int = 0
) -> tuple[TankSimulator, list[Sample]]:
    """A tank at its initial state, and the list that its samples go to."""
    simulator = TankSimulator(TankWorld())
    samples: list[Sample] = []
    simulator.subscribe(samples.append)
    answer = simulator.init({"sensors": sensors or {}, "faults": faults or {}}, seed)
    assert answer.status == "ok", answer.message
    return simulator, samples


def wait(simulator: TankSimulator, seconds: float, tick: float | None = None, **options: Any) -> Outcome:
    """One call."""
    return simulator.execute("wait", {"seconds": seconds, "tick": tick}, Event(), **options)
