"""An ensemble member: the simulator of the rig's world, driven along a logged episode."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from types import MappingProxyType
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.harm.answers import Answer, answer_of
from core_eval.harm.counterfactual import SAME_MOMENT, Change, same_future
from core_eval.harm.harmful_events import harm_events
from core_eval.harm.replay import MakeSimulator, ReplayError, Terminal, would_answer
from core_eval.harm.twin.logged_episode import LoggedCall, LoggedEpisode
from devices.harm import LEAVE_OUT, NO_EFFECT, HarmEvent
from devices.sensors import Sample, SampleValue, SensorSpec
from devices.tool import Effect
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor
from sims.simulator import Simulator, Snapshot

WAIT = "wait"
"""The tool by which every device type waits."""
NO_OVERRIDES: Mapping[str, Any] = MappingProxyType({})
Key = tuple[str, str, int]
"""Kind and entity of an event, and its place among the events of both."""
OFF_GRID_S = 1.0
"""Recording interval, s, of quantities if the rig's samples are off the simulator's sampling grid."""


@dataclass(slots=True)
class Track:
    """The record of a member's run.

    Attributes:
        events: its harm events; those of the same kind, entity and call are one.
        samples: its coarse telemetry, none lost, with a final reading of every sensor.
        readings: of each periodic sensor, if `deferred`, in place of its samples: tick, index that keys its
            noise, whether it is never lost, quantity; and so on.
        seed: of the noise.
        sensed: for each periodic sensor, the times at which samples arrive, s, and the quantity of each
            without noise.
        durations: the natural duration of each call that acts, s, if `timed`.
        took: how long each call took, s.
        given: what each independent part of the world has got by the end of each call, and of settling.
        specs: the sensors.
        words: the values of each sensor when it is off, and when it is on.
        answers: each call's answer, with the registers.
        end_state, coarse_end: the true and the coarse state after settling.
        terminal: the final readings; None without settling.
    """

    events: tuple[HarmEvent, ...] = ()
    samples: list[Sample] = field(default_factory=list)
    readings: defaultdict[str, array[float]] = field(default_factory=lambda: defaultdict(lambda: array("d")))
    seed: int = 0
    sensed: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    durations: list[float | None] = field(default_factory=list)
    specs: Mapping[str, SensorSpec] = field(default_factory=dict)
    words: Mapping[str, tuple[SampleValue, SampleValue]] = field(default_factory=dict)
    end_state: Mapping[str, Any] = field(default_factory=dict)
    coarse_end: Mapping[str, Any] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    given: list[Mapping[str, float]] = field(default_factory=list)
    terminal: Terminal | None = None

    def copy(self) -> Track:
        """Return a record that goes on by itself."""
        sensed = {name: (list(times), list(values)) for name, (times, values) in self.sensed.items()}
        track = replace(
            self,
            samples=list(self.samples),
            sensed=sensed,
            durations=list(self.durations),
            answers=list(self.answers),
            took=list(self.took),
            given=list(self.given),
        )
        track.readings = self.readings.copy()
        for name, own in self.readings.items():
            track.readings[name] = own[:]
        return track

    def go_on_as(self, other: Track, so_far: Track) -> None:
        """Add what another run recorded after this moment; `so_far` is its record by then."""
        self.samples += other.samples[len(so_far.samples) :]
        for name, own in other.readings.items():
            self.readings[name] += own[len(so_far.readings[name]) :]
        for name, (times, values) in other.sensed.items():
            known = len(so_far.sensed[name][0]) if name in so_far.sensed else 0
            mine = self.sensed.setdefault(name, ([], []))
            mine[0].extend(times[known:])
            mine[1].extend(values[known:])
        self.durations += other.durations[len(so_far.durations) :]
        self.answers += other.answers[len(so_far.answers) :]
        self.took += other.took[len(so_far.took) :]
        self.given += other.given[len(so_far.given) :]
        self.terminal, self.end_state, self.coarse_end = other.terminal, other.end_state, other.coarse_end


@dataclass(frozen=True, slots=True)
class Member:
    """A member that was run along an episode.

    Attributes:
        done: the unanswered calls that it executed.
        log_likelihood: of the telemetry, plus the logarithm of prior over proposal.
        start: overrides of the initial state.
        fault: the kind of its fault; None without one.
    """

    hidden: Mapping[str, float]
    done: frozenset[int]
    seed: int
    track: Track
    log_likelihood: float
    start: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Fork:
    """The moment before a call of a run, or after the last one.

    Attributes:
        call: its index.
        snapshot: the simulator's state.
        so_far: the record by then.
        noted: the harm that the simulator had noted by then.
    """

    call: int
    snapshot: Snapshot
    so_far: Track
    noted: tuple[HarmEvent, ...]


@dataclass(frozen=True, slots=True)
class Seldom:
    """How seldom sensors are read in a run.

    It depends on the logged times alone, never on what the rig does: so sensors that harm does not touch
    show exactly the same without it.

    Attributes:
        most: samples of each sensor in a call of some length.
        waiting: the same in a `wait`, and between calls, of a sensor that is not `quick`.
        least, longest, quick: between these two times apart, s; one that may be `quick` up to the third.
        settling: apart while the world settles at the end, s.
    """

    most: int
    waiting: int
    least: float
    longest: float
    quick: float
    settling: float

    def periods(self, seconds: float, *, waits: bool) -> tuple[float, float]:
        """Return the times apart, s, of any sensor and of one that may be quick; 0: at its own period."""
        if seconds <= self.least * self.waiting:
            return 0.0, 0.0
        often, rarely = (max(self.least, seconds / count) for count in (self.most, self.waiting))
        return min(rarely if waits else often, self.longest), min(often, self.quick)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a call would do.

    Attributes:
        took: how long it takes, s.
        given: what each independent part of the world has got by its end.
        events: all harm events by then, with what they lead to.
    """

    took: float
    given: Mapping[str, float]
    events: Sequence[HarmEvent]


