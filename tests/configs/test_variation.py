"""Ranges of a world's initial state, and what is drawn from them."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from configs.errors import ConfigError
from configs.variation import Variation, draw_state, each_value, unknown_key
from configs.worlds_loader import load_world, merged_state

STATE = {"battery": 0.9, "pose": {"x": 5.0}, "plants": {"a": {"wet": 0.1}, "b": {"wet": 0.2}}, "full": False}


def ranges(**keys: dict[str, Any]) -> dict[str, Variation]:
    return {key.replace("__", "."): Variation.model_validate(value) for key, value in keys.items()}


def test_a_value_is_drawn_round_the_states_own_and_within_its_bounds() -> None:
    vary = ranges(battery={"plus_minus": 0.3, "max": 1.0}, pose__x={"min": -1.0, "max": 1.0})
    drawn = [draw_state(vary, STATE, str(seed)) for seed in range(200)]
    battery = [one["battery"] for one in drawn]
    assert min(battery) >= 0.6 and max(battery) <= 1.0 and max(battery) - min(battery) > 0.35
    assert all(-1.0 <= one["pose"]["x"] <= 1.0 for one in drawn)
    assert draw_state(vary, STATE, "7") == drawn[7] != drawn[8]


def test_a_star_stands_for_each_entry_and_what_is_not_there_is_left_out() -> None:
    vary = {"plants.*.wet": Variation(plus_minus=0.05), "pose.yaw": Variation(min=0.0, max=1.0)}
    drawn = draw_state(vary, STATE, "1")
    assert drawn.keys() == {"plants"} and drawn["plants"].keys() == {"a", "b"}
    assert drawn["plants"]["a"]["wet"] != drawn["plants"]["b"]["wet"] - 0.1
    assert draw_state(vary, {"plants": {}}, "1") == {}
    alone = draw_state({"plants.*.wet": vary["plants.*.wet"]}, STATE, "1")
    assert alone == drawn, "a range more changes no other value"


def test_a_value_beyond_its_bounds_stays_as_it_is() -> None:
    assert Variation(plus_minus=0.1, max=0.5).draw(0.9, Random(1)) == 0.9
    assert Variation(one_of=[True, "x", 3]).draw(0, Random(1)) in (True, "x", 3)


def test_a_share_is_of_the_states_own_value_and_the_wider_of_two_ranges_counts() -> None:
    share = Variation(share=0.2, max=1.0)
    assert [share.at(0.5, one) for one in (0.0, 0.5, 1.0)] == pytest.approx([0.4, 0.5, 0.6])
    assert share.at(0.9, 1.0) == 1.0
    assert Variation(share=0.2, plus_minus=0.3).at(1.0, 1.0) == pytest.approx(1.3)
    assert Variation(share=0.2, plus_minus=0.3).at(5.0, 0.0) == pytest.approx(4.0)
    assert Variation(share=0.2).at(-5.0, 0.0) == pytest.approx(-6.0)


def test_what_would_lie_beyond_a_bound_is_at_it_where_a_start_is_uncertain() -> None:
    """A tank that is told to be full is as likely full as not, and never more."""
    full, low = Variation(share=0.2, max=5.0), Variation(plus_minus=0.1, min=0.0)
    assert [full.at(5.0, share) for share in (0.0, 0.25, 0.5, 0.9)] == pytest.approx([4.0, 4.5, 5.0, 5.0])
    assert [low.at(0.05, share) for share in (0.1, 0.5, 1.0)] == pytest.approx([0.0, 0.05, 0.15])
    assert Variation(min=2.0, max=4.0).at(9.0, 0.5) == 3.0


def test_the_farms_start_is_known_to_a_fifth_at_any_level() -> None:
    """An everyday mismatch is a start off by 20 %: a low charge and wet soil as well as the file's own."""
    world = load_world("farm_rover")
    low = {"battery": 0.3, "plants": {"plant_A": {"moisture": 0.28}}, "water_tank": {"liters": 2.0}}
    state = merged_state(world, low).model_dump()
    for part, name, own in (("battery", None, 0.3), ("water_tank", "liters", 2.0)):
        key = part if name is None else f"{part}.{name}"
        ends = [world.spreads[key].at(own, share) for share in (0.0, 1.0)]
        assert ends == pytest.approx([0.8 * own, 1.2 * own])
    drawn = [draw_state(world.spreads, state, str(seed)) for seed in range(300)]
    wet = [one["plants"]["plant_A"]["moisture"] / 0.28 for one in drawn]
    assert 0.8 <= min(wet) < 0.82 and 1.18 < max(wet) <= 1.2


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            {},
            {"min": 1.0},
            {"plus_minus": 0.0},
            {"plus_minus": 1.0, "one_of": [1]},
            {"min": 2.0, "max": 1.0},
        ),
        *({"share": 0.0}, {"share": 0.1, "one_of": [1]}),
    ],
)
def test_what_is_no_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Variation.model_validate(wrong)


@pytest.mark.parametrize("name", ["farm_rover", "robotic_arm"])
def test_every_shipped_world_declares_what_may_vary(name: str) -> None:
    world = load_world(name)
    assert world.vary and world.spreads
    for seed in range(20):
        merged_state(world, draw_state(world.vary, world.state.model_dump(), str(seed)))
        merged_state(world, draw_state(world.spreads, world.state.model_dump(), str(seed)))


def test_a_world_of_ones_own_lays_its_ranges_over_those_of_its_base(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("base: farm_rover\nvary:\n  pose.x: null\n  water_tank.liters: {min: 4.8, max: 5.0}\n")
    shipped, world = load_world("farm_rover"), load_world(str(own))
    assert world.vary.keys() == shipped.vary.keys() - {"pose.x"} | {"water_tank.liters"}
    assert world.state == shipped.state


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("batery: {plus_minus: 0.1}", r"own.yaml:3: vary.batery: names no value"),
        ("plants: {plus_minus: 0.1}", r"own.yaml:3: vary.plants: names no value"),
        ("safety_locked: {plus_minus: 0.1}", r"own.yaml:3: vary.safety_locked: names no value"),
        ("safety_locked: {share: 0.1}", r"own.yaml:3: vary.safety_locked: names no value"),
        ("battery: {plus_minus: 0.1, one_of: [1]}", r"own.yaml:3: vary.battery: .*give plus_minus, or"),
        ("battery: {about: 0.1}", r"own.yaml:3: vary.battery.about: unknown key"),
    ],
)
def test_a_wrong_range_is_told_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(f"base: farm_rover\nvary:\n  {line}\n")
    with pytest.raises(ConfigError, match=says):
        load_world(str(own))


def test_the_most_may_be_another_value_of_the_state() -> None:
    """A larger tank that is told to be full is as likely full as not, too."""
    state = load_world("farm_rover").state.model_dump()
    spreads = load_world("farm_rover").spreads
    for size in (5.0, 20.0):
        state["water_tank"] |= {"liters": size, "capacity_liters": size}
        (off,) = (one for path, _, one in each_value(spreads, state) if path == ("water_tank", "liters"))
        assert [off.at(size, one) for one in (0.0, 0.25, 0.5, 0.9)] == [0.8 * size, 0.9 * size, size, size]
    assert unknown_key(ranges(battery={"share": 0.2, "max": "pose.x"}), STATE) is None
    for key in ("pose", "full", "nothing"):
        assert unknown_key(ranges(battery={"share": 0.2, "max": key}), STATE) == ("battery", "max")
