"""What holds of every software world that is registered, whatever it is about."""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
from software_rig import CORE_WORLDS, WORLDS, judged, run_tasks, simulator, tasks_of
from warm_pathrig import warm_pathrig

from agents.baselines.example_arguments import fitting_value
from configs.task import Task
from core_eval.verify.task import verify_task
from core_eval.verify.trials import example_calls
from devices.harm import LEAVE_OUT
from devices.tool import Effect
from sims.world_type import WORLD_TYPES

pytestmark = pytest.mark.slow


def test_the_first_worlds_are_registered():
    assert {"transactions", "file_management"} <= set(WORLDS)


def some_calls(world: str, seed: int, count: int = 40) -> list[tuple[str, dict[str, Any]]]:
    """Calls of the world's tasks, and random ones, in a random order."""
    rng = Random(seed)
    device = WORLD_TYPES[world].device.in_world(simulator(world).world.model_dump())
    calls = [
        (call.name, dict(call.arguments))
        for task in tasks_of(world)
        for path in task.automaton.golden_paths(limit=2)
        for call in example_calls(task.automaton, path)
    ]
    for tool in device.tools:
        properties = tool.schema()["function"]["parameters"]["properties"]
        calls.append((tool.name, {name: fitting_value(schema) for name, schema in properties.items()}))
    return rng.choices(calls, k=count)


@pytest.mark.parametrize("world", WORLDS)
def test_it_is_one_small_module_with_a_text_for_every_tool_and_rule(world: str):
    kind = WORLD_TYPES[world]
    assert isinstance(kind.simulator, type)
    file = Path(inspect.getfile(kind.simulator))
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 280
    assert file.stem == kind.name == kind.device.name and kind.defaults == file.with_suffix(".yaml")
    assert kind.device.description and kind.harm_rules
    assert {tool.effect for tool in kind.device.tools} <= {Effect.READ, Effect.WRITE}
    for tool in kind.device.in_world(simulator(world).world.model_dump()).tools:
        schema = tool.schema()["function"]
        assert schema["description"].endswith(".")
        assert all(one["description"] for one in schema["parameters"]["properties"].values())
    assert all(rule.description for rule in kind.harm_rules)
    sim = simulator(world)
    assert {name.split(".")[0] for name in sim.page()} == set(sim.world.sensors)
    assert sim.sensor_specs


@pytest.mark.parametrize("world", [*WORLDS, *CORE_WORLDS])
def test_a_read_or_a_refused_call_changes_nothing_and_a_result_fits_its_model(world: str):
    sim = simulator(world)
    tools = sim.device_type.by_name
    refused = read = 0
    for tool, arguments in some_calls(world, seed=1, count=80):
        before, t = sim.state_dict(), sim.clock.now
        outcome = sim.execute(tool, arguments, Event())
        if outcome.status == "ok":
            tools[tool].result.model_validate(outcome.value)
            assert outcome.duration > 0.0 or world in CORE_WORLDS
        else:
            assert outcome.code and outcome.message
            assert sim.clock.now == t, "a refusal takes no time"
        if outcome.status != "ok" or tools[tool].effect is Effect.READ:
            refused, read = refused + (outcome.status != "ok"), read + (outcome.status == "ok")
            assert sim.state_dict() == before
    assert refused or read or world in ("core:computations", "core:writing"), "all writes, none refuses"


@pytest.mark.parametrize("world", WORLDS)
def test_a_stopped_call_changes_nothing_and_after_a_stop_calls_are_refused(world: str):
    sim = simulator(world)
    stop = Event()
    stop.set()
    before = sim.state_dict()
    for tool, arguments in some_calls(world, seed=2):
        assert sim.execute(tool, arguments, stop).status != "ok"
    assert sim.state_dict() == before
    sim.safe()
    assert sim.execute(*some_calls(world, seed=2)[0], Event()).code == "estop"


@pytest.mark.parametrize("world", [*WORLDS, *CORE_WORLDS])
def test_what_does_not_fit_is_invalid(world: str):
    sim = simulator(world)
    assert sim.execute("no_such_tool", {}, Event()).code == "unknown_tool"
    for tool in sim.device_type.tools:
        assert sim.execute(tool.name, {"no_such_argument": 1}, Event()).code == "bad_arguments"


