"""What a host knows at the start: by the device's type and the layout that the rig names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from configs.rig_config import RigConfig
from configs.rigs_loader import load_rig
from configs.tasks_loader import load_task
from configs.worlds_loader import load_world
from core_eval.rig.known_rig import known_rig
from devices.known_state import KnownState
from devices.outcome import Refusal

ROVER_TASK, ARM_TASK = load_task("water_one_plant"), load_task("box_to_left_bin")
FIELD = load_world("farm_rover")
MOVE = {"x": 3.5, "y": 12.0, "yaw": 0.0}
GHOST = {"plant_id": "plant_Z"}


def refused(known: KnownState | None, tool: str, arguments: dict[str, Any]) -> str | None:
    assert known is not None
    refusal = known.refusal(tool, arguments)
    return refusal.code if isinstance(refusal, Refusal) else None


@pytest.mark.parametrize(
    ("rig", "simulated", "locked", "ghost"),
    [
        # A simulator that this host starts: where it stands is known.
        ({"url": "sim:farm_rover", "world": "farm_rover"}, True, "safety_locked", "unknown_plant"),
        # One that somebody else started may stand anywhere; its world is as the rig's file says.
        ({"url": "mqtt://h/r", "world": "farm_rover"}, True, None, "unknown_plant"),
        ({"url": "mqtt://h/r"}, True, None, None),
        ({"url": "serial:///dev/x", "site": "farm_rover"}, False, None, "unknown_plant"),
        ({"url": "serial:///dev/x", "twin": {"world": "farm_rover"}}, False, None, "unknown_plant"),
        ({"url": "serial:///dev/x"}, False, None, None),
    ],
)
def test_what_is_known_at_the_start(
    rig: dict[str, Any], simulated: bool, locked: str | None, ghost: str | None
) -> None:
    config = RigConfig.model_validate({"name": "r", **rig})
    known = known_rig(config, FIELD if config.world else None, ROVER_TASK, simulated=simulated)
    assert refused(known, "move_to", MOVE) == locked
    assert refused(known, "scan_plant", GHOST) == ghost


def test_the_tasks_overrides_are_the_simulators_alone() -> None:
    task = load_task("water_one_plant", init={"plants": {"plant_Z": {"x": 1.0, "y": 2.0}}})
    here = RigConfig(name="r", url="sim:farm_rover", world="farm_rover")
    assert refused(known_rig(here, FIELD, task, simulated=True), "scan_plant", GHOST) is None
    site = RigConfig(name="r", url="serial:///dev/x", site="farm_rover")
    assert refused(known_rig(site, None, task, simulated=False), "scan_plant", GHOST) == "unknown_plant"


def test_the_arm_is_known_too() -> None:
    config = RigConfig(name="r", url="serial:///dev/x", site="robotic_arm")
    known = known_rig(config, None, ARM_TASK, simulated=False)
    assert refused(known, "pick", {"object_id": "spoon"}) == "unknown_object"


@pytest.mark.parametrize("name", ["farmbot-serial", "grbl-serial"])
def test_hardware_behind_a_driver_has_rules_of_its_own(name: str) -> None:
    task = ROVER_TASK if name == "farmbot-serial" else ARM_TASK
    assert known_rig(load_rig(name), None, task, simulated=False) is None


def test_nothing_is_known_of_tools_from_an_alphabet(tmp_path: Path) -> None:
    symbol = {"name": "open_hatch", "arguments": {}}
    edge = {"symbols": ["open"], "from": "s0", "to": "s1"}
    nodes = [
        {"name": "s0", "is_final": False, "transitions": [edge]},
        {"name": "s1", "is_final": True, "transitions": []},
    ]
    task = {"prompt_id": "1", "world": "ship", "prompt": "Open it.", "nodes": nodes}
    path = tmp_path / "core.json"
    path.write_text(json.dumps([{**task, "alphabet": {"open": symbol}}]))
    config = RigConfig(name="r", url="serial:///dev/x", site="farm_rover")
    assert known_rig(config, None, load_task(f"{path}#1"), simulated=False) is None


def test_a_site_of_another_device_tells_nothing() -> None:
    config = RigConfig(name="r", url="serial:///dev/x", site="robotic_arm")
    assert known_rig(config, None, ROVER_TASK, simulated=False) is None
