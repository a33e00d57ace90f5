"""The twin of a recorded episode: a simulator in the state in which the recorded calls left the rig."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Event
from typing import Any

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.worlds_loader import World, make_simulator
from core_eval.call_status import CallStatus
from core_eval.harm.replay import Player, ReplayError, first_mismatch
from core_eval.harm.report import ExecutedCall
from core_eval.harm.unanswered import resolve
from core_eval.snapshot.file import RecordedCall, RecordedEpisode, RecordedTwin
from devices.device_type import an
from devices.harm import NO_EFFECT
from devices.outcome import PROTECTIVE_STOP, Outcome
from devices.sensors import Emit, Sample, Truth
from sims.world_type import world_of_device


class NoTwinError(Exception):
    """Why no twin can go on from a record; one line."""


def executed(call: RecordedCall, step: int = 0) -> ExecutedCall:
    """Return a recorded call as a replay needs it."""
    return ExecutedCall(
        step,
        call.tool,
        call.arguments,
        call.status,
        call.duration or 0.0,
        False,
        call.answered,
        partly=call.code == PROTECTIVE_STOP,
    )


def make_player(device: str, twin: RecordedTwin, seed: int) -> Player:
    """Return the player of a twin, at the beginning of its episode.

    Raises:
        NoTwinError: this version of the kit has no such world, or refuses its state.
    """
    kind = world_of_device(device)
    if kind is None:
        raise NoTwinError(f"no installed package has a world of {an(device)}")
    try:
        world = World(twin.world, kind, kind.state.model_validate(twin.state))
        return Player(lambda: make_simulator(world), twin.init, seed)
    except (ValidationError, ConfigError, ReplayError) as error:
        raise NoTwinError(f"this version's world refuses the recorded state: {error}") from None


class RunningTwin:
    """Goes on where the record was left; its times are those of the record.

    Args:
        episode: the record.
        calls: how many of its calls were made.
        emit: receives the samples from now on.

    Raises:
        NoTwinError: there is no twin, or it does not get into that state.
    """

    def __init__(self, device: str, episode: RecordedEpisode, calls: int, emit: Emit) -> None:
        if episode.twin is None:
            raise NoTwinError(f"the record has no twin of the {device}")
        player = make_player(device, episode.twin, episode.world_seed)
        self._simulator = player.simulator
        made = episode.calls[:calls]
        self._offset = 0.0
        self.undecided: str | None = None
        """The calls without an answer that are taken as not executed."""
        if episode.twin.exact:
            self.undecided = _repeat(player, made)
        else:
            self._offset = _follow(player, made)
            self.undecided = _named(made, (at for at, call in enumerate(made) if not call.answered))
        self._simulator.subscribe(
            lambda sample: emit(Sample(sample.sensor, sample.value, sample.t + self._offset))
        )
        self._reports_truth = episode.truth is not None

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Execute a call."""
        done = self._simulator.execute(tool, arguments, stop)
        return Outcome(done.status, done.value, done.code, done.message, done.t + self._offset, done.duration)

    def safe(self) -> None:
        """Go to the safe state."""
        self._simulator.safe()

    def reset(self) -> None:
        """Leave the stop."""
        self._simulator.reset()

    def truth(self) -> Truth | None:
        """Return the ground truth where the recorded rig reported it too."""
        return self._simulator.truth() if self._reports_truth else None


def _repeat(player: Player, calls: Sequence[RecordedCall]) -> str | None:
    """Repeat the calls on the recorded simulator, which must answer as recorded.

    Return the calls without an answer of which nothing tells whether they were executed; None without any.

    Raises:
        NoTwinError: it answers otherwise.
    """
    reported = [None if call.truth is None else call.truth.state for call in calls]
    resolved = resolve(player, [executed(call, index) for index, call in enumerate(calls)], reported)
    if resolved.mismatch is not None:
        raise NoTwinError(resolved.mismatch)
    replay = player.play(resolved.calls, checkpoints=False)
    mismatch = first_mismatch(resolved.calls, replay)
    if mismatch is not None:
        raise NoTwinError(f"the simulator of this version answers otherwise than recorded: {mismatch}")
    player.go_to_start()
    for call in resolved.calls:
        player.replay_call(call)
    return _named(calls, resolved.undecided)


def _named(calls: Sequence[RecordedCall], indices: Iterable[int]) -> str | None:
    return ", ".join(f"{index} ({calls[index].tool})" for index in indices) or None


def _follow(player: Player, calls: Sequence[RecordedCall]) -> float:
    """Give a model the recorded calls with their effects and times; return record time minus its own, s."""
    simulator = player.simulator
    timed = [call for call in calls if call.t is not None and call.answered]
    begin = timed[0].t - (timed[0].duration or 0.0) if timed and timed[0].t is not None else 0.0
    for call in calls:
        if call.t is not None and call.answered:
            simulator.pass_time(call.t - (call.duration or 0.0) - begin - simulator.clock.now)
        acts = call.status == CallStatus.OK
        player.execute(
            call.tool, call.arguments, None if acts else NO_EFFECT, forced=acts, duration=call.duration
        )
    return begin
