"""An initial state that calls before the episode bring about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

from configs.errors import ConfigError
from configs.worlds_loader import World, make_simulator
from core_eval.path.calls import CallStatus


def state_after(world: World, calls: Sequence[Any]) -> dict[str, Any]:
    """Return what differs from a world's initial state after calls, each `TOOL` or `{TOOL: ARGUMENTS}`.

    Raises:
        ConfigError: one of them is no call, or is not executed; at its place.
    """
    simulator = make_simulator(world)
    for place, call in enumerate(calls):
        written = {call: {}} if isinstance(call, str) else call
        if not isinstance(written, Mapping) or len(written) != 1:
            raise ConfigError("must be a tool, or a tool with its arguments", at=(place,))
        ((tool, arguments),) = written.items()
        if not isinstance(arguments, Mapping):
            raise ConfigError("the arguments must be a mapping", at=(place, tool))
        outcome = simulator.execute(tool, arguments, Event())
        if outcome.status != CallStatus.OK:
            raise ConfigError(f"{tool} is {outcome.status}: {outcome.message}", at=(place,))
    before, after = world.state.model_dump(mode="json"), simulator.state_dict()
    return _difference(before, {key: after.get(key, value) for key, value in before.items()})


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides that make the one of the other; null removes a key."""
    changed: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        was = before.get(key)
        if isinstance(was, Mapping) and isinstance(value, Mapping):
            value = _difference(was, value)
            if not value:
                continue
        if key not in before or value != was:
            changed[key] = value
    return changed
