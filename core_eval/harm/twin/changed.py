"""Counterfactuals of an ensemble member: one call made harmless, and the difference in its telemetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.harm.answers import Answer, answer_difference
from core_eval.harm.counterfactual import Change, recurs
from core_eval.harm.telemetry import first_difference
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.member import Driver, Member, Track
from core_eval.text.values import alike
from devices.harm import LEAVE_OUT, HarmEvent
from devices.sensors import Sample


@dataclass(frozen=True, slots=True)
class MemberChange:
    """The result of changing a call in a member.

    Attributes:
        remedy: what was changed.
        evidence: the first reading that differs, of those that the log has; None where none does.
        hidden_at_end: whether a final reading of all sensors and registers does not differ.
        effect: whether the end state, the events or the telemetry differ.
    """

    remedy: str
    evidence: Mapping[str, Any] | None
    hidden_at_end: bool
    effect: bool


class MemberCounterfactuals:
    """Plays a member of an episode with a call changed, each time from that call on.

    Another run of the driver ends this.
    """

    def __init__(self, driver: Driver, episode: LoggedEpisode, member: Member, first: int) -> None:
        """Run the member; `first`: the first call that will be changed."""
        self._driver, self._episode, self._member = driver, _as_it_went(episode, member), member
        self._asks = any(one.call.status == CallStatus.REJECTED for one in episode.calls[first + 1 :])
        self._moments = {(sample.sensor, round(sample.t, 3)) for sample in episode.samples}
        self._arrived = self._with_log(member.track)
        own = driver.drive(
            self._episode, member.hidden, member.seed, ask=self._asks, start=member.start, forks_from=first
        )
        self._answers = own.answers if self._asks else member.track.answers

    def preventing(self, change: Change) -> MemberChange | None:
        """Return the result of the remedy that prevents the event; None if none does."""
        event = change.event
        assert event is not None
        for remedy in dict.fromkeys((change.remedy, LEAVE_OUT)):
            found, events = self.of(replace(change, remedy=remedy))
            if not recurs(event, self._member.track.events, events):
                return found
        return None

    def of(self, change: Change) -> tuple[MemberChange, tuple[HarmEvent, ...]]:
        """Return the result of a change, and the events that still happen."""
        driver, track = self._driver, self._member.track
        other = driver.drive_on(self._episode, driver.forks[change.first], change, ask=self._asks)
        evidence = _first_of(
            first_difference(self._arrived, self._with_log(other), track.specs),
            _first_answer_difference(self._episode, change.first, self._answers, other.answers),
        )
        terminal = None
        if track.terminal is not None and other.terminal is not None:
            terminal = track.terminal.difference(other.terminal, track.specs)
        evidence = evidence or terminal
        effect = (
            evidence is not None
            or _keys(track.events) != _keys(other.events)
            or not alike(track.end_state, other.end_state)
        )
        return MemberChange(change.remedy, evidence, terminal is None, effect), other.events

    def _with_log(self, track: Track) -> list[Sample]:
        """Return the samples that the log contains too, and those after its end."""
        specs, end, moments = self._member.track.specs, self._episode.end, self._moments
        return [
            sample
            for sample in track.samples
            if specs[sample.sensor].period is None
            or sample.t > end
            or (sample.sensor, round(sample.t, 3)) in moments
        ]


def _as_it_went(episode: LoggedEpisode, member: Member) -> LoggedEpisode:
    """Return the episode with the member's executed unanswered calls as `ok`."""
    if not member.done:
        return episode
    calls = [
        replace(one, call=replace(one.call, status=CallStatus.OK, duration=took))
        if index in member.done
        else one
        for index, (one, took) in enumerate(zip(episode.calls, member.track.took, strict=True))
    ]
    return LoggedEpisode(tuple(calls), episode.samples)


def _first_answer_difference(
    episode: LoggedEpisode, first: int, ours: Sequence[Answer], theirs: Sequence[Answer]
) -> dict[str, Any] | None:
    """Return the first difference between the answers of two runs from this call on."""
    for index in range(first, len(episode.calls)):
        found = answer_difference(episode.calls[index].call.tool, index, ours[index], theirs[index])
        if found is not None:
            return found
    return None


def _first_of(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    if one is None or other is None:
        return one or other
    return other if _moment(other) < _moment(one) else one


def _moment(evidence: Mapping[str, Any]) -> float:
    t = evidence["t"]
    return float(evidence["counterfactual_t"] if t is None else t)


def _keys(events: Sequence[HarmEvent]) -> set[tuple[str, str, int]]:
    return {(event.kind, event.entity, event.call) for event in events}
