"""The oracle gone wrong: seeded mistakes of every kind."""

import pytest

from agents.agent import EpisodeContext, StopAction, ToolCallAction
from agents.catalog import make_agent
from agents.errors import AgentSpecError
from configs.tasks_loader import load_task

TASK = load_task("water_two_plants")


def path(spec: str, seed: int) -> list[tuple[str, dict[str, object]]]:
    agent = make_agent(spec)
    agent.start(EpisodeContext(TASK.prompt, TASK.device.tools, seed, TASK.automaton))
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