class Driver:
    """Drives one simulator along episodes, with other hidden parameters each time."""

    def __init__(self, make_simulator: MakeSimulator, *, lossy: bool = False, deferred: bool = False) -> None:
        """Make the simulator.

        Args:
            make_simulator: a new simulator of the rig's world.
            lossy: keep the sensors as they are: their samples may be lost, and `sensed` stays empty.
            deferred: note `Track.readings`, where no answer depends on a sensor.
        """
        self._simulator = make_simulator()
        self._simulator.rests = True
        self._made = self._simulator.coarse_sensors
        if not lossy:
            # The sensor bank queries the simulator at each init, and so gets the recording sensors.
            self._simulator.coarse_sensors = self._recording_sensors  # type: ignore[method-assign]
        if deferred and not self._simulator.answers_by_sensors:
            self._simulator.note_reading = self._note_reading
        self._track = self._whole = Track()
        self._noted: tuple[HarmEvent, ...] = ()
        self._periodic: Sequence[CoarseSensor] = ()
        self._record_until = 0.0
        self.seldom: Seldom | None = None
        """How seldom sensors are read; None: each at its own period."""
        self.forks: dict[int, Fork] = {}
        """Of the latest `drive`, by call."""
        self._simulator.subscribe(lambda sample: self._track.samples.append(sample))

    @property
    def simulator(self) -> Simulator[Any]:
        """The simulator, in its state after the latest `drive`."""
        return self._simulator

    def drive(
        self,
        episode: LoggedEpisode,
        hidden: Mapping[str, float],
        seed: int,
        change: Change | None = None,
        *,
        done: Collection[int] = (),
        ask: bool = False,
        timed: bool = False,
        settle: bool = True,
        start: Mapping[str, Any] = NO_OVERRIDES,
        apart: bool = False,
        endless: bool = False,
        forks_from: float = math.inf,
        hopeless: Callable[[int, Track], bool] | None = None,
    ) -> Track:
        """Run the episode's calls: the effects of those that were carried out, and the recorded times.

        Args:
            episode: the log.
            hidden: the member's hidden parameters.
            seed: of the member's own noise.
            change: one call made harmless.
            done: the unanswered calls that were executed, by index.
            ask: query what the member would answer to each rejected call.
            timed: let each call that acts take its natural duration, and record it. What follows
                is late if it takes too long, which only happens in members that fit badly.
            settle: wait for lagging effects at the end.
            start: overrides of the initial state.
            apart: leave out the world's independent parts, which `factors` runs.
            endless: its supply never runs out; what still runs after the record is not followed.
            forks_from: `forks` keeps the run before this call and each later one, for `drive_on`.
            hopeless: whether the run ends after a call, given its index and the record.

        Raises:
            ReplayError: the simulator refuses the parameters.
        """
        off_grid = not on_grid(episode.samples, self._simulator.sensor_specs)
        until = max(sample.t for sample in episode.samples) + OFF_GRID_S if off_grid else 0.0
        self.begin(hidden, seed, start, apart=apart, endless=endless, record_until=until)
        self.forks = {}
        for index, logged in enumerate(episode.calls):
            if index >= forks_from:
                self._keep(index)
            here = change if change is not None and index in change.calls else None
            self.follow(logged, here, lost=index in done, ask=ask, timed=timed)
            if hopeless is not None and hopeless(index, self._track):
                return self._track
        if len(episode.calls) >= forks_from:
            self._keep(len(episode.calls))
        self._whole = self._ended(episode, settle=settle, apart=apart)
        self._noted = self._simulator.events
        return self._whole

    def drive_on(self, episode: LoggedEpisode, fork: Fork, change: Change, *, ask: bool = False) -> Track:
        """Run the latest `drive` again from a call on, as `drive` with this change would.

        Once the state has become that of the latest `drive` again, the rest is taken from its record.
        """
        self._simulator.restore(fork.snapshot)
        self._watch()
        self._track = fork.so_far.copy()
        for index, logged in enumerate(episode.calls[fork.call :], fork.call):
            if index > change.calls[-1] and self._is_as(self.forks[index], episode.end):
                return self._rejoined(self.forks[index])
            self.follow(logged, change if index in change.calls else None, ask=ask)
        last = self.forks[len(episode.calls)]
        return self._rejoined(last) if self._is_as(last, episode.end) else self._ended(episode)

    def _keep(self, call: int) -> None:
        simulator = self._simulator
        self.forks[call] = Fork(call, simulator.snapshot(), self._track.copy(), simulator.events)

    def _is_as(self, fork: Fork, end: float) -> bool:
        """Return whether the run goes on as the latest `drive` did; the record ends at `end`, s.

        The same harm is under way in both, but for what ended in that one, long enough ago for no piece to
        adjoin it, and for no record to end while it counts as in progress.
        """
        simulator = self._simulator
        now, grain = simulator.clock.now - 2.0 * SAME_MOMENT, simulator.grain
        own = simulator.ledger.going_on(now - grain)
        theirs = fork.snapshot.parts["ledger"].going_on(now - grain)
        ended = now - (simulator.longest_piece if end > now + 2.0 * grain else grain)
        if [one for one in theirs if one in own or one[0].t_end >= ended] != own:
            return False
        return same_future(simulator.snapshot(), fork.snapshot)

    def _rejoined(self, fork: Fork) -> Track:
        """Return the record of a run that goes on as the latest `drive`."""
        self._track.go_on_as(self._whole, fork.so_far)
        went_on = dict(zip(fork.noted, self._noted, strict=False))
        own = [went_on.get(event, event) for event in self._simulator.events]
        noted = (*own, *self._noted[len(fork.noted) :])
        self._track.events = merged(harm_events(self._simulator, noted))
        return self._track

    def _ended(self, episode: LoggedEpisode, *, settle: bool = True, apart: bool = False) -> Track:
        self._wait_until(episode.end)
        track, simulator = self._track, self._simulator
        # Without those parts only a hose that still runs matters then, and only with a supply that ends.
        if settle and (not apart or (simulator.goes_on() and not simulator.endless)):
            if self.seldom is not None:
                simulator.sample_period = simulator.quick_period = self.seldom.settling
            simulator.finish()
            track.terminal = Terminal.of(simulator)
            if not apart:
                track.end_state, track.coarse_end = simulator.state_dict(), simulator.coarse_state()
            simulator.run_out()
        track.given.append(simulator.given())
        track.events = merged(harm_events(simulator))
        return track

    def begin(
        self,
        hidden: Mapping[str, float],
        seed: int,
        start: Mapping[str, Any] = NO_OVERRIDES,
        *,
        apart: bool = False,
        endless: bool = False,
        record_until: float = 0.0,
    ) -> Track:
        """Begin an episode, as `drive`, and return its record, which `follow` continues.

        Args:
            hidden, seed, start, apart, endless: as there.
            record_until: device time, s, of the last sample off the simulator's sampling grid; 0: none is.

        Raises:
            ReplayError: the simulator refuses the parameters.
        """
        self._track = track = Track(seed=seed)
        simulator = self._simulator
        simulator.apart, simulator.endless = apart, endless
        answer = simulator.init({**start, "hidden": dict(hidden)} if hidden else start, seed)
        if answer.status != CallStatus.OK:
            raise ReplayError(answer.message or answer.status)
        self._record_until = record_until
        self._periodic = [sensor for sensor in self._made() if sensor.spec.period] if record_until else []
        self._watch()
        track.specs = {name: sensor.spec for name, sensor in simulator.fitted.items()}
        track.words = {name: sensor.words for name, sensor in simulator.fitted.items()}
        return track

    def follow(
        self,
        logged: LoggedCall,
        change: Change | None = None,
        *,
        lost: bool = False,
        ask: bool = False,
        timed: bool = False,
    ) -> None:
        """Make the next call, as `drive`; `lost`: it has no answer, and was executed."""
        self._wait_until(logged.start)
        acts = logged.call.status == CallStatus.OK or self._is_cut_short(logged)
        self._read_seldom(logged.call.duration, waits=logged.call.tool == WAIT)
        note = timed and change is None and acts and self._writes(logged)
        # The log has no duration of an unanswered call.
        self._execute(logged, change, acts=acts or lost, ask=ask, natural=note or lost, note=note)

    def ahead(self, tool: str, arguments: Mapping[str, Any]) -> Ahead:
        """Return what a call would do now; simulator and record are as before."""
        simulator, kept = self._simulator, self._track
        before, self._track = simulator.snapshot(), Track()
        went_on = simulator.goes_on()
        simulator.hurries = not simulator.answers_by_sensors
        try:
            took = simulator.execute(tool, arguments, Event()).duration
            if simulator.goes_on() and not went_on:
                # Such as a valve that sticks.
                simulator.ledger.end_record(simulator.clock.now, simulator.grain)
                simulator.run_out(most=simulator.settling)
            return Ahead(took, simulator.given(), harm_events(simulator))
        finally:
            simulator.hurries = False
            simulator.restore(before, once=True)
            self._watch()
            self._track = kept

    def _wait_until(self, t: float) -> None:
        seconds = t - self._simulator.clock.now
        self._read_seldom(seconds, waits=True)
        self._simulator.pass_time(seconds)

    def _read_seldom(self, seconds: float, *, waits: bool) -> None:
        if self.seldom is not None:
            simulator = self._simulator
            simulator.sample_period, simulator.quick_period = self.seldom.periods(seconds, waits=waits)

    def _is_cut_short(self, logged: LoggedCall) -> bool:
        """Return whether the rig stopped itself in mid-call, or a fault starts the board anew."""
        call = logged.call
        cut = call.partly or self._simulator.resets_within(call.duration)
        return call.status == CallStatus.FAULT and cut

    def _writes(self, logged: LoggedCall) -> bool:
        tool = self._simulator.device_type.by_name.get(logged.call.tool)
        return tool is not None and tool.effect is not Effect.READ

    def _execute(
        self, logged: LoggedCall, change: Change | None, *, acts: bool, ask: bool, natural: bool, note: bool
    ) -> None:
        call, simulator = logged.call, self._simulator
        refusal = None
        if ask and call.status == CallStatus.REJECTED:
            kept, self._track = self._track, Track()
            refusal = would_answer(simulator, call.tool, call.arguments)
            self._track = kept
        remedy = change.remedy if change is not None else None if acts else NO_EFFECT
        outcome = simulator.execute(
            call.tool,
            call.arguments,
            Event(),
            remedy=remedy,
            event=None if change is None else change.event,
            forced=acts,
            duration=None if natural else call.duration,
        )
        self._track.durations.append(outcome.duration if note else None)
        self._track.took.append(outcome.duration)
        self._track.given.append(simulator.given())
        received = refusal is not None or (call.answered and acts and remedy != LEAVE_OUT)
        answer = replace(refusal or outcome, t=simulator.clock.now)
        self._track.answers.append(answer_of(simulator, call.tool, answer, received=received))

    def _note_reading(self, name: str, *reading: float) -> None:
        self._track.readings[name].extend(reading)

    def _recording_sensors(self) -> Sequence[CoarseSensor]:
        """Return the simulator's sensors without dropouts; each reading's quantity is recorded."""
        return [self._recording(sensor) for sensor in self._made()]

    def _recording(self, sensor: CoarseSensor) -> CoarseSensor:
        spec = sensor.spec.model_copy(update={"dropout": 0.0})
        quantity = (
            self._recorded(sensor.name, spec, sensor.quantity) if spec.period is not None else sensor.quantity
        )
        return replace(sensor, spec=spec, quantity=quantity)

    def _recorded(self, name: str, spec: SensorSpec, quantity: Callable[[], float]) -> Callable[[], float]:
        def read() -> float:
            value = float(quantity())
            self._record(name, spec, value)
            return value

        return read

    def _record(self, name: str, spec: SensorSpec, value: float) -> None:
        now = self._simulator.clock.now
        times, values = self._track.sensed.setdefault(name, ([], []))
        times.append(now + spec.delay)
        values.append(value + spec.bias + spec.drift * now / 3600.0)

    def _watch(self) -> None:
        """Look at all quantities at each interval up to the last logged sample: each look costs a step."""
        goes_on = self._simulator.clock.now < self._record_until
        self._simulator.watch(OFF_GRID_S, self._record_all if goes_on else None)

    def _record_all(self, _t: float) -> None:
        for sensor in self._periodic:
            self._record(sensor.name, sensor.spec, float(sensor.quantity()))
        self._watch()


