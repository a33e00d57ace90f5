"""The bench as a MuJoCo model: own geometry of boxes, capsules and cylinders, no meshes.

What rests falls asleep: MuJoCo leaves it and its contacts out of the solver until something awake touches
it. Contacts are springs and dampers (`CONTACT_TIME`); what stands on the bench sinks in by some 10 um. The
drives carry the arm's own weight, so that it is part of their torques.
Friction in MuJoCo opposes sliding and has no memory of place, so what is held would creep out of the fingers;
a weld for each object, off at first, stands for the static friction of a grip (see `physics`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from devices.robotic_arm.hidden import BenchHidden
from devices.robotic_arm.layout import base_height
from devices.robotic_arm.safeguards import Zone
from devices.robotic_arm.things import GRIP_HEIGHT, WALL_THICKNESS, BenchObject, Bin, Obstacle
from devices.robotic_arm.world import COLUMN_RADIUS, ArmSpec, BenchWorld
from sims.robotic_arm.kinematics import FOREARM, SHOULDER_HEIGHT, TOOL_LENGTH, UPPER_ARM

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
FINGER_LENGTH, FINGER_THICKNESS, FINGER_WIDTH = 0.1, 0.012, 0.02
"""Of a finger, m; the thickness lies in the closing direction."""
ARMATURE = (1.0, 1.0, 1.0, 0.1, 0.1, 0.1)
"""Inertia of each drive's rotor behind its gear, kg m^2: 1e-4 and 1e-5 kg m^2 behind a ratio of 100."""
KP, KV = 100_000.0, 1_200.0
"""Joint servos: N m/rad and N m s/rad for each kg m^2 of the drive."""
TORQUE_LIMITS = (150.0, 150.0, 150.0, 56.0, 56.0, 56.0)
"""Peak torques of the drives, N m, the arm's weight included: as of joints of sizes 3 and 2 in the e-Series:
Universal Robots, "Max. joint torques", 2020, universal-robots.com/articles/ur-articles/max-joint-torques. The
maker's robot description gives a UR10e's elbow, size 3, 150 N m, and its wrists, size 2, 56 N m."""
RANGES = (None, (-3.1, 0.8), (0.0, 2.9), (-3.1, 3.1), (-2.1, 2.9), None)
"""Limits of the joints, rad, by stops; axes 1 and 6 have slip rings, and turn without end."""
FINGER_KP = 4_000.0
"""Finger servos, N/m; their force is capped at the grip force."""
OPENING_FORCE = 60.0
"""N."""

ARM, THING, FLOOR, SOLID, HELD = 1, 2, 4, 8, 16
"""Contact bits. Two geoms collide where the contype of one shares a bit with the conaffinity of the other.

FLOOR is what objects stand on (the bench, a bin's floor), SOLID a bin's walls and obstacles. HELD replaces
THING on an object that passes through others in a counterfactual.
"""
ARM_MEETS = f'contype="{ARM}" conaffinity="0"'
THING_MEETS = f'contype="{THING}" conaffinity="{ARM | THING | FLOOR | SOLID}"'
FLOOR_MEETS = f'contype="{FLOOR}" conaffinity="{ARM}"'
SOLID_MEETS = f'contype="{SOLID}" conaffinity="{ARM}"'


def _head() -> str:
    return f"""
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{TIMESTEP}" integrator="implicitfast" cone="elliptic" impratio="10" iterations="50"
          tolerance="1e-9">
   <flag sleep="enable"/>
  </option>
  <size memory="1M"/>
  <default>
    <geom solref="{CONTACT_TIME} 1" solimp="{CONTACT_IMPEDANCE}" condim="{CONDIM}"/>
    <equality solref="{CONTACT_TIME} 1" solimp="{CONTACT_IMPEDANCE}"/>
  </default>"""


def scene_xml(world: BenchWorld) -> str:
    """Return the MJCF text of a bench, every object at its initial pose."""
    bodies = [bin_xml(name, tray) for name, tray in world.bins.items()]
    bodies += [obstacle_xml(name, block) for name, block in world.obstacles.items()]
    bodies += [_zone(name, zone) for name, zone in world.zones.items()]
    bodies.append(_arm(world.arm))
    bodies += [
        object_xml(name, thing, base_height(world, thing), world.hidden)
        for name, thing in world.objects.items()
    ]
    welds = "".join(f'<weld name="{n}" body1="palm" body2="{n}" active="false"/>' for n in world.objects)
    return f"""<mujoco model="bench">{_head()}
  <worldbody>
    <geom name="bench" type="plane" size="2 2 0.1" {FLOOR_MEETS}/>{"".join(bodies)}
  </worldbody>
  <equality>
    <joint name="fingers" joint1="finger_left" joint2="finger_right" polycoef="0 1 0 0 0"/>{welds}
  </equality>
  <actuator>{"".join(_servos())}</actuator>
</mujoco>"""


def _servos() -> Iterator[str]:
    for axis, inertia in enumerate(ARMATURE, start=1):
        yield _servo(f"axis{axis}", KP * inertia, KV * inertia)
    for side in ("left", "right"):
        yield _servo(f"finger_{side}", FINGER_KP, 0.0, f'forcerange="-{OPENING_FORCE} {OPENING_FORCE}"')


def _servo(joint: str, kp: float, kv: float, limit: str = "") -> str:
    return (
        f'<general name="{joint}" joint="{joint}" gainprm="{kp}" biastype="affine" biasprm="0 -{kp} -{kv}" '
        f"{limit}/>"
    )


