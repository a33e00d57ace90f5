"""Writes `rover/tables.h` of the firmware: the rover's tools, its field and its constants.

It belongs to the simulator, since the header is made from the same world and the same geometry.
`python -m sims.farm_rover.firmware_tables` writes the header.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from devices.farm_rover.interlocks import FARM_INTERLOCKS, STATION_OF
from devices.farm_rover.world import STATIONS, FarmWorld, Pose
from devices.registry import device_type
from devices.sensors import SensorSpec
from devices.tool import Tool
from firmware_bridge.firmware.build import FIRMWARE_FOLDER
from sims.farm_rover.geometry import Box, Disc, Point, Shape
from sims.farm_rover.route import Ground
from sims.world_type import WORLD_TYPES

DEVICE = "farm_rover"
HEADER = FIRMWARE_FOLDER / "rover" / "tables.h"
MAX_PLANTS = 4
"""A plant needs a moisture probe, a bit for ripe and a bit for pests; the board has four of each."""
MAX_NAME = 23
"""Maximum length of a tool, argument, plant or station name on the board."""
MAX_CORNERS = 60
"""Maximum number of corners in the board's route planner."""

PREAMBLE = """\
/* Made by sims/farm_rover/firmware_tables.py from the registered world farm_rover: do not edit. */
#ifndef TABLES_H
#define TABLES_H

#include <avr/pgmspace.h>
#include <stdint.h>

enum { ARGUMENT_NUMBER, ARGUMENT_TEXT };
enum { ARGUMENT_REQUIRED = 1, ARGUMENT_ABOVE_MIN = 2 };

struct argument {
    char name[24];
    uint8_t type;
    uint8_t flags;
    float min, max, preset;
};

struct tool {
    char name[24];
    uint8_t argument_count;
    struct argument arguments[3];
};

struct place {
    char name[24];
    float x, y, yaw;
};

struct box {
    float x_min, x_max, y_min, y_max;
};

struct disc {
    float x, y, radius;
};

struct point {
    float x, y;
};
"""


class TableError(ValueError):
    """A device or a world that exceeds the board's tables; the text names the part."""


def shipped_world() -> FarmWorld:
    """Return the initial state of the registered world, from which the firmware's map is made."""
    content = yaml.safe_load(WORLD_TYPES[DEVICE].defaults.read_text(encoding="utf-8"))
    # What a run may draw is not part of the state.
    return FarmWorld.model_validate(
        {key: value for key, value in content.items() if key in FarmWorld.model_fields}
    )


def make_tables(world: FarmWorld) -> str:
    """Return the header's text.

    Raises:
        TableError: the board has no room for something.
    """
    device = device_type(DEVICE)
    if len(world.plants) > MAX_PLANTS:
        raise TableError(f"the board has {MAX_PLANTS} moisture probes, the world {len(world.plants)} plants")
    stations = {name: world.stations[name] for name in STATIONS}
    parts = [
        PREAMBLE,
        f'#define DEVICE_NAME "{device.name}"\n',
        _enumeration("TOOL", [tool.name for tool in device.tools]),
        _enumeration("STATION", stations),
        _table("tool", "tools", "TOOL_COUNT", map(_tool, device.tools)),
        *_interlocks([tool.name for tool in device.tools]),
        f"#define PLANT_COUNT {len(world.plants)}",
        _table("place", "plants", "PLANT_COUNT", _places(world.plants)),
        _table("place", "stations", "STATION_COUNT", _places(stations)),
        *_shapes(world),
        *_constants(world),
        "#endif\n",
    ]
    return "\n".join(parts)


def _name(name: str) -> str:
    if (
        len(name.encode()) > MAX_NAME
        or not name.isascii()
        or not name.isprintable()
        or set(name) & {'"', "\\"}
    ):
        raise TableError(f"{name!r}: the board's names are up to {MAX_NAME} plain ASCII characters")
    return f'"{name}"'


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise TableError(f"{value} is no number for a table")
    return f"{value:.9g}f" if any(sign in f"{value:.9g}" for sign in ".e") else f"{value:.9g}.0f"


