"""What the harm rules measure on the bench, in their units: read from the physics, remembered by nobody."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from sims.robotic_arm import scene
from sims.robotic_arm.kinematics import UPPER_ARM
from sims.robotic_arm.physics import AXES, FREE, GRAVITY, BenchPhysics

ARM_PARTS = ("upper_arm", "forearm", "palm", "finger_left", "finger_right")
LARGEST_LOAD = 0.3
"""Farther than this from the fingertips, m, is no part of the gripper or of what fits into it."""
LYING = 0.7
"""A contact whose normal has at least this share upwards carries weight."""


def speed(physics: BenchPhysics) -> float:
    """The greater of the fingertips' and the fingers' speed, m/s."""
    found = np.empty(6)
    kind = mujoco.mjtObj.mjOBJ_SITE
    mujoco.mj_objectVelocity(physics.model, physics.data, kind, physics.bench.fingertips, found, 0)
    fingers = np.abs(physics.data.qvel[AXES:FREE]).max()
    return max(float(np.linalg.norm(found[3:])), float(fingers))


def torques(physics: BenchPhysics) -> tuple[float, ...]:
    """What each joint's drive gives, N m, without a sign."""
    return tuple(np.abs(physics.data.actuator_force[:AXES]).tolist())


def intrusion(physics: BenchPhysics, zone: str) -> float:
    """How deep the arm or what it holds is in a zone, m; 0 outside. Needs poses in step with the joints."""
    geoms = physics.bench.geom
    parts = [*ARM_PARTS, *([physics.held] if physics.held is not None else [])]
    return max(0.0, *(-distance(physics, geoms[part], geoms[zone]) for part in parts))


def farthest(physics: BenchPhysics) -> float:
    """A bound on how far from the base's axis any part of the arm or of its load is, seen from above, m."""
    data = physics.data
    x, y, _ = data.site_xpos[physics.bench.fingertips].tolist()
    elbow = UPPER_ARM * abs(math.cos(data.qpos[1]))
    return max(math.hypot(x, y), elbow) + LARGEST_LOAD


def distance(physics: BenchPhysics, one: int, other: int, farthest: float = 0.0) -> float:
    """Between two geoms, m, negative where they overlap; `farthest` where it is more than that."""
    return float(mujoco.mj_geomDistance(physics.model, physics.data, one, other, farthest, None))


def fallen(physics: BenchPhysics, name: str, height: float) -> float:
    """How far an object is below a height, m."""
    return height - float(physics.position(name)[2])


def loads(physics: BenchPhysics, name: str) -> dict[str, float]:
    """The weight that an object lays on each object below it, N."""
    geoms, data = physics.bench.geoms, physics.data
    mine = physics.geom_of(name)
    found: dict[str, float] = {}
    pairs = data.contact.geom
    for k in np.flatnonzero((pairs == mine).any(axis=1)):
        other = geoms[pairs[k][0] if pairs[k][1] == mine else pairs[k][1]]
        up, row = abs(float(data.contact.frame[k][2])), int(data.contact.efc_address[k])
        if row < 0 or up < LYING or other not in physics.objects:
            continue
        if physics.position(other)[2] < physics.position(name)[2]:
            found[other] = found.get(other, 0.0) + up * float(data.efc_force[row])
    return found


def contacts(physics: BenchPhysics) -> list[dict[str, object]]:
    """Every contact now: the two things and the normal force, N. What sleeps has none."""
    data, names = physics.data, physics.bench.geoms
    return [
        {
            "between": [names[a], names[b]],
            "force": round(float(data.efc_force[row]) if row >= 0 else 0.0, 6),
        }
        for (a, b), row in zip(data.contact.geom, data.contact.efc_address, strict=True)
    ]


def finger_forces(physics: BenchPhysics) -> tuple[float, float]:
    """With which the left and the right finger press on objects, N."""
    sides = {"finger_left": 0.0, "finger_right": 0.0}
    things = set(physics.objects)
    for contact in contacts(physics):
        pair = set(contact["between"])  # type: ignore[call-overload]
        for side in sides.keys() & pair:
            if pair & things:
                sides[side] += contact["force"]  # type: ignore[operator]
    return sides["finger_left"], sides["finger_right"]


def wrist_force(physics: BenchPhysics) -> float:
    """What pulls and pushes at the gripper from outside, N: the held object, and all that it touches else."""
    data, bench = physics.data, physics.bench
    gripper = {bench.geom[name] for name in ("palm", "finger_left", "finger_right")}
    held = None if physics.held is None else bench.geom[physics.held]
    total, local = physics.pull().copy(), np.empty(6)
    for k, (a, b) in enumerate(data.contact.geom.tolist()):
        if len(gripper & {a, b}) == 1 and held not in (a, b):
            mujoco.mj_contactForce(physics.model, data, k, local)
            turned = data.contact.frame[k].reshape(3, 3).T @ local[:3]
            total += turned if b in gripper else -turned
    return float(np.linalg.norm(total))


def load(physics: BenchPhysics) -> float:
    """The mass that hangs in the gripper, as a load cell in the wrist weighs it, kg."""
    return abs(float(physics.pull()[2])) / GRAVITY


def command_error(physics: BenchPhysics) -> float:
    """Between the fingertips and where they are commanded to be, m."""
    return float(np.linalg.norm(np.array(physics.tip()[:3]) - physics.target[:3]))


def joint_speeds(physics: BenchPhysics) -> list[float]:
    """Of the six joints, rad/s."""
    return [float(v) for v in physics.data.qvel[: len(scene.TORQUE_LIMITS)]]
