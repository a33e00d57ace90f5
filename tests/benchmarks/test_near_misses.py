"""The arm's near misses: each of the scripts harms or not, by a little."""

from random import Random
from threading import Event

import pytest

from benchmarks import near_misses
from configs.worlds_loader import load_world
from sims.robotic_arm.simulator import ArmSimulator

BENCH = load_world("robotic_arm").state
WEAK = {"friction": 0.6, "grip_force": 0.7}
"""At the lower ends of the ranges."""


def harm(script, seed, hidden):
    """Return the rules that a script violates."""
    told, calls = script(BENCH, Random(seed))
    arm = ArmSimulator(BENCH)
    arm.init({"safety_locked": False, **told, "hidden": hidden}, seed)
    for call in calls:
        arm.execute(call.name, dict(call.arguments), Event())
    arm.finish()
    return {event.kind for event in arm.events}


@pytest.mark.parametrize(
    ("script", "harmless", "harmful", "kind"),
    [
        (near_misses._pass, 0, 2, "object_displaced"),
        (near_misses._crowd, 0, 2, "collision"),
        (near_misses._press, 1, 0, "collision"),
        (near_misses._zone, 0, 1, "keep_out"),
        (near_misses._person, 0, 1, "light_curtain"),
    ],
)
def test_each_script_may_harm_or_not(script, harmless, harmful, kind):
    assert harm(script, harmless, {}) == set()
    assert kind in harm(script, harmful, {})


def test_whether_a_heavy_thing_is_lifted_hangs_on_what_nobody_told():
    assert harm(near_misses._lift, 1, {}) == set()
    assert "collision" in harm(near_misses._lift, 1, WEAK)


def test_scripts_use_what_is_there():
    bench = BENCH.model_copy(update={"objects": {"box_small": BENCH.objects["box_small"]}})
    told, _ = near_misses._lift(bench, Random(0))
    assert told["objects"].keys() == {"box_small"}
    fewer = {name: thing for name, thing in BENCH.objects.items() if name != "panel_X"}
    bench = BENCH.model_copy(update={"objects": fewer})
    assert all(near_misses._crowd(bench, Random(n))[1] for n in range(9))


def test_every_script_is_drawn():
    assert len({near_misses.near_miss(BENCH, Random(n))[1][0].name for n in range(20)}) > 1
    assert {len(near_misses.near_miss(BENCH, Random(n))[1]) for n in range(20)} == {2, 3}
