"""The quantities that the harm rules monitor on the bench, in their units: functions of the physics."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from sims.robotic_arm import scene
from sims.robotic_arm.kinematics import UPPER_ARM
from sims.robotic_arm.physics import AXES, FREE, GRAVITY, BenchPhysics

ARM_PARTS = ("upper_arm", "forearm", "palm", "finger_left", "finger_right")
LARGEST_LOAD = 0.3
"""Maximum distance from the fingertips, m, of any part of the gripper or of an object that fits into it."""
LYING = 0.7
"""A contact whose normal has at least this upward share carries weight."""


def speed(physics: BenchPhysics) -> float:
    """Return the greater of the fingertips' and the fingers' speed, m/s."""
    found = np.empty(6)
    kind = mujoco.mjtObj.mjOBJ_SITE
    mujoco.mj_objectVelocity(physics.model, physics.data, kind, physics.bench.fingertips, found, 0)
    fingers = np.abs(physics.data.qvel[AXES:FREE]).max()
    return max(float(np.linalg.norm(found[3:])), float(fingers))


def torques(physics: BenchPhysics) -> tuple[float, ...]:
    """Return the magnitude of each drive's torque, N m; the arm's weight is part of it."""
    return tuple(np.abs(physics.data.qfrc_actuator[:AXES]).tolist())


def intrusion(physics: BenchPhysics, zone: str) -> float:
    """Return how deep the arm or its load is in a zone, m; 0 outside. Derived poses must be up to date."""
    geoms = physics.bench.geom
    parts = [*ARM_PARTS, *([physics.held] if physics.held is not None else [])]
    return max(0.0, *(-distance(physics, geoms[part], geoms[zone]) for part in parts))


def farthest(physics: BenchPhysics) -> float:
    """Return a bound on the horizontal distance of any part of arm and load from the base's axis, m."""
    data = physics.data
    x, y, _ = data.site_xpos[physics.bench.fingertips].tolist()
    elbow = UPPER_ARM * abs(math.cos(data.qpos[1]))
    return max(math.hypot(x, y), elbow) + LARGEST_LOAD


def distance(physics: BenchPhysics, one: int, other: int, farthest: float = 0.0) -> float:
    """Return the distance between two geoms, m, negative where they overlap; `farthest` beyond that."""
    return float(mujoco.mj_geomDistance(physics.model, physics.data, one, other, farthest, None))


def loads(physics: BenchPhysics, name: str) -> dict[str, float]:
    """Return the weight that an object lays on each object below it, N."""
    geoms, data = physics.bench.geoms, physics.data
    mine = physics.bench.geom[name]
    found: dict[str, float] = {}
    pairs = data.contact.geom
    for k in np.flatnonzero((pairs == mine).any(axis=1)):
        other = geoms[pairs[k][0] if pairs[k][1] == mine else pairs[k][1]]
        up, row = abs(float(data.contact.frame[k][2])), int(data.contact.efc_address[k])
        if row < 0 or up < LYING or other not in physics.objects.names:
            continue
        if physics.objects.position(other)[2] < physics.objects.position(name)[2]:
            found[other] = found.get(other, 0.0) + up * float(data.efc_force[row])
    return found


def contacts(physics: BenchPhysics) -> list[dict[str, object]]:
    """Return every contact now: the two things and the normal force, N. Sleeping objects have none."""
    data, names = physics.data, physics.bench.geoms
    return [
        {
            "between": [names[a], names[b]],
            "force": round(float(data.efc_force[row]) if row >= 0 else 0.0, 6),
        }
        for (a, b), row in zip(data.contact.geom, data.contact.efc_address, strict=True)
    ]


def finger_forces(physics: BenchPhysics) -> tuple[float, float]:
    """Return the forces of the left and the right finger on objects, N."""
    sides = {"finger_left": 0.0, "finger_right": 0.0}
    things = set(physics.objects.names)
    for contact in contacts(physics):
        pair = set(contact["between"])  # type: ignore[call-overload]
        for side in sides.keys() & pair:
            if pair & things:
                sides[side] += contact["force"]  # type: ignore[operator]
    return sides["finger_left"], sides["finger_right"]


def wrist_force(physics: BenchPhysics) -> float:
    """Return the external force on the gripper, N: by the held object and by whatever that touches."""
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
    """Return the mass that hangs in the gripper, as a load cell in the wrist weighs it, kg."""
    return abs(float(physics.pull()[2])) / GRAVITY


def joint_speeds(physics: BenchPhysics) -> list[float]:
    """Return the speeds of the six joints, rad/s."""
    return [float(v) for v in physics.data.qvel[: len(scene.TORQUE_LIMITS)]]
