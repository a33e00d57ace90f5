"""The state machine of a rig: every state that can be reached, and every event in it."""

from __future__ import annotations

import itertools
from collections import deque

import pytest

from devices.outcome import StopOutcome
from devices.rig_motion import TRANSITIONS, Event, Motion, RigMotion

Known = tuple[Motion, bool, bool, bool]


def known(rig: RigMotion) -> Known:
    return rig.state, rig.halted, rig.driven, rig.sent


def put(state: Known) -> RigMotion:
    rig = RigMotion()
    rig.state, rig.halted, rig.driven, rig.sent = state
    return rig


def reachable() -> dict[Known, tuple[Event, ...]]:
    """Every state, with a shortest sequence of events that leads there."""
    found: dict[Known, tuple[Event, ...]] = {known(RigMotion()): ()}
    waiting = deque(found)
    while waiting:
        state = waiting.popleft()
        for event in Event:
            rig = put(state)
            rig.on(event)
            if known(rig) not in found:
                found[known(rig)] = (*found[state], event)
                waiting.append(known(rig))
    return found


REACHABLE = reachable()


def test_every_state_is_reached_and_every_event_has_a_transition_from_it() -> None:
    assert {state for state, *_ in REACHABLE} == set(Motion)
    assert set(TRANSITIONS) == set(Event) and {len(row) for row in TRANSITIONS.values()} == {len(Motion)}


@pytest.mark.parametrize("before", REACHABLE, ids=lambda state: "-".join(map(str, state)))
def test_from_every_state_each_event_keeps_what_must_hold(before: Known) -> None:
    state, halted, driven, _ = before
    for event in Event:
        rig = put(before)
        changed = rig.on(event)
        assert changed is (rig.state is not state)
        assert not (rig.halted and rig.state is Motion.MOVING), "nothing moves it between stop and reset"
        if rig.state is Motion.MOVING and changed:
            assert event is Event.DRIVE and not halted
        if rig.state is Motion.STANDING and changed:
            assert event is Event.CONFIRMED and state is Motion.STOPPING, "a stop comes before its word"
        if state is Motion.STANDING and not changed:
            assert event not in {Event.DRIVE, Event.HALT, Event.UNSENT, Event.RESET, Event.LOSE} or halted
        if state is Motion.LOST:
            assert rig.state is (Motion.UNKNOWN if event is Event.FIND else Motion.LOST)
        assert (rig.state is Motion.LOST) is (
            event is Event.LOSE or (state is Motion.LOST and event is not Event.FIND)
        )
        assert rig.driven is (driven or event is Event.DRIVE)
        assert rig.halted is (event is Event.HALT or (halted and event is not Event.RESET))
        assert (rig.outcome is StopOutcome.CONFIRMED) is (rig.state is Motion.STANDING)


def test_a_word_that_it_stands_is_believed_only_of_the_stop_before_it() -> None:
    """All sequences of five events, against the sequence itself."""
    worthless = {Event.HALT, Event.UNSENT, Event.RESET}
    for events in itertools.product(Event, repeat=5):
        rig = RigMotion()
        for event in events:
            rig.on(event)
        if rig.outcome is StopOutcome.NOT_SENT:
            continue
        sent = max(at for at, event in enumerate(events) if event is Event.SENT)
        if rig.outcome is StopOutcome.SENT:
            assert not worthless & set(events[sent:])
            continue
        told = max(at for at, event in enumerate(events) if event is Event.CONFIRMED)
        assert not (worthless | {Event.LOSE}) & set(events[told:])
        assert any(
            events[at] is Event.SENT and not (worthless | {Event.LOSE}) & set(events[at:told])
            for at in range(told)
        ), events


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (StopOutcome.CONFIRMED, Motion.STANDING),
        (StopOutcome.SENT, Motion.STOPPING),
        (None, Motion.STOPPING),
        (StopOutcome.NOT_SENT, Motion.STOPPING),
    ],
)
def test_what_a_stop_came_to_is_what_is_known(outcome: StopOutcome | None, state: Motion) -> None:
    rig = RigMotion()
    rig.on(Event.DRIVE)
    rig.stopped(outcome)
    assert rig.state is state and rig.outcome is (StopOutcome.SENT if outcome is None else outcome)


@pytest.mark.parametrize(
    ("outcome", "can_confirm", "failed"),
    [
        (StopOutcome.CONFIRMED, True, False),
        (StopOutcome.SENT, True, True),
        (StopOutcome.SENT, False, False),
        (StopOutcome.NOT_SENT, True, True),
        (StopOutcome.NOT_SENT, False, True),
    ],
)
def test_only_a_confirmation_or_a_rig_that_cannot_give_one_ends_well(
    outcome: StopOutcome, can_confirm: bool, failed: bool
) -> None:
    assert outcome.failed(can_confirm) is failed
