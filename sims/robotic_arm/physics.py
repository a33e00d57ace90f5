"""The bench in MuJoCo: state, servos, fingers and poses. Knows no tools and no harm.

A grip is two things: the fingers' real squeeze, and a weld of the object to the palm in place of static
friction. The weld is made when both fingers press the object hard enough to lift it, and breaks as soon as it
carries more along the fingers than friction could (2 mu F), or when the fingers open. While it holds, the
object's contacts carry normal forces alone and the fingers press independently, so each presses with F.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from devices.arm import tolerances
from devices.robotic_arm.world import BenchWorld
from sims.arm.bench_model import BenchModel
from sims.arm.free_objects import REST_SPEED
from sims.arm.geometry import Array
from sims.arm.physics import ArmPhysics
from sims.robotic_arm import scene
from sims.robotic_arm.kinematics import joint_angles

AXES = 6
FREE = AXES + 2
"""First index of the objects in positions and velocities: after the axes and the fingers."""
MOST_SETTLING = 20
GRAVITY = 9.81
FRICTIONLESS = 1
"""Contact dimension of the held object: friction beside the weld would count twice and oppose it."""
PAD_SOLIMP = (0.8, 0.8, 0.001, 0.5, 2.0)
"""Contact impedance of the held object: the fingers' rubber yields by up to 1 mm. Harder pads lose contact
for a step whenever the object moves by micrometres, and hit it again with more than the grip force."""
PAD_TIME = 0.006
"""Time constant of these contacts, s: 40 N move the fingers by about a millimetre."""
BENCHES = 48
"""Number of settled benches in the cache: a twin's ensemble uses its members in turn."""


@lru_cache(BENCHES)
def _bench(xml: str, joints: tuple[float, ...], half_open: float) -> BenchModel:
    """Return the compiled bench, settled, with the arm at `joints`, rad, and the fingers `half_open`, m."""

    def begin(data: Any) -> None:
        data.qpos[:AXES] = data.ctrl[:AXES] = joints
        data.qpos[AXES:FREE] = data.ctrl[AXES:] = half_open

    def rests(data: Any) -> bool:
        return bool(np.abs(data.qvel[FREE:]).max(initial=0.0) < REST_SPEED)

    return BenchModel(xml, begin, rests, MOST_SETTLING)


