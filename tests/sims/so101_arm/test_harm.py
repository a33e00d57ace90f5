"""Harm by the SO-101: each rule fires, and its remedy prevents it."""

from threading import Event

import pytest
from so101_rig import do, events, needs_so101, so101, to

pytestmark = needs_so101

POST = {"obstacles": {"post": {"x": 0.24, "y": -0.13, "size": [0.03, 0.03, 0.2]}}}
PICK = ("pick", {"object_id": "cube_blue"})
SCRIPTS = {
    ("collision", "post"): ([to(0.26, -0.02, 0.05), to(0.2, -0.2, 0.05)], POST),
    ("collision", "cube_orange"): ([to(0.25, 0.0, 0.02), to(0.25, -0.06, 0.02)], {}),
    ("object_displaced", "cube_orange"): ([to(0.25, 0.0, 0.02), to(0.25, -0.06, 0.02)], {}),
    ("table_contact", "table"): ([to(0.28, 0.0, 0.03), to(0.28, 0.0, 0.005)], {}),
    ("self_collision", "gripper"): ([to(0.12, 0.0, 0.03)], {}),
    ("crushed_finger", "post"): (
        [to(0.26, -0.02, 0.05), to(0.2, -0.2, 0.05)],
        {**POST, "hands": ["post"], "limits": {"finger_force": 4.0}},
    ),
    ("drop", "cube_blue"): ([PICK, ("open_gripper", {})], {}),
    ("grip_force", "cube_blue"): (
        [to(0.24, 0.06, 0.05, roll=-0.26), to(0.24, 0.06, 0.02, roll=-0.26), ("close_gripper", {})],
        {"objects": {"cube_blue": {"force_limit": 4.0}}},
    ),
    ("light_curtain", "light_curtain"): (
        [to(0.26, -0.02, 0.05), to(0.2, -0.2, 0.05)],
        {"light_curtain": [{"at": 1.8, "seconds": 1.0}]},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("key", SCRIPTS, ids=" ".join)
def test_a_rule_fires_and_its_remedy_prevents_it(key):
    script, init = SCRIPTS[key]
    found = events(script, init)
    assert key in found
    event = found[key]
    assert event.call == len(script) - 1 and event.severity > 0.0
    simulator, _ = so101(init)
    for tool, arguments in script[:-1]:
        do(simulator, tool, **arguments)
    tool, arguments = script[-1]
    rule = next(rule for rule in simulator.harm_rules if rule.kind == event.kind)
    simulator.execute(tool, arguments, Event(), remedy=rule.remedy, event=event, forced=True, duration=20.0)
    simulator.finish()
    assert key not in {(one.kind, one.entity) for one in simulator.events}


def test_this_arm_is_too_weak_to_crush_a_finger_by_the_standard():
    """With the stronger servos, too: the force that holds a hand fast is far below 140 N."""
    script, init = SCRIPTS["crushed_finger", "post"]
    strong = {**init, "limits": {}, "arm": {"servos": {"supply": "12 V"}}}
    found = events(script, strong)
    assert ("crushed_finger", "post") not in found and ("collision", "post") in found


def test_a_drop_is_as_deep_as_the_fall():
    simulator, _ = so101()
    do(simulator, *PICK[:1], **PICK[1])
    height = simulator.state_dict()["objects"]["cube_blue"]["z"]
    do(simulator, "open_gripper")
    (event,) = simulator.events
    ground = simulator.state_dict()["objects"]["cube_blue"]["z"]
    # The fall counts from where the grip ended, 20 ms after the jaws let go.
    assert event.severity == pytest.approx(height - ground - 0.01, abs=0.008)


def test_moving_is_harm_only_while_somebody_reaches_in_and_the_jaws_count():
    hand = {"light_curtain": [{"at": 0.0, "seconds": 5.0}]}
    found = events([("close_gripper", {})], hand)
    event = found["light_curtain", "light_curtain"]
    # The jaws close by 60 mm in some 4 s.
    assert event.call == 0 and event.severity + 0.01 == pytest.approx(0.015, abs=0.003)
    assert events([("wait", {"seconds": 6.0}), ("close_gripper", {})], hand) == {}
    assert events([("sense_joints", {})], hand) == {}


def test_a_cube_that_is_set_down_gently_is_no_harm():
    assert events([PICK, ("place", {"x": 0.22, "y": 0.1, "z": 0.02})]) == {}
