"""Replays a logged episode on a separate simulator, unchanged or with one call made harmless."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.harm.answers import Answer, Readings, answer_of, evidence_of, registers, same
from core_eval.harm.harmful_events import harm_events
from core_eval.harm.report import ExecutedCall
from core_eval.harm.telemetry import by_sensor
from core_eval.path.calls import MOST_LOOKS, Call
from devices.device_type import DeviceType
from devices.harm import LEAVE_OUT, HarmEvent, HarmRule
from devices.outcome import Outcome
from devices.sensors import Sample, SampleValue, SensorSpec
from sims.simulator import Simulator, Snapshot

SAME_DURATION = 1e-6
"""Tolerance, s, within which durations are equal."""

MakeSimulator = Callable[[], Simulator[Any]]


def until_told(call: Call, execute: Callable[[], Outcome]) -> Outcome:
    """Make a call, again until its answer tells the fact that it asks for; return the last answer."""
    outcome = execute()
    for _ in range(MOST_LOOKS - 1):
        if call.is_told_by(outcome.status, outcome.value):
            break
        outcome = execute()
    return outcome


class ReplayError(ValueError):
    """An episode whose initial state its simulator refuses."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The moment before a call.

    Attributes:
        call: its index.
        snapshot: the simulator's state.
    """

    call: int
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Terminal:
    """The final readings: the last value of every sensor, and the registers."""

    t: float
    sensors: Mapping[str, SampleValue | None]
    registers: Readings

    @classmethod
    def of(cls, simulator: Simulator[Any]) -> Terminal:
        """Read them from a simulator whose episode has finished."""
        return cls(simulator.clock.now, dict(simulator.sensor_values), registers(simulator))

    def difference(self, other: Terminal, specs: Mapping[str, SensorSpec]) -> dict[str, Any] | None:
        """Return the first sensor or register that differs beyond its resolution, as evidence."""
        readings = {name: (value, specs[name].resolution) for name, value in self.sensors.items()}
        theirs = {name: (value, 0.0) for name, value in other.sensors.items()} | dict(other.registers)
        for index, (name, reading) in enumerate((readings | dict(self.registers)).items()):
            if name in theirs and not same(reading, theirs[name]):
                return evidence_of(name, index, self.t, reading[0], theirs[name][0], self.t)
        return None


@dataclass(frozen=True)
class Replay:
    """An episode run again, settled.

    Attributes:
        samples: every coarse sample in order of emission, including a final reading of each sensor.
        outcomes: the answer to each call.
        answers: the parts of it, and of the registers, that are telemetry.
        terminal: the final readings, after settling.
        states: the coarse state before the first call and after each.
        true_states: the true state at the same moments.
        received: the number of samples by then.
        events: the harm events of the device's rules, each followed to its end.
        coarse_end, end_state: the coarse and the true state after settling.
        sensor_specs: the specification of each coarse sensor.
        harm_rules: the device's.
        checkpoints: the moments that a counterfactual can start from, by call; at least the start.
    """

    samples: tuple[Sample, ...]
    outcomes: tuple[Outcome, ...]
    answers: tuple[Answer, ...]
    terminal: Terminal
    states: tuple[Mapping[str, Any], ...]
    true_states: tuple[Mapping[str, Any], ...]
    received: tuple[int, ...]
    events: tuple[HarmEvent, ...]
    coarse_end: Mapping[str, Any]
    end_state: Mapping[str, Any]
    sensor_specs: Mapping[str, SensorSpec]
    harm_rules: tuple[HarmRule, ...]
    checkpoints: tuple[Checkpoint, ...]

    @cached_property
    def by_sensor(self) -> Mapping[str, Sequence[Sample]]:
        """The samples of each sensor."""
        return by_sensor(self.samples)

    def latest_checkpoint(self, call: int) -> Checkpoint:
        """Return the last checkpoint at or before this call."""
        return self.checkpoints[bisect_right(self.checkpoints, call, key=lambda point: point.call) - 1]

    def checkpoint_at(self, call: int) -> Checkpoint | None:
        """Return the checkpoint right before this call, or None."""
        point = self.latest_checkpoint(min(call, len(self.outcomes)))
        return point if point.call == call else None


class Player:
    """Plays an episode on a simulator, and variants of it from any checkpoint.

    Attributes:
        simulator: in the state of the last call that was played.
        received: the samples since the beginning, or since `go_back`.
    """

    def __init__(self, make_simulator: MakeSimulator, init: Mapping[str, Any], seed: int) -> None:
        """Begin the episode.

        Raises:
            ReplayError: the simulator refuses the initial state.
        """
        self.simulator = make_simulator()
        self.received: list[Sample] = []
        self.simulator.subscribe(lambda sample: self.received.append(sample))
        answer = self.simulator.init(init, seed)
        if answer.status != CallStatus.OK:
            raise ReplayError(answer.message or answer.status)
        self._never = Event()
        self._start = Checkpoint(0, self.simulator.snapshot())
        self._first = tuple(self.received)

    @property
    def device_type(self) -> DeviceType:
        """The simulator's."""
        return self.simulator.device_type

    def execute(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        remedy: str | None = None,
        event: HarmEvent | None = None,
        forced: bool = False,
        duration: float | None = None,
    ) -> Outcome:
        """Execute one call, as `Simulator.execute`."""
        return self.simulator.execute(
            tool, arguments, self._never, remedy=remedy, event=event, forced=forced, duration=duration
        )

    def replay_call(self, call: ExecutedCall) -> Outcome:
        """Execute a call of the episode with its logged effect and duration."""
        if self.had_no_effect(call):
            return self.execute(call.tool, call.arguments, LEAVE_OUT, duration=call.duration)
        return self.execute(call.tool, call.arguments)

    def would_answer(self, call: ExecutedCall) -> Outcome:
        """Return how the rig would refuse a call now; the state is unchanged."""
        received = len(self.received)
        outcome = would_answer(self.simulator, call.tool, call.arguments)
        del self.received[received:]
        return outcome

    def had_no_effect(self, call: ExecutedCall) -> bool:
        """Return whether a logged call ended in a fault without effect, so that only its time passed.

        Where a fault of the simulator's own starts the board anew, the call is cut short there again.
        """
        cut = call.partly or self.simulator.resets_within(call.duration)
        return call.status == CallStatus.FAULT and not cut

    def go_back(self, point: Checkpoint) -> None:
        """Return to a checkpoint of this player; `received` starts empty."""
        self.simulator.restore(point.snapshot)
        self.received.clear()

    def go_to_start(self) -> None:
        """Return to the beginning of the episode."""
        self.go_back(self._start)
        self.received.extend(self._first)

    def play(self, calls: Sequence[ExecutedCall], checkpoints: bool = True) -> Replay:
        """Play the unchanged episode from its beginning to its end.

        Args:
            calls: those that reached the device, in order.
            checkpoints: keep a snapshot before each call that may do harm.
        """
        keep = (lambda call: _may_harm(call, self.device_type)) if checkpoints else (lambda _: False)
        return self._play(calls, self.replay_call, keep, lambda call: (call.tool, call.answered))

    def play_idle(self, calls: Sequence[ExecutedCall]) -> Replay:
        """Play the episode without any of its calls: their time passes."""
        return self._play(
            calls,
            lambda call: self.execute(call.tool, call.arguments, LEAVE_OUT, duration=call.duration),
            lambda _: False,
            lambda call: (call.tool, False),
        )

    def play_golden(self, calls: Sequence[Call]) -> Replay:
        """Play a golden run from the same initial state."""
        return self._play(
            calls,
            lambda call: until_told(call, lambda: self.execute(call.name, call.arguments)),
            lambda _: False,
            lambda call: (call.name, True),
        )

    def _play(
        self,
        calls: Sequence[Any],
        execute: Callable[[Any], Outcome],
        keep: Callable[[Any], bool],
        heard_of: Callable[[Any], tuple[str, bool]],
    ) -> Replay:
        self.go_to_start()
        simulator = self.simulator
        points, outcomes, answers = [self._start], [], []
        states, true_states = [simulator.coarse_state()], [simulator.state_dict()]
        received = [len(self.received)]
        for index, call in enumerate(calls):
            if index and keep(call):
                points.append(Checkpoint(index, simulator.snapshot()))
            outcomes.append(execute(call))
            tool, answered = heard_of(call)
            answers.append(answer_of(simulator, tool, outcomes[-1], received=answered))
            states.append(simulator.coarse_state())
            true_states.append(simulator.state_dict())
            received.append(len(self.received))
        simulator.finish()
        terminal = Terminal.of(simulator)
        coarse_end, end_state = simulator.coarse_state(), simulator.state_dict()
        simulator.run_out()
        return Replay(
            samples=tuple(self.received),
            outcomes=tuple(outcomes),
            answers=tuple(answers),
            terminal=terminal,
            states=tuple(states),
            true_states=tuple(true_states),
            received=tuple(received),
            events=harm_events(simulator),
            coarse_end=coarse_end,
            end_state=end_state,
            sensor_specs=simulator.sensor_specs,
            harm_rules=simulator.harm_rules,
            checkpoints=tuple(points),
        )


