"""The mismatches of the robotic arm, for `mismatch.py`: contacts, start, masses, friction, faults, a person.

What the rig does beside its twin's equations is in its scene: `contacts` rewrites the MuJoCo model. The
friction cone stays elliptic, since the truth's forces are read from its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any
from xml.etree import ElementTree

from agents.agent import ToolCallAction
from agents.baselines.fixed_actions import FixedActions
from benchmarks.contacts import time_step
from benchmarks.mismatch_rows import Benchmark, Episode, Start, task_episode, with_fault
from benchmarks.near_misses import near_miss
from configs.errors import ConfigError
from configs.task import Task
from configs.worlds_loader import World, merged_state
from devices.robotic_arm.world import BenchWorld
from sims.overrides import deep_merge
from sims.robotic_arm import scene

NEAR = "near miss"
AGENTS = (NEAR, NEAR, "mutated", NEAR, NEAR, "random")
"""Who plays the episodes, in turn."""
LATEST_FAULT = 20.0
"""Latest onset of a fault, s: about as long as an episode."""
YAW_PER_METRE = 10.0
"""How far an object's yaw is off, rad, for each metre of its place: as in the world's own `spreads`."""
MOST_DRAWS = 100


@dataclass(frozen=True)
class ContactLaw:
    """Another contact model than `scene` has.

    Attributes:
        seconds, damping: time constant of a contact, s, and its damping ratio: MuJoCo's solref.
        impedance: MuJoCo's solimp.
        condim: 3: no torsional friction.
        integrator: of the physics.
        step: of the physics, s.
    """

    seconds: float
    damping: float
    impedance: str
    condim: int
    integrator: str
    step: float


LAWS: Mapping[str, ContactLaw] = {
    # Six times as stiff, without torsional friction; MuJoCo's own impedance.
    "hard": ContactLaw(0.004, 1.0, "0.9 0.95 0.001", 3, "Euler", 0.001),
    # A quarter of the stiffness, and it bounces.
    "soft": ContactLaw(0.02, 0.5, "0.9 0.95 0.001", 4, "implicitfast", 0.002),
}


@contextmanager
def contacts(law: ContactLaw) -> Iterator[None]:
    """Let benches that are made meanwhile have another contact model."""
    shipped = scene.scene_xml

    def scene_xml(world: BenchWorld) -> str:
        root = ElementTree.fromstring(shipped(world))
        option, geom = root.find("option"), root.find("default/geom")
        assert option is not None and geom is not None
        option.set("integrator", law.integrator)
        geom.attrib |= {
            "solref": f"{law.seconds} {law.damping}",
            "solimp": law.impedance,
            "condim": str(law.condim),
        }
        return ElementTree.tostring(root, encoding="unicode")

    scene.scene_xml = scene_xml
    try:
        with time_step(law.step):
            yield
    finally:
        scene.scene_xml = shipped


@dataclass(frozen=True)
class Mismatch:
    """What is wrong about the twin's model.

    Attributes:
        name: as printed.
        start: objects are off by up to this in x and y, m, and in yaw.
        fault: the probability of a fault of a kind that the twin knows.
        law: the rig's contact model, one of `LAWS`; empty: the twin's.
        mass: each object's mass is off by a factor up to this, down or up.
        oil: each object's friction is this share of the believed one: a fault without a name.
        turn: the base axis is off by this, rad, to either side: another one.
        late: the person comes up to so many seconds earlier or later than told.
        person: the twin is not told that anybody comes.
    """

    name: str
    start: float = 0.0
    fault: float = 0.0
    law: str = ""
    mass: float = 1.0
    oil: float = 1.0
    turn: float = 0.0
    late: float = 0.0
    person: bool = False

    def obeyed(self) -> AbstractContextManager[None]:
        """Let every bench that is made meanwhile have the rig's contact model."""
        return contacts(LAWS[self.law]) if self.law else nullcontext()

    def begin(self, told: Mapping[str, Any], world: World, hidden: Mapping[str, float], rng: Random) -> Start:
        """Return how an episode begins of which all this is believed."""
        told = dict(told)
        true = _moved(told, world, self.start, rng)
        true, faulty = with_fault(true, self.fault, world, LATEST_FAULT, rng)
        state = merged_state(world, true)
        assert isinstance(state, BenchWorld)
        if self.mass != 1.0:
            masses = {n: one.mass * self.mass ** rng.uniform(-1.0, 1.0) for n, one in state.objects.items()}
            # A bench bears no object above 5 kg.
            true = deep_merge(true, {"objects": {n: {"mass": min(5.0, m)} for n, m in masses.items()}})
        if self.oil != 1.0:
            oily = {n: {"friction": one.friction * self.oil} for n, one in state.objects.items()}
            true = deep_merge(true, {"objects": oily})
        if self.turn:
            true = deep_merge(true, _turned(state, rng.choice((-self.turn, self.turn))))
        if self.late:
            breaks = [
                {"at": max(0.0, one.at + rng.uniform(-self.late, self.late)), "seconds": one.seconds}
                for one in state.light_curtain
            ]
            true = deep_merge(true, {"light_curtain": breaks})
        if self.person:
            told.pop("light_curtain", None)
        return Start(told, true, dict(hidden), faulty)


