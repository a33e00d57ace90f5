"""The baselines that look at ends and answers alone, as BFCL does (spec: core, section 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_eval.path.values import same_value


@dataclass(frozen=True)
class AnsweredCall:
    """A call with the result that it gave."""

    name: str
    arguments: Mapping[str, Any]
    result: Any


def response_baseline(golden: Sequence[AnsweredCall], agent: Sequence[AnsweredCall]) -> bool:
    """Say whether the golden run's answered calls are all among the agent's, as a multiset.

    Order and extra calls cost nothing: that is what makes this baseline blind.
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
    """Say whether two end states are equal, fields that begin with an underscore ignored at any depth."""
    return same_value(public(golden), public(agent))


def public(state: Any) -> Any:
    """Give a state without its private fields, those with a leading underscore, at any depth."""
    if isinstance(state, Mapping):
        return {key: public(value) for key, value in state.items() if not str(key).startswith("_")}
    if isinstance(state, list | tuple):
        return [public(value) for value in state]
    return state