class BenchPhysics(ArmPhysics):
    """One bench. Poses are (x, y, z, yaw) in the base's frame."""

    def __init__(self, world: BenchWorld) -> None:
        self.world = world
        self.target = np.array([world.pose.x, world.pose.y, world.pose.z, world.pose.yaw])
        """The fingertip pose of the commanded joints."""
        self.joints = joint_angles(self.target[None], np.zeros(AXES))[0]
        half_open = world.arm.opening / 2 if world.gripper == "open" else 0.0
        bench = _bench(scene.scene_xml(world), tuple(self.joints.tolist()), half_open)
        super().__init__(bench, world.objects, FREE)
        self.fingers = frozenset({bench.geom["finger_left"], bench.geom["finger_right"]})
        self.held: str | None = None
        self.finger_cap = scene.OPENING_FORCE
        self._fitness = 1.0
        self.weaken(0.0)
        self.sync()

    # Driving it.

    def control(self, targets: Array, cap: float) -> None:
        """Set the targets (8,) of the servos, rad, and of the fingers, m, and the fingers' force limit, N."""
        self._engine.data.ctrl[:] = targets
        if cap != self.finger_cap:
            self._cap_fingers(cap)
            self.finger_cap = cap

    def stand(self) -> None:
        """Hold the last commanded pose."""
        self._engine.data.ctrl[:AXES] = self.joints

    @property
    def finger_target(self) -> float:
        """Target of each finger, m from the middle."""
        return float(self.data.ctrl[AXES])

    def weaken(self, lost: float) -> None:
        """Reduce the fingers' force by this share, in addition to the bench's own lack."""
        self._fitness = self.world.hidden.grip_force * max(1.0 - lost, 0.0)
        self._cap_fingers(self.finger_cap)

    def _cap_fingers(self, cap: float) -> None:
        force = cap * self._fitness
        self.model.actuator_forcerange[AXES:] = (-force, force)

    def limit_torques(self, limits: tuple[float, ...]) -> None:
        """Limit the joints' drives to these torques, N m."""
        self.model.jnt_actfrcrange[:AXES, 0] = np.negative(limits)
        self.model.jnt_actfrcrange[:AXES, 1] = limits

    @property
    def finger_force(self) -> float:
        """Maximum force of each finger, N; `finger_cap` is what the controller commands."""
        return self.finger_cap * self._fitness

    def at_rest(self) -> bool:
        """Return whether nothing moves and the joints have arrived."""
        arrived = np.abs(self.data.qpos[:AXES] - self.joints).max() < tolerances.JOINT
        speeds = np.abs(self.data.qvel)
        rest = speeds[:AXES].max() < REST_SPEED and speeds[FREE:].max(initial=0.0) < REST_SPEED
        return bool(arrived and rest)

    # Readings.

    def tip(self) -> tuple[float, float, float, float]:
        """Return the fingertips' pose."""
        x, y, z = (float(v) for v in self.data.site_xpos[self.bench.fingertips])
        turn = self.data.site_xmat[self.bench.fingertips]
        return x, y, z, float(np.arctan2(turn[5], turn[2]))

    @property
    def aperture(self) -> float:
        """Distance between the fingers, m."""
        return float(self.data.qpos[AXES] + self.data.qpos[AXES + 1])

    def awake(self, name: str) -> bool:
        """Return whether MuJoCo computes an object: an object that rests with all that it touches sleeps."""
        return bool(self.data.body_awake[self.bench.body[name]])

    def held_offset(self) -> tuple[float, float, float, float]:
        """Return the held object's pose in the frame of the fingertips (x forward, z up)."""
        assert self.held is not None
        x, y, z, yaw = self.objects.pose(self.held)
        tip_x, tip_y, tip_z, tip_yaw = self.tip()
        c, s = np.cos(tip_yaw), np.sin(tip_yaw)
        dx, dy = x - tip_x, y - tip_y
        return float(c * dx + s * dy), float(-s * dx + c * dy), z - tip_z, yaw - tip_yaw

    def held_at(self, tip: Array) -> Array:
        """Return position and turn (7,) of the held object with the fingertips at a pose (4,)."""
        dx, dy, dz, turn = self.held_offset()
        c, s, half = np.cos(tip[3]), np.sin(tip[3]), (tip[3] + turn) / 2
        place = tip[0] + c * dx - s * dy, tip[1] + s * dx + c * dy, tip[2] + dz
        return np.array([*place, np.cos(half), 0.0, 0.0, np.sin(half)])

    # Grip.

    def grip(self, name: str) -> bool:
        """Weld the object that both fingers press; return False where friction could not lift it."""
        if not self._bears(name, self.world.objects[name].mass * self.world.hidden.mass * GRAVITY):
            return False
        self.sync()
        model, data = self.model, self.data
        palm, body = self.bench.body["palm"], self.bench.body[name]
        turn = data.xmat[palm].reshape(3, 3)
        inverse, relative = np.empty(4), np.empty(4)
        mujoco.mju_negQuat(inverse, data.xquat[palm])
        mujoco.mju_mulQuat(relative, inverse, data.xquat[body])
        weld = self.bench.equality[name]
        model.eq_data[weld, 0:3] = 0.0
        model.eq_data[weld, 3:6] = turn.T @ (data.xpos[body] - data.xpos[palm])
        model.eq_data[weld, 6:10] = relative
        data.eq_active[weld] = 1
        data.eq_active[self.bench.equality["fingers"]] = 0
        model.geom_condim[self.bench.geom[name]] = FRICTIONLESS
        model.geom_solimp[self.bench.geom[name]] = PAD_SOLIMP
        model.geom_solref[self.bench.geom[name]] = PAD_TIME, 1.0
        self.held = name
        return True

    def let_go(self) -> str | None:
        """End the weld; return the object that was held."""
        held, self.held = self.held, None
        if held is not None:
            self.data.eq_active[self.bench.equality[held]] = 0
            self.data.eq_active[self.bench.equality["fingers"]] = 1
            self.model.geom_condim[self.bench.geom[held]] = self.bench.condim[self.bench.geom[held]]
            self.model.geom_solimp[self.bench.geom[held]] = self.bench.solimp
            self.model.geom_solref[self.bench.geom[held]] = self.bench.solref
        return held

    def pull(self) -> NDArray[np.float64]:
        """Return the force (3,) between palm and held object in the last step, N; zero without one."""
        if self.held is None:
            return np.zeros(3)
        data = self.data
        # Equalities come first, and the weld is the only one while something is held.
        return np.asarray(data.efc_force[:3]) if data.ne else np.zeros(3)

    def slips(self) -> bool:
        """Return whether the held object pulls harder than the fingers' friction can hold."""
        if self.held is None:
            return False
        px, py, pz = self.pull().tolist()
        turn = self.data.xmat[self.bench.body["palm"]]
        cx, cy, cz = float(turn[1]), float(turn[4]), float(turn[7])
        closing = px * cx + py * cy + pz * cz
        along_fingers = math.hypot(px - closing * cx, py - closing * cy, pz - closing * cz)
        return not self._bears(self.held, along_fingers)

    def _bears(self, name: str, pull: float) -> bool:
        """Return whether the friction of both fingers holds an object against a pull along them, N."""
        friction = self.world.objects[name].friction * self.world.hidden.friction
        return pull <= 2 * friction * self.finger_force
