from pathlib import Path

import pytest

from configs.worlds_loader import load_world
from configs.yaml_file import load_yaml
from devices.declared.build import declared_device
from devices.declared.device_file import DeviceFile
from devices.device_type import DeviceType
from devices.registry import device_type, shipped_tools
from devices.tool import ArgumentsError, Effect
from sims.world_type import WORLD_TYPES, world_of_device

ROVER = device_type("farm_rover")
ARM = device_type("robotic_arm")
ANY_VALUE = ("value", "new_value", "expected_value", "position", "input_otp", "correct_otp", "user_id")
"""Arguments of the paper's tools that take values of several types."""
EVERY_DEVICE = pytest.mark.parametrize(
    "device", [load_world(name).device for name in WORLD_TYPES], ids=lambda device: device.name
)


def test_the_surfaces_are_those_of_the_contract() -> None:
    assert set(ROVER.by_name) == {
        "unlock_safety_mode", "lock_safety_mode", "move_to", "move_home", "water_plant", "spray_pesticide",
        "harvest_fruit", "dump_hopper", "refill_water_tank", "refill_pesticide", "recharge", "sense_pose",
        "sense_battery", "sense_hopper", "list_plants", "scan_plant", "get_plant_pose", "get_station_pose",
        "scan_people", "wait",
    }  # fmt: skip
    assert set(ARM.by_name) == {
        "unlock_safety", "lock_safety", "move_to", "open_gripper", "close_gripper", "pick", "place", "home",
        "sense_pose", "sense_gripper", "list_objects", "get_object_pose", "wait",
    }  # fmt: skip
    assert set(ROVER.reads) == {
        name for name in ROVER.by_name if name.startswith(("sense", "list", "scan", "get", "wait"))
    }


@EVERY_DEVICE
def test_every_tool_is_described_for_a_model(device: DeviceType) -> None:
    for tool in device.tools:
        assert tool.description.endswith(".")
        for name, schema in tool.schema()["function"]["parameters"]["properties"].items():
            assert schema["description"], (tool.name, name)
            if name not in ANY_VALUE:
                assert schema["type"] in ("number", "integer", "string", "array"), (tool.name, name)


@EVERY_DEVICE
def test_inverses_are_tools_that_change_something(device: DeviceType) -> None:
    for tool in device.tools:
        if tool.inverse is not None:
            assert device.by_name[tool.inverse].effect is not Effect.READ
            assert tool.effect is not Effect.READ


@EVERY_DEVICE
def test_safe_tools_are_the_lock_alone_and_no_interlock_refuses_them(device: DeviceType) -> None:
    safe = {tool.name for tool in device.tools if tool.towards_safe}
    assert safe == {name for name in device.by_name if name.startswith("lock_safety")}
    kind = world_of_device(device.name)
    if kind is not None and kind.known_state is not None:
        assert not safe & kind.known_state(None, False).interlocks.keys()


def test_a_foreign_file_may_not_lend_itself_the_trust_in_a_shipped_type(tmp_path: Path) -> None:
    path = tmp_path / "device.yaml"
    tool = "{description: Open the valve., effect: safe}"
    path.write_text(f"name: farm_rover\ndescription: D.\ntools: {{lock_safety_mode: {tool}}}\n")
    foreign = declared_device(load_yaml(path).validate(DeviceFile))
    assert foreign.by_name["lock_safety_mode"].towards_safe and not shipped_tools(foreign)
    shipped = shipped_tools(ROVER.in_world({}).fitted(["lock_safety_mode", "move_home"]))
    assert [(tool.name, tool.towards_safe, tool.retreat) for tool in shipped] == [
        ("lock_safety_mode", True, False),
        ("move_home", False, True),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("water_plant", {"plant_id": "plant_A"}, "water_plant: liters: Field required"),
        ("water_plant", {"plant_id": "plant_A", "liters": -1}, "liters: Input should be greater than 0"),
        ("water_plant", {"plant_id": "plant_A", "liters": "4"}, "liters: Input should be a valid number"),
        ("water_plant", {"plant_id": "plant_A", "liters": True}, "liters: Input should be a valid number"),
        ("water_plant", {"plant_id": 3, "liters": 4}, "plant_id: Input should be a valid string"),
        ("move_to", {"x": 1, "y": float("nan")}, "y: Input should be a finite number"),
        ("move_to", {"x": 1, "y": 2, "speed": 9}, "speed: Extra inputs are not permitted"),
        ("fly", {}, "there is no tool 'fly'; the tools are unlock_safety_mode"),
    ],
)
def test_arguments_that_do_not_fit_are_named(tool: str, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(ArgumentsError, match=says):
        ROVER.validate(tool, arguments)


def test_whole_numbers_fit_where_numbers_do() -> None:
    assert ROVER.validate("move_to", {"x": 2, "y": 14}).model_dump() == {"x": 2.0, "y": 14.0, "yaw": 0.0}