def on_grid(samples: Sequence[Sample], specs: Mapping[str, SensorSpec]) -> bool:
    """Return whether every periodic sample lies on the sampling grid of the simulator's sensor."""
    for sample in samples:
        spec = specs.get(sample.sensor)
        if spec is None or spec.period is None or sample.t <= 0.0:
            continue
        ticks = Clock.to_ticks(sample.t - spec.delay)
        if ticks % max(1, Clock.to_ticks(spec.period)):
            return False
    return True


def merged(events: Sequence[HarmEvent]) -> tuple[HarmEvent, ...]:
    """Merge events of the same kind, entity and call, from the first's start to the last's end."""
    by_key: dict[tuple[str, str, int], HarmEvent] = {}
    for event in events:
        key = event.kind, event.entity, event.call
        known = by_key.get(key)
        if known is not None:
            both = known.extended(event.t_end, event.severity, event.exposure)
            event = replace(both, t_record=event.t_record, trend=event.trend)
        by_key[key] = event
    return tuple(by_key.values())


def placed(events: Sequence[HarmEvent]) -> dict[Key, HarmEvent]:
    """Return events by kind, entity, and place among those of both, from 0, by start."""
    counts: dict[tuple[str, str], int] = {}
    found = {}
    for event in sorted(events, key=lambda one: one.t_start):
        place = counts[event.kind, event.entity] = counts.get((event.kind, event.entity), -1) + 1
        found[event.kind, event.entity, place] = event
    return found
