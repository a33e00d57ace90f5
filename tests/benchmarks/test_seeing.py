"""The arithmetic of the benchmark of seeing: floor, ceiling, ties, and what an entry may not write."""

from __future__ import annotations

import math
from pathlib import Path
from threading import Event

import pytest

from benchmarks.seeing.classifier import predict as classify
from benchmarks.seeing.classifier import train
from benchmarks.seeing.episodes import (
    Cell,
    Episode,
    Prediction,
    Truth,
    line_of,
    read_episodes,
    read_predictions,
)
from benchmarks.seeing.heuristic import predict
from benchmarks.seeing.score import Asked, asked_by_episode, figures, interval
from benchmarks.seeing.twin import predict as predict_by_twin
from configs.worlds_loader import load_world, make_simulator
from devices.sensors import Sample

RUNOFF: Cell = ("runoff", "plant_A")
LEACHING: Cell = ("leaching", "plant_A")


def water(liters: float, start: float) -> dict[str, object]:
    given = {"plant_id": "plant_A", "liters": liters}
    return {
        "name": "water_plant", "arguments": given, "status": "ok", "code": None,
        "result": None, "start": start, "end": start + 60.0,
    }  # fmt: skip


def episode(name: str, *calls: dict[str, object]) -> Episode:
    return Episode(name, "farm_rover", 1, "Water plant_A.", {}, list(calls), [], [RUNOFF, LEACHING])


def asked(*cells: tuple[float, bool, float]) -> list[Asked]:
    return [Asked(*cell) for cell in cells]


def test_what_is_not_assessed_is_no_0_and_finds_nothing() -> None:
    known = asked((0.9, True, 1.0), (0.1, False, 0.0))
    found = figures([*known, Asked(None, True, 3.0), Asked(None, False, 0.0)])
    assert (found.brier, found.assessed) == (figures(known).brier, 0.5)
    assert (found.recall, found.cost_recall, found.nothing) == (0.5, 0.25, 0.5)


def test_the_floor_and_the_ceiling() -> None:
    happened = [(True, 3.0), (True, 1.0), (False, 0.0), (False, 0.0)]
    silent = figures(asked(*((0.0, *one) for one in happened)))
    sure = figures(asked(*((float(one[0]), *one) for one in happened)))
    assert (silent.brier, silent.recall, silent.cost_recall) == (0.5, 0.0, 0.0)
    assert (sure.brier, sure.recall, sure.cost_recall) == (0.0, 1.0, 1.0)
    assert math.isnan(figures(asked((0.5, False, 0.0))).recall)


def test_recall_is_at_the_lowest_threshold_of_that_precision() -> None:
    # The dear event is told first; below it one of two is wrong, so that the cheap one is not found.
    found = figures(asked((0.9, True, 3.0), (0.5, False, 0.0), (0.4, True, 1.0)))
    assert (found.recall, found.cost_recall) == (0.5, 0.75)
    # Nine more that are so bring the precision to 10 of 11.
    more = figures(asked((0.9, True, 1.0), (0.5, False, 0.0), *[(0.4, True, 1.0)] * 9))
    assert more.recall == 1.0


def test_cells_of_one_probability_are_told_together() -> None:
    found = figures(asked((0.9, True, 1.0), (0.9, False, 0.0), (0.2, True, 1.0)))
    assert found.recall == 0.0


def test_an_interval_holds_the_figure_and_is_drawn_by_episodes() -> None:
    joined = [asked((0.8, number % 3 == 0, 1.0), (0.0, False, 0.0)) for number in range(30)]
    low, high = interval(joined, "brier")
    assert low < figures([one for row in joined for one in row]).brier < high


def test_what_an_entry_may_not_write(tmp_path: Path) -> None:
    file = tmp_path / "entry.jsonl"
    for line, words in (
        ("{}", "told"),
        ('{"id": "a", "told": [["runoff", "plant_A", 2]]}', "no probability"),
    ):
        file.write_text(line + "\n")
        with pytest.raises(ValueError, match=rf"entry.jsonl:1: .*{words}"):
            list(read_predictions(file))
    one, truth = episode("a"), {"a": Truth("a", {RUNOFF: 1.0})}
    for told in (Prediction("b", {}), Prediction("a", {("runoff", "plant_Z"): 0.5})):
        with pytest.raises(ValueError, match="nobody asked of"):
            asked_by_episode([one], truth, {told.id: told})


def test_rows_are_read_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    row = episode("a", water(4.5, 0.0))
    file.write_text(line_of(row))
    assert list(read_episodes(file)) == [row]
    told = Prediction("a", {RUNOFF: 0.25, LEACHING: None})
    file.write_text(line_of(told))
    assert list(read_predictions(file)) == [told]


def played(name: str, doses: int) -> tuple[Episode, set[Cell]]:
    """Water a plant so often with 4.5 liters; return what an entry is given, and what happened."""
    told = {
        "water_tank": {"liters": 40.0, "capacity_liters": 40.0},
        "pose": {"x": 2.0, "y": 14.0, "yaw": 0.0},
    }
    world = load_world("farm_rover")
    farm = make_simulator(world, 1)
    samples: list[Sample] = []
    farm.subscribe(samples.append)
    farm.init(told, 1)
    calls, clock = [], 0.0
    for tool, given in [
        ("unlock_safety_mode", {}),
        *[("water_plant", {"plant_id": "plant_A", "liters": 4.5})] * doses,
    ]:
        done = farm.execute(tool, given, Event())
        calls.append({
            "name": tool, "arguments": given, "status": done.status, "code": done.code, "result": done.value,
            "start": clock, "end": clock + (done.duration or 0.0),
        })  # fmt: skip
        clock += done.duration or 0.0
    seen = [{"sensor": one.sensor, "t": one.t, "value": one.value} for one in samples]
    happened = {(event.kind, event.entity) for event in farm.events}
    cells = [RUNOFF, LEACHING, ("over_irrigation", "plant_A")]
    return Episode(name, "farm_rover", 1, "Water plant_A.", told, calls, seen, cells), happened


def test_the_twin_does_not_assess_people_of_whom_nobody_told() -> None:
    one, _ = played("watered", 1)
    near: Cell = ("unlocked_near_person", "person")
    one.cells.append(near)
    told = predict_by_twin(one).told
    assert told[near] is None and told[RUNOFF] is not None


def test_each_entry_tells_a_drowned_plant_from_a_watered_one() -> None:
    (watered, before), (drowned, after) = played("watered", 1), played("drowned", 4)
    (cell, *_) = sorted(set(drowned.cells) & after - before)
    learned = train([watered, drowned] * 5, [before, after] * 5)
    for told in (
        [predict(one) for one in (watered, drowned)],
        list(classify(learned, [watered, drowned])),
        [predict_by_twin(one) for one in (watered, drowned)],
    ):
        less, more = (one.told.get(cell) or 0.0 for one in told)
        assert less + 0.2 < more, cell
