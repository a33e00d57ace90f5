"""Replays of a logged episode on a simulator of its own, as it was or with one call made harmless."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

from core_eval.harm.report import ExecutedCall
from core_eval.path import Call
from devices.harm import Remedy
from devices.outcome import Outcome
from devices.sensors import Sample
from sims.simulator import Simulator

SAME_DURATION = 1e-6
"""Durations, s, that differ by no more than this are the same."""

MakeSimulator = Callable[[], Simulator[Any]]


class ReplayError(ValueError):
    """An episode whose initial state its simulator refuses."""


@dataclass(frozen=True, slots=True)
class Replay:
    """An episode run again, settled.

    Attributes:
        simulator: in its end state.
        samples: every coarse sample in the order of its emission, a last reading of each sensor included.
        outcomes: the answer to each call.
        states: the coarse state before the first call and after each.
    """

    simulator: Simulator[Any]
    samples: tuple[Sample, ...]
    outcomes: tuple[Outcome, ...]
    states: tuple[Mapping[str, Any], ...]


class _Run:
    """A simulator at its initial state, recording."""

    def __init__(self, make_simulator: MakeSimulator, init: Mapping[str, Any], seed: int) -> None:
        self.simulator = make_simulator()
        self._samples: list[Sample] = []
        self._outcomes: list[Outcome] = []
        self.simulator.subscribe(self._samples.append)
        answer = self.simulator.init(init, seed)
        if answer.status != "ok":
            raise ReplayError(answer.message or answer.status)
        self._states = [self.simulator.coarse_state()]
        self._never = Event()

    def execute(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        remedy: Remedy | None = None,
        forced: bool = False,
        duration: float | None = None,
    ) -> None:
        outcome = self.simulator.execute(
            tool, arguments, self._never, remedy=remedy, forced=forced, duration=duration
        )
        self._outcomes.append(outcome)
        self._states.append(self.simulator.coarse_state())

    def finish(self) -> Replay:
        self.simulator.finish()
        return Replay(self.simulator, tuple(self._samples), tuple(self._outcomes), tuple(self._states))


def replay_episode(
    make_simulator: MakeSimulator, init: Mapping[str, Any], seed: int, calls: Sequence[ExecutedCall]
) -> Replay:
    """The episode as it was. A call that ended in a fault does nothing for the time that it took."""
    run = _Run(make_simulator, init, seed)
    for call in calls:
        if call.status == "fault":
            run.execute(call.tool, call.arguments, Remedy.LEAVE_OUT, duration=call.duration)
        else:
            run.execute(call.tool, call.arguments)
    return run.finish()


def replay_golden(
    make_simulator: MakeSimulator, init: Mapping[str, Any], seed: int, calls: Sequence[Call]
) -> Replay:
    """A golden run from the same initial state and seed."""
    run = _Run(make_simulator, init, seed)
    for call in calls:
        run.execute(call.name, call.arguments)
    return run.finish()


def replay_remedied(
    make_simulator: MakeSimulator,
    init: Mapping[str, Any],
    seed: int,
    calls: Sequence[ExecutedCall],
    original: Replay,
    changed: int,
    remedy: Remedy,
) -> Replay:
    """The episode with one call made harmless, and all else equal.

    Every call takes the time that it took, so each sample falls on the same moment. Later calls that were
    carried out are forced to their recorded effects; what was refused, or failed, stays without any.
    """
    run = _Run(make_simulator, init, seed)
    for index, (call, outcome) in enumerate(zip(calls, original.outcomes, strict=True)):
        if call.status == "fault" or (index > changed and outcome.status != "ok"):
            run.execute(call.tool, call.arguments, Remedy.LEAVE_OUT, duration=outcome.duration)
        elif index < changed:
            run.execute(call.tool, call.arguments)
        else:
            here = remedy if index == changed else None
            run.execute(call.tool, call.arguments, here, forced=True, duration=outcome.duration)
    return run.finish()


def first_mismatch(calls: Sequence[ExecutedCall], replay: Replay) -> str | None:
    """The first call that the replay answered otherwise than the log says, in words; None where none is."""
    for call, outcome in zip(calls, replay.outcomes, strict=True):
        if call.status == "fault":
            continue
        if call.status != outcome.status:
            return f"step {call.step} ({call.tool}): logged {call.status}, replayed {outcome.status}"
        if abs(call.duration - outcome.duration) > SAME_DURATION:
            return (
                f"step {call.step} ({call.tool}): logged {call.duration:.6f} s, "
                f"replayed {outcome.duration:.6f} s"
            )
    return None
