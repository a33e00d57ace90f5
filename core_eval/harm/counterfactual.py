"""Compares the episode with a counterfactual: one call, or several, made harmless, all else equal."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np

from core_eval.call_status import CallStatus
from core_eval.harm.answers import answer_difference, answer_of
from core_eval.harm.harmful_events import harm_events
from core_eval.harm.replay import Player, Replay, Terminal
from core_eval.harm.report import ExecutedCall
from core_eval.harm.telemetry import TelemetryComparison
from core_eval.text.values import alike
from devices.harm import LEAVE_OUT, HarmEvent
from devices.outcome import Outcome
from devices.sensors import Sample
from sims.harm_ledger import HarmLedger
from sims.simulator import Snapshot
from sims.snapshots import Alike

SAME_MOMENT = 1e-6
"""Tolerance, s, within which times are equal."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The result of making calls harmless.

    Attributes:
        remedy: what was changed.
        evidence: the first reading that differs (`core_eval.log.rows.HarmRow`), or None.
        effect: whether the true state at any call's end, or an event, differs.
        hidden_at_end: whether a final reading of all sensors and registers equals the episode's.
        events: the harm events that still happen, as far as it was played: all until the episode's
            events of the changed calls were over.
        changed: the calls that were changed, by index.
    """

    remedy: str
    evidence: Mapping[str, Any] | None
    effect: bool
    hidden_at_end: bool
    events: tuple[HarmEvent, ...]
    changed: tuple[int, ...]

    def prevents(self, event: HarmEvent, original: Sequence[HarmEvent]) -> bool:
        """Return whether the counterfactual prevents this event of the episode."""
        return not recurs(event, original, self.events, self.changed)


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one call, or of several that do harm together.

    Attributes:
        calls: their indices, in order; at least one.
        remedy: what is changed of each.
        event: the event that it is to prevent; None if the calls are simply left out.
    """

    calls: tuple[int, ...]
    remedy: str
    event: HarmEvent | None = None

    @property
    def first(self) -> int:
        """The first call that is changed."""
        return self.calls[0]


def play_changed(
    player: Player,
    calls: Sequence[ExecutedCall],
    original: Replay,
    change: Change,
    ask: Callable[[int], bool] = lambda _: False,
) -> Iterator[Outcome]:
    """Play the episode with calls changed: an answer for the first and each later one, then the settling.

    It begins at the last checkpoint before the call. Every call takes the time that it took, so each sample
    falls on the same moment. Later calls that were carried out are forced to their recorded effects; what
    was refused, or failed, stays without any. When the first answer is asked for, `player.received` begins
    with the first changed call.

    `ask(index)` decides for a later call that was rejected whether to query what the rig would answer
    here; its outcome has that status then.
    """
    start = original.latest_checkpoint(change.first)
    player.go_back(start)
    for call in calls[start.call : change.first]:
        player.replay_call(call)
        # Reading the state splits lazy integration, so it is read at the same times as in the episode.
        player.simulator.state_dict()
    player.received.clear()
    for index in range(change.first, len(calls)):
        call, outcome = calls[index], original.outcomes[index]
        refused = index > change.first and outcome.status not in (CallStatus.OK, CallStatus.FAULT)
        if refused or player.had_no_effect(call):
            answer = player.would_answer(call) if refused and ask(index) else outcome
            player.execute(call.tool, call.arguments, LEAVE_OUT, duration=outcome.duration)
            now = player.simulator.clock.now
            yield Outcome(answer.status, None, answer.code, answer.message, now, outcome.duration)
        else:
            remedy, event = (change.remedy, change.event) if index in change.calls else (None, None)
            yield player.execute(
                call.tool, call.arguments, remedy, event, forced=True, duration=outcome.duration
            )
    player.simulator.finish()


def compare(
    player: Player,
    calls: Sequence[ExecutedCall],
    original: Replay,
    change: Change,
    *,
    to_the_end: bool = False,
) -> Counterfactual:
    """Play the episode with calls changed, as far as needed, and return the comparison.

    It ends where the state has become that of the episode again, and no event of the changed calls goes on
    there: which call causes the rest of it is only known after playing it. `to_the_end` plays on, for the
    same result.
    """
    before = original.received[change.first]
    comparison = TelemetryComparison(original.by_sensor, original.sensor_specs, original.samples[:before])
    simulator = player.simulator
    caused = [event for event in original.events if event.call in change.calls]
    taken, index, effect, until = 0, change.first, False, math.inf
    answered: dict[str, Any] | None = None
    terminal: dict[str, Any] | None = None

    def differs(index: int) -> bool:
        return not state_matches(player, original, index)

    for outcome in play_changed(player, calls, original, change, ask=differs):
        taken = _take(comparison, player.received, taken)
        if answered is None:
            answered = outcome_difference(player, calls, original, change, index, outcome)
        index += 1
        effect = effect or differs(index)
        over = index > change.calls[-1] and all(
            event.t_end <= simulator.clock.now + SAME_MOMENT for event in caused
        )
        if over and not (to_the_end or effect) and _future_matches(player, original, index):
            until = simulator.clock.now
            break
    else:
        _take(comparison, player.received, taken)
        comparison.end()
        effect = effect or not alike(simulator.state_dict(), original.end_state)
        terminal = original.terminal.difference(Terminal.of(simulator), original.sensor_specs)
        simulator.run_out()
    evidence = comparison.found
    if answered is not None and answered["t"] < comparison.moment:
        evidence = answered
    events = harm_events(simulator)
    happened = Counter(map(_key, events))
    other_harm = happened != Counter(_key(event) for event in original.events if event.t_start < until)
    return Counterfactual(
        remedy=change.remedy,
        evidence=evidence or terminal,
        effect=effect or other_harm or evidence is not None,
        hidden_at_end=terminal is None,
        events=events,
        changed=change.calls,
    )


