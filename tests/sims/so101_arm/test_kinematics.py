"""The SO-101's closed-form kinematics against MuJoCo's."""

import mujoco
import numpy as np
import pytest
from so101_rig import needs_so101, so101

pytestmark = needs_so101


@pytest.fixture(scope="module")
def physics():
    return so101()[0]._physics


def poses(count):
    rng = np.random.default_rng(1)
    low, high = (-0.1, -0.3, 0.0, 0.0, -2.0), (0.4, 0.3, 0.3, 1.8, 2.0)
    return rng.uniform(low, high, (count, 5))


def test_angles_bring_the_fingertips_to_the_pose(physics):
    from sims.arm.geometry import UnreachableError

    kinematics, data, reached = physics.kinematics, mujoco.MjData(physics.model), 0
    for pose in poses(400):
        try:
            (joints,) = kinematics.joint_angles(pose[None])
        except UnreachableError:
            continue
        reached += 1
        data.qpos[:5] = joints
        mujoco.mj_kinematics(physics.model, data)
        assert np.allclose(data.site("fingertips").xpos, pose[:3], atol=1e-12)
        assert np.allclose([joints[1:4].sum(), joints[4]], pose[3:], atol=1e-12)
        assert np.allclose(kinematics.pose(joints), pose, atol=1e-12)
        jaws = data.xmat[physics.model.body("gripper").id].reshape(3, 3)[:, 0]
        turn = np.arctan2(jaws[1], jaws[0]) - kinematics.across(pose)
        assert abs(np.exp(1j * turn) - 1.0) < 1e-9
    assert reached > 100


def test_no_pose_is_beyond_the_limits_of_the_joints(physics):
    low, high = physics.model.jnt_range[:5].T
    for pose in poses(400):
        if physics.kinematics.reaches(pose):
            (joints,) = physics.kinematics.joint_angles(pose[None])
            assert (joints >= low).all() and (joints <= high).all()
    assert not physics.kinematics.reaches(np.array([0.6, 0.0, 0.02, 1.57, 0.0])), "too far"
    assert not physics.kinematics.reaches(np.array([0.24, 0.0, 0.15, np.pi / 2, 0.0])), "too steep so high"


def test_the_gap_between_the_jaws_grows_with_their_angle(physics):
    kinematics = physics.kinematics
    gaps = [kinematics.gap(angle) for angle in (-0.17, 0.0, 0.5, 1.0)]
    assert gaps == sorted(gaps) and gaps[0] < 0.005 < 0.05 < gaps[-1]
    assert kinematics.gap(kinematics.opening(0.03)) == pytest.approx(0.03, abs=1e-4)
