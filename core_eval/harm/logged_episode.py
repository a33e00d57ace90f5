"""What a logged episode needs to be run again: its world, and the calls that reached the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from configs.worlds_loader import World, make_simulator
from core_eval.harm.report import ExecutedCall
from core_eval.log import EpisodeRow, LogReader, StepRow
from core_eval.log.json_text import as_logged
from core_eval.path.calls import CallStatus, StepKind
from sims.world_type import world_of_device

LATE = "late"
"""The code of a device that did not start a call, since its latest moment was over."""


class NoReplayError(Exception):
    """Why the harm of an episode cannot be told, in one line."""


def logged_world(reader: LogReader, episode: EpisodeRow) -> World:
    """The world in which an episode took place, if it is one that the kit simulates.

    Raises:
        NoReplayError: it is none, or the rig told no truth, or another one than the log's world.
    """
    kind = world_of_device(episode.device)
    if kind is None:
        raise NoReplayError(f"a {episode.device} has no harm rules: no package registers a world of it")
    if not episode.simulated or episode.world is None:
        raise NoReplayError("the rig is no simulator whose world the kit knows")
    begun = next((row.state for row in reader.truth(episode.id) if row.call_id is None), None)
    if begun is None:
        raise NoReplayError("the rig told no truth, and the log names no twin of it")
    try:
        # The rig's own word goes first: whoever started it may have given it another initial state.
        state = kind.state.model_validate(begun.get("_initial", episode.definition.world_state))
    except ValidationError as error:
        raise NoReplayError(f"the log's world is none of this version: {error.errors()[0]['msg']}") from None
    world = World(episode.world, kind, state)
    stated = {key: value for key, value in begun.items() if key != "_initial"}
    if stated:
        simulator = make_simulator(world)
        simulator.init(episode.init, episode.seed)
        if as_logged(simulator.state_dict()) != stated:
            raise NoReplayError("the rig's initial state is not that of the world in the log")
    return world


def executed_calls(steps: Sequence[StepRow]) -> list[ExecutedCall]:
    """The calls that reached the device, in order."""
    return [
        ExecutedCall(
            step=step.k,
            tool=step.tool or "",
            arguments=step.arguments or {},
            status=step.status,
            duration=step.duration or 0.0,
            harmful=step.kind == StepKind.HARMFUL,
            answered=_answered(step),
        )
        for step in steps
        if step.call_id is not None and step.status is not None
    ]


def told_states(
    reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow]
) -> list[Mapping[str, Any] | None]:
    """The true state after each call that reached the device; None where the rig did not tell it."""
    told = {row.call_id: row.state for row in reader.truth(episode.id) if row.call_id is not None}
    return [told.get(step.call_id) for step in steps if step.call_id is not None and step.status is not None]


def _answered(step: StepRow) -> bool:
    """Whether a device's answer came; faults that the host tells have no device time."""
    return step.status != CallStatus.FAULT or bool(step.t_device) or step.error_code == LATE
