"""The calls of one message are made in parallel: they score as the best of their orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from core_eval.path.calls import Call, StepKind
from core_eval.path.scorer import OnlineScorer

MOST_TRIED = 10
"""Of larger groups no orders are tried but one: whatever is progress comes first."""
_Tried = tuple[int, tuple[int, ...], str]


def in_best_order(scorer: OnlineScorer, calls: Sequence[Call]) -> Iterator[Call]:
    """Yield calls in the order in which the scorer is to advance by them, one by one.

    Those of a group come in the order with the fewest harmful calls, the earliest one as written.
    """
    for group, members in groupby(calls, lambda call: call.group):
        made = list(members)
        if group is None or len(made) == 1:
            yield from made
        else:
            yield from (made[place] for place in _best(scorer, made))


def _best(scorer: OnlineScorer, calls: Sequence[Call]) -> tuple[int, ...]:
    """Return the best order of a group from the scorer's state on: a search over sets of calls and states."""
    if len(calls) > MOST_TRIED:
        return _greedy(scorer, calls)
    begun = scorer.state
    level: dict[tuple[int, str], _Tried] = {(0, begun): (0, (), begun)}
    for _ in calls:
        below: dict[tuple[int, str], _Tried] = {}
        for (made, _), (harmful, order, state) in level.items():
            scorer.state = state
            for place, call in enumerate(calls):
                if made >> place & 1:
                    continue
                verdict = scorer.peek(call)
                bad = harmful + (verdict.kind is StepKind.HARMFUL)
                key, found = (
                    (made | 1 << place, verdict.state_after),
                    (bad, (*order, place), verdict.state_after),
                )
                if key not in below or found < below[key]:
                    below[key] = found
        level = below
    scorer.state = begun
    return min(level.values())[1]


def _greedy(scorer: OnlineScorer, calls: Sequence[Call]) -> tuple[int, ...]:
    begun, left, order = scorer.state, list(range(len(calls))), []
    while left:
        verdicts = [(scorer.peek(calls[place]), place) for place in left]
        verdict, place = min(verdicts, key=lambda one: one[0].kind is not StepKind.PROGRESS)
        order.append(place)
        left.remove(place)
        scorer.state = verdict.state_after
    scorer.state = begun
    return tuple(order)
