"""Brings the initial states that logs of earlier versions hold to today's models, so that they load."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from configs.worlds_loader import load_world
from core_eval.log import EpisodeRow
from sims.world_type import WorldType


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
