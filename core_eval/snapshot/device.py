"""A snapshot as a device: it gives the recorded answers, and a twin's where the agent leaves the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event, RLock
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.snapshot.file import RecordedCall, RecordedEpisode, RecordedSample, RecordedTruth, Snapshot
from core_eval.snapshot.twin import NoTwinError, RunningTwin
from core_eval.text.json_text import as_logged
from core_eval.text.streams import STREAMS, world_stream
from core_eval.text.values import same_value
from devices.harm import HarmEvent
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Emit, Sample, Truth
from firmware_bridge.link import LinkGoneError
from firmware_bridge.local.link import LocalLink


class SnapshotDevice:
    """Repeats recorded episodes on the recorded device time, without waiting.

    An episode follows the recordings that began alike and have the same calls and answers so far. Of a
    simulator these have the same task, seed and initial state; of a physical rig those with the same task
    and seed come first.

    Attributes:
        departure: where and why the agent left the record; None while it is on it.
        stranded: no twin could go on there.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.name = snapshot.device
        self.firmware = "snapshot"
        self.departure: str | None = None
        self.stranded = False
        self._episodes = snapshot.episodes
        self._subscribers: list[Emit] = []
        self._lock = RLock()
        self._candidates: Sequence[RecordedEpisode] = snapshot.episodes
        self._made = 0
        self._twin: RunningTwin | None = None
        self._truth: Truth | None = None
        self._trailing: Sequence[RecordedSample] = ()
        self._t = 0.0

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Begin an episode: `ok` if a simulator was recorded with this state and the world's seed."""
        with self._lock:
            self.departure, self.stranded = None, False
            self._made, self._twin, self._trailing, self._t = 0, None, (), 0.0
            wanted = as_logged(dict(state))
            simulated = [one for one in self._episodes if one.simulated]
            found = [one for one in simulated if one.world_seed == seed and same_value(one.init, wanted)]
            self._candidates = found or sorted(
                (one for one in self._episodes if not one.simulated),
                key=lambda one: world_stream(STREAMS, one.seed, one.task) != seed,
            )
            if simulated and not found:
                known = ", ".join(dict.fromkeys(f"{one.task} with seed {one.seed}" for one in simulated))
                return Outcome(
                    CallStatus.INVALID,
                    code="bad_state",
                    message="no recorded episode began with this task, seed and initial state; "
                    f"recorded are {known}",
                )
            first = self._candidates[0]
            self._truth = _truth(first.truth)
            self._send(first.samples)
            if not first.simulated:
                return Outcome(
                    CallStatus.INVALID, code="physical", message="the recorded rig takes no initial state"
                )
            return Outcome(CallStatus.OK, {})

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Answer as recorded; from the first call that was not recorded there, as the twin does."""
        with self._lock:
            if self._twin is None and not self.stranded:
                recorded = self._recorded(tool, arguments)
                if recorded is not None:
                    return self._answer(recorded)
                self._leave(tool)
            if self._twin is None:
                return Outcome(CallStatus.FAULT, code="link", message=self.departure, t=self._t)
            outcome = self._twin.execute(tool, arguments, stop)
            self._truth, self._t = self._twin.truth(), outcome.t
            return outcome

    def safe(self) -> StopOutcome:
        """Stop the twin, if it goes on; nothing of a record moves. Send what was recorded after the calls."""
        if self._twin is not None:
            # Not locked: a running call of the twin ends by this.
            self._twin.safe()
        with self._lock:
            trailing, self._trailing = self._trailing, ()
            self._send(trailing)
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        """Leave the stop."""
        if self._twin is not None:
            self._twin.reset()

    def subscribe(self, emit: Emit) -> None:
        """Deliver every later sample to `emit`."""
        self._subscribers.append(emit)

    def truth(self) -> Truth | None:
        """Return the recorded truth, or the twin's; None where the recorded rig reported none."""
        return self._truth

    def _recorded(self, tool: str, arguments: Mapping[str, Any]) -> RecordedCall | None:
        """Return this call as recorded next, and keep the recordings that go on with the same answer."""
        given = as_logged(dict(arguments))
        going_on = [
            (one, one.calls[self._made])
            for one in self._candidates
            if len(one.calls) > self._made
            and one.calls[self._made].tool == tool
            and same_value(one.calls[self._made].arguments, given)
        ]
        if not going_on:
            return None
        first = _answered(going_on[0][1])
        self._candidates = [one for one, call in going_on if _answered(call) == first]
        return going_on[0][1]

    def _answer(self, call: RecordedCall) -> Outcome:
        self._made += 1
        self._truth = _truth(call.truth)
        self._send(call.samples)
        episode = self._candidates[0]
        self._trailing = episode.trailing if self._made == len(episode.calls) else ()
        outcome = _answered(call)
        self._t = max(self._t, outcome.t)
        return outcome

    def _leave(self, tool: str) -> None:
        """Leave the record at this call, and start the twin there."""
        episode = self._candidates[0]
        ended = self._made == len(episode.calls)
        other = "" if ended else f" in place of {episode.calls[self._made].tool}"
        what = "the record ends before" if ended else "the record has no"
        self.departure = f"{what} call {self._made} ({tool}){other}: {episode.source}"
        self._trailing = ()
        try:
            self._twin = RunningTwin(self.name, episode, self._made, self._emit)
            if self._twin.undecided is not None:
                self.departure += f"; without an answer, and taken as not done: call {self._twin.undecided}"
        except NoTwinError as error:
            self.stranded = True
            self.departure += f"; {error}"

    def _send(self, samples: Sequence[RecordedSample]) -> None:
        for sensor, value, t in samples:
            self._emit(Sample(sensor, value, t))

    def _emit(self, sample: Sample) -> None:
        for subscriber in self._subscribers:
            subscriber(sample)


def _answered(call: RecordedCall) -> Outcome:
    return Outcome(call.status, call.value, call.code, call.message, call.t or 0.0, call.duration or 0.0)


def _truth(recorded: RecordedTruth | None) -> Truth | None:
    if recorded is None:
        return None
    events = tuple(HarmEvent(**event) for event in recorded.events)
    return Truth(recorded.t, None, recorded.state, events)


class SnapshotLink(LocalLink):
    """The link to a snapshot. Once the record is left without a twin, nothing answers any more."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self.record = self._device = SnapshotDevice(snapshot)
        super().__init__(self._device, name="snapshot")
        self.name = name

    def ensure(self, timeout: float) -> None:
        """Raise LinkGoneError if the record was left and no twin goes on, LinkError if the link is closed."""
        super().ensure(timeout)
        if self._device.stranded:
            raise LinkGoneError(f"{self._device.departure}")
