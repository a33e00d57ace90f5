"""Parts of an arm's MuJoCo model: contacts, objects, bins and obstacles."""

from __future__ import annotations

import math

from devices.arm.arm_world import ArmWorld, BenchHidden
from devices.arm.layout import base_height
from devices.arm.things import GRIP_HEIGHT, WALL_THICKNESS, BenchObject, Bin, Block

TIMESTEP = 0.002
"""Of the physics, s; also the period in which the arm's controller looks for a collision, as at 500 Hz."""
CONTACT_TIME = 0.01
"""Time constant of a contact, s, whatever the time step; critically damped. Per kilogram of the mass that a
contact stops this is a stiffness of 1 / t^2 = 10 kN/m and a damping of 2 / t = 200 N s/m. Five time steps are
enough for forces that no longer depend on the step (`benchmarks/contacts.py`)."""
CONTACT_IMPEDANCE = "0.99 0.999 0.0005"
"""MuJoCo's solimp: the share of a penetration that the constraint resists, from 0 to 0.5 mm deep."""
CONDIM, CONDIM_ROLLING = 4, 6
"""Contacts have normal force, sliding and torsional friction; what can roll has rolling friction, too."""
ARM, THING, FLOOR, SOLID, HELD = 1, 2, 4, 8, 16
"""Contact bits. Two geoms collide where the contype of one shares a bit with the conaffinity of the other.

FLOOR is what objects stand on (the bench, a bin's floor), SOLID a bin's walls and obstacles. HELD replaces
THING on an object that passes through others in a counterfactual.
"""
ARM_MEETS = f'contype="{ARM}" conaffinity="0"'
THING_MEETS = f'contype="{THING}" conaffinity="{ARM | THING | FLOOR | SOLID}"'
FLOOR_MEETS = f'contype="{FLOOR}" conaffinity="{ARM}"'
SOLID_MEETS = f'contype="{SOLID}" conaffinity="{ARM}"'


def things_xml(world: ArmWorld, *more: str) -> str:
    """Return the bodies of bins and obstacles, of `more`, and of the objects at their initial poses."""
    bodies = [_bin(name, tray) for name, tray in world.bins.items()]
    bodies += [box(name, block, SOLID_MEETS) for name, block in world.obstacles.items()]
    bodies += more
    bodies += [
        _object(name, thing, base_height(world, thing), world.hidden) for name, thing in world.objects.items()
    ]
    return "".join(bodies)


def _object(name: str, thing: BenchObject, base_height: float, hidden: BenchHidden) -> str:
    """Return the body of an object whose base is at a height, m."""
    length, width, height = thing.size
    if thing.shape == "box":
        shape = f'type="box" size="{length / 2} {width / 2} {height / 2}"'
    else:
        shape = f'type="cylinder" size="{length / 2} {height / 2}" condim="{CONDIM_ROLLING}"'
    z = base_height + GRIP_HEIGHT
    mass, friction = thing.mass * hidden.mass, thing.friction * hidden.friction
    return f"""
    <body name="{name}" pos="{thing.x} {thing.y} {z}" quat="{quaternion(thing.yaw)}">
     <freejoint name="{name}"/>
     <geom name="{name}" pos="0 0 {height / 2 - GRIP_HEIGHT}" {shape} mass="{mass!r}" priority="1"
           friction="{friction!r} 0.01 0.0005" {THING_MEETS}/>
    </body>"""


def _bin(name: str, tray: Bin) -> str:
    """Return the body of a bin: its floor `NAME` and its walls `NAME/K`."""
    half_x, half_y = tray.size[0] / 2 + WALL_THICKNESS, tray.size[1] / 2 + WALL_THICKNESS
    half_floor, half_wall = tray.floor / 2, tray.wall_height / 2
    walls = "".join(
        f"""
     <geom name="{name}/{k}" type="box" pos="{x} {y} {tray.floor + half_wall}" size="{hx} {hy} {half_wall}"
           {SOLID_MEETS}/>"""
        for k, (x, y, hx, hy) in enumerate(tray.walls())
    )
    return f"""
    <body name="{name}" pos="{tray.x} {tray.y} 0" quat="{quaternion(tray.yaw)}">
     <geom name="{name}" type="box" pos="0 0 {half_floor}" size="{half_x} {half_y} {half_floor}"
           {FLOOR_MEETS}/>{walls}
    </body>"""


def box(name: str, block: Block, meets: str) -> str:
    """Return the body of an obstacle, or of a zone."""
    length, width, height = block.size
    return f"""
    <body name="{name}" pos="{block.x} {block.y} {block.z + height / 2}" quat="{quaternion(block.yaw)}">
     <geom name="{name}" type="box" size="{length / 2} {width / 2} {height / 2}" {meets}/>
    </body>"""


def quaternion(yaw: float) -> str:
    """Return MuJoCo's quaternion of a turn about the vertical, rad."""
    return f"{math.cos(yaw / 2)!r} 0 0 {math.sin(yaw / 2)!r}"
