from __future__ import annotations

from dataclasses import dataclass

import pytest
from farm_rig import FARM_ROVER
from pydantic import Field, create_model

from agents.agent import (
    Agent,
    AgentSpecError,
    BackendError,
    EpisodeContext,
    InvalidAction,
    Limits,
    Observation,
    StopAction,
    ToolCallAction,
)
from agents.baselines.example_arguments import fitting_value
from agents.registry import make_agent
from configs.worlds_loader import load_world
from core_eval.cli.main import main
from core_eval.log import LogError, LogReader
from core_eval.path.plan import compile_plan
from core_eval.run.parts import read_calls
from devices.outcome import Outcome
from devices.tool import Effect, Tool, ToolArguments, ToolResult
from sims.world_type import WORLD_TYPES

PLAN = [
    "unlock_safety_mode",
    {"any_order": [{"water_plant": {"plant_id": "plant_A"}}, {"harvest_fruit": {"plant_id": "plant_B"}}]},
    "lock_safety_mode",
]


def context(**changes):
    automaton = compile_plan(PLAN, free_reads=FARM_ROVER.reads, file="f.yaml", task="t")
    return EpisodeContext(
        **{"prompt": "Water plant_A.", "tools": FARM_ROVER.tools, "automaton": automaton} | changes
    )


def played(agent: Agent, started_with: EpisodeContext, outcome=None) -> list:
    agent.start(started_with)
    actions, observation = [], None
    while True:
        action = agent.act(observation)
        actions.append(action)
        if isinstance(action, StopAction):
            return actions
        observation = None
        if isinstance(action, ToolCallAction):
            observation = Observation(action, outcome or Outcome("ok", {}))


def test_oracle_walks_a_golden_path_with_arguments_that_fit():
    *calls, stop = played(make_agent("oracle"), context())
    assert stop == StopAction("done")
    assert (calls[0].name, calls[-1].name) == ("unlock_safety_mode", "lock_safety_mode")
    for call in calls:
        FARM_ROVER.validate(call.name, call.arguments)
    water = next(call for call in calls if call.name == "water_plant")
    assert water.arguments["plant_id"] == "plant_A"


def test_oracle_takes_another_path_by_the_runs_seed():
    orders = {
        tuple(action.name for action in played(make_agent("oracle"), context(run_seed=seed))[:-1])
        for seed in range(4)
    }
    assert len(orders) == 2


def test_oracle_needs_an_automaton():
    with pytest.raises(BackendError, match="automaton"):
        make_agent("oracle").start(context(automaton=None))


@pytest.mark.parametrize("world", list(WORLD_TYPES))
def test_random_makes_valid_calls_and_the_same_ones_by_seed(world):
    device = load_world(world).device
    one = context(tools=device.tools, automaton=None, seed=5)
    outcome = Outcome("ok", {"x": 1.5, "plants": ["plant_A"]})
    first = played(make_agent("random"), one, outcome)
    assert first == played(make_agent("random"), one, outcome)
    assert first != played(make_agent("random"), context(tools=device.tools, automaton=None, seed=6), outcome)
    for seed in range(30):
        for action in played(make_agent("random"), context(tools=device.tools, seed=seed), outcome)[:-1]:
            device.validate(action.name, action.arguments)


def test_random_uses_names_that_it_has_read():
    used = set()
    for seed in range(60):
        actions = played(
            make_agent("random"), context(seed=seed), Outcome("ok", {"plants": ["fern_Z"], "name": "plant_A"})
        )
        used |= {action.arguments.get("plant_id") for action in actions[:-1]}
    assert {"plant_A", "fern_Z"} <= used
    assert not used & set(FARM_ROVER.by_name)


@pytest.mark.parametrize(
    ("bounds", "least", "most"),
    [
        ({"ge": 100, "le": 6000}, 100, 120),
        ({"ge": 5, "le": 30}, 5, 20),
        ({"ge": 100}, 100, 120),
        ({"le": -50}, -70, -50),
        ({"ge": 0}, 0, 20),
        ({}, -20, 20),
    ],
)
@pytest.mark.parametrize("kind", [int, float])
def test_random_draws_numbers_near_zero_or_near_the_bound_that_excludes_it(kind, bounds, least, most):
    arguments = create_model("Slide", __base__=ToolArguments, mm=(kind, Field(**bounds)))
    tool = Tool("slide", "Slide along the rail.", arguments, ToolResult, Effect.MOTION)
    drawn = [
        action.arguments["mm"]
        for seed in range(60)
        for action in played(make_agent("random"), context(tools=(tool,), prompt="Slide.", seed=seed))[:-1]
    ]
    assert all(least <= number <= most for number in drawn)
    assert min(drawn) < least + 0.1 * (most - least) and max(drawn) > most - 0.1 * (most - least)


