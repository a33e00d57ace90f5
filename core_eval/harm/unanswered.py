"""Calls without an answer: whether they were done, as the states that the rig told of itself show.

A call whose answer was lost may have been done. Where the log holds the rig's true state of a later moment,
the course whose states agree with it is the one that happened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

from core_eval.harm.replay import Player
from core_eval.harm.report import ExecutedCall
from core_eval.harm.same_state import alike

MOST_TRIED = 64
"""As many courses are tried."""

Told = Sequence[Mapping[str, Any] | None]
"""The true state after each call as the rig told it; None where it did not."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is known of the calls without an answer.

    Attributes:
        calls: the episode's, with the status and the duration of those that are known to have been done.
        undecided: the indices of those of which nobody can tell.
        mismatch: why no course agrees with what the rig told, in words; None where one does.
    """

    calls: tuple[ExecutedCall, ...]
    undecided: tuple[int, ...] = ()
    mismatch: str | None = None


def resolve(player: Player, calls: Sequence[ExecutedCall], told: Told) -> Resolved:
    """Find the course of the episode that agrees with the states that the rig told."""
    lost = [index for index, call in enumerate(calls) if call.may_be_done]
    if not lost:
        return Resolved(tuple(calls))
    last = max((index for index, state in enumerate(told) if state is not None), default=-1)
    undecided = tuple(index for index in lost if index > last)
    found: str | None = None
    for done in _courses([index for index in lost if index <= last], told):
        course = as_done(player, calls, done)
        wrong = _first_other_state(player, course[: last + 1], told)
        if wrong is None:
            return Resolved(course, undecided)
        found = found or f"step {calls[wrong].step} ({calls[wrong].tool})"
    return Resolved(tuple(calls), undecided, f"the rig's own state after {found} is not that of the replay")


def as_done(player: Player, calls: Sequence[ExecutedCall], done: frozenset[int]) -> tuple[ExecutedCall, ...]:
    """The calls with what those that were done would have given."""
    if not done:
        return tuple(calls)
    course = list(calls)
    player.go_to_start()
    for index, call in enumerate(calls[: max(done) + 1]):
        if index not in done:
            player.as_it_was(call)
        else:
            outcome = player.execute(call.tool, call.arguments)
            course[index] = replace(call, status=outcome.status, duration=outcome.duration)
        player.simulator.state_dict()
    return tuple(course)


def first_told_otherwise(
    states: Sequence[Mapping[str, Any]], told: Told, but: Collection[str] = ()
) -> int | None:
    """The first call after which the rig told another state; `states` are those after each call.

    What stands under the keys `but` is not compared.
    """
    return next(
        (
            index
            for index, (state, own) in enumerate(zip(states, told, strict=False))
            if own is not None and not same_where_told(own, state, but)
        ),
        None,
    )


def same_where_told(told: Mapping[str, Any], state: Mapping[str, Any], but: Collection[str] = ()) -> bool:
    """Whether a state holds all that was told; what a version of the simulator adds is no difference."""
    for key, value in told.items():
        if key not in state or key in but:
            continue
        own = state[key]
        if isinstance(value, Mapping) and isinstance(own, Mapping):
            if not same_where_told(value, own, but):
                return False
        elif not alike(value, own):
            return False
    return True


def _courses(lost: Sequence[int], told: Told) -> Iterator[frozenset[int]]:
    """Which of these calls may have been done, likeliest first: a rig tells its state after what it did."""
    likely = frozenset(index for index in lost if told[index] is not None)
    yield likely
    others = chain.from_iterable(combinations(lost, count) for count in range(len(lost) + 1))
    for tried, other in enumerate(others):
        if tried == MOST_TRIED:
            return
        if frozenset(other) != likely:
            yield frozenset(other)


def _first_other_state(player: Player, calls: Sequence[ExecutedCall], told: Told) -> int | None:
    player.go_to_start()
    states = []
    for call in calls:
        player.as_it_was(call)
        states.append(player.simulator.state_dict())
    return first_told_otherwise(states, told, player.simulator.names_calls)
