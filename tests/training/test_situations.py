"""Made-up episodes that ask for a look, a choice or a refusal: the expert does what the prompt asks."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields
from random import Random

import pytest

from agents.scaffolds.prompting import DECLINE
from training.arm_situations import arm_situation
from training.held_out_wordings import HELD_OUT_WORDS
from training.rover_situations import rover_situation
from training.wordings import SEEN

COUNT = 600
WORK = ("water_plant", "spray_pesticide", "harvest_fruit", "pick", "place", "move_to", "dump_hopper")


@pytest.fixture(scope="module")
def rover():
    return [rover_situation(Random(seed), SEEN) for seed in range(COUNT)]


@pytest.fixture(scope="module")
def arm():
    return [arm_situation(Random(seed), SEEN) for seed in range(COUNT)]


def tools(story):
    return [turn.tool for turn in story.turns if turn.learn]


def value(turn):
    return json.loads(turn.result or "{}")


@pytest.mark.parametrize("wordings", [SEEN, HELD_OUT_WORDS], ids=["seen", "held out"])
def test_no_slot_and_no_bracket_is_left(wordings):
    for seed in range(COUNT):
        for tell in (rover_situation, arm_situation):
            assert not re.search(r"[\[\]{}|]", tell(Random(seed), wordings).prompt)


def test_held_out_words_have_a_text_for_each_situation():
    for part in (HELD_OUT_WORDS.rover_situations, HELD_OUT_WORDS.arm_situations):
        assert all(getattr(part, field.name) for field in fields(part))


def test_to_decline_is_the_end_and_no_work_was_done(rover, arm):
    for stories in (rover, arm):
        declined = [story for story in stories if DECLINE in tools(story)]
        assert COUNT // 20 < len(declined) < COUNT // 2
        for story in declined:
            assert tools(story)[-1] == DECLINE
            assert set(tools(story)[:-1]) <= {"list_plants", "list_objects"}


def test_what_is_not_on_the_list_is_declined_and_what_is_there_is_done(rover, arm):
    for stories, listing, key in ((rover, "list_plants", "plants"), (arm, "list_objects", "objects")):
        seen = Counter()
        for story in stories:
            if tools(story)[0] == listing:
                listed = value(story.turns[0])[key]
                asked = [
                    turn.arguments.get("plant_id", turn.arguments.get("object_id")) for turn in story.turns
                ]
                if not any(asked) and tools(story)[-1] != DECLINE:
                    continue
                seen[tools(story)[-1]] += 1
                assert (tools(story)[-1] == DECLINE) == (not set(asked) & set(listed))
        assert min(seen.values()) > 5 and len(seen) == 2


def test_what_the_scan_does_not_show_is_not_acted_on(rover):
    acted = Counter()
    for story in rover:
        shown = {}
        for turn in story.turns:
            plant = turn.arguments.get("plant_id")
            if turn.tool == "scan_plant":
                shown[plant] = value(turn)
        if len(shown) != 1 or tools(story)[0] != "scan_plant":
            continue
        (seen,) = shown.values()
        work = [tool for tool in tools(story) if tool in WORK and tool != "move_to"]
        acted[bool(work)] += 1
        for tool in work:
            due = {
                "water_plant": seen["soil"] == "dry",
                "spray_pesticide": seen["pests"],
                "harvest_fruit": seen["ripe"],
            }
            assert due[tool], story.prompt
    assert acted[True] > 5 and acted[False] > 5


def test_the_battery_is_charged_below_the_threshold_only(rover):
    charged = Counter()
    for story in rover:
        charge = re.search(r"\b0\.\d+", story.prompt)
        if tools(story)[0] == "sense_battery" and charge:
            low = value(story.turns[0])["battery"] < float(charge[0])
            charged[low] += 1
            assert tools(story)[1] == "unlock_safety_mode"
            assert ("recharge" in tools(story)) == low
    assert min(charged.values()) > 5


def test_a_full_hopper_is_emptied_before_the_harvest(rover):
    full = Counter()
    for story in rover:
        if tools(story)[0] == "sense_hopper":
            done = [tool for tool in tools(story) if tool in ("dump_hopper", "harvest_fruit")]
            full[value(story.turns[0])["fruit"] == 2] += 1
            assert (done[0] == "dump_hopper") == (value(story.turns[0])["fruit"] == 2)
    assert min(full.values()) > 5


def test_the_bin_that_is_taken_is_not_used(arm):
    checked = 0
    for story in arm:
        reads = [turn for turn in story.turns if turn.tool == "get_object_pose"]
        if tools(story)[:3] == ["get_object_pose"] * 3 and len(reads) == 4:
            first, second, one_bin, target = (value(turn) for turn in reads)
            taken = [(thing["x"], thing["y"]) for thing in (first, second)]
            assert (target["x"], target["y"]) not in taken
            assert ((one_bin["x"], one_bin["y"]) in taken) == (one_bin["name"] != target["name"])
            checked += 1
    assert checked > 10


def test_beyond_the_reach_is_declined():
    seen = Counter()
    for seed in range(4 * COUNT):
        story = arm_situation(Random(seed), HELD_OUT_WORDS)
        if found := re.search(
            r"at \((-?[\d.]+), (-?[\d.]+), [\d.]+\) unless ([\d.]+) m of arm", story.prompt
        ):
            x, y, reach = map(float, found.groups())
            declines = tools(story)[-1] == DECLINE
            seen[declines] += 1
            assert declines == ((x * x + y * y) ** 0.5 > reach)
    assert seen[True] > 5 and seen[False] > 5
