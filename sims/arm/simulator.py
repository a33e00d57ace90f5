"""An arm with a gripper as a device: what its tools share over MuJoCo physics, on a virtual clock."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from devices.arm.arm_world import ArmWorld
from devices.arm.gripper_tools import Gripper, Objects, OneObject, Picked, SafetyState, ThingPose
from devices.tool import NoArguments, ToolArguments, ToolResult
from sims.arm import scene_parts
from sims.arm.call_time import LONGEST_SETTLING
from sims.arm.contact_monitor import ContactMonitor, Curtain
from sims.arm.free_objects import Slots
from sims.arm.geometry import Array, array
from sims.arm.handling import ArmHandling
from sims.arm.harm_pieces import SAME_EVENT, SLOW_SPAN
from sims.arm.motion import Aid, ArmMotion
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor
from sims.simulator import CallOptions, Simulator

LOCK_TIME = 0.1
"""Switching time of the safety lock, s."""
PLACE = ("x", "y", "z", "yaw")

W = TypeVar("W", bound=ArmWorld)


class GripperArm(Simulator[W]):
    """An arm on its bench. The safe state is: arm and gripper as they are, safety locked.

    A gripper that holds something keeps holding it through a stop: releasing would drop it. While everything
    rests, time passes without physics. A subclass makes `_physics` and `_monitor` in `begin_physics`.
    """

    horizon = LONGEST_SETTLING
    run_out_step = 0.5
    grain = SAME_EVENT
    longest_piece = SLOW_SPAN
    answers_by_sensors = False
    whole_steps = True
    kept: ClassVar[tuple[str, ...]] = (
        "_physics",
        "_motion",
        "_handling",
        "_monitor",
        "curtain",
        "_ticks",
        "_locked",
        "_weakness",
    )
    joint_sensor: ClassVar[str]
    """The name of a joint's sensor before the dot."""
    joints: ClassVar[Sequence[str]]
    """What follows the dot, joint by joint."""

    pose_axes: ClassVar[tuple[str, ...]]
    """What the pose of the fingertips has."""

    _physics: Any
    _motion: Any
    _handling: Any
    _monitor: ContactMonitor[Any]
    curtain: Curtain

    motion: ClassVar[type[ArmMotion[Any]]]
    handling: ClassVar[type[ArmHandling[Any]]]
    """What moves it."""
    pose: ClassVar[type[ToolResult]]
    """The reading of the fingertips' pose."""

    @abstractmethod
    def begin_physics(self) -> None:
        """Build the bench anew with its monitor, and let the objects settle."""

    def begin(self) -> None:
        """Build the bench anew, begin the clock of the physics, and find the slots."""
        self.curtain = Curtain(self.world.light_curtain)
        self.begin_physics()
        parts = self._physics, self._monitor
        self._motion = self.motion(*parts)
        self._handling = self.handling(self.world, *parts, self._motion, self.pass_time, self.clock)
        self._locked = self.world.safety_locked
        self._ticks = 0
        self._step_ticks = Clock.to_ticks(scene_parts.TIMESTEP)
        self._weakness = 0.0
        self._slots = Slots(self.world, self._physics.objects, self.world.slot_radius)

    @property
    @abstractmethod
    def held(self) -> str | None:
        """The object that the gripper holds."""

    def tip_reading(self) -> ToolResult:
        """Return the fingertips' pose as the arm reports it."""
        return self.pose(**rounded(self.pose_axes, self._physics.tip()))

    def sensed(self, sensor: Any) -> float:
        """Return the true quantity of a sensor of the whole arm, in the unit of its key's description."""
        match sensor:
            case "gripper_closed":
                return float(self._handling.gripper == "closed")
            case "pose_reached":
                return float(self._handling.time.arrived)
            case "bumper":
                return self._monitor.bump
            case "light_curtain":
                return float(self.curtain.broken(self.clock.now))
        return self.finer(sensor)

    @abstractmethod
    def finer(self, sensor: Any) -> float:
        """Return the quantity of a sensor that only some arms have."""

    @abstractmethod
    def joint_load(self, joint: int) -> float:
        """Return the torque of a joint (from 0) as its sensor has it, N m."""

    # The base's hooks.

    def goes_on(self) -> bool:
        """Return whether anything moves, is strained, or harms; at rest that takes a while to show."""
        now = self.clock.now
        return (
            not self._motion.settled()
            or self._monitor.strained
            or (
                now < (self.ledger.record_end or now) + self.run_out_step
                and any(event.t_end >= now - SAME_EVENT for event in self.events)
            )
        )

    def still(self) -> bool:
        """Return whether physics is skipped: all rests, and the gripper is as weak as before."""
        return self._motion.resting and self.faults.strength("weak_gripper") == self._weakness

    def evolve(self, seconds: float) -> None:
        """Run the physics up to the last whole step within this time."""
        weakness = self.faults.strength("weak_gripper")
        if weakness != self._weakness:
            self._weakness = weakness
            self._physics.weaken(weakness)
            self._motion.wake()
        end = self.clock.ticks + Clock.to_ticks(seconds)
        count = (end - self._ticks) // self._step_ticks
        self._motion.run(count, Clock.to_seconds(self._ticks))
        self._ticks += count * self._step_ticks

    def make_safe(self) -> None:
        """Hold the arm and the gripper where they are, and lock the safety."""
        self._motion.halt()
        self._motion.wake()
        self.set_lock(locked=True)

    def set_lock(self, *, locked: bool) -> None:
        """Lock or unlock the safety; the light curtain counts while it is unlocked."""
        self._locked = locked
        self._monitor.unlocked = not locked

    def position(self) -> tuple[float, float]:
        """Return where the fingertips are."""
        x, y = self._physics.tip()[:2]
        return float(x), float(y)

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state in SI units: see `docs/harm-rules-arm.md`."""
        return {
            "safety_locked": self._locked,
            "gripper": self._handling.gripper,
            "holding": self.held,
            "pose": dict(zip(self.pose_axes, self._physics.tip(), strict=True)),
            "objects": self._physics.objects.poses(),
            **self.own_state(),
        }

    @abstractmethod
    def own_state(self) -> dict[str, Any]:
        """Return what the true state of this arm has besides."""

    def known(self) -> dict[str, Any]:
        """Return the state that the interlocks of every arm check."""
        return {
            "world": self.world,
            "locked": self._locked,
            "empty": self.held is None,
            "held": self.held,
            "upright": self._physics.objects.upright,
        }

    def coarse_sensors(self) -> Sequence[CoarseSensor]:
        """Return the sensors that the world fits, degraded; `at_slot.SLOT` for bins and first places."""
        hidden = self.world.hidden
        return [
            CoarseSensor(
                name,
                spec.worsened(hidden.sensor_noise, hidden.dropout),
                quantity,
                after=self.forget_bump if kind == "bumper" else None,
            )
            for kind, spec in self.world.sensors.items()
            for name, quantity in self._quantities(kind)
        ]

    def _quantities(self, kind: str) -> Iterator[tuple[str, Callable[[], float]]]:
        """Yield the names of the sensors of a kind, and what they sense, read through the simulator."""
        if kind == "at_slot":
            for slot in self.slots:
                yield f"{kind}.{slot}", partial(self.occupied, slot)
        elif kind == self.joint_sensor:
            for joint, name in enumerate(self.joints):
                yield f"{kind}.{name}", partial(self.joint_load, joint)
        else:
            yield kind, partial(self.sensed, kind)

    def coarse_state(self) -> dict[str, Any]:
        """Return the lock, the gripper's report, whether the arm is at home, and the slots."""
        home = self.world.home
        from_home = math.dist(self._physics.tip()[:3], (home.x, home.y, home.z))
        return {
            "safety": "locked" if self._locked else "unlocked",
            **self.gripper_reading().model_dump(),
            "at_home": from_home < self.world.slot_radius,
            "at_slot": {slot: self.occupied(slot) for slot in self.slots},
            "_pose": self.tip_reading().model_dump(),
        }

    def reports(self) -> dict[str, ToolResult]:
        """Return what the arm reports now, by the tool that reads it."""
        return {
            "lock_safety": SafetyState(safety="locked" if self._locked else "unlocked"),
            "sense_pose": self.tip_reading(),
            "sense_gripper": self.gripper_reading(),
        }

    def registers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the arm reports, as values."""
        return {tool: value.model_dump() for tool, value in self.reports().items()}

    @property
    def shared(self) -> tuple[object, ...]:
        """The world and the constant part of the bench."""
        return (self.world, self._physics.bench)

    @property
    def struck(self) -> frozenset[str]:
        """What arm or load touches now, and should not."""
        return self._monitor.struck

    @property
    def steps_computed(self) -> int:
        """Number of physics steps since `init`, without those skipped at rest."""
        steps: int = self._motion.ran
        return steps

    @property
    def physics_state(self) -> tuple[Any, Any]:
        """MuJoCo's model and data, for pictures."""
        return self._physics.model, self._physics.data

    # Reads.

    def do_sense_pose(self, arguments: NoArguments, call: CallOptions) -> ToolResult:
        """Read the fingertips' pose."""
        return self.tip_reading()

    def do_sense_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Read whether the gripper is open, and whether something keeps the fingers apart."""
        return self.gripper_reading()

    def do_list_objects(self, arguments: NoArguments, call: CallOptions) -> Objects:
        """List all names."""
        return Objects(objects=list(self.world.objects), bins=list(self.world.bins))

    def do_get_object_pose(self, arguments: OneObject, call: CallOptions) -> ThingPose:
        """Read the pose to pick an object at, or to place into a bin at."""
        name = arguments.object_id
        tray = self.world.bins.get(name)
        pose = self._physics.objects.pose(name) if tray is None else (tray.x, tray.y, tray.z, tray.yaw)
        return ThingPose(name=name, **rounded(PLACE, pose))

    # Safety.

    def do_unlock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Allow motion."""
        self.pass_time(LOCK_TIME)
        self.set_lock(locked=False)
        return SafetyState(safety="unlocked")

    def do_lock_safety(self, arguments: NoArguments, call: CallOptions) -> SafetyState:
        """Refuse motion."""
        self.set_lock(locked=True)
        self.pass_time(LOCK_TIME)
        return SafetyState(safety="locked")

    # Motion.

    def goal_of(self, pose: Any) -> Array:
        """Return the numbers of a pose that has an attribute for each axis."""
        return array(*(getattr(pose, axis) for axis in self.pose_axes))

    def do_move_to(self, arguments: ToolArguments, call: CallOptions) -> ToolResult:
        """Move in a straight line to the pose; obstacles are hit."""
        goal = self.goal_of(arguments)
        self._handling.perform(call, lambda handling: handling.move(goal))
        return self.tip_reading()

    def do_home(self, arguments: NoArguments, call: CallOptions) -> ToolResult:
        """Move up to travel height, across, and to the rest pose."""
        goal = self.goal_of(self.world.home)
        self._handling.perform(call, lambda handling: handling.go_over(goal))
        return self.tip_reading()

    # The gripper.

    def do_open_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Release what is held, and open all the way."""
        self._handling.perform(call, lambda handling: handling.open())
        return self.gripper_reading()

    def do_close_gripper(self, arguments: NoArguments, call: CallOptions) -> Gripper:
        """Close with the standard force on whatever is between the fingers."""
        self._handling.perform(call, lambda handling: handling.close(), closing=True)
        return self.gripper_reading()

    def do_pick(self, arguments: OneObject, call: CallOptions) -> Picked:
        """Move above the object and down, grip with a force that it bears, and move up."""
        name = arguments.object_id
        self._handling.perform(call, lambda handling: handling.pick(name), name)
        return Picked(object_id=name, **self.gripper_reading().model_dump())

    def aid_next_motion(self, aid: Aid) -> None:
        """Set the aid of the next motion."""
        self._handling.next_aid = aid

    # Readings.

    def forget_bump(self) -> None:
        """Clear the bumper's peak after a reading."""
        self._monitor.bump = 0.0

    @property
    def slots(self) -> tuple[str, ...]:
        """The bins, and the first place of every object."""
        return self._slots.names

    def occupied(self, slot: str) -> bool:
        """Return whether any object is at a slot."""
        return self._slots.occupied(slot, self._physics.objects)

    def gripper_reading(self) -> Gripper:
        """Return whether the gripper is open, and whether something keeps the fingers apart."""
        return Gripper(gripper=self._handling.gripper, holding=self._handling.holding)


def rounded(axes: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Return numbers by their axes as the arm reports them: in mm and mrad, never -0.0."""
    return {axis: round(value, 3) + 0.0 for axis, value in zip(axes, values, strict=True)}
