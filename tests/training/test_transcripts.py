from __future__ import annotations

import json
from threading import Event

import pytest

from agents.scaffolds.prompting import DECLINE, outcome_text
from configs.worlds_loader import load_world, make_simulator
from training.conversations import native_pieces
from training.transcripts import HELD_OUT, episode, episodes

COUNT = 450


@pytest.fixture(scope="module")
def stories():
    return [episode(seed) for seed in range(COUNT)]


def test_a_seed_gives_the_same_episode():
    for seed in (0, 17, HELD_OUT):
        assert native_pieces(episode(seed)) == native_pieces(episode(seed))
    assert [next(episodes(5)).prompt, episode(6).prompt] == [episode(5).prompt, next(episodes(6)).prompt]


def test_every_call_is_valid_and_every_result_is_compact_json(stories):
    for story in stories:
        for turn in story.turns:
            if turn.tool == DECLINE:
                assert turn is story.turns[-1] and turn.result is None
                continue
            story.device.validate(turn.tool, turn.arguments)
            assert turn.result == json.dumps(json.loads(turn.result), separators=(",", ":"))


def test_the_expert_unlocks_before_it_moves_and_locks_at_the_end(stories):
    for story in stories:
        learned = [turn.tool for turn in story.turns if turn.learn]
        work = [tool for tool in learned if tool not in (*story.device.reads, DECLINE)]
        if work:
            assert work[0].startswith("unlock_safety")
            assert work[-1].startswith("lock_safety")


def test_the_expert_moves_to_poses_that_it_has_read_or_was_told(stories):
    for story in stories:
        known = story.prompt
        for turn in story.turns:
            if turn.learn and turn.tool in ("move_to", "place"):
                for key in set(turn.arguments) - {"yaw"}:
                    assert f"{turn.arguments[key]:g}" in known
            known += turn.result or ""


def test_refusals_are_among_them_and_the_expert_recovers(stories):
    refused = [
        story for story in stories if any("error" in json.loads(turn.result or "{}") for turn in story.turns)
    ]
    assert len(refused) > COUNT // 50
    for story in refused:
        assert "error" not in json.loads(story.turns[-1].result)


FARM = [
    ("unlock_safety_mode", {}), ("get_plant_pose", {"plant_id": "plant_A"}),
    ("move_to", {"x": 2.0, "y": 14.0}), ("water_plant", {"plant_id": "plant_A", "liters": 1}),
    ("spray_pesticide", {"plant_id": "plant_A", "ml": 5}),
    ("harvest_fruit", {"plant_id": "plant_A"}), ("scan_plant", {"plant_id": "plant_A"}), ("list_plants", {}),
    ("sense_battery", {}), ("sense_hopper", {}), ("sense_pose", {}), ("move_to", {"x": 6.0, "y": 18.0}),
    ("dump_hopper", {}), ("get_station_pose", {"station_name": "water_station"}),
    ("move_to", {"x": 18.5, "y": 2}), ("refill_water_tank", {}), ("move_to", {"x": 18, "y": 18}),
    ("refill_pesticide", {}), ("move_home", {}),
    ("lock_safety_mode", {}),
]  # fmt: skip
BENCH = [
    ("unlock_safety", {}), ("list_objects", {}), ("pick", {"object_id": "box_small"}), ("sense_gripper", {}),
    ("get_object_pose", {"object_id": "bin_left"}), ("place", {"x": 0.35, "y": 0.6, "z": 0.025, "yaw": 0.0}),
    ("home", {}), ("close_gripper", {}), ("open_gripper", {}), ("lock_safety", {}),
]  # fmt: skip


@pytest.mark.parametrize(("world", "calls"), [("farm_rover", FARM), ("robotic_arm", BENCH)])
def test_made_up_results_have_the_form_of_the_simulators(stories, world, calls):
    """The same keys in the same order, and numbers written alike."""
    simulator = make_simulator(load_world(world))
    seen: dict[str, set] = {}
    for story in stories:
        if story.device.name == world:
            for turn in story.turns:
                value = json.loads(turn.result or '{"error": "declined"}')
                if "error" not in value:
                    seen.setdefault(turn.tool, set()).add(form(value))
    for tool, arguments in calls:
        outcome = simulator.execute(tool, arguments, Event())
        assert outcome.status == "ok", (tool, outcome)
        assert form(json.loads(outcome_text(outcome))) in seen[tool], tool


def form(value: dict) -> tuple:
    return tuple((key, type(entry).__name__) for key, entry in value.items())
