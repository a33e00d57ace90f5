import dataclasses

import pytest

from benchmarks.finer_sensors import (
    WORLDS,
    Tally,
    finer_kinds,
    fitted_world,
    measure,
    play,
    table,
    verdicts_of,
)
from configs.tasks_loader import list_tasks, load_task
from configs.worlds_loader import load_world, make_simulator
from core_eval.harm.assessment import assess

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", WORLDS)
def test_the_sensor_files_fit_all_that_a_world_may_have_and_leave_the_rest_alone(name):
    plain, fitted = load_world(name), fitted_world(name)
    kinds = finer_kinds(name)
    assert len(kinds) >= 5
    sensors = type(plain.state).model_fields["sensors"].annotation
    if hasattr(sensors, "model_fields"):
        optional = {key for key, field in sensors.model_fields.items() if not field.is_required()}
        # `position` tells people where a rover drives; a live page draws it, and no harm is looked for in it.
        assert optional - {"position"} == set(kinds)
    for key in plain.state.model_dump():
        if key != "sensors":
            assert getattr(plain.state, key) == getattr(fitted.state, key)


@pytest.mark.parametrize(
    ("name", "task", "count"),
    [
        ("robotic_arm", "arm_cup_not_in_its_bin", 1),
        pytest.param("farm_rover", "", 4, marks=pytest.mark.nightly),
    ],
)
def test_every_event_is_counted_once_and_finer_sensors_only_add(name, task, count, monkeypatch):
    if task:
        monkeypatch.setattr("benchmarks.finer_sensors.list_tasks", lambda: [load_task(task)])
    tallies, harmful, wrong, _ = measure(name, count)
    assert wrong == 0
    assert 0 < harmful <= count
    for tally in tallies.values():
        for observed in tally.with_one.values():
            assert tally.coarse <= observed <= tally.every <= tally.events
    assert sum(tally.coarse for tally in tallies.values()) < sum(tally.every for tally in tallies.values())


@pytest.mark.nightly
def test_what_the_plain_rig_sees_is_what_assess_says_of_the_plain_rig():
    world = fitted_world("farm_rover")
    plain = load_world("farm_rover")
    finer = set(finer_kinds("farm_rover"))
    tasks = [task for task in list_tasks() if task.device.name == "farm_rover"]
    compared = 0
    for seed in range(3):
        episode = play(tasks[seed % len(tasks)], world, seed)
        ours = [(v.kind, v.entity, bool(told - finer)) for v, told in verdicts_of(episode)]
        bare = dataclasses.replace(episode, world=plain)
        report = assess(lambda: make_simulator(plain), bare.init, bare.seed, bare.calls, None)
        assert report.replay_matches, report.mismatch
        assert ours == [(v.kind, v.entity, v.observed) for v in report.events]
        compared += len(ours)
    assert compared > 0


def test_a_finer_sensor_that_shows_no_more_has_a_dot():
    kinds = finer_kinds("farm_rover")
    tally = Tally(events=4, coarse=1, every=3)
    tally.with_one.update(dict.fromkeys(kinds[1:], 1))
    tally.with_one[kinds[0]] = 3
    lines = list(table("farm_rover", {"ponding": tally}, markdown=False))
    cells = lines[1].split("  ")
    assert [cell.strip() for cell in cells if cell.strip()] == [
        "ponding", "4", "25% (1)", "75% (3)", *["."] * (len(kinds) - 1), "75% (3)",
    ]  # fmt: skip
    assert lines[-1].startswith("all kinds")
