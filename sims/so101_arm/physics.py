"""The table in MuJoCo: state, servos, contacts and poses. Knows no tools and no harm.

A grip is the contact of the two jaws and its friction, and nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import mujoco
import numpy as np

from devices.so101_arm.world import JOINTS, Servos, So101Pose, So101World
from sims.arm import scene_parts
from sims.arm.bench_model import BenchModel
from sims.arm.free_objects import REST_SPEED
from sims.arm.geometry import Array, UnreachableError
from sims.arm.physics import ArmPhysics
from sims.overrides import WorldError
from sims.so101_arm import scene
from sims.so101_arm.kinematics import AXES, GRIPPER, Kinematics

FREE = AXES + 1
"""First index of the objects in positions and velocities: after the arm's joints and the gripper's."""
MOST_SETTLING = 40
CREEP = 0.001
"""Speed, rad/s, below which the arm's joints rest."""
TABLES = 48
"""Number of settled tables in the cache: a twin's ensemble uses its members in turn."""
GLANCE = 0.01
"""Time over which the speed of the jaws is told, s."""
HELD_FORCE = 0.2
"""Force of the weaker jaw from which an object between them counts as held, N."""
CLOSED = -0.17
"""Angle that the gripper closes to, rad."""


@lru_cache(4)
def kinematics_of(tip: float) -> Kinematics:
    """Return the kinematics of the arm with the fingertips' point so far from the fixed jaw, m."""
    return Kinematics(mujoco.MjModel.from_xml_string(scene.table_xml(tip)))


def joints_at(world: So101World, key: Literal["pose", "home"]) -> Array:
    """Return the joint angles (5,) of the pose at the start, or of the rest pose.

    Raises:
        WorldError: the arm does not reach it.
    """
    pose: So101Pose = getattr(world, key)
    try:
        found = kinematics_of(world.arm.tip).joint_angles(np.array([list(pose.model_dump().values())]))
        return np.asarray(found[0])
    except UnreachableError as error:
        raise WorldError(f"{key}: {error}") from None


@lru_cache(TABLES)
def _table(xml: str, joints: tuple[float, ...]) -> BenchModel:
    """Return the compiled table, settled, with the arm's and the gripper's joints at these angles, rad."""

    def begin(data: Any) -> None:
        data.qpos[:FREE] = data.ctrl[:] = joints

    return BenchModel(xml, begin, lambda data: bool(np.abs(data.qvel).max() < CREEP), MOST_SETTLING)


