"""Reads what a replay of a logged episode needs: its world, and the calls that reached the device.

Initial states that logs of earlier versions hold are brought to today's models, so that they load.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from configs.errors import ConfigError
from configs.worlds_loader import World, load_world, make_simulator
from core_eval.call_status import CallStatus
from core_eval.harm.report import ExecutedCall
from core_eval.log import EpisodeRow, LogReader, StepRow
from core_eval.path.calls import StepKind
from core_eval.text.json_text import as_logged
from devices.outcome import PROTECTIVE_STOP
from sims.world_type import WorldType, world_of_device

LATE = "late"
"""The code with which a device refuses a call whose deadline has passed."""


class NoReplayError(Exception):
    """The reason why the harm of an episode cannot be assessed, in one line."""


def logged_world(reader: LogReader, episode: EpisodeRow) -> World:
    """Return the simulated world of an episode; of an earlier version, in today's model.

    Raises:
        NoReplayError: there is none, or the rig reported no truth, or one that does not fit the logged world.
    """
    if episode.imported is not None:
        raise NoReplayError("an imported trace has no world")
    kind = world_of_device(episode.device)
    if kind is None:
        raise NoReplayError(f"a {episode.device} has no harm rules: no package registers a world of it")
    if not episode.simulated or episode.world is None:
        raise NoReplayError("the rig is no simulator whose world the kit knows")
    begun = next((row.state for row in reader.truth(episode.id) if row.call_id is None), None)
    if begun is None:
        raise NoReplayError("the rig reported no truth, and the log names no twin of it")
    # Prefer the initial state reported by the rig: it may have been started with another one.
    initial = begun.get("_initial", episode.definition.world_state)
    earlier = is_earlier(episode, kind)
    try:
        state = todays_state(kind, initial or {}) if earlier else kind.state.model_validate(initial)
    except (ValidationError, ConfigError, LookupError, AttributeError) as error:
        fault = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        key = ".".join(map(str, fault["loc"])) or "state"
        raise NoReplayError(f"the logged world does not fit this version: {key}: {fault['msg']}") from None
    world = World(episode.world, kind, state)
    if earlier:
        # Its simulator may have been another one; the replay shows whether today's answers alike.
        return world
    stated = {key: value for key, value in begun.items() if key != "_initial"}
    if stated:
        try:
            simulator = make_simulator(world)
        except ConfigError as error:
            raise NoReplayError(str(error)) from None
        simulator.init(episode.init, episode.world_seed)
        if not _is_stated(as_logged(simulator.state_dict()), stated):
            raise NoReplayError("the rig's initial state is not that of the world in the log")
    return world


def executed_calls(steps: Sequence[StepRow]) -> list[ExecutedCall]:
    """Return the calls that reached the device, in order."""
    return [
        ExecutedCall(
            step=step.k,
            tool=step.tool or "",
            arguments=step.arguments or {},
            status=step.status,
            duration=step.duration or 0.0,
            harmful=step.kind == StepKind.HARMFUL,
            answered=_answered(step),
            partly=step.error_code == PROTECTIVE_STOP,
        )
        for step in steps
        if step.call_id is not None and step.status is not None
    ]


def reported_states(
    reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow]
) -> list[Mapping[str, Any] | None]:
    """Return the true state after each call that reached the device; None where the rig did not report it."""
    reported = {row.call_id: row.state for row in reader.truth(episode.id) if row.call_id is not None}
    return [
        reported.get(step.call_id) for step in steps if step.call_id is not None and step.status is not None
    ]


def _answered(step: StepRow) -> bool:
    """Return whether the device answered; faults raised by the host have no device time."""
    return step.status != CallStatus.FAULT or bool(step.t_device) or step.error_code == LATE


def _is_stated(state: Any, stated: Any) -> bool:
    """Return whether a state has all that a rig stated; one that was recorded before lacks newer keys."""
    if isinstance(stated, Mapping) and isinstance(state, Mapping):
        return all(key in state and _is_stated(state[key], value) for key, value in stated.items())
    if isinstance(stated, list) and isinstance(state, list):
        return len(state) == len(stated) and all(map(_is_stated, state, stated))
    return bool(state == stated)


def is_earlier(episode: EpisodeRow, kind: WorldType) -> bool:
    """Return whether an episode was logged with an earlier version of its world."""
    return (episode.definition.world_version or 0) < kind.version


def todays_state(kind: WorldType, logged: Mapping[str, Any]) -> BaseModel:
    """Return a state of an earlier version in today's model.

    Keys that the model has lost are dropped; those that it has gained, and requires, have the value of the
    shipped world, and in a named thing that the shipped world lacks that of its first one.

    Raises:
        ValidationError: the state has other faults.
        ConfigError: no package registers the world any more.
    """
    state: dict[str, Any] = copy.deepcopy(dict(logged))
    for key in kind.removed:
        *path, last = key.split(".")
        part: Any = state
        for name in path:
            part = part.get(name, {}) if isinstance(part, dict) else {}
        if isinstance(part, dict):
            part.pop(last, None)
    try:
        return kind.state.model_validate(state)
    except ValidationError as error:
        missing = [fault["loc"] for fault in error.errors() if fault["type"] == "missing"]
    shipped: Any = load_world(kind.name).state.model_dump(mode="json")
    for place in missing:
        part, default = state, shipped
        for part_name in place[:-1]:
            part, default = part[part_name], default.get(part_name) or next(iter(default.values()))
        part[place[-1]] = default[place[-1]]
    return kind.state.model_validate(state)
