import mujoco
import numpy as np
import pytest
from arm_rig import WORLD
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.arm.geometry import UnreachableError, wrapped
from sims.arm.motion import MotionLimits
from sims.robotic_arm import scene
from sims.robotic_arm.kinematics import joint_angles
from sims.robotic_arm.trajectory import paced, retimed, straight, within_joint_speeds

MODEL = mujoco.MjModel.from_xml_string(scene.scene_xml(WORLD))
DATA = mujoco.MjData(MODEL)
LIMITS = MotionLimits(0.5, 2.0, 2.0)
DT = 0.004

radius = st.floats(0.2, 1.1)
angle = st.floats(-3.14, 3.14)
poses = st.builds(
    lambda r, a, z, yaw: np.array([r * np.cos(a), r * np.sin(a), z, yaw]),
    radius,
    angle,
    st.floats(0.0, 0.72),
    angle,
)


@settings(deadline=None)
@given(poses)
def test_the_inverse_leads_to_the_pose_with_the_tool_straight_down(pose):
    DATA.qpos[:6] = joint_angles(pose[None], np.zeros(6))[0]
    mujoco.mj_kinematics(MODEL, DATA)
    turn = DATA.site("fingertips").xmat.reshape(3, 3)
    assert DATA.site("fingertips").xpos == pytest.approx(pose[:3], abs=1e-9)
    assert turn[:, 0] == pytest.approx([0.0, 0.0, -1.0], abs=1e-9)
    assert wrapped(float(np.arctan2(turn[1, 2], turn[0, 2]) - pose[3])) == pytest.approx(0.0, abs=1e-9)


def test_a_pose_out_of_reach_is_refused():
    with pytest.raises(UnreachableError):
        joint_angles(np.array([[1.3, 0.0, 0.1, 0.0]]), np.zeros(6))


@settings(deadline=None)
@given(poses, poses)
def test_a_move_ends_at_its_pose_within_its_limits(start, end):
    way = straight(start, end, LIMITS, DT, keep_out=0.2)
    if len(way) == 0:
        assert end[:3] == pytest.approx(start[:3], abs=1e-6)
        return
    assert way[-1][:3] == pytest.approx(end[:3], abs=1e-12)
    assert wrapped(float(way[-1][3] - end[3])) == pytest.approx(0.0, abs=1e-9)
    whole = np.concatenate([start[None], way])
    speed = np.diff(whole, axis=0) / DT
    assert np.linalg.norm(speed[:, :3], axis=1).max() <= LIMITS.speed * 1.001
    assert np.abs(speed[:, 3]).max() <= LIMITS.yaw_speed * 1.001
    assert np.hypot(whole[:, 0], whole[:, 1]).min() >= 0.2 - 1e-6
    joints = joint_angles(way, np.zeros(6))
    assert np.abs(np.diff(joints, axis=0)).max(initial=0.0) < 0.1


def test_a_free_move_is_straight_and_accelerates_within_its_limit():
    start, end = np.array([0.4, -0.4, 0.3, 0.0]), np.array([0.7, 0.5, 0.1, 1.0])
    way = straight(start, end, LIMITS, DT, keep_out=0.2)
    along = (end - start)[:3] / np.linalg.norm((end - start)[:3])
    off = (way[:, :3] - start[:3]) - ((way[:, :3] - start[:3]) @ along)[:, None] * along
    assert np.abs(off).max() < 1e-12
    acceleration = np.diff(np.concatenate([start[None], way])[:, :3], n=2, axis=0) / DT**2
    assert np.linalg.norm(acceleration, axis=1).max() <= LIMITS.acceleration * 1.01


def test_a_move_past_the_column_bends_round_it():
    start, end = np.array([0.5, 0.05, 0.3, 0.0]), np.array([-0.5, 0.05, 0.3, 0.0])
    way = straight(start, end, LIMITS, DT, keep_out=0.2)
    assert np.hypot(way[:, 0], way[:, 1]).min() > 0.45


def test_retiming_keeps_the_way_and_its_end():
    start, end = np.array([0.4, -0.4, 0.3, 0.0]), np.array([0.7, 0.5, 0.1, 1.0])
    way = straight(start, end, LIMITS, DT)
    short = retimed(way, start, 40)
    assert len(short) == 40
    assert short[-1] == pytest.approx(way[-1])
    assert retimed(np.empty((0, 4)), start, 3) == pytest.approx(np.repeat(start[None], 3, axis=0))


@settings(deadline=None)
@given(poses, poses)
def test_no_joint_turns_faster_than_it_can_and_the_way_stays(start, end):
    limits = np.array(WORLD.arm.joint_speeds())
    plain = straight(start, end, LIMITS, DT, keep_out=0.2)
    joints = joint_angles(start[None], np.zeros(6))[0]
    way = within_joint_speeds(plain, joints, start, limits, DT)
    if len(plain) == 0:
        assert len(way) == 0
        return
    speeds = np.abs(np.diff(joint_angles(way, joints), axis=0, prepend=joints[None])) / DT
    assert (speeds <= limits * 1.02).all()
    assert len(way) >= len(plain)
    assert way[-1][:3] == pytest.approx(plain[-1][:3], abs=1e-9)
    gaps = np.linalg.norm(way[::20, None, :3] - plain[None, :, :3], axis=2).min(axis=1)
    assert gaps.max() <= LIMITS.speed * DT


def test_a_way_within_the_limits_is_left_alone():
    start, end = np.array([0.5, -0.4, 0.3, 0.0]), np.array([0.7, 0.5, 0.1, 1.0])
    way = straight(start, end, LIMITS, DT)
    joints = joint_angles(start[None], np.zeros(6))[0]
    assert within_joint_speeds(way, joints, start, np.full(6, 9.0), DT) is way


def test_a_paced_way_goes_from_rest_to_rest():
    start, end = np.array([0.4, -0.4, 0.3, 0.0]), np.array([0.7, 0.5, 0.1, 1.0])
    way = paced(straight(start, end, LIMITS, DT), start, 300)
    speed = np.linalg.norm(np.diff(way[:, :3], axis=0, prepend=start[None, :3]), axis=1) / DT
    assert (len(way), way[-1]) == (300, pytest.approx(end))
    assert max(speed[0], speed[-1]) < 0.01 * speed.max()
