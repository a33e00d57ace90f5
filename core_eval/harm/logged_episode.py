"""Reads what a replay of a logged episode needs: its world, and the calls that reached the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.worlds_loader import World, make_simulator
from core_eval.harm.earlier_worlds import is_earlier, todays_state
from core_eval.harm.report import ExecutedCall
from core_eval.log import EpisodeRow, LogReader, StepRow
from core_eval.path.calls import CallStatus, StepKind
from core_eval.text.json_text import as_logged
from devices.outcome import PROTECTIVE_STOP
from sims.world_type import world_of_device

LATE = "late"
"""The code with which a device refuses a call whose deadline has passed."""


class NoReplayError(Exception):
    """The reason why the harm of an episode cannot be assessed, in one line."""


def logged_world(reader: LogReader, episode: EpisodeRow) -> World:
    """Return the simulated world of an episode; of an earlier version, in today's model.

    Raises:
        NoReplayError: there is none, or the rig reported no truth, or one that does not fit the logged world.
    """
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
        if as_logged(simulator.state_dict()) != stated:
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
