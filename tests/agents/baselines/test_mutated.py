"""The oracle gone wrong: seeded mistakes of every kind."""

import pytest

from agents.agent import AgentSpecError, EpisodeContext, StopAction, ToolCallAction
from agents.registry import make_agent
from configs.tasks_loader import load_task


def path(spec: str, seed: int, name: str = "water_two_plants") -> list[tuple[str, dict[str, object]]]:
    task = load_task(name)
    agent = make_agent(spec)
    agent.start(EpisodeContext(task.prompt, task.device.tools, seed, task.automaton))
    made = []
    while not isinstance(action := agent.act(None), StopAction):
        assert isinstance(action, ToolCallAction)
        made.append((action.name, dict(action.arguments)))
    return made


def test_without_mutations_it_is_the_oracle():
    assert path("mutated:0", 5) == path("oracle", 5)


def test_the_same_seed_makes_the_same_mistakes():
    assert path("mutated", 3) == path("mutated", 3)
    assert len({str(path("mutated:1", seed)) for seed in range(8)}) == 8


@pytest.mark.slow
def test_mistakes_of_every_kind_are_made():
    golden = path("oracle", 0)
    doses, names, poses, lengths, tools = set(), set(), set(), set(), set()
    swapped = False
    for seed in range(0, 400, 8):
        made = path("mutated", seed)
        lengths.add(len(made) - len(golden))
        tools |= {name for name, _ in made} - {name for name, _ in golden}
        doses |= {arguments["liters"] for name, arguments in made if name == "water_plant"}
        names |= {arguments["plant_id"] for name, arguments in made if name == "water_plant"}
        poses |= {(a["x"], a["y"]) for name, a in made if name == "move_to"}
        swapped = swapped or (
            len(made) == len(golden) and sorted(map(str, made)) == sorted(map(str, golden)) and made != golden
        )
    assert len(doses) > 3
    assert len(poses) > 5
    assert names == {"plant_A", "plant_B"}
    assert min(lengths) < 0 < max(lengths)
    assert tools
    assert swapped


@pytest.mark.parametrize("spec", ["mutated:", "mutated:2", "mutated:-0.1", "mutated:nan", "mutated:much"])
def test_a_rate_that_is_none_is_an_error(spec):
    with pytest.raises(AgentSpecError, match="mutated"):
        make_agent(spec)


@pytest.mark.parametrize("task", ["water_two_plants", "box_to_left_bin"])
def test_mistakes_of_one_kind_are_of_no_other(task):
    golden = path("oracle", 0, task)
    skipped = path("mutated:0.5:skip", 3, task)
    assert all(call in golden for call in skipped) and len(skipped) < len(golden)
    repeated = path("mutated:1:repeat", 0, task)
    assert [call for k, call in enumerate(repeated) if k == 0 or repeated[k - 1] != call] == golden
    swapped = path("mutated:1:swap", 0, task)
    assert swapped != golden and sorted(map(str, swapped)) == sorted(map(str, golden))
    changed = path("mutated:1:argument", 0, task)
    assert [name for name, _ in changed] == [name for name, _ in golden] and changed != golden
    inserted = path("mutated:1:insert", 0, task)
    assert len(inserted) == 2 * len(golden) and inserted[1::2] == golden


def test_an_unknown_kind_is_an_error():
    with pytest.raises(AgentSpecError, match="the kinds are skip, swap, argument, repeat, insert"):
        make_agent("mutated:0.5:forget")
