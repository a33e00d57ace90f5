"""Executes an arm's whole motions as calls, from start to rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from devices.arm.arm_world import ArmWorld
from sims.arm import scene_parts
from sims.arm.call_time import CallTime, PassTime
from sims.arm.motion import NO_AID
from sims.clock import Clock
from sims.simulator import CallOptions

W = TypeVar("W", bound="ArmWorld")
POSE_TOLERANCE = 0.005
"""Tolerance within which the arm has arrived at its commanded pose, m."""


class ArmHandling(ABC, Generic[W]):
    """Motions of an arm from start to rest. They take device time by `pass_time(seconds, tick)`.

    Args:
        world: its initial state, with the state of the gripper.
        stopped: the message of the protective stop, with numbers of the world's `{arm}`.
    """

    stopped: ClassVar[str]

    def __init__(
        self, world: W, physics: Any, monitor: Any, motion: Any, pass_time: PassTime, clock: Clock
    ) -> None:
        self.world = world
        self._physics, self._monitor, self._motion = physics, monitor, motion
        self.gripper: Literal["open", "closed"] = world.gripper
        self.next_aid = NO_AID
        """Aid for the next motion."""
        self._aid = NO_AID
        stopped = self.stopped.format(arm=world.arm)
        self.time = CallTime(motion, pass_time, clock, scene_parts.TIMESTEP, stopped)
        """The device time of the running call."""

    @abstractmethod
    def _help(self, target: str | None, *, closing: bool) -> None:
        """Set up the aid of the motion that begins; it holds until the next one begins."""

    def perform(
        self,
        call: CallOptions,
        action: Callable[[Any], None],
        target: str | None = None,
        *,
        closing: bool = False,
    ) -> None:
        """Execute a whole motion as a call.

        Where a counterfactual gives the duration, a motion that has not ended by then does the rest in no
        device time, so that the times of all later calls stay.

        Args:
            call: its index and duration.
            action: one of the whole motions, called on the handling that executes it.
            target: the object that the arm may touch beside the one that it holds.
            closing: make whatever the fingers touch a target.
        """
        self.time.begin(call.duration)
        self._wait(call, action, target, closing)
        self._begin(call, target, closing)
        try:
            action(self)
        finally:
            self._monitor.end_call()
        if self._motion.resting:
            self._monitor.pieces.part(self._monitor.anew)
        off_target = np.array(self._physics.tip()[:3]) - self._physics.target[:3]
        self.time.arrived = float(np.linalg.norm(off_target)) < POSE_TOLERANCE

    def _wait(
        self, call: CallOptions, action: Callable[[Any], None], target: str | None, closing: bool
    ) -> None:
        """Let time pass before a motion that shall end with its duration."""
        return

    def _begin(self, call: CallOptions, target: str | None, closing: bool) -> None:
        self._help(target, closing=closing)
        self._monitor.begin_call(call.index, target, closing=closing)