def test_random_keeps_the_limit_of_steps():
    assert len(played(make_agent("random"), context(limits=Limits(steps=2)))) == 3


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number", "exclusiveMinimum": 0.0, "maximum": 20.0}, 0.1),
        ({"type": "number", "minimum": -5.0, "maximum": 5.0}, 0.0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "number", "exclusiveMaximum": 0}, -0.1),
        ({"type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 0.05}, 0.025),
        ({"enum": ["b", "a"]}, "b"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, False),
    ],
)
def test_fitting_values(schema, value):
    assert fitting_value(schema) == value


def test_scripted_plays_its_file(tmp_path):
    script = tmp_path / "s.jsonl"
    script.write_text('{"name": "move_to", "arguments": {"x": 1, "y": 2}}\n\n{"name": "home"}\n')
    agent = make_agent(f"scripted:{script}")
    assert agent.name == "scripted:s.jsonl"
    calls = [ToolCallAction("move_to", {"x": 1, "y": 2}), ToolCallAction("home", {}), StopAction("done")]
    assert played(agent, context()) == calls
    assert played(agent, context()) == calls


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ('{"name": 1}', "`name`"),
        ('{"name": "a", "arguments": []}', "`arguments`"),
        ('{"name": "a", "args": {}}', "'args'"),
    ],
)
def test_scripted_names_file_and_line(tmp_path, line, said):
    script = tmp_path / "s.jsonl"
    script.write_text('{"name": "a"}\n' + line + "\n")
    with pytest.raises(AgentSpecError) as error:
        make_agent(f"scripted:{script}")
    assert f"{script}, line 2" in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@dataclass
class Logged:
    tool: str | None
    arguments: dict | None


def test_replay_makes_the_calls_that_it_is_given_in_order():
    asked = []

    def read_calls(path, episode):
        asked.append((path.name, episode))
        return [Logged("move_to", {"x": 1}), Logged(None, None)]

    agent = make_agent("replay:logs/runs.db#7", read_calls)
    first, second, stop = played(agent, context())
    assert (asked, agent.name) == ([("runs.db", 7)], "replay:runs.db#7")
    assert first == ToolCallAction("move_to", {"x": 1})
    assert isinstance(second, InvalidAction)
    assert stop == StopAction("done")


def test_replay_makes_the_calls_of_a_logged_episode(tmp_path):
    log = tmp_path / "runs.db"
    command = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main([*command, "--db", str(log)]) == 0
    *calls, stop = played(make_agent(f"replay:{log}#1", read_calls), context())
    with LogReader(log) as reader:
        logged = [(step.tool, step.arguments) for step in reader.steps(1)]
    assert [(call.name, call.arguments) for call in calls] == logged
    assert stop == StopAction("done")
    with pytest.raises(LogError, match="no episode 9"):
        make_agent(f"replay:{log}#9", read_calls)


def test_replay_says_what_is_wrong(tmp_path):
    (tmp_path / "text").write_text("no database " * 100)
    for spec, said in (
        (f"replay:{tmp_path / 'none.db'}#7", "no such log"),
        (f"replay:{tmp_path / 'text'}#1", "cannot be read as a log"),
    ):
        with pytest.raises(LogError, match=said):
            make_agent(spec, read_calls)
    for spec, said in (
        ("replay:runs.db", "no episode"),
        ("replay:runs.db#x", "no episode"),
        ("replay:runs.db#1", "needs a reader of logs"),
    ):
        with pytest.raises(AgentSpecError, match=said):
            make_agent(spec)


@pytest.mark.parametrize(
    "spec", ["", "oracle:x", "gpt", "openai:http://h/v1", "openai:ftp://h#m", "scripted:", "llama:"]
)
def test_specs_that_name_no_agent(spec):
    with pytest.raises(AgentSpecError):
        make_agent(spec)
