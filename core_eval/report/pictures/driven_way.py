"""The way that a machine took between its calls: replayed, as the log has its true position after each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from configs.worlds_loader import make_simulator
from core_eval.harm.logged_episode import NoReplayError, executed_calls, logged_world
from core_eval.harm.replay import Player, ReplayError
from core_eval.log import EpisodeRow, LogReader, StepRow
from core_eval.log.rows import TruthRow
from core_eval.report.pictures.field_shapes import Point
from core_eval.score.repeated import passed
from core_eval.text.json_text import json_text
from sims.world_shapes import pose_of

LOOK_S = 0.25
"""Device time between two points, s."""
SAME_M = 1e-6
"""Tolerance of a replayed position, m."""


Way = list[tuple[float, Point]]


class Ways:
    """The ways of a log's episodes; those with the same start, calls and positions are replayed once.

    With `failed_only` those of episodes that passed are left out: a replay takes longer than all the rest.
    """

    def __init__(self, *, failed_only: bool = False) -> None:
        self._failed_only = failed_only
        self._known: dict[tuple[str, ...], Way] = {}

    def __call__(
        self, reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow], truth: Sequence[TruthRow]
    ) -> Way:
        """Return the way of an episode."""
        if self._failed_only and passed(episode):
            return []
        calls = [(step.tool, step.arguments) for step in steps if step.call_id is not None and step.status]
        start = episode.definition.world_state, episode.init, episode.world_seed
        places = [_position(row.state) for row in truth]
        key = (episode.world or "", *(json_text(part) for part in (start, calls, places)))
        if key not in self._known:
            self._known[key] = driven_way(reader, episode, steps, truth)
        return self._known[key]


def driven_way(
    reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow], truth: Sequence[TruthRow]
) -> Way:
    """Return the true way of an episode's machine: device times, s, and positions.

    Empty where the machine stayed where it was, there is no replay, or it does not stop where the log says.
    """
    logged = {row.call_id: at for row in truth if (at := _position(row.state)) is not None}
    calls = executed_calls(steps)
    ids = [step.call_id for step in steps if step.call_id is not None and step.status is not None]
    moving = _moving(ids, logged)
    if not moving:
        return []
    try:
        world = logged_world(reader, episode)
        player = Player(lambda: make_simulator(world), episode.init, episode.world_seed)
    except (NoReplayError, ReplayError):
        return []
    simulator = player.simulator
    way: Way = []

    def look(now: float) -> None:
        at = _position(simulator.state_dict())
        if at is not None:
            way.append((now, at))

    look(0.0)
    # What follows the last motion is not replayed, and while it stands still nobody looks.
    for place, (call_id, call) in enumerate(zip(ids[: moving[-1] + 1], calls, strict=False)):
        simulator.watch(LOOK_S, look if place in moving else None)
        player.replay_call(call)
        look(simulator.clock.now)
        expected = logged.get(call_id)
        if expected is not None and math.dist(expected, way[-1][1]) > SAME_M:
            return []
    return way


def _moving(ids: Sequence[str], logged: Mapping[str | None, Point]) -> list[int]:
    """Return the places of the calls after which the machine is elsewhere than before."""
    at, places = logged.get(None), []
    for place, call_id in enumerate(ids):
        now = logged.get(call_id, at)
        if now != at:
            places.append(place)
        at = now
    return places


def _position(state: Mapping[str, Any]) -> Point | None:
    pose = pose_of(state)
    return None if pose is None else (pose["x"], pose["y"])