def _joint(number: int, axis: str) -> str:
    """Return a joint whose drive carries the weight behind it, within its peak torque."""
    stops, peak = RANGES[number - 1], TORQUE_LIMITS[number - 1]
    within = "" if stops is None else f'range="{stops[0]} {stops[1]}"'
    return (
        f'<joint name="axis{number}" axis="{axis}" armature="{ARMATURE[number - 1]}" {within} '
        f'actuatorgravcomp="true" actuatorfrcrange="-{peak} {peak}"/>'
    )


def _arm(spec: ArmSpec) -> str:
    palm, half_opening = TOOL_LENGTH - FINGER_LENGTH, spec.opening / 2
    half_palm = f"{palm / 2 - 0.02} {half_opening + FINGER_THICKNESS} {FINGER_WIDTH / 2}"
    fingers = _finger("left", 1, palm, half_opening) + _finger("right", -1, palm, half_opening)
    return f"""
    <geom name="column" type="cylinder" fromto="0 0 0 0 0 {SHOULDER_HEIGHT}" size="{COLUMN_RADIUS}"
          {ARM_MEETS}/>
    <body name="link1" pos="0 0 {SHOULDER_HEIGHT}" gravcomp="1">
     {_joint(1, "0 0 1")}
     <inertial pos="0 0 0" mass="3" diaginertia="0.02 0.02 0.02"/>
     <body name="link2" gravcomp="1">
      {_joint(2, "0 1 0")}
      <geom name="upper_arm" type="capsule" fromto="0 0 0 {UPPER_ARM} 0 0" size="0.05" mass="4" {ARM_MEETS}/>
      <body name="link3" pos="{UPPER_ARM} 0 0" gravcomp="1">
       {_joint(3, "0 1 0")}
       <geom name="forearm" type="capsule" fromto="0 0 0 {FOREARM} 0 0" size="0.04" mass="2.5" {ARM_MEETS}/>
       <body name="link4" pos="{FOREARM} 0 0" gravcomp="1">
        {_joint(4, "1 0 0")}
        <inertial pos="0 0 0" mass="0.3" diaginertia="0.001 0.001 0.001"/>
        <body name="link5" gravcomp="1">
         {_joint(5, "0 1 0")}
         <inertial pos="0 0 0" mass="0.3" diaginertia="0.001 0.001 0.001"/>
         <body name="palm" gravcomp="1">
          {_joint(6, "1 0 0")}
          <geom name="palm" type="box" pos="{palm / 2 + 0.02} 0 0" size="{half_palm}" mass="0.5" {ARM_MEETS}/>
          <site name="fingertips" pos="{TOOL_LENGTH} 0 0"/>{fingers}
         </body>
        </body>
       </body>
      </body>
     </body>
    </body>"""


def _finger(side: str, sign: int, palm: float, half_opening: float) -> str:
    size = f"{FINGER_LENGTH / 2} {FINGER_THICKNESS / 2} {FINGER_WIDTH / 2}"
    return f"""
          <body name="finger_{side}" pos="{palm} {sign * FINGER_THICKNESS / 2} 0" gravcomp="1">
           <joint name="finger_{side}" type="slide" axis="0 {sign} 0" range="0 {half_opening}" damping="60"
                  armature="0.5"/>
           <geom name="finger_{side}" type="box" pos="{FINGER_LENGTH / 2} 0 0" size="{size}" mass="0.05"
                 {ARM_MEETS}/>
          </body>"""


def object_xml(name: str, thing: BenchObject, base_height: float, hidden: BenchHidden) -> str:
    """Return the body of an object whose base is at a height, m."""
    length, width, height = thing.size
    if thing.shape == "box":
        shape = f'type="box" size="{length / 2} {width / 2} {height / 2}"'
    else:
        shape = f'type="cylinder" size="{length / 2} {height / 2}" condim="{CONDIM_ROLLING}"'
    z = base_height + GRIP_HEIGHT
    mass, friction = thing.mass * hidden.mass, thing.friction * hidden.friction
    return f"""
    <body name="{name}" pos="{thing.x} {thing.y} {z}" quat="{_quaternion(thing.yaw)}">
     <freejoint name="{name}"/>
     <geom name="{name}" pos="0 0 {height / 2 - GRIP_HEIGHT}" {shape} mass="{mass!r}" priority="1"
           friction="{friction!r} 0.01 0.0005" {THING_MEETS}/>
    </body>"""


def bin_xml(name: str, tray: Bin) -> str:
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
    <body name="{name}" pos="{tray.x} {tray.y} 0" quat="{_quaternion(tray.yaw)}">
     <geom name="{name}" type="box" pos="0 0 {half_floor}" size="{half_x} {half_y} {half_floor}"
           {FLOOR_MEETS}/>{walls}
    </body>"""


def _zone(name: str, zone: Zone) -> str:
    length, width, height = zone.size
    return f"""
    <body name="{name}" pos="{zone.x} {zone.y} {zone.z + height / 2}" quat="{_quaternion(zone.yaw)}">
     <geom name="{name}" type="box" size="{length / 2} {width / 2} {height / 2}" contype="0" conaffinity="0"/>
    </body>"""


def obstacle_xml(name: str, block: Obstacle) -> str:
    """Return the body of an obstacle."""
    length, width, height = block.size
    return f"""
    <body name="{name}" pos="{block.x} {block.y} {block.z + height / 2}" quat="{_quaternion(block.yaw)}">
     <geom name="{name}" type="box" size="{length / 2} {width / 2} {height / 2}" {SOLID_MEETS}/>
    </body>"""


def _quaternion(yaw: float) -> str:
    return f"{math.cos(yaw / 2)!r} 0 0 {math.sin(yaw / 2)!r}"