def would_answer(simulator: Simulator[Any], tool: str, arguments: Mapping[str, Any]) -> Outcome:
    """Return how the rig would refuse a call now; the state is unchanged.

    A call that it accepts is stopped at once and reported as `ok`.
    """
    point = simulator.snapshot()
    stop = Event()
    stop.set()
    outcome = simulator.execute(tool, arguments, stop)
    simulator.restore(point)
    return Outcome(CallStatus.OK) if outcome.status == CallStatus.FAULT else outcome


def first_mismatch(
    calls: Sequence[ExecutedCall], replay: Replay, seconds: float = SAME_DURATION
) -> str | None:
    """Describe the first call whose replayed answer differs from the log; None if all agree.

    Durations within `seconds` of each other agree.
    """
    for call, outcome in zip(calls, replay.outcomes, strict=True):
        if call.status == CallStatus.FAULT or not call.answered:
            continue
        if call.status != outcome.status:
            return f"step {call.step} ({call.tool}): logged {call.status}, replayed {outcome.status}"
        if abs(call.duration - outcome.duration) > seconds:
            return (
                f"step {call.step} ({call.tool}): logged {call.duration:.6f} s, "
                f"replayed {outcome.duration:.6f} s"
            )
    return None


def _may_harm(call: ExecutedCall, device_type: DeviceType) -> bool:
    return call.status in (CallStatus.OK, CallStatus.FAULT) and (
        call.harmful or call.tool not in device_type.reads
    )
