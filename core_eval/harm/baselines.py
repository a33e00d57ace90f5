"""Baselines that compare only end states and answers, as BFCL does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_eval.text.values import same_value


@dataclass(frozen=True)
class AnsweredCall:
    """A call with its result."""

    name: str
    arguments: Mapping[str, Any]
    result: Any


def response_baseline(golden: Sequence[AnsweredCall], agent: Sequence[AnsweredCall]) -> bool:
    """Return whether the agent's answered calls contain the golden run's, as a multiset.

    Order and extra calls are ignored, which is why this baseline misses harm.
    """
    left = list(agent)
    for call in golden:
        found = next((place for place, other in enumerate(left) if _same_call(call, other)), None)
        if found is None:
            return False
        del left[found]
    return True


def _same_call(one: AnsweredCall, other: AnsweredCall) -> bool:
    return (
        one.name == other.name
        and same_value(one.arguments, other.arguments)
        and same_value(one.result, other.result)
    )


def final_state_baseline(golden: Any, agent: Any) -> bool:
    """Return whether two end states are equal; fields with a leading underscore are ignored at any depth."""
    return same_value(public(golden), public(agent))


def public(state: Any) -> Any:
    """Return a state without its private fields, those with a leading underscore, at any depth."""
    if isinstance(state, Mapping):
        return {key: public(value) for key, value in state.items() if not str(key).startswith("_")}
    if isinstance(state, list | tuple):
        return [public(value) for value in state]
    return state