def _moved(told: Mapping[str, Any], world: World, far: float, rng: Random) -> dict[str, Any]:
    """Return the start with every object off by up to `far`, m, where all of them find room."""
    if not far:
        return dict(told)
    state = merged_state(world, told)
    assert isinstance(state, BenchWorld)
    for _ in range(MOST_DRAWS):
        moved = {
            name: {
                "x": thing.x + rng.uniform(-far, far),
                "y": thing.y + rng.uniform(-far, far),
                "yaw": thing.yaw + YAW_PER_METRE * rng.uniform(-far, far),
            }
            for name, thing in state.objects.items()
        }
        true = deep_merge(dict(told), {"objects": moved})
        try:
            merged_state(world, true)
        except ConfigError:
            continue
        return true
    raise ValueError(f"the objects found no room within {far:g} m in {MOST_DRAWS} draws")


def _turned(state: BenchWorld, angle: float) -> dict[str, Any]:
    """Return objects, bins, obstacles and zones turned round the base's axis: what an arm finds whose base
    axis is off by as much the other way.
    """
    c, s = math.cos(angle), math.sin(angle)
    return {
        part: {
            name: {"x": c * one.x - s * one.y, "y": s * one.x + c * one.y, "yaw": one.yaw + angle}
            for name, one in getattr(state, part).items()
        }
        for part in ("objects", "bins", "obstacles", "zones")
    }


MISMATCHES = (
    Mismatch("matched"),
    Mismatch("everyday: start 6 mm, fault 1 in 10, contacts", start=0.006, fault=0.1, law="hard"),
    Mismatch("start 6 mm", start=0.006),
    Mismatch("start 1 cm", start=0.01),
    Mismatch("start 3 cm", start=0.03),
    Mismatch("fault in every episode", fault=1.0),
    Mismatch("contacts hard", law="hard"),
    Mismatch("contacts soft, bouncing", law="soft"),
    Mismatch("masses half to double", mass=2.0),
    Mismatch("unnamed fault (oil: a third of the friction)", oil=1.0 / 3.0),
    Mismatch("unnamed fault (base axis off by 0.02 rad)", turn=0.02),
    Mismatch("person up to 2 s early or late", late=2.0),
    Mismatch("person not told", person=True),
)


class _NearMiss(FixedActions):
    name = NEAR


def _episode(number: int, tasks: Sequence[Task], world: World, rng: Random) -> Episode:
    turn, kind = number // len(AGENTS), AGENTS[number % len(AGENTS)]
    if kind != NEAR:
        return task_episode(turn, kind, tasks, world, rng)
    task = tasks[number % len(tasks)]
    state = merged_state(world, task.init)
    assert isinstance(state, BenchWorld)
    told, calls = near_miss(state, rng)
    actions = [ToolCallAction(call.name, call.arguments) for call in calls]
    return Episode(task, deep_merge(task.init, told), _NearMiss(actions))


# The rules left out hang on the arm's own way and times, which the log has, rather than on what it touches.
ARM = Benchmark(MISMATCHES, ("keep_out", "light_curtain"), _episode)
