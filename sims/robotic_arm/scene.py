"""The bench as a MuJoCo model: own geometry of boxes, capsules and cylinders, no meshes.

What rests falls asleep: MuJoCo leaves it and its contacts out of the solver until something awake touches
it. Contacts are springs and dampers (`CONTACT_TIME`); what stands on the bench sinks in by some 10 um. The
drives carry the arm's own weight, so that it is part of their torques.
Friction in MuJoCo opposes sliding and has no memory of place, so what is held would creep out of the fingers;
a weld for each object, off at first, stands for the static friction of a grip (see `physics`).
"""

from __future__ import annotations

from collections.abc import Iterator

from devices.robotic_arm.world import COLUMN_RADIUS, ArmSpec, BenchWorld
from sims.arm import scene_parts
from sims.arm.scene_parts import (
    ARM_MEETS,
    CONDIM,
    CONTACT_IMPEDANCE,
    CONTACT_TIME,
    FLOOR_MEETS,
    box,
    things_xml,
)
from sims.robotic_arm.kinematics import FOREARM, SHOULDER_HEIGHT, TOOL_LENGTH, UPPER_ARM

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


def _head() -> str:
    return f"""
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{scene_parts.TIMESTEP}" integrator="implicitfast" cone="elliptic" impratio="10"
          iterations="50" tolerance="1e-9">
   <flag sleep="enable"/>
  </option>
  <size memory="1M"/>
  <default>
    <geom solref="{CONTACT_TIME} 1" solimp="{CONTACT_IMPEDANCE}" condim="{CONDIM}"/>
    <equality solref="{CONTACT_TIME} 1" solimp="{CONTACT_IMPEDANCE}"/>
  </default>"""


def scene_xml(world: BenchWorld) -> str:
    """Return the MJCF text of a bench, every object at its initial pose."""
    zones = (box(name, zone, 'contype="0" conaffinity="0"') for name, zone in world.zones.items())
    bodies = things_xml(world, *zones, _arm(world.arm))
    welds = "".join(f'<weld name="{n}" body1="palm" body2="{n}" active="false"/>' for n in world.objects)
    return f"""<mujoco model="bench">{_head()}
  <worldbody>
    <geom name="bench" type="plane" size="2 2 0.1" {FLOOR_MEETS}/>{bodies}
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
