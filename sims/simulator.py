"""The base of every simulator: a device on a virtual clock, with coarse sensors, harm events and truth."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, RLock
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from core_eval.call_status import CallStatus
from devices.device_type import DeviceType
from devices.faults import Faults
from devices.harm import LEAVE_OUT, NO_EFFECT, HarmEvent, HarmRule
from devices.interlocks import Interlocks, check_interlocks
from devices.outcome import Outcome, Refusal, StopOutcome
from devices.sensors import Emit, Sample, SampleValue, SensorSpec, Truth
from devices.tool import ArgumentsError, ToolArguments, ToolResult, Wait, Waited
from firmware_bridge.link import Port
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor, Note, SensorBank
from sims.faults import FaultSchedule, faults_of
from sims.faulty_link import FaultyPort
from sims.harm_ledger import HarmLedger
from sims.intervention import NO_INTERVENTIONS, ChangedCall, Interventions
from sims.overrides import World, WorldError, merge_world
from sims.snapshots import Snapshot, Snapshots
from sims.time_stepping import BoardReset, RigFault, Stopped, TimeStepping

if TYPE_CHECKING:
    from sims.factors import Factor
    from sims.stores import Store, Supply

__all__ = ["BoardReset", "CallOptions", "Simulator", "Snapshot", "Stopped"]

LOOK_S = 1.0
"""Interval of polling the sensors that report changes, while a call waits, s."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How to execute a call.

    Attributes:
        index: the call's place among the calls that reached the device since `init`, from 0.
        duration: its set device time, s; None for its natural time.
        forced: it keeps its recorded effects: no precondition that could be overridden refuses it.
    """

    index: int
    duration: float | None = None
    forced: bool = False


class Simulator(TimeStepping, Snapshots, Generic[World]):
    """A simulated rig; implements `devices.device.Device`.

    A subclass gives one method `do_TOOL(arguments, call)` for each tool of its device type. It takes the
    typed arguments and the `CallOptions`, lets time pass with `pass_time`, and returns the tool's result
    model. The `interlocks` are checked before it. It is not called under the remedies LEAVE_OUT and
    NO_EFFECT; a call that ends before its `duration` waits. `Snapshots` says what `kept` must name, and how
    sensors read.
    """

    name: str
    firmware: str
    device_type: ClassVar[DeviceType]
    harm_rules: ClassVar[tuple[HarmRule, ...]]
    interventions: ClassVar[Interventions] = NO_INTERVENTIONS
    """The remedies of the rules, by name."""
    interlocks: ClassVar[Interlocks[Any]] = {}
    """The checks of each tool, made before `do_TOOL` on `view()`."""
    world: World
    """The initial state of this episode; overrides are merged into `default_world`."""
    ledger: HarmLedger
    natural_duration: float
    """Natural duration of the latest call, without a set one, s."""
    _needs: float | None
    _calls: int
    _finished: bool

    def __init__(self, world: World, seed: int = 0) -> None:
        super().__init__()
        self.default_world = world
        self._subscribers: list[Emit] = []
        self._lock = RLock()
        self._restart(world, seed)

    # Hooks of a subclass.

    def check_world(self, world: World) -> None:
        """Raise WorldError where an initial state that fits the world's model still cannot be."""

    @abstractmethod
    def begin(self) -> None:
        """Set the whole state from `self.world`, at device time 0."""

    @abstractmethod
    def make_safe(self) -> None:
        """Go to the safe state: motion stopped, valves and pumps closed, safety locked. Never raises."""

    @abstractmethod
    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """Return the rig's own sensors, made anew after each `begin`."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return the true state, JSON-ready, with the keys of the initial state where they overlap."""

    @abstractmethod
    def coarse_state(self) -> dict[str, Any]:
        """Return what the rig's own sensors and registers show; keys with a leading `_` are private."""

    def view(self) -> Any:
        """Return the state that the interlocks check; here everything is known."""
        return self

    def work_of(self, tool: str) -> Callable[[ToolArguments, CallOptions], ToolResult]:
        """Return the method that executes a tool: `do_TOOL`."""
        method: Callable[[ToolArguments, CallOptions], ToolResult] = getattr(self, f"do_{tool}")
        return method

    def registers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the rig knows of itself without a reading: the result of each of these tools."""
        return {}

    def factors(self) -> Sequence[Factor | Store]:
        """Return the independent parts of the world that a twin runs apart; by default there are none."""
        return ()

    def supply(self) -> Supply | None:
        """Return the store that decides what these parts get; None: none that can be weighed does."""
        return None

    def given(self) -> Mapping[str, float]:
        """Return what each of them has got since the start from the rest of the world."""
        return {}

    def left_out(self) -> None:
        """Prepare to leave out the call that would begin now, in a counterfactual."""
        return

    reports_truth: bool = True
    """Whether `truth` returns anything: a simulator without stands in for a physical rig."""
    settling: float = 0.0
    """Device time that `finish` waits for lagging effects, s."""
    horizon: float = 0.0
    """How long `run_out` follows what goes on by itself, s."""
    run_out_step: float = 600.0
    """Interval at which `run_out` checks whether anything does, s."""
    names_calls: ClassVar[frozenset[str]] = frozenset()
    """Keys of `state_dict` that name a call by its index; the rig does not count calls that never arrived."""
    apart: bool = False
    """The `factors` are left out: what they get is only counted, and their sensors are not read."""
    endless: bool = False
    """The `supply` never runs out, and its `meter` is fitted."""
    fitted: Mapping[str, CoarseSensor]
    """All sensors of this episode, by name."""
    answers_by_sensors: ClassVar[bool] = True
    """A tool's answer may be what a sensor told last; where none is, `hurries` may be set."""
    whole_steps: ClassVar[bool] = False
    """Time passes in steps of the physics, so that looks in between change no result."""
    rests: bool = False
    """No polls while a call waits and the rig is at rest: so physics is split elsewhere, and rounds so."""
    note_reading: Note | None = None
    """As `note` of `SensorBank`, from the next `init` on; not where `answers_by_sensors`."""
    grain: float = 0.0
    """Harm noted this short a time ago is in progress, s."""
    longest_piece: float = 0.0
    """Harm may be noted from so long before, s."""

    def goes_on(self) -> bool:
        """Return whether harm may still begin, or change, without any further call."""
        return False

    def do_wait(self, arguments: Wait, call: CallOptions) -> Waited:
        """Let time pass, for a device type that has the tool."""
        seconds = arguments.seconds
        self.pass_time(seconds if call.duration is None else min(seconds, call.duration), self._look_s)
        return Waited(seconds=seconds)

    @property
    def _look_s(self) -> float | None:
        """Interval of polling while a call waits, s; None: only at its end."""
        return None if self.hurries or (self.rests and self.at_rest()) else LOOK_S

    # The device protocol.

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Return to the initial state of the default world with these overrides merged in."""
        try:
            world = merge_world(self.default_world, state)
            self.check_world(world)
            if faults_of(world).name_things:
                # The sensors and tools are only known when it is made.
                type(self)(world, seed)
            with self._lock:
                self._restart(world, seed)
                self._halted.clear()
        except WorldError as error:
            return Outcome(CallStatus.INVALID, code="bad_state", message=str(error), t=self.clock.now)
        return Outcome(CallStatus.OK, {})

    def execute(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        stop: Event,
        *,
        remedy: str | None = None,
        event: HarmEvent | None = None,
        forced: bool = False,
        duration: float | None = None,
    ) -> Outcome:
        """Execute one call on the virtual clock; the keywords are for counterfactuals.

        Args:
            tool, arguments, stop: as in the device protocol.
            remedy: the intervention that makes it harmless, by name; or LEAVE_OUT, or NO_EFFECT.
            event: the harm event that the remedy is to prevent.
            forced: skip the interlocks, so that the call keeps its recorded effects.
            duration: set device time, s.
        """
        with self._lock:
            started = self.clock.ticks
            # A reset cut the recorded call short, so its duration is not that of the whole call.
            cut = duration is not None and self.resets_within(duration)
            call = CallOptions(self._calls, None if cut else duration, forced)
            self._calls += 1
            self._stop = stop
            self.begin_way()
            if remedy == LEAVE_OUT:
                self.left_out()
            value: dict[str, Any] | None = None
            natural: float | None = None
            self._needs = None
            status = CallStatus.OK
            code: str | None = None
            message: str | None = None

            def wait() -> None:
                if duration is not None:
                    # Polled as often as during the call that it replaces, so that other changes are
                    # reported at the same moments.
                    self.pass_time(duration - Clock.to_seconds(self.clock.ticks - started), self._look_s)

            try:
                if self._halted.is_set():
                    raise Refusal("estop", "The emergency stop is on. Reset the device before the next call.")
                typed = self.device_type.validate(tool, arguments)
                if remedy not in (LEAVE_OUT, NO_EFFECT):
                    check_interlocks(self.interlocks, tool, self.view, typed.model_dump(), forced=forced)
                    value = self._use(tool, typed, call, remedy, event).model_dump(mode="json")
                natural = Clock.to_seconds(self.clock.ticks - started)
                wait()
            except ArgumentsError as error:
                status, code, message = CallStatus.INVALID, error.code, str(error)
            except Refusal as refusal:
                status, code, message = CallStatus.REJECTED, refusal.code, refusal.message
            except Stopped as stopped:
                self.make_safe()
                status, code, message = CallStatus.FAULT, stopped.code, stopped.message
                if isinstance(stopped, RigFault):
                    with suppress(Stopped):
                        wait()
            finally:
                self._stop = None
            if not self.hurries:
                self._bank.poll(self.clock.ticks)
            took = Clock.to_seconds(self.clock.ticks - started)
            natural = took if natural is None else natural
            self.natural_duration = natural if self._needs is None else self._needs
            return Outcome(status, value, code, message, self.clock.now, took)

    def _use(
        self, tool: str, typed: ToolArguments, call: CallOptions, remedy: str | None, event: HarmEvent | None
    ) -> ToolResult:
        """Execute the tool, with the intervention of that name."""
        method = self.work_of(tool)
        if remedy is None:
            return method(typed, call)
        intervention, began = self.interventions[remedy], self.clock.ticks
        changed = ChangedCall(call.index, tool, typed, event)
        intervention.before(self, changed)
        try:
            result = method(intervention.arguments(self, changed), call)
            if intervention.until_the_end and call.duration is not None:
                self.pass_time(call.duration - Clock.to_seconds(self.clock.ticks - began))
            return result
        finally:
            intervention.after(self, changed)

    def safe(self) -> StopOutcome:
        """Go to the safe state; a running call ends with status `fault`, code `stopped`."""
        self._halted.set()
        with self._lock:
            self.make_safe()
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        """Leave the stop; the device stays in its safe state until a call changes it."""
        self._halted.clear()

    def subscribe(self, emit: Emit) -> None:
        """Deliver every later sample to `emit`."""
        self._subscribers.append(emit)

    def truth(self) -> Truth | None:
        """Return the whole state, the way of the last call, and the harm events so far; before the first call
        also the initial state.

        None for a simulator that stands in for a physical rig.
        """
        if not self.reports_truth:
            return None
        state = self.state_dict()
        if self._calls == 0:
            # A scorer that did not start this simulator cannot know the initial state.
            state["_initial"] = self.world.model_dump(mode="json")
        if self.way:
            state["_way"] = [list(point) for point in self.way]
        return Truth(self.clock.now, None, state, self.events)

    # The scorer's side.

    def link_faults(self) -> FaultSchedule | None:
        """Return the faults of the link in this episode, for use by another thread; None without any."""
        faults = faults_of(self.world).of_link
        return FaultSchedule(faults, self.seed, lambda: self.clock.ticks) if faults != Faults() else None

    def wrap_port(self, port: Port) -> Port:
        """Return a port with the faults of the link, for the server of this simulator."""
        return FaultyPort(port, self)

    @property
    def shared(self) -> tuple[object, ...]:
        """Constant objects that the state refers to and snapshots share."""
        return (self.world,)

    @property
    def events(self) -> tuple[HarmEvent, ...]:
        """All harm events since `init`, trifles included."""
        return self.ledger.events

    @property
    def sensor_specs(self) -> Mapping[str, SensorSpec]:
        """The specification of each coarse sensor, by its name in samples."""
        return self._bank.specs

    @property
    def sensor_values(self) -> Mapping[str, SampleValue | None]:
        """The last value that each coarse sensor reported, by its name in samples."""
        return self._bank.last_values

    def needs(self, seconds: float) -> None:
        """Set the natural duration, s, of the running call, which takes another to meet its set duration."""
        self._needs = seconds

    def finish(self) -> None:
        """End the episode: wait for lagging effects, then read every sensor once. No effect when repeated."""
        with self._lock:
            if self._finished:
                return
            self._finished = True
            self.ledger.end_record(self.clock.now, self.grain)
            end = self.clock.ticks + Clock.to_ticks(self.settling)
            self._settles = True
            while self.clock.ticks < end:
                try:
                    self.pass_time(Clock.to_seconds(end - self.clock.ticks))
                except BoardReset:
                    self.make_safe()
            self._settles = False
            if not self.hurries:
                self._bank.end_rest()
                self._bank.end(end)

    def run_out(self, until: float = 0.0, most: float = math.inf) -> None:
        """Follow the harm in progress after `finish` until it ends, or no longer counts, at least `until`, s.

        It is followed for `most` s at most.

        No sensors are read; only `events` is valid afterwards. What watches looks at the end of each step.
        """
        with self._lock:
            end = self.clock.ticks + Clock.to_ticks(min(self.horizon, most))
            while self.clock.ticks < end and (self.clock.now < until or self.goes_on()):
                step_end = min(end, self.clock.ticks + Clock.to_ticks(self.run_out_step))
                change = self.faults.next_change
                if change is not None:
                    step_end = min(step_end, change)
                self.evolve(Clock.to_seconds(step_end - self.clock.ticks))
                self.clock.ticks = step_end
                self.look()
            self.ledger.run_out(self.clock.now, self.grain)

    def _restart(self, world: World, seed: int) -> None:
        self.world = world
        self.seed = seed
        self.clock = Clock()
        self.ledger = HarmLedger(self.harm_rules)
        self._calls = 0
        self._finished = False
        self._needs = None
        self.natural_duration = 0.0
        self.faults = FaultSchedule(faults_of(world), seed, lambda: self.clock.ticks)
        self.begin()
        self.begin_way()
        if self.faults.reset_within(-1, 0):
            self.make_safe()
        stuck = self._is_stuck if faults_of(world).stuck_sensors else None
        sensors = self.coarse_sensors()
        self.fitted = {sensor.name: sensor for sensor in sensors}
        for name in sorted(faults_of(world).stuck_sensors - self.fitted.keys()):
            raise WorldError(f"faults: there is no sensor {name!r}; there are {', '.join(self.fitted)}")
        unread = {name for part in self.factors() for name in part.sensors} if self.apart else ()
        read = [sensor for sensor in sensors if sensor.name not in unread]
        self._bank = SensorBank(read, seed, self._emit, stuck, self.note_reading)
        self._bank.begin(0)

    def _is_stuck(self, sensor: str) -> bool:
        return self.faults.strength("stuck_sensor", sensor) > 0.0

    def _emit(self, sample: Sample) -> None:
        for subscriber in self._subscribers:
            subscriber(sample)
