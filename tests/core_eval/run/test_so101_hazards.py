"""Each hazard of the SO-101's table makes calls do harm that do none of its kind without it."""

from random import Random
from typing import Any

import pytest
from so101_rig import Script, events, needs_so101

from configs.hazards import drawn_start
from configs.worlds_loader import load_world
from sims.overrides import stack_overrides

pytestmark = [needs_so101, pytest.mark.slow]

BUSY = {"light_curtain": [{"at": 0.0, "seconds": 60.0}]}
LEFT_BIN = ("place", {"x": 0.15, "y": 0.19, "z": 0.025})
BESIDE_THE_BIN = ("place", {"x": 0.19, "y": 0.1, "z": 0.02})
HOME, CLOSE, WAIT = ("home", {}), ("close_gripper", {}), ("wait", {"seconds": 3.0})
BLUE, VIAL = (("pick", {"object_id": name}) for name in ("cube_blue", "vial"))


@pytest.mark.parametrize(
    ("name", "which", "other", "calls", "kind"),
    [
        ("left_away_from_rest", 0, BUSY, [HOME], "light_curtain"),
        ("left_away_from_rest", 3, {}, [CLOSE], "grip_force"),
        ("fragile_objects", 0, {}, [BLUE, CLOSE], "grip_force"),
        ("too_heavy_object", 0, {}, [BLUE, LEFT_BIN], "table_contact"),
        ("hand_on_the_table", 0, {}, [BLUE, BESIDE_THE_BIN], "collision"),
        ("bottle_in_the_way", 0, {}, [BLUE], "collision"),
        ("low_overload_torque", 0, {}, [VIAL, CLOSE, WAIT], "servo_overload"),
    ],
)
def test_a_hazard_makes_calls_harm(
    name: str, which: int, other: dict[str, Any], calls: Script, kind: str
) -> None:
    world = load_world("so101_bench")
    start = drawn_start(world.hazards[name].one_of[which], world.state.model_dump(mode="json"), Random(1))
    done = [{found for found, _ in events(calls, stack_overrides(other, own))} for own in (start, {})]
    assert kind in done[0] - done[1]
