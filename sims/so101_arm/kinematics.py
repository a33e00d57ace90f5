"""Kinematics of the arm in closed form: pan, two links in a vertical plane, pitch and roll of the wrist.

All lengths and directions are read from the compiled model at the zero of its joints, where the arm points
forward; nothing is fitted. A pose has five numbers: x, y, z, pitch and roll, the last being the angle of the
wrist's own joint. The fingertips stand off the roll axis, so the pan takes their offset from the arm's plane
into account.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sims.arm.geometry import Array, UnreachableError
from sims.so101_arm.scene import FIXED, FIXED_FACE, MOVING_TIP, TIP

PAN, LIFT, ELBOW, FLEX, ROLL, GRIPPER = range(6)
AXES = 5
"""Joints of the arm without the gripper's."""
OPENINGS = 40
"""Angles of the gripper at which the gap between the jaws is computed."""
STRETCH = 0.999
"""Usable share of the stretched arm's length, away from the singularity of a straight elbow."""


class Kinematics:
    """The arm's geometry.

    Args:
        model: a compiled scene.
    """

    def __init__(self, model: Any) -> None:
        data = mujoco.MjData(model)
        data.qpos[: AXES + 1] = 0.0
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        anchor = data.xanchor
        self.limits = model.jnt_range[: AXES + 1].copy()
        self._height = float(anchor[PAN][2])
        self.pan = anchor[PAN][:2].copy()
        """Where the pan axis stands (2,), m."""
        self._shoulder = anchor[LIFT] - anchor[PAN]
        self._upper, self._fore = anchor[ELBOW] - anchor[LIFT], anchor[FLEX] - anchor[ELBOW]
        self._wrist = anchor[ROLL] - anchor[FLEX]
        self._axis = data.xaxis[ROLL].copy()
        self._tip = data.site(TIP).xpos - anchor[ROLL]
        self._to_gripper = data.xmat[model.body(FIXED).id].reshape(3, 3).copy()
        arm = data.site(MOVING_TIP).xpos - anchor[GRIPPER]
        self.lever = float(np.linalg.norm(np.cross(data.xaxis[GRIPPER], arm)))
        """Distance of the moving jaw's tip from its joint, m."""
        self._openings = np.linspace(self.limits[GRIPPER, 0], self.limits[GRIPPER, 1], OPENINGS)
        self._gaps = np.array([self._gap(model, data, angle) for angle in self._openings])
        self.lengths = float(np.hypot(*self._upper[[0, 2]])), float(np.hypot(*self._fore[[0, 2]]))

    def _gap(self, model: Any, data: Any, angle: float) -> float:
        data.qpos[GRIPPER] = angle
        mujoco.mj_kinematics(model, data)
        gripper = model.body(FIXED).id
        away = data.site(MOVING_TIP).xpos - data.xpos[gripper]
        return float(data.xmat[gripper].reshape(3, 3)[:, 0] @ away) - FIXED_FACE

    def gap(self, angle: float) -> float:
        """Return the gap between the tips of the jaws at an angle of the gripper, m."""
        return float(np.interp(angle, self._openings, self._gaps))

    def opening(self, gap: float) -> float:
        """Return the angle of the gripper that leaves a gap between the tips of the jaws, m; rad."""
        return float(np.interp(gap, self._gaps, self._openings))

    def _rolled(self, roll: Array, beside: Array) -> Array:
        """Return the tool's point from the wrist's flex axis (n, 3), at pitch 0.

        Args:
            roll: of the wrist (n,), rad.
            beside: the point's offset from the fingertips in the frame of the gripper, m.
        """
        return np.asarray(self._wrist + self._turned(self._tip + self._to_gripper @ beside, roll))

    def _turned(self, vector: Array, roll: Array) -> Array:
        """Return a vector (n, 3) turned about the roll axis, at pitch 0."""
        along = self._axis * (self._axis @ vector)
        across, side = vector - along, np.cross(self._axis, vector)
        return np.asarray(along + np.cos(roll)[:, None] * across + np.sin(roll)[:, None] * side)

    def joint_angles(self, poses: Array, beside: Array | None = None) -> Array:
        """Return joint angles (n, 5) for poses (n, 5) of the fingertips, or of a point beside them.

        Raises:
            UnreachableError: a pose is too far or too near, or a joint would pass its limit.
        """
        x, y, z, pitch, roll = np.asarray(poses, dtype=np.float64).T
        tool = self._rolled(roll, np.zeros(3) if beside is None else beside)
        lateral = tool[:, 1] + self._shoulder[1] + self._upper[1] + self._fore[1]
        ahead, left = x - self.pan[0], y - self.pan[1]
        square = ahead**2 + left**2 - lateral**2
        if (square <= 0.0).any():
            raise UnreachableError("too near to the arm's own axis")
        radius = np.sqrt(square)
        heading = np.arctan2(left, ahead) - np.arctan2(lateral, radius)
        c, s = np.cos(pitch), np.sin(pitch)
        out = radius - (c * tool[:, 0] + s * tool[:, 2]) - self._shoulder[0]
        up = z - self._height - (-s * tool[:, 0] + c * tool[:, 2]) - self._shoulder[2]
        upper, fore = self.lengths
        span = np.hypot(out, up)
        if (span > STRETCH * (upper + fore)).any() or (span < abs(upper - fore) / STRETCH).any():
            raise UnreachableError("beyond the reach of the arm")
        at_shoulder = np.arccos((upper**2 + span**2 - fore**2) / (2 * upper * span))
        upper_rise = np.arctan2(up, out) + at_shoulder
        fore_rise = np.arctan2(up - upper * np.sin(upper_rise), out - upper * np.cos(upper_rise))
        lift = _rise(self._upper) - upper_rise
        elbow = _rise(self._fore) - fore_rise - lift
        found = np.stack([-heading, lift, elbow, pitch - lift - elbow, roll], axis=1)
        low, high = self.limits[:AXES].T
        if (found < low).any() or (found > high).any():
            raise UnreachableError("beyond the limit of a joint")
        return found

    def pose(self, joints: Array) -> Array:
        """Return the fingertips' pose (5,) at joint angles (5,)."""
        pan, lift, elbow, flex, roll = joints.tolist()
        pitch = lift + elbow + flex
        tool = self._rolled(joints[ROLL:], np.zeros(3))[0]
        links = (self._shoulder, 0.0), (self._upper, lift), (self._fore, lift + elbow), (tool, pitch)
        out = sum(np.cos(turn) * link[0] + np.sin(turn) * link[2] for link, turn in links)
        up = sum(np.cos(turn) * link[2] - np.sin(turn) * link[0] for link, turn in links)
        beside = sum(link[1] for link, _ in links)
        c, s = np.cos(-pan), np.sin(-pan)
        x, y = self.pan[0] + c * out - s * beside, self.pan[1] + s * out + c * beside
        return np.array([x, y, self._height + up, pitch, roll])

    def across(self, pose: Array, beside: Array | None = None) -> float:
        """Return the direction in which the jaws close at a pose (5,), seen from above, rad."""
        heading = -float(self.joint_angles(pose[None], beside)[0, PAN])
        jaws = self._turned(self._to_gripper[:, 0], pose[ROLL:])[0]
        return heading + float(np.arctan2(jaws[1], np.cos(pose[3]) * jaws[0] + np.sin(pose[3]) * jaws[2]))

    def reaches(self, pose: Array, beside: Array | None = None) -> bool:
        """Return whether a pose (5,) has joint angles."""
        try:
            self.joint_angles(pose[None], beside)
        except UnreachableError:
            return False
        return True


def _rise(link: Array) -> float:
    """Return the elevation of a link at the zero of the joints, rad."""
    return float(np.arctan2(link[2], link[0]))