def _enumeration(prefix: str, names: Iterable[str]) -> str:
    members = [f"{prefix}_{name.upper()}" for name in names]
    return "enum {\n" + "".join(f"    {member},\n" for member in [*members, f"{prefix}_COUNT"]) + "};\n"


def _table(struct: str, name: str, count: str, rows: Iterable[str]) -> str:
    body = "".join(f"    {row},\n" for row in rows)
    return (
        f"extern const struct {struct} {name}[{count}];\n#ifdef DEFINE_TABLES\n"
        f"const struct {struct} {name}[{count}] PROGMEM = {{\n{body}}};\n#endif\n"
    )


def _tool(tool: Tool) -> str:
    parameters = tool.parameters()
    arguments = [
        _argument(tool.name, name, schema, name in parameters["required"])
        for name, schema in parameters["properties"].items()
    ]
    if len(arguments) > 3:
        raise TableError(f"{tool.name} has {len(arguments)} arguments; the table has room for 3")
    inner = ", ".join(arguments) or "{{0}, 0, 0, 0.0f, 0.0f, 0.0f}"
    return f"{{{_name(tool.name)}, {len(arguments)}, {{{inner}}}}}"


def _interlocks(tools: Sequence[str]) -> Iterable[str]:
    """Yield the checks of each tool in their order, and the station at which it works."""
    names = {check.name: None for tool in tools for check in FARM_INTERLOCKS.get(tool, ())}
    # Named, so that the compiler reports the ones that a switch omits.
    yield _enumeration("CHECK", names).replace("enum", "enum check", 1)
    rows = [[f"CHECK_{check.name.upper()}" for check in FARM_INTERLOCKS.get(tool, ())] for tool in tools]
    yield f"#define CHECKS_MAX {max(map(len, rows)) + 1}"
    yield _bytes(
        "interlocks[TOOL_COUNT][CHECKS_MAX]", ("{" + ", ".join([*row, "CHECK_COUNT"]) + "}" for row in rows)
    )
    yield _bytes(
        "station_of[TOOL_COUNT]", (f"STATION_{STATION_OF.get(tool, 'count').upper()}" for tool in tools)
    )


def _bytes(name: str, rows: Iterable[str]) -> str:
    body = "".join(f"    {row},\n" for row in rows)
    return (
        f"extern const uint8_t {name};\n#ifdef DEFINE_TABLES\n"
        f"const uint8_t {name} PROGMEM = {{\n{body}}};\n#endif\n"
    )


def _argument(tool: str, name: str, schema: Mapping[str, Any], required: bool) -> str:
    flags = ["ARGUMENT_REQUIRED"] if required else []
    if schema["type"] == "string":
        return f"{{{_name(name)}, ARGUMENT_TEXT, {' | '.join(flags) or '0'}, 0.0f, 0.0f, 0.0f}}"
    if schema["type"] != "number":
        raise TableError(f"{tool}.{name}: the board knows numbers and text, not {schema['type']}")
    if "exclusiveMinimum" in schema:
        flags.append("ARGUMENT_ABOVE_MIN")
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is None or high is None:
        raise TableError(f"{tool}.{name}: a number on the board needs both limits")
    limits = ", ".join(_float(float(value)) for value in (low, high, schema.get("default", 0.0)))
    return f"{{{_name(name)}, ARGUMENT_NUMBER, {' | '.join(flags) or '0'}, {limits}}}"


def _places(places: Mapping[str, Pose]) -> Iterable[str]:
    for name, place in places.items():
        yield f"{{{_name(name)}, {', '.join(map(_float, (place.x, place.y, place.yaw)))}}}"


