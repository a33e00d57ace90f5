"""The coarse sensors of a simulated rig, as their `SensorSpec`s define them, on virtual time, by seed.

A reading depends on the seed, the true quantity and device time, never on the steps of the physics. A
periodic sensor is read at the multiples of its period. A sensor that reports changes is polled at moments
that a tool's work sets, not at other ends of steps.

Chance (noise and loss) is keyed by the sample's index where the sensor is periodic, and by the whole second
of device time where it reports changes. So an episode and its counterfactual, in which there may be more or
fewer changes, have the same noise and lose the same samples.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, count
from operator import attrgetter, itemgetter
from typing import Any

from core_eval.text.streams import keyed_noise, keyed_uniform
from devices.sensors import Sample, SampleValue, SensorSpec
from sims.clock import NEVER, TICKS_PER_SECOND, Clock

DECIMALS = 9
"""Decimals of quantised numbers, so that 3 * 0.1 reads 0.3."""
MOST_NOISE = 9.5
"""No noise is greater than this many standard deviations (`core_eval.text.streams.keyed_noise`)."""
ROUNDING = 1e-9
"""Margin of a quantity to a sensor's threshold, beyond the noise."""

KEPT_DRAWS = 16384
"""Numbers that are kept for the counterfactuals of an episode, which have the same noise and losses."""

Note = Callable[[str, int, int, bool, float], None]
"""Takes a reading to be made later: sensor, tick, index that keys its noise, whether it is sure, quantity.

A sure one is never lost. The quantity of a sensor that is stuck is not a number.
"""

_time, _arrival = attrgetter("t"), itemgetter(0)
_noise = lru_cache(maxsize=KEPT_DRAWS)(keyed_noise)


@dataclass(slots=True)
class CoarseSensor:
    """One sensor of a rig.

    Attributes:
        name: as in a sample; a dot separates kind and entity (`moisture.plant_A`).
        spec: its specification.
        quantity: returns the true quantity, as a number or a truth value.
        words: the values that it reports when off and when on (threshold and switch sensors).
        after: called after each reading, for a quantity that is a peak since the last one.
        range_over: returns between which values its quantity stays in a rest of a length, s; None: it stays.
        quick: whether its quantity may change fast now although the rig does nothing; None: never.
        ahead: returns its quantity at a device time to come, s, if the rig does nothing until then.
        on, count, current: whether it is on, the index of its next periodic sample, and its last reading.
        last: the last value that reached the rig.
        sensed: the quantity at its last reading; None if unknown.
        dropout: the share of its samples that are lost.
        stride: of so many samples one is taken.
        deferred: its readings are not made but noted, for `read_later`.
        steady: the same quantity always gives the same reading, and a reading has no other effect.
    """

    name: str
    spec: SensorSpec
    quantity: Callable[[], float]
    words: tuple[SampleValue, SampleValue] = (False, True)
    after: Callable[[], None] | None = None
    range_over: Callable[[float], tuple[float, float]] | None = None
    quick: Callable[[], bool] | None = None
    ahead: Callable[[float], float] | None = None
    on: bool = False
    count: int = 0
    current: SampleValue | None = None
    last: SampleValue | None = None
    period_ticks: int = 0
    delay_ticks: int = 0
    stride: int = 1
    next_due: int = field(default=0)
    sensed: float | None = None
    deferred: bool = False
    dropout: float = field(init=False)
    steady: bool = field(init=False)

    def __post_init__(self) -> None:
        self.dropout = self.spec.dropout
        self.steady = self.after is None and not (self.spec.drift or self.spec.noise)

    def constant_over(self, seconds: float) -> bool:
        """Return whether its readings stay throughout a rest of this length, s, whatever the noise."""
        spec = self.spec
        now = float(self.quantity())
        low, high = (now, now) if self.range_over is None else self.range_over(seconds)
        if low == high and self.steady:
            return True
        if self.after is not None or spec.drift or spec.kind not in ("threshold", "switch"):
            return False
        level = (0.5 if spec.threshold is None else spec.threshold) - spec.bias
        if self.deferred:
            # Whether it is on is not known.
            margin = MOST_NOISE * spec.noise + ROUNDING
            return low - margin >= level or high + margin < level - spec.hysteresis
        if self.on:
            return low - MOST_NOISE * spec.noise >= level - spec.hysteresis + ROUNDING
        return high + MOST_NOISE * spec.noise < level - ROUNDING

    def reading(self, seed: int, tick: int, quantity: float | None = None) -> SampleValue:
        """Return the reading, of the quantity now by default; a threshold sensor keeps whether it is on."""
        spec = self.spec
        self.sensed = float(self.quantity() if quantity is None else quantity)
        quantity, kind, noise = self.sensed + spec.bias, spec.kind, spec.noise
        if spec.drift:
            quantity += spec.drift * Clock.to_seconds(tick) / 3600.0
        if noise and not (kind == "threshold" and self._beyond_noise(quantity)):
            key = self.count if self.period_ticks else tick // TICKS_PER_SECOND
            quantity += noise * _noise(seed, self.name, key)
        if (low := spec.low) is not None and quantity < low:
            quantity = low
        if (high := spec.high) is not None and quantity > high:
            quantity = high
        if kind == "quantised":
            step = spec.resolution
            return round(round(quantity / step) * step, DECIMALS) if step else quantity
        if kind == "continuous":
            return quantity
        level = 0.5 if spec.threshold is None else spec.threshold
        self.on = quantity >= (level - spec.hysteresis if self.on else level)
        return self.words[self.on]

    def _beyond_noise(self, quantity: float) -> bool:
        """Return whether no noise takes this quantity over the threshold."""
        spec = self.spec
        if spec.threshold is None:
            return False
        level = spec.threshold - spec.hysteresis if self.on else spec.threshold
        return abs(quantity - level) > MOST_NOISE * spec.noise + ROUNDING


