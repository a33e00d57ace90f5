"""The arm's rows of the mismatch benchmark: each changes the rig beside what its twin is told."""

import json
import math
from collections.abc import Mapping
from functools import cache
from io import StringIO
from random import Random
from threading import Event
from typing import Any

import pytest
from rich.console import Console

from benchmarks.mismatch import Plan, report, run_plan
from benchmarks.mismatch_arm import LAWS, MISMATCHES, Mismatch, contacts
from benchmarks.mismatch_rows import Start, drawn_fault
from configs.worlds_loader import load_world
from sims.arm import scene_parts
from sims.robotic_arm import scene
from sims.robotic_arm.simulator import ArmSimulator

ROWS = MISMATCHES
WORLD = load_world("robotic_arm")
PRESS = ("move_to", {"x": 0.5, "y": 0.2, "z": 0.015})
CALLS = (("pick", {"object_id": "box_small"}), PRESS)
TOLD: Mapping[str, Any] = {"safety_locked": False, "light_curtain": [{"at": 1.0, "seconds": 1.0}]}


def lived(row: Mismatch, start: Mapping[str, Any]) -> tuple[list[Any], dict[tuple[str, str], float]]:
    """Return states and samples after each call, and the greatest severity of each event."""
    seen: list[Any] = []
    with row.obeyed():
        arm = ArmSimulator(WORLD.state)
        arm.subscribe(lambda sample: seen.append((sample.t, sample.sensor, sample.value)))
        arm.init(dict(start), 1)
        for tool, arguments in CALLS:
            arm.execute(tool, arguments, Event())
            seen.append(json.dumps(arm.state_dict(), default=str))
        arm.finish()
    worst: dict[tuple[str, str], float] = {}
    for event in arm.events:
        key = event.kind, event.entity
        worst[key] = max(event.severity, worst.get(key, 0.0))
    return seen, worst


@cache
def as_told() -> tuple[list[Any], dict[tuple[str, str], float]]:
    """Return the same of what the twin is told."""
    return lived(row("matched"), TOLD)


def row(part: str) -> Mismatch:
    (found,) = [one for one in ROWS if one.name.startswith(part)]
    assert isinstance(found, Mismatch)
    return found


def begun(one: Mismatch, told: Mapping[str, Any] = TOLD) -> Start:
    return one.begin(told, WORLD, {}, Random(0))


def test_a_matched_rig_is_its_twin():
    start = begun(row("matched"))
    assert start.true == start.told == TOLD
    assert lived(row("matched"), start.true) == as_told()


@pytest.mark.parametrize("one", ROWS[1:], ids=lambda one: one.name)
def test_each_mismatch_changes_what_happens_beside_what_the_twin_is_told(one):
    start = begun(one)
    assert start.told == ({"safety_locked": False} if one.person else TOLD)
    assert start.hidden == {}
    twins = lived(row("matched"), start.told) if one.person else as_told()
    assert lived(one, start.true) != twins


def test_another_contact_model_gives_other_forces():
    def force(law: str) -> float:
        return lived(Mismatch("", law=law), TOLD)[1]["collision", "bench"]

    shipped, hard, soft = as_told()[1]["collision", "bench"], force("hard"), force("soft")
    assert hard > 1.05 * shipped and soft != pytest.approx(shipped, rel=0.005)
    text = scene.scene_xml(WORLD.state)
    with contacts(LAWS["hard"]):
        assert 'integrator="Euler"' in scene.scene_xml(WORLD.state) and scene_parts.TIMESTEP == 0.001
    assert scene.scene_xml(WORLD.state) == text and scene_parts.TIMESTEP == 0.002


def test_a_wrong_start_leaves_the_told_spread_and_stays_within_its_own():
    believed = WORLD.state.objects
    for one, far in ((row("start 6 mm"), 0.006), (row("start 1 cm"), 0.01), (row("start 3 cm"), 0.03)):
        drawn = [one.begin(TOLD, WORLD, {}, Random(n)).true["objects"] for n in range(20)]
        off = [abs(true[name][axis] - getattr(believed[name], axis)) for true in drawn for name in believed
               for axis in ("x", "y")]  # fmt: skip
        assert 0.8 * far < max(off) <= far and max(off) > WORLD.spreads["objects.*.x"].plus_minus
        turned = [abs(true[name]["yaw"] - believed[name].yaw) for true in drawn for name in believed]
        assert 5.0 * far < max(turned) <= 10.0 * far


def test_a_turned_base_puts_everything_aside_by_its_angle():
    true = begun(row("unnamed fault (base axis")).true
    for part in ("objects", "bins", "zones"):
        for name, thing in getattr(WORLD.state, part).items():
            moved = true[part][name]
            far = math.hypot(moved["x"] - thing.x, moved["y"] - thing.y)
            assert far == pytest.approx(0.02 * math.hypot(thing.x, thing.y), rel=1e-3)
            assert abs(moved["yaw"] - thing.yaw) == pytest.approx(0.02)


def test_oil_lets_what_the_twin_can_hold_slip():
    heavy = {**TOLD, "objects": {"box_small": {"mass": 2.0}}}
    held = []
    for one in (row("matched"), row("unnamed fault (oil")):
        arm = ArmSimulator(WORLD.state)
        arm.init(begun(one, heavy).true, 1)
        held.append(arm.execute(*CALLS[0], Event()).value["holding"])
    assert held == [True, False]


def test_masses_are_off_by_up_to_a_factor_of_two_each_by_its_own():
    masses = {name: one["mass"] for name, one in begun(row("masses")).true["objects"].items()}
    shares = [mass / WORLD.state.objects[name].mass for name, mass in masses.items()]
    assert all(0.5 <= share <= 2.0 for share in shares) and len(set(shares)) == len(shares)


def test_a_fault_is_of_a_kind_that_the_twin_knows():
    faults = [drawn_fault(WORLD.fault_priors, ["at_slot.bin_left"], 20.0, Random(n)) for n in range(60)]
    assert {fault["kind"] for fault in faults} == set(WORLD.fault_priors)
    assert all(0.0 <= fault["at"] <= 20.0 for fault in faults)
    assert begun(row("fault in every")).faulty
    drawn = [row("everyday").begin(TOLD, WORLD, {}, Random(n)).faulty for n in range(100)]
    assert 4 <= sum(drawn) <= 20


@pytest.mark.slow
def test_the_twin_of_a_real_episode_misses_the_person_that_it_was_not_told_of():
    def told(part: str) -> dict[str, Any]:
        fitted: dict[str, Any] = {"hidden": {}, "estimates": {}}
        number = ROWS.index(row(part))
        return run_plan(Plan("robotic_arm", number, 0, 22, 1, 1, 2, fitted, ("shipped",)))

    def near(found: Mapping[str, Any]) -> list[tuple[bool, float]]:
        records = [one for one in found["records"] if one["kind"] == "light_curtain"]
        return [(one["happened"], round(one["probability"], 6)) for one in records]

    matched, untold = told("matched"), told("person not told")
    assert near(matched) == [(True, 1.0)]
    assert near(untold) == [(True, 0.0)]
    out = StringIO()
    report(Console(file=out, width=240), "robotic_arm", [matched, untold], None)
    printed = out.getvalue().splitlines()
    assert [line.count("robotic_arm: events") for line in printed].count(1) == 2
    rows = [line.split("│") for line in printed if "person not told" in line]
    whole, contacts_alone = (cells[5].strip() for cells in rows)
    assert (whole, contacts_alone) == ("0.00 (0.00-0.79)", "-")
