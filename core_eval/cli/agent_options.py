"""`--set`: options that all model agents of a run get, and the variants that several values make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from agents.options import LIMITS, ModelOptions, make_options, merged
from agents.registry import ParsedSpec, parse_spec
from configs.task_entry import TaskLimits
from configs.yaml_file import nearest
from core_eval.cli.output import UsageError

WHOLE = frozenset({"extra_body", "header", "name", "system_prompt"})
"""Options whose text may hold a comma: they take one value."""
EPISODE_LIMITS = {"max_steps": "steps", "max_tokens": "output_tokens", "max_seconds": "seconds"}
"""Options that limit agents which are no models, too."""


def parse_settings(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each KEY=VALUE[,VALUE].

    Raises:
        UsageError: a text has another form, or a key is given twice.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key:
            raise UsageError(f"--set {text!r}: write KEY=VALUE, or KEY=VALUE,VALUE for several")
        if key in found:
            raise UsageError(f"--set {key}: is given twice; write --set {key}=VALUE,VALUE")
        found[key] = [value] if key in WHOLE else value.split(",")
    return found


def with_settings(agents: Sequence[str], settings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the agents' specifications in canonical form, each model with every combination of the values.

    Args:
        agents: the specifications as they were given; one that is no model stays as it is, and a model that
            does not take an option runs without it.
        settings: options to values.

    Raises:
        UsageError: no agent takes one of the options.
        AgentSpecError: a specification or a value is invalid.
    """
    parsed = [parse_spec(spec) for spec in agents]
    for key in settings:
        if key not in EPISODE_LIMITS and not any(_takes(one, key) for one in parsed):
            there = nearest(list(ModelOptions.model_fields), key)
            raise UsageError(f"--set {key}: none of the agents takes it; models take {there}")
    return list(dict.fromkeys(spec for one in parsed for spec in _variants(one, settings)))


def episode_limits(settings: Mapping[str, Sequence[str]]) -> TaskLimits:
    """Return the limits among the settings, which hold for agents of all kinds.

    Raises:
        AgentSpecError: a value is invalid.
    """
    given = {key: settings[key][0] for key in EPISODE_LIMITS if len(settings.get(key, ())) == 1}
    options = make_options("--set of an", given, LIMITS)
    return TaskLimits(**{limit: getattr(options, key) for key, limit in EPISODE_LIMITS.items()})


def _variants(one: ParsedSpec, settings: Mapping[str, Sequence[str]]) -> list[str]:
    if one.options is None or one.form.model is None:
        return [one.text()]
    taken = {key: values for key, values in settings.items() if _takes(one, key)}
    found = []
    for values in product(*taken.values()):
        given = make_options(one.name, dict(zip(taken, values, strict=True)), one.form.model.options)
        found.append(ParsedSpec(one.name, one.form, one.rest, merged(one.options, given)).text())
    return found


def _takes(one: ParsedSpec, key: str) -> bool:
    return one.form.model is not None and (key in one.form.model.options or key == "name")