def read_later(
    name: str, spec: SensorSpec, seed: int, noted: Iterable[tuple[int, int, bool, float]]
) -> tuple[list[float], list[SampleValue]]:
    """Return the times, s, and values of a sensor's samples, from what was noted of it."""
    sensor = CoarseSensor(name, spec, float, period_ticks=1)
    delay, dropout = Clock.to_ticks(spec.delay), spec.dropout
    times, values = [], []
    for tick, index, sure, quantity in noted:
        if not math.isnan(quantity):
            sensor.count = index
            sensor.current = sensor.reading(seed, tick, quantity)
        if sure or not (dropout and _is_lost(seed, name, index, dropout)):
            # The first reading arrives at once.
            times.append((tick and tick + delay) / TICKS_PER_SECOND)
            assert sensor.current is not None, "the first reading of a sensor is never that of a stuck one"
            values.append(sensor.current)
    return times, values


def _repeated(
    seed: int, sensor: str, value: SampleValue, ticks: range, index: int, stride: int, dropout: float
) -> tuple[Sample, ...]:
    """Return the samples of a constant reading, less those lost, from the sample of this index on."""
    return tuple(
        Sample(sensor, value, Clock.to_seconds(tick))
        for k, tick in zip(count(index, stride), ticks, strict=False)
        if not (dropout and _is_lost(seed, sensor, k, dropout))
    )


@lru_cache(maxsize=KEPT_DRAWS)
def _is_lost(seed: int, sensor: str, key: int, dropout: float) -> bool:
    return keyed_uniform(seed, sensor, key, "lost") < dropout


