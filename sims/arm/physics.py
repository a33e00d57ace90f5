"""The bench in MuJoCo: model, state, grip and readings. Knows no tools and no harm.

A grip is two things: the fingers' real squeeze, and a weld of the object to the palm in place of static
friction. The weld is made when both fingers press the object hard enough to lift it, and breaks as soon as it
carries more along the fingers than friction could (2 mu F), or when the fingers open. While it holds, the
object's contacts carry normal forces alone and the fingers press independently, so each presses with F.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from devices.robotic_arm.world import BenchWorld
from sims.arm import scene
from sims.arm.kinematics import Array, joint_angles

AXES = 6
SETTLING_STEPS, MOST_SETTLING = 50, 20
"""Before device time 0 the objects settle for so many steps, again until they rest, but not for ever."""
GRAVITY = 9.81
FRICTIONLESS = 1
"""Contact dimension of what the weld holds: friction beside it would count twice and fight it."""
PAD_SOLIMP = (0.8, 0.8, 0.001, 0.5, 2.0)
"""Contact impedance of what is held: the fingers' rubber gives way by up to 1 mm. Harder pads leave the
object for a step whenever it moves by micrometres, and hit it again with more than the force of the grip.
"""
REST_SPEED = 0.003
"""Slower than this, m/s and rad/s, an object rests."""
REST_ERROR = 2e-4
"""Nearer than this to its command, rad, a joint has arrived."""


class BenchPhysics:
    """One bench. Poses are (x, y, z, yaw) in the base's frame."""

    def __init__(self, world: BenchWorld) -> None:
        self.world = world
        self.model = mujoco.MjModel.from_xml_string(scene.scene_xml(world))
        self.data = mujoco.MjData(self.model)
        self.objects = tuple(world.objects)
        self._body = {name: int(self.model.body(name).id) for name in (*self.objects, "palm")}
        self._geom = {name: int(self.model.geom(name).id) for name in self.objects}
        self._site = int(self.model.site("fingertips").id)
        self._weld = {name: int(self.model.equality(name).id) for name in self.objects}
        self._coupling = int(self.model.equality("fingers").id)
        self._qpos = {name: int(self.model.joint(name).qposadr[0]) for name in self.objects}
        self._solimp = self.model.geom_solimp[0].copy()
        self._contype = self.model.geom_contype.copy()
        self._conaffinity = self.model.geom_conaffinity.copy()
        self.masked = False
        self._ghosts: set[str] = set()
        self.held: str | None = None
        self.target = np.array([world.pose.x, world.pose.y, world.pose.z, world.pose.yaw])
        """The fingertip pose that the joints are commanded to."""
        self.joints = joint_angles(self.target[None], np.zeros(AXES))[0]
        half_open = world.arm.opening / 2 if world.gripper == "open" else 0.0
        self.data.qpos[:AXES] = self.joints
        self.data.qpos[AXES : AXES + 2] = half_open
        self.finger_target, self.finger_cap = half_open, scene.OPENING_FORCE
        self._fitness = 1.0
        self.weaken(0.0)
        self.command(self.joints, half_open, scene.OPENING_FORCE)
        for _ in range(MOST_SETTLING):
            mujoco.mj_step(self.model, self.data, SETTLING_STEPS)
            if self.at_rest():
                break
        self.data.time = 0.0
        self.sync()

    # Driving it.

    def command(self, servo: Array, finger: float, cap: float) -> None:
        """Set the servos' targets, and the fingers' force limit, N."""
        self.data.ctrl[:AXES] = servo
        self.data.ctrl[AXES:] = finger
        if cap != self.finger_cap:
            self._cap_fingers(cap)
        self.finger_target, self.finger_cap = finger, cap

    def weaken(self, lost: float) -> None:
        """From now on the fingers lack this share of their force, beside what they lack anyway."""
        self._fitness = self.world.hidden.grip_force * max(1.0 - lost, 0.0)
        self._cap_fingers(self.finger_cap)

    def _cap_fingers(self, cap: float) -> None:
        force = cap * self._fitness
        self.model.actuator_forcerange[AXES:] = (-force, force)

    @property
    def finger_force(self) -> float:
        """With which each finger presses at most, N; `finger_cap` is what the controller asks for."""
        return self.finger_cap * self._fitness

    def _bears(self, name: str, pull: float) -> bool:
        """Whether the friction of both fingers holds an object against a pull along them, N."""
        friction = self.world.objects[name].friction * self.world.hidden.friction
        return pull <= 2 * friction * self.finger_force

    def step(self) -> None:
        """One step of physics; poses that are derived from the joints lag until `sync`."""
        mujoco.mj_step(self.model, self.data)

    def sync(self) -> None:
        """Bring all derived poses up to the joints."""
        mujoco.mj_kinematics(self.model, self.data)

    def at_rest(self) -> bool:
        """Whether no object moves and the joints have arrived."""
        free = AXES + 2
        arrived = np.abs(self.data.qpos[:AXES] - self.joints).max() < REST_ERROR
        return bool(arrived and np.abs(self.data.qvel[free:]).max(initial=0.0) < REST_SPEED)

    # Readings.

    def tip(self) -> tuple[float, float, float, float]:
        """The fingertips' pose."""
        x, y, z = (float(v) for v in self.data.site_xpos[self._site])
        turn = self.data.site_xmat[self._site]
        return x, y, z, float(np.arctan2(turn[5], turn[2]))

    def geom_of(self, name: str) -> int:
        """The geom of an object."""
        return self._geom[name]

    def position(self, name: str) -> NDArray[np.float64]:
        """An object's reference point (3,)."""
        start = self._qpos[name]
        return np.asarray(self.data.qpos[start : start + 3])

    def positions(self) -> Array:
        """Every object's reference point (n, 3), in the order of `objects`."""
        return np.asarray(self.data.qpos[AXES + 2 :].reshape(-1, 7)[:, :3])

    def object_pose(self, name: str) -> tuple[float, float, float, float]:
        """An object's pose."""
        x, y, z = (float(v) for v in self.position(name))
        w, i, j, k = self.data.qpos[self._qpos[name] + 3 : self._qpos[name] + 7]
        return x, y, z, float(np.arctan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k)))

    def upright(self, name: str) -> bool:
        """Whether an object stands within 10 degrees of upright."""
        _, i, j, _ = self.data.qpos[self._qpos[name] + 3 : self._qpos[name] + 7]
        return bool(1 - 2 * (i * i + j * j) > np.cos(np.radians(10)))

    @property
    def aperture(self) -> float:
        """Between the fingers, m."""
        return float(self.data.qpos[AXES] + self.data.qpos[AXES + 1])

    def held_offset(self) -> tuple[float, float, float, float]:
        """The held object's pose in the frame of the fingertips (x forward, z up)."""
        assert self.held is not None
        x, y, z, yaw = self.object_pose(self.held)
        tip_x, tip_y, tip_z, tip_yaw = self.tip()
        c, s = np.cos(tip_yaw), np.sin(tip_yaw)
        dx, dy = x - tip_x, y - tip_y
        return float(c * dx + s * dy), float(-s * dx + c * dy), z - tip_z, yaw - tip_yaw

    # Grip.

    def grip(self, name: str) -> bool:
        """Hold what both fingers press; False where friction could not lift it."""
        if not self._bears(name, self.world.objects[name].mass * self.world.hidden.mass * GRAVITY):
            return False
        self.sync()
        palm, body = self._body["palm"], self._body[name]
        turn = self.data.xmat[palm].reshape(3, 3)
        inverse, relative = np.empty(4), np.empty(4)
        mujoco.mju_negQuat(inverse, self.data.xquat[palm])
        mujoco.mju_mulQuat(relative, inverse, self.data.xquat[body])
        weld = self._weld[name]
        self.model.eq_data[weld, 0:3] = 0.0
        self.model.eq_data[weld, 3:6] = turn.T @ (self.data.xpos[body] - self.data.xpos[palm])
        self.model.eq_data[weld, 6:10] = relative
        self.data.eq_active[weld] = 1
        self.data.eq_active[self._coupling] = 0
        self.model.geom_condim[self._geom[name]] = FRICTIONLESS
        self.model.geom_solimp[self._geom[name]] = PAD_SOLIMP
        self.held = name
        return True

    def let_go(self) -> str | None:
        """End the weld; the object that was held."""
        held, self.held = self.held, None
        if held is not None:
            self.data.eq_active[self._weld[held]] = 0
            self.data.eq_active[self._coupling] = 1
            self.model.geom_condim[self._geom[held]] = scene.CONDIM
            self.model.geom_solimp[self._geom[held]] = self._solimp
        return held

    def slips(self) -> bool:
        """Whether the held object pulls harder than the fingers' friction can hold."""
        if self.held is None:
            return False
        rows = self.data.efc_id[: self.data.ne] == self._weld[self.held]
        pull = self.data.efc_force[: self.data.ne][rows][:3]
        closing = self.data.xmat[self._body["palm"]].reshape(3, 3)[:, 1]
        along_fingers = np.linalg.norm(pull - (pull @ closing) * closing)
        return not self._bears(self.held, float(along_fingers))

    def lower(self, name: str) -> None:
        """Put an object straight down on what is beneath it, at rest: for counterfactuals."""
        start = self._qpos[name]
        velocity = int(self.model.joint(name).dofadr[0])
        self.data.qvel[velocity : velocity + 6] = 0.0
        while self.data.qpos[start + 2] > 0.0:
            self.data.qpos[start + 2] -= 0.0005
            mujoco.mj_forward(self.model, self.data)
            if self._supported(name):
                break

    def _supported(self, name: str) -> bool:
        geom = self._geom[name]
        tips = {int(self.model.geom(f"finger_{side}").id) for side in ("left", "right")}
        return any(
            geom in pair and not tips & {int(pair[0]), int(pair[1])} for pair in self.data.contact.geom
        )

    # Counterfactuals: a machine that touches nothing but its target.

    def mask(self, target: str | None) -> None:
        """Let the arm and the target pass through everything but each other, the bench and bins' floors."""
        self.masked = True
        self.model.geom_conaffinity[:] = self._conaffinity & ~scene.ARM
        if target is not None:
            self._ghosts.add(target)
        for name in self._ghosts:
            geom = self._geom[name]
            self.model.geom_contype[geom] = scene.HELD
            self.model.geom_conaffinity[geom] = scene.FLOOR | (scene.ARM if name == target else 0)

    def unmask(self) -> None:
        """End the mask as soon as nothing overlaps that it had let pass."""
        if not self.masked:
            return
        contype, conaffinity = self.model.geom_contype.copy(), self.model.geom_conaffinity.copy()
        before = self._touching()
        self.model.geom_contype[:], self.model.geom_conaffinity[:] = self._contype, self._conaffinity
        self.masked = bool(self._touching() - before)
        if self.masked:
            self.model.geom_contype[:], self.model.geom_conaffinity[:] = contype, conaffinity
        else:
            self._ghosts.clear()

    def _touching(self) -> set[tuple[int, int]]:
        self.sync()
        mujoco.mj_collision(self.model, self.data)
        return {(int(a), int(b)) for a, b in self.data.contact.geom}

    # Truth.

    def contacts(self) -> list[dict[str, object]]:
        """Every contact now: the two things and the normal force, N."""
        found: list[dict[str, object]] = []
        for (a, b), row in zip(self.data.contact.geom, self.data.contact.efc_address, strict=True):
            force = float(self.data.efc_force[row]) if row >= 0 else 0.0
            found.append(
                {"between": [self.model.geom(a).name, self.model.geom(b).name], "force": round(force, 6)}
            )
        return found