class So101Physics(ArmPhysics):
    """One table. Poses of the fingertips are (x, y, z, pitch, roll) in the base's frame."""

    def __init__(self, world: So101World) -> None:
        self.world = world
        opening = world.arm.opening if world.gripper == "open" else CLOSED
        self.kinematics = kinematics_of(world.arm.tip)
        joints = *joints_at(world, "pose").tolist(), opening
        super().__init__(_table(scene.scene_xml(world), joints), world.objects, FREE)
        jaws = (f"{scene.FIXED}/", f"{scene.MOVING}/")
        self.fingers = frozenset(g for g, name in enumerate(self.bench.geoms) if name.startswith(jaws))
        self._apart = self._links_apart()
        servos = world.arm.servos
        self.protection = ServoProtection(servos, FREE, scene_parts.TIMESTEP)
        self._wanted = np.full(FREE, servos.stall_nm)
        self._fitness = world.hidden.grip_force
        self._apply_torques()

    def _links_apart(self) -> tuple[Array, Array, Array]:
        """Return the pairs of hulls of links that no joint joins, inner and outer, and their square reach."""
        model = self.model
        hulls = np.flatnonzero(self.bench.contype == scene_parts.ARM)
        inner, outer = np.array([(a, b) for a in hulls for b in hulls if a < b]).T
        bodies = model.geom_bodyid
        apart = (bodies[inner] != bodies[outer]) & (model.body_parentid[bodies[outer]] != bodies[inner])
        inner, outer = inner[apart], outer[apart]
        return inner, outer, (model.geom_rbound[inner] + model.geom_rbound[outer]) ** 2

    def step(self) -> None:
        """Advance the physics by a step, and then the servos' protection."""
        super().step()
        self.protection.after_step(self.data.actuator_force[:FREE])
        if self.protection.tripped:
            self._apply_torques()

    # Driving it.

    def command(self, joints: Array, gripper: float) -> None:
        """Set the targets of the servos, rad."""
        self.data.ctrl[:AXES] = joints
        self.data.ctrl[GRIPPER] = gripper

    @property
    def joints(self) -> Array:
        """The commanded angles of the arm's joints (5,), rad."""
        return np.asarray(self.data.ctrl[:AXES].copy())

    @property
    def target(self) -> Array:
        """The fingertips' pose (5,) at the commanded angles."""
        return self.kinematics.pose(self.joints)

    @property
    def gripper_target(self) -> float:
        """Commanded angle of the gripper, rad."""
        return float(self.data.ctrl[GRIPPER])

    @property
    def gripper_speed(self) -> float:
        """Speed of the gripper's joint, rad/s."""
        return float(self.data.qvel[GRIPPER])

    def limit_grip(self, torque: float | None) -> None:
        """Limit the torque of the gripper's servo, N m; None: what the servo has."""
        self._wanted[GRIPPER] = self.world.arm.servos.stall_nm if torque is None else torque
        self._apply_torques()

    def weaken(self, lost: float) -> None:
        """Reduce the gripper's torque by this share, in addition to the rig's own lack."""
        self._fitness = self.world.hidden.grip_force * max(1.0 - lost, 0.0)
        self._apply_torques()

    def limit_torques(self, limit: float | None) -> None:
        """Limit the torques of the arm's servos, N m; None: what the servos have."""
        self._wanted[:AXES] = self.world.arm.servos.stall_nm if limit is None else limit
        self._apply_torques()

    def switch_on(self) -> None:
        """Switch all servos off and on: they hold their present angles, and none is down any more."""
        self.protection.switch_on()
        self.command(self.angles()[:AXES], self.gripper_target)
        self._apply_torques()

    def _apply_torques(self) -> None:
        wanted = self._wanted.copy()
        wanted[GRIPPER] *= self._fitness
        limits = self.protection.limits(wanted)
        self.model.actuator_forcerange[:FREE, 0], self.model.actuator_forcerange[:FREE, 1] = -limits, limits

    def at_rest(self) -> bool:
        """Return whether nothing moves."""
        speeds = np.abs(self.data.qvel)
        return bool(speeds[:FREE].max() < CREEP and speeds[FREE:].max(initial=0.0) < REST_SPEED)

    # Readings.

    def angles(self) -> Array:
        """Return the angles of the joints and of the gripper, rad."""
        return np.asarray(self.data.qpos[:FREE])

    def tip(self) -> tuple[float, float, float, float, float]:
        """Return the fingertips' pose."""
        x, y, z = (float(v) for v in self.data.site_xpos[self.bench.fingertips])
        return x, y, z, float(self.data.qpos[1:4].sum()), float(self.data.qpos[4])

    def speed(self) -> float:
        """Return the greater of the fingertips' speed and the rate at which the jaws' gap changes, m/s."""
        found = np.empty(6)
        kind = mujoco.mjtObj.mjOBJ_SITE
        mujoco.mj_objectVelocity(self.model, self.data, kind, self.bench.fingertips, found, 0)
        angle, turns = float(self.data.qpos[GRIPPER]), float(self.data.qvel[GRIPPER])
        gap, later = self.kinematics.gap(angle), self.kinematics.gap(angle + turns * GLANCE)
        return max(float(np.linalg.norm(found[3:])), abs(later - gap) / GLANCE)

    def torques(self) -> dict[str, float]:
        """Return the torque of each servo, N m, by the name of its joint."""
        return dict(zip(JOINTS, self.data.actuator_force.tolist(), strict=True))

    def overloads(self) -> dict[str, float]:
        """Return what each servo gives above its overload torque, N m, by its joint; at least 0."""
        overload = self.world.arm.servos.overload_nm
        return {joint: max(0.0, abs(torque) - overload) for joint, torque in self.torques().items()}

    def overlaps(self) -> dict[str, float]:
        """Return how deep links overlap others that they are not joined to, m, by the outer one's name."""
        data, (inner, outer, reach) = self.data, self._apart
        off = data.geom_xpos[inner] - data.geom_xpos[outer]
        found: dict[str, float] = {}
        for k in np.flatnonzero((off * off).sum(axis=1) < reach).tolist():
            depth = -mujoco.mj_geomDistance(self.model, data, int(inner[k]), int(outer[k]), 0.0, None)
            if depth > 0.0:
                link = self.bench.geoms[outer[k]].split("/")[0]
                found[link] = max(found.get(link, 0.0), depth)
        return found

    def beside_tip(self, name: str) -> Array:
        """Return an object's reference point from the fingertips, in the frame of the gripper, m."""
        turn = self.data.xmat[self.bench.body[scene.FIXED]].reshape(3, 3)
        return np.asarray(turn.T @ (self.objects.position(name) - self.data.site_xpos[self.bench.fingertips]))


class ServoProtection:
    """The overload protection of each servo, as its firmware has it.

    A servo that gives more than its overload torque for its protection time goes down to its protective
    torque, and stays there until its torque is switched off and on.

    Args:
        servos: their registers.
        count: how many there are.
        timestep: of the physics, s.
    """

    def __init__(self, servos: Servos, count: int, timestep: float) -> None:
        self._servos = servos
        self._overload = servos.overload_nm
        self._most = round(servos.protection_time / timestep)
        self._steps, self._peaks = np.zeros(count, dtype=int), np.zeros(count)
        self.latched = np.zeros(count, dtype=bool)
        """Those that have gone down."""
        self.down = self.strained = False
        """Whether any has gone down, and whether one will if its load lasts."""
        self.tripped: tuple[tuple[int, float], ...] = ()
        """Those that went down in the last step, and how far their torque was too much at most, N m."""

    def after_step(self, given: Array) -> None:
        """Take the torques that the servos gave in a step, N m."""
        if not self.strained and max(map(abs, given.tolist())) <= self._overload:
            self.tripped = ()
            return
        torques = np.abs(given)
        over = (torques > self._overload) & ~self.latched
        self._steps = np.where(over, self._steps + 1, 0)
        self._peaks = np.where(over, np.maximum(self._peaks, torques), 0.0)
        new = np.flatnonzero(self._steps >= self._most)
        self.tripped = tuple((int(k), float(self._peaks[k]) - self._overload) for k in new)
        self.latched[new] = True
        self.down, self.strained = bool(self.latched.any()), bool(self._steps.any())

    def switch_on(self) -> None:
        """Switch the torque of all servos off and on."""
        self.latched[:] = False
        self._steps[:] = 0
        self.down = self.strained = False

    def limits(self, wanted: Array) -> Array:
        """Return the torque that each servo can give, N m, of the wanted limits."""
        most = np.where(self.latched, self._servos.protective_nm, self._servos.stall_nm)
        return np.minimum(wanted, most)