class SensorBank:
    """All coarse sensors of a rig. Samples go to `emit` in the order in which they reach it.

    Args:
        sensors: in the order in which samples of one moment are reported.
        seed: of noise and loss.
        emit: takes each sample that is not lost.
        stuck: returns whether the sensor of this name keeps its last reading now; None: none ever does.
        note: takes each reading of a periodic sensor, of which no sample is made then.
    """

    def __init__(
        self,
        sensors: Iterable[CoarseSensor],
        seed: int,
        emit: Callable[[Sample], None],
        stuck: Callable[[str], bool] | None = None,
        note: Note | None = None,
    ) -> None:
        self._sensors = tuple(sensors)
        self._seed = seed
        # An episode and its counterfactuals get the same objects, so they are quickly compared.
        self._repeated = lru_cache(maxsize=4096)(partial(_repeated, seed))
        self._emit = emit
        self._stuck = stuck
        self._note = note
        self._late: list[tuple[int, int, SampleValue]] = []
        for sensor in self._sensors:
            if sensor.spec.period is not None:
                sensor.period_ticks = Clock.to_ticks(sensor.spec.period)
            sensor.delay_ticks = Clock.to_ticks(sensor.spec.delay)
            sensor.deferred = sensor.period_ticks > 0 and note is not None
        self._periodic = tuple((i, sensor) for i, sensor in enumerate(self._sensors) if sensor.period_ticks)
        self._on_change = tuple(
            (i, sensor) for i, sensor in enumerate(self._sensors) if not sensor.period_ticks
        )
        self._due = NEVER
        self._constant: tuple[CoarseSensor, ...] = ()
        self._stepped = self._periodic
        self.specs: Mapping[str, SensorSpec] = {sensor.name: sensor.spec for sensor in self._sensors}

    @property
    def state(self) -> tuple[Any, ...]:
        """The sensors' state since they were made, and the samples on their way."""
        sensors = tuple((s.on, s.count, s.current, s.last, s.next_due) for s in self._sensors)
        return sensors, tuple(self._late)

    @state.setter
    def state(self, state: tuple[Any, ...]) -> None:
        sensors, late = state
        self._late = list(late)
        for sensor, values in zip(self._sensors, sensors, strict=True):
            sensor.on, sensor.count, sensor.current, sensor.last, sensor.next_due = values
            sensor.sensed = None
        self._plan()

    @property
    def next_due(self) -> int | None:
        """The tick of the next periodic sample; None without periodic sensors."""
        return self._due if self._stepped else None

    @property
    def last_values(self) -> dict[str, SampleValue | None]:
        """The last value that each sensor reported."""
        return {sensor.name: sensor.last for sensor in self._sensors}

    def rest(self, seconds: float) -> None:
        """Begin a rest of the rig of this length, s, in which no quantity leaves its `range_over`.

        Samples that must be constant in it are not due any more, but come with the next poll.
        """
        if self._stuck is None and not any(sensor.delay_ticks for sensor in self._sensors):
            self._set_constant([one for one in self._periodic if one[1].constant_over(seconds)])

    def end_rest(self) -> None:
        """End the rest, after the poll at its end."""
        self._set_constant([])

    def thin(self, least: int, quick: int, *, ahead: bool) -> None:
        """From now on take each sensor's samples at least so many ticks apart; `quick`: those that may be so.

        They are some of those that it has otherwise, with the same noise, at common times of several sensors,
        whatever the rig does; `fill` ends it. With `ahead`, those without a delay of which the quantity is
        known ahead are not due any more while they are quick, but come with the next poll.
        """
        known = []
        for one in self._periodic:
            sensor = one[1]
            sensor.stride = max(1, (quick if sensor.quick is not None else least) // sensor.period_ticks)
            skipped = -(sensor.next_due // sensor.period_ticks) % sensor.stride
            sensor.next_due += skipped * sensor.period_ticks
            sensor.count += skipped
            at_once = sensor.deferred or not sensor.delay_ticks
            if ahead and at_once and self._stuck is None and sensor.ahead and sensor.quick and sensor.quick():
                known.append(one)
        self._set_constant(known)

    def fill(self, tick: int) -> None:
        """Take every sample after this tick, up to which all are taken."""
        self._catch_up(tick + 1)
        self._set_constant([])
        for _, sensor in self._periodic:
            if sensor.stride > 1:
                sensor.stride = 1
                first = (tick // sensor.period_ticks + 1) * sensor.period_ticks
                ahead = (sensor.next_due - first) // sensor.period_ticks
                sensor.next_due -= ahead * sensor.period_ticks
                sensor.count -= ahead
        self._plan()

    def _set_constant(self, sensors: Sequence[tuple[int, CoarseSensor]]) -> None:
        indices = {i for i, _ in sensors}
        self._constant = tuple(sensor for _, sensor in sensors)
        self._stepped = tuple(one for one in self._periodic if one[0] not in indices)
        self._plan()

    def begin(self, tick: int) -> None:
        """Take a first reading of every sensor, at once and without loss: the rig has been on before."""
        for i, sensor in enumerate(self._sensors):
            if sensor.deferred:
                self._defer(sensor, tick, sensor.quantity(), sure=True)
            else:
                self._take(i, self._read(sensor, tick), tick)
            self._next(sensor, tick)
        self._plan()
        self._deliver(tick)

    def end(self, tick: int) -> None:
        """Take a last reading of every sensor, without loss, and deliver all samples on their way."""
        for i, sensor in enumerate(self._sensors):
            if sensor.deferred:
                self._defer(sensor, tick, sure=True)
            else:
                self._take(i, self._read(sensor, tick), tick + sensor.delay_ticks)
            self._next(sensor, tick)
        self._plan()
        self._deliver(None)

    def poll(self, tick: int, look: bool = True) -> None:
        """Report the periodic samples due at this tick and, if `look`, changes of the other sensors."""
        due = self._due <= tick
        if self._constant:
            self._catch_up(tick if due else tick + 1)
        if due:
            soonest = NEVER
            for i, sensor in self._periodic:
                next_due = sensor.next_due
                if next_due <= tick:
                    if sensor.deferred:
                        self._defer(sensor, tick)
                    else:
                        value = self._read(sensor, tick)
                        if sensor.dropout and self._loses(sensor, sensor.count):
                            sensor.current = value
                        else:
                            self._take(i, value, tick + sensor.delay_ticks)
                    next_due = sensor.next_due = next_due + sensor.period_ticks * sensor.stride
                    sensor.count += sensor.stride
                if next_due < soonest:
                    soonest = next_due
            self._due = soonest
            if self._constant:
                self._plan()
        if look:
            skips = self._stuck is None
            for i, sensor in self._on_change:
                if skips and sensor.steady and sensor.quantity() == sensor.sensed:
                    continue
                value = self._read(sensor, tick)
                if value != sensor.current:
                    if self._loses(sensor, tick // TICKS_PER_SECOND):
                        sensor.current = value
                    else:
                        self._take(i, value, tick + sensor.delay_ticks)
        if self._late and self._late[0][0] <= tick:
            self._deliver(tick)

    def only_tells(self, name: str, changing: Collection[str]) -> bool:
        """Return whether no sensor but this exact one tells anything while only `changing` ones change."""
        quiet = self._stuck is None and not (self._late or self._stepped or self._constant)
        return quiet and all(
            sensor.name == name
            or (sensor.name not in changing and sensor.steady and sensor.quantity() == sensor.sensed)
            for _, sensor in self._on_change
        )

    def tell(self, name: str, quantities: Sequence[tuple[int, float]]) -> None:
        """Report the changes of an exact sensor, as polls at these ticks do where it `only_tells`."""
        index, sensor = next(one for one in self._on_change if one[1].name == name)
        for tick, quantity in quantities:
            sensor.sensed = quantity
            if quantity != sensor.current:
                self._take(index, quantity, tick)
        self._deliver(quantities[-1][0])

    @staticmethod
    def _next(sensor: CoarseSensor, tick: int) -> None:
        if sensor.period_ticks:
            sensor.count += 1
            sensor.next_due = (tick // sensor.period_ticks + 1) * sensor.period_ticks

    def _plan(self) -> None:
        self._due = min((sensor.next_due for _, sensor in self._stepped), default=NEVER)

    def _catch_up(self, tick: int) -> None:
        """Emit the samples before this tick that are constant or known ahead, and those late until then."""
        found: list[Sequence[Sample]] = []
        for sensor in self._constant:
            step = sensor.period_ticks * sensor.stride
            ticks = range(sensor.next_due, tick, step)
            if ticks and sensor.deferred:
                for tick_due in ticks:
                    ahead = None if sensor.ahead is None else sensor.ahead(Clock.to_seconds(tick_due))
                    self._defer(sensor, tick_due, ahead)
                    sensor.count += sensor.stride
                sensor.next_due = ticks[-1] + step
            elif ticks and sensor.ahead is not None:
                found.append(self._foreseen(sensor, ticks))
            elif ticks:
                value = sensor.current = self._read(sensor, ticks[0])
                samples = self._repeated(
                    sensor.name, value, ticks, sensor.count, sensor.stride, sensor.dropout
                )
                sensor.count += len(ticks) * sensor.stride
                sensor.next_due = ticks[-1] + step
                if samples:
                    sensor.last = value
                    found.append(samples)
        if found and self._late:
            late = []
            while self._late and self._late[0][0] < tick:
                arrival, index, value = self._late.pop(0)
                self._sensors[index].last = value
                late.append(Sample(self._sensors[index].name, value, Clock.to_seconds(arrival)))
            found.append(late)
        # Sorting merges what is in order quickly; samples of one moment stay in the order of the sensors.
        for sample in sorted(chain(*found), key=_time) if len(found) > 1 else chain(*found):
            self._emit(sample)

    def _foreseen(self, sensor: CoarseSensor, ticks: range) -> list[Sample]:
        """Take the samples of these ticks of a sensor whose quantity is known ahead."""
        assert sensor.ahead is not None
        samples = []
        for tick in ticks:
            t = Clock.to_seconds(tick)
            sensor.current = sensor.reading(self._seed, tick, sensor.ahead(t))
            if not self._loses(sensor, sensor.count):
                sensor.last = sensor.current
                samples.append(Sample(sensor.name, sensor.current, t))
            sensor.count += sensor.stride
        sensor.next_due = ticks[-1] + ticks.step
        return samples

    def _defer(
        self, sensor: CoarseSensor, tick: int, quantity: float | None = None, sure: bool = False
    ) -> None:
        assert self._note is not None
        if quantity is None:
            stuck = self._stuck is not None and self._stuck(sensor.name)
            quantity = math.nan if stuck else sensor.quantity()
        self._note(sensor.name, tick, sensor.count, sure, quantity)
        if sensor.after is not None:
            sensor.after()

    def _read(self, sensor: CoarseSensor, tick: int) -> SampleValue:
        if self._stuck is not None and sensor.current is not None and self._stuck(sensor.name):
            value = sensor.current
        else:
            value = sensor.reading(self._seed, tick)
        if sensor.after is not None:
            sensor.after()
        return value

    def _loses(self, sensor: CoarseSensor, key: int) -> bool:
        return bool(sensor.dropout) and _is_lost(self._seed, sensor.name, key, sensor.dropout)

    def _take(self, index: int, value: SampleValue, arrival: int) -> None:
        late = self._late
        self._sensors[index].current = value
        # Samples of equal arrival stay in the order in which they were taken.
        if not late or late[-1][0] <= arrival:
            late.append((arrival, index, value))
        else:
            insort(late, (arrival, index, value), key=_arrival)

    def _deliver(self, tick: int | None) -> None:
        """Deliver the samples that have arrived by this tick, or all."""
        arrived = len(self._late) if tick is None else bisect_right(self._late, tick, key=_arrival)
        taken = self._late[:arrived]
        del self._late[:arrived]
        for arrival, index, value in taken:
            sensor = self._sensors[index]
            sensor.last = value
            self._emit(Sample(sensor.name, value, arrival / TICKS_PER_SECOND))
