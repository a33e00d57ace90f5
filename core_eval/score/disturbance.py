"""Faults that are not the agent's: they disturb an episode, so that its path says nothing of the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from core_eval.call_status import CallStatus
from core_eval.log import EpisodeRow, EpisodeStart, StepRow
from devices.faults import LINK_FAULTS
from devices.outcome import FaultOwner, owner_of

MOST = 3
"""So many disturbing faults end an episode as an error, and so many disturbed episodes in a row the run."""
BROKEN = frozenset({"RigError"})
"""The stop reasons of an episode that rig or link ended."""


CUT = frozenset({"max_time", "person", "stop_input"})
"""The stop reasons of an episode whose running call was given up: its fault is nobody's."""


class Disturbance:
    """Tells which faults of an episode disturb it.

    A simulator's own faults are its world's, or follow from what the agent did; faults of its link disturb
    unless the task draws such faults.
    """

    def __init__(self, *, simulated: bool, draws_link_faults: bool) -> None:
        self._owners = {FaultOwner.HOST}
        if not draws_link_faults:
            self._owners.add(FaultOwner.LINK)
        if not simulated:
            self._owners.add(FaultOwner.RIG)
        self.faults = 0

    @classmethod
    def of(cls, episode: EpisodeStart | EpisodeRow, *, simulated: bool) -> Self:
        """Return what disturbs an episode, by its row or the row of its start."""
        given = {**(episode.definition.world_state or {}), **(episode.init or {})}
        return cls(simulated=simulated, draws_link_faults=_draws_link_faults(given.get("faults")))

    def take(self, status: CallStatus | None, code: str | None) -> None:
        """Count the outcome of a call if it is a disturbing fault."""
        self.faults += status == CallStatus.FAULT and owner_of(code) in self._owners


def is_disturbed(episode: EpisodeRow, steps: Sequence[StepRow]) -> bool:
    """Return whether rig, link or host disturbed a logged episode."""
    simulated = bool(episode.simulated)
    disturbance = Disturbance.of(episode, simulated=simulated)
    for step in steps[:-1] if episode.stop_reason in CUT else steps:
        disturbance.take(step.status, step.error_code)
    # The guard and a person leave another reason: the rig had stopped by itself.
    by_rig = episode.stop_reason == "estop" and not simulated and not _stopped_itself(steps)
    return disturbance.faults > 0 or by_rig or episode.stop_reason in BROKEN


def _stopped_itself(steps: Sequence[StepRow]) -> bool:
    """Return whether a call of the agent made the rig stop."""
    faults = (step for step in steps if step.status == CallStatus.FAULT)
    return any(owner_of(step.error_code) is FaultOwner.AGENT for step in faults)


def _draws_link_faults(faults: Mapping[str, Any] | None) -> bool:
    entries = [entry for kind in ("schedule", "random") for entry in (faults or {}).get(kind, ())]
    return any(entry["kind"] in LINK_FAULTS for entry in entries)
