"""Interventions: found by name in their world, set up before a call, taken back after whatever it did."""

from __future__ import annotations

import ast
from dataclasses import replace
from threading import Event

import pytest
from farm_rig import WORLD, at
from paths import ROOT

from devices.farm_rover.tools import Water
from devices.harm import LEAVE_OUT
from devices.tool import ToolArguments
from sims.farm_rover.simulator import FarmSimulator
from sims.intervention import ChangedCall, Flag, Intervention, by_name
from sims.world_type import WORLD_TYPES

HERE = {"safety_locked": False, "pose": at("plant_A")}
POUR = "water_plant", {"plant_id": "plant_A", "liters": 2.0}


@pytest.mark.parametrize("name", list(WORLD_TYPES))
def test_each_remedy_is_an_intervention_of_its_world(name: str) -> None:
    world = WORLD_TYPES[name]
    assert {rule.remedy for rule in world.harm_rules} <= {*world.interventions, LEAVE_OUT}
    assert all(key == one.name for key, one in world.interventions.items())


def test_a_rule_with_a_remedy_that_nobody_has_is_told() -> None:
    world = WORLD_TYPES["farm_rover"]
    rule = replace(world.harm_rules[0], remedy="prayer")
    with pytest.raises(ValueError, match=r"rule over_irrigation has the remedy 'prayer', which is none"):
        replace(world, harm_rules=(rule,))


@pytest.mark.parametrize("folder", ["farm", "arm"])
def test_no_physics_asks_for_a_remedy_or_whether_a_call_is_forced(folder: str) -> None:
    for path in (ROOT / "sims" / folder).glob("*.py"):
        asked = {
            node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)
        }
        assert not asked & {"remedy", "forced"}, path.name


class Halved(Intervention[FarmSimulator]):
    """Half the water."""

    name = "halved"

    def arguments(self, sim: FarmSimulator, call: ChangedCall) -> ToolArguments:
        assert isinstance(call.arguments, Water)
        return call.arguments.model_copy(update={"liters": call.arguments.liters / 2})


class Own(FarmSimulator):
    interventions = by_name([Halved(), Flag("flagged", "flag")])
    flag = False


def own() -> Own:
    simulator = Own(WORLD)
    assert simulator.init(HERE, 0).status == "ok"
    return simulator


def test_an_intervention_may_change_the_arguments_in_the_same_time() -> None:
    simulator = own()
    outcome = simulator.execute(*POUR, Event(), remedy="halved", forced=True, duration=60.0)
    assert outcome.value is not None and outcome.value["liters"] == 1.0
    assert outcome.t == 60.0


def test_what_was_set_up_is_taken_back_though_the_call_is_stopped() -> None:
    simulator, seen = own(), []
    simulator.watch(1.0, lambda t: seen.append(simulator.flag))
    simulator.execute(*POUR, Event(), remedy="flagged", forced=True, duration=60.0)
    assert seen[0] and not seen[-1] and not simulator.flag
    stop = Event()
    stop.set()
    assert simulator.execute(*POUR, stop, remedy="flagged", forced=True).code == "stopped"
    assert not simulator.flag
