"""Decides whether unanswered calls were executed, by the states that the rig reported.

A call whose answer was lost may have been executed. If the log holds a later true state of the rig,
the course whose states agree with it is the one that happened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

from core_eval.harm.replay import Player
from core_eval.harm.report import ExecutedCall
from core_eval.text.values import alike

MOST_TRIED = 64
"""Maximum number of courses that are tried."""

ReportedStates = Sequence[Mapping[str, Any] | None]
"""The true state after each call, as the rig reported it; None where it did not."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is known of the calls without an answer.

    Attributes:
        calls: the episode's; those known to have been executed have their status and duration.
        undecided: the indices of those that remain unknown.
        mismatch: the first mismatch as text if no course agrees with the reported states; else None.
    """

    calls: tuple[ExecutedCall, ...]
    undecided: tuple[int, ...] = ()
    mismatch: str | None = None


def resolve(player: Player, calls: Sequence[ExecutedCall], reported: ReportedStates) -> Resolved:
    """Find the course of the episode that agrees with the states that the rig reported."""
    lost = [index for index, call in enumerate(calls) if call.may_be_done]
    if not lost:
        return Resolved(tuple(calls))
    last = max((index for index, state in enumerate(reported) if state is not None), default=-1)
    undecided = tuple(index for index in lost if index > last)
    found: str | None = None
    for done in _courses([index for index in lost if index <= last], reported):
        course = as_done(player, calls, done)
        wrong = _replayed_disagreement(player, course[: last + 1], reported)
        if wrong is None:
            return Resolved(course, undecided)
        found = found or f"step {calls[wrong].step} ({calls[wrong].tool})"
    return Resolved(tuple(calls), undecided, f"the rig's own state after {found} is not that of the replay")


def as_done(player: Player, calls: Sequence[ExecutedCall], done: frozenset[int]) -> tuple[ExecutedCall, ...]:
    """Return the calls; those in `done` get their simulated status and duration."""
    if not done:
        return tuple(calls)
    course = list(calls)
    player.go_to_start()
    for index, call in enumerate(calls[: max(done) + 1]):
        if index not in done:
            player.replay_call(call)
        else:
            outcome = player.execute(call.tool, call.arguments)
            course[index] = replace(call, status=outcome.status, duration=outcome.duration)
        player.simulator.state_dict()
    return tuple(course)


def first_disagreement(
    states: Sequence[Mapping[str, Any]], reported: ReportedStates, but: Collection[str] = ()
) -> int | None:
    """Return the first call after which the rig reported another state than `states`.

    The keys in `but` are not compared.
    """
    return next(
        (
            index
            for index, (state, own) in enumerate(zip(states, reported, strict=False))
            if own is not None and not agrees_where_reported(own, state, but)
        ),
        None,
    )


def agrees_where_reported(
    reported: Mapping[str, Any], state: Mapping[str, Any], but: Collection[str] = ()
) -> bool:
    """Return whether a state agrees with a reported one on their common keys."""
    for key, value in reported.items():
        if key not in state or key in but:
            continue
        own = state[key]
        if isinstance(value, Mapping) and isinstance(own, Mapping):
            if not agrees_where_reported(value, own, but):
                return False
        elif not alike(value, own):
            return False
    return True


def _courses(lost: Sequence[int], reported: ReportedStates) -> Iterator[frozenset[int]]:
    """Yield sets of executed calls, likeliest first: a rig reports its state after executing."""
    likely = frozenset(index for index in lost if reported[index] is not None)
    yield likely
    others = chain.from_iterable(combinations(lost, count) for count in range(len(lost) + 1))
    for tried, other in enumerate(others):
        if tried == MOST_TRIED:
            return
        if frozenset(other) != likely:
            yield frozenset(other)


def _replayed_disagreement(
    player: Player, calls: Sequence[ExecutedCall], reported: ReportedStates
) -> int | None:
    player.go_to_start()
    states = []
    for call in calls:
        player.replay_call(call)
        states.append(player.simulator.state_dict())
    return first_disagreement(states, reported, player.simulator.names_calls)
