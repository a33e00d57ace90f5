import mujoco
import numpy as np
import pytest
from arm_rig import WORLD, arm, do

from sims.arm.scene_parts import TIMESTEP
from sims.robotic_arm.harm_monitor import BenchMonitor
from sims.robotic_arm.physics import BenchPhysics
from sims.robotic_arm.scene import scene_xml


def test_what_stands_presses_with_its_weight_and_hardly_sinks():
    model = mujoco.MjModel.from_xml_string(scene_xml(WORLD))
    model.opt.enableflags = 0  # awake: what sleeps has no contacts
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 200)
    for name, thing in WORLD.objects.items():
        mine = (data.contact.geom == model.geom(name).id).any(axis=1)
        force = data.efc_force[data.contact.efc_address[mine]].sum()
        assert force == pytest.approx(9.81 * thing.mass, rel=1e-3)
        assert data.joint(name).qpos[2] == pytest.approx(thing.z, abs=1e-4)


def test_an_untouched_bench_stays_still_for_a_minute():
    physics = BenchPhysics(WORLD)
    before = physics.objects.positions().copy()
    for _ in range(30_000):
        physics.step()
    assert np.abs(physics.objects.positions() - before).max() < 1e-6


@pytest.mark.parametrize("name", WORLD.objects)
def test_both_fingers_press_with_the_same_force_and_their_pads_give_way_by_at_most_a_millimetre(name):
    simulator, _ = arm()
    do(simulator, "pick", object_id=name)
    thing = WORLD.objects[name]
    expected = min(WORLD.arm.grip_force, 0.7 * thing.force_limit)
    contacts = simulator.state_dict()["contacts"]
    for finger in ("finger_left", "finger_right"):
        force = sum(c["force"] for c in contacts if set(c["between"]) == {name, finger})
        assert force == pytest.approx(expected, rel=0.02)
    assert simulator.state_dict()["aperture"] == pytest.approx(thing.width, abs=2e-3)


def test_penetration_stays_small_and_no_object_gains_energy_on_its_own(monkeypatch):
    simulator, _ = arm()
    physics = simulator._physics
    deepest, fastest = [0.0], [0.0]
    after_step = BenchMonitor.after_step

    def look(self, t):
        after_step(self, t)
        deepest[0] = min(deepest[0], float(physics.data.contact.dist.min(initial=0.0)))
        fastest[0] = max(fastest[0], float(np.abs(physics.data.qvel[8:].reshape(-1, 6)[:, :3]).max()))

    monkeypatch.setattr(BenchMonitor, "after_step", look)
    do(simulator, "pick", object_id="box_large")
    do(simulator, "place", x=0.35, y=0.6, z=0.025, yaw=0.0)
    assert simulator.events == ()
    assert deepest[0] > -1e-3
    assert fastest[0] < 1.2 * WORLD.arm.speed


def test_a_dropped_box_lands_no_faster_than_it_fell(monkeypatch):
    simulator, _ = arm()
    physics = simulator._physics
    do(simulator, "pick", object_id="box_small")
    height = physics.objects.position("box_small")[2] - WORLD.objects["box_small"].z
    energies = []
    after_step = BenchMonitor.after_step
    velocity = int(physics.model.joint("box_small").dofadr[0])

    def look(self, t):
        after_step(self, t)
        speed = float(np.linalg.norm(physics.data.qvel[velocity : velocity + 3]))
        energies.append(9.81 * physics.objects.position("box_small")[2] + speed**2 / 2)

    monkeypatch.setattr(BenchMonitor, "after_step", look)
    do(simulator, "open_gripper")
    # Falling under gravity alone, semi-implicit steps lose at most g dt v each; nothing may add energy.
    assert max(np.diff(energies)) < 9.81 * TIMESTEP * np.sqrt(2 * 9.81 * height) * 0.5
    assert energies[0] - energies[-1] == pytest.approx(9.81 * height, rel=0.02)


def test_a_grip_too_weak_for_the_weight_does_not_lift_it():
    simulator, _ = arm({"objects": {"cup": {"mass": 4.0, "force_limit": 5.0}}})
    outcome = do(simulator, "pick", object_id="cup")
    assert outcome.status == "ok"
    assert simulator.state_dict()["holding"] is None
    assert simulator.state_dict()["objects"]["cup"]["z"] == pytest.approx(0.02, abs=0.01)


def test_a_grip_slips_when_the_load_exceeds_friction():
    simulator, _ = arm({"obstacles": {"post": {"x": 0.7, "y": 0.2, "size": [0.05, 0.05, 0.27]}}})
    do(simulator, "pick", object_id="box_small")
    do(simulator, "move_to", x=0.5, y=0.2, z=0.24)
    do(simulator, "move_to", x=0.9, y=0.2, z=0.24)
    assert simulator.state_dict()["holding"] is None
    assert ("collision", "post") in {(event.kind, event.entity) for event in simulator.events}
