"""The coarse sensors of a simulated rig: rate, threshold, hysteresis, resolution and seeded noise."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devices.sensors import Sample, SampleValue, SensorSpec
from sims.clock import Clock


def keyed_noise(seed: int, sensor: str, index: int) -> float:
    """A standard normal number that depends on nothing but seed, sensor and index of the sample.

    A counterfactual that takes other branches therefore sees the same noise. Box-Muller over BLAKE2b.
    """
    digest = hashlib.blake2b(f"{seed}/{sensor}/{index}".encode(), digest_size=16).digest()
    u = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    v = int.from_bytes(digest[8:], "big") / 2**64
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


@dataclass(slots=True)
class CoarseSensor:
    """One sensor of a rig.

    Attributes:
        name: as in a sample; a dot parts kind and entity (`moisture.plant_A`).
        spec: how it works.
        quantity: the true quantity now, as a number or a truth value.
        words: the values that it reports when off and when on (threshold and switch sensors).
    """

    name: str
    spec: SensorSpec
    quantity: Callable[[], float]
    words: tuple[SampleValue, SampleValue] = (False, True)
    on: bool = False
    count: int = 0
    last: SampleValue | None = None
    period_ticks: int = 0
    next_due: int = field(default=0)

    def reading(self, seed: int) -> SampleValue:
        """What the sensor would report now; a threshold sensor keeps whether it is on, for its hysteresis."""
        spec = self.spec
        quantity = float(self.quantity())
        if spec.noise:
            quantity += spec.noise * keyed_noise(seed, self.name, self.count)
        if spec.kind == "quantised":
            return (
                round(round(quantity / spec.resolution) * spec.resolution, 9) if spec.resolution else quantity
            )
        level = 0.5 if spec.threshold is None else spec.threshold
        self.on = quantity >= (level - spec.hysteresis if self.on else level)
        return self.words[self.on]


class SensorBank:
    """All coarse sensors of a rig. Samples go to `emit`, each with the device time at which it was taken."""

    def __init__(self, sensors: Iterable[CoarseSensor], seed: int, emit: Callable[[Sample], None]) -> None:
        self._sensors = tuple(sensors)
        self._seed = seed
        self._emit = emit
        for sensor in self._sensors:
            if sensor.spec.period is not None:
                sensor.period_ticks = Clock.to_ticks(sensor.spec.period)
        self._periodic = tuple(sensor for sensor in self._sensors if sensor.period_ticks)
        self._on_change = tuple(sensor for sensor in self._sensors if not sensor.period_ticks)
        self.specs: Mapping[str, SensorSpec] = {sensor.name: sensor.spec for sensor in self._sensors}

    @property
    def state(self) -> tuple[Any, ...]:
        """What has changed in the sensors since they were made."""
        return tuple((sensor.on, sensor.count, sensor.last, sensor.next_due) for sensor in self._sensors)

    @state.setter
    def state(self, state: tuple[Any, ...]) -> None:
        for sensor, (on, count, last, due) in zip(self._sensors, state, strict=True):
            sensor.on, sensor.count, sensor.last, sensor.next_due = on, count, last, due

    @property
    def next_due(self) -> int | None:
        """The tick of the next periodic sample; None where no sensor is periodic."""
        return min((sensor.next_due for sensor in self._periodic), default=None)

    @property
    def last_values(self) -> dict[str, SampleValue | None]:
        """The last value that each sensor reported."""
        return {sensor.name: sensor.last for sensor in self._sensors}

    def _take(self, sensor: CoarseSensor, value: SampleValue, tick: int) -> None:
        sensor.last = value
        sensor.count += 1
        self._emit(Sample(sensor.name, value, Clock.to_seconds(tick)))

    def read_all(self, tick: int) -> None:
        """A reading of every sensor: the first of an episode, and the last."""
        for sensor in self._sensors:
            self._take(sensor, sensor.reading(self._seed), tick)
            if sensor.period_ticks:
                sensor.next_due = (tick // sensor.period_ticks + 1) * sensor.period_ticks

    def poll(self, tick: int) -> None:
        """The periodic samples that are due at this tick, and the changes of the other sensors."""
        for sensor in self._periodic:
            if sensor.next_due <= tick:
                self._take(sensor, sensor.reading(self._seed), tick)
                sensor.next_due += sensor.period_ticks
        for sensor in self._on_change:
            value = sensor.reading(self._seed)
            if value != sensor.last:
                self._take(sensor, value, tick)
