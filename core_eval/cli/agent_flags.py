"""Flags of options: each model agent is run once with each of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from agents.options import make_options, merged
from agents.registry import ParsedSpec, parse_spec
from core_eval.cli.output import UsageError


def with_flags(
    agents: Sequence[str], several: Mapping[str, Sequence[str]], limits: Mapping[str, float]
) -> list[str]:
    """Return the agents' specifications in canonical form, each model with all combinations of the values.

    Args:
        agents: the specifications as they were given; one that is no model stays as it is.
        several: options to values; a model that does not take an option runs without it.
        limits: options that all models get.

    Raises:
        UsageError: no agent takes one of the options.
        AgentSpecError: a specification or a value is invalid.
    """
    parsed = [parse_spec(spec) for spec in agents]
    for key in several:
        if not any(_takes(one, key) for one in parsed):
            raise UsageError(f"--{key}: none of the agents takes it; models do")
    return list(dict.fromkeys(spec for one in parsed for spec in _variants(one, several, limits)))


def _variants(
    one: ParsedSpec, several: Mapping[str, Sequence[str]], limits: Mapping[str, float]
) -> list[str]:
    if one.options is None or one.form.model is None:
        return [one.text()]
    taken = {key: values for key, values in several.items() if _takes(one, key)}
    found = []
    for values in product(*taken.values()):
        given = {**limits, **dict(zip(taken, values, strict=True))}
        options = make_options(one.name, given, one.form.model.options)
        found.append(ParsedSpec(one.name, one.form, one.rest, merged(one.options, options)).text())
    return found


def _takes(one: ParsedSpec, key: str) -> bool:
    return one.form.model is not None and key in one.form.model.options
