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
from core_eval.harm.twin.member import Driver, Member
from core_eval.text.values import alike
from devices.harm import LEAVE_OUT, HarmEvent
from devices.sensors import Sample, SensorSpec


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
    """Plays members of one episode with a call changed."""

    def __init__(self, driver: Driver, episode: LoggedEpisode) -> None:
        self._driver = driver
        self._episode = episode
        self._moments = {(sample.sensor, round(sample.t, 3)) for sample in episode.samples}
        self._asked: dict[int, Sequence[Answer]] = {}

    def preventing(self, member: Member, change: Change) -> MemberChange | None:
        """Return the result of the remedy that prevents the event; None if none does."""
        event = change.event
        assert event is not None
        for remedy in dict.fromkeys((change.remedy, LEAVE_OUT)):
            found, events = self.of(member, replace(change, remedy=remedy))
            if not recurs(event, member.track.events, events):
                return found
        return None

    def of(self, member: Member, change: Change) -> tuple[MemberChange, tuple[HarmEvent, ...]]:
        """Return the result of a change in a member, and the events that still happen."""
        episode = self._episode
        went = _as_it_went(episode, member)
        refusals = any(one.call.status == CallStatus.REJECTED for one in episode.calls[change.first + 1 :])
        other = self._driver.drive(went, member.hidden, member.seed, change, ask=refusals, start=member.start)
        track = member.track
        answers = self._asked_answers(went, member) if refusals else track.answers
        evidence = _first_of(
            first_difference(
                _arrived(track.samples, track.specs, self._moments, episode.end),
                _arrived(other.samples, track.specs, self._moments, episode.end),
                track.specs,
            ),
            _first_answer_difference(episode, change.first, answers, other.answers),
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

    def _asked_answers(self, went: LoggedEpisode, member: Member) -> Sequence[Answer]:
        """Return the member's answers, including those to calls that the rig rejected."""
        if id(member) not in self._asked:
            track = self._driver.drive(went, member.hidden, member.seed, ask=True, start=member.start)
            self._asked[id(member)] = track.answers
        return self._asked[id(member)]


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


def _arrived(
    samples: Sequence[Sample], specs: Mapping[str, SensorSpec], arrived: set[tuple[str, float]], end: float
) -> list[Sample]:
    """Return the samples that the log contains too, and those after its end."""
    return [
        sample
        for sample in samples
        if specs[sample.sensor].period is None
        or sample.t > end
        or (sample.sensor, round(sample.t, 3)) in arrived
    ]