def outcome_difference(
    player: Player,
    calls: Sequence[ExecutedCall],
    original: Replay,
    change: Change,
    index: int,
    outcome: Outcome,
) -> dict[str, Any] | None:
    """Return how the answer to the call just played differs; a call that is left out has no answer."""
    call = calls[index]
    received = call.answered and not (index in change.calls and change.remedy == LEAVE_OUT)
    theirs = answer_of(player.simulator, call.tool, outcome, received=received)
    return answer_difference(call.tool, index, original.answers[index], theirs)


def recurs(
    event: HarmEvent,
    original: Sequence[HarmEvent],
    others: Sequence[HarmEvent],
    changed: Sequence[int] = (),
) -> bool:
    """Return whether an event of the episode recurs in another course of it.

    It recurs if the same call, or another one that was `changed`, does such harm again until the event's
    end, unless that is an earlier event of the episode; or if any call's harm of that kind is under way when
    the event began, unless it was in the episode as well.
    """
    calls = {event.call, *changed}
    earlier = [one for one in original if _key(one) == _key(event) and one.t_end < event.t_start]
    for other in others:
        if (other.kind, other.entity) != (event.kind, event.entity):
            continue
        if _under_way(other, event.t_start):
            beside = [one for one in original if one != event and _key(one) == _key(other)]
            if not any(_under_way(one, event.t_start) for one in beside):
                return True
        is_earlier = any(one.t_start <= other.t_end and other.t_start <= one.t_end for one in earlier)
        if other.call in calls and other.t_start <= event.t_end and not is_earlier:
            return True
    return False


def _take(comparison: TelemetryComparison, received: Sequence[Sample], taken: int) -> int:
    comparison.take_all(received[taken:])
    return len(received)


def state_matches(player: Player, original: Replay, call: int) -> bool:
    """Return whether the true state before this call equals the episode's, except for rounding."""
    return alike(player.simulator.state_dict(), original.true_states[call])


def _future_matches(player: Player, original: Replay, call: int) -> bool:
    """Return whether the state before this call equals the episode's, so that the rest is identical."""
    point = original.checkpoint_at(call)
    return point is not None and same_future(player.simulator.snapshot(), point.snapshot)


def _under_way(event: HarmEvent, t: float) -> bool:
    return event.t_start <= t + SAME_MOMENT < event.t_end - SAME_MOMENT


def _key(event: HarmEvent) -> tuple[str, str, int]:
    return event.kind, event.entity, event.call


def same_future(one: Snapshot, other: Snapshot) -> bool:
    """Return whether the same calls give bit-for-bit the same results from these two snapshots.

    False if that cannot be decided: True is always certain.
    """
    if one.sensors != other.sensors or one.parts.keys() != other.parts.keys():
        return False
    return all(_same(part, other.parts[name], {}) for name, part in one.parts.items())


def _same(one: Any, other: Any, seen: dict[tuple[int, int], tuple[Any, Any]]) -> bool:
    """Return whether two parts are equal; `seen` keeps pairs alive, as another could get a freed one's id."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, HarmLedger):
        # It records the past, and does not affect the future.
        return True
    if isinstance(one, Alike):
        return one.is_as(other)
    if isinstance(one, MethodType):
        return bool(one == other)
    pair = id(one), id(other)
    if pair in seen:
        return True
    seen[pair] = one, other
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key], seen) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_same(a, b, seen) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool | int | float | str | bytes | frozenset | set):
        return bool(one == other)
    inside = _attributes(one)
    if inside is not None:
        theirs = _attributes(other)
        return theirs is not None and _same(inside, theirs, seen)
    try:
        # Extension objects are compared by their pickled form.
        return pickle.dumps(one) == pickle.dumps(other)
    except Exception:
        return False


def _attributes(thing: Any) -> dict[str, Any] | None:
    """Return the attributes of a plain object; None for functions and extension objects."""
    if callable(thing):
        return None
    inside = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name):
                inside[name] = getattr(thing, name)
    return inside or None