def _shapes(world: FarmWorld) -> Iterable[str]:
    """Yield beds, obstacles, and the corners of possible routes."""
    shapes: list[Shape] = [
        Box(name, bed.x_min, bed.x_max, bed.y_min, bed.y_max) for name, bed in world.beds.items()
    ]
    shapes += [Disc(name, disc.x, disc.y, disc.radius) for name, disc in world.obstacles.items()]
    ground = Ground.of(world, shapes)
    corners: list[Point] = [
        corner for shape in shapes for corner in shape.corners(ground.clearance) if ground.is_clear(corner)
    ]
    if not world.beds or not world.obstacles or len(corners) > MAX_CORNERS:
        raise TableError(f"the board's map needs a bed, an obstacle and at most {MAX_CORNERS} corners")
    boxes = [
        "{" + ", ".join(map(_float, (bed.x_min, bed.x_max, bed.y_min, bed.y_max))) + "}"
        for bed in world.beds.values()
    ]
    discs = [
        "{" + ", ".join(map(_float, (disc.x, disc.y, disc.radius))) + "}" for disc in world.obstacles.values()
    ]
    points = ["{" + ", ".join(map(_float, corner)) + "}" for corner in corners]
    for struct, name, count, rows in (
        ("box", "beds", "BED_COUNT", boxes),
        ("disc", "obstacles", "OBSTACLE_COUNT", discs),
        ("point", "corners", "CORNER_COUNT", points),
    ):
        yield f"#define {count} {len(rows)}"
        yield _table(struct, name, count, rows)


def _constants(world: FarmWorld) -> Iterable[str]:
    rover, sensors = world.rover, world.sensors
    values = {
        "FIELD_WIDTH": world.field.width,
        "FIELD_HEIGHT": world.field.height,
        "START_X": world.pose.x,
        "START_Y": world.pose.y,
        "START_YAW": world.pose.yaw,
        "CLEARANCE": rover.radius + rover.clearance,
        "REACH": rover.reach,
        "SPEED": rover.speed,
        "ACCELERATION": rover.acceleration,
        "TURN_RATE": rover.turn_rate,
        "TURN_ACCELERATION": rover.turn_acceleration,
        "DRIVE_CHARGE_PER_M": rover.drive_charge_per_m,
        "PUMP_CHARGE_PER_S": rover.pump_charge_per_s,
        "CHARGING_PER_S": rover.charging_per_s,
        "WATER_FLOW": rover.water_flow,
        "PESTICIDE_FLOW": rover.pesticide_flow,
        "HARVEST_S": rover.harvest_s,
        "DUMP_S": rover.dump_s,
        "SWITCH_S": rover.switch_s,
        "READ_S": rover.read_s,
        "PEOPLE_SCAN_S": rover.people_scan_s,
        "WATER_CAPACITY": world.water_tank.capacity_liters,
        "WATER_REFILL_PER_S": world.water_tank.refill_liters_per_s,
        "WATER_LOW": _threshold(sensors.water_tank_low),
        "PESTICIDE_CAPACITY": world.pesticide_tank.capacity_ml,
        "PESTICIDE_REFILL_PER_S": world.pesticide_tank.refill_ml_per_s,
        "PESTICIDE_LOW": _threshold(sensors.pesticide_tank_low),
        "MOISTURE_WET": _threshold(sensors.moisture),
        "MOISTURE_HYSTERESIS": sensors.moisture.hysteresis,
        "MOISTURE_PERIOD_S": sensors.moisture.period or 60.0,
    }
    for name, value in values.items():
        yield f"#define {name} {_float(float(value))}"
    yield f"#define HOPPER_CAPACITY {world.hopper.capacity}\n"


def _threshold(spec: SensorSpec) -> float:
    if spec.threshold is None:
        raise TableError("the board's sensors need a threshold")
    return spec.threshold


if __name__ == "__main__":
    HEADER.write_text(make_tables(shipped_world()), encoding="utf-8")