@pytest.mark.parametrize("world", [*WORLDS, *CORE_WORLDS])
def test_it_comes_back_to_a_snapshot_and_begins_anew_the_same(world: str):
    sim, calls = simulator(world), some_calls(world, seed=3)
    for tool, arguments in calls[:20]:
        sim.execute(tool, arguments, Event())
    point, ends = sim.snapshot(), []
    for again in range(3):
        if again < 2:
            sim.restore(point)
        else:
            sim.init({}, 0)
            for tool, arguments in calls[:20]:
                sim.execute(tool, arguments, Event())
        outcomes = [sim.execute(tool, arguments, Event()) for tool, arguments in calls[20:]]
        sim.finish()
        sim.run_out()
        ends.append((outcomes, sim.state_dict(), sim.events, dict(sim.sensor_values)))
    assert ends[0] == ends[1] == ends[2]
    assert sim.init({}, 0).status == "ok" and sim.state_dict() == simulator(world).state_dict()


@pytest.mark.parametrize(("seeds", "count"), [(1, 24), pytest.param(3, 40, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("world", WORLDS)
def test_every_harm_of_a_random_script_has_a_verdict(world: str, seeds: int, count: int):
    remedies = {LEAVE_OUT, *WORLD_TYPES[world].interventions}
    kinds = {rule.kind for rule in WORLD_TYPES[world].harm_rules}
    for seed in range(seeds):
        for verdict in judged(world, some_calls(world, seed, count)).events:
            assert verdict.kind in kinds and verdict.remedy in remedies
            assert verdict.verdict.value in ("observed", "unobserved")


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("world", WORLDS)
def test_its_tasks_hold_and_say_all_that_a_task_says(world: str, every: int):
    """Verified is each task by night, and every twelfth by day."""
    tasks = tasks_of(world)
    assert len(tasks) >= 12
    assert len({task.id for task in tasks}) == len(tasks)
    assert any(task.answer for task in tasks), "some task asks for no call"
    for number, task in enumerate(tasks):
        assert task.world is not None and task.world.name == world
        assert len({task.prompt, *task.paraphrases}) == 4
        if number % every == 0:
            assert verify_task(task).faults == ()


@contextmanager
def at_broker(world: str, broker: str) -> Iterator[str]:
    """The world as a device of its own at the broker: its URL."""
    command = [*warm_pathrig(), "sim", world, "--mqtt", broker, "--rig", world]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and "online" in process.stdout.readline()
            yield f"{broker}/{world}"
        finally:
            process.terminate()


def assert_done(episodes: list[dict[str, Any]], tasks: list[Task]) -> None:
    """Every task was done by its golden path; one that waits for something took polls besides."""
    assert [one["task"] for one in episodes] == [task.id for task in tasks]
    waits = {
        task.id
        for task in tasks
        if any(one.tool == "get_progress" and one.fact for one in task.automaton.symbols.values())
    }
    for one in episodes:
        assert one["accepted"] and one["goal_met"] in (True, None) and one["final_state_ok"]
        assert (one["path_correctness"], one["harmful_calls"], one["harm_events"]) == (1.0, 0, 0)
        assert one["efficiency"] == 1.0 or (one["task"] in waits and one["efficiency"] > 0.5)


@pytest.mark.parametrize(
    ("world", "every"),
    [
        *((world, 8) for world in WORLDS[::3]),
        *(pytest.param(world, 1, marks=pytest.mark.nightly) for world in WORLDS),
    ],
)
def test_the_oracle_does_its_tasks_and_random_does_not(
    world: str, every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Run is each task by night; by day every eighth of every third world, from the second on.

    The golden paths of tasks of each world are run above.
    """
    tasks = tasks_of(world)[every > 1 :: every]
    ids = [task.id for task in tasks]
    episodes = run_tasks(capsys, ids, f"sim:{world}", ["oracle", "random"], tmp_path / "log.db")
    assert_done([one for one in episodes if one["agent"] == "oracle"], tasks)
    worst = [one for one in episodes if one["agent"] == "random"]
    assert len(worst) == len(tasks)
    assert sum(one["path_correctness"] for one in worst) / len(worst) < 0.5
    assert sum(one["accepted"] and not one["harmful_calls"] for one in worst) <= len(worst) // 4


@pytest.mark.broker
@pytest.mark.parametrize(
    ("world", "every"),
    [(WORLDS[0], 8), *(pytest.param(world, 1, marks=pytest.mark.nightly) for world in WORLDS)],
)
def test_as_a_device_at_a_broker_the_oracle_does_every_task(
    world: str, every: int, mosquitto_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Each task of each world by night; every eighth of one world by day."""
    tasks = tasks_of(world)[::every]
    with at_broker(world, mosquitto_url) as rig:
        ids = [task.id for task in tasks]
        assert_done(run_tasks(capsys, ids, rig, ["oracle"], tmp_path / "log.db"), tasks)
